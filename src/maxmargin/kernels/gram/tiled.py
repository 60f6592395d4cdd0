"""The Gram operator on fused tiles: for kernels that are a function of x'z or of |x - z|.

Rows are stored once in float32 for speed, and read from the user's array in float64 where exact values are needed.
``product(..., single=True)`` computes with float32 kernel values and float64 sums. The tiles themselves are compiled
(``native/tiles``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from maxmargin import _native
from maxmargin.kernels import Kernel, Linear
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.kernels.gram.sides import Form, Panels, Side, form_of, varying_columns
from maxmargin.runtime.threads import Stop, halt_on, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

REGISTER_TILE_ROWS = 6  # rows of a register tile, of which pieces are multiples
PIECE_MAX_PRODUCTS = 2_000_000_000  # multiplications between two calls of ``stop``: some 20 ms
CHUNK_ROWS = 192  # rows that stay in the second-level cache during a pass over all panels
MIRRORED_MIN_COLUMNS = 128  # with fewer, a kernel value costs no more than a copy of it
MIRRORED_MIN_SHARE = 0.75  # of all columns, from which a product computes values above the diagonal only
STRIP_COLUMNS = 21 * CHUNK_ROWS  # columns packed at a time: with 784 entries they stay in the third-level cache


def padded_slots(count: int) -> int:
    """The number of columns of pair steps for this number of variables, padded to full vectors."""
    return -(-count // _native.SLOT_UNIT) * _native.SLOT_UNIT


def _spread(
    work: Callable[[int, int], None], count: int, threads: int, stop: Stop | None = None, products_per_row: int = 1
) -> None:
    """Divide ``count`` rows into pieces of full tiles, and run them on the threads, with ``stop`` before each."""
    if count == 0:
        return
    pieces = 8 * threads if threads > 1 else 1
    if stop is not None:
        pieces = max(pieces, count * products_per_row // PIECE_MAX_PRODUCTS)
    pieces = max(1, min(pieces, count // CHUNK_ROWS))
    size = -(-count // pieces // REGISTER_TILE_ROWS) * REGISTER_TILE_ROWS

    def run(rows: slice) -> None:
        halt_on(stop)
        work(rows.start, rows.stop)

    run_strips(run, count, size, threads)


def tiled_product(left: Side, right: Panels, coef: Array, form: Form, threads: int, stop: Stop | None = None) -> Array:
    """k(left, right) @ coef, in float64 sums; for several columns of ``coef`` values are stored tile by tile."""
    if coef.ndim > 1:
        return _many_products(left, right, coef, form, threads, stop)
    if left.far is None or right.far is None:
        return _one_product(left, right, coef, form, threads, stop)
    rows, cols = left.far.index, right.far.index
    out = np.zeros(left.n) if len(rows) == left.n else _one_product(left, right, coef, form, threads, stop)
    near = coef.copy()
    near[cols] = 0.0
    out[rows] = _one_product(left.part(rows), right, near, form, threads) if len(cols) < right.n else 0.0
    out[rows] += left.far.product(right.far, coef[cols], form.root, form.norms)
    return out


def _one_product(left: Side, right: Panels, coef: Array, form: Form, threads: int, stop: Stop | None = None) -> Array:
    """k(left, right) @ coef for one column, by tiles alone."""
    weights: Array = np.zeros(len(right.v), right.v.dtype)
    weights[: right.n] = coef
    out = np.zeros(left.n)
    columns = right.P, right.v, weights, form.kind, form.degree, out
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order
        _spread(lambda *ends: _native.kernel_matvec_csr(csr, order, left.u, *columns, *ends), left.n, threads, stop)
    elif left.A is not None:
        A, size = left.A, right.n * left.d
        _spread(lambda *ends: _native.kernel_matvec_dense(A, left.u, *columns, *ends), left.n, threads, stop, size)
    return out


def store_tiles(left: Side, right: Panels, form: Form, out: Array, threads: int, stop: Stop | None = None) -> None:
    """out[:len(left), :len(right)] = k(left, right); ``out`` may be larger."""
    out = out[: left.n, : right.n]
    columns = right.P, right.v, form.kind, form.degree, out
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order
        _spread(lambda *ends: _native.kernel_block_csr(csr, order, left.u, *columns, *ends), left.n, threads, stop)
    elif left.A is not None:
        A = left.A
        _spread(lambda *ends: _native.kernel_block_dense(A, left.u, *columns, *ends), left.n, threads, stop)
    if left.far is not None and right.far is not None:
        left.far.values(right.far, form.root, form.norms, out)


def store_mirrored(left: Side, right: Panels, form: Form, out: Array, threads: int, stop: Stop | None = None) -> None:
    """out[:n, :n] = k(left, left), with ``right`` the same n rows: each value is computed once, on or above the
    diagonal of strips, and copied to the other side."""
    assert left.A is not None
    A, n, width = left.A, left.n, right.P.shape[2]

    def work(rows: slice) -> None:
        halt_on(stop)
        start, end = rows.start, rows.stop  # multiples of every panel's width
        columns = right.P[start // width :], right.v[start:]
        _native.kernel_block_dense(A, left.u, *columns, form.kind, form.degree, out[:n, start:n], start, end)
        out[end:n, start:end] = out[start:end, end:n].T

    run_strips(work, n, CHUNK_ROWS, threads)


def _many_products(left: Side, right: Panels, coef: Array, form: Form, threads: int, stop: Stop | None) -> Array:
    """Several columns: kernel values of a strip of rows, then one matrix product, strip by strip."""
    weights = coef.astype(right.v.dtype)
    out = np.empty((left.n, coef.shape[1]))

    def work(rows: slice) -> None:
        halt_on(stop)
        values = np.empty((rows.stop - rows.start, right.n), right.v.dtype)
        store_tiles(left.strip(rows.start, rows.stop), right, form, values, 1)
        out[rows] = values @ weights

    # A product of a few thousand multiplications needs no limit: no BLAS uses a second thread for it.
    with nullcontext() if left.n * weights.size <= 20_000 else single_threaded_blas():
        run_strips(work, left.n, CHUNK_ROWS, threads)
    return out


class TiledGram(KernelGram):
    """Kernel values by fused tiles.

    kernel: a resolved kernel with a tile form
    X: array or CSR matrix of shape (N, d)
    """

    def __init__(self, kernel: Kernel, X: Points, threads: int = 1, stop: Stop | None = None) -> None:
        super().__init__(kernel, X, threads)
        form = form_of(kernel)
        assert form is not None
        self.form = form
        self.shift = getattr(kernel, "shift_", None)
        # index, place: the rows of X and of ``side`` that belong to this operator; all by default
        self.index: Array | None = None
        self.place: Array | None = None
        # Columns in which all training points are equal do not contribute to their distances.
        self.columns = varying_columns(X) if form.of_distance else None
        self.side = Side.of(X, form, self.shift, np.float32, columns=self.columns, stop=stop)
        self.single_is_exact = not form.single_suffices(self.side.typical, self.side.longest)

    def _share(self, other: TiledGram) -> None:
        """Be an operator on the rows of another one: the same points, packed once, and the same memory."""
        self.kernel, self.X, self.threads, self.n = other.kernel, other.X, other.threads, other.n
        self.form, self.shift, self.columns, self.side = other.form, other.shift, other.columns, other.side
        self.index, self.place, self.single_is_exact = other.index, other.place, other.single_is_exact
        self.scratch, self.budget, self.evaluations = other.scratch, other.budget, other.evaluations

    def subset(self, rows: Array) -> TiledGram:
        """Some of the rows, without a copy of them."""
        part = copy.copy(self)
        part.index, part.place, part.n, part.evaluations = self._at(rows), self._placed(rows), len(rows), 0
        return part

    def linear_points(self) -> Points | None:
        points = super().linear_points()
        return points if points is None or self.index is None else points[self.index]

    def _at(self, rows: Array) -> Array:
        return rows if self.index is None else self.index[rows]

    def _placed(self, rows: Array) -> Array:
        return rows if self.place is None else self.place[rows]

    def _rows(self, rows: Array | None) -> Side:
        """float32 rows as the left side of tiles."""
        return self._all() if rows is None else self.side.part(self._placed(rows), self.scratch)

    def _all(self) -> Side:
        """All rows; those of a subset are gathered once, without columns in which they are equal, and kept."""
        if self.place is not None:
            side = self.side.part(self.place)
            narrow = side.A is not None and side.far is None and self.form.of_distance and self.form.period == 0
            varying = varying_columns(side.A) if narrow else None
            if varying is not None:
                side = side.narrowed(varying, self.form)
                self.columns = varying if self.columns is None else self.columns[varying]
            self.side, self.place = side, None
        return self.side

    def _panels(self, cols: Array) -> Panels:
        """float32 rows as the columns of tiles; after :meth:`_rows`, which may narrow them."""
        return self.side.panels(self._placed(cols), self.form, self.scratch)

    def _double(self, rows: Array) -> Side:
        """float64 rows, in scratch memory: valid until the next call."""
        return Side.of(self.X, self.form, self.shift, np.float64, self._at(rows), self.scratch, self.columns)

    def _double_panels(self, cols: Array) -> Panels:
        return self._double(cols).panels(np.arange(len(cols)), self.form, self.scratch)

    def _tiles(self, rows: Array | None, cols: Array, double: bool) -> tuple[Side, Panels]:
        """Both sides of tiles, in float64 or float32."""
        if not double:
            return self._rows(rows), self._panels(cols)
        assert rows is not None
        right = self._double_panels(cols)  # before the rows, which take their scratch memory
        return self._double(rows), right

    def diagonal(self) -> Array:
        self.evaluations += self.n
        if self.form.kind in (_native.EXP2, _native.DECAY):
            return np.ones(self.n)
        return self.kernel.self_similarity(self.X if self.index is None else self.X[self.index])

    def block(self, rows: Array, cols: Array) -> Array:
        self.evaluations += len(rows) * len(cols)
        left, right = self._tiles(rows, cols, True)
        out = np.empty((len(rows), len(cols)))
        store_tiles(left, right, self.form, out, self.threads)
        return out

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if type(self.kernel) is Linear:
            return self._linear_product(cols, coef, rows, stop)
        if single and not self.single_is_exact:
            if rows is None and self._mirrors(cols, coef):
                return self._mirrored_product(cols, coef, stop)
            left, right = self._tiles(rows, cols, False)
        else:
            left, right = self._tiles(np.arange(self.n) if rows is None else rows, cols, True)
        self.evaluations += left.n * len(cols)
        return tiled_product(left, right, coef, self.form, self.threads, stop)

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        self.evaluations += len(rows) ** 2
        left, right = self._tiles(rows, rows, out.dtype == np.float64)
        mirrored = left.A is not None and left.far is None and left.d >= MIRRORED_MIN_COLUMNS
        (store_mirrored if mirrored else store_tiles)(left, right, self.form, out, self.threads, stop)

    def _mirrors(self, cols: Array, coef: Array) -> bool:
        """Whether a product with these columns is cheaper by values above the diagonal only."""
        side = self.side
        dense = side.A is not None and side.far is None and side.d >= MIRRORED_MIN_COLUMNS
        return dense and coef.ndim == 1 and len(cols) >= MIRRORED_MIN_SHARE * self.n and self.n > STRIP_COLUMNS

    def _mirrored_product(self, cols: Array, coef: Array, stop: Stop | None) -> Array:
        """K[:, cols] @ coef for nearly all columns: each value is computed once, for both its row and its column."""
        x, out = np.zeros(self.n), np.zeros(self.n)
        x[cols] = coef
        below: Array = np.zeros((-(-self.n // CHUNK_ROWS), STRIP_COLUMNS))  # per chunk of rows: sums for the columns
        every = np.arange(STRIP_COLUMNS)

        def add(start: int, first: int, block: Array) -> None:
            height, width = block.shape
            _native.add_columns(block, every[:width], x[first : first + width], out[start : start + height])
            beyond = max(0, start + height - first)  # the part on the diagonal is complete
            sums = below[start // CHUNK_ROWS]
            sums[: width - beyond] = 0.0
            _native.add_rows(block[:, beyond:], every[:height], x[start : start + height], sums[: width - beyond])

        for first in range(0, self.n, STRIP_COLUMNS):
            last = min(first + STRIP_COLUMNS, self.n)
            self.upper_strip(first, add, stop)
            for start in range(0, last, CHUNK_ROWS):
                begin = max(first, min(start + CHUNK_ROWS, last))
                out[begin:last] += below[start // CHUNK_ROWS, : last - begin]
        return out

    def upper_strip(self, first: int, use: Callable[[int, int, Array], None], stop: Stop | None = None) -> None:
        """float32 values on and above the diagonal of STRIP_COLUMNS columns from ``first``: ``use(row, column, block)``
        receives blocks of CHUNK_ROWS rows that begin there, on any thread; a block is valid during the call."""
        side, form, last = self._all(), self.form, min(first + STRIP_COLUMNS, self.n)
        right = side.panels(np.arange(first, last), form, self.scratch)
        width = right.P.shape[2]

        def work(rows: slice) -> None:
            halt_on(stop)
            start, end = rows.start, rows.stop  # multiples of every panel's width
            left_out = max(0, start - first)
            columns = Panels(right.P[left_out // width :], right.v[left_out:], last - first - left_out)
            block: Array = self.scratch.take("block", (end - start, columns.n), np.float32)
            store_tiles(side.strip(start, end), columns, form, block, 1)
            if start >= first and form.decays:  # tiles have rounding errors here, too
                np.fill_diagonal(block, 1.0)
            use(start, first + left_out, block)

        run_strips(work, last, CHUNK_ROWS, self.threads)
        self.evaluations += last * (last - first)
