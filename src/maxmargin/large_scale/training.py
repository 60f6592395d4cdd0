"""From rows to an approximate machine: rows in canonical form, landmarks, kernel values, solution.

Small data is brought into an order that depends on its content only, with equal rows merged, so that a weight of two
equals a repetition to the last bit. Kernel values are held in memory if they fit the budget: in double precision if
they are few, else in single precision, with the eigenvalues of K_mm cut where single precision ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.large_scale.features.factor import Factor, largest_eigenvalue
from maxmargin.large_scale.features.kernel_error import KernelError, estimate_kernel_error
from maxmargin.large_scale.features.landmarks import Landmarks, choose_landmarks
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.newton import Newton, NewtonSolution
from maxmargin.large_scale.rows.local import LocalRounds
from maxmargin.large_scale.rows.targets import Targets
from maxmargin.large_scale.rows.tiles import EXACT, KernelRows, stored
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, Points, available_memory

SMALL = 2_000_000  # entries of X up to which equal rows are merged, and sorted by content
LOOKED_AT = 500  # rows at which the kernel's error is estimated
STEEP = 1e5  # ratio of the Hessian's eigenvalues beyond which single precision is not enough
FINE = 1e-13  # eigenvalues of K_mm that double precision can tell from zero, relative to the largest
COARSE = 1e-8  # eigenvalues of K_mm that single precision can tell from zero, relative to the largest


@dataclass(frozen=True)
class Rows:
    """The rows that have weight.

    Attributes
    ----------
    X : array or CSR matrix
        For a precomputed kernel, these rows of the matrix with all of its columns.
    at : array
        Their places in the input.
    weights : array
    """

    X: Points
    at: Array
    weights: Array


def rows_of(X: Points, target: Array, weights: Array, *, merge: bool) -> Rows:
    """Canonical rows of small data; large data as it is, without the rows of weight zero."""
    size = X.nnz if sp.issparse(X) else X.size
    if merge and size <= SMALL:
        canonical = canonical_rows(X, target, weights)
        return Rows(X[canonical.representative], canonical.representative, canonical.weight)
    at = np.flatnonzero(weights > 0)
    return Rows(X, at, weights) if len(at) == len(weights) else Rows(X[at], at, weights[at])


def budget_of(cache_size: Any) -> float:
    """Bytes that kernel values may take: megabytes as the user says, or half of what is free."""
    return 0.5 * available_memory() if cache_size == "auto" else 1e6 * float(cache_size)


def factor_of(K_mm: Array, kernel: Kernel, n: int, loss: Loss, price: float, budget: float) -> tuple[Factor, type]:
    """The factor of a kernel matrix of landmarks for n rows, and the precision of kernel values.

    Squares are solved to the last digits, where the Hessian I + 2 c T'K'K T has eigenvalues from 1 to about 2 c n / m
    times the largest one of K_mm: single precision does not see the small ones next to it. Its rows are held in double
    precision if the budget (bytes) allows it."""
    values = float(n) * len(K_mm)
    if values <= EXACT:
        return Factor.of(K_mm, kernel), np.float64
    steep = loss.quadratic and 2.0 * price * n / len(K_mm) * largest_eigenvalue(K_mm) > STEEP
    double = steep and 8.0 * values <= budget
    return Factor.above(K_mm, FINE if double else COARSE, kernel), np.float64 if double else np.float32


@dataclass(frozen=True)
class Trained:
    """What training leaves behind.

    Attributes
    ----------
    landmarks : Landmarks
        With places in the input.
    factor : Factor
    solution : NewtonSolution
    coefficients : array of shape (m, k)
        B = T w.
    rounds : LocalRounds
    stored : bool
    """

    landmarks: Landmarks
    factor: Factor
    solution: NewtonSolution
    coefficients: Array
    rounds: LocalRounds
    stored: bool


def train(
    kernel: Kernel,
    X: Points,
    rows: Rows,
    targets: Targets,
    loss: Loss,
    *,
    n_components: int,
    landmarks: Any,
    rng: np.random.Generator,
    intercept: bool,
    tol: float,
    control: Control,
    threads: int,
    cache_size: Any,
    scale: float = 1.0,
    first_b: Array | None = None,
    note: Callable[[str], None] | None = None,
) -> Trained:
    """Choose landmarks and solve. X are all points of the input, which landmarks given as indices refer to."""
    precomputed = isinstance(kernel, Precomputed)
    if isinstance(landmarks, str) and not precomputed:
        chosen = choose_landmarks(kernel, rows.X, n_components, landmarks, rows.weights, rng, threads, control.stop)
        indices = None if chosen.indices is None else rows.at[chosen.indices]
        chosen = Landmarks(chosen.points, indices)
    else:
        weights = np.zeros(X.shape[0])
        weights[rows.at] = rows.weights
        chosen = choose_landmarks(kernel, X, n_components, landmarks, weights, rng, threads, control.stop)
    n = rows.X.shape[0]
    price = float(targets.tile(slice(0, LOOKED_AT))[1].mean())
    factor, dtype = factor_of(chosen.matrix(kernel, X), kernel, n, loss, price, budget_of(cache_size))
    values, T = float(n) * len(chosen), factor.T
    computed = KernelRows(kernel, rows.X, chosen.points, dtype=dtype)
    held = values * np.dtype(dtype).itemsize <= budget_of(cache_size)
    if note is not None:
        note(f"{control.seconds:8.2f} s  {len(chosen):,} landmarks chosen, rank {T.shape[1]:,}")
    tiles = stored(computed, threads, control.stop) if held else computed
    if note is not None and held:
        note(
            f"{control.seconds:8.2f} s  kernel values held in memory, {values * np.dtype(dtype).itemsize / 1e6:,.0f} MB"
        )
    rounds = LocalRounds(tiles, targets, threads=threads, poll=control.stop)
    newton = Newton(T, loss, intercept=intercept, tol=tol, control=control, scale=scale)
    solution = newton.solve(rounds, first_b=first_b)
    return Trained(chosen, factor, solution, T @ solution.w, rounds, held)


def missed(kernel: Kernel, X: Points, rows: Rows, trained: Trained, rng: np.random.Generator) -> KernelError | None:
    """What the landmarks miss of the kernel on the rows that have weight; None where that is nothing, all of them being
    landmarks, and where there was no time to look."""
    stopped = trained.solution.status in (Status.DEADLINE, Status.INTERRUPTED)
    if stopped or (trained.landmarks.indices is not None and len(trained.landmarks) >= len(rows.at)):
        return None
    landmarks = trained.landmarks
    if not isinstance(kernel, Precomputed):
        places = np.full(X.shape[0], -1)
        places[rows.at] = np.arange(len(rows.at))
        indices = None if landmarks.indices is None else places[landmarks.indices]
        X, landmarks = rows.X, Landmarks(landmarks.points, None if indices is None else indices[indices >= 0])
    return estimate_kernel_error(kernel, X, landmarks, trained.factor, rng, rows=LOOKED_AT)
