"""The rows of X as an operator, in float64: what the solvers of the linear machine compute with.

    X w               decision values        times
    X' v              sums over the rows     transposed
    X' diag(v) X      second moments         gram
    X X'              inner products         row_gram

X is dense (rows or columns contiguous), CSR or CSC, float32 or float64, and is never copied as a whole. Rows pass in
tiles whose sizes depend on the data only. A tile is computed by one thread, and the sums of tiles are added in their
order, so the result has the same bits for any number of threads. Dense columns may be shifted, X - 1 m', which changes
nothing but the intercept and keeps the digits of columns far from zero; a constant column may stand at the end, for an
intercept that is penalised.

A solver whose passes need several of these products at once asks for them tile by tile, while the tile is in the cache:
:meth:`Design.summed` runs over the tiles, and :meth:`tile_times`, :meth:`tile_sums` and :meth:`tile_gram` are the
products with one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.threads import Scratch, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

TILE = 2**17  # entries of a dense tile: one megabyte of float64 stays in a core's cache
SPARSE_TILE = 2**16  # entries of a sparse one: each costs more, and small data should keep all cores busy
CHUNKS = 8  # sums over rows are formed in this many parts, whatever the number of threads
WIDE = 512  # columns from which a sum of second moments has only two parts, for memory's sake
SCATTER = 12.0  # an entry of a dense second moment costs this little of one that is scattered


class Halted(Exception):
    """A product was given up because the run is to stop."""


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_times(X: Array, w: Array, out: Array) -> None:
    """A sum that may be formed in any order, and so by vector instructions."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * w[j]
        out[i] = total


@numba.njit(cache=True, nogil=True)
def _dense_rows(X: Array, shift: Array, v: Array, out: Array) -> int:
    """sqrt(v_i) (x_i - m) for the rows with v_i > 0; how many they are."""
    count = 0
    for i in range(X.shape[0]):
        if v[i] > 0.0:
            root = np.sqrt(v[i])
            for j in range(X.shape[1]):
                out[count, j] = root * (X[i, j] - shift[j])
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _csr_times(indptr: Array, indices: Array, data: Array, w: Array, start: int, stop: int, out: Array) -> None:
    for i in range(start, stop):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[p] * w[indices[p]]
        out[i - start] = total


@numba.njit(cache=True, nogil=True)
def _csr_sums(indptr: Array, indices: Array, data: Array, V: Array, start: int, stop: int, out: Array) -> None:
    """out[j, k] += sum_i V[k, i] x_ij, two k at a time."""
    for k in range(0, V.shape[0] - 1, 2):
        for i in range(start, stop):
            one, two = V[k, i - start], V[k + 1, i - start]
            if one == 0.0 and two == 0.0:
                continue
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                j, value = indices[p], data[p]
                out[j, k] += one * value
                out[j, k + 1] += two * value
    if V.shape[0] % 2 == 1:
        k = V.shape[0] - 1
        for i in range(start, stop):
            one = V[k, i - start]
            if one != 0.0:
                for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    out[indices[p], k] += one * data[p]


@numba.njit(cache=True, nogil=True)
def _csr_gram(indptr: Array, indices: Array, data: Array, v: Array, start: int, stop: int, out: Array) -> None:
    """The lower triangle; indices are sorted."""
    for i in range(start, stop):
        if v[i - start] > 0.0:
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                scaled = v[i - start] * data[p]
                row = indices[p]
                for q in range(np.uint64(indptr[i]), p + np.uint64(1)):
                    out[row, indices[q]] += scaled * data[q]


@numba.njit(cache=True, nogil=True)
def _csr_rows(indptr: Array, indices: Array, data: Array, v: Array, start: int, stop: int, out: Array) -> int:
    """sqrt(v_i) x_i as dense rows, for those with v_i > 0; how many they are."""
    count = 0
    for i in range(start, stop):
        if v[i - start] > 0.0:
            root = np.sqrt(v[i - start])
            out[count] = 0.0
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[count, indices[p]] += root * data[p]
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _csr_squares(indptr: Array, indices: Array, data: Array, start: int, stop: int, out: Array) -> None:
    for i in range(start, stop):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += float(data[p]) * float(data[p])
        out[i - start] = total


@numba.njit(cache=True, nogil=True)
def _csc_cuts(indptr: Array, indices: Array, rows: int, cuts: Array) -> None:
    """cuts[t, j]: where in column j the rows of tile t begin."""
    for j in range(len(indptr) - 1):
        p = indptr[j]
        for t in range(len(cuts)):
            while p < indptr[j + 1] and indices[p] < t * rows:
                p += 1
            cuts[t, j] = p


