"""The calibration of a fitted classifier: probabilities of classes from decision values.

one decision value      two classes        p(f), 1 - p(f)
one value per pair      one-vs-one         p_ij(f_ij) of each pair, coupled
one value per class     one-vs-rest, joint p_k(s_k) of each class, divided by their sum; or softmax(slope s)

Coupling gives probabilities of k classes from those of all pairs (Wu, Lin & Weng 2004, their second method). Given
r_ij, an estimate of P(class i | class i or j) with r_ji = 1 - r_ij, exact probabilities would have r_ji p_i = r_ij p_j
for every pair. The p nearest to that,

    minimise  sum_{i < j} (r_ji p_i - r_ij p_j)^2    subject to  sum_i p_i = 1,

solves a linear system, and is never negative:

    [ Q  e ] [ p ]   [ 0 ]
    [ e' 0 ] [ b ] = [ 1 ],         Q_ii = sum_{s != i} r_si^2,     Q_ij = -r_ji r_ij,

which ``native/coupling`` solves for all rows.

Agreement with the prediction: a model predicts by the sign of f, or by votes, and calibrated probabilities may differ
from that close to the boundary. Of all probability vectors whose largest entry is that of the predicted class c, the
nearest one is used:

    minimise |q - p|^2    subject to  q_c >= q_j for all j,   sum q = 1.

Where both agree, q = p. Elsewhere p_c and the m largest other entries are replaced by their mean, with the smallest m
for which that mean exceeds the remaining entries. q is a nondecreasing function of f: with two classes it is p cut off
at one half. (Exchanging p_c with the largest entry would be discontinuous.) Of equal entries the predicted one is
raised by a few units in the last place, so that logarithms differ, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from maxmargin import _native
from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.maps import SigmoidMap, fit_isotonic, fit_sigmoid, fit_sigmoids, fit_temperature

EQUAL_MAX_DIFFERENCE = 2.0**-48  # the relative difference of entries that would be equal
LEAST_PROBABILITY = 1e-7  # of either class of a pair, so that the system stays regular
MAX_OPERATIONS_PER_CALL = 2**26  # k^3 per row: some hundredths of a second, so that Ctrl-C is obeyed between calls
METHODS = ("sigmoid", "isotonic", "temperature")
_ONE: dict[str, Callable[[Array, Array, Array], Any]] = {
    "sigmoid": fit_sigmoid,
    "isotonic": fit_isotonic,
    "temperature": lambda values, positive, weight: fit_temperature(values, positive.astype(int), weight),
}


def agreeing(p: Array, codes: Array) -> Array:
    """Return the nearest probabilities whose largest entry is that of the given class.

    Parameters
    ----------
    p : array of shape (n, k)
        Probabilities; not modified.
    codes : array of int, shape (n,)
        The predicted classes.

    Returns
    -------
    array of shape (n, k)
        The unique largest entry of each row is that of its code.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import agreeing
    >>> agreeing(np.array([[0.2, 0.8], [0.7, 0.3], [0.1, 0.5]]), np.array([1, 1, 1])).round(3)
    array([[0.2, 0.8],
           [0.5, 0.5],
           [0.1, 0.5]])
    """
    q = p.copy()
    every = np.arange(len(p))
    q[every, codes] = -1.0  # to find the largest of the others
    rows = np.flatnonzero(q.max(axis=1) >= p[every, codes])
    q[every, codes] = p[every, codes]
    if len(rows) == 0:
        return q
    own, part = codes[rows], p[rows]
    at = np.arange(len(rows))
    mine = part[at, own]
    others = part.copy()
    others[at, own] = -1.0
    order = np.argsort(-others, axis=1, kind="stable")
    largest = np.take_along_axis(others, order, axis=1)[:, :-1]
    k = largest.shape[1]
    means = (mine[:, None] + np.cumsum(largest, axis=1)) / np.arange(2, k + 2)
    # The pool of m + 1 classes is right if the next entry is below its mean; all of them always are.
    closed = np.column_stack((means[:, :-1] > largest[:, 1:], np.ones(len(rows), bool)))
    m = closed.argmax(axis=1) + 1
    mean = means[at, m - 1]
    pooled = np.zeros(part.shape, bool)
    np.put_along_axis(pooled, order[:, :-1], np.arange(k) < m[:, None], axis=1)
    below = mean * (1.0 - EQUAL_MAX_DIFFERENCE)
    part[pooled] = np.broadcast_to(below[:, None], part.shape)[pooled]
    part[at, own] = mean
    q[rows] = part
    return q


def couple(r: Array, present: Array) -> Array:
    """Combine probabilities of pairs of classes into probabilities of the classes.

    Parameters
    ----------
    r : array of shape (n, k (k - 1) / 2)
        For each pair (i, j), i < j, in the order of :func:`maxmargin.svm.models.multiclass.pairs`: the probability of
        i.
    present : array of bool, shape (k,)
        The classes that occur; the others have probability 0.

    Returns
    -------
    array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import couple
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> r = np.array([[p[0] / (p[0] + p[1]), p[0] / (p[0] + p[2]), p[1] / (p[1] + p[2])]])
    >>> couple(r, np.ones(3, bool)).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    k, there = len(present), np.flatnonzero(present)
    m = len(there)
    first, second = np.triu_indices(m, 1)
    column = np.full((k, k), -1)
    column[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
    columns = np.ascontiguousarray(column[there[first], there[second]], np.int64)
    r = np.ascontiguousarray(r, np.float64)
    p = np.empty((len(r), m))
    rows_per_call = max(1, MAX_OPERATIONS_PER_CALL // m**3)
    for start in range(0, len(r), rows_per_call):
        rows = slice(start, start + rows_per_call)
        _native.couple_pairs(r[rows], columns, LEAST_PROBABILITY, p[rows])
    if m == k:
        return p
    out = np.zeros((len(r), k))
    out[:, there] = p
    return out


@dataclass(frozen=True)
class Calibration:
    """Fitted map from decision values to probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    kind : {"binary", "pairs", "classes"}
        The meaning of the decision values.
    maps : list
        One per decision value, or one for all classes (temperature); None for a constant value.
    n_folds : int
        Number of folds; each was held out from training to get unbiased decision values.
    n_samples : int
        Number of rows with such a value.
    log_loss : float
        Weighted mean of -log p of the true class over these rows; NaN if there are none.
    note : str
        Note about classes with few rows; often empty.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import Calibration, SigmoidMap
    >>> calibration = Calibration("sigmoid", "binary", [SigmoidMap(2.0, 0.0)], 5, 100, 0.3, "")
    >>> calibration.probabilities(np.array([[0.0], [1.0]]), np.ones(2, bool)).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    >>> print(calibration)
    sigmoid calibration, 5 folds, 100 rows, out-of-fold log-loss 0.3
    """

    method: str
    kind: str
    maps: list[Any]
    n_folds: int
    n_samples: int
    log_loss: float
    note: str

    def probabilities(self, decision: Array, present: Array) -> Array:
        """Probabilities of the classes, shape (n, k), from decision values of shape (n, binary problems)."""
        if np.count_nonzero(present) == 1:
            return np.tile(present.astype(np.float64), (len(decision), 1))
        if self.kind == "binary":
            p = self.maps[0](decision[:, 0])
            return np.column_stack((1.0 - p, p))
        if self.kind == "pairs":
            return couple(_column_by_column(self.maps, decision, 0.5), present)
        if self.method == "temperature":
            return self.maps[0](np.where(present, decision, -np.inf))
        p = np.where(present, _column_by_column(self.maps, decision, 0.0), 0.0)
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), present / np.count_nonzero(present))

    def __str__(self) -> str:
        loss = "" if math.isnan(self.log_loss) else f", out-of-fold log-loss {self.log_loss:.4g}"
        note = f"; {self.note}" if self.note else ""
        return f"{self.method} calibration, {self.n_folds} folds, {self.n_samples:,} rows{loss}{note}"


