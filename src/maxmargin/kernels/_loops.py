"""Sums over the coordinates that no matrix product gives.

    s_ij = sum_k t(a_ik, b_jk),   t(a, b) = |a - b|              MANHATTAN
                                            (a - b)^2 / (a + b)  CHI_SQUARED, with 0/0 = 0
                                            min(a, b)            INTERSECTION

All three terms are symmetric and vanish at a = b = 0. The dense loop therefore runs over k outside and j inside,
where it is one vector instruction after another, and the sparse loop merges the stored entries of two rows. Both add
the terms in the order of k: dense and sparse results, and s_ij and s_ji, agree to the last bit. The sparse loops of
the chi-squared and intersection terms rely on a, b >= 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

from maxmargin.kernels._arrays import as_float64
from maxmargin.runtime.validation import Array, Points

MANHATTAN, CHI_SQUARED, INTERSECTION = 0, 1, 2

_BLOCK_BYTES = 1 << 19  # a block of B that stays in the second-level cache


def coordinate_sums(A: Points, B: Points, kind: int) -> Array:
    """The sum over the coordinates of the term ``kind`` for every pair of rows, as a new float64 array."""
    out = np.zeros((A.shape[0], B.shape[0]))
    if sp.issparse(A) or sp.issparse(B):
        _sparse_sums(*_csr_arrays(A), *_csr_arrays(B), kind, out)
        return out
    A, B = np.ascontiguousarray(as_float64(A)), as_float64(B)
    width = min(max(_BLOCK_BYTES // (8 * max(B.shape[1], 1)), 64), 1024)
    for start in range(0, B.shape[0], width):
        block = np.ascontiguousarray(B[start : start + width].T)
        _dense_sums(A, block, kind, out, start)
    return out


def _csr_arrays(A: Points) -> tuple[Array, Array, Array]:
    """Row pointers, columns and values, in the one set of types the compiled loop is built for."""
    A = sp.csr_array(A)
    return A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float64)


@njit(cache=True, nogil=True)
def _dense_sums(A: Array, BT: Array, kind: int, out: Array, start: int) -> None:
    width = BT.shape[1]
    for i in range(A.shape[0]):
        sums = out[i, start : start + width]
        for k in range(A.shape[1]):
            a = A[i, k]
            b = BT[k]
            if kind == 0:
                for j in range(width):
                    sums[j] += abs(a - b[j])
            elif kind == 1:
                for j in range(width):
                    total = a + b[j]
                    difference = a - b[j]
                    sums[j] += difference * difference / total if total != 0.0 else 0.0
            else:
                for j in range(width):
                    sums[j] += min(a, b[j])


@njit(cache=True, nogil=True)
def _term(a: float, b: float, kind: int) -> float:
    if kind == 0:
        return abs(a - b)
    if kind == 1:
        return (a - b) * (a - b) / (a + b) if a + b != 0.0 else 0.0
    return min(a, b)


@njit(cache=True, nogil=True)
def _sparse_sums(
    pointers_a: Array,
    columns_a: Array,
    values_a: Array,
    pointers_b: Array,
    columns_b: Array,
    values_b: Array,
    kind: int,
    out: Array,
) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            p, p_end = pointers_a[i], pointers_a[i + 1]
            q, q_end = pointers_b[j], pointers_b[j + 1]
            total = 0.0
            while p < p_end or q < q_end:
                if q == q_end or (p < p_end and columns_a[p] < columns_b[q]):
                    total += _term(values_a[p], 0.0, kind)
                    p += 1
                elif p == p_end or columns_b[q] < columns_a[p]:
                    total += _term(0.0, values_b[q], kind)
                    q += 1
                else:
                    total += _term(values_a[p], values_b[q], kind)
                    p += 1
                    q += 1
            out[i, j] = total
