"""The Gram operator on fused tiles: for kernels that are a function of x'z or of |x - z|.

Rows are held once in float32 (padded to whole tiles) for speed, and read from the user's own array in float64 where
exactness is asked for. ``product(..., single=True)`` prices with float32 kernel values and float64 sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._parallel import run_tiles
from maxmargin._tiles import products
from maxmargin._tiles.vectors import ROWS, panel_width
from maxmargin._validation import Array, Points
from maxmargin.gram import Gram, KernelGram, StoredGram
from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid

LOG2E = math.log2(math.e)
WIDEST_CSR = 4096  # more columns than this, and packed panels of sparse rows would be mostly zeros


@dataclass(frozen=True)
class Form:
    """A kernel as the tiles know it: k = function(u + v + a'b) with b = scale * x; see ``_tiles.products``."""

    kind: int
    scale: float
    degree: int = 1
    factor: float = 0.0
    bias: float = 0.0  # u, where it is the same for all rows
    norm: float = 0.0  # u = v = norm * |x|^2


def form_of(kernel: Kernel) -> Form | None:
    """The tile form of a resolved kernel, if it has one."""
    if type(kernel) is RBF:
        gamma = float(kernel.gamma) * LOG2E
        return Form(products.EXP2, 2 * gamma, norm=-gamma)
    if type(kernel) is Laplacian:
        return Form(products.DECAY, 1.0, factor=-float(kernel.gamma) * LOG2E)
    if type(kernel) is Linear:
        return Form(products.POWER, 1.0)
    if type(kernel) is Sigmoid:
        return Form(products.TANH, 2 * LOG2E * float(kernel.gamma), bias=2 * LOG2E * float(kernel.coef0))
    if type(kernel) is Polynomial and float(kernel.degree).is_integer() and 1 <= kernel.degree <= 64:
        return Form(products.POWER, float(kernel.gamma), degree=int(kernel.degree), bias=float(kernel.coef0))
    return None


class _Rows:
    """Points as the left and right side of tiles, in one precision."""

    def __init__(self, X: Points, form: Form, shift: Array | None, dtype: type) -> None:
        self.n, self.d = X.shape
        self.sparse = sp.issparse(X)
        self.dtype = dtype
        padded = -(-self.n // ROWS) * ROWS
        self.u = np.full(padded, form.bias, dtype)
        if self.sparse:
            self.indptr = X.indptr.astype(np.int64)
            self.indices = X.indices.astype(np.int32, copy=False)
            self.data = X.data.astype(dtype, copy=False)
            squares = np.concatenate(([0.0], np.cumsum(X.data.astype(np.float64) ** 2)))
            norms = squares[self.indptr[1:]] - squares[self.indptr[:-1]]
        else:
            self.A = np.zeros((padded, self.d), dtype)
            if shift is None:
                self.A[: self.n] = X
            else:
                np.subtract(X, shift, out=self.A[: self.n], casting="same_kind")
            norms = np.einsum("ij,ij->i", self.A, self.A, dtype=np.float64)[: self.n] if form.norm else np.zeros(self.n)
        if form.norm:
            self.u[: self.n] = form.norm * norms
        self.largest = float(norms.max(initial=0.0))

    def panels(self, at: Array, form: Form) -> tuple[Array, Array]:
        """The rows ``at`` as packed columns, and their v."""
        width = panel_width(self.dtype)
        count = -(-len(at) // width)
        P = np.zeros((count, self.d, width), self.dtype)
        v: Array = np.full(count * width, -126.0 if form.norm else 0.0, self.dtype)
        own = self.u if form.norm else np.zeros(1, self.dtype)
        v_all = own if form.norm else np.zeros(self.n, self.dtype)
        if self.sparse:
            products.pack_csr(self.indptr, self.indices, self.data, v_all, at, self.dtype(form.scale), P, v)
        else:
            products.pack_dense(self.A, v_all, at, self.dtype(form.scale), P, v)
        return P, v


class TiledGram(KernelGram):
    """Kernel values by fused tiles.

    Parameters
    ----------
    kernel : Kernel
        A resolved kernel with a tile form.
    X : array or CSR matrix of shape (n, d)
    threads : int
    """

    def __init__(self, kernel: Kernel, X: Points, threads: int = 1) -> None:
        super().__init__(kernel, X, threads)
        form = form_of(kernel)
        assert form is not None
        self.form = form
        self.shift = getattr(kernel, "shift_", None)
        self.rows = _Rows(X, form, self.shift, np.float32)
        # The exponent of an RBF is a difference of numbers of this size: beyond it float32 says too little.
        self.single_is_exact = not abs(form.norm) * self.rows.largest < 2048

    def _double(self, at: Array | None) -> _Rows:
        return _Rows(self.X if at is None else self.X[at], self.form, self.shift, np.float64)

    def product(self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False) -> Array:
        if coef.ndim > 1:
            return super().product(cols, coef, rows)
        form = self.form
        if single and not self.single_is_exact:
            right = self.rows
            P, v = right.panels(cols, form)
            left, at = self.rows, rows
            if rows is not None and not right.sparse:
                left, at = self._gathered(rows), None
        else:
            right = self._double(cols)
            P, v = right.panels(np.arange(len(cols)), form)
            left, at = self._double(rows), None
        weights: Array = np.zeros(len(v), left.dtype)
        weights[: len(cols)] = coef
        count = left.n if at is None else len(at)
        self.evaluations += count * len(cols)
        out = np.zeros(-(-count // ROWS) * ROWS)
        options = (form.kind, form.degree, form.factor)
        if left.sparse:
            ids = np.arange(count) if at is None else at

            def work(start: int, stop: int) -> None:
                products.price_csr(
                    left.indptr,
                    left.indices,
                    left.data,
                    ids,
                    left.u,
                    P,
                    v,
                    weights,
                    *options,
                    out,
                    start,
                    min(stop, count),
                )
        else:

            def work(start: int, stop: int) -> None:
                products.price_dense(left.A, left.u, P, v, weights, *options, out, start, stop)

        self._spread(work, len(out))
        return out[:count]

    def fill(self, rows: Array, out: Array) -> None:
        form = self.form
        P, v = self.rows.panels(rows, form)
        self.evaluations += len(rows) ** 2
        options = (form.kind, form.degree, form.factor)
        # The packed columns are as wide as whole panels, and whole tiles of rows are written: out has room for both.
        if self.rows.sparse:
            r = self.rows

            def work(start: int, stop: int) -> None:
                products.store_csr(
                    r.indptr, r.indices, r.data, rows, r.u, P, v, *options, out, start, min(stop, len(rows))
                )
        else:
            left = self._gathered(rows)

            def work(start: int, stop: int) -> None:
                products.store_dense(left.A, left.u, P, v, *options, out, start, stop)

        self._spread(work, -(-len(rows) // ROWS) * ROWS)

    def _gathered(self, rows: Array) -> _Rows:
        """Some of the float32 rows, padded again."""
        part = _Rows.__new__(_Rows)
        source = self.rows
        part.n, part.d, part.sparse, part.dtype, part.largest = len(rows), source.d, False, source.dtype, source.largest
        padded = -(-len(rows) // ROWS) * ROWS
        part.A = np.zeros((padded, source.d), source.dtype)
        np.take(source.A, rows, axis=0, out=part.A[: len(rows)])
        part.u = np.zeros(padded, source.dtype)
        part.u[: len(rows)] = source.u[rows]
        return part

    def _spread(self, work: object, count: int) -> None:
        """Cut ``count`` rows into pieces of whole chunks, and run them on the threads."""
        pieces = max(1, min(8 * self.threads, count // products.CHUNK))
        size = -(-count // pieces // ROWS) * ROWS
        starts = range(0, count, size)
        run_tiles(lambda t: work(starts[t], min(starts[t] + size, count)), len(starts), self.threads)  # type: ignore[operator]

    def subset(self, rows: Array) -> Gram:
        return TiledGram(self.kernel, self.X[rows], self.threads)


def make_gram(kernel: Kernel, X: Points, *, threads: int = 1, budget: float = 0.0) -> Gram:
    """The operator for these points: tiles where the kernel has a form for them, else all of K if it fits into
    ``budget`` bytes, else kernel values on demand."""
    wide = sp.issparse(X) and (X.shape[1] > WIDEST_CSR or type(kernel) is Laplacian)
    if X.dtype != object and not wide and form_of(kernel) is not None:
        return TiledGram(kernel, X, threads)
    gram = KernelGram(kernel, X, threads)
    if 8.0 * gram.n * gram.n > budget:
        return gram
    every = np.arange(gram.n)
    K = gram.block(every, every)
    return StoredGram(K, evaluations=gram.evaluations)
