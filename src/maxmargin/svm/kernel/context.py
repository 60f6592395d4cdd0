"""The first step of a fit: validated points and targets become canonical rows with their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels.definition import DefinedValues
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.operator import Gram, computing_form, precomputed_gram
from maxmargin.runtime.canonical_rows import CanonicalRows, canonical_rows, rows_of
from maxmargin.runtime.control import Control
from maxmargin.runtime.random_state import draw_seed
from maxmargin.runtime.threads import Halted, Stop, effective_threads
from maxmargin.runtime.validation import Array, Points, check_memory

SERIAL_MAX_ROWS = 1000  # rows up to which threads cost more than they bring, unless they are long:
SERIAL_MAX_PRODUCTS = 2e7  # multiplications of all kernel values, 2 ms
STORED_MATRIX_CHECK_BYTES = 5e5  # matrices up to this size are allocated without a check of the free memory
FAR_CENTRE_MIN_RATIO = 1e4  # squared distance of the mean from the origin over that of points from the mean
SPREAD_MAX_ROWS = 1000  # whose mean squared distance from the mean is taken for that of all
CONCURRENT_PROBLEMS = 8  # problems solved at a time, each with an equal part of the memory, whatever the threads


@dataclass(frozen=True)
class InputRows:
    """The user's rows, validated: points, targets (or class codes) and sample weights."""

    X: Points
    target: Array
    weight: Array


@dataclass(frozen=True)
class FitContext:
    """What every step of a fit reads: canonical rows, their kernel, and how to solve."""

    given: InputRows  # the user's rows
    X: Points  # the canonical rows, minus ``centre``; for a precomputed kernel the user's matrix
    # target, weight: one entry per canonical row
    target: Array
    weight: Array
    rows: CanonicalRows  # how canonical rows belong to the user's
    kernel: Kernel  # with its parameters resolved
    control: Control
    solver: str  # as the user gave it
    tol: float
    threads: int
    budget: float  # bytes for kernel values
    classes: Array | None = None  # the labels of a classifier
    pairs: bool = False  # whether pairs of classes will be solved
    centre: Array | None = None  # what was subtracted from the rows; see :func:`_far_centre`

    @property
    def n(self) -> int:
        """Number of canonical rows."""
        return len(self.weight)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.given.X.shape

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @cached_property
    def merged(self) -> bool:
        """Whether some of the user's rows share a canonical row."""
        return self.n < int(np.count_nonzero(self.rows.member_of >= 0))

    @cached_property
    def gram(self) -> Gram:
        """The kernel matrix as an operator, made when a step needs it."""
        return self._make_gram(None)

    def gram_in_time(self) -> Gram | None:
        """The operator, or None if the run is to stop before it is made."""
        if self.gram_in_use is None:
            try:
                self.__dict__["gram"] = self._make_gram(self.control.stop)
            except Halted:
                return None
        return self.gram

    def _make_gram(self, stop: Stop | None) -> Gram:
        gram: Gram
        if isinstance(self.kernel, Precomputed):
            gram = precomputed_gram(self.X, self.rows.representative)
        else:
            options: dict[str, Any] = {"threads": self.threads, "budget": self.budget, "pairs": self.pairs}
            gram = make_gram(self.kernel, self.X, **options, stop=stop)
        gram.budget = self.budget
        return gram

    @property
    def gram_in_use(self) -> Gram | None:
        """The operator, if a step has needed it."""
        return self.__dict__.get("gram")

    @property
    def evaluations(self) -> int:
        """Kernel values computed by the operator so far."""
        return 0 if self.gram_in_use is None else self.gram_in_use.evaluations

    def gram_of(self, rows: Array) -> Gram:
        """The operator of some of the canonical rows."""
        everything = len(rows) == self.n and bool((np.diff(rows) == 1).all())
        return self.gram if everything else self.gram.subset(rows)

    def points(self, rows: Array) -> Points:
        """Canonical rows as points for the fitted function."""
        if self.centre is not None:
            return self.given.X[self.rows.representative[rows]]
        return self.X[self.rows.representative[rows] if isinstance(self.kernel, Precomputed) else rows]

    def defined_values(self, rows: Array) -> DefinedValues:
        """Fitted values of some of the canonical rows, by definition: what certificates are computed from."""
        places = self.rows.representative[rows] if isinstance(self.kernel, Precomputed) else rows
        return DefinedValues(self.kernel, self.X, places, self.threads)


def prepare(
    estimator: Any,
    given: InputRows,
    kernel: Kernel,
    *,
    classes: Array | None = None,
    pairs: bool = False,
    zero_sums: bool = False,
) -> FitContext:
    """Canonical rows and the resolved kernel, with the estimator's options. ``zero_sums`` says that the coefficients of
    every problem sum to zero, as a free intercept demands."""
    draw_seed(estimator)  # no solution depends on it
    control = Control.of(estimator)
    X, budget = given.X, min(float(estimator.cache_size), 2**40) * 1e6
    long = X.ndim > 1 and X.shape[0] ** 2 * float(X.shape[1]) > SERIAL_MAX_PRODUCTS
    large = X.shape[0] > SERIAL_MAX_ROWS or X.dtype == object or long
    threads = effective_threads(estimator.n_jobs) if large else 1
    precomputed = isinstance(kernel, Precomputed)
    if not precomputed:
        kernel.check_points(X)  # here, where an error can still name the user's rows
    rows = canonical_rows(X, given.target, given.weight, merge=not precomputed)
    at, points, centre = rows.representative, X, None
    if not precomputed:
        try:
            # Without a copy, rows of weight zero would stay.
            points = computing_form(rows_of(X, at, threads, control.stop if given.weight.all() else None))
        except Halted:  # nothing will be solved: the rows are only counted
            rows = canonical_rows(X, given.target, given.weight, merge=False)
            at = rows.representative
        names = vars(estimator).get("feature_names_in_")
        kernel = kernel.resolve(points, sample_weight=rows.weight, feature_names=names)
        if STORED_MATRIX_CHECK_BYTES < 8.0 * len(at) ** 2 <= budget:
            check_memory(
                8.0 * len(at) ** 2,
                f"A kernel matrix of {len(at):,} rows inside cache_size={estimator.cache_size:g} MB",
                "lower cache_size.",
            )
    if zero_sums and (centre := _far_centre(kernel, points)) is not None:
        points = points - centre
    return FitContext(
        given,
        points,
        given.target[at],
        rows.weight,
        rows,
        kernel,
        control,
        estimator.solver,
        float(estimator.tol),
        threads,
        budget,
        classes,
        pairs,
        centre,
    )


def _far_centre(kernel: Kernel, X: Points) -> Array | None:
    """The mean of points that lie far from the origin, for the linear kernel; None otherwise.

    Where coefficients sum to zero, x - m in the place of x changes no difference of fitted values, and w'm of the
    intercept: the same problem. But x'z of points that are 1e8 from the origin and 1 from each other has no digit left
    of what tells them apart. What is left of the sum counts for w as m times it
    (:meth:`~maxmargin.svm.kernel.solving.outcomes.SolvedProblems.with_zero_sums`)."""
    if type(kernel) is not Linear or sp.issparse(X) or X.size == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0, dtype=np.float64)
        spread = float(np.square(X[:: max(1, len(X) // SPREAD_MAX_ROWS)] - mean).mean(axis=0).sum())
        far = float(mean @ mean) > FAR_CENTRE_MIN_RATIO * spread
    return mean if far and np.isfinite(mean).all() else None
