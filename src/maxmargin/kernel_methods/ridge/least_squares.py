"""Ridge regression on given features, solved stably.

The weights W that minimise |Phi W - Y|^2 + alpha |W|^2 are the least-squares solution of a taller system,

    A W = T,       A = [      Phi      ]      T = [ Y ]
                       [ sqrt(alpha) I ],         [ 0 ],

whose condition number is the square root of that of Phi'Phi + alpha I: no digits are lost in forming products (which is
done only where it is known to be harmless). With its
columns scaled to a common size (A = B D), B = QR by Householder reflections,

    R V = Q'T,     W = D^-1 V.

Where R is singular to working precision, its singular values R = U diag(s) Z' tell the rank r; those beyond are left
out, V = Z_r diag(1 / s_r) U_r'Q'T, and what W holds outside the row space of A, spanned by D Z_r, is taken out of it:
the solution of least norm, which is also the limit of the ridge solutions for alpha -> 0.

The least weights lie in the space of Phi's rows. With more features than rows, Phi' = QR, they are W = QU, |W| = |U|,
and U solves the same problem with R' for Phi, whose columns are no features and keep their sizes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpocon, dpotrf, dtrcon

from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory

NORMAL_EQUATIONS_MIN_RCOND = 1e-6  # of B'B, above which forming it costs no digit that matters


def ridge_weights(Phi: Array, Y: Array, alpha: float) -> tuple[Array, int]:
    """The weights W of least penalised squares, and the rank of the system.

    Phi: (n, m); features in float64
    Y: (n, t); targets, one problem per column
    alpha: the penalty, >= 0
    Returns W, array of shape (m, t)
    Returns rank, m, unless the features are linearly dependent to working precision and alpha does not make up for it.
    """
    n, m = Phi.shape
    check_memory(
        8.0 * (n + m) * (2 * min(n, m) + Y.shape[1]),
        f"Least squares with {n:,} rows and {m:,} basis functions",
        "use fewer basis functions, or KernelRidge.",
    )
    with single_threaded_blas():
        if m > n:
            Q, R = scipy.linalg.qr(Phi.T, mode="economic", check_finite=False)
            U, rank = _tall(R.T, Y, alpha, np.ones(n))
            return Q @ U, m if alpha > 0 and rank == n else rank
        size = np.maximum(np.abs(Phi).max(axis=0, initial=0.0), np.sqrt(alpha))
        size[size == 0.0] = 1.0
        return _tall(Phi, Y, alpha, size)


def _tall(Phi: Array, Y: Array, alpha: float, size: Array) -> tuple[Array, int]:
    """W and the rank, for no more features than rows; ``size`` is the diagonal of D."""
    n, m = Phi.shape
    height = n + (m if alpha > 0 else 0)
    B = np.zeros((height, m), order="F")
    B[:n] = Phi / size
    if alpha > 0:
        np.fill_diagonal(B[n:], np.sqrt(alpha) / size)
    T = np.zeros((height, Y.shape[1]))
    T[:n] = Y
    if height >= 4 * m:
        V = _well_conditioned(B, T)
        if V is not None:
            return V / size[:, None], m
    right, R = scipy.linalg.qr_multiply(B, T.T, mode="right", overwrite_a=True)
    right = right.T  # Q'T
    noise = height * np.finfo(np.float64).eps
    if dtrcon(R)[0] > noise:
        return scipy.linalg.solve_triangular(R, right, check_finite=False) / size[:, None], m
    U, s, Zt = scipy.linalg.svd(R, full_matrices=False, check_finite=False)
    rank = int(np.count_nonzero(s > noise * s.max(initial=0.0)))
    W = (Zt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank, None])) / size[:, None]
    if rank < m:
        row_space = np.linalg.qr(size[:, None] * Zt[:rank].T)[0]
        W = row_space @ (row_space.T @ W)
    return W, rank


def _well_conditioned(B: Array, T: Array) -> Array | None:
    """V from the normal equations B'B V = B'T, a tenth of the work, where they lose few digits; one step with the
    residual brings those back. None where they would lose many."""
    G = B.T @ B
    norm = np.abs(G).sum(axis=0).max()
    factor, failed = dpotrf(G, lower=True)
    if failed or dpocon(factor, norm, uplo="L")[0] < NORMAL_EQUATIONS_MIN_RCOND:
        return None
    V = scipy.linalg.cho_solve((factor, True), B.T @ T, check_finite=False)
    return V + scipy.linalg.cho_solve((factor, True), B.T @ (T - B @ V), check_finite=False)
