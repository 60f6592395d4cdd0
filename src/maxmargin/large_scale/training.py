"""From rows to a model on landmarks: rows in canonical form, landmarks, kernel values, solution.

Rows of small data are sorted by content, and equal rows merged, so that a weight of two equals a repetition to the last
bit. Kernel values are stored if they fit the budget: in double precision if they are few, else in single precision,
where eigenvalues of K_mm below its rounding are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.large_scale.features.choosing import choose_landmarks
from maxmargin.large_scale.features.factor import Factor, largest_eigenvalue
from maxmargin.large_scale.features.kernel_error import KernelError, estimate_kernel_error
from maxmargin.large_scale.features.landmarks import Landmarks
from maxmargin.large_scale.newton import NewtonSolution, RowNewton
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.oracle import RowOracle
from maxmargin.large_scale.rows.targets import Task
from maxmargin.large_scale.rows.tiles import DOUBLE_MAX_VALUES, KernelRows, stored
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import Loss
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.control import Control, Status, print_note
from maxmargin.runtime.memory import available_memory
from maxmargin.runtime.threads import Halted, Stop
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.linear.rows import MERGE_MAX_ENTRIES

ERROR_ROWS = 500  # at which the kernel's error is estimated
SINGLE_MAX_CONDITION = 1e5  # of the Hessian: beyond which single precision is not enough
DOUBLE_CUT = 1e-13  # eigenvalues of K_mm that double precision distinguishes from zero, relative to the largest
SINGLE_CUT = 1e-8  # the same of single precision


@dataclass(frozen=True)
class Problem:
    """The problem to solve."""

    task: Task  # from y and weights of some rows to targets
    loss: Loss
    scale: float  # typical size of the targets
    first_b: Array  # (outputs,); initial intercepts


@dataclass(frozen=True)
class Rows:
    """The rows that have weight."""

    X: Points  # array or CSR matrix; for a precomputed kernel, these rows of the matrix with all of its columns
    at: Array  # their positions in the input
    weights: Array


def rows_of(X: Points, target: Array, weights: Array, *, merge: bool) -> Rows:
    """Canonical rows of small data; large data as it is, without the rows of weight zero."""
    size = X.nnz if sp.issparse(X) else X.size
    if merge and size <= MERGE_MAX_ENTRIES:
        canonical = canonical_rows(X, target, weights)
        return Rows(X[canonical.representative], canonical.representative, canonical.weight)
    at = np.flatnonzero(weights > 0)
    return Rows(X, at, weights) if len(at) == len(weights) else Rows(X[at], at, weights[at])


def budget_of(cache_size: Any) -> float:
    """Memory for kernel values in bytes: the user's number, or half of the free memory."""
    return 0.5 * available_memory() if cache_size == "auto" else 1e6 * float(cache_size)


def factor_of(
    K_mm: Array, kernel: Kernel, n: int, loss: Loss, loss_weight: float, budget: float, stop: Stop | None = None
) -> tuple[Factor, type]:
    """The factor of a kernel matrix of landmarks for n rows, and the precision of kernel values.

    A squared loss is solved to full precision, where the Hessian I + 2 c T'K'K T has eigenvalues from 1 to about 2 c n
    / m times the largest one of K_mm: single precision loses the small ones. Kernel values are then stored in
    double precision if the budget (bytes) allows it."""
    values = float(n) * len(K_mm)
    if values <= DOUBLE_MAX_VALUES:
        return Factor.of(K_mm, kernel, stop), np.float64
    steep = (
        SmoothedLoss(loss).quadratic
        and 2.0 * loss_weight * n / len(K_mm) * largest_eigenvalue(K_mm) > SINGLE_MAX_CONDITION
    )
    double = steep and 8.0 * values <= budget
    cut, dtype = (DOUBLE_CUT, np.float64) if double else (SINGLE_CUT, np.float32)
    return Factor.above(K_mm, cut, kernel, stop), dtype


