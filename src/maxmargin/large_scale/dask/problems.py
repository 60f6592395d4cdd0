"""The problems of partitions: targets and columns of linear models, kernel values of models on landmarks.

For hinges over rows in memory, second derivatives are updated.

Second derivatives of the squared hinge are 2 c_i on the set S of rows with s_i > 0, and 0 elsewhere. From step to step
fewer and fewer rows enter or leave S, so the matrix is updated,

    H  +=  sum over those that entered of 2 c_i (x_i, 1)(x_i, 1)'  -  the same over those that left,

and recomputed only if many have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.kernels import Kernel
from maxmargin.large_scale.dask.partitions import Partition
from maxmargin.large_scale.dask.training import Summary
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.targets import Labels, Task
from maxmargin.large_scale.rows.tiles import KernelRows, LinearRows, stored
from maxmargin.large_scale.training import budget_of
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array, Points, check_labels

REFORM_MIN_SHARE = 0.3  # changed rows, as a share of S, from which the matrix is recomputed
KEPT_MAX_BYTES = 2**26  # of matrices


class HingeOracle(LocalOracle):
    """:class:`~maxmargin.large_scale.rows.local.LocalOracle` for hinges and the columns of X."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.inside = np.zeros((self.outputs, self.n), bool)
        self.kept: dict[int, Array] = {}
        self._cached: dict[int, tuple[Array, Array]] = {}

    def _targets(self, t: int) -> tuple[Array, Array, Array | None]:
        """Targets of one output are small compared with the rows, and cached."""
        if self.outputs > 1:
            return super()._targets(t)
        if t not in self._cached:
            self._cached[t] = super()._targets(t)[:2]
        return *self._cached[t], None if self.centre is None else self.centre[self._place(t)]

    def _matrix(self, output: int, T: Array | None = None) -> Array:
        if T is not None or not self.loss.squared or 8 * self.outputs * (self.columns + 1) ** 2 > KEPT_MAX_BYTES:
            return super()._matrix(output, T)
        change, inside = np.empty(self.n), self.inside[output]
        changed, count = 0, 0
        for t in range(len(self.tiles)):
            y, c, _ = self._targets(t)
            at = self._place(t)
            more = _native.hinge_changes(self.F[at], y, c, output, inside[at], change[at])
            changed, count = changed + more[0], count + more[1]
        if output not in self.kept or changed > REFORM_MIN_SHARE * count:
            self.kept[output] = super()._matrix(output)
        else:
            self.kept[output] = self.kept[output] + self._difference(change)
        return self.kept[output]

    def _difference(self, change: Array) -> Array:
        """sum_i change_i (x_i, 1)(x_i, 1)'."""
        m = self.columns

        def work(t: int, square: Array, border: Array) -> None:
            d = change[self._place(t)]
            keep = np.flatnonzero(d)
            if len(keep) == 0:
                return
            d = d[keep]
            X = self.rows.tile(self.tiles[t], keep, self.scratch)
            scaled = self._scaled(X, np.sqrt(np.abs(d))[:, None])
            inside, outside = scaled[d > 0], scaled[d < 0]
            square += inside.T @ inside
            square -= outside.T @ outside
            border[:m] += X.T @ d
            border[m] += d.sum()

        return self._bordered(work, m)

    def part(self, stride: int) -> HingeOracle:
        return HingeOracle(self.rows, self.targets, threads=self.threads, stop=self.stop, stride=self.stride * stride)


@dataclass(frozen=True)
class Sides(Labels):
    """One-vs-rest with classes that have no binary problem because they have no weight.

    solved: the classes whose binary problems these outputs are
    constant: (classes,); the decision of the others
    """

    solved: Array = None  # type: ignore[assignment]
    constant: Array = None  # type: ignore[assignment]

    def error(self, rows: slice, F: Array) -> float:
        if len(self.constant) > 1:
            values = np.tile(self.constant, (len(F), 1))
            values[:, self.solved] = F
            F = values
        guess = (F[:, 0] > 0).astype(np.int64) if F.shape[1] == 1 else F.argmax(axis=1)
        return float(np.count_nonzero(guess != self.codes[rows]))


@dataclass(frozen=True)
class LinearSetup:
    """How to pose the linear problem of a partition."""

    classes: Array
    class_weight: Array
    C: float
    # shift, constant: as in :class:`~maxmargin.large_scale.rows.tiles.LinearRows`
    shift: Array | None
    constant: float | None
    # solved, constants: as in :class:`Sides`
    solved: Array
    constants: Array
    n_jobs: int | None = None  # threads of a worker; None for all it has
    T: None = None

    def problems(self, parts: list[Partition], threads: int) -> list[LocalOracle]:
        threads = threads if self.n_jobs is None else effective_threads(self.n_jobs)
        return [self._problem(part, threads) for part in parts]

    def function(self, w: Array, b: Array) -> tuple[Array, Array]:
        """Weights and intercepts of the solved binary problems on X itself, from those on the columns in use."""
        if self.constant is not None:
            return w[:-1].T, self.constant * w[-1]
        return w.T, b if self.shift is None else b - self.shift @ w

    def weights(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """The inverse, from all classes."""
        w, b = np.ascontiguousarray(coef[self.solved].T), intercept[self.solved]
        if self.constant is not None:
            return np.vstack((w, b / self.constant)), np.zeros_like(b)
        return w, b if self.shift is None else b + self.shift @ w

    def _problem(self, part: Partition, threads: int) -> LocalOracle:
        codes = np.searchsorted(self.classes, part.y.astype(self.classes.dtype, copy=False)).astype(np.int64)
        every = Labels.one_vs_rest(codes, part.weights, self.C, self.class_weight)
        columns = self.solved if every.outputs > 1 else np.array([0])
        signs, factors = (np.ascontiguousarray(table[:, columns]) for table in (every.signs, every.factors))
        targets = Sides(codes, part.weights, signs, factors, columns, self.constants)
        return HingeOracle(LinearRows(part.X, self.shift, self.constant), targets, threads=threads)


@dataclass(frozen=True)
class LandmarkSetup:
    """How to pose the problems of partitions over kernel values."""

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


def classes_of(summaries: list[Summary]) -> tuple[Array, Array]:
    """The classes of all partitions, and the weight of each."""
    found = [(label, total) for one in summaries for label, total in zip(one.labels.tolist(), one.totals, strict=True)]
    kinds = {str if isinstance(label, str) else object for label, _ in found}
    if len(kinds) > 1:
        strange = next(label for label, _ in found if isinstance(label, str) != isinstance(found[0][0], str))
        raise ValueError(f"y mixes labels of different types, {found[0][0]!r} and {strange!r}: use one type of label.")
    classes, codes = check_labels(np.array([label for label, _ in found]))
    return classes, np.bincount(codes, weights=[total for _, total in found], minlength=len(classes))
