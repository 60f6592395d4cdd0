"""Models and data in files: a safe model format of our own, LIBSVM's models, and data of all common formats."""

from __future__ import annotations

from maxmargin._readers.batches import Batches, read_batches
from maxmargin._readers.data import Data, read_data
from maxmargin._readers.source import DataFileError

from ._errors import ModelFileError
from .libsvm_model import read_libsvm_model, write_libsvm_model
from .model_file import load, save
from .onnx import to_onnx
from .svmlight import read_svmlight, write_svmlight

__all__ = [
    "Batches",
    "Data",
    "DataFileError",
    "ModelFileError",
    "load",
    "read_batches",
    "read_data",
    "read_libsvm_model",
    "read_svmlight",
    "save",
    "to_onnx",
    "write_libsvm_model",
    "write_svmlight",
]
