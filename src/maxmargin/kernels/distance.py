"""Kernels of a distance.

    RBF         k(x, z) = exp(-gamma ||x - z||_2^2),   gamma = 1 / (2 sigma^2)
    Laplacian   k(x, z) = exp(-gamma ||x - z||_1)

Both are positive semidefinite for every gamma >= 0, and k(x, x) = 1: all points lie on a sphere in feature space.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import centre_of, distances_from, squared_distances, squared_norms
from maxmargin.kernels._loops import MANHATTAN, coordinate_sums
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points, check_number, shown


class RBF(Kernel):
    """The Gaussian kernel, k(x, z) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse squared width, >= 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    sigma : float, optional
        The width instead of gamma: gamma = 1 / (2 sigma^2).

    Attributes
    ----------
    shift_ : ndarray of shape (n_features,) or None
        After ``resolve``: the mean of the training points. Distances are computed around it, so that data far from
        the origin keeps its digits. None for sparse training points.

    Examples
    --------
    >>> from maxmargin.kernels import RBF
    >>> RBF(sigma=1.0)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    >>> import numpy as np
    >>> RBF().resolve(np.array([[0.0, 1.0], [2.0, 3.0]]))
    RBF(gamma=0.4)
    """

    shift_: Array | None = None

    def __init__(self, gamma: str | float = "scale", *, sigma: float | None = None) -> None:
        self.gamma = gamma
        self.sigma = sigma

    def matrix(self, A: Points, B: Points) -> Array:
        K = squared_distances(A, B, self.shift_, float(self.gamma))
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            K *= -self.gamma  # type: ignore[operator]  # a number since resolve
        return np.exp(K, out=K)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    @property
    def psd(self) -> bool:
        return True

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        kernel.gamma = resolve_gamma(self.gamma, X, weights) if self.sigma is None else self._gamma_of_sigma()
        kernel.sigma = None
        kernel.shift_ = centre_of(X, weights)
        return kernel

    def _gamma_of_sigma(self) -> float:
        if self.gamma != "scale":
            raise ValueError(
                f"RBF takes gamma or sigma, not both; got gamma={shown(self.gamma)} and sigma={shown(self.sigma)}. "
                "They are the same parameter: gamma = 1 / (2 sigma^2)."
            )
        sigma = check_number("sigma", self.sigma, above=0)
        gamma = 0.5 / sigma / sigma
        if not math.isfinite(gamma):
            raise ValueError(f"sigma={shown(self.sigma)} is too small: gamma = 1 / (2 sigma^2) overflows.")
        return gamma

    def _sizes(self, X: Points) -> Array:
        if self.shift_ is None or sp.issparse(X):
            return float(self.gamma) * squared_norms(X)
        return float(self.gamma) * distances_from(X, self.shift_)


class Laplacian(Kernel):
    """The Laplacian kernel, k(x, z) = exp(-gamma ||x - z||_1).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse width, >= 0: 1 / (n_features * variance of X), 1 / n_features, or a number.

    Examples
    --------
    >>> from maxmargin.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, gamma: str | float = "scale") -> None:
        self.gamma = gamma

    def matrix(self, A: Points, B: Points) -> Array:
        K = coordinate_sums(A, B, MANHATTAN)
        K *= -self.gamma  # type: ignore[operator]  # a number since resolve
        return np.exp(K, out=K)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    @property
    def psd(self) -> bool:
        return True

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel
