"""The fitted function, f(x) = sum_i c_i k(x_i, x) + b, over the support vectors only.

One matrix of kernel values serves all machines of a fit: with T machines the coefficients are (n_support, T). A
linear kernel needs no support vectors: w = sum_i c_i x_i, and f(x) = w'x + b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._parallel import single_threaded_blas
from maxmargin._validation import Array, Points
from maxmargin.gram import TILE_ROWS, kernel_product
from maxmargin.kernels import Kernel, Linear, Precomputed


@dataclass(frozen=True)
class KernelExpansion:
    """A fitted function with T outputs.

    Attributes
    ----------
    kernel : Kernel
        The resolved kernel.
    anchors : array or CSR matrix of shape (n_support, d)
        The support vectors; for a precomputed kernel, their indices in the training set.
    coefficients : array of shape (n_support, T)
    intercept : array of shape (T,)
    """

    kernel: Kernel
    anchors: Points
    coefficients: Array
    intercept: Array

    @property
    def weights(self) -> Array:
        """w of each machine, for the linear kernel only; shape (T, d)."""
        return np.asarray(self.anchors.T.astype(np.float64) @ self.coefficients).T

    def decision(self, X: Points, threads: int = 1) -> Array:
        """f(x) of each row, shape (n, T)."""
        if len(self.coefficients) == 0:
            return np.tile(self.intercept, (X.shape[0], 1))
        if isinstance(self.kernel, Precomputed):
            return self._tiled(X, self.anchors)
        if isinstance(self.kernel, Linear):
            return self._tiled(X, None)
        return kernel_product(self.kernel, X, self.anchors, self.coefficients, threads) + self.intercept

    def _tiled(self, X: Points, columns: Array | None) -> Array:
        """X @ w', or X[:, columns] @ coefficients, in row tiles so that float32 and sparse rows stay as they are."""
        right = self.weights.T if columns is None else self.coefficients
        out = np.empty((X.shape[0], len(self.intercept)))
        with single_threaded_blas():
            for start in range(0, X.shape[0], TILE_ROWS):
                rows = slice(start, start + TILE_ROWS)
                left = X[rows] if columns is None else X[rows][:, columns]
                if not sp.issparse(left):
                    left = left.astype(np.float64, copy=False)
                out[rows] = left @ right
        return out + self.intercept
