"""Repairs of a group of variables whose sum misses its total by an excess; the variables stay within their bounds.

``DualProblem.feasible`` applies them one after the other, until the sum is right.
"""

from __future__ import annotations

import numpy as np

from maxmargin.runtime.validation import Array


def move_free(part: Array, lower: Array, upper: Array, excess: float) -> Array:
    """Subtract the excess from the free variables, in proportion to their distances from the bound (or from zero, if
    that is nearer), and at most these distances."""
    down = excess > 0
    far = (
        np.where(part > 0, np.maximum(lower, 0.0), lower) if down else np.where(part < 0, np.minimum(upper, 0.0), upper)
    )
    slack = np.where((part > lower) & (part < upper), np.abs(part - far), 0.0)
    slack[~np.isfinite(slack)] = 0.0
    total = slack.sum()
    if total <= abs(excess):
        return part
    return np.clip(part - excess * slack / total, lower, upper)


def shrink(part: Array, lower: Array, upper: Array, excess: float) -> Array:
    """Shrink the side that is too large toward zero."""
    same = part * np.sign(excess) > 0
    weight = np.abs(part[same]).sum()
    if weight == 0:
        return part
    part = part.copy()
    part[same] *= max(0.0, 1.0 - abs(excess) / weight)
    return np.clip(part, lower, upper)


def fill(part: Array, lower: Array, upper: Array, excess: float) -> Array:
    """Move variables to their bounds, one after the other, until the sum is right."""
    sign = -np.sign(excess)
    slack = np.abs((upper if sign > 0 else lower) - part)
    before = np.concatenate(([0.0], np.cumsum(slack)[:-1]))
    return np.clip(part + sign * np.clip(abs(excess) - before, 0.0, slack), lower, upper)
