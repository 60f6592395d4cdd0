"""Targets of a model's outputs: y_ik and the weight c_ik of output k's loss on row i. A task computes them from y and
weights of any rows, and scores decision values.

    labels     y_ik = signs[code_i, k],    c_ik = w_i factors[code_i, k]      one-vs-rest, or one output for two classes
    values     y_ik = Y[i, k],             c_ik = w_i factor

One code per row is kept rather than a sign for each output, since there may be a thousand classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maxmargin.runtime.validation import Array


class Targets(Protocol):
    """Targets and weights of n rows for a number of outputs."""

    @property
    def n(self) -> int:
        """Rows."""
        ...

    @property
    def outputs(self) -> int:
        """Outputs."""
        ...

    def tile(self, rows: slice | Array) -> tuple[Array, Array]:
        """y and c of these rows, arrays of shape (rows, outputs)."""
        ...

    def error(self, rows: slice, F: Array) -> float:
        """The error of decision values F on these rows: the number misclassified, or the sum of squared errors."""
        ...


@dataclass(frozen=True)
class Labels:
    """Targets of a classifier."""

    codes: Array  # (n,); the place of each row's class
    weights: Array  # (n,)
    # signs, factors: (classes, outputs)
    signs: Array
    factors: Array

    @classmethod
    def one_vs_rest(cls, codes: Array, weights: Array, C: float, class_weight: Array) -> Labels:
        """One output per class, to which its weight applies; two classes share one output, positive for the second."""
        count = len(class_weight)
        if count == 2:
            signs, factors = np.array([[-1.0], [1.0]]), class_weight[:, None]
        else:
            signs = 2.0 * np.eye(count) - 1.0
            factors = np.where(np.eye(count, dtype=bool), class_weight, 1.0)
        return cls(codes, weights, signs, C * factors)

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def outputs(self) -> int:
        return int(self.signs.shape[1])

    def tile(self, rows: slice | Array) -> tuple[Array, Array]:
        codes = self.codes[rows]
        return self.signs[codes], self.weights[rows][:, None] * self.factors[codes]

    def error(self, rows: slice, F: Array) -> float:
        guess = (F[:, 0] > 0).astype(np.int64) if len(self.signs) == 2 else F.argmax(axis=1)
        return float(np.count_nonzero((guess != self.codes[rows]) & (self.weights[rows] > 0)))


@dataclass(frozen=True)
class Values:
    """Targets of a regression."""

    Y: Array  # (n, outputs), float64
    weights: Array  # (n,), or (n, outputs) where outputs differ in them
    loss_weight: float = 1.0

    @property
    def n(self) -> int:
        return len(self.Y)

    @property
    def outputs(self) -> int:
        return int(self.Y.shape[1])

    def tile(self, rows: slice | Array) -> tuple[Array, Array]:
        y = np.require(self.Y[rows], np.float64, ["C", "A"])
        weights = self.weights[rows] if self.weights.ndim == 2 else self.weights[rows][:, None]
        return y, np.broadcast_to(self.loss_weight * weights, y.shape).copy()

    def error(self, rows: slice, F: Array) -> float:
        return float(((self.Y[rows] - F) ** 2)[self.weights[rows] > 0].sum())


class Task(Protocol):
    """Classification or regression of any rows of one problem."""

    def targets(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        """The rows that have weight, and their targets."""
        ...

    def score(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """The loss of each row at these decision values, and the estimator's score."""
        ...


@dataclass(frozen=True)
class Classification:
    """Labels of the classes that have weight."""

    # classes, present, class_weight: all classes, the places of those that have weight, and the weights of the latter
    classes: Array
    present: Array
    class_weight: Array
    C: float

    def _codes(self, y: Array) -> Array:
        return np.searchsorted(self.classes, y.astype(self.classes.dtype, copy=False))

    def targets(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        codes = self._codes(y)
        at = np.flatnonzero(np.isin(codes, self.present) & (weights > 0))
        own = np.searchsorted(self.present, codes[at]).astype(np.int64)
        return at, Labels.one_vs_rest(own, weights[at], self.C, self.class_weight)

    def score(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """Whether each row is misclassified, and the accuracy."""
        guess = self.present[(values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)]
        wrong = (guess != self._codes(y)).astype(np.float64)
        return wrong, 1.0 - float(np.average(wrong, weights=weights))


@dataclass(frozen=True)
class Regression:
    """Real targets of one or several outputs; ``loss_weight`` is that of the loss of a row of weight one."""

    loss_weight: float

    def targets(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        at = np.flatnonzero(weights > 0)
        Y = np.ascontiguousarray((y if y.ndim == 2 else y[:, None])[at], dtype=np.float64)
        return at, Values(Y, weights[at], self.loss_weight)

    def score(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """The squared error of each row, and the coefficient of determination."""
        Y = y.reshape(values.shape).astype(np.float64)
        squares = ((Y - values) ** 2).mean(axis=1)
        total = float(weights @ ((Y - np.average(Y, axis=0, weights=weights)) ** 2).mean(axis=1))
        return squares, 1.0 - float(weights @ squares) / total if total > 0 else 0.0


def row_keys(y: Array) -> Array:
    """Targets as numbers, one per row: equal rows are merged where these are equal, too."""
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim == 1 and y.dtype.kind in "biuf":
        return y
    return np.asarray(np.unique(y, axis=0 if y.ndim > 1 else None, return_inverse=True)[1].ravel())
