"""The Gram operator on fused tiles: for kernels that are a function of x'z or of |x - z|.

Rows are held once in float32 (padded to whole tiles) for speed, and read from the user's own array in float64 where
exactness is asked for. ``product(..., single=True)`` prices with float32 kernel values and float64 sums.
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

from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.kernels._arrays import row_sums
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT, OUT_OF_REACH, SHELL, FarRows
from maxmargin.kernels.gram.operator import Gram, KernelGram, StoredGram
from maxmargin.kernels.gram.tiles import products
from maxmargin.kernels.gram.tiles.vectors import ROWS, panel_width
from maxmargin.runtime.threads import Scratch, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

LOG2E = math.log2(math.e)
STORED = 1024  # up to so many rows all of K is stored
STORED_PAIRS = 512  # the same where pairs of classes could share blocks of values instead
WIDEST_CSR = 4096  # more columns than this, and packed panels of sparse rows would be mostly zeros


@dataclass(frozen=True)
class Form:
    """A kernel as the tiles know it: k = function(u + v + a'b) of the points times ``root``; see ``_tiles.products``.

    Points are scaled before they become float32, so that the size of the data and of gamma cancel."""

    kind: int
    root: float
    degree: int = 1
    bias: float = 0.0  # u, where it is the same for all rows
    norms: bool = False  # u = v = -|a|^2 / 2

    @property
    def decays(self) -> bool:
        """Whether values fall to zero with the distance of two points."""
        return self.kind in (products.EXP2, products.DECAY)

    def single_suffices(self, typical: float, longest: float) -> bool:
        """Whether float32 has the range and the digits for rows of these squared lengths (scaled). A few rows that are
        far longer than the rest lose digits, which double precision restores where it matters; most must not."""
        if self.kind == products.POWER:
            size = max(longest, abs(self.bias))
            return size == 0 or abs(self.degree * math.log10(size)) < 20
        return typical < 2048 and longest < 1e6


def form_of(kernel: Kernel) -> Form | None:
    """The tile form of a resolved kernel, if it has one."""
    if type(kernel) is RBF:
        return Form(products.EXP2, math.sqrt(2 * LOG2E * float(kernel.gamma)), norms=True)
    if type(kernel) is Laplacian:
        return Form(products.DECAY, LOG2E * float(kernel.gamma))
    if type(kernel) is Linear:
        return Form(products.POWER, 1.0)
    if type(kernel) is Sigmoid:
        return Form(products.TANH, math.sqrt(2 * LOG2E * float(kernel.gamma)), bias=2 * LOG2E * float(kernel.coef0))
    if type(kernel) is Polynomial and float(kernel.degree).is_integer() and 1 <= kernel.degree <= 64:
        return Form(products.POWER, math.sqrt(float(kernel.gamma)), degree=int(kernel.degree), bias=float(kernel.coef0))
    return None


def tileable(kernel: Kernel, X: Points) -> bool:
    """Whether tiles can compute this kernel on these points."""
    if X.dtype == object or form_of(kernel) is None:
        return False
    return not sp.issparse(X) or (X.shape[1] <= WIDEST_CSR and type(kernel) is not Laplacian)


@dataclass(frozen=True)
class Panels:
    """Points packed as the columns of tiles."""

    P: Array
    v: Array
    n: int
    far: FarRows | None = None


@dataclass(frozen=True)
class Side:
    """Points as rows of tiles, in one precision: dense and padded to whole tiles, or CSR."""

    n: int
    d: int
    u: Array
    typical: float  # squared length that nine rows of ten do not exceed
    longest: float
    A: Array | None = None
    csr: tuple[Array, Array, Array] | None = None
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
    ) -> Side:
        """The rows ``at`` of X (all by default), in new memory or in scratch memory."""
        if sp.issparse(X) and at is not None:
            X, at = X[at], None
        n, d = X.shape[0] if at is None else len(at), X.shape[1]
        padded = -(-n // ROWS) * ROWS
        u = np.full(padded, form.bias, dtype)
        A = csr = None
        with np.errstate(over="ignore", invalid="ignore"):  # what does not fit into float32 is found out by longest
            if sp.issparse(X):
                indptr = X.indptr.astype(np.int64)
                data = X.data.astype(np.float64) * form.root
                csr = (indptr, X.indices.astype(np.int32, copy=False), data.astype(dtype, copy=False))
                lengths = row_sums(csr[2].astype(np.float64) ** 2, indptr)  # of the values that tiles compute with
            else:
                A = _memory(scratch, "rows", (padded, d), dtype)
                A[n:] = 0
                lengths = np.empty(n)
                step = max(ROWS, 200_000 // max(1, d))
                for start in range(0, n, step):  # in float64 before the rounding to dtype, a few rows at a time
                    rows = slice(start, min(start + step, n))
                    part = (X[rows] if at is None else X[at[rows]]).astype(np.float64, copy=False)
                    part = (part if shift is None else part - shift) * form.root
                    A[rows] = part
                    if form.kind == products.DECAY:
                        lengths[rows] = np.abs(part).sum(axis=1)
                    else:
                        rounded = A[rows].astype(np.float64, copy=False)
                        lengths[rows] = np.einsum("ij,ij->i", rounded, rounded)
            if form.norms:
                u[:n] = -0.5 * lengths
        far = None
        limit = LENGTH_LIMIT[np.dtype(dtype).type]
        if form.decays and not lengths.max(initial=0.0) <= limit:
            index = np.flatnonzero(~(lengths <= limit))
            far = FarRows(index, X[index if at is None else at[index]])
            beyond = ~(lengths <= SHELL * limit)  # these do not enter the tiles: zero from all rows that do
            lengths[beyond] = SHELL * limit
            u[:n][beyond] = OUT_OF_REACH if form.kind == products.DECAY else -OUT_OF_REACH
            if A is not None:
                A[:n][beyond] = 0
            elif csr is not None:
                csr[2][np.repeat(beyond, np.diff(csr[0]))] = 0
        ninth = (9 * n) // 10
        typical = float(np.partition(lengths, ninth)[ninth]) if n else 0.0
        return cls(n, d, u, typical, float(lengths.max(initial=0.0)), A, csr, far=far)

    @property
    def padded(self) -> int:
        return -(-self.n // ROWS) * ROWS

    def part(self, rows: Array, scratch: Scratch | None = None) -> Side:
        """Some of the rows; dense ones are copied, so that they lie together."""
        far = None if self.far is None else self.far.part(rows)
        if self.csr is not None:
            return replace(self, n=len(rows), order=rows if self.order is None else self.order[rows], far=far)
        assert self.A is not None
        padded = -(-len(rows) // ROWS) * ROWS
        A, u = _memory(scratch, "rows", (padded, self.d), self.A.dtype), np.zeros(padded, self.u.dtype)
        A[len(rows) :] = 0
        np.take(self.A, rows, axis=0, out=A[: len(rows)])
        u[: len(rows)] = self.u[rows]
        return replace(self, n=len(rows), A=A, u=u, far=far)

    def panels(self, at: Array, form: Form, scratch: Scratch | None = None) -> Panels:
        """The rows ``at`` as packed columns."""
        dtype = self.u.dtype.type
        width = panel_width(dtype)
        count = -(-len(at) // width)
        P = _memory(scratch, "columns", (count, self.d, width), dtype)
        P[-1:] = 0  # its last columns may be padding
        if self.csr is not None:
            P[:] = 0
        v: Array = np.full(count * width, -126.0 if form.norms else 0.0, dtype)
        own = self.u if form.decays else np.zeros(len(self.u), dtype)
        if self.csr is not None:
            products.pack_csr(*self.csr, own, at, P, v)
        else:
            products.pack_dense(self.A, own, at, P, v)
        return Panels(P, v, len(at), None if self.far is None else self.far.part(at))


def _memory(scratch: Scratch | None, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array to be filled: new, or of scratch memory."""
    array: Array = np.empty(shape, dtype) if scratch is None else scratch.take(name, shape, dtype)
    return array


def _spread(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Cut ``count`` rows into pieces of whole tiles, and run them on the threads."""
    if count == 0:
        return
    pieces = max(1, min(8 * threads, count // products.CHUNK)) if threads > 1 else 1
    size = -(-count // pieces // ROWS) * ROWS
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
    options = (form.kind, form.degree)
    weights: Array = np.zeros(len(right.v), right.v.dtype)
    weights[: right.n] = coef
    out = np.zeros(left.padded)
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order

        def work(start: int, stop: int) -> None:
            stop = min(stop, left.n)
            products.price_csr(*csr, order, left.u, right.P, right.v, weights, *options, out, start, stop)
    else:

        def work(start: int, stop: int) -> None:
            products.price_dense(left.A, left.u, right.P, right.v, weights, *options, out, start, stop)

    _spread(work, left.padded, threads)
    return out[: left.n]


def store_tiles(left: Side, right: Panels, form: Form, out: Array, threads: int) -> None:
    """out[:len(left), :len(right)] = k(left, right); ``out`` has room for whole tiles."""
    options = (form.kind, form.degree)
    if left.csr is not None:
        csr, order = left.csr, np.arange(left.n) if left.order is None else left.order

        def work(start: int, stop: int) -> None:
            products.store_csr(*csr, order, left.u, right.P, right.v, *options, out, start, min(stop, left.n))
    else:

        def work(start: int, stop: int) -> None:
            products.store_dense(left.A, left.u, right.P, right.v, *options, out, start, stop)

    _spread(work, left.padded, threads)
    if left.far is not None and right.far is not None:
        left.far.values(right.far, form.root, form.norms, out)


def _many_products(left: Side, right: Panels, coef: Array, form: Form, threads: int) -> Array:
    """Several columns: kernel values of a strip of rows, then one matrix product, strip by strip."""
    dtype = right.v.dtype
    weights: Array = np.zeros((len(right.v), coef.shape[1]), dtype)
    weights[: right.n] = coef
    out = np.empty((left.n, coef.shape[1]))
    strips = range(0, left.n, products.CHUNK)

    def work(t: int) -> None:
        rows = np.arange(strips[t], min(strips[t] + products.CHUNK, left.n))
        strip = np.empty((products.CHUNK, len(right.v)), dtype)
        store_tiles(left.part(rows), right, form, strip, 1)
        out[rows] = strip[: len(rows)] @ weights

    # A product of a few thousand multiplications is not worth the limit: no BLAS gives it a second thread.
    with nullcontext() if left.n * weights.size <= 20_000 else single_threaded_blas():
        run_tiles(work, len(strips), threads)
    return out


class TiledGram(KernelGram):
    """Kernel values by fused tiles.

    Parameters
    ----------
    kernel : Kernel
        A resolved kernel with a tile form.
    X : array or CSR matrix of shape (N, d)
    threads : int
    """

    def __init__(self, kernel: Kernel, X: Points, threads: int = 1) -> None:
        super().__init__(kernel, X, threads)
        form = form_of(kernel)
        assert form is not None
        self.form = form
        self.shift = getattr(kernel, "shift_", None)
        self.index: Array | None = None  # the rows of X this operator stands for; all by default
        self.side = Side.of(X, form, self.shift, np.float32)
        self._own: Side | None = self.side
        self.single_is_exact = not form.single_suffices(self.side.typical, self.side.longest)

    def subset(self, rows: Array) -> TiledGram:
        """Some of the rows, without a copy of them."""
        part = copy.copy(self)
        part.index, part.n, part.evaluations, part._own = self._at(rows), len(rows), 0, None
        return part

    def _at(self, rows: Array) -> Array:
        return rows if self.index is None else self.index[rows]

    def _rows(self, rows: Array | None) -> Side:
        """float32 rows as the left side of tiles; all of them are gathered once and kept."""
        if rows is not None:
            return self.side.part(self._at(rows), self.scratch)
        if self._own is None:
            self._own = self.side.part(self._at(np.arange(self.n)))
        return self._own

    def _double(self, rows: Array) -> Side:
        """float64 rows, in scratch memory: valid until the next call."""
        return Side.of(self.X, self.form, self.shift, np.float64, self._at(rows), self.scratch)

    def _double_panels(self, cols: Array) -> Panels:
        return self._double(cols).panels(np.arange(len(cols)), self.form, self.scratch)

    def diagonal(self) -> Array:
        self.evaluations += self.n
        if self.form.kind in (products.EXP2, products.DECAY):
            return np.ones(self.n)
        return self.kernel.self_similarity(self.X if self.index is None else self.X[self.index])

    def block(self, rows: Array, cols: Array) -> Array:
        self.evaluations += len(rows) * len(cols)
        right = self._double_panels(cols)
        left = self._double(rows)
        out = np.empty((left.padded, len(right.v)))
        store_tiles(left, right, self.form, out, self.threads)
        return out[: len(rows), : len(cols)]

    def product(self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False) -> Array:
        if single and not self.single_is_exact:
            left, right = self._rows(rows), self.side.panels(self._at(cols), self.form, self.scratch)
        else:
            right = self._double_panels(cols)
            left = self._double(np.arange(self.n) if rows is None else rows)
        self.evaluations += left.n * len(cols)
        return tiled_product(left, right, coef, self.form, self.threads)

    def fill(self, rows: Array, out: Array) -> None:
        self.evaluations += len(rows) ** 2
        if out.dtype == np.float64:
            right = self._double_panels(rows)
            store_tiles(self._double(rows), right, self.form, out, self.threads)
        else:
            right = self.side.panels(self._at(rows), self.form, self.scratch)
            store_tiles(self._rows(rows), right, self.form, out, self.threads)


def make_gram(kernel: Kernel, X: Points, *, threads: int = 1, budget: float = 0.0, pairs: bool = False) -> Gram:
    """The operator for these points. A few points, or points whose kernel has no tile form, have all of K stored if it
    fits into ``budget`` bytes; otherwise values come on demand, by tiles where there is a form. ``pairs`` says that
    pairs of classes will be solved, which share blocks of values instead."""
    small = X.shape[0] <= (STORED_PAIRS if pairs else STORED)
    fits = 8.0 * X.shape[0] ** 2 <= budget
    form = form_of(kernel) if tileable(kernel, X) else None
    if form is not None and small and fits:
        side = Side.of(X, form, getattr(kernel, "shift_", None), np.float64)
        n, panels = side.n, side.panels(np.arange(side.n), form)
        out = np.empty((side.padded, len(panels.v)))
        store_tiles(side, panels, form, out, threads)
        return StoredGram(out[:n, :n], evaluations=n * n, around=out)
    if form is not None:
        return TiledGram(kernel, X, threads)
    gram = KernelGram(kernel, X, threads)
    if not fits:
        return gram
    every = np.arange(gram.n)
    return StoredGram(gram.block(every, every), evaluations=gram.evaluations)
