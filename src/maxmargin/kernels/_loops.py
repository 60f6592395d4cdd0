"""Sums over the coordinates that no matrix product gives.

    s_ij = sum_k t(a_ik, b_jk),   t(a, b) = |a - b|              MANHATTAN
                                            (a - b)^2 / (a + b)  CHI_SQUARED, with 0/0 = 0
                                            min(a, b)            INTERSECTION

All three terms are symmetric and vanish at a = b = 0. The dense loop keeps the sums of many pairs in registers, the
sparse loop merges the stored entries of two rows (``native/coordinate_sums``). Both add the terms in the order of k:
dense and sparse results, and s_ij and s_ji, agree to the last bit. The sparse loops of the chi-squared and intersection
terms rely on a, b >= 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels._arrays import as_float64
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.validation import Array, Points

MANHATTAN, CHI_SQUARED, INTERSECTION = 0, 1, 2

# Per call, so that Ctrl-C is obeyed within a tenth of a second: a dense term takes up to a nanosecond (a division),
# a step of a merge ten.
DENSE_MAX_TERMS, SPARSE_MAX_TERMS = 2**26, 2**22
DENSE_MAX_ROWS = 1024  # of B per call: with fewer rows of A its transposition would be repeated too often


def coordinate_sums(A: Points, B: Points, term: int) -> Array:
    """The sum over the coordinates of a term for every pair of rows, as a new float64 array."""
    out = np.empty((A.shape[0], B.shape[0]))
    if sp.issparse(A) or sp.issparse(B):
        _sparse_sums(sp.csr_array(A), sp.csr_array(B), term, out)
        return out
    A, B = np.ascontiguousarray(as_float64(A)), np.ascontiguousarray(as_float64(B))
    width = min(DENSE_MAX_ROWS, B.shape[0])
    height = max(1, DENSE_MAX_TERMS // max(1, width * A.shape[1]))
    for i in range(0, A.shape[0], height):
        for j in range(0, B.shape[0], DENSE_MAX_ROWS):
            _native.coordinate_sums(
                A[i : i + height], B[j : j + DENSE_MAX_ROWS], term, out[i : i + height, j : j + DENSE_MAX_ROWS]
            )
    return out


def _sparse_sums(A: sp.csr_array, B: sp.csr_array, term: int, out: Array) -> None:
    terms_per_pair = 1 + A.nnz // max(1, A.shape[0]) + B.nnz // max(1, B.shape[0])
    width = max(1, min(B.shape[0], SPARSE_MAX_TERMS // terms_per_pair))
    height = max(1, SPARSE_MAX_TERMS // (terms_per_pair * width))
    narrow = A.indices.dtype == np.int32 and B.indices.dtype == np.int32 and max(A.nnz, B.nnz) < 2**31
    index = np.int32 if narrow else np.int64
    A, B = as_float64(A), as_float64(B)
    for j in range(0, B.shape[0], width):
        right = csr_arrays(B, slice(j, j + width), index)
        for i in range(0, A.shape[0], height):
            left = csr_arrays(A, slice(i, i + height), index)
            _native.coordinate_sums_csr(left, right, A.shape[1], term, out[i : i + height, j : j + width])
