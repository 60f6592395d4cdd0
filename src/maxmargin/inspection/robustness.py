"""How far a point may move before its prediction can change.

A prediction is certain to stay while some functions f, here that of the predicted class against each other, stay
positive. For a linear kernel the distance of x from f = 0 is known,

    r = f(x) / |w|_2   in the Euclidean norm,        r = f(x) / |w|_1   in the maximum norm

and so is that from the nearest of several such planes. For the RBF kernel two lower bounds are known, the larger one is
taken. In feature space f changes by at most |w| times the distance of the images of the two points, which grows
with their own distance:

    |f(x + d) - f(x)| <= |w| sqrt(2 - 2 exp(-gamma |d|^2))

And no term c_i k(x_i, x + d) leaves the interval that the distances within the ball allow; the largest ball on which
the sum of the lower ends is positive is found by bisection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from maxmargin.inspection._functions import (
    FittedFunctions,
    check_not_pipeline,
    dense,
    dense_points,
    fitted_functions,
    winning,
)
from maxmargin.kernels import RBF, Linear
from maxmargin.runtime.validation import Array, check_targets

MAX_BISECTIONS = 40
ROUNDING_SHARE = 64 * np.finfo(float).eps  # of the sum of the sizes of f's terms: more than its rounding errors


@dataclass(frozen=True)
class Robustness:
    """Robustness radius of every point, as returned by :func:`robustness`.

    Attributes
    ----------
    radius : array of shape (n,)
        No smaller perturbation of the point changes its prediction.
    exact : bool
        Whether the radius is the exact distance to a change of the prediction; otherwise it is a lower bound.
    norm : float
        Norm of the perturbation, 2 or infinity.
    prediction : array of shape (n,)
        Prediction for each point.

    Examples
    --------
    >>> from maxmargin import LinearSVC, robustness
    >>> found = robustness(LinearSVC(C=100.0).fit([[0.0], [2.0]], [0, 1]), [[2.0]])
    >>> found.radius.round(2), found.exact
    (array([1.]), True)
    """

    radius: Array
    exact: bool
    norm: float
    prediction: Array

    def accuracy(self, y: Any, eps: float) -> float:
        """The fraction of rows that stay correctly classified for every perturbation up to ``eps``.

        Parameters
        ----------
        y : array-like of shape (n,)
            The true labels.
        eps : float
            Size of the perturbation; 0 gives the usual accuracy.

        Returns
        -------
        float
        """
        right = self.prediction == check_targets(y, len(self.prediction))
        return float(np.mean(right & ((self.radius > eps) | (eps == 0))))

    def __str__(self) -> str:
        kind = "distance to the boundary" if self.exact else "lower bound of the distance to the boundary"
        name = "Euclidean norm" if self.norm == 2 else "maximum norm"
        low, middle, high = np.quantile(self.radius, [0.1, 0.5, 0.9]) if len(self.radius) else (np.nan,) * 3
        return f"{kind}, {name}, {len(self.radius):,} rows: {low:.4g} (10 %), {middle:.4g} (median), {high:.4g} (90 %)"


def robustness(estimator: Any, X: Any, *, norm: float = 2) -> Robustness:
    """Compute how far each point can move before its prediction changes.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier or outlier detector of this library, linear or with the kernel ``Linear`` or ``RBF``.
    X : array-like or sparse matrix of shape (n, d)
        Points.
    norm : {2, numpy.inf}, default=2
        Norm of the perturbation: Euclidean, or the largest absolute entry.

    Returns
    -------
    Robustness
        Exact distances for linear functions, certified lower bounds for the RBF kernel and for one-vs-one with more
        than two classes.

    Raises
    ------
    ValueError
        For any other kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC, robustness
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]], [0, 0, 1, 1]
    >>> robustness(SVC(kernel="linear", C=10.0).fit(X, y), X).radius.round(2)
    array([2., 2., 2., 2.])
    >>> bool((robustness(SVC(gamma=0.5, C=10.0).fit(X, y), X).radius > 0.5).all())
    True
    """
    if norm not in (2, np.inf):
        raise ValueError(f"norm must be 2 or numpy.inf; got norm={norm!r}.")
    check_not_pipeline(estimator, "robustness")
    if not (is_classifier(estimator) or is_outlier_detector(estimator)):
        raise TypeError(f"robustness takes a classifier or an outlier detector; got {type(estimator).__name__}.")
    functions = fitted_functions(estimator, "robustness", by_pair=True)
    rows, prediction = dense_points(estimator, X), np.asarray(estimator.predict(X))
    if not is_classifier(estimator):
        radius = np.empty(len(rows))
        for side in (1.0, -1.0):
            members = prediction == side
            radius[members] = radii(functions.mixed(np.array([[side]]), functions.names), rows[members], norm)
        return Robustness(radius, isinstance(functions.kernel, Linear), float(norm), prediction)
    several = getattr(estimator, "_scheme", "ovr") == "ovo" and len(estimator.classes_) > 2
    radius = np.empty(len(rows))
    for code in np.unique(np.searchsorted(estimator.classes_, prediction)):
        members = np.flatnonzero(prediction == estimator.classes_[code])
        ahead = winning(estimator, functions, int(code))
        radius[members] = radii(ahead, rows[members], norm)
        if several:  # a class that lost against another one is predicted while no pair changes its mind
            for i in members[(ahead(rows[members]) <= 0).any(axis=1)]:
                signs = np.sign(functions(rows[i : i + 1])[0])
                radius[i] = radii(functions.mixed(np.diag(signs), functions.names), rows[i : i + 1], norm)[0]
    return Robustness(radius, isinstance(functions.kernel, Linear) and not several, float(norm), prediction)


def radii(functions: FittedFunctions, X: Array, norm: float) -> Array:
    """How far each row may move while all functions stay positive; 0 where one is not."""
    values = functions(X)
    kernel = functions.kernel
    if isinstance(kernel, Linear):
        weights = np.asarray(functions.anchors.T @ functions.coefficients, np.float64)
        sizes = np.linalg.norm(weights, axis=0) if norm == 2 else np.abs(weights).sum(axis=0)
        found = np.divide(values, sizes, out=np.where(values > 0, np.inf, 0.0), where=sizes > 0)
        return np.maximum(found, 0.0).min(axis=1, initial=np.inf)
    if type(kernel) is not RBF:
        raise ValueError(
            f"robustness takes the kernels Linear and RBF; got {kernel!r}. For other kernels, "
            "counterfactual finds a nearby point with another prediction."
        )
    if len(functions.coefficients) == 0:
        return np.where(values > 0, np.inf, 0.0).min(axis=1, initial=np.inf)
    gamma, anchors = float(kernel.gamma), dense(functions.anchors)
    at_anchors = functions(anchors) - functions.intercept
    squares = np.maximum((functions.coefficients * at_anchors).sum(axis=0), 0.0)  # |w|^2 = c'Kc of each function
    rounding = ROUNDING_SHARE * (np.abs(functions.coefficients).sum(axis=0) + np.abs(functions.intercept))
    least = values - rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(least > 0, least**2 / (2.0 * squares * (1 + ROUNDING_SHARE)), 0.0)
        rooted = np.sqrt(-np.log1p(-np.minimum(part, 1.0)) / gamma) if gamma > 0 else np.full_like(part, np.inf)
    in_space = np.where(least > 0, rooted, 0.0).min(axis=1) / (1.0 if norm == 2 else np.sqrt(X.shape[1]))
    found = np.empty(len(X))
    for i, x in enumerate(X):
        found[i] = (
            _ball(functions, np.abs(x - anchors), gamma, rounding, in_space[i], norm) if least[i].min() > 0 else 0
        )
    return found


def _ball(functions: FittedFunctions, apart: Array, gamma: float, rounding: Array, known: float, norm: float) -> float:
    """The largest radius found on which the lower ends of all functions are positive; at least ``known``."""
    if gamma == 0 or not np.isfinite(known):
        return np.inf
    above, below = np.maximum(functions.coefficients, 0.0), np.maximum(-functions.coefficients, 0.0)
    squares = (apart**2).sum(axis=1)
    lengths, sums, d = np.sqrt(squares), apart.sum(axis=1), apart.shape[1]

    def positive(radius: float) -> bool:
        if norm == 2:
            far, near = (lengths + radius) ** 2, np.maximum(lengths - radius, 0.0) ** 2
        else:
            far = squares + 2.0 * radius * sums + d * radius**2
            near = (np.maximum(apart - radius, 0.0) ** 2).sum(axis=1)
        least = np.exp(-gamma * far) @ above - np.exp(-gamma * near) @ below + functions.intercept
        return bool((least > rounding).all())

    low, high = known, max(2.0 * known, 1e-6 * (lengths.max() + 1.0))
    if not positive(low):
        return known
    for _ in range(MAX_BISECTIONS):  # until it is too large
        if not positive(high):
            break
        low, high = high, 2.0 * high
    for _ in range(MAX_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if positive(middle) else (low, middle)
    return low
