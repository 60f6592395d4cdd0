"""All kernel values of some points as one matrix, by fused tiles wherever a part of the kernel has them.

Sums, products, multiples of kernels, and kernels of some columns have no tiles of their own, but their parts may have.
Gaussian kernels of the same columns are functions of the same distances, which are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.kernels import RBF, Columns, Kernel, Product, Scaled, Sum
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.kernels.gram.sides import form_of, tileable
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.runtime.threads import Scratch, run_strips, single_threaded_blas
from maxmargin.runtime.validation import Array, Points

STRIP_ENTRIES = 2**16  # distances that stay in the second-level cache while several functions are taken of them


def composed(kernel: Kernel) -> bool:
    """Whether :func:`kernel_matrix` needs a second matrix for the parts of a sum or product."""
    if isinstance(kernel, (Scaled, Columns)):
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
    if type(kernel) in (Sum, Product):
        first, *others = kernel.kernels
        K = kernel_matrix(first, X, threads)
        for other in others:
            (np.add if type(kernel) is Sum else np.multiply)(K, kernel_matrix(other, X, threads), out=K)
        return K
    every = np.arange(X.shape[0])
    if not tileable(kernel, X):
        return KernelGram(kernel, X, threads).block(every, every)
    K = np.empty((len(every), len(every)))
    TiledGram(kernel, X, threads).fill(every, K)
    return K


def kernel_matrices(kernels: Sequence[Kernel], X: Points, threads: int = 1) -> list[Array]:
    """The matrices of several resolved kernels, as :func:`kernel_matrix`."""
    matrices: list[Array | None] = [None] * len(kernels)
    groups: dict[Any, list[int]] = {}
    for m, kernel in enumerate(kernels):
        columns = tuple(kernel.indices_) if type(kernel) is Columns else None
        inner = kernel.kernel if type(kernel) is Columns else kernel
        if type(inner) is RBF and isinstance(X, np.ndarray) and X.dtype != object:
            groups.setdefault(columns, []).append(m)
    for members in groups.values():
        if len(members) > 1:
            _share_distances(kernels, members, X, threads, matrices)
    return [kernel_matrix(k, X, threads) if K is None else K for k, K in zip(kernels, matrices, strict=True)]


def _share_distances(
    kernels: Sequence[Kernel], members: list[int], X: Array, threads: int, matrices: list[Array | None]
) -> None:
    """Gaussian kernels of the same columns: the squared distances of a strip of rows, and their functions while they
    are in the cache. Kernels with far points are left to tiles."""
    first: Any = kernels[members[0]]
    points, inner = (first._select(X), first.kernel) if type(first) is Columns else (X, first)
    A = points.astype(np.float64) - inner.shift_ if inner.shift_ is not None else points.astype(np.float64)
    n, lengths = len(A), np.einsum("ij,ij->i", A, A)
    rates: list[tuple[float, Array]] = []
    for m in members:
        kernel: Any = kernels[m]
        inner = kernel.kernel if type(kernel) is Columns else kernel
        form = form_of(inner)
        assert form is not None
        if form.root**2 * float(lengths.max(initial=0.0)) <= LENGTH_LIMIT[np.float64]:
            matrices[m] = K = np.empty((n, n))
            rates.append((float(inner.gamma) * math.log2(math.e), K))
    height, scratch, transposed = max(1, STRIP_ENTRIES // n), Scratch(), -2.0 * A.T

    def strip(rows: slice) -> None:
        D = scratch.take("distances", (rows.stop - rows.start, n), np.float64)
        np.matmul(A[rows], transposed, out=D)
        D += lengths[rows, None]
        D += lengths
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = 0.0
        for rate, K in rates:
            _native.decays(D, rate, K[rows])

    with single_threaded_blas():
        run_strips(strip, n, height, threads)
    scratch.release()
