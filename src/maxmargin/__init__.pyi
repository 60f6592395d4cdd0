from . import (
    digits,
    displays,
    inspection,
    io,
    kernel_methods,
    kernels,
    large_scale,
    model_selection,
    problems,
    solvers,
    svm,
)
from .data.table_encoder import TableEncoder
from .inspection import (
    CompressionReport,
    Explanation,
    MarginReport,
    Robustness,
    ShapleyValues,
    compare_map_and_kernel,
    compare_solvers,
    compress,
    explain,
    margin_report,
    robustness,
    shapley_values,
)
from .io import DataFileError, ModelFileError, load, read_batches, read_data, save
from .kernel_methods import (
    BasisRegression,
    KernelDiscriminantAnalysis,
    KernelKMeans,
    KernelKNeighborsClassifier,
    KernelKNeighborsRegressor,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    MMDResult,
    mmd_test,
)
from .kernels import validate_gram
from .large_scale import Nystroem, NystroemRidge, NystroemSVC, NystroemSVR, RandomFeatures
from .model_selection import SVCCV, SVRCV, LinearSVCCV, NuSVCCV, OneClassSVMCV
from .problems.scalings import convert_regularization
from .problems.separability import InseparabilityProof, Separability, separability
from .runtime.history import History
from .runtime.interrupts import FitInterrupted, interrupts, set_interrupts
from .solvers.hulls import InseparableError
from .svm import SVC, SVR, LinearOneClassSVM, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, Perceptron
from .svm.kernel.forecast import LongFitWarning
from .svm.patching import patch_sklearn, sklearn_is_patched, unpatch_sklearn
from .svm.perceptron import PerceptronReport
from .svm.report import FitReport
from .svm.streaming.report import StreamReport

__version__: str

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "BasisRegression",
    "CompressionReport",
    "DataFileError",
    "Explanation",
    "FitInterrupted",
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
    "Robustness",
    "Separability",
    "ShapleyValues",
    "StreamReport",
    "TableEncoder",
    "compare_map_and_kernel",
    "compare_solvers",
    "compress",
    "convert_regularization",
    "digits",
    "displays",
    "explain",
    "inspection",
    "interrupts",
    "io",
    "kernel_methods",
    "kernels",
    "large_scale",
    "load",
    "margin_report",
    "mmd_test",
    "model_selection",
    "patch_sklearn",
    "problems",
    "read_batches",
    "read_data",
    "robustness",
    "save",
    "separability",
    "set_interrupts",
    "shapley_values",
    "sklearn_is_patched",
    "solvers",
    "svm",
    "unpatch_sklearn",
    "validate_gram",
]
