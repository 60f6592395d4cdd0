"""Models and data in files: a safe model format of our own, LIBSVM's models, and data of all common formats."""

from __future__ import annotations

from maxmargin.data.batches import Batches, read_batches
from maxmargin.data.files import Data, read_data
from maxmargin.data.source import DataFileError
from maxmargin.io._container import ModelFileError
from maxmargin.io.libsvm_model import read_libsvm_model, write_libsvm_model
from maxmargin.io.model_file import load, save
from maxmargin.io.onnx import to_onnx
from maxmargin.io.svmlight import read_svmlight, write_svmlight

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
