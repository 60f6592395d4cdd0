"""The Lagrangian of the soft margin at a fitted model: both multipliers of each point, and its derivatives.

    L = 1/2 |w|^2 + sum_i C_i xi_i - sum_i alpha_i (y_i f(x_i) - 1 + xi_i) - sum_i beta_i xi_i,    f(x) = w'x + b

    dL/dw    = w - sum_i alpha_i y_i x_i     the representer theorem: w is a combination of training points
    dL/db    = -sum_i alpha_i y_i
    dL/dxi_i = C_i - alpha_i - beta_i        so that beta_i = C_i - alpha_i

At the optimum all three are zero, alpha, beta >= 0, and each multiplier times its constraint is zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin.inspection.margins import margin_report
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.validation import Array, Points, check_weights
from maxmargin.svm.kernel.classification import SVC


@dataclass(frozen=True)
class Lagrangian(TextReport):
    """Lagrange multipliers of a soft-margin classifier and its optimality conditions.

    Attributes
    ----------
    alpha : array of shape (n,)
        Multiplier of each point's margin constraint.
    beta : array of shape (n,)
        Multiplier of xi >= 0: C of the point minus alpha.
    slack : array of shape (n,)
        xi of each point.
    coefficients : array of shape (n,)
        alpha y: w is the sum of coefficients times points in feature space.
    w : array of shape (n_features,) or None
        That sum, for the linear kernel.
    stationarity_w : float
        |w - sum alpha y x| with the model's own w; with another kernel the largest difference between the model's
        values and those of the combination, on the training points.
    stationarity_b : float
        |sum alpha y|.
    stationarity_slack : float
        Largest |C - alpha - beta|.
    complementarity : float
        Largest product of a multiplier and its constraint.

    Examples
    --------
    >>> from maxmargin import SVC, lagrangian
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> found = lagrangian(SVC(kernel="linear", C=10.0).fit(X, y), X, y)
    >>> found.alpha.round(2), found.w.round(2)
    (array([0. , 0.5, 0.5]), array([1.]))
    """

    alpha: Array
    beta: Array
    slack: Array
    coefficients: Array
    w: Array | None
    stationarity_w: float
    stationarity_b: float
    stationarity_slack: float
    complementarity: float
    kernel: Kernel = field(repr=False)
    points: Points = field(repr=False)

    def combination(self, X: Any) -> Array:
        """The combination of training points at new points: sum_i alpha_i y_i k(x_i, x), which is f(x) - b.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, n_features)
            Points.

        Returns
        -------
        array of shape (m,)
        """
        return _combined(self.kernel, self.points, self.coefficients, X)

    def _lines(self) -> list[tuple[str, str]]:
        at_bound = np.count_nonzero((self.beta == 0) & (self.alpha > 0))
        free = np.count_nonzero((self.alpha > 0) & (self.beta > 0))
        return [
            ("points", f"{len(self.alpha):,}: {free:,} with 0 < alpha < C, {at_bound:,} with beta = 0"),
            ("dL/dw", f"{self.stationarity_w:.1e}"),
            ("dL/db", f"{self.stationarity_b:.1e}"),
            ("dL/dxi", f"{self.stationarity_slack:.1e}"),
            ("smallest alpha, beta", f"{self.alpha.min():.1e}, {self.beta.min():.1e}"),
            ("complementarity", f"{self.complementarity:.1e}"),
        ]


def lagrangian(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Lagrangian:
    """Lagrange multipliers and optimality conditions of a fitted binary :class:`~maxmargin.SVC`.

    Parameters
    ----------
    estimator : SVC
        Fitted, with two classes and a finite C.
    X, y : as in ``fit``
        The training set.
    sample_weight : array-like of shape (n,), optional
        As in ``fit``.

    Returns
    -------
    Lagrangian

    Raises
    ------
    ValueError
        If X and y are not the training set, or there are more than two classes.

    Examples
    --------
    >>> from maxmargin import SVC, lagrangian
    >>> X, y = [[-2.0], [-1.0], [0.5], [1.0], [3.0]], [-1, -1, -1, 1, 1]
    >>> model = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y)
    >>> found = lagrangian(model, X, y)
    >>> found.alpha, found.beta, found.w
    (array([0., 0., 1., 1., 0.]), array([1., 1., 0., 0., 1.]), array([0.5]))
    >>> bool(found.stationarity_w < 1e-12)
    True
    """
    if not isinstance(estimator, SVC):
        raise TypeError(f"lagrangian takes an SVC; got {type(estimator).__name__}.")
    check_is_fitted(estimator)
    if len(estimator.classes_) != 2 or estimator.multiclass == "crammer_singer":
        raise ValueError(
            f"lagrangian takes a binary problem; this classifier has {len(estimator.classes_)} classes and "
            f"multiclass={estimator.multiclass!r}. Fit two classes, with multiclass='ovo'."
        )
    if not np.isfinite(estimator.C):
        raise ValueError("C=inf has no slacks and no beta: fit with a finite C.")
    report = margin_report(estimator, X, y)
    if report.alpha is None:
        raise ValueError(
            "X and y are not the training set of this classifier, to whose rows the multipliers belong. Pass the X and "
            "y that fit was called with, in the same order."
        )
    codes = np.searchsorted(estimator.classes_, np.asarray(report.labels))
    signs, alpha = np.where(codes == 1, 1.0, -1.0), report.alpha
    C = estimator.C * check_weights(sample_weight, len(alpha)) * estimator.class_weight_[codes]
    beta, coefficients = C - alpha, alpha * signs
    if beta.min() < -1e-9 * C.max():
        raise ValueError("sample_weight is not that of the fit: an alpha is larger than C times its weight.")
    beta = np.maximum(beta, 0.0)
    points, kernel, w = report.points, estimator.kernel_, None
    if isinstance(kernel, Linear):
        w = np.asarray(coefficients @ points)
        residual = float(np.linalg.norm(np.asarray(estimator._expansion.weights)[0] - w))
    else:
        values = _combined(kernel, points, coefficients, points) + float(estimator.intercept_[0])
        residual = float(np.abs(values - report.decision).max())
    constraint = report.functional_margin - 1 + report.slack
    return Lagrangian(
        alpha,
        beta,
        report.slack,
        coefficients,
        w,
        stationarity_w=residual,
        stationarity_b=float(abs(coefficients.sum())) if estimator.fit_intercept else 0.0,
        stationarity_slack=float(np.abs(C - alpha - beta).max()),
        complementarity=float(max(np.abs(alpha * constraint).max(), (beta * report.slack).max())),
        kernel=kernel,
        points=points,
    )


def _combined(kernel: Kernel, points: Points, coefficients: Array, X: Any) -> Array:
    """sum_i coefficients_i k(points_i, x) at the rows x of X; with a precomputed kernel X has the kernel values."""
    if isinstance(kernel, Precomputed):
        return np.asarray(np.asarray(X, np.float64) @ coefficients)
    used = np.flatnonzero(coefficients)
    if not sp.issparse(X):
        X = np.asarray(X, object if points.dtype == object else np.float64)
    return np.asarray(kernel(X, points[used]) @ coefficients[used])
