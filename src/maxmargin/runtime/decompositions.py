"""Dense decompositions that Ctrl-C and deadlines can end.

LAPACK takes seconds for a few thousand rows and cannot be stopped. SciPy's wrappers hold the interpreter's lock
meanwhile, so that no signal handler runs; NumPy's release it, and are called here on a thread that can be abandoned.
Cholesky's decomposition is cut into blocks of columns, with a chance to stop between them:

    L_kk L_kk' = A_kk - sum_{j<k} L_kj L_kj',      L_ik = (A_ik - sum_{j<k} L_ij L_kj') L_kk^-T   for the blocks i > k,

which are computed on several threads, with the same bits for any number of them.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from maxmargin.runtime.threads import Stop, abandonable, halt_on, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array

BLOCK_ROWS = 256


def eigh(A: Array, stop: Stop | None = None) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, smallest first, and eigenvectors; ``A`` must not change meanwhile."""
    values, vectors = abandonable(lambda: np.linalg.eigh(A), float(len(A)) ** 3, stop)
    return values, vectors


def cholesky(A: Array, stop: Stop | None = None, threads: int = 1) -> Array:
    """The lower triangular L with L L' = A; ``LinAlgError`` if A is not positive definite."""
    L = np.array(A, np.float64)
    if not cholesky_in_place(L, threads, stop):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    for k in _blocks(len(L)):
        L[k, k.stop :] = 0.0
        L[k, k] = np.tril(L[k, k])
    return L


def cholesky_in_place(A: Array, threads: int = 1, stop: Stop | None = None) -> bool:
    """Overwrite the lower triangle of A with L; False, with A half done, if A is not positive definite.

    A: (n, n); float64; symmetric, or at least its lower triangle is meant
    """
    n = len(A)
    with single_threaded_blas():
        for k in _blocks(n):
            halt_on(stop)
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


def cholesky_solve(L: Array, R: Array) -> Array:
    """The solution of L L' X = R, by substitution.

    L: (n, n); only its lower triangle is read
    R: (n, k); one right-hand side per column
    """
    X = R.copy()
    with single_threaded_blas():
        for k in _blocks(len(L)):
            X[k] = solve_triangular(L[k, k], X[k] - L[k, : k.start] @ X[: k.start], lower=True, check_finite=False)
        for k in reversed(_blocks(len(L))):
            rest = X[k] - L[k.stop :, k].T @ X[k.stop :]
            X[k] = solve_triangular(L[k, k], rest, lower=True, trans=1, check_finite=False)
    return X


def _blocks(n: int, first: int = 0) -> list[slice]:
    return [slice(start, min(start + BLOCK_ROWS, n)) for start in range(first, n, BLOCK_ROWS)]


def svd(A: Array, stop: Stop | None = None) -> tuple[Array, Array, Array]:
    """The thin singular value decomposition, ``A = U diag(s) V'``: U, s and V'."""
    products = float(max(A.shape)) * min(A.shape) ** 2
    U, s, Vt = abandonable(lambda: np.linalg.svd(A, full_matrices=False), products, stop)
    return U, s, Vt
