from . import calibration as calibration
from .count_errors import CountErrorsSVC
from .kernel.classification import SVC, NuSVC
from .kernel.one_class import SVDD, OneClassSVM
from .kernel.quantile import QuantileSVR
from .kernel.regression import SVR, NuSVR
from .linear.classification import LinearSVC
from .linear.l1_min_c import l1_min_c
from .linear.one_class import LinearOneClassSVM
from .linear.regression import LinearSVR
from .multiple_kernel import MultipleKernelSVC, MultipleKernelSVR
from .perceptron import Perceptron
from .virtual import VirtualSVC

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "CountErrorsSVC",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "MultipleKernelSVC",
    "MultipleKernelSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "QuantileSVR",
    "VirtualSVC",
    "l1_min_c",
]
