"""A cheap Hessian: that of a random sample of the rows.

With phi_i = T'k_i, and n / s as many rows as the sample has,

    M = I + n/s sum_{i in sample} D_i (phi_i, 1)(phi_i, 1)',        no 1 on the diagonal for the intercept,

is about the Hessian of all rows once the sample has a few times as many rows as there are unknowns; conjugate gradients
on M^-1 H then need few iterations. The features of the sample are computed once, and serve every Newton step.

Linear models with many columns have no memory for such a matrix, and sparse ones little use for it: there M is the
diagonal of the Hessian of all rows, I + sum_i D_i x_ij^2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve

from maxmargin import _native
from maxmargin.large_scale.rows.oracle import RowOracle
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.runtime.threads import abandonable, run_tiles
from maxmargin.runtime.validation import Array

SAMPLE_ROWS_PER_COLUMN = 4
PRODUCT_COLUMNS = 512  # of a product at a time
THREAD_ROWS = 2048  # of the sample that one thread works on at a time, or as many as there are columns
FACTORS_MAX_BYTES = 1e9  # of all outputs


class Preconditioner:
    """The Hessian of a sample of the rows, factorised for each output.

    oracle: rows to draw the sample from; a part of all rows will do
    T: (m, r), or None for the identity
    intercept: whether the last unknown is an intercept
    """

    def __init__(self, oracle: RowOracle, T: Array | None, intercept: bool) -> None:
        self.intercept = intercept
        self.K, self.y, self.c = oracle.sample(SAMPLE_ROWS_PER_COLUMN * oracle.columns + 100)
        self.threads, self.stop = getattr(oracle, "threads", 1), getattr(oracle, "stop", None)
        r = oracle.columns if T is None else T.shape[1]
        self.V: Array = np.empty((len(self.K), r + intercept), self.K.dtype)
        self.V[:, r:] = 1.0
        right = None if T is None else T.astype(self.K.dtype)
        strips = [slice(start, min(start + PRODUCT_COLUMNS, r)) for start in range(0, r, PRODUCT_COLUMNS)]
        # Of an upper triangle, no more than the rows above the diagonal are multiplied.
        triangular = T is not None and not any(T[strip.stop :, strip].any() for strip in strips)
        tiles = self._parts(len(self.K))

        def work(t: int) -> None:
            K, V = self.K[tiles[t]], self.V[tiles[t]]
            if right is None:
                V[:, :r] = K
                return
            for strip in strips:
                depth = strip.stop if triangular else len(right)
                V[:, strip] = K[:, :depth] @ right[:depth, strip]

        products = 0.0 if T is None else float(len(self.K)) * T.size
        abandonable(lambda: run_tiles(work, len(tiles), self.threads), products, self.stop)
        self.factors: dict[int, Array] = {}

    def _parts(self, count: int) -> list[slice]:
        """Rows in parts that depend on the shape only, so that sums have the same bits for any number of threads."""
        size = max(THREAD_ROWS, self.K.shape[1])
        return [slice(start, start + size) for start in range(0, count, size)]

    def refresh(self, oracle: RowOracle, B: Array, b: Array, loss: SmoothedLoss, damping: Array) -> None:
        """Factorise at (B, b), where the losses have these curvatures; ``oracle`` was evaluated there."""
        D = np.empty((len(self.y), self.y.shape[1]))
        F = self.K @ B + b
        _native.loss_second_order(loss.native, F, self.y, self.c, None, D)
        self.factors = {}
        if 8.0 * D.shape[1] * self.V.shape[1] ** 2 > FACTORS_MAX_BYTES:  # many outputs share the mean of their Hessians
            D, damping = np.repeat(D.mean(axis=1, keepdims=True), D.shape[1], axis=1), np.full(len(b), damping.mean())
        alone = [k for k in range(len(b)) if k == 0 or not np.array_equal(D[:, k], D[:, k - 1])]
        for k in range(len(b)):
            if k in alone:
                self.factors[k] = self._factor(D[:, k], damping[k] if self.intercept else None)
            else:
                self.factors[k] = self.factors[k - 1]

    def _factor(self, d: Array, damping: float | None) -> Array:
        rows = np.flatnonzero(d)
        parts = self._parts(len(rows))
        squares = np.zeros((len(parts), self.V.shape[1], self.V.shape[1]), self.V.dtype)

        def work(t: int) -> None:
            at = rows[parts[t]]
            scaled = self.V[at] * np.sqrt(d[at])[:, None].astype(self.V.dtype)
            np.matmul(scaled.T, scaled, out=squares[t])  # one array twice: BLAS's symmetric product

        def factor() -> Array:
            run_tiles(work, len(parts), self.threads)
            return cholesky_of(squares.sum(axis=0, dtype=np.float64), damping)

        return abandonable(factor, float(len(rows)) * self.V.shape[1] ** 2, self.stop)

    def solve(self, k: int, r: Array) -> Array:
        """The system of output k."""
        return cho_solve((self.factors[k], True), r, check_finite=False)


class Diagonal:
    """The diagonal of the Hessian of all rows, for linear models with many columns.

    intercept: whether the last unknown is an intercept
    """

    def __init__(self, intercept: bool) -> None:
        self.intercept = intercept
        self.factors: dict[int, Array] = {}

    def refresh(self, oracle: RowOracle, B: Array, b: Array, loss: SmoothedLoss, damping: Array) -> None:
        """The diagonal at (B, b), where ``oracle`` was evaluated last."""
        H = oracle.curvature_diagonal()
        H[:-1] += 1.0
        H[-1] += damping
        H = H if self.intercept else H[:-1]
        self.factors = {k: np.maximum(H[:, k], np.finfo(float).tiny) for k in range(H.shape[1])}

    def solve(self, k: int, r: Array) -> Array:
        """The system of output k."""
        return np.asarray(r / self.factors[k])


def cholesky_of(H: Array, damping: float | None) -> Array:
    """The Cholesky factor of H + I; the last row belongs to the intercept, if that is damped, and has no 1."""
    diagonal = H.diagonal() + 1.0
    size = float(diagonal.max())
    if damping is not None:
        diagonal[-1] += damping - 1.0
    for jitter in (1e-15, 1e-12, 1e-9, 1e-6):
        H[np.diag_indices_from(H)] = diagonal + jitter * size
        try:
            return np.linalg.cholesky(H)  # unlike SciPy's, it releases the GIL
        except np.linalg.LinAlgError:
            continue
    return np.diag(np.sqrt(diagonal + size))
