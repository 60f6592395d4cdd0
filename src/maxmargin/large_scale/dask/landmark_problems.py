"""The problems of estimators on landmarks, partition by partition: targets and kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.kernels import Kernel
from maxmargin.large_scale.dask.partitions import Partition
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.tasks import Task
from maxmargin.large_scale.rows.tiles import KernelRows, stored
from maxmargin.large_scale.training import budget_of
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array, Points


@dataclass(frozen=True)
class LandmarkSetup:
    """What turns partitions into problems over kernel values."""

    kernel: Kernel
    points: Points  # array or CSR matrix; the landmarks
    T: Array  # (m, r); from kernel values to features
    dtype: Any  # of the kernel values
    task: Task
    cache_size: Any  # megabytes of a worker for kernel values
    n_jobs: int | None  # threads of a worker; None for all it has

    def problems(self, parts: list[Partition], threads: int) -> list[LocalOracle]:
        left = budget_of(self.cache_size)
        threads = threads if self.n_jobs is None else effective_threads(self.n_jobs)
        made = []
        for part in parts:
            at, targets = self.task.targets(part.y, part.weights)
            X = part.X if len(at) == part.n else part.X[at]
            computed = KernelRows(self.kernel, X, self.points, dtype=self.dtype)
            size = float(computed.n) * computed.columns * np.dtype(self.dtype).itemsize
            fits = size <= left
            left -= size if fits else 0.0
            made.append(LocalOracle(stored(computed, threads) if fits else computed, targets, threads=threads))
        return made
