"""The problems of machines on landmarks, partition by partition: targets and kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._parallel import effective_threads
from maxmargin._validation import Array, Points
from maxmargin.approximation.local_rounds import LocalRounds
from maxmargin.approximation.rows import KernelRows, stored
from maxmargin.approximation.targets import Labels, Targets, Values
from maxmargin.approximation.training import budget_of
from maxmargin.dask.partitions import Partition
from maxmargin.kernels import Kernel


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

    def of(self, part: Partition) -> tuple[Array, Targets]:
        """The rows that count, and their targets."""
        codes = np.searchsorted(self.classes, part.y.astype(self.classes.dtype, copy=False))
        at = np.flatnonzero(np.isin(codes, self.present) & (part.weights > 0))
        own = np.searchsorted(self.present, codes[at]).astype(np.int64)
        return at, Labels.one_vs_rest(own, part.weights[at], self.C, self.class_weight)


@dataclass(frozen=True)
class ValueTargets:
    """Targets of a regression; ``price`` is what a row of weight one pays for its loss."""

    price: float

    def of(self, part: Partition) -> tuple[Array, Targets]:
        at = np.flatnonzero(part.weights > 0)
        Y = np.ascontiguousarray(part.y.reshape(part.n, -1)[at], dtype=np.float64)
        return at, Values(Y, part.weights[at], self.price)


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
            at, targets = self.targets.of(part)
            X = part.X if len(at) == part.n else part.X[at]
            computed = KernelRows(self.kernel, X, self.points, dtype=self.dtype)
            size = float(computed.n) * computed.columns * np.dtype(self.dtype).itemsize
            fits = size <= left
            left -= size if fits else 0.0
            made.append(LocalRounds(stored(computed, threads) if fits else computed, targets, threads=threads))
        return made
