"""Support vector machines with any kernel, and linear ones for large data, with scikit-learn's names and meanings.

A machine's file is loaded when its name is first used: whoever wants ``SVC`` does not wait for the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "SVC": "classification",
    "SVR": "regression",
    "LinearOneClassSVM": "linear_one_class",
    "LinearSVC": "linear",
    "LinearSVR": "linear_regression",
    "NuSVC": "classification",
    "NuSVR": "regression",
    "OneClassSVM": "outliers",
    "Perceptron": "perceptron",
}
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

if TYPE_CHECKING:
    from maxmargin.svm.classification import SVC, NuSVC
    from maxmargin.svm.linear import LinearSVC
    from maxmargin.svm.linear_one_class import LinearOneClassSVM
    from maxmargin.svm.linear_regression import LinearSVR
    from maxmargin.svm.outliers import OneClassSVM
    from maxmargin.svm.perceptron import Perceptron
    from maxmargin.svm.regression import SVR, NuSVR


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'maxmargin.svm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"maxmargin.svm.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
