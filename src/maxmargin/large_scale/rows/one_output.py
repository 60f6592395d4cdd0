"""First derivatives of one output in one look at the rows.

Of a few rows at a time, which stay in the innermost cache, decision values, losses and K'g are formed one after the
other, in double precision whatever K is. Several outputs are left to BLAS.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.large_scale.losses import first_order
from maxmargin.runtime.validation import Array

TOGETHER = 32  # rows


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _decide(K: Array, B: Array, b: float, F: Array) -> None:
    """F = K B + b; K may have more columns, of padding."""
    for i in range(K.shape[0]):
        f = 0.0
        for j in range(len(B)):
            f += K[i, j] * B[j]
        F[i, 0] = f + b


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add(factor: float, row: Array, total: Array) -> None:
    """total += factor row."""
    for j in range(len(total)):
        total[j] += factor * row[j]


def end_to_end(K: Array) -> Array:
    """The same rows, with the padding between them as columns that are not to be touched: compiled loops are told that
    neighbours in a row are neighbours in memory."""
    if K.flags.c_contiguous or K.strides[1] != K.itemsize or K.strides[0] % K.itemsize:
        return K
    return np.lib.stride_tricks.as_strided(K, (len(K), K.strides[0] // K.itemsize), writeable=False)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def evaluate_rows(
    K: Array,
    B: Array,
    b: float,
    anew: bool,
    F: Array,
    y: Array,
    c: Array,
    centre: Array,
    numbers: tuple[bool, bool, float, float],
    g: Array,
    sums: Array,
    gradient: Array,
) -> int:
    """F = K B + b, if ``anew``, and what :func:`~maxmargin.large_scale.losses.first_order` says there; gradient[0]
    grows by K'g of the rows with g > 0, and the last one by that of the others. K may have more columns, of padding."""
    support, last = 0, gradient.shape[0] - 1
    for start in range(0, K.shape[0], TOGETHER):
        at = slice(start, min(start + TOGETHER, K.shape[0]))
        if anew:
            _decide(K[at], B, b, F[at])
        support += first_order(F[at], y[at], c[at], centre[at], *numbers, g[at], sums)
        for i in range(at.start, at.stop):
            if g[i, 0] != 0.0:
                side = 0 if g[i, 0] > 0.0 else last
                _add(g[i, 0], K[i], gradient[side])
    return support
