"""Kernel ridge regression as one linear system.

With weights w_i > 0, f(x) = sum_i c_i k(x_i, x) + b is to minimise

    sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2,       |f|^2 = c'Kc,

b being free of charge. Let S = diag(sqrt w), s = S1, Q = I - ss'/s's (the projection that takes out the weighted mean;
Q = I if there is no intercept), and

    A = Q S K S Q,       c = S (A + alpha I)^-1 Q S y,       b = sum_i w_i (y_i - (Kc)_i) / sum_i w_i.

A is symmetric and as positive semidefinite as K, so that alpha > 0 makes the system positive definite: Cholesky. (In
the direction of s, which Q takes out, A is given an eigenvalue of ordinary size instead of 0; nothing depends on it.)
Where that fails (alpha = 0 and K singular, or a kernel that is no inner product) the eigenvalues of A are needed, and
those that are zero to working precision are left out: the solution of least norm. f depends on y linearly:

    f(x) = b(x)'y,      b(x) = S Q (A + alpha I)^-1 Q S (k(x) - m) + w / sum_i w_i,    m = Kw / sum_i w_i,

without the means if there is no intercept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from maxmargin.runtime.decompositions import cholesky_in_place, cholesky_solve, eigh
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory, warn

CHUNK_ROWS = 512  # rows at a time


class Eigen(NamedTuple):
    """A = V diag(values) V', with the intercept's direction taken out of V."""

    values: Array
    vectors: Array


class RidgeSystem:
    """The system of one training set, for any alpha.

    K: (n, n); the kernel matrix in float64; it is overwritten
    weights: (n,); all positive
    """

    def __init__(self, K: Array, weights: Array, fit_intercept: bool, threads: int = 1) -> None:
        self.A, self.weights, self.threads = K, weights, threads
        self.s = np.sqrt(weights)
        if (weights != 1.0).any():
            for rows in self._strips():
                K[rows] *= self.s[rows, None] * self.s
        self.q: Array | None = None
        if fit_intercept:
            total = weights.sum()
            with single_threaded_blas():
                self.mean = (K @ self.s) / (self.s * total)  # m = Kw / sum w
                self.q = self.s / np.sqrt(total)
                h = K @ self.q
            h -= 0.5 * (self.q @ h + np.abs(K.diagonal()).mean()) * self.q
            for rows in self._strips():  # QKQ + t qq' = K - qh' - hq',  h = Kq - (q'Kq + t) q / 2
                K[rows] -= self.q[rows, None] * h + h[rows, None] * self.q
        self.diagonal = K.diagonal().copy()
        self.factor_of: float | None = None  # the alpha whose factor is in the lower triangle of A
        self.spoilt = False  # whether something else than A is there
        self.eigen: Eigen | None = None

    def _strips(self) -> list[slice]:
        return [slice(start, start + CHUNK_ROWS) for start in range(0, len(self.A), CHUNK_ROWS)]

    def _project(self, R: Array) -> Array:
        """Q times R."""
        return R if self.q is None else R - self.q[:, None] * (self.q @ R)

    def dual(self, Y: Array, alpha: float) -> tuple[Array, Array]:
        """The coefficients c, one column for each of Y, and the intercepts b; each with the bits that it has alone."""
        c, b = np.empty(Y.shape), np.zeros(Y.shape[1])
        share = self.weights / self.weights.sum()
        for k in range(Y.shape[1]):
            y = np.ascontiguousarray(Y[:, k])
            own = self.s * self._solve((self.s * y)[:, None], alpha)[:, 0]
            c[:, k] = own
            if self.q is not None:
                b[k] = share @ y - self.mean @ own
        return c, b

    def blend(self, values: Array, alpha: float) -> Array:
        """b(x) of new points, one per row, from their kernel values with the training points."""
        if self.q is None:
            return self._solve((values * self.s).T, alpha).T * self.s
        rows = self._solve(((values - self.mean) * self.s).T, alpha).T * self.s
        return rows + self.weights / self.weights.sum()

    def _solve(self, R: Array, alpha: float) -> Array:
        """Q (A + alpha I)^-1 Q R."""
        R = self._project(R)
        if self.eigen is None and self._factorise(alpha):
            return self._project(cholesky_solve(self.A, R))
        eigen = self.decompose()
        shifted = eigen.values + alpha
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=np.abs(shifted) > _noise(shifted))
        with single_threaded_blas():
            return eigen.vectors @ (inverse[:, None] * (eigen.vectors.T @ R))

    def _factorise(self, alpha: float) -> bool:
        """Cholesky of A + alpha I, kept for the next call; the upper triangle keeps A."""
        if self.factor_of == alpha:
            return True
        self._restore()
        shifted = self.diagonal + alpha
        np.fill_diagonal(self.A, shifted)
        self.spoilt = True
        # A pivot that is nothing but rounding, next to what it was before elimination, means a singular matrix.
        noise = len(shifted) * np.finfo(np.float64).eps
        if not cholesky_in_place(self.A, self.threads) or (self.A.diagonal() ** 2 <= noise * shifted).any():
            return False
        self.factor_of = alpha
        return True

    def _restore(self) -> None:
        """A again, from its upper triangle and its diagonal."""
        if self.spoilt:
            for rows in self._strips():
                self.A[rows.stop :, rows] = self.A[rows, rows.stop :].T
                corner = np.triu(self.A[rows, rows], 1)
                self.A[rows, rows] = corner + corner.T
            np.fill_diagonal(self.A, self.diagonal)
        self.factor_of, self.spoilt = None, False

    def decompose(self) -> Eigen:
        """Eigenvalues and eigenvectors of A; A itself is given up."""
        if self.eigen is None:
            n = len(self.A)
            check_memory(
                24.0 * n * n,
                f"The eigenvectors of a kernel matrix of {n:,} rows",
                "use fewer rows, or KernelRidge with a positive alpha and a positive semidefinite kernel.",
            )
            self._restore()
            A, self.A = self.A, np.empty((0, 0))
            values, vectors = eigh(A)
            with single_threaded_blas():
                if self.q is not None:
                    vectors -= self.q[:, None] * (self.q @ vectors)
            values[(values < 0) & (values >= -_noise(values))] = 0.0
            self.eigen = Eigen(values, vectors)
        return self.eigen

    def warn(self, alpha: float) -> None:
        """Warn if A + alpha I was not positive definite, with the remedy."""
        if self.eigen is None:
            return
        shifted = self.eigen.values + alpha
        noise, lowest = _noise(shifted), float(shifted.min())
        rank = int(np.count_nonzero(np.abs(shifted) > noise))
        singular = f"singular to working precision (rank {rank} of {len(shifted)}) with alpha={alpha:g}"
        if lowest < -noise:
            solved = "The linear system was solved, but its solution"
            if rank < len(shifted):
                solved = f"It is {singular}, too: the solution of least norm is used, which"
            message = (
                f"K + alpha I is not positive definite: its smallest eigenvalue is {lowest:.3g}, so the kernel is no "
                f"inner product on this data. {solved} minimises nothing. Use a positive semidefinite kernel, or "
                f"alpha > {alpha - lowest:.3g}."
            )
        elif rank < len(shifted):
            message = (
                f"K + alpha I is {singular}: the solution of least norm is used. Choose a larger alpha, for instance "
                f"{1e3 * noise:.0e}."
            )
        else:
            return
        warn(message, scipy.linalg.LinAlgWarning)


def _noise(values: Array) -> float:
    """What of the eigenvalues is rounding."""
    return float(len(values) * np.finfo(np.float64).eps * np.abs(values).max())
