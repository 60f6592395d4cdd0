"""The Cholesky factorisation A = L L' in place, with the same bits for any number of threads.

Block column by block column, from the left (A_ik is the block of rows i and columns k):

    A_ik <- A_ik - sum_(j<k) L_ij L_kj'     one product for each block i >= k, on all threads
    L_kk  = Cholesky factor of A_kk
    L_ik  = A_ik L_kk'^-1                   i > k, on all threads

Only the lower triangle is read and written: what stands above the diagonal is still there afterwards, so that A can be
had back without a second matrix. LAPACK's own routine rounds differently for every number of threads.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array

BLOCK_ROWS = 256


def _blocks(n: int, first: int = 0) -> list[slice]:
    return [slice(start, min(start + BLOCK_ROWS, n)) for start in range(first, n, BLOCK_ROWS)]


def cholesky(A: Array, threads: int = 1) -> bool:
    """Overwrite the lower triangle of A with L; False, with A half done, if A is not positive definite.

    A: (n, n); float64; symmetric, or at least its lower triangle is meant
    Returns Whether all pivots were positive.
    """
    n = len(A)
    with single_threaded_blas():
        for k in _blocks(n):
            below = _blocks(n, k.stop)
            corner = np.tril(A[k, k] - A[k, : k.start] @ A[k, : k.start].T)
            L, failed = dpotrf(corner, lower=True)
            if failed or not np.isfinite(L).all():
                return False
            np.copyto(A[k, k], L, where=np.tri(len(L), dtype=bool))

            def column(t: int, k: slice = k, below: list[slice] = below, L: Array = L) -> None:
                i = below[t]
                rest = A[i, k] - A[i, : k.start] @ A[k, : k.start].T
                A[i, k] = solve_triangular(L, rest.T, lower=True, check_finite=False).T

            run_tiles(column, len(below), threads)
    return True


def cholesky_solve(A: Array, R: Array) -> Array:
    """The solution of L L' X = R, by substitution; R has one right-hand side a column."""
    X = R.copy()
    with single_threaded_blas():
        for k in _blocks(len(A)):
            X[k] = solve_triangular(A[k, k], X[k] - A[k, : k.start] @ X[: k.start], lower=True, check_finite=False)
        for k in reversed(_blocks(len(A))):
            rest = X[k] - A[k.stop :, k].T @ X[k.stop :]
            X[k] = solve_triangular(A[k, k], rest, lower=True, trans=1, check_finite=False)
    return X