def _column_by_column(maps: Sequence[Any], decision: Array, unknown: float) -> Array:
    """The probabilities of each column by its own map; a column without a map has a constant probability."""
    p = np.full(decision.shape, unknown)
    known = [t for t, own in enumerate(maps) if own is not None]
    if known and all(isinstance(maps[t], SigmoidMap) for t in known):  # thousands of pairs in one expression
        slope, offset = np.array([(maps[t].slope, maps[t].offset) for t in known]).T
        p[:, known] = expit(slope * decision[:, known] + offset)
        return p
    for t in known:
        p[:, t] = maps[t](decision[:, t])
    return p


def fit_pairs(method: str, values: Sequence[Array], positive: Sequence[Array], weight: Sequence[Array]) -> list[Any]:
    """The maps of many binary problems, each as by :func:`fit_binary`."""
    if method == "sigmoid":
        return list(fit_sigmoids(values, positive, weight))
    return [fit_binary(method, *problem) for problem in zip(values, positive, weight, strict=True)]


def fit_binary(method: str, values: Array, positive: Array, weight: Array) -> Any:
    """The map of one binary problem from out-of-fold decision values, by the method's name."""
    return _ONE[method](values, positive, weight)


def fit_classes(method: str, scores: Array, codes: Array, weight: Array, present: Array) -> list[Any]:
    """The maps of one score per class, from out-of-fold scores of shape (n, k)."""
    if method == "temperature":
        there = np.flatnonzero(present)
        return [fit_temperature(scores[:, there], np.searchsorted(there, codes), weight)]
    there = np.flatnonzero(present)
    columns = [scores[:, k] for k in there], [codes == k for k in there], [weight] * len(there)
    maps: list[Any] = [None] * len(present)
    for k, own in zip(there, fit_pairs(method, *columns), strict=True):
        maps[k] = own
    return maps


def log_loss(p: Array, codes: Array, weight: Array) -> float:
    """The mean of -log p of the true class, by weight; NaN of no rows."""
    if len(codes) == 0:
        return math.nan
    own = np.maximum(p[np.arange(len(codes)), codes], np.finfo(float).tiny)
    return float(-np.dot(weight, np.log(own)) / weight.sum())
