"""maxmargin: support vector machines and kernel methods, exact, certified and fast.

Public names are loaded when they are first used, so that ``import maxmargin`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "SVC": "maxmargin.svm",
    "NuSVC": "maxmargin.svm",
    "SVR": "maxmargin.svm",
    "NuSVR": "maxmargin.svm",
    "OneClassSVM": "maxmargin.svm",
    "LinearSVC": "maxmargin.svm",
    "LinearSVR": "maxmargin.svm.linear_regression",
    "LinearOneClassSVM": "maxmargin.svm.linear_one_class",
    "Perceptron": "maxmargin.svm",
    "PerceptronReport": "maxmargin.svm.perceptron",
    "FitReport": "maxmargin.report",
    "LongFitWarning": "maxmargin.svm.forecast",
    "History": "maxmargin.history",
    "InseparableError": "maxmargin.solvers.hulls",
    "validate_gram": "maxmargin.kernels",
    "InseparabilityProof": "maxmargin.separation",
    "Separability": "maxmargin.separation",
    "separability": "maxmargin.separation",
    "convert_regularization": "maxmargin.scalings",
    "MarginReport": "maxmargin.margins",
    "margin_report": "maxmargin.margins",
    "Explanation": "maxmargin.explanations",
    "explain": "maxmargin.explanations",
    "CompressionReport": "maxmargin.compression",
    "compress": "maxmargin.compression",
    "compare_solvers": "maxmargin.comparisons",
    "BasisRegression": "maxmargin.regression",
    "KernelRidge": "maxmargin.regression",
    "KernelRidgeCV": "maxmargin.regression",
    "compare_map_and_kernel": "maxmargin.map_and_kernel",
    "Nystroem": "maxmargin.approximation",
    "NystroemRidge": "maxmargin.approximation",
    "NystroemSVC": "maxmargin.approximation",
    "NystroemSVR": "maxmargin.approximation",
    "RandomFeatures": "maxmargin.approximation",
    "KernelPCA": "maxmargin.decomposition",
    "KernelKNeighborsClassifier": "maxmargin.neighbors",
    "KernelKNeighborsRegressor": "maxmargin.neighbors",
    "KernelKMeans": "maxmargin.cluster",
    "KernelDiscriminantAnalysis": "maxmargin.discriminant",
    "MMDResult": "maxmargin.two_sample",
    "mmd_test": "maxmargin.two_sample",
    "StreamReport": "maxmargin.linear.stream_report",
    "TableEncoder": "maxmargin.encoding",
    "DataFileError": "maxmargin.io",
    "read_batches": "maxmargin.io",
    "read_data": "maxmargin.io",
    "SVCCV": "maxmargin.tuning",
    "SVRCV": "maxmargin.tuning",
    "NuSVCCV": "maxmargin.tuning",
    "OneClassSVMCV": "maxmargin.tuning",
    "LinearSVCCV": "maxmargin.tuning",
    "patch_sklearn": "maxmargin.patching",
    "sklearn_is_patched": "maxmargin.patching",
    "unpatch_sklearn": "maxmargin.patching",
    "ModelFileError": "maxmargin.io",
    "load": "maxmargin.io",
    "save": "maxmargin.io",
}
__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "BasisRegression",
    "CompressionReport",
    "DataFileError",
    "Explanation",
    "FitReport",
    "History",
    "InseparabilityProof",
    "InseparableError",
    "KernelDiscriminantAnalysis",
    "KernelKMeans",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsRegressor",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeCV",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LongFitWarning",
    "MMDResult",
    "MarginReport",
    "ModelFileError",
    "NuSVC",
    "NuSVCCV",
    "NuSVR",
    "Nystroem",
    "NystroemRidge",
    "NystroemSVC",
    "NystroemSVR",
    "OneClassSVM",
    "OneClassSVMCV",
    "Perceptron",
    "PerceptronReport",
    "RandomFeatures",
    "Separability",
    "StreamReport",
    "TableEncoder",
    "approximation",
    "calibration",
    "compare_map_and_kernel",
    "compare_solvers",
    "compress",
    "convert_regularization",
    "dask",
    "digits",
    "displays",
    "encoding",
    "explain",
    "feature_maps",
    "io",
    "kernels",
    "linear",
    "load",
    "margin_report",
    "mmd_test",
    "optimality",
    "patch_sklearn",
    "problems",
    "read_batches",
    "read_data",
    "save",
    "separability",
    "sklearn_is_patched",
    "solvers",
    "svm",
    "tuning",
    "unpatch_sklearn",
    "validate_gram",
]

if TYPE_CHECKING:
    from maxmargin import (
        approximation,
        calibration,
        dask,
        digits,
        displays,
        encoding,
        feature_maps,
        io,
        kernels,
        linear,
        optimality,
        problems,
        solvers,
        svm,
        tuning,
    )
    from maxmargin.approximation import Nystroem, NystroemRidge, NystroemSVC, NystroemSVR, RandomFeatures
    from maxmargin.cluster import KernelKMeans
    from maxmargin.comparisons import compare_solvers
    from maxmargin.compression import CompressionReport, compress
    from maxmargin.decomposition import KernelPCA
    from maxmargin.discriminant import KernelDiscriminantAnalysis
    from maxmargin.encoding import TableEncoder
    from maxmargin.explanations import Explanation, explain
    from maxmargin.history import History
    from maxmargin.io import DataFileError, ModelFileError, load, read_batches, read_data, save
    from maxmargin.kernels import validate_gram
    from maxmargin.linear.stream_report import StreamReport
    from maxmargin.map_and_kernel import compare_map_and_kernel
    from maxmargin.margins import MarginReport, margin_report
    from maxmargin.neighbors import KernelKNeighborsClassifier, KernelKNeighborsRegressor
    from maxmargin.patching import patch_sklearn, sklearn_is_patched, unpatch_sklearn
    from maxmargin.regression import BasisRegression, KernelRidge, KernelRidgeCV
    from maxmargin.report import FitReport
    from maxmargin.scalings import convert_regularization
    from maxmargin.separation import InseparabilityProof, Separability, separability
    from maxmargin.solvers.hulls import InseparableError
    from maxmargin.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, Perceptron
    from maxmargin.svm.forecast import LongFitWarning
    from maxmargin.svm.linear_one_class import LinearOneClassSVM
    from maxmargin.svm.linear_regression import LinearSVR
    from maxmargin.svm.perceptron import PerceptronReport
    from maxmargin.tuning import SVCCV, SVRCV, LinearSVCCV, NuSVCCV, OneClassSVMCV
    from maxmargin.two_sample import MMDResult, mmd_test


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    if name in __all__:
        return importlib.import_module(f"maxmargin.{name}")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
