"""What the outputs of a model should be, row by row: y_ik and the weight c_ik of output k's loss on row i.

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
        """What the decision values F miss on these rows: how many are misclassified, or the sum of squared errors."""
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
        """One output per class, where its weight counts; two classes share one output, positive for the second."""
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
