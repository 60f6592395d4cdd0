"""From decision values to probabilities of classes: one object that a fitted classifier keeps.

one decision value      two classes        p(f), 1 - p(f)
one value per pair      one-vs-one         p_ij(f_ij) of each pair, coupled
one value per class     one-vs-rest, joint p_k(s_k) of each class, divided by their sum; or softmax(slope s)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.coupling import couple
from maxmargin.svm.calibration.isotonic import fit_isotonic
from maxmargin.svm.calibration.sigmoid import SigmoidMap, fit_sigmoid, fit_sigmoids, logistic
from maxmargin.svm.calibration.temperature import fit_temperature

METHODS = ("sigmoid", "isotonic", "temperature")
_ONE: dict[str, Callable[[Array, Array, Array], Any]] = {
    "sigmoid": fit_sigmoid,
    "isotonic": fit_isotonic,
    "temperature": lambda values, positive, weight: fit_temperature(values, positive.astype(int), weight),
}


@dataclass(frozen=True)
class Calibration:
    """How a classifier's decision values become probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    kind : {"binary", "pairs", "classes"}
        What there is a decision value of.
    maps : list
        One per decision value, or one for all classes (temperature); None for a value that was decided in advance.
    n_folds : int
        Models were trained without each of these parts of the rows, to learn from unbiased values.
    n_samples : int
        Rows with such a value.
    log_loss : float
        Mean of -log p of the true class over those rows, by their weights. (NaN if there is none.)
    note : str
        What was done about classes of few rows; often empty.

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
    """The probabilities of each column by its own map; a column without a map has the same one everywhere."""
    p = np.full(decision.shape, unknown)
    known = [t for t, own in enumerate(maps) if own is not None]
    if known and all(isinstance(maps[t], SigmoidMap) for t in known):  # thousands of pairs in one expression
        slope, offset = np.array([(maps[t].slope, maps[t].offset) for t in known]).T
        p[:, known] = logistic(slope * decision[:, known] + offset)
        return p
    for t in known:
        p[:, t] = maps[t](decision[:, t])
    return p


def fit_pairs(method: str, values: Sequence[Array], positive: Sequence[Array], weight: Sequence[Array]) -> list[Any]:
    """The maps of many binary problems, as :func:`fit_binary` fits each."""
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
