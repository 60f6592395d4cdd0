"""Support vector machines with any kernel, with scikit-learn's names and meanings."""

from maxmargin.svm.classification import SVC, NuSVC
from maxmargin.svm.linear import LinearSVC
from maxmargin.svm.linear_one_class import LinearOneClassSVM
from maxmargin.svm.linear_regression import LinearSVR
from maxmargin.svm.outliers import OneClassSVM
from maxmargin.svm.perceptron import Perceptron
from maxmargin.svm.regression import SVR, NuSVR

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
]
