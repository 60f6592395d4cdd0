from . import calibration
from .kernel.classification import SVC, NuSVC
from .kernel.one_class import OneClassSVM
from .kernel.regression import SVR, NuSVR
from .linear.classification import LinearSVC
from .linear.l1_min_c import l1_min_c
from .linear.one_class import LinearOneClassSVM
from .linear.regression import LinearSVR
from .perceptron import Perceptron

__all__ = [
    "SVC",
    "SVR",
    "LinearOneClassSVM",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "calibration",
    "l1_min_c",
]
