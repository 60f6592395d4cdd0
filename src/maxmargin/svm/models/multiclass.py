"""Multiclass schemes: the binary problems to solve, and labels from their decision values.

One-vs-one (k(k-1)/2 binary models, one per pair, votes), one-vs-rest (k models, highest value), and Crammer and
Singer's joint problem (highest value). A scheme turns class codes into tasks and decision values into codes; it knows
neither kernels nor solvers.

A class may have no training rows (all its weights are zero). It keeps its position; its tasks have a constant decision
against it, and it is never predicted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Task:
    """A binary problem: its rows, and +1/-1 for each.

    ``constant`` is set if only one side has rows: the decision is that sign, without a solver."""

    rows: Array
    y: Array
    constant: float | None = None


def _task(rows: Array, positive: Array) -> Task:
    y = np.where(positive, 1.0, -1.0)
    constant = None
    if len(rows) == 0:
        constant = 0.0
    elif positive.all() or not positive.any():
        constant = float(y[0])
    return Task(rows, y, constant)


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), ..., in LIBSVM's order."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


@lru_cache(maxsize=64)
def pair_classes(n_classes: int) -> tuple[Array, Array]:
    """The first class of each pair, and the second; read-only."""
    first, second = np.triu_indices(n_classes, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


@dataclass(frozen=True)
class PairTable:
    """Coefficients of one-vs-one in LIBSVM's layout: row j - 1 of an anchor of class i < j is its coefficient in the
    model of the pair (i, j), and row i that of an anchor of class j."""

    dual: Array
    counts: Array

    @cached_property
    def rows(self) -> Array:
        """A row of coefficients per anchor, padded as compiled code takes them."""
        unit = _native.PAIR_COEFFICIENTS_UNIT
        padded = np.zeros((self.dual.shape[1], -(-len(self.dual) // unit) * unit))
        padded[:, : len(self.dual)] = self.dual.T
        return padded

    def __getstate__(self) -> dict[str, Any]:
        return {"dual": self.dual, "counts": self.counts}

    @classmethod
    def of_coefficients(cls, coefficients: Array) -> PairTable | None:
        """The table of a matrix with a column per pair of classes; None if it is none: a row of class i has entries in
        the columns of its own class only, positive ones against later classes and negative ones against earlier ones,
        and rows are sorted by class."""
        n, columns = coefficients.shape
        n_classes = (1 + math.isqrt(1 + 8 * columns)) // 2
        if columns < 3 or n_classes * (n_classes - 1) // 2 != columns or n == 0:
            return None
        first, second = np.triu_indices(n_classes, 1)
        rows = np.arange(n)
        column = (coefficients != 0).argmax(axis=1)
        value = coefficients[rows, column]
        of_class = np.where(value > 0, first[column], second[column])
        if (value == 0).any() or (np.diff(of_class) < 0).any():
            return None
        counts = np.bincount(of_class, minlength=n_classes)
        dual = np.zeros((n_classes - 1, n))
        for i in range(n_classes):
            members = rows[of_class == i]
            dual[i:, members] = coefficients[np.ix_(members, np.flatnonzero(first == i))].T
            dual[:i, members] = coefficients[np.ix_(members, np.flatnonzero(second == i))].T
        return cls(dual, counts) if np.count_nonzero(dual) == np.count_nonzero(coefficients) else None

    def product(self, K: Array) -> Array:
        """K @ coefficients, without the columns that are zero."""
        out = np.empty((K.shape[0], len(self.counts) * (len(self.counts) - 1) // 2))
        _native.pair_values(np.ascontiguousarray(K), self.rows, self.counts, out)
        return out

    def coefficients(self) -> Array:
        """One column per pair."""
        first, second = np.triu_indices(len(self.counts), 1)
        out = np.zeros((self.dual.shape[1], len(first)))
        stops = np.cumsum(self.counts).tolist()
        for i, stop in enumerate(stops):
            members = slice(stops[i - 1] if i else 0, stop)
            out[members, first == i] = self.dual[i:, members].T
            out[members, second == i] = self.dual[:i, members].T
        return out


def task_of_pair(classes: Array, n_classes: int) -> Array:
    """Positions in the list of :func:`pairs` of pairs i < j, the rows of ``classes``."""
    i, j = classes[:, 0], classes[:, 1]
    return i * (2 * n_classes - i - 1) // 2 + j - i - 1


def one_vs_one(codes: Array, n_classes: int) -> list[Task]:
    """A task per pair i < j; positive means class i, but with two classes only it means class 1."""
    if n_classes == 2:
        return [_task(np.arange(len(codes)), codes == 1)]
    tasks = []
    for i, j in pairs(n_classes):
        rows = np.flatnonzero((codes == i) | (codes == j))
        tasks.append(_task(rows, codes[rows] == i))
    return tasks


def one_vs_rest(codes: Array, n_classes: int) -> list[Task]:
    """A task per class, which is positive; two classes need one task only."""
    if n_classes == 2:
        return one_vs_one(codes, n_classes)
    every = np.arange(len(codes))
    return [_task(every, codes == k) for k in range(n_classes)]


def votes(decision: Array, present: Array, zero_for_first: bool = False) -> Array:
    """Votes for each class by the pairs' decision values; classes without rows get none. A value of exactly
    zero is a vote for the second class in LIBSVM's predictions, and for the first in scikit-learn's values."""
    counts = np.empty((len(decision), len(present)))
    _native.pair_votes(np.ascontiguousarray(decision, np.float64), zero_for_first, counts)
    return counts if present.all() else counts * present


def votes_with_confidence(decision: Array, present: Array) -> Array:
    """One value per class from the pairs' values: its votes, plus its summed confidence squeezed below one third so
    that it only breaks ties (scikit-learn's rule)."""
    confidence = np.empty((len(decision), len(present)))
    _native.pair_confidence(np.ascontiguousarray(decision, np.float64), confidence)
    return votes(decision, present, zero_for_first=True) + confidence / (3 * (np.abs(confidence) + 1))


def predict_codes(decision: Array, scheme: str, present: Array) -> Array:
    """The class codes for decision values of the given scheme; of classes with equal votes the first one."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        only = np.flatnonzero(present)
        return (decision.ravel() > 0).astype(int) if len(only) > 1 else np.full(len(decision), only[0])
    if scheme == "ovo":
        return votes(decision, present).argmax(axis=1)
    return np.where(present, decision, -np.inf).argmax(axis=1)


def certain(decision: Array, bound: Array, codes: Array, scheme: str) -> Array:
    """Whether each row's code stays the same for all decision values within ``bound`` of those given."""
    rows = np.arange(len(decision))
    if decision.shape[1] == 1:
        return np.abs(decision[:, 0]) > bound[0]
    if scheme != "ovo":
        low, high = decision - bound, decision + bound
        others = high.copy()
        others[rows, codes] = -np.inf
        return low[rows, codes] > others.max(axis=1)
    n_classes = round((1 + np.sqrt(1 + 8 * decision.shape[1])) / 2)
    fewest, most = np.empty((2, len(decision), n_classes))
    _native.pair_vote_range(np.ascontiguousarray(decision), np.ascontiguousarray(bound), fewest, most)
    most[rows, codes] = -1
    return fewest[rows, codes] > most.max(axis=1)
