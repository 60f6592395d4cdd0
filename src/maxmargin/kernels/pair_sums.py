"""Sums over the coordinates of two points, pair by pair, as their definitions say.

    PRODUCT       s_ij = sum_k a_ik b_jk
    SQUARED       s_ij = sum_k (a_ik - b_jk)^2
    ABSOLUTE      s_ij = sum_k |a_ik - b_jk|
    CHI_SQUARED   s_ij = sum_k (a_ik - b_jk)^2 / (a_ik + b_jk),  0/0 = 0
    MINIMUM       s_ij = sum_k min(a_ik, b_jk)

in float64, whatever the points' type. Nothing is expanded, centred or shared between pairs: s_ij depends on the rows i
and j alone, and a small distance of two long points keeps all its digits. That takes more time than the matrix products
of :mod:`maxmargin.kernels._arrays` and the tiles of :mod:`maxmargin.kernels.gram`; it serves certificates, and pairs of
points where those would lose too many digits.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.runtime.validation import Array, Points

PRODUCT, SQUARED, ABSOLUTE, CHI_SQUARED, MINIMUM = range(5)


def pair_sums(A: Points, B: Points, kind: int, *, rows: Array | None = None, cols: Array | None = None) -> Array:
    """s_ij for all rows i of A (or the ``rows`` of it) and j of B (or the ``cols`` of it), a new array."""
    out = np.empty((A.shape[0] if rows is None else len(rows), B.shape[0] if cols is None else len(cols)))
    dtype = A.dtype if A.dtype == B.dtype and A.dtype in (np.float32, np.float64) else np.float64
    if not (sp.issparse(A) or sp.issparse(B)):
        A, B = np.ascontiguousarray(A, dtype), np.ascontiguousarray(B, dtype)
        at, to = (None if index is None else np.ascontiguousarray(index, np.int64) for index in (rows, cols))
        _native.pair_sums_dense(A, at, None, B, to, None, kind, out.reshape(-1))
        return out
    A, B = (sp.csr_array(M if index is None else M[index]) for M, index in ((A, rows), (B, cols)))
    index = A.indices.dtype if A.indices.dtype == B.indices.dtype == np.int32 else np.int64
    left, right = (
        (*(np.ascontiguousarray(part, index) for part in (M.indptr, M.indices)), M.data.astype(dtype, copy=False))
        for M in (A, B)
    )
    _native.pair_sums_csr(left, None, right, None, A.shape[1], kind, out.reshape(-1))
    return out
