"""The search for nearest neighbours in feature space.

    d(x, z)^2 = |phi(x) - phi(z)|^2 = k(x, x) - 2 k(x, z) + k(z, z)

Rounding leaves an error of about eps (k(x, x) + k(z, z)) in d^2. Distances below it are zero: a point is at distance
zero from its copies. Distances that differ by less are equal, and ordered by the index of the training point
(``native/nearest``).

For the Gaussian kernel, d^2 = 2 - 2 exp(-gamma |x - z|^2) grows with |x - z|: the neighbours are the Euclidean ones.
They are found by |x - z|^2 = x'x - 2 x'z + z'z, that is with the linear kernel, because the exponential of far points
would round all their distances to sqrt(2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import RBF, Kernel, Linear, Precomputed
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.runtime.threads import run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel_input import check_finite, self_similarity

TILE_ROWS, TILE_COLS = 256, 2048  # kernel values of a tile, 4 MB in float64, stay in the second-level cache
ROUNDING_ULPS = 16  # units in the last place that d^2 may be wrong by: a few hundred products round less


class FeatureSpace:
    """The training points, ready for the search. ``training`` means that the query points are these themselves, none
    of which is its own neighbour."""

    def __init__(self, kernel: Kernel, X: Points) -> None:
        gaussian = type(kernel) is RBF and float(kernel.gamma) > 0
        self.gamma = float(kernel.gamma) if gaussian else None
        self.kernel: Kernel = Linear() if gaussian else kernel
        self.shift = kernel.shift_ if gaussian else None
        self.precomputed = isinstance(kernel, Precomputed)
        self.X = X if self.precomputed else computing_form(X)
        single = self.precomputed and X.dtype == np.float32
        self.rounding = ROUNDING_ULPS * float(np.finfo(np.float32 if single else np.float64).eps)
        self.diagonal = (
            np.ascontiguousarray(X.diagonal(), dtype=np.float64)
            if self.precomputed
            else _in_tiles(lambda rows: self.kernel.self_similarity(self._moved(self.X[rows])), X.shape[0])
        )

    def _moved(self, A: Points) -> Points:
        """Points around the mean of the training points: distances stay, and keep their digits."""
        return A if self.shift is None else (A.toarray() if sp.issparse(A) else A) - self.shift

    def nearest(self, A: Points, count: int, *, training: bool, threads: int) -> tuple[Array, Array]:
        """Squared distances (up to the same number for all of a row, if the kernel is precomputed) and indices."""
        squares, indices = np.full((A.shape[0], count), np.inf), np.zeros((A.shape[0], count), np.int64)

        def work(rows: slice) -> None:
            self._nearest(A, rows, training, squares[rows], indices[rows])

        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            run_strips(work, A.shape[0], TILE_ROWS, threads)
        return check_finite(squares), indices

    def _nearest(self, A: Points, rows: slice, training: bool, squares: Array, indices: Array) -> None:
        """The same for a tile of rows: training points pass in tiles, and the nearest so far are kept."""
        left = A[rows] if self.precomputed else self._moved(A[rows])
        n = self.diagonal.shape[0]
        if training:
            k_xx = self.diagonal[rows]
        elif self.precomputed:
            k_xx = np.zeros(left.shape[0])
        else:
            k_xx = self.kernel.self_similarity(left)
        clip = training or not self.precomputed  # without k(x, x), d^2 may be negative
        excluded = rows.start if training else -TILE_ROWS  # of no row
        for start in range(0, n, TILE_COLS):
            cols = slice(start, min(start + TILE_COLS, n))
            if self.precomputed:
                part = left[:, cols]
                K = part.toarray() if sp.issparse(part) else part
            else:
                K = self.kernel.matrix(left, self._moved(self.X[cols]))
            _native.keep_nearest(
                np.ascontiguousarray(K, np.float64),
                np.ascontiguousarray(k_xx, np.float64),
                self.diagonal[cols],
                start,
                excluded,
                self.rounding,
                clip,
                squares,
                indices,
            )

    def distances(self, A: Points, squares: Array, *, training: bool) -> Array:
        """Distances in feature space from what ``nearest`` found."""
        if self.gamma is not None:
            return np.sqrt(-2.0 * np.expm1(-self.gamma * squares))
        if self.precomputed and not training:
            k_xx = self_similarity(Precomputed(), A, self.diagonal)[:, None]
            squares = squares + k_xx
            squares[squares <= self.rounding * 2.0 * np.abs(k_xx)] = 0.0
        return np.sqrt(squares)


def _in_tiles(function: Any, n: int) -> Array:
    """The values of a function of some rows, for all rows."""
    return np.concatenate([function(slice(start, start + TILE_ROWS)) for start in range(0, n, TILE_ROWS)])
