"""The rows of X as an operator, in float64: what the solvers of the linear machine compute with.

    X w               decision values        times
    X' v              sums over the rows     transposed
    X' diag(v) X      second moments         gram
    X X'              inner products         row_gram

X is dense or CSR, float32 or float64, and is not copied as a whole. Rows pass in tiles whose sizes depend on the data
only. A tile is computed by one thread, and the sums of tiles are added in their order, so the result has the same bits
for any number of threads. Dense columns may be shifted, X - 1 m', which changes nothing but the intercept and keeps
the digits of columns far from zero; a constant column may stand at the end, for an intercept that is penalised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from maxmargin._parallel import Scratch, run_tiles, single_threaded_blas
from maxmargin._validation import Array, Points

TILE = 2**15  # entries of a tile: two of 256 kB stay in a core's cache
CHUNKS = 8  # sums over rows are formed in this many parts, whatever the number of threads


class Halted(Exception):
    """A product was given up because the run is to stop."""


@numba.njit(cache=True, nogil=True)
def _csr_times(indptr: Array, indices: Array, data: Array, w: Array, start: int, stop: int, out: Array) -> None:
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * w[indices[p]]
        out[i] = total


@numba.njit(cache=True, nogil=True)
def _csr_transposed(indptr: Array, indices: Array, data: Array, v: Array, start: int, stop: int, out: Array) -> None:
    for i in range(start, stop):
        if v[i] != 0.0:
            for p in range(indptr[i], indptr[i + 1]):
                out[indices[p]] += data[p] * v[i]


@numba.njit(cache=True, nogil=True)
def _csr_gram(indptr: Array, indices: Array, data: Array, v: Array, start: int, stop: int, out: Array) -> None:
    """The lower triangle; indices are sorted."""
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            scaled = v[i] * data[p]
            row = indices[p]
            for q in range(indptr[i], p + 1):
                out[row, indices[q]] += scaled * data[q]


class Design:
    """Products with the rows of X.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
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
    >>> from maxmargin.linear.products import Design
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
        rows = max(64, TILE * self.n // max(1, entries))
        self._scratch = Scratch()
        self._tiles = [slice(start, min(start + rows, self.n)) for start in range(0, self.n, rows)]

    def _dense(self, rows: slice) -> Array:
        part = self.X[rows].astype(np.float64, copy=False)
        return part if self.shift is None else part - self.shift

    def _run(self, work: Callable[[slice, Any], None], chunks: int, parts: Any = None) -> None:
        """``work(tile, parts[c])`` for all tiles, in chunks of successive ones."""
        tiles = self._tiles

        def one(c: int) -> None:
            for t in range(c * len(tiles) // chunks, (c + 1) * len(tiles) // chunks):
                if self.poll is not None and self.poll() is not None:
                    raise Halted
                work(tiles[t], None if parts is None else parts[c])

        with single_threaded_blas():
            run_tiles(one, chunks, self.threads)

    def _summed(self, shape: tuple[int, ...], add: Callable[[slice, Array], None], chunks: int = CHUNKS) -> Array:
        parts = np.zeros((min(chunks, len(self._tiles)), *shape))
        self._run(add, len(parts), parts)
        return parts[0] if len(parts) == 1 else parts.sum(axis=0)

    def times(self, w: Array) -> Array:
        """X w."""
        out = np.empty(self.n)
        inner = np.ascontiguousarray(w[: self.columns], dtype=np.float64)

        def work(rows: slice, _: Any) -> None:
            if self.sparse:
                _csr_times(self.X.indptr, self.X.indices, self.X.data, inner, rows.start, rows.stop, out)
            else:
                out[rows] = self.X[rows].astype(np.float64, copy=False) @ inner

        self._run(work, len(self._tiles))
        if self.shift is not None:
            out -= self.shift @ inner
        if self.constant is not None:
            out += self.constant * w[-1]
        return out

    def transposed(self, v: Array) -> Array:
        """X' v, for a vector or for the columns of a matrix."""
        V = np.ascontiguousarray(v.T if v.ndim == 2 else v[None], dtype=np.float64)

        def add(rows: slice, out: Array) -> None:
            if self.sparse:
                for k in range(len(out)):
                    _csr_transposed(self.X.indptr, self.X.indices, self.X.data, V[k], rows.start, rows.stop, out[k])
            else:
                out += V[:, rows] @ self.X[rows].astype(np.float64, copy=False)

        sums = np.empty((self.d, len(V)))
        sums[: self.columns] = self._summed((len(V), self.columns), add).T
        if self.shift is not None:
            sums[: self.columns] -= np.outer(self.shift, V.sum(axis=1))
        if self.constant is not None:
            sums[-1] = self.constant * V.sum(axis=1)
        return sums.reshape((self.d, *v.shape[1:]))

    def gram(self, v: Array) -> Array:
        """X' diag(v) X, for v >= 0."""

        def add(rows: slice, out: Array) -> None:
            if self.sparse:
                _csr_gram(self.X.indptr, self.X.indices, self.X.data, v, rows.start, rows.stop, out)
                return
            shape = (rows.stop - rows.start, self.columns)
            part, weighted = (self._scratch.take(name, shape, np.float64) for name in ("part", "weighted"))
            np.subtract(self.X[rows], 0.0 if self.shift is None else self.shift, out=part)
            np.multiply(part, v[rows, None], out=weighted)
            out += part.T @ weighted  # not the same array twice: BLAS's symmetric product is the slower one

        G = np.empty((self.d, self.d))
        G[: self.columns, : self.columns] = self._summed(
            (self.columns, self.columns), add, CHUNKS if self.columns <= 512 else 2
        )
        if self.constant is not None:
            G[-1] = self.constant * self.transposed(v)
            G[:, -1] = G[-1]
        return np.tril(G) + np.tril(G, -1).T if self.sparse else G

    def row_gram(self) -> Array:
        """X X'."""
        if self.sparse:
            X = self.X.astype(np.float64)
            K = np.asarray((X @ X.T).toarray())
        else:
            A = self._dense(slice(0, self.n))
            with single_threaded_blas():
                K = A @ A.T
        return K if self.constant is None else K + self.constant**2

    def squared_norms(self) -> Array:
        """|x_i|^2 of every row."""
        out = np.empty(self.n)
        for rows in self._tiles:
            if self.sparse:
                part = self.X[rows].astype(np.float64)
                out[rows] = np.asarray(part.multiply(part).sum(axis=1)).ravel()
            else:
                part = self._dense(rows)
                out[rows] = np.einsum("ij,ij->i", part, part)
        return out if self.constant is None else out + self.constant**2

    def mean(self) -> Array:
        """The mean of every column of X, without shift and constant."""
        ones = Design(self.X, threads=self.threads, poll=self.poll)
        return ones.transposed(np.ones(self.n)) / max(1, self.n)
