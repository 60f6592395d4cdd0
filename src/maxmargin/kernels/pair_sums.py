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
    """s_ij for all rows i of A (or the ``rows`` of it) and j of B (or the ``cols`` of it), a new array.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels.pair_sums import SQUARED, pair_sums
    >>> pair_sums(np.array([[1e9, 1.0]]), np.array([[1e9, 2.0], [0.0, 1.0]]), SQUARED)
    array([[1.e+00, 1.e+18]])
    """
    if sp.issparse(A) or sp.issparse(B):
        return _sparse(A if rows is None else A[rows], B if cols is None else B[cols], kind)
    dtype = A.dtype if A.dtype == B.dtype and A.dtype in (np.float32, np.float64) else np.float64
    A, B = np.ascontiguousarray(A, dtype), np.ascontiguousarray(B, dtype)
    out = np.empty((A.shape[0] if rows is None else len(rows), B.shape[0] if cols is None else len(cols)))
    _native.pair_sums_dense(A, _index(rows), B, _index(cols), kind, out)
    return out


def _index(rows: Array | None) -> Array | None:
    return None if rows is None else np.ascontiguousarray(rows, np.int64)


def _sparse(A: Points, B: Points, kind: int) -> Array:
    A, B = sp.csr_array(A), sp.csr_array(B)
    dtype = A.dtype if A.dtype == B.dtype and A.dtype in (np.float32, np.float64) else np.float64
    index = A.indices.dtype if A.indices.dtype == B.indices.dtype == np.int32 else np.int64
    out = np.empty((A.shape[0], B.shape[0]))
    a, b = (
        (
            np.ascontiguousarray(M.indptr, index),
            np.ascontiguousarray(M.indices, index),
            M.data.astype(dtype, copy=False),
        )
        for M in (A, B)
    )
    _native.pair_sums_csr(*a, *b, A.shape[1], kind, out)
    return out
