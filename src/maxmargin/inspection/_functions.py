"""A fitted estimator as the functions that its predictions come from, f_t(x) = sum_i c_it k(x_i, x) + b_t.

A linear model is the same with the linear kernel and its weights as the only anchors. With more than two classes there
is one function per class. One-vs-one has one per pair of classes; the function of a class is then the mean of its
functions against the others, or the pairs themselves are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernels import Kernel, Linear
from maxmargin.runtime.validation import Array, Points, check_new_points
from maxmargin.svm import SVDD
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import pairs


@dataclass(frozen=True)
class FittedFunctions:
    """The functions of an estimator.

    anchors: (m, d)
    coefficients: (m, T)
    intercept: (T,)
    names: what each function is of
    """

    kernel: Kernel
    anchors: Points
    coefficients: Array
    intercept: Array
    names: list[str]

    def __call__(self, X: Points, threads: int = 1) -> Array:
        """Values, shape (n, T)."""
        return KernelExpansion(self.kernel, self.anchors, self.coefficients, self.intercept).decision(X, threads)

    def mixed(self, mixture: Array, names: list[str]) -> FittedFunctions:
        """Combinations of the functions: one for each column of ``mixture``."""
        return replace(self, coefficients=self.coefficients @ mixture, intercept=self.intercept @ mixture, names=names)


def check_is_expansion(estimator: Any, what: str) -> None:
    """Refuse a model whose values are more than a sum over support vectors."""
    if isinstance(estimator, SVDD):
        raise TypeError(
            f"{what} takes models that are sums over support vectors; the values of SVDD also contain k(x, x). "
            "Where that is the same for all points, OneClassSVM with the same nu describes the same region."
        )


def check_not_pipeline(estimator: Any, what: str) -> None:
    """Refuse a pipeline, whose last step sees other columns than the caller gives."""
    if isinstance(estimator, Pipeline):
        raise TypeError(
            f"{what} takes the estimator itself; got a Pipeline. Give its last step and the transformed rows: "
            f"{what}(pipeline[-1], pipeline[:-1].transform(X), ...)."
        )


def fitted_functions(estimator: Any, what: str, *, by_pair: bool = False) -> FittedFunctions:
    """The functions of a fitted estimator of this library; ``what`` names the caller in messages."""
    check_not_pipeline(estimator, what)
    check_is_fitted(estimator)
    check_is_expansion(estimator, what)
    expansion = getattr(estimator, "_expansion", None)
    predicts = is_classifier(estimator) or is_regressor(estimator) or is_outlier_detector(estimator)
    if predicts and isinstance(expansion, KernelExpansion) and not hasattr(estimator, "transform"):
        found = FittedFunctions(
            expansion.kernel, expansion.anchors, expansion.coefficients, np.asarray(expansion.intercept, np.float64), []
        )
    elif predicts and hasattr(estimator, "coef_") and hasattr(estimator, "intercept_"):
        coef = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else np.atleast_2d(estimator.coef_)
        intercept = np.zeros(len(coef)) + np.asarray(estimator.intercept_, np.float64)
        found = FittedFunctions(Linear(), coef.astype(np.float64), np.eye(len(coef)), intercept, [])
    else:
        raise TypeError(
            f"{what} takes a fitted classifier, regression or outlier detector of this library; got "
            f"{type(estimator).__name__}."
        )
    return _named(estimator, found, by_pair)


def _named(estimator: Any, found: FittedFunctions, by_pair: bool) -> FittedFunctions:
    count = len(found.intercept)
    if not is_classifier(estimator):
        return replace(found, names=["f"] if count == 1 else [f"target {t}" for t in range(count)])
    classes = estimator.classes_.tolist()
    if count == 1:
        return replace(found, names=[str(classes[-1])])
    if getattr(estimator, "_scheme", "ovr") != "ovo":
        return replace(found, names=[str(label) for label in classes])
    table = pairs(len(classes))
    if by_pair:
        return replace(found, names=[f"{classes[i]} against {classes[j]}" for i, j in table])
    mixture = np.zeros((len(table), len(classes)))
    for row, (i, j) in enumerate(table):
        mixture[row, i], mixture[row, j] = 1.0, -1.0
    return found.mixed(mixture / (len(classes) - 1), [str(label) for label in classes])


def dense_points(estimator: Any, X: Any) -> Array:
    """Validated new points as an array of float64."""
    points = estimator._new_points(X) if hasattr(estimator, "_new_points") else check_new_points(estimator, X)
    return dense(points)


def dense(X: Points) -> Array:
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, np.float64)


def winning(estimator: Any, functions: FittedFunctions, code: int) -> FittedFunctions:
    """Functions that are all positive where a class is predicted, from the ``functions`` of a classifier by pair.

    One-vs-one may predict a class also where it loses against some other one.
    """
    count, classes = len(functions.intercept), estimator.classes_.tolist()
    others = [j for j in range(len(classes)) if j != code]
    mixture = np.zeros((count, len(others)))
    if count == 1:
        mixture[0, 0] = 1.0 if code == 1 else -1.0
    elif getattr(estimator, "_scheme", "ovr") == "ovo":
        table = pairs(len(classes))
        for at, j in enumerate(others):
            mixture[table.index((min(code, j), max(code, j))), at] = 1.0 if code < j else -1.0
    else:
        mixture[code] = 1.0
        mixture[others, range(len(others))] = -1.0
    return functions.mixed(mixture, [f"{classes[code]} against {classes[j]}" for j in others])
