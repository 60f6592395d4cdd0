"""Kernel values of all rows, once for all folds and all values of C, and for many widths from one pass over the points.

    K_ij = k(x_i, x_j) in float32        the matrix that every fold masks
    S_ij = -|x_i - x_j|^2 / 2            kept where there are many columns: then K = exp(2 gamma S) for every gamma

With few columns the fused tiles compute K from the points in less time than it takes to read S. Memory is used again
from one kernel to the next, for touching new memory takes longer than filling it.

Values are rounded to float32, as in LIBSVM's own cache; where the tiles say that single precision would not do on the
way there, they are computed in double precision first. A kernel whose values single precision cannot hold, for they are
huge or all points are nearly one in feature space, is not held. Then, where n^2 values do not fit into the memory that
was granted, or where so many are slower to read than to compute, models compute their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin import _native
from maxmargin.kernels import RBF, Kernel, Precomputed
from maxmargin.kernels.gram.operator import TILE_ROWS, Gram
from maxmargin.kernels.gram.sides import Form, Side, form_of, tileable
from maxmargin.kernels.gram.tiled import padded_slots, store_tiles
from maxmargin.runtime.threads import Scratch, Stop, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

KEEP_DISTANCES_MIN_COLUMNS = 128  # columns beyond which S is kept
# With so few columns and more rows, computing values again is faster than reading them.
COMPUTE_MAX_COLUMNS, COMPUTE_MIN_ROWS = 64, 10_000
SINGLE_MIN_SPREAD = 1e-4  # least variance in feature space, relative to k(x, x), for float32
SINGLE_MAX_VALUE = 1e30  # and the largest kernel value


class Store:
    """The points of a search, and memory for kernel matrices.

    X: array or CSR matrix; canonical rows in the form that kernels compute with; for a precomputed kernel, the matrix
        of these rows
    kernels: all kernels, resolved, whose values will be needed
    budget: bytes for kernel values
    """

    def __init__(self, X: Points, kernels: Sequence[Kernel], threads: int, budget: float) -> None:
        self.X, self.threads, self.n = X, threads, X.shape[0]
        self.scratch = Scratch()
        self.stride = padded_slots(self.n) + 16  # no power of two
        matrix = 4.0 * self.n * self.stride
        self.capacity = int(budget // matrix)
        cheap = X.ndim == 2 and X.shape[1] <= COMPUTE_MAX_COLUMNS and all(tileable(kernel, X) for kernel in kernels)
        if cheap and self.n > COMPUTE_MIN_ROWS:
            self.capacity = 0
        widths = [kernel for kernel in kernels if type(kernel) is RBF and tileable(kernel, X)]
        self._halves: Array | None = None
        self._keeps = len(widths) > 2 and X.ndim == 2 and X.shape[1] > KEEP_DISTANCES_MIN_COLUMNS and self.capacity > 2
        self.capacity -= self._keeps
        self._buffers: list[Array] = []

    def values(self, kernel: Kernel, slot: int = 0) -> Array | None:
        """K, shape (n, stride) with zeros beyond column n, valid until the slot is used again; None where it is
        not held."""
        if slot >= self.capacity:
            return None
        while len(self._buffers) <= slot:
            self._buffers.append(np.empty((self.n, self.stride), np.float32))
        K = self._buffers[slot]
        if not self._filled(kernel, K):
            return None
        K[:, self.n :] = 0.0
        if not isinstance(kernel, Precomputed):
            np.fill_diagonal(K, kernel.self_similarity(self.X))
        diagonal = K.diagonal().astype(np.float64)
        size = float(np.abs(diagonal).max(initial=0.0))
        sample = K[:: max(1, self.n // 64), : self.n].astype(np.float64)
        spread = float(diagonal.mean() - sample.mean())
        return K if np.isfinite(size) and size < SINGLE_MAX_VALUE and spread > SINGLE_MIN_SPREAD * size else None

    def _filled(self, kernel: Kernel, K: Array) -> bool:
        """Compute the values; False if they need double precision."""
        if isinstance(kernel, Precomputed):
            K[:, : self.n] = self.X
            return True
        form = form_of(kernel) if tileable(kernel, self.X) else None
        if form is None:
            self._by_strips(kernel, K)
            return True
        if type(kernel) is RBF and self._keeps:
            self._from_halves(kernel, K)
            return True
        shift = getattr(kernel, "shift_", None)
        side = Side.of(self.X, form, shift, np.float32)
        if form.single_suffices(side.typical, side.longest):
            store_tiles(side, side.panels(np.arange(side.n), form), form, K, self.threads)
        elif form.kind == _native.EXP2:
            self._in_double(form, shift, K)
        else:
            return False
        return True

    def _in_double(self, form: Form, shift: Array | None, out: Array) -> None:
        """Values computed in float64 and rounded once, a strip of rows at a time."""
        side = Side.of(self.X, form, shift, np.float64)
        right = side.panels(np.arange(side.n), form)

        def work(rows: slice) -> None:
            values = self.scratch.take("strip", (rows.stop - rows.start, self.n), np.float64)
            store_tiles(side.strip(rows.start, rows.stop), right, form, values, 1)
            out[rows, : self.n] = values

        run_strips(work, self.n, TILE_ROWS, self.threads)

    def _from_halves(self, kernel: RBF, K: Array) -> None:
        """K = exp(2 gamma S). S is rounded once from float64: its relative error e makes one of 2 gamma |S| e K in K,
        at most 0.4 e for every gamma."""
        if self._halves is None:
            S = np.empty_like(K)
            self._in_double(Form(_native.POWER, 1.0, norms=True), kernel.shift_, S)
            self._halves = np.minimum(S, 0.0, out=S)
        S, factor = self._halves, np.float32(2.0 * float(kernel.gamma))

        def work(rows: slice) -> None:
            np.multiply(S[rows, : self.n], factor, out=K[rows, : self.n])
            np.exp(K[rows, : self.n], out=K[rows, : self.n])

        run_strips(work, self.n, TILE_ROWS, self.threads)

    def _by_strips(self, kernel: Kernel, K: Array) -> None:
        """A kernel without tiles: strips of its own matrix."""

        def work(rows: slice) -> None:
            values = kernel.matrix(self.X[rows], self.X)
            if not np.isfinite(values).all():
                raise ValueError(f"{kernel!r} has values that are not finite")
            with np.errstate(over="ignore"):  # what does not fit is found out by its size
                K[rows, : self.n] = values

        with single_threaded_blas():
            run_strips(work, self.n, TILE_ROWS, self.threads)


class MaskedGram(Gram):
    """Some rows of a held matrix as an operator; values are float32, sums float64.

    K: (n, stride), float32
    index: the rows meant
    """

    held = True
    single_is_exact = False

    def __init__(self, K: Array, index: Array, scratch: Scratch) -> None:
        self.K, self.index, self.n, self.scratch = K, index, len(index), scratch

    def diagonal(self) -> Array:
        return self.K[self.index, self.index].astype(np.float64)

    def block(self, rows: Array, cols: Array) -> Array:
        return self.K[np.ix_(self.index[rows], self.index[cols])].astype(np.float64)

    def everywhere(self, cols: Array, coef: Array) -> Array:
        """K[:, cols] @ coef for all rows of the matrix, those outside the index too."""
        out = np.zeros(len(self.K))
        _native.add_rows(self.K, self.index[cols], np.ascontiguousarray(coef), out)
        return out

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if coef.ndim > 1:
            return np.column_stack([self.product(cols, column, rows) for column in coef.T])
        return self.everywhere(cols, coef)[self.index if rows is None else self.index[rows]]

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        at = self.index[rows]
        _native.gather(self.K, at, at, out[: len(rows), : len(rows)])

    def subset(self, rows: Array) -> MaskedGram:
        return MaskedGram(self.K, self.index[rows], self.scratch)
