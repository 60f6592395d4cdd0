"""The problems of machines on landmarks, partition by partition: targets and kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.kernels import Kernel
from maxmargin.large_scale.dask.partitions import Partition
from maxmargin.large_scale.rows.local import LocalRounds
from maxmargin.large_scale.rows.targets import Labels, Targets, Values
from maxmargin.large_scale.rows.tiles import KernelRows, stored
from maxmargin.large_scale.training import budget_of
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array, Points


@dataclass(frozen=True)
class LabelTargets:
    """Targets of the classes that have weight.

    Attributes
    ----------
    classes, present, class_weight : arrays
        All classes, the places of those that have weight, and the weights of the latter.
    C : float
    """

    classes: Array
    present: Array
    class_weight: Array
    C: float

    def _codes(self, y: Array) -> Array:
        return np.searchsorted(self.classes, y.astype(self.classes.dtype, copy=False))

    def of(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        """The rows that count, and their targets."""
        codes = self._codes(y)
        at = np.flatnonzero(np.isin(codes, self.present) & (weights > 0))
        own = np.searchsorted(self.present, codes[at]).astype(np.int64)
        return at, Labels.one_vs_rest(own, weights[at], self.C, self.class_weight)

    def judged(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """Which rows the decision values get wrong, and the share of the right ones."""
        guess = self.present[(values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)]
        wrong = (guess != self._codes(y)).astype(np.float64)
        return wrong, 1.0 - float(np.average(wrong, weights=weights))


@dataclass(frozen=True)
class ValueTargets:
    """Targets of a regression; ``price`` is what a row of weight one pays for its loss."""

    price: float

    def of(self, y: Array, weights: Array) -> tuple[Array, Targets]:
        """The rows that count, and their targets."""
        at = np.flatnonzero(weights > 0)
        Y = np.ascontiguousarray((y if y.ndim == 2 else y[:, None])[at], dtype=np.float64)
        return at, Values(Y, weights[at], self.price)

    def judged(self, y: Array, weights: Array, values: Array) -> tuple[Array, float]:
        """The squared error of each row, and the coefficient of determination."""
        Y = y.reshape(values.shape).astype(np.float64)
        squares = ((Y - values) ** 2).mean(axis=1)
        total = float(weights @ ((Y - np.average(Y, axis=0, weights=weights)) ** 2).mean(axis=1))
        return squares, 1.0 - float(weights @ squares) / total if total > 0 else 0.0


@dataclass(frozen=True)
class LandmarkSetup:
    """What turns partitions into problems over kernel values.

    Attributes
    ----------
    kernel : Kernel
    points : array or CSR matrix
        The landmarks.
    T : array of shape (m, r)
        From kernel values to features.
    dtype : type
        Of the kernel values.
    targets : LabelTargets or ValueTargets
    cache_size : float or "auto"
        Megabytes of a worker for kernel values.
    n_jobs : int or None
        Threads of a worker; None for all it has.
    """

    kernel: Kernel
    points: Points
    T: Array
    dtype: Any
    targets: LabelTargets | ValueTargets
    cache_size: Any
    n_jobs: int | None

    def problems(self, parts: list[Partition], threads: int) -> list[LocalRounds]:
        left = budget_of(self.cache_size)
        threads = threads if self.n_jobs is None else effective_threads(self.n_jobs)
        made = []
        for part in parts:
            at, targets = self.targets.of(part.y, part.weights)
            X = part.X if len(at) == part.n else part.X[at]
            computed = KernelRows(self.kernel, X, self.points, dtype=self.dtype)
            size = float(computed.n) * computed.columns * np.dtype(self.dtype).itemsize
            fits = size <= left
            left -= size if fits else 0.0
            made.append(LocalRounds(stored(computed, threads) if fits else computed, targets, threads=threads))
        return made
