"""Products, norms and powers of points, dense or CSR, always in float64.

Every kernel of this package is built from

    P_ij  = a_i'b_j                                        products
    D_ij  = ||a_i - b_j||^2 = ||a_i||^2 + ||b_j||^2 - 2 a_i'b_j   squared_distances
    K_ij -> K_ij^p                                         power

The expanded distance turns the work into one matrix product, and loses digits where ||a||^2 is much larger than
||a - b||^2. Distances do not change when both points move, so dense points are first shifted to lie around zero, and
where that is not enough, distances are computed from the differences of coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels.pair_sums import SQUARED, pair_sums
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.validation import Array, Points, shown

CHUNK_ENTRIES = 1 << 20  # entries converted to float64 at a time
# Rows that determine a typical one; a median of m rows takes m^2 comparisons per column, half a nanosecond for four.
SAMPLE_MIN_ROWS, SAMPLE_MAX_ROWS, SAMPLE_MAX_COMPARISONS = 24, 128, 2_000_000
# Of a call for sparse points: an entry of a row of A times a panel of rows of B, a nanosecond or two each.
SPARSE_PANEL_ROWS, SPARSE_CALL_MAX_TERMS = 16, 50_000_000
SYMMETRY_TILE = 256  # rows and columns of two tiles that the second-level cache holds
DRAGGED_RATIO = 10.0  # times as far from the mean as from the median
MAX_DISTANCE = float(np.finfo(np.float64).max)
FAR_EXPONENT = 20_000.0  # an expanded distance of two nearer points errs by less than 1e-11 in the exponent
LOST_DIGITS_SHARE = 1e-6  # of the size of what is subtracted: six digits of sixteen
LARGEST_SQUARED_POWER = 32  # beyond it np.power is as fast as repeated squaring, and rounds only once


def as_float64(A: Points) -> Points:
    """The same points in float64; no copy where they already are."""
    return A.astype(np.float64, copy=False)


def products(A: Points, B: Points) -> Array:
    """The inner products of the rows of A with the rows of B, as a new dense array in C order."""
    left = as_float64(A)
    right = left if B is A else as_float64(B)  # the same object lets BLAS compute one triangle only
    if sp.issparse(left) and sp.issparse(right):
        return _sparse_products(left, right)
    if sp.issparse(left):
        return np.ascontiguousarray(left @ right.T)
    if sp.issparse(right):
        return np.ascontiguousarray((right @ left.T).T)
    return np.ascontiguousarray(left @ right.T)


def _sparse_products(A: Points, B: Points) -> Array:
    """The same of CSR points, some rows of A at a time."""
    out = np.empty((A.shape[0], B.shape[0]))
    right = csr_arrays(B)
    index = right[1].dtype if csr_arrays(A)[1].dtype == right[1].dtype else np.int64
    right = csr_arrays(B, index=index)
    per_row = max(1.0, A.nnz / max(1, A.shape[0])) * max(1.0, B.shape[0] / SPARSE_PANEL_ROWS)
    step = max(1, int(SPARSE_CALL_MAX_TERMS / per_row))
    for start in range(0, A.shape[0], step):
        rows = slice(start, start + step)
        _native.sparse_products(csr_arrays(A, rows, index), right, A.shape[1], out[rows])
    return out


def symmetrised(K: Array) -> Array:
    """(K + K') / 2, tile by tile: a row of K' is a column of K, and Ctrl-C waits for one tile only."""
    out, n = np.empty_like(K), len(K)
    tiles = [slice(start, min(start + SYMMETRY_TILE, n)) for start in range(0, n, SYMMETRY_TILE)]
    for i, rows in enumerate(tiles):
        for cols in tiles[i:]:
            out[rows, cols] = (K[rows, cols] + K[cols, rows].T) * 0.5
            out[cols, rows] = out[rows, cols].T
    return out


def row_sums(data: Array, indptr: Array) -> Array:
    """The sum of each row's entries, given as in CSR; each row by itself, so that none takes another's digits."""
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(data, indptr[filled])
    return sums


def squared_norms(A: Points) -> Array:
    """||a||^2 of each row."""
    if sp.issparse(A):
        A = sp.csr_array(A)
        return row_sums(A.data.astype(np.float64) ** 2, A.indptr)
    norms: Array = np.einsum("ij,ij->i", A, A, dtype=np.float64)
    return norms


def plain(X: Array) -> Array:
    """The same values in C order and aligned, float32 or float64, as the compiled core takes them."""
    if X.flags.c_contiguous and X.flags.aligned and X.dtype in (np.float32, np.float64):
        return X
    return np.require(X, np.float32 if X.dtype == np.float32 else np.float64, ["C", "A"])


def distances_from(X: Array, point: Array) -> Array:
    """||x - point||^2 of each row of dense points."""
    X, distances = plain(X), np.empty(X.shape[0])
    for rows in chunks(X):
        _native.row_distances(X[rows], point, distances[rows])
    return distances


def centre_of(X: Points, weights: Array | None) -> Array | None:
    """A point that dense points lie around; None for sparse ones, which a shift would fill.

    It is the weighted mean of each column, unless a few rows drag that away from the others, as one at 1e12 does: then
    the weighted median. What counts is how far a typical row is from it, half of them being nearer; a sample of the
    rows decides (see ``native/moments``).
    """
    if sp.issparse(X):
        return None
    X = plain(X)
    centre = _column_means(X, weights)
    rows = math.isqrt(SAMPLE_MAX_COMPARISONS // X.shape[1])
    some = slice(None, None, 1 + X.shape[0] // min(SAMPLE_MAX_ROWS, max(SAMPLE_MIN_ROWS, rows)))
    sample = np.ascontiguousarray(X[some], dtype=np.float64)
    shares = np.ones(len(sample)) if weights is None else np.ascontiguousarray(weights[some])
    if weights is None or shares.any():
        _native.robust_centre(sample, shares, DRAGGED_RATIO, centre)
    return centre


def _column_means(X: Array, weights: Array | None) -> Array:
    if weights is None:
        return np.asarray(np.add.reduce(X, axis=0, dtype=np.float64) / X.shape[0])
    shares, means = weights / weights.sum(), np.zeros(X.shape[1])
    for rows in chunks(X):
        _native.column_sums(X[rows], shares[rows], means)
    return means


def chunks(X: Array) -> list[slice]:
    """Ranges of the rows of about ``CHUNK_ENTRIES`` entries: Ctrl-C is obeyed between them."""
    step = max(1, CHUNK_ENTRIES // max(1, X.shape[1]))
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]


def squared_distances(A: Points, B: Points, shift: Array | None = None, gamma: float | None = None) -> Array:
    """||a - b||^2 for the rows of A and B, never negative; dense points are moved by ``-shift`` first.

    The expanded form errs by a few eps (||a||^2 + ||b||^2). Where that is too much the sum of squared differences is
    computed instead: with ``gamma``, the factor of the distance in an exponent, for points with gamma ||a||^2 and
    gamma ||b||^2 beyond ``FAR_EXPONENT``; without it, for pairs that keep less than ten digits. A point whose squared
    length overflows is as far from all others as a number can say, unless they are as long.
    """
    same = B is A
    P, Q = A, B
    if shift is not None and not sp.issparse(A) and not sp.issparse(B):
        P = A - shift
        Q = P if same else B - shift
    with np.errstate(over="ignore", invalid="ignore"):
        D = products(P, Q)
        D *= -2.0
        norms_a, norms_b = squared_norms(P), squared_norms(Q)
        D += norms_a[:, None]
        D += norms_b[None, :]
    D[~np.isfinite(norms_a)] = MAX_DISTANCE
    D[:, ~np.isfinite(norms_b)] = MAX_DISTANCE
    np.clip(D, 0.0, MAX_DISTANCE, out=D)
    if gamma is None:
        _mend_pairs(A, B, norms_a, norms_b, D)
    else:
        limit = FAR_EXPONENT / gamma if gamma > 0 else np.inf
        far_a, far_b = (np.flatnonzero(~(norms <= limit)) for norms in (norms_a, norms_b))
        if len(far_a) and len(far_b):
            D[np.ix_(far_a, far_b)] = np.minimum(pair_sums(A[far_a], B[far_b], SQUARED), MAX_DISTANCE)
    if same:
        np.fill_diagonal(D, 0.0)
    return D


def _mend_pairs(A: Points, B: Points, norms_a: Array, norms_b: Array, D: Array) -> None:
    """Compute the distances that lost more than ``LOST_DIGITS_SHARE`` of theirs from differences of coordinates."""
    with np.errstate(over="ignore"):
        lost = LOST_DIGITS_SHARE * (norms_a[:, None] + norms_b[None, :]) >= D
    rows = np.flatnonzero(lost.any(axis=1))
    for i in rows:
        cols = np.flatnonzero(lost[i])
        D[i, cols] = np.minimum(pair_sums(A[i : i + 1], B[cols], SQUARED)[0], MAX_DISTANCE)


def is_integer(value: object) -> bool:
    """Whether a number has no fractional part, like 3, 3.0 and np.int64(3)."""
    return isinstance(value, (int, float, np.integer, np.floating)) and float(value).is_integer()


def power(K: Array, exponent: float, scale: Callable[[], float], name: str) -> Array:
    """K^exponent elementwise, overwriting K.

    ``scale()`` is the size of the numbers that K was computed from: a base below zero by no more than their
    rounding error counts as zero when the exponent is not an integer.
    """
    if is_integer(exponent):
        if exponent > LARGEST_SQUARED_POWER:
            return np.power(K, float(exponent), out=K)
        return _integer_power(K, int(exponent))
    lowest = K.min(initial=0.0)
    if lowest < 0.0:
        if lowest < -1e-12 * scale():
            raise ValueError(
                f"{name}: the base is negative ({lowest:.3g}) and the exponent {shown(exponent)} is not an integer, so "
                "the power is not a real number. Use an integer exponent, or make every base positive (a larger coef0, "
                "or features that are not negative)."
            )
        np.maximum(K, 0.0, out=K)
    return np.power(K, float(exponent), out=K)


def _integer_power(K: Array, exponent: int) -> Array:
    """K^exponent by repeated squaring: K^13 = K^8 K^4 K^1."""
    if exponent == 0:
        K.fill(1.0)
        return K
    while exponent % 2 == 0:
        K *= K
        exponent //= 2
    if exponent == 1:
        return K
    square = K.copy()
    exponent //= 2
    while exponent:
        square *= square
        if exponent % 2:
            K *= square
        exponent //= 2
    return K
