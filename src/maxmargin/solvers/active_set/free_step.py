"""A Newton step on the free variables of a working set.

Pair steps find out quickly which variables are at their bounds, and then creep when the kernel matrix of the free ones
is ill-conditioned (large C, unscaled columns). With the set F of free variables fixed, the rest is linear algebra:

    minimise  g_F' d + 1/2 d' Q_FF d    subject to  sum of d over each group = 0,

solved by one Cholesky factor of Q_FF (with a ridge at the level of its rounding) and a small system for the groups'
multipliers. The step may leave the box, so two points are tried: the full step and the longest part of it that stays
inside, both cut back variable by variable, with each group's sum repaired (a nearly singular Q_FF gives long steps,
whose sums are no longer exact). The better one is taken, if it lowers the objective.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.runtime.validation import Array

RIDGE = 1e-13  # relative to the mean of the diagonal: the rounding of Q_FF


def free_step(
    K: Array, g: Array, a: Array, lower: Array, upper: Array, groups: list[slice], candidates: Array
) -> tuple[Array, Array] | None:
    """The free variables among ``candidates`` and their change, or None if there is no better point to go to.

    ``groups`` are the ranges of variables whose sums are fixed.
    """
    free = candidates[(a[candidates] > lower[candidates]) & (a[candidates] < upper[candidates])]
    if len(free) < 2:
        return None
    Q = K[np.ix_(free, free)]
    slope, low, high, here = g[free], lower[free], upper[free], a[free]
    tied = [(free >= group.start) & (free < group.stop) for group in groups]
    tied = [mask for mask in tied if mask.any()]
    direction = _newton_direction(Q, slope, tied)
    if direction is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(direction > 0, (high - here) / direction, (low - here) / direction)
    inside = float(min(1.0, np.min(reach[direction != 0], initial=1.0)))
    best, gain = None, 0.0
    for length in (1.0, inside):
        change = _cut_back(here, length * direction, low, high, tied)
        if change is None:
            continue
        lowered = -float(change @ slope + 0.5 * change @ (Q @ change))
        if lowered > gain:
            best, gain = change, lowered
    return None if best is None else (free, best)


def _newton_direction(Q: Array, slope: Array, tied: list[Array]) -> Array | None:
    regular = Q.copy()
    regular[np.diag_indices_from(regular)] += RIDGE * float(np.trace(Q)) / len(Q)
    right = np.column_stack([slope, *(mask.astype(float) for mask in tied)])
    try:
        solved = cho_solve(cho_factor(regular, lower=True, overwrite_a=True, check_finite=False), right)
        if not tied:
            return -solved[:, 0]
        sums = np.array([solved[mask].sum(axis=0) for mask in tied])
        multipliers = np.linalg.solve(sums[:, 1:], sums[:, 0])
    except (LinAlgError, np.linalg.LinAlgError):
        return None
    direction = solved[:, 1:] @ multipliers - solved[:, 0]
    return direction if np.isfinite(direction).all() else None


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
