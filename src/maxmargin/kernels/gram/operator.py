"""Kernel values as an operator.

A solver has no access to points: a :class:`Gram` gives it the diagonal, blocks K[rows, cols] and products
K[rows, cols] @ coefficients, which are computed tile by tile and never stored. Only this package distinguishes dense
from sparse points, float32 from float64, and points from a kernel matrix given by the user. Values are
float64.
"""

from __future__ import annotations

import abc

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import Kernel, Linear
from maxmargin.runtime.threads import Scratch, Stop, halt_on, run_strips, single_threaded_blas, strips_of
from maxmargin.runtime.validation import Array, Points

TILE_ROWS, TILE_COLS = 256, 512  # a float64 tile of 1 MB stays in a core's second-level cache
LINEAR_TILE_ENTRIES = 1 << 18  # numbers of a tile's rows: 2 MB, below which a second thread costs more than it brings
DENSE_MAX_ENTRIES = 4_000_000  # a sixteenth of this is small enough to be dense in any case


class Gram(abc.ABC):
    """The kernel matrix of n rows.

    n: number of rows
    evaluations: kernel values computed so far
    budget: memory in bytes that a solver may use for kernel values
    single_is_exact: whether ``product(..., single=True)`` is computed in float64 anyway
    held: whether kernel values are read from memory rather than computed
    threads: threads that a product may use; no result depends on it
    scratch: buffers to work in, shared by the operators of one fit
    """

    n: int
    evaluations: int = 0
    budget: float = 2e8
    single_is_exact: bool = True
    held: bool = False
    threads: int = 1
    scratch: Scratch

    @abc.abstractmethod
    def diagonal(self) -> Array:
        """k(x_i, x_i) for all i."""

    @abc.abstractmethod
    def block(self, rows: Array, cols: Array) -> Array:
        """K[rows, cols], a new array."""

    @abc.abstractmethod
    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        """K[rows, cols] @ coef (all rows by default); ``coef`` is a vector or has one column per problem. With
        ``single`` the kernel values may be float32; sums are float64 in any case. An operator whose products take long
        calls ``stop`` between pieces of one, which may end it."""

    def times(self, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None) -> Array:
        """K[rows] @ coef for coefficients of all rows, by those that are not zero; the rest as in ``product``."""
        used = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
        if len(used) == 0:
            return np.zeros((self.n if rows is None else len(rows), *coef.shape[1:]))
        return self.product(used, coef[used], rows, single=single, stop=stop)

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        """out[:n, :n] = K[rows, rows] in the precision of ``out``, which may be larger; ``stop`` as in ``product``."""
        n = len(rows)
        out[:n, :n] = self.block(rows, rows)

    def arranged(self, rows: Array) -> Array:
        """The order of the rows in which ``fill`` is fastest; unchanged by default."""
        return np.arange(len(rows))

    def parts(self) -> list[Array]:
        """Sets of rows, all of them together, between which every kernel value is zero; by default one set of all
        rows."""
        return [np.arange(self.n)]

    def stored(self) -> tuple[Array, Array]:
        """Kernel values as a C-ordered float64 array, and the positions of this operator's rows in it; the array may
        contain other rows, and padding columns."""
        every = np.arange(self.n)
        return np.ascontiguousarray(self.block(every, every)), every

    def linear_points(self) -> Points | None:
        """X for the linear kernel, K = X X'; None for others."""
        return None

    @abc.abstractmethod
    def subset(self, rows: Array) -> Gram:
        """The kernel matrix of some of the rows."""


