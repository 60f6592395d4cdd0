"""Kernels of histograms: points whose entries are counts or shares, x_k >= 0.

    ChiSquared              k(x, z) = exp(-gamma sum_k (x_k - z_k)^2 / (x_k + z_k)),  0/0 = 0
    HistogramIntersection   k(x, z) = sum_k min(x_k, z_k)

Both are positive semidefinite where x, z >= 0. For counts the intersection is an inner product of bits: a count of
three is the bits 1, 1, 1, 0, 0, ..., and the inner product of two such rows of bits is the smaller count.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import as_float64
from maxmargin.kernels._loops import CHI_SQUARED, INTERSECTION, coordinate_sums
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points, check_number

__all__ = ["ChiSquared", "HistogramIntersection"]


class _HistogramKernel(Kernel):
    """A kernel that is defined for points without negative entries."""

    psd = True

    def check_points(self, A: Points) -> None:
        values = A.data if sp.issparse(A) else A
        if values.size and values.min() < 0:
            rows, columns = (A < 0).nonzero()
            row, column = int(rows[0]), int(columns[0])
            raise ValueError(
                f"{type(self).__name__} compares histograms, which have no negative values; "
                f"got {float(A[row, column]):g} in row {row}, column {column}. "
                "Use counts or shares, or shift the feature (for example with MinMaxScaler)."
            )


class ChiSquared(_HistogramKernel):
    """The exponential chi-squared kernel, k(x, z) = exp(-gamma sum_k (x_k - z_k)^2 / (x_k + z_k)).

    Parameters
    ----------
    gamma : float, default=1.0
        The inverse width, >= 0.

    Examples
    --------
    >>> from maxmargin.kernels import ChiSquared
    >>> ChiSquared()([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def matrix(self, A: Points, B: Points) -> Array:
        K = coordinate_sums(A, B, CHI_SQUARED)
        K *= -self.gamma
        return np.exp(K, out=K)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        kernel.gamma = check_number("gamma", self.gamma, above=0)
        return kernel


class HistogramIntersection(_HistogramKernel):
    """The histogram intersection kernel, k(x, z) = sum_k min(x_k, z_k).

    Examples
    --------
    >>> from maxmargin.kernels import HistogramIntersection
    >>> HistogramIntersection()([[3.0, 1.0, 0.0], [1.0, 1.0, 2.0]])
    array([[4., 2.],
           [2., 4.]])
    """

    def matrix(self, A: Points, B: Points) -> Array:
        return coordinate_sums(A, B, INTERSECTION)

    def self_similarity(self, A: Points) -> Array:
        return np.asarray(as_float64(A).sum(axis=1), dtype=np.float64).ravel()
