"""The rows of X as an operator, in float64: what the solvers of linear models compute with.

    X w               decision values        times
    X' v              sums over the rows     transposed
    X' diag(v) X      second moments         gram
    X X'              inner products         row_gram

X is dense (rows or columns contiguous), CSR or CSC, float32 or float64, and is never copied as a whole. Rows pass in
tiles whose sizes depend on the data only. A tile is computed by one thread, and the sums of tiles are added in their
order, so the result has the same bits for any number of threads. Dense columns may be shifted, X - 1 m', which changes
nothing but the intercept and keeps the digits of columns far from zero; a constant column may stand at the end, for an
intercept that is penalised.

A solver that needs several of these products in one pass computes them tile by tile, while the tile is in the cache:
:meth:`Design.summed` runs over the tiles, and :meth:`tile_times`, :meth:`tile_sums` and :meth:`tile_gram` are the
products with one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.runtime.threads import Scratch, Stop, halt_on, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

DENSE_TILE_ENTRIES = 2**17  # one megabyte of float64 stays in a core's cache
SPARSE_TILE_ENTRIES = 2**16  # each costs more than a dense one, and small data should keep all cores busy
SUM_PARTS = 8  # of a sum over rows, whatever the number of threads: a part per core of most computers
WIDE_MOMENTS_COLUMNS = 512  # from which a sum of second moments has two parts: each is a matrix of 2 MB and more
SCATTERED_COST = 12.0  # of an entry of a sparse second moment, in units of a dense one (measured)


def linear_rows(X: Points, shift: Array | None = None) -> Any:
    """X as compiled loops over rows read it: a dense array in C order (a copy where it is not), or CSR."""
    if not sp.issparse(X):
        return _native.LinearRows(np.ascontiguousarray(X), shift=shift)
    if X.format != "csr":
        raise TypeError(f"Rows are read one at a time, and X is a {X.format.upper()} matrix: use X.tocsr().")
    return csr_rows(X.indptr, X.indices, X.data, X.shape[1])


def csr_rows(indptr: Array, indices: Array, data: Array, columns: int) -> Any:
    """The same from the arrays of a CSR matrix; those of a CSC matrix are its columns as rows."""
    if indptr.dtype != indices.dtype:
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    return _native.LinearRows(data, indptr, indices, columns)


def same_index_type(X: Any) -> tuple[Array, Array]:
    """indptr and indices of a sparse matrix, both of one type."""
    if X.indptr.dtype == X.indices.dtype:
        return X.indptr, X.indices
    return X.indptr.astype(np.int64), X.indices.astype(np.int64)


class Design:
    """Products with the rows of X.

    X: (n, d)
    shift: (d,); subtracted from every row of a dense X
    constant: value of one more column at the end; none by default
    stop: called before every tile; anything but None ends the product with :class:`Halted`
    """

    def __init__(
        self,
        X: Points,
        *,
        shift: Array | None = None,
        constant: float | None = None,
        threads: int = 1,
        stop: Stop | None = None,
    ) -> None:
        self.X, self.shift, self.constant, self.threads, self.stop = X, shift, constant, threads, stop
        self.n, self.columns = X.shape
        self.d = self.columns + (constant is not None)
        self.sparse = sp.issparse(X)
        entries = X.nnz if self.sparse else X.size
        tile = SPARSE_TILE_ENTRIES if self.sparse else DENSE_TILE_ENTRIES
        self.rows = max(64, tile * self.n // max(1, entries))
        self.scratch = Scratch()
        self._tiles = [slice(start, min(start + self.rows, self.n)) for start in range(0, self.n, self.rows)]
        # An outer product of the row's own entries, or a dense row for BLAS?
        self._scattered = self.sparse and (entries / max(1, self.n)) ** 2 * SCATTERED_COST < float(self.columns) ** 2
        self._cuts: Array | None = None
        if self.sparse and X.format == "csc":
            self._cuts = np.empty((len(self._tiles) + 1, self.columns), np.int64)
            self._indptr, self._indices = same_index_type(X)
            _native.csc_cuts(self._indptr, self._indices, self.n, self.rows, self._cuts)

    @cached_property
    def compiled(self) -> Any:
        """All rows for compiled loops; see :func:`linear_rows`."""
        return linear_rows(self.X, self.shift)

    # ---- one tile

    def _tile(self, rows: slice) -> tuple[Any, int, int]:
        """Rows that hold the tile, and which of them are meant; only these rows of a matrix by columns are copied."""
        if self._cuts is None:
            if self.sparse or self.X.flags.c_contiguous:
                return self.compiled, rows.start, rows.stop
            return linear_rows(self.X[rows], self.shift), 0, rows.stop - rows.start
        begin, end = self._cuts[rows.start // self.rows], self._cuts[rows.start // self.rows + 1]
        count, size, kind = rows.stop - rows.start, int(end.sum() - begin.sum()), self._indices.dtype.type
        indptr = self.scratch.take("indptr", (count + 1,), kind)
        columns = self.scratch.take("columns", (size,), kind)
        values = self.scratch.take("values", (size,), self.X.dtype.type)
        _native.csc_tile(self._indices, self.X.data, begin, end, rows.start, indptr, columns, values)
        return csr_rows(indptr, columns, values, self.columns), 0, count

    def tile_times(self, rows: slice, w: Array, out: Array) -> None:
        """out = X w for these rows, w in float64."""
        _native.rows_times(*self._with_w(rows, w), out)
        if self.constant is not None and w[-1] != 0.0:
            out += self.constant * float(w[-1])

    def _with_w(self, rows: slice, w: Array) -> tuple[Any, Array, int, int]:
        tile, start, stop = self._tile(rows)
        return tile, w[: self.columns], start, stop

    def tile_sums(self, rows: slice, V: Array, out: Array) -> None:
        """out += X'V of these rows, for V of shape (k, rows); ``out`` has shape (columns + 1, k), with the sums of V in
        its last line, of which :meth:`with_constant` makes those of a constant column."""
        tile, start, stop = self._tile(rows)
        _native.rows_sums(tile, V, start, stop, out)
        out[-1] += V.sum(axis=1)

    def with_constant(self, sums: Array) -> Array:
        """X'V with the constant column, of shape (d, k), from what :meth:`tile_sums` has summed."""
        complete = sums[: self.d].copy()
        if self.constant is not None:
            complete[-1] = self.constant * sums[-1]
        return complete

    def tile_gram(self, rows: slice, v: Array, out: Array, *, single: bool = False) -> None:
        """The lower triangle of X' diag(v) X of these rows is added to ``out`` (without the constant column); v >= 0,
        and rows with v = 0 cost nothing. In single precision a tile of dense rows costs half as much."""
        tile, start, stop = self._tile(rows)
        if self._scattered:
            _native.rows_gram(tile, v, start, stop, out)
            return
        dtype = np.float32 if single else np.float64
        part = self.scratch.take("rows", (stop - start, self.columns), dtype)
        count = _native.rows_scaled(tile, v, start, stop, part)
        square = self.scratch.take("square", (self.columns, self.columns), dtype)
        np.matmul(part[:count].T, part[:count], out=square)  # one array twice: BLAS's symmetric product
        out += square

    # ---- all tiles

    def each(self, work: Callable[[slice], None]) -> None:
        """``work(rows)`` for every tile."""
        self._run(lambda rows, _: work(rows), len(self._tiles), None)

    def summed(self, work: Callable[..., None], *shapes: tuple[int, ...], wide: bool = False) -> list[Array]:
        """The sums, of these shapes, of what ``work(rows, *sums)`` adds for every tile."""
        chunks = min(2 if wide and self.columns > WIDE_MOMENTS_COLUMNS else SUM_PARTS, len(self._tiles))
        if self.sparse:  # a part that has more columns than entries costs more than it brings
            chunks = max(1, min(chunks, self.X.nnz // (2 * max(1, self.columns))))
        parts = [np.zeros((chunks, *shape)) for shape in shapes]
        self._run(lambda rows, c: work(rows, *(part[c] for part in parts)), chunks, range(chunks))
        return [part[0] if chunks == 1 else part.sum(axis=0) for part in parts]

    def _run(self, work: Callable[[slice, Any], None], chunks: int, parts: Any) -> None:
        """``work(tile, parts[c])`` for all tiles, in chunks of successive ones."""
        tiles = self._tiles

        def one(c: int) -> None:
            for t in range(c * len(tiles) // chunks, (c + 1) * len(tiles) // chunks):
                halt_on(self.stop)
                work(tiles[t], None if parts is None else parts[c])

        with single_threaded_blas():
            run_tiles(one, chunks, self.threads)

    def times(self, w: Array) -> Array:
        """X w."""
        out, w = np.empty(self.n), np.ascontiguousarray(w, dtype=np.float64)
        self.each(lambda rows: self.tile_times(rows, w, out[rows]))
        return out

    def transposed(self, v: Array) -> Array:
        """X' v, for a vector or for the columns of a matrix."""
        V = np.ascontiguousarray(v.T if v.ndim == 2 else v[None], dtype=np.float64)
        (sums,) = self.summed(lambda rows, out: self.tile_sums(rows, V[:, rows], out), (self.columns + 1, len(V)))
        return self.with_constant(sums).reshape((self.d, *v.shape[1:]))

    def gram(self, v: Array) -> Array:
        """X' diag(v) X, for v >= 0."""
        (G,) = self.summed(
            lambda rows, out: self.tile_gram(rows, v[rows], out), (self.columns, self.columns), wide=True
        )
        return self.bordered(G, self.transposed(v) if self.constant is not None else None)

    def bordered(self, G: Array, sums: Array | None) -> Array:
        """All of a second moment from the sums of :meth:`tile_gram`; with a constant column, X'v as well."""
        G = np.tril(G) + np.tril(G, -1).T
        if self.constant is None or sums is None:
            return G
        square = np.empty((self.d, self.d))
        square[:-1, :-1] = G
        square[-1] = square[:, -1] = self.constant * sums
        return square

    def row_gram(self) -> Array:
        """X X'."""
        if self.sparse:
            X = self.X.astype(np.float64)
            K = np.asarray((X @ X.T).toarray())
        else:
            A = self.X.astype(np.float64, copy=False)
            A = A if self.shift is None else A - self.shift
            with single_threaded_blas():
                K = A @ A.T
        return K if self.constant is None else K + self.constant**2

    def squared_norms(self) -> Array:
        """|x_i|^2 of every row."""
        out = np.empty(self.n)

        def work(rows: slice) -> None:
            tile, start, stop = self._tile(rows)
            _native.rows_squares(tile, start, stop, out[rows])

        self.each(work)
        return out if self.constant is None else out + self.constant**2

    def mean(self) -> Array:
        """The mean of every column of X, without shift and constant."""
        ones = Design(self.X, threads=self.threads, stop=self.stop)
        return ones.transposed(np.ones(self.n)) / max(1, self.n)