class KernelGram(Gram):
    """Kernel values computed from the points on demand.

    kernel: a resolved kernel
    X: array or CSR matrix of shape (n, d)
    threads: threads a block or product may use; the result does not depend on it
    """

    def __init__(self, kernel: Kernel, X: Points, threads: int = 1) -> None:
        self.kernel, self.X, self.threads = kernel, X, threads
        self.n = X.shape[0]
        self.scratch = Scratch()

    def diagonal(self) -> Array:
        self.evaluations += self.n
        return self.kernel.self_similarity(self.X)

    def block(self, rows: Array, cols: Array) -> Array:
        return self._block(rows, cols)

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        out[: len(rows), : len(rows)] = self._block(rows, rows, stop)

    def _block(self, rows: Array, cols: Array, stop: Stop | None = None) -> Array:
        out = np.empty((len(rows), len(cols)))
        right = self.X[cols]

        def work(strip: slice) -> None:
            halt_on(stop)
            out[strip] = self.kernel.matrix(self.X[rows[strip]], right)

        with single_threaded_blas():
            run_strips(work, len(rows), TILE_ROWS, self.threads)
        self.evaluations += out.size
        return out

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if type(self.kernel) is Linear:
            return self._linear_product(cols, coef, rows, stop)
        left = self.X if rows is None else self.X[rows]
        self.evaluations += left.shape[0] * len(cols)
        return kernel_product(self.kernel, left, self.X[cols], coef, self.threads, stop)

    def single_block(self, rows: Array, cols: Array, out: Array) -> None:
        """out = K[rows, cols] in float32, for few rows and many columns."""
        few = self.X[rows]

        def work(part: slice) -> None:  # the few rows on the right, where sparse points are packed
            out[:, part] = self.kernel.matrix(self.X[cols[part]], few).T

        with single_threaded_blas():
            run_strips(work, len(cols), TILE_ROWS * TILE_COLS // max(TILE_ROWS, len(rows)), self.threads)
        self.evaluations += out.size

    def _at(self, rows: Array) -> Array:
        """The rows of ``X`` that these rows of the operator are."""
        return rows

    def _linear_product(self, cols: Array, coef: Array, rows: Array | None, stop: Stop | None) -> Array:
        """X[rows] w with w = X[cols]' coef: a pass over the points, in float64, instead of all kernel values."""
        at = self._at(np.arange(self.n) if rows is None else rows)
        out = np.empty((len(at), *coef.shape[1:]))
        self.evaluations += len(at)

        def work(strip: slice) -> None:
            halt_on(stop)
            out[strip] = self.X[at[strip]] @ w

        with single_threaded_blas():
            w = np.asarray(self.X[self._at(cols)].T @ coef)
            height = max(TILE_ROWS, LINEAR_TILE_ENTRIES // max(1, self.X.shape[1]))
            run_strips(work, len(at), height, self.threads)
        return out

    def linear_points(self) -> Points | None:
        return self.X if type(self.kernel) is Linear else None

    def subset(self, rows: Array) -> KernelGram:
        return KernelGram(self.kernel, self.X[rows], self.threads)


def kernel_product(
    kernel: Kernel, A: Points, B: Points, coef: Array, threads: int = 1, stop: Stop | None = None
) -> Array:
    """k(A, B) @ coef in tiles, without storing k(A, B); ``stop`` is called before each, and may end it."""
    out = np.zeros((A.shape[0], *coef.shape[1:]))
    col_tiles = strips_of(B.shape[0], TILE_COLS)
    panels = [B[cols] for cols in col_tiles]

    def work(rows: slice) -> None:
        left = A[rows]
        for panel, cols in zip(panels, col_tiles, strict=True):
            halt_on(stop)
            out[rows] += kernel.matrix(left, panel) @ coef[cols]

    with single_threaded_blas():
        run_strips(work, A.shape[0], TILE_ROWS, threads)
    return out


class StoredGram(Gram):
    """A kernel matrix that is held in memory: the user's own, or a small one computed once and shared.

    K: (N, N); never copied
    index: the rows of K that belong to this operator; all by default
    evaluations: kernel values computed to fill K
    around: the C-ordered float64 array whose first rows and columns are K, if it is padded to full vectors
    linear: X of shape (N, d) if K = X X'
    """

    def __init__(
        self,
        K: Array,
        index: Array | None = None,
        evaluations: int = 0,
        around: Array | None = None,
        linear: Points | None = None,
    ) -> None:
        self.K, self.index = K, index
        self.around, self.linear = K if around is None else around, linear
        self.scratch = Scratch()
        self.n = len(K) if index is None else len(index)
        self.evaluations = evaluations

    def _at(self, rows: Array) -> Array:
        return rows if self.index is None else self.index[rows]

    def diagonal(self) -> Array:
        at = self._at(np.arange(self.n))
        return self.K[at, at].astype(np.float64)

    def block(self, rows: Array, cols: Array) -> Array:
        return self.K[np.ix_(self._at(rows), self._at(cols))].astype(np.float64, copy=False)

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        at = self._at(rows)
        _native.gather(self.K, at, at, out[: len(rows), : len(rows)])

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        at = self._at(np.arange(self.n) if rows is None else rows)
        columns = self._at(cols)
        out = np.empty((len(at), *coef.shape[1:]))
        if coef.ndim == 1:
            _native.gather_product(self.K, at, columns, np.ascontiguousarray(coef, np.float64), out)
            return out
        with single_threaded_blas():
            for tile in strips_of(len(at), TILE_ROWS):
                out[tile] = self.K[np.ix_(at[tile], columns)].astype(np.float64, copy=False) @ coef
        return out

    def stored(self) -> tuple[Array, Array]:
        if self.around.dtype != np.float64 or not self.around.flags.c_contiguous:
            return super().stored()
        return self.around, np.arange(self.n) if self.index is None else self.index

    def linear_points(self) -> Points | None:
        return self.linear if self.linear is None or self.index is None else self.linear[self.index]

    def subset(self, rows: Array) -> Gram:
        return StoredGram(self.K, self._at(rows), around=self.around, linear=self.linear)


def computing_form(X: Points) -> Points:
    """The points as a dense array (few columns, or many non-zeros) or as CSR (many columns with few non-zeros),
    whichever is faster for kernels."""
    if X.dtype == object:
        return X
    n, d = X.shape
    filled = X.nnz if sp.issparse(X) else np.count_nonzero(X[:: max(1, n // 2000)]) * max(1, n // 2000)
    if d <= 16 or n * d <= DENSE_MAX_ENTRIES // 16 or filled > 0.15 * n * d:
        return X.toarray() if sp.issparse(X) else X
    return X if sp.issparse(X) else sp.csr_matrix(X)


def precomputed_gram(K: Points, rows: Array) -> StoredGram:
    """The operator of a user's kernel matrix, restricted to some rows."""
    if sp.issparse(K):
        K = K.toarray()
    return StoredGram(K, None if len(rows) == K.shape[0] and np.array_equal(rows, np.arange(len(rows))) else rows)
