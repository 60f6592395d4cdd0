"""All kernel values of some points as one matrix, by fused tiles wherever a part of the kernel has them.

Sums, products, multiples of kernels, and kernels of some columns have no tiles of their own, but their parts may have.
Gaussian kernels of the same columns are functions of the same distances, which are computed once. Of
several matrices that are held at a time only one half is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import daxpy, ddot

from maxmargin import _native
from maxmargin.kernels import RBF, Columns, Kernel, Normalized, Product, Scaled, Sum
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.kernels.gram.sides import form_of, tileable
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.runtime.threads import Scratch, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

STRIP_ROWS = 256  # of a half matrix: of their square block all of a symmetric matrix is held, right of it half
PIECE_ENTRIES = 2**16  # distances that stay in the second-level cache while several functions are taken of them
SEPARATE_MAX_COLUMNS = 4  # of B, which are multiplied one by one: K_m is read once for each
# n x n entries of B B' and all columns of B, over the products of pairs of non-zeros: beyond, sparse B is faster
SPARSE_MIN_ROOM = 16


@dataclass(frozen=True)
class HalfMatrix:
    """A symmetric matrix as strips of ``STRIP_ROWS`` rows, each from the column of its first row on."""

    strips: tuple[Array, ...]

    @classmethod
    def empty(cls, n: int) -> HalfMatrix:
        """Of n rows, with whatever was in memory."""
        starts = range(0, n, STRIP_ROWS)
        return cls(tuple(np.empty((min(STRIP_ROWS, n - start), n - start)) for start in starts))

    @classmethod
    def of(cls, K: Array) -> HalfMatrix:
        """Of a symmetric matrix."""
        half = cls.empty(len(K))
        for t, strip in enumerate(half.strips):
            start = t * STRIP_ROWS
            strip[:] = K[start : start + len(strip), start:]
        return half


def weighted_sum(weights: Array, halves: Sequence[HalfMatrix], out: Array, threads: int = 1) -> None:
    """out = sum_m weights_m K_m of all rows, in pieces that stay in the cache; zeros among the weights cost nothing."""
    used = [(float(w), half) for w, half in zip(weights, halves, strict=True) if w != 0]

    def work(t: int) -> None:
        shape = halves[0].strips[t].shape
        entries = np.zeros(shape[0] * shape[1])
        parts = [(weight, half.strips[t].ravel()) for weight, half in used]
        for start in range(0, len(entries), PIECE_ENTRIES):
            piece = slice(start, start + PIECE_ENTRIES)
            for weight, part in parts:
                daxpy(part[piece], entries[piece], a=weight)  # in place, without an array for weight * part
        _copy_strip(entries.reshape(shape), t * STRIP_ROWS, out)

    run_tiles(work, len(halves[0].strips), threads)


def _copy_strip(strip: Array, start: int, K: Array) -> None:
    """A strip from row ``start`` on, and its mirror image, into all of the matrix."""
    rows = slice(start, start + len(strip))
    K[rows, start:] = strip
    for left in range(len(strip), strip.shape[1], STRIP_ROWS):  # in blocks: both sides stay in the cache
        K[start + left : start + left + STRIP_ROWS, rows] = strip[:, left : left + STRIP_ROWS].T


def squared_norms(halves: Sequence[HalfMatrix], B: Array, threads: int = 1) -> Array:
    """sum_p B_p'K_m B_p of each matrix, over the columns of B.

    Of a few columns by K_m B_p over the non-zeros of B_p; of many as the sum of all entries of K_m times those of B B',
    which serve all matrices while they are in the cache."""
    work = _norms_of_few if B.shape[1] <= SEPARATE_MAX_COLUMNS else _norms_of_many
    with single_threaded_blas():
        return work(halves, B, threads)


def _norms_of_few(halves: Sequence[HalfMatrix], B: Array, threads: int) -> Array:
    sums, used = np.zeros(len(halves)), [np.flatnonzero(column) for column in B.T]

    def work(m: int) -> None:
        for p, rows in enumerate(used):
            for t, strip in enumerate(halves[m].strips):
                start, stop = t * STRIP_ROWS, t * STRIP_ROWS + len(strip)
                own = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)]
                if len(own):
                    product = np.zeros(strip.shape[1])
                    _native.add_rows(strip, own - start, B[own, p], product)
                    product[len(strip) :] *= 2.0  # right of the block
                    sums[m] += float(product @ B[start:, p])

    run_tiles(work, len(halves), threads)
    return sums


def _norms_of_many(halves: Sequence[HalfMatrix], B: Array, threads: int) -> Array:
    strips = halves[0].strips
    sums = np.zeros((len(strips), len(halves)))
    sparse = SPARSE_MIN_ROOM * float(np.square(np.count_nonzero(B, axis=0)).sum()) < B.size * float(len(B))
    factors: Any = sp.csr_matrix(B) if sparse else B

    def work(t: int) -> None:
        start, (rows, width) = t * STRIP_ROWS, strips[t].shape
        right, height = factors[start:].T, max(1, PIECE_ENTRIES // width)
        for top in range(0, rows, height):
            part = slice(top, min(top + height, rows))
            products = factors[start + part.start : start + part.stop] @ right
            products = products.toarray() if sparse else products
            products[:, rows:] *= 2.0
            for m, half in enumerate(halves):
                sums[t, m] += ddot(products.ravel(), half.strips[t][part].ravel())

    run_tiles(work, len(strips), threads)
    return np.asarray(sums.sum(axis=0))


def composed(kernel: Kernel) -> bool:
    """Whether :func:`kernel_matrix` needs a second matrix for the parts of a sum or product."""
    if isinstance(kernel, (Scaled, Columns, Normalized)):
        return composed(kernel.kernel)
    return isinstance(kernel, (Sum, Product))


def kernel_matrix(kernel: Kernel, X: Points, threads: int = 1) -> Array:
    """K of all pairs of the points in float64, a new array; the kernel is resolved."""
    if type(kernel) is Columns:
        return kernel_matrix(kernel.kernel, kernel._select(X), threads)
    if type(kernel) is Scaled:
        K = kernel_matrix(kernel.kernel, X, threads)
        K *= float(kernel.factor)
        return K
    if type(kernel) is Normalized:
        K = kernel_matrix(kernel.kernel, X, threads)
        scale = kernel._inverse_lengths(X)
        for start in range(0, len(K), STRIP_ROWS):  # which stay in the cache
            strip = K[start : start + STRIP_ROWS]
            strip *= scale[start : start + STRIP_ROWS, None]
            strip *= scale
        return K
    if type(kernel) is Sum:
        return _sum_matrix(kernel.kernels, X, threads)
    if type(kernel) is Product:
        first, *others = kernel.kernels
        K = kernel_matrix(first, X, threads)
        for other in others:
            K *= kernel_matrix(other, X, threads)
        return K
    every = np.arange(X.shape[0])
    if not tileable(kernel, X):
        return KernelGram(kernel, X, threads).block(every, every)
    K = np.empty((len(every), len(every)))
    TiledGram(kernel, X, threads).fill(every, K)
    return K


def kernel_matrices(kernels: Sequence[Kernel], X: Points, threads: int = 1) -> list[HalfMatrix]:
    """The matrices of several resolved kernels, as :func:`kernel_matrix`."""
    halves: dict[int, HalfMatrix] = {}

    def keep(m: int, t: int, part: slice, D: Array, rate: float) -> None:
        _native.decays(D, rate, halves[m].strips[t][part])

    for shared in _shared_distances(kernels, X):
        halves.update((m, HalfMatrix.empty(X.shape[0])) for m in shared.rates)
        shared.each_piece(keep, threads)
    return [
        halves[m] if m in halves else HalfMatrix.of(kernel_matrix(kernel, X, threads))
        for m, kernel in enumerate(kernels)
    ]


def _sum_matrix(kernels: Sequence[Kernel], X: Points, threads: int) -> Array:
    """K of a sum, with one more half matrix, or the matrix of one part, in memory."""
    scaled = [(float(part.factor), part.kernel) if type(part) is Scaled else (1.0, part) for part in kernels]
    n, scratch, done = X.shape[0], Scratch(), set[int]()
    total = HalfMatrix.empty(n)
    for strip in total.strips:
        strip[:] = 0.0

    def add(m: int, t: int, part: slice, D: Array, rate: float) -> None:
        values = scratch.take("values", D.shape, np.float64)
        _native.decays(D, rate, values)
        daxpy(values.ravel(), total.strips[t][part].ravel(), a=scaled[m][0])

    for shared in _shared_distances([kernel for _, kernel in scaled], X):
        shared.each_piece(add, threads)
        done.update(shared.rates)
    for m, (factor, kernel) in enumerate(scaled):
        if m not in done:
            K = kernel_matrix(kernel, X, threads)
            K *= factor
            for t, strip in enumerate(total.strips):
                strip += K[t * STRIP_ROWS : (t + 1) * STRIP_ROWS, t * STRIP_ROWS :]
            del K
    scratch.release()
    K = np.empty((n, n))
    run_tiles(lambda t: _copy_strip(total.strips[t], t * STRIP_ROWS, K), len(total.strips), threads)
    return K


@dataclass(frozen=True)
class _SharedDistances:
    """Squared distances that serve several Gaussian kernels: k = 2^-(rate s)."""

    A: Array  # the points around the kernels' centre
    rates: dict[int, float]  # by the place of the kernel in its list

    def each_piece(self, use: Callable[[int, int, slice, Array, float], None], threads: int) -> None:
        """Call use(m, t, rows of strip t, their distances, rate) for all pieces of all strips and all kernels m."""
        A, n, scratch, transposed = self.A, len(self.A), Scratch(), -2.0 * self.A.T
        lengths = np.einsum("ij,ij->i", A, A)

        def work(t: int) -> None:
            start = t * STRIP_ROWS
            width, stop = n - start, min(start + STRIP_ROWS, n)
            height = max(1, PIECE_ENTRIES // width)
            for top in range(start, stop, height):
                rows = slice(top, min(top + height, stop))
                D = scratch.take("distances", (rows.stop - top, width), np.float64)
                np.matmul(A[rows], transposed[:, start:], out=D)
                D += lengths[rows, None]
                D += lengths[start:]
                D[np.arange(len(D)), np.arange(top - start, rows.stop - start)] = 0.0
                for m, rate in self.rates.items():
                    use(m, t, slice(top - start, rows.stop - start), D, rate)

        with single_threaded_blas():
            run_tiles(work, math.ceil(n / STRIP_ROWS), threads)
        scratch.release()


def _shared_distances(kernels: Sequence[Kernel], X: Points) -> Iterator[_SharedDistances]:
    """The Gaussian kernels of each set of columns. Kernels with far points are left to tiles."""
    if not isinstance(X, np.ndarray) or X.dtype == object:
        return
    groups: dict[Any, list[int]] = {}
    for m, kernel in enumerate(kernels):
        if type(_inner(kernel)) is RBF:
            groups.setdefault(tuple(kernel.indices_) if type(kernel) is Columns else None, []).append(m)
    for members in groups.values():
        first: Any = kernels[members[0]]
        inner: Any = _inner(first)
        A = (first._select(X) if type(first) is Columns else X).astype(np.float64)
        if inner.shift_ is not None:
            A = A - inner.shift_
        longest, rates = float(np.einsum("ij,ij->i", A, A).max(initial=0.0)), {}
        for m in members:
            inner = _inner(kernels[m])
            form = form_of(inner)
            if form is not None and form.root**2 * longest <= LENGTH_LIMIT[np.float64]:
                rates[m] = float(inner.gamma) * math.log2(math.e)
        if rates:
            yield _SharedDistances(A, rates)


def _inner(kernel: Kernel) -> Kernel:
    """The kernel of the columns, of a kernel of some columns."""
    return kernel.kernel if type(kernel) is Columns else kernel
