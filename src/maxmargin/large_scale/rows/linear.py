"""The columns of X as the rows of a linear model, shifted, and with a constant column for a penalised intercept.

    x  ->  (x - m, s)

A free intercept makes up for any shift m, and centred columns lose no digits where they are far from zero. A penalised
intercept b = s v, with 1/2 v^2 beside 1/2 |w|^2, is the weight v of one more column s.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.large_scale.rows.tiles import row_ordered, tile_height
from maxmargin.runtime.threads import Scratch
from maxmargin.runtime.validation import Array, Points


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
