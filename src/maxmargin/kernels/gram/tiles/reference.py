"""What the tiles compute, in plain NumPy: the text to read, and the standard they are tested against."""

from __future__ import annotations

import numpy as np

from maxmargin.kernels.gram.tiles.products import DECAY, EXP2, POWER, TANH
from maxmargin.runtime.validation import Array


def kernel_values(A: Array, u: Array, B: Array, v: Array, kind: int, degree: int = 1) -> Array:
    """k of the (scaled) rows of A with those of B, in float64."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    if kind == DECAY:
        return np.exp2(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))
    s = u.astype(np.float64)[:, None] + v.astype(np.float64)[None, :] + A @ B.T
    if kind == EXP2:
        return np.exp2(np.minimum(s, 0.0))
    if kind == TANH:
        return 1.0 - 2.0 / (1.0 + np.exp2(s))
    assert kind == POWER
    return s**degree
