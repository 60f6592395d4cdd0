"""A line search: the zero of the slope of a convex function, for several functions at once.

An evaluation may be costly (a map-reduce step over a cluster), but more steps in one evaluation are not: each computes
the slopes at several steps of every function. The zero lies between the last step with a negative slope and the first
with a positive one, near where the line through these two is zero. If both slopes are small, that is the step. The next
evaluation is around it; where the slope has a sharp bend that is far too early, so it includes parts of the bracket.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.runtime.validation import Array

FIRST_STEPS = np.array(
    [0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.4, 1.8, 3.0]
)
NEARBY_SHARES = np.array([0.8, 1.0, 1.3])  # of the way to where the line is zero
BRACKET_SHARES = np.array([0.1, 0.3, 0.6])  # of the bracket
MAX_EVALUATIONS = 8
FLAT_SLOPE = 0.05  # share of the first slope that counts as zero
BRACKET_SLOPE = 0.3  # share that the slopes on both sides may have for a step between them


def best_steps(slopes_at: Callable[[Array], Array], slope: Array, wanted: Array) -> Array:
    """The steps of k functions.

    slopes_at: the slopes (q, k) at steps (q, k)
    slope: (k,); at 0; where it is not negative, the step is 0
    wanted: array of bool of shape (k,); functions that matter; the others get 0
    """
    every = np.arange(len(slope))
    low, at_low = np.zeros(len(slope)), slope.copy()
    steps = np.repeat(FIRST_STEPS[:, None], len(slope), axis=1)
    high, at_high = steps[-1].copy(), np.full(len(slope), np.nan)
    best = np.ones(len(slope))
    for _ in range(MAX_EVALUATIONS):
        slopes = slopes_at(steps)
        for k in np.flatnonzero(wanted):
            below, above = np.flatnonzero(slopes[:, k] <= 0), np.flatnonzero(slopes[:, k] > 0)
            if len(below):
                low[k], at_low[k] = steps[below[-1], k], slopes[below[-1], k]
            if len(above):
                high[k], at_high[k] = steps[above[0], k], slopes[above[0], k]
        nearest = np.abs(slopes).argmin(axis=0)
        best = steps[nearest, every]
        flat = np.abs(slopes[nearest, every]) <= FLAT_SLOPE * np.abs(slope)
        at = _crossing(low, at_low, high, at_high)
        narrow = np.maximum(-at_low, at_high) <= BRACKET_SLOPE * np.abs(
            slope
        )  # never where the upper slope is not known
        best = np.where((flat | narrow) & np.isfinite(at_high), at, best)
        if (flat | narrow)[wanted].all():
            break
        crossing = at - low
        inside = np.concatenate(
            (np.multiply.outer(NEARBY_SHARES, crossing), np.multiply.outer(BRACKET_SHARES, high - low))
        )
        steps = np.sort(low + np.minimum(inside, high - low), axis=0)
    return np.where(wanted & (slope < 0), best, 0.0)


def _crossing(low: Array, at_low: Array, high: Array, at_high: Array) -> Array:
    """Where the line through two points of the slope is zero; the upper end where the slope there is not known."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = low - at_low * (high - low) / (at_high - at_low)
    return np.where(np.isfinite(t), np.clip(t, low, high), high)
