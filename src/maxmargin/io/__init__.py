"""Models and data in files: a safe model format of our own, LIBSVM's models, and svmlight data."""

from __future__ import annotations

from ._errors import ModelFileError
from .libsvm_model import read_libsvm_model, write_libsvm_model
from .model_file import load, save
from .svmlight import read_svmlight, write_svmlight

__all__ = [
    "ModelFileError",
    "load",
    "read_libsvm_model",
    "read_svmlight",
    "save",
    "write_libsvm_model",
    "write_svmlight",
]
