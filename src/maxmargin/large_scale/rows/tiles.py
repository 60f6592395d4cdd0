"""The rows of a model that is linear in m columns: k(x_i, z_1), ..., k(x_i, z_m), tile by tile.

    StoredRows   held in memory, float32 or float64
    KernelRows   recomputed from the points in every pass
    LinearRows   the columns of X themselves, dense or CSR (``linear.py``)

A tile is a range of rows whose values fit into a core's cache; which ranges there are depends on the shape only. Values
that are recomputed have the same bits each time, so stored and streamed rows are the same rows.

The columns of X as the rows of a linear model, shifted, and with a constant column for a penalised intercept.

    x  ->  (x - m, s)

A free intercept compensates any shift m, and centring preserves the digits of columns far from zero. A penalised
intercept b = s v, with 1/2 v^2 beside 1/2 |w|^2, is the weight v of one more column s.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.kernels.gram.sides import Side, form_of, tileable
from maxmargin.kernels.gram.tiled import REGISTER_TILE_ROWS, store_tiles
from maxmargin.runtime.threads import Scratch, Stop, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

TILE_VALUES = 2**18  # a megabyte in single precision
COMPUTED_TILE_VALUES = 2**20  # their computation costs more than their way through the caches
TILE_MIN_ROWS, TILE_MAX_ROWS = 64, 4096
DOUBLE_MAX_VALUES = 2**22  # up to which they are kept in double precision


class RowTiles(Protocol):
    """n rows of m columns, in tiles.

    height: rows of a tile
    dtype: of the values
    computed: whether a pass computes kernel values
    """

    n: int
    columns: int
    height: int
    dtype: Any
    computed: bool

    def tile(self, rows: slice, keep: Array | None, scratch: Scratch) -> Points:
        """The values of these rows, or of those of them that ``keep`` (places within the range) names; valid until the
        same thread asks again."""
        ...

    def picked(self, at: Array) -> Array:
        """The values of some rows, a new dense array."""
        ...


def tile_height(columns: int, entries: int = 0, size: int = TILE_VALUES) -> int:
    """Rows of a tile, for rows of so many values, which are computed from ``entries`` numbers."""
    rows = min(TILE_MAX_ROWS, max(TILE_MIN_ROWS, size // max(1, columns, entries)))
    return rows // REGISTER_TILE_ROWS * REGISTER_TILE_ROWS


def row_ordered(K: Array) -> Array:
    """The same rows, with the entries of each side by side and aligned, as compiled functions take them; between the
    rows there may be padding. A copy only where they are not. (Arrays that came over a network may not be aligned.)
    """
    if K.flags.aligned and (K.shape[1] <= 1 or K.strides[1] == K.itemsize):
        return K
    return np.require(K, requirements=["C", "A"])


class StoredRows:
    """Rows held in memory.

    K: (n, m); float32 or float64; may be a memory map
    height: rows of a tile
    """

    computed = False

    def __init__(self, K: Array, height: int | None = None) -> None:
        self.K, self.dtype = K, K.dtype.type
        self.n, self.columns = K.shape
        self.height = tile_height(self.columns) if height is None else height

    def tile(self, rows: slice, keep: Array | None, scratch: Scratch) -> Points:
        part = self.K[rows]
        if keep is None:
            return part
        out = scratch.take("kept", (len(keep), self.columns), part.dtype.type)
        _native.take_rows(row_ordered(part), keep, out)  # NumPy's ``take`` would copy all of a K with padded rows
        return out

    def picked(self, at: Array) -> Array:
        return self.K[at]


class KernelRows:
    """Kernel values with landmarks, computed on demand.

    kernel: a resolved kernel
    X: array, memory map, CSR matrix, or array of objects; the points; for a precomputed kernel, its matrix
    Z: array or CSR matrix of shape (m, d), or array of m objects; the landmarks; for a precomputed kernel, their
        columns
    dtype: of the values
    height: rows of a tile
    """

    computed = True

    def __init__(self, kernel: Kernel, X: Points, Z: Points, *, dtype: Any = np.float32, height: int | None = None):
        self.kernel, self.X, self.dtype = kernel, X, np.dtype(dtype).type
        self.precomputed = isinstance(kernel, Precomputed)
        self.n, self.columns = X.shape[0], len(Z) if X.ndim == 1 or self.precomputed else Z.shape[0]
        self.Z = Z if self.precomputed else computing_form(Z)
        wide = X.shape[1] if X.ndim == 2 and not sp.issparse(X) else 0
        self.height = tile_height(self.columns, wide, COMPUTED_TILE_VALUES) if height is None else height
        self.form = None if self.precomputed or X.ndim == 1 or not tileable(kernel, self.Z) else form_of(kernel)
        if self.form is not None:
            self.shift = getattr(kernel, "shift_", None)
            # A kernel that shifts its points, or adds up their differences, takes them dense.
            self.dense = self.shift is not None or self.form.dense_only or not sp.issparse(self.Z)
            side = self._side(self.Z, np.float32, None)
            single = self.dtype is np.float32 and self.form.single_suffices(side.typical, side.longest)
            self.inner = np.float32 if single else np.float64
            side = side if single else self._side(self.Z, np.float64, None)
            self.panels = side.panels(np.arange(side.n), self.form)

    def _side(self, X: Points, dtype: Any, scratch: Scratch | None) -> Side:
        assert self.form is not None
        X = X.toarray() if self.dense and sp.issparse(X) else X
        return Side.of(X, self.form, self.shift, dtype, scratch=scratch)

    def _values(self, X: Points, scratch: Scratch) -> Array:
        """Values of some points; in scratch memory where tiles compute them."""
        if self.precomputed:
            part = X[:, self.Z]
            return np.asarray(part.toarray() if sp.issparse(part) else part).astype(self.dtype, copy=False)
        if self.form is None:
            with np.errstate(over="ignore", invalid="ignore"):
                return self.kernel.matrix(np.asarray(X) if not sp.issparse(X) else X, self.Z).astype(self.dtype)
        out = scratch.take("values", (X.shape[0], self.columns), self.inner)
        self.write(X, scratch, out)
        return out.astype(self.dtype, copy=False)

    def write(self, X: Points, scratch: Scratch, out: Array) -> None:
        """Values of some points by tiles."""
        assert self.form is not None
        store_tiles(self._side(X, self.inner, scratch), self.panels, self.form, out, 1)

    def tile(self, rows: slice, keep: Array | None, scratch: Scratch) -> Points:
        return self._values(self.X[rows] if keep is None else self.X[rows.start + keep], scratch)

    def picked(self, at: Array) -> Array:
        out = np.empty((len(at), self.columns), self.dtype)
        scratch = Scratch()
        for start in range(0, len(at), self.height):
            out[start : start + self.height] = self._values(self.X[at[start : start + self.height]], scratch)
        return out


def stored(rows: KernelRows, threads: int = 1, stop: Stop | None = None) -> StoredRows:
    """The same rows, computed once and stored."""
    direct = rows.form is not None and rows.inner is rows.dtype
    values = np.empty((rows.n, rows.columns), rows.dtype)
    scratch = Scratch()

    def work(part: slice) -> None:
        if stop is None or stop() is None:
            if direct:
                rows.write(rows.X[part], scratch, values[part])
            else:
                values[part] = rows.tile(part, None, scratch)

    with single_threaded_blas():
        run_strips(work, rows.n, rows.height, threads)
    return StoredRows(values, rows.height)


class LinearRows:
    """Rows of X in tiles; see :class:`~maxmargin.large_scale.rows.tiles.RowTiles`.

    X: array or CSR matrix of shape (n, d)
    shift: (d,) or None; subtracted from dense rows
    constant: value of one more column
    height: rows of a tile
    """

    computed = False

    def __init__(
        self, X: Points, shift: Array | None = None, constant: float | None = None, height: int | None = None
    ) -> None:
        self.X, self.constant = X, constant
        self.shift = None if shift is None or sp.issparse(X) else shift
        self.n, self.columns = X.shape[0], X.shape[1] + (constant is not None)
        self.dtype = np.float64 if self.shift is not None else X.dtype.type
        filled = max(1, X.nnz // max(1, self.n)) if sp.issparse(X) else self.columns
        self.height = tile_height(filled) if height is None else height

    def tile(self, rows: slice, keep: Array | None, scratch: Scratch) -> Points:
        part = self.X[rows]
        if keep is not None and isinstance(part, np.ndarray):
            kept = scratch.take("kept", (len(keep), part.shape[1]), part.dtype.type)
            _native.take_rows(row_ordered(part), keep, kept)
            part = kept
        elif keep is not None:
            part = part[keep]
        if sp.issparse(part):
            if self.constant is None:
                return part
            column = sp.csr_matrix(np.full((part.shape[0], 1), self.constant, part.dtype))
            return sp.hstack([part, column], format="csr")
        if self.shift is None and self.constant is None:
            return part
        d = part.shape[1]
        out = scratch.take("columns", (len(part), self.columns), self.dtype)
        np.subtract(part, self.shift if self.shift is not None else 0, out=out[:, :d], casting="same_kind")
        if self.constant is not None:
            out[:, d] = self.constant
        return out

    def picked(self, at: Array) -> Array:
        part = self.tile(slice(0, self.n), at, Scratch())
        return part.toarray() if sp.issparse(part) else part.copy()