@dataclass(frozen=True)
class Trained:
    """The result of training."""

    landmarks: Landmarks  # with positions in the input
    factor: Factor
    solution: NewtonSolution
    coefficients: Array  # (m, k); B = T w
    oracle: RowOracle
    stored: bool


def train(
    estimator: Any,
    X: Points,
    y: Array,
    rows: Rows,
    problem: Problem,
    n_components: int,
    rng: np.random.Generator,
    control: Control,
) -> Trained:
    """Choose landmarks and solve.

    estimator: its parameters, and ``kernel_``
    X, y: all points of the input, which landmarks given as indices refer to, and their targets
    rows: the rows to train on
    """
    kernel, landmarks, n = estimator.kernel_, estimator.landmarks, rows.X.shape[0]
    threads, budget = estimator._threads(n), budget_of(estimator.cache_size)
    targets = problem.task.targets(y[rows.at], rows.weights)[1]
    if isinstance(landmarks, str) and not isinstance(kernel, Precomputed):
        chosen = choose_landmarks(kernel, rows.X, n_components, landmarks, rows.weights, rng, threads, control.stop)
        indices = None if chosen.indices is None else rows.at[chosen.indices]
        chosen = Landmarks(chosen.points, indices)
    else:
        weights = np.zeros(X.shape[0])
        weights[rows.at] = rows.weights
        chosen = choose_landmarks(kernel, X, n_components, landmarks, weights, rng, threads, control.stop)
    loss_weight = float(targets.tile(slice(0, ERROR_ROWS))[1].mean())
    K_mm = chosen.matrix(kernel, X)
    try:
        factor, dtype = factor_of(K_mm, kernel, n, problem.loss, loss_weight, budget, control.stop)
    except Halted:
        factor, dtype = Factor.of_first(K_mm), np.float64
    computed = KernelRows(kernel, rows.X, chosen.points, dtype=dtype)
    size = float(n) * len(chosen) * np.dtype(dtype).itemsize
    held = size <= budget
    if estimator.verbose:
        print_note(f"{control.seconds:8.2f} s  {len(chosen):,} landmarks chosen, rank {factor.rank:,}")
    tiles = stored(computed, threads, control.stop) if held else computed
    if estimator.verbose and held:
        print_note(f"{control.seconds:8.2f} s  kernel values held in memory, {size / 1e6:,.0f} MB")
    return solve(estimator, chosen, factor, problem, LocalOracle(tiles, targets, threads, control.stop), held, control)


def solve(
    estimator: Any,
    landmarks: Landmarks,
    factor: Factor,
    problem: Problem,
    oracle: RowOracle,
    stored: bool,
    control: Control,
) -> Trained:
    """Newton's method over the row oracle of a problem."""
    newton = RowNewton(
        factor.T,
        problem.loss,
        intercept=bool(estimator.fit_intercept),
        tol=float(estimator.tol),
        control=control,
        scale=problem.scale,
    )
    solution = newton.solve(oracle, first_b=problem.first_b)
    return Trained(landmarks, factor, solution, factor.T @ solution.w, oracle, stored)


def kernel_error_of(
    kernel: Kernel, X: Points, rows: Rows, trained: Trained, rng: np.random.Generator
) -> KernelError | None:
    """The error of the approximated kernel on the rows that have weight; None if all of them are landmarks, or the fit
    was stopped."""
    stopped = trained.solution.status in (Status.DEADLINE, Status.INTERRUPTED)
    if stopped or (trained.landmarks.indices is not None and len(trained.landmarks) >= len(rows.at)):
        return None
    landmarks = trained.landmarks
    if not isinstance(kernel, Precomputed):
        places = np.full(X.shape[0], -1)
        places[rows.at] = np.arange(len(rows.at))
        indices = None if landmarks.indices is None else places[landmarks.indices]
        X, landmarks = rows.X, Landmarks(landmarks.points, None if indices is None else indices[indices >= 0])
    return estimate_kernel_error(kernel, X, landmarks, trained.factor, rng, rows=ERROR_ROWS)