@numba.njit(cache=True, nogil=True)
def _csc_tile(
    indices: Array, data: Array, begin: Array, end: Array, first: int, indptr: Array, columns: Array, values: Array
) -> None:
    """The rows from ``first`` on as CSR arrays; column by column, so that the indices of a row are sorted."""
    indptr[:] = 0
    for j in range(len(begin)):
        for p in range(begin[j], end[j]):
            indptr[indices[p] - first + 1] += 1
    for i in range(1, len(indptr)):
        indptr[i] += indptr[i - 1]
    for j in range(len(begin)):
        for p in range(begin[j], end[j]):
            i = indices[p] - first
            columns[indptr[i]] = j
            values[indptr[i]] = data[p]
            indptr[i] += 1
    for i in range(len(indptr) - 1, 0, -1):  # each has moved to where the next row begins
        indptr[i] = indptr[i - 1]
    indptr[0] = 0


class Design:
    """Products with the rows of X.

    Parameters
    ----------
    X : array, CSR or CSC matrix of shape (n, d)
    shift : array of shape (d,), optional
        Subtracted from every row of a dense X.
    constant : float, optional
        Value of one more column at the end; none by default.
    threads : int
    poll : callable, optional
        Asked before every tile; anything but None ends the product with :class:`Halted`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.products import Design
    >>> design = Design(np.array([[1.0, 2.0], [3.0, 4.0]]), constant=1.0)
    >>> design.times(np.array([1.0, 0.0, 10.0]))
    array([11., 13.])
    >>> design.transposed(np.array([1.0, 1.0]))
    array([4., 6., 2.])
    """

    def __init__(
        self,
        X: Points,
        *,
        shift: Array | None = None,
        constant: float | None = None,
        threads: int = 1,
        poll: Callable[[], Any] | None = None,
    ) -> None:
        self.X, self.shift, self.constant, self.threads, self.poll = X, shift, constant, threads, poll
        self.n, self.columns = X.shape
        self.d = self.columns + (constant is not None)
        self.sparse = sp.issparse(X)
        entries = X.nnz if self.sparse else X.size
        tile = SPARSE_TILE if self.sparse else TILE
        self.rows = max(64, tile * self.n // max(1, entries))
        self.scratch = Scratch()
        self._tiles = [slice(start, min(start + self.rows, self.n)) for start in range(0, self.n, self.rows)]
        # An outer product of the row's own entries, or a dense row for BLAS?
        self._scattered = self.sparse and (entries / max(1, self.n)) ** 2 * SCATTER < float(self.columns) ** 2
        self._no_shift = np.zeros(self.columns)
        self._cuts: Array | None = None
        if self.sparse and X.format == "csc":
            self._cuts = np.empty((len(self._tiles) + 1, self.columns), np.int64)
            _csc_cuts(X.indptr, X.indices, self.rows, self._cuts)

    # ---- one tile

    def _csr(self, rows: slice) -> tuple[Array, Array, Array, int, int]:
        """CSR arrays, and which of their rows are meant; of a CSC matrix only these rows are brought to that form."""
        X = self.X
        if self._cuts is None:
            return X.indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data, rows.start, rows.stop
        begin, end = self._cuts[rows.start // self.rows], self._cuts[rows.start // self.rows + 1]
        count, size = rows.stop - rows.start, int(end.sum() - begin.sum())
        indptr = self.scratch.take("indptr", (count + 1,), np.int64)
        columns = self.scratch.take("columns", (size,), np.uint32)
        values = self.scratch.take("values", (size,), X.dtype.type)
        _csc_tile(X.indices, X.data, begin, end, rows.start, indptr, columns, values)
        return indptr, columns, values, 0, count

    def tile_times(self, rows: slice, w: Array, out: Array) -> None:
        """out = X w for these rows, w in float64."""
        if self.sparse:
            indptr, indices, data, start, stop = self._csr(rows)
            _csr_times(indptr, indices, data, w, start, stop, out)
        elif self.X.flags.c_contiguous:
            _dense_times(self.X[rows], w[: self.columns], out)
        else:
            np.matmul(self._as_double(rows), w[: self.columns], out=out)
        moved = 0.0 if self.shift is None else -float(self.shift @ w[: self.columns])
        if self.constant is not None:
            moved += self.constant * float(w[-1])
        if moved != 0.0:
            out += moved

    def tile_sums(self, rows: slice, V: Array, out: Array) -> None:
        """out += X'V of these rows, for V of shape (k, rows): the raw sums, which :meth:`settled` makes whole. ``out``
        has shape (columns + 1, k); the sums of V stand in its last line."""
        if self.sparse:
            indptr, indices, data, start, stop = self._csr(rows)
            _csr_sums(indptr, indices, data, V, start, stop, out)
        else:
            out[:-1] += (V @ self._as_double(rows)).T
        out[-1] += V.sum(axis=1)

    def settled(self, sums: Array) -> Array:
        """X'V with the shift and the constant column, of shape (d, k), from what :meth:`tile_sums` has summed."""
        whole, total = sums[: self.d].copy(), sums[-1]
        if self.shift is not None:
            whole[: self.columns] -= np.outer(self.shift, total)
        if self.constant is not None:
            whole[-1] = self.constant * total
        return whole

    def tile_gram(self, rows: slice, v: Array, out: Array, *, single: bool = False) -> None:
        """The lower triangle of X' diag(v) X of these rows is added to ``out`` (without the constant column); v >= 0,
        and rows with v = 0 cost nothing. In single precision a tile of dense rows costs half as much."""
        if self._scattered:
            indptr, indices, data, start, stop = self._csr(rows)
            _csr_gram(indptr, indices, data, v, start, stop, out)
            return
        dtype = np.float32 if single else np.float64
        part = self.scratch.take("rows", (rows.stop - rows.start, self.columns), dtype)
        if self.sparse:
            indptr, indices, data, start, stop = self._csr(rows)
            count = _csr_rows(indptr, indices, data, v, start, stop, part)
        else:
            count = _dense_rows(self.X[rows], self._no_shift if self.shift is None else self.shift, v, part)
        square = self.scratch.take("square", (self.columns, self.columns), dtype)
        np.matmul(part[:count].T, part[:count], out=square)  # one array twice: BLAS's symmetric product
        out += square

    def _as_double(self, rows: slice) -> Array:
        return self.X[rows].astype(np.float64, copy=False)

    # ---- all tiles

    def each(self, work: Callable[[slice], None]) -> None:
        """``work(rows)`` for every tile."""
        self._run(lambda rows, _: work(rows), len(self._tiles), None)

    def summed(self, work: Callable[..., None], *shapes: tuple[int, ...], wide: bool = False) -> list[Array]:
        """The sums, of these shapes, of what ``work(rows, *sums)`` adds for every tile."""
        chunks = min(2 if wide and self.columns > WIDE else CHUNKS, len(self._tiles))
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
                if self.poll is not None and self.poll() is not None:
                    raise Halted
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
        return self.settled(sums).reshape((self.d, *v.shape[1:]))

    def gram(self, v: Array) -> Array:
        """X' diag(v) X, for v >= 0."""
        (G,) = self.summed(
            lambda rows, out: self.tile_gram(rows, v[rows], out), (self.columns, self.columns), wide=True
        )
        return self.bordered(G, self.transposed(v) if self.constant is not None else None)

    def bordered(self, G: Array, sums: Array | None) -> Array:
        """The whole of a second moment from the sums of :meth:`tile_gram`; with a constant column, X'v as well."""
        G = np.tril(G) + np.tril(G, -1).T
        if self.constant is None or sums is None:
            return G
        whole = np.empty((self.d, self.d))
        whole[:-1, :-1] = G
        whole[-1] = whole[:, -1] = self.constant * sums
        return whole

    def row_gram(self) -> Array:
        """X X'."""
        if self.sparse:
            X = self.X.astype(np.float64)
            K = np.asarray((X @ X.T).toarray())
        else:
            A = self._as_double(slice(0, self.n))
            A = A if self.shift is None else A - self.shift
            with single_threaded_blas():
                K = A @ A.T
        return K if self.constant is None else K + self.constant**2

    def squared_norms(self) -> Array:
        """|x_i|^2 of every row."""
        out = np.empty(self.n)

        def work(rows: slice) -> None:
            if self.sparse:
                _csr_squares(*self._csr(rows), out[rows])
            else:
                part = self._as_double(rows)
                part = part if self.shift is None else part - self.shift
                out[rows] = np.einsum("ij,ij->i", part, part)

        self.each(work)
        return out if self.constant is None else out + self.constant**2

    def mean(self) -> Array:
        """The mean of every column of X, without shift and constant."""
        ones = Design(self.X, threads=self.threads, poll=self.poll)
        return ones.transposed(np.ones(self.n)) / max(1, self.n)
