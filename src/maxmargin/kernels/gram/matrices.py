"""All kernel values of some points as one matrix, by fused tiles wherever a part of the kernel has them.

Sums, products, multiples of kernels, and kernels of some columns have no tiles of their own, but their parts may have.
"""

from __future__ import annotations

import numpy as np

from maxmargin.kernels import Columns, Kernel, Product, Scaled, Sum
from maxmargin.kernels.gram.operator import KernelGram
from maxmargin.kernels.gram.sides import tileable
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.runtime.validation import Array, Points


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
