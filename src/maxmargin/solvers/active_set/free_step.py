"""A Newton step on the free variables of a working set.

Pair steps find out quickly which variables are at their bounds, and then creep when the kernel matrix of the free ones
is ill-conditioned (large C, unscaled columns). With the set F of free variables fixed, the rest is linear algebra:

    minimise  g_F' d + 1/2 d' Q_FF d    subject to  sum of d over each group = 0,

by one Cholesky factor of Q_FF (with a ridge at the level of its rounding). Variables that this step takes out of their
box are set to the bound that they passed, and d is computed anew for the others, until none passes a bound. Each is one
more linear constraint, e_i' d = bound_i - a_i, and with all constraints as C' d = c, and d_0 = -Q^-1 g,

    d = d_0 - Q^-1 C (C' Q^-1 C)^-1 (C' d_0 - c),

which takes the same factor. A variable at a bound that should leave it again is left to the pair steps that follow.
Where too many pass their bounds, the longest part of the first d that stays inside is taken. Group sums are repaired (a
nearly singular Q_FF gives long steps, whose sums are no longer exact), and a step counts only if it lowers the
objective.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from maxmargin.runtime.decompositions import cholesky
from maxmargin.runtime.threads import Halted, Stop
from maxmargin.runtime.validation import Array

# Relative to the mean of the diagonal: the rounding of Q_FF. A matrix of float32 values may have negative eigenvalues
# of the size of the rounding of its entries times the square root of its rows (some thousands).
RIDGE, RIDGE_SINGLE = 1e-13, 2e-6
BOUNDED_MAX_SHARE = 0.1  # of the free variables that may be set to bounds: beyond, F is not yet known


@dataclass(frozen=True)
class FreeStep:
    """The free variables, their change, and whether it is the whole way to the minimum over them."""

    free: Array
    change: Array
    exact: bool


def free_step(
    K: Array,
    g: Array,
    a: Array,
    lower: Array,
    upper: Array,
    groups: list[slice],
    candidates: Array,
    *,
    max_free: float = np.inf,
    threads: int = 1,
    stop: Stop | None = None,
) -> FreeStep | None:
    """The step on the free variables among ``candidates``, or None if there is no better point to go to, if there
    are more than ``max_free``, or if ``stop`` returned something meanwhile.

    ``groups`` are the ranges of variables whose sums are fixed.
    """
    free = candidates[(a[candidates] > lower[candidates]) & (a[candidates] < upper[candidates])]
    if not 2 <= len(free) <= max_free:
        return None
    Q = np.empty((len(free), len(free)))
    for i, row in enumerate(free):
        Q[i] = K[row, free]
    Q[np.diag_indices_from(Q)] += (RIDGE if K.dtype == np.float64 else RIDGE_SINGLE) * float(np.trace(Q)) / len(Q)
    slope, low, high, here = g[free].astype(np.float64), lower[free], upper[free], a[free]
    tied = [(free >= group.start) & (free < group.stop) for group in groups]
    tied = [mask for mask in tied if mask.any()]
    try:
        L = cholesky(Q, stop, threads)
    except (np.linalg.LinAlgError, Halted):
        return None
    for direction, exact in _directions(L, slope, low - here, high - here, tied):
        change = _cut_back(here, direction, low, high, tied)
        if change is not None and change @ slope + 0.5 * change @ (Q @ change) < 0.0:
            return FreeStep(free, change, exact)
    return None


def _directions(L: Array, slope: Array, least: Array, most: Array, tied: list[Array]) -> Iterator[tuple[Array, bool]]:
    """The step with ``least <= d <= most`` (True) if few bounds have to be set for it, then a shorter one (False)."""
    first = None
    try:
        half = _solve(L, np.column_stack([slope, *(mask.astype(float) for mask in tied)]))
        newton = -_solve(L, half[:, 0], transposed=True)
        rows = half[:, 1:]  # L^-1 C
        missing = np.array([newton[mask].sum() for mask in tied])  # C' d_0 - c
        bounded = np.zeros(len(L), bool)
        while bounded.sum() <= BOUNDED_MAX_SHARE * len(L):
            step = newton - _solve(L, rows @ np.linalg.solve(rows.T @ rows, missing), transposed=True)
            if not np.isfinite(step).all():
                break
            first = step if first is None else first
            passed = np.flatnonzero(((step < least) | (step > most)) & ~bounded)
            if len(passed) == 0:
                yield step, True
                break
            bounded[passed] = True
            identity = np.zeros((len(L), len(passed)))
            identity[passed, np.arange(len(passed))] = 1.0
            rows = np.column_stack([rows, _solve(L, identity)])
            bounds = np.where(step < least, least, most)[passed]
            missing = np.append(missing, newton[passed] - bounds)
    except np.linalg.LinAlgError:
        pass
    if first is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(first > 0, most / first, least / first)
        yield first * min(1.0, float(np.min(reach[first != 0], initial=1.0))), False


def _solve(L: Array, right: Array, transposed: bool = False) -> Array:
    return solve_triangular(L, right, lower=True, trans=int(transposed), check_finite=False)


def _cut_back(here: Array, direction: Array, low: Array, high: Array, tied: list[Array]) -> Array | None:
    """The full step with every variable kept in its box; what that takes from a group's sum is given to those of its
    variables that have room."""
    there = np.clip(here + direction, low, high)
    for mask in tied:
        excess = float(there[mask].sum() - here[mask].sum())
        room = (there - low if excess > 0 else high - there)[mask]
        total = float(room.sum())
        if not abs(excess) < total:
            return None
        if np.isfinite(total):
            there[mask] -= excess * room / total
    return there - here
