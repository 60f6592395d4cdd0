"""What is learnt from rows, wherever they are: from y and weights of some of them to their targets and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maxmargin.large_scale.rows.targets import Labels, Targets, Values
from maxmargin.runtime.validation import Array


class Task(Protocol):
    """Classification or regression of any rows of one problem."""

    def targets(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        """The rows that count, and their targets."""
        ...

    def score(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """The loss of each row at these decision values, and the estimator's score."""
        ...


@dataclass(frozen=True)
class Classification:
    """Labels of the classes that have weight.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale.rows.tasks import Classification
    >>> task = Classification(np.array(["a", "b", "c"]), np.array([0, 2]), np.ones(2), C=1.0)
    >>> at, targets = task.targets(np.array(["c", "b", "a"]), np.ones(3))
    >>> at, targets.tile(slice(0, 2))[0].ravel()
    (array([0, 2]), array([ 1., -1.]))
    """

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
        """Which rows the decision values get wrong, and the share of the right ones."""
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
