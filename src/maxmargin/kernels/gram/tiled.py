"""The Gram operator on fused tiles: for kernels that are a function of x'z or of |x - z|.

Rows are held once in float32 for speed, and read from the user's own array in float64 where exactness is asked for.
``product(..., single=True)`` computes with float32 kernel values and float64 sums. The tiles themselves are compiled
(``native/tiles``).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.kernels._arrays import row_sums
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT, OUT_OF_REACH, SHELL, FarRows
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.runtime.csr import CsrArrays, csr_arrays
from maxmargin.runtime.threads import Scratch, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

LOG2E = math.log2(math.e)
CSR_MAX_COLUMNS = 4096  # more columns than this, and packed panels of sparse rows would be mostly zeros
REGISTER_TILE_ROWS = 6  # rows of a register tile: pieces of full tiles waste none of it
CHUNK_ROWS = 192  # rows that stay in the second-level cache while all panels pass by
MIRRORED_MIN_COLUMNS = 128  # fewer, and a kernel value costs no more than its copy across the diagonal
CONSTANT_MIN_SHARE = 0.04  # of the columns: if fewer are constant, leaving them out saves less than it costs


@dataclass(frozen=True)
class Form:
    """A kernel as the tiles know it: k = function(u + v + a'b) of the points times ``root``; see ``native/tiles``.

    Points are scaled before they become float32, so that the size of the data and of gamma cancel."""

    kind: int
    root: float
    degree: int = 1
    bias: float = 0.0  # u, where it is the same for all rows
    norms: bool = False  # u = v = -|a|^2 / 2

    @property
    def decays(self) -> bool:
        """Whether values fall to zero with the distance of two points."""
        return self.kind in (_native.EXP2, _native.DECAY)

    def single_suffices(self, typical: float, longest: float) -> bool:
        """Whether float32 has the range and the digits for rows of these squared lengths (scaled). A few rows that are
        far longer than the rest lose digits, which double precision restores where it matters; most must not."""
        if self.kind == _native.POWER:
            size = max(longest, abs(self.bias))
            return size == 0 or abs(self.degree * math.log10(size)) < 20
        return typical < 2048 and longest < 1e6


def form_of(kernel: Kernel) -> Form | None:
    """The tile form of a resolved kernel, if it has one."""
    if type(kernel) is RBF:
        return Form(_native.EXP2, math.sqrt(2 * LOG2E * float(kernel.gamma)), norms=True)
    if type(kernel) is Laplacian:
        return Form(_native.DECAY, LOG2E * float(kernel.gamma))
    if type(kernel) is Linear:
        return Form(_native.POWER, 1.0)
    if type(kernel) is Sigmoid:
        return Form(_native.TANH, math.sqrt(2 * LOG2E * float(kernel.gamma)), bias=2 * LOG2E * float(kernel.coef0))
    if type(kernel) is Polynomial and float(kernel.degree).is_integer() and 1 <= kernel.degree <= 64:
        return Form(_native.POWER, math.sqrt(float(kernel.gamma)), degree=int(kernel.degree), bias=float(kernel.coef0))
    return None


def tileable(kernel: Kernel, X: Points) -> bool:
    """Whether tiles can compute this kernel on these points."""
    if X.dtype == object or form_of(kernel) is None:
        return False
    return not sp.issparse(X) or (X.shape[1] <= CSR_MAX_COLUMNS and type(kernel) is not Laplacian)


@dataclass(frozen=True)
class Panels:
    """Points packed as the columns of tiles."""

    P: Array
    v: Array
    n: int
    far: FarRows | None = None


@dataclass(frozen=True)
class Side:
    """Points as rows of tiles, in one precision: dense, or CSR."""

    n: int
    d: int
    u: Array
    typical: float  # squared length that nine rows of ten do not exceed
    longest: float
    A: Array | None = None
    csr: CsrArrays | None = None
    order: Array | None = None  # the CSR rows meant, where not all of them in order
    far: FarRows | None = None  # rows whose distances from each other are not left to tiles

    @classmethod
    def of(
        cls,
        X: Points,
        form: Form,
        shift: Array | None,
        dtype: type,
        at: Array | None = None,
        scratch: Scratch | None = None,
        columns: Array | None = None,
        check: Callable[[], None] | None = None,
    ) -> Side:
        """The rows ``at`` and the columns ``columns`` of X (all by default; sparse points keep theirs), in new memory
        or in scratch memory. ``check`` is called every few rows and may raise."""
        if sp.issparse(X) and at is not None:
            X, at = X[at], None
        n, d = X.shape[0] if at is None else len(at), X.shape[1] if columns is None else len(columns)
        shift = shift if shift is None or columns is None else shift[columns]
        u = np.full(n, form.bias, dtype)
        A = csr = None
        with np.errstate(over="ignore", invalid="ignore"):  # what does not fit into float32 is found out by longest
            if sp.issparse(X):
                indptr, indices, data = csr_arrays(X)
                data = (data.astype(np.float64) * form.root).astype(dtype, copy=False)
                csr = indptr, indices, data
                lengths = row_sums(data.astype(np.float64) ** 2, indptr)  # of the values that tiles compute with
            else:
                A = _memory(scratch, "rows", (n, d), dtype)
                lengths = np.empty(n)
                step = max(1, 200_000 // max(1, d))
                for start in range(0, n, step):  # in float64 before the rounding to dtype, a few rows at a time
                    if check is not None:
                        check()
                    rows = slice(start, min(start + step, n))
                    part = X[rows] if at is None else X[at[rows]]
                    part = (part if columns is None else part[:, columns]).astype(np.float64, copy=False)
                    part = (part if shift is None else part - shift) * form.root
                    A[rows] = part
                    if form.kind == _native.DECAY:
                        lengths[rows] = np.abs(part).sum(axis=1)
                    else:
                        rounded = A[rows].astype(np.float64, copy=False)
                        lengths[rows] = np.einsum("ij,ij->i", rounded, rounded)
            if form.norms:
                u[:] = -0.5 * lengths
        far = None
        limit = LENGTH_LIMIT[np.dtype(dtype).type]
        if form.decays and not lengths.max(initial=0.0) <= limit:
            index = np.flatnonzero(~(lengths <= limit))
            far = FarRows(index, X[index if at is None else at[index]])
            beyond = ~(lengths <= SHELL * limit)  # these do not enter the tiles: zero from all rows that do
            lengths[beyond] = SHELL * limit
            u[beyond] = OUT_OF_REACH if form.kind == _native.DECAY else -OUT_OF_REACH
            if A is not None:
                A[beyond] = 0
            elif csr is not None:
                csr[2][np.repeat(beyond, np.diff(csr[0]))] = 0
        ninth = (9 * n) // 10
        typical = float(np.partition(lengths, ninth)[ninth]) if n else 0.0
        return cls(n, d, u, typical, float(lengths.max(initial=0.0)), A, csr, far=far)

    def part(self, rows: Array, scratch: Scratch | None = None) -> Side:
        """Some of the rows; dense ones are copied, so that they lie together."""
        far = None if self.far is None else self.far.part(rows)
        if self.csr is not None:
            return replace(self, n=len(rows), order=rows if self.order is None else self.order[rows], far=far)
        assert self.A is not None
        A = _memory(scratch, "rows", (len(rows), self.d), self.A.dtype)
        np.take(self.A, rows, axis=0, out=A)
        return replace(self, n=len(rows), A=A, u=self.u[rows], far=far)

    def strip(self, start: int, stop: int) -> Side:
        """A range of the rows, without a copy."""
        far = None if self.far is None else self.far.part(np.arange(start, stop))
        if self.csr is not None:
            order = np.arange(start, stop) if self.order is None else self.order[start:stop]
            return replace(self, n=stop - start, order=order, far=far)
        assert self.A is not None
        return replace(self, n=stop - start, A=self.A[start:stop], u=self.u[start:stop], far=far)

    def narrowed(self, columns: Array, form: Form) -> Side:
        """The same rows without columns in which they do not differ: their distances from each other do not change."""
        assert self.A is not None
        A = np.ascontiguousarray(self.A[:, columns])
        u = (-0.5 * np.einsum("ij,ij->i", A, A, dtype=np.float64)).astype(A.dtype) if form.norms else self.u
        return replace(self, d=len(columns), A=A, u=u)

    def panels(self, at: Array, form: Form, scratch: Scratch | None = None) -> Panels:
        """The rows ``at`` as packed columns."""
        dtype = self.u.dtype.type
        width = _native.panel_width(dtype)
        count = -(-len(at) // width)
        P = _memory(scratch, "columns", (count, self.d, width), dtype)
        v: Array = np.empty(count * width, dtype)
        own = self.u if form.norms or form.decays else None
        if self.csr is not None:
            _native.pack_csr(self.csr, own, at, P, v)
        else:
            assert self.A is not None
            _native.pack_dense(self.A, own, at, P, v)
        return Panels(P, v, len(at), None if self.far is None else self.far.part(at))


def _memory(scratch: Scratch | None, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array to be filled: new, or of scratch memory."""
    array: Array = np.empty(shape, dtype) if scratch is None else scratch.take(name, shape, dtype)
    return array


def padded_slots(count: int) -> int:
    """Columns that pair steps take for so many variables: padded to full vectors."""
    return -(-count // _native.SLOT_UNIT) * _native.SLOT_UNIT


def _spread(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Divide ``count`` rows into pieces of full tiles, and run them on the threads."""
    if count == 0:
        return
    pieces = max(1, min(8 * threads, count // CHUNK_ROWS)) if threads > 1 else 1
    size = -(-count // pieces // REGISTER_TILE_ROWS) * REGISTER_TILE_ROWS
    starts = range(0, count, size)
    run_tiles(lambda t: work(starts[t], min(starts[t] + size, count)), len(starts), threads)


def tiled_product(left: Side, right: Panels, coef: Array, form: Form, threads: int) -> Array:
    """k(left, right) @ coef, in float64 sums; for several columns of ``coef`` values are stored tile by tile."""
    if coef.ndim > 1:
        return _many_products(left, right, coef, form, threads)
    if left.far is None or right.far is None:
        return _one_product(left, right, coef, form, threads)
    rows, cols = left.far.index, right.far.index
    out = np.zeros(left.n) if len(rows) == left.n else _one_product(left, right, coef, form, threads)
    near = coef.copy()
    near[cols] = 0.0
    out[rows] = _one_product(left.part(rows), right, near, form, threads) if len(cols) < right.n else 0.0
    out[rows] += left.far.product(right.far, coef[cols], form.root, form.norms)
    return out


def _one_product(left: Side, right: Panels, coef: Array, form: Form, threads: int) -> Array:
    """k(left, right) @ coef for one column, by tiles alone."""
    weights: Array = np.zeros(len(right.v), right.v.dtype)
    weights[: right.n] = coef
    out = np.zeros(left.n)
    columns = right.P, right.v, weights, form.kind, form.degree, out
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order
        _spread(lambda *ends: _native.kernel_matvec_csr(csr, order, left.u, *columns, *ends), left.n, threads)
    elif left.A is not None:
        A = left.A
        _spread(lambda *ends: _native.kernel_matvec_dense(A, left.u, *columns, *ends), left.n, threads)
    return out


def store_tiles(left: Side, right: Panels, form: Form, out: Array, threads: int) -> None:
    """out[:len(left), :len(right)] = k(left, right); ``out`` may be larger."""
    out = out[: left.n, : right.n]
    columns = right.P, right.v, form.kind, form.degree, out
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order
        _spread(lambda *ends: _native.kernel_block_csr(csr, order, left.u, *columns, *ends), left.n, threads)
    elif left.A is not None:
        A = left.A
        _spread(lambda *ends: _native.kernel_block_dense(A, left.u, *columns, *ends), left.n, threads)
    if left.far is not None and right.far is not None:
        left.far.values(right.far, form.root, form.norms, out)


def store_mirrored(left: Side, right: Panels, form: Form, out: Array, threads: int) -> None:
    """out[:n, :n] = k(left, left), with ``right`` the same n rows: each value is computed once, on or above the
    diagonal of strips, and copied to the other side."""
    assert left.A is not None
    A, n, width = left.A, left.n, right.P.shape[2]
    starts = range(0, n, CHUNK_ROWS)  # a multiple of every panel's width

    def work(t: int) -> None:
        start, stop = starts[t], min(starts[t] + CHUNK_ROWS, n)
        columns = right.P[start // width :], right.v[start:]
        _native.kernel_block_dense(A, left.u, *columns, form.kind, form.degree, out[:n, start:n], start, stop)
        out[stop:n, start:stop] = out[start:stop, stop:n].T

    run_tiles(work, len(starts), threads)


def varying_columns(X: Points) -> Array | None:
    """The columns in which dense points differ from each other; None where they are nearly all, or there is none."""
    if sp.issparse(X) or X.shape[0] == 0:
        return None
    constant = np.arange(X.shape[1])
    for start in range(0, X.shape[0], CHUNK_ROWS):
        constant = constant[(X[start : start + CHUNK_ROWS, constant] == X[0, constant]).all(axis=0)]
        if len(constant) < CONSTANT_MIN_SHARE * X.shape[1]:
            return None
    return np.setdiff1d(np.arange(X.shape[1]), constant) if len(constant) < X.shape[1] else None


def _many_products(left: Side, right: Panels, coef: Array, form: Form, threads: int) -> Array:
    """Several columns: kernel values of a strip of rows, then one matrix product, strip by strip."""
    weights = coef.astype(right.v.dtype)
    out = np.empty((left.n, coef.shape[1]))
    starts = range(0, left.n, CHUNK_ROWS)

    def work(t: int) -> None:
        start, stop = starts[t], min(starts[t] + CHUNK_ROWS, left.n)
        values = np.empty((stop - start, right.n), right.v.dtype)
        store_tiles(left.strip(start, stop), right, form, values, 1)
        out[start:stop] = values @ weights

    # A product of a few thousand multiplications is not worth the limit: no BLAS gives it a second thread.
    with nullcontext() if left.n * weights.size <= 20_000 else single_threaded_blas():
        run_tiles(work, len(starts), threads)
    return out


class TiledGram(KernelGram):
    """Kernel values by fused tiles.

    kernel: a resolved kernel with a tile form
    X: array or CSR matrix of shape (N, d)
    """

    def __init__(self, kernel: Kernel, X: Points, threads: int = 1, check: Callable[[], None] | None = None) -> None:
        super().__init__(kernel, X, threads)
        form = form_of(kernel)
        assert form is not None
        self.form = form
        self.shift = getattr(kernel, "shift_", None)
        # index, place: the rows of X and of ``side`` this operator stands for; all by default
        self.index: Array | None = None
        self.place: Array | None = None
        # Between training points alone, a distance has nothing of a column in which they are all the same.
        self.columns = varying_columns(X) if form.decays else None
        self.side = Side.of(X, form, self.shift, np.float32, columns=self.columns, check=check)
        self.single_is_exact = not form.single_suffices(self.side.typical, self.side.longest)

    def subset(self, rows: Array) -> TiledGram:
        """Some of the rows, without a copy of them."""
        part = copy.copy(self)
        part.index, part.place, part.n, part.evaluations = self._at(rows), self._placed(rows), len(rows), 0
        return part

    def _at(self, rows: Array) -> Array:
        return rows if self.index is None else self.index[rows]

    def _placed(self, rows: Array) -> Array:
        return rows if self.place is None else self.place[rows]

    def _rows(self, rows: Array | None) -> Side:
        """float32 rows as the left side of tiles."""
        return self._all() if rows is None else self.side.part(self._placed(rows), self.scratch)

    def _all(self) -> Side:
        """All rows: those of a subset are gathered once, without the columns in which they do not differ, and are its
        side from then on."""
        if self.place is not None:
            side = self.side.part(self.place)
            varying = varying_columns(side.A) if side.A is not None and side.far is None and self.form.decays else None
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

    def diagonal(self) -> Array:
        self.evaluations += self.n
        if self.form.kind in (_native.EXP2, _native.DECAY):
            return np.ones(self.n)
        return self.kernel.self_similarity(self.X if self.index is None else self.X[self.index])

    def block(self, rows: Array, cols: Array) -> Array:
        self.evaluations += len(rows) * len(cols)
        right = self._double_panels(cols)
        left = self._double(rows)
        out = np.empty((len(rows), len(cols)))
        store_tiles(left, right, self.form, out, self.threads)
        return out

    def product(self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False) -> Array:
        if single and not self.single_is_exact:
            left, right = self._rows(rows), self._panels(cols)
        else:
            right = self._double_panels(cols)
            left = self._double(np.arange(self.n) if rows is None else rows)
        self.evaluations += left.n * len(cols)
        return tiled_product(left, right, coef, self.form, self.threads)

    def fill(self, rows: Array, out: Array) -> None:
        self.evaluations += len(rows) ** 2
        if out.dtype == np.float64:
            right = self._double_panels(rows)
            left = self._double(rows)
        else:
            left, right = self._rows(rows), self._panels(rows)
        mirrored = left.A is not None and left.far is None and left.d >= MIRRORED_MIN_COLUMNS
        (store_mirrored if mirrored else store_tiles)(left, right, self.form, out, self.threads)
