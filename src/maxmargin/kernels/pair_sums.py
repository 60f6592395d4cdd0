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

from maxmargin.runtime.validation import Array, Points

PRODUCT, SQUARED, ABSOLUTE, CHI_SQUARED, MINIMUM = range(5)

STRIP_MAX_ENTRIES = 1 << 16  # terms held at a time: half a megabyte, which a second-level cache holds


def _terms(a: Array, b: Array, kind: int) -> Array:
    if kind == PRODUCT:
        return a * b
    if kind == MINIMUM:
        return np.minimum(a, b)
    apart = a - b
    if kind == ABSOLUTE:
        return np.abs(apart, out=apart)
    if kind == SQUARED:
        return np.multiply(apart, apart, out=apart)
    total = a + b
    return np.divide(apart * apart, total, out=np.zeros_like(apart), where=total != 0.0)


def pair_sums(A: Points, B: Points, kind: int) -> Array:
    """s_ij for all rows i of A and j of B, a new array.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels.pair_sums import SQUARED, pair_sums
    >>> pair_sums(np.array([[1e9, 1.0]]), np.array([[1e9, 2.0], [0.0, 1.0]]), SQUARED)
    array([[1.e+00, 1.e+18]])
    """
    out = np.empty((A.shape[0], B.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(A) or sp.issparse(B):
            _sparse(sp.csr_array(A), sp.csr_array(B), kind, out)
        else:
            _dense(A, B, kind, out)
    return out


def _dense(A: Points, B: Points, kind: int, out: Array) -> None:
    right = B.astype(np.float64, copy=False)
    step = max(1, STRIP_MAX_ENTRIES // max(1, right.size))
    for start in range(0, A.shape[0], step):
        left = A[start : start + step].astype(np.float64, copy=False)
        out[start : start + step] = _terms(left[:, None, :], right[None, :, :], kind).sum(axis=2)


def _sparse(A: Points, B: Points, kind: int, out: Array) -> None:
    """Row by row of A: columns that it has meet those of B; other entries of B meet zeros."""
    data = B.data.astype(np.float64, copy=False)
    alone = _terms(np.zeros(1), data, kind)
    row_of = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    row = np.zeros(B.shape[1])
    for i in range(A.shape[0]):
        entries = slice(A.indptr[i], A.indptr[i + 1])
        columns, values = A.indices[entries], A.data[entries].astype(np.float64)
        row[columns] = values
        here = np.zeros(B.shape[1], bool)
        here[columns] = True
        met = here[B.indices]
        terms = np.where(met, _terms(row[B.indices], data, kind), alone)
        sums = np.zeros(B.shape[0])
        np.add.at(sums, row_of, terms)
        if kind not in (PRODUCT, MINIMUM):  # entries of A that meet zeros of B
            own = _terms(values, np.zeros(1), kind)
            missing = np.ones((B.shape[0], len(columns)), bool)
            place = np.full(B.shape[1], -1)
            place[columns] = np.arange(len(columns))
            missing[row_of[met], place[B.indices[met]]] = False
            sums += np.where(missing, own, 0.0).sum(axis=1)
        out[i] = sums
        row[columns] = 0.0
