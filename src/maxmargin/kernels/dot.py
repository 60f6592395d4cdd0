"""Kernels of the inner product x'z.

    Linear       k(x, z) = x'z
    Polynomial   k(x, z) = (gamma x'z + c)^p
    Sigmoid      k(x, z) = tanh(gamma x'z + c)

The polynomial kernel is positive semidefinite for integer p >= 0 and c >= 0: its features are the monomials of degree
up to p. The sigmoid kernel in general is not; it is kept for what was trained with it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from maxmargin.kernels._arrays import is_integer, power, products, squared_norms
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points, check_number


class Linear(Kernel):
    """The inner product, k(x, z) = x'z.

    Examples
    --------
    >>> from maxmargin.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def matrix(self, A: Points, B: Points) -> Array:
        return products(A, B)

    def self_similarity(self, A: Points) -> Array:
        return squared_norms(A)

    @property
    def psd(self) -> bool:
        return True


class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (gamma x'z + coef0)^degree.

    Parameters
    ----------
    degree : float, default=3
        The exponent, >= 0. With a fraction the base must never be negative.
    gamma : {"scale", "auto"} or float, default="scale"
        The factor of the inner product, >= 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    coef0 : float, default=0.0
        The constant c; zero leaves only the monomials of the full degree.

    Examples
    --------
    >>> from maxmargin.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)([[1.0, 2.0], [3.0, 4.0]])
    array([[ 36., 144.],
           [144., 676.]])
    """

    def __init__(self, degree: float = 3, gamma: str | float = "scale", coef0: float = 0.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def matrix(self, A: Points, B: Points) -> Array:
        K = products(A, B)
        K *= self.gamma
        K += self.coef0
        return power(K, self.degree, lambda: self._scale(A, B), "Polynomial kernel")

    def self_similarity(self, A: Points) -> Array:
        K = squared_norms(A)
        K *= self.gamma
        K += self.coef0
        return power(K, self.degree, lambda: self._scale(A, A), "Polynomial kernel")

    def _scale(self, A: Points, B: Points) -> float:
        lengths = np.sqrt(squared_norms(A).max() * squared_norms(B).max())
        return float(self.gamma * lengths + abs(self.coef0))

    @property
    def psd(self) -> bool:
        return is_integer(self.degree) and self.degree >= 0 and self.coef0 >= 0

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        check_number("degree", self.degree, least=0)
        check_number("coef0", self.coef0, least=-math.inf)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel


class Sigmoid(Kernel):
    """The sigmoid kernel, k(x, z) = tanh(gamma x'z + coef0); not positive semidefinite in general.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The factor of the inner product, >= 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    coef0 : float, default=0.0
        The constant added to the inner product.

    Examples
    --------
    >>> from maxmargin.kernels import Sigmoid
    >>> Sigmoid(gamma=0.1)([[1.0, 2.0], [3.0, 4.0]]).round(3)
    array([[0.462, 0.8  ],
           [0.8  , 0.987]])
    """

    def __init__(self, gamma: str | float = "scale", coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def matrix(self, A: Points, B: Points) -> Array:
        return self._squash(products(A, B))

    def self_similarity(self, A: Points) -> Array:
        return self._squash(squared_norms(A))

    def _squash(self, K: Array) -> Array:
        K *= self.gamma
        K += self.coef0
        return np.tanh(K, out=K)

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        check_number("coef0", self.coef0, least=-math.inf)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel

    def _sizes(self, X: Points) -> Array:
        return squared_norms(X)  # tanh never overflows, but what it is taken of may
