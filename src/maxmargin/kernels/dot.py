"""Kernels of the inner product x'z.

    Linear       k(x, z) = x'z
    Polynomial   k(x, z) = (gamma x'z + c)^p
    Sigmoid      k(x, z) = tanh(gamma x'z + c)
    ArcCosine    k(x, z) = (|x| |z|)^n J_n(t) / pi,     t the angle between x and z,  n = 0, 1, 2
    Tanimoto     k(x, z) = x'z / (x'x + z'z - x'z),     1 for two zero vectors

The polynomial kernel is positive semidefinite for integer p >= 0 and c >= 0: its features are the monomials of degree
up to p. The sigmoid kernel in general is not; it is kept for what was trained with it. The arc-cosine kernels are inner
products of infinitely many random neurons, steps, ramps or squared ramps (Cho & Saul 2009),

    J_0 = pi - t,    J_1 = sin t + (pi - t) cos t,    J_2 = 3 sin t cos t + (pi - t)(1 + 2 cos^2 t).

The Tanimoto kernel of bit vectors is the share of the bits they have in common among those either has (Ralaivola et al.
2005). It is positive semidefinite for all real vectors: with u = x'z / (x'x + z'z), |u| <= 1/2, it is u / (1 - u) =
u + u^2 + ..., and 1 / (a + b)^m, an integral of products exp(-ta) exp(-tb), is a kernel of a, b > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import as_float64, is_integer, power, products, squared_distances, squared_norms
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points

__all__ = ["ArcCosine", "Linear", "Polynomial", "Sigmoid", "Tanimoto"]


class Linear(Kernel):
    """The linear kernel, k(x, z) = x'z.

    Examples
    --------
    >>> from maxmargin.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    psd = True

    def matrix(self, A: Points, B: Points) -> Array:
        return products(A, B)

    def self_similarity(self, A: Points) -> Array:
        return squared_norms(A)


class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (gamma x'z + coef0)^degree.

    Parameters
    ----------
    degree : float, default=3
        The exponent, >= 0. If it is not an integer, the base must not be negative.
    gamma : {"scale", "auto"} or float, default="scale"
        The factor of the inner product, > 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    coef0 : float, default=0.0
        The constant c; zero leaves only the monomials of the full degree.

    Examples
    --------
    >>> from maxmargin.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)([[1.0, 2.0], [3.0, 4.0]])
    array([[ 36., 144.],
           [144., 676.]])
    """

    _limits: ClassVar = {"degree": {"least": 0}, "coef0": {"least": -math.inf}}

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
        kernel = super()._resolve(X, weights, feature_names)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel


class Sigmoid(Kernel):
    """The sigmoid kernel, k(x, z) = tanh(gamma x'z + coef0); not positive semidefinite in general.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The factor of the inner product, > 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    coef0 : float, default=0.0
        The constant added to the inner product.

    Examples
    --------
    >>> from maxmargin.kernels import Sigmoid
    >>> Sigmoid(gamma=0.1)([[1.0, 2.0], [3.0, 4.0]]).round(3)
    array([[0.462, 0.8  ],
           [0.8  , 0.987]])
    """

    _limits: ClassVar = {"coef0": {"least": -math.inf}}

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
        kernel = super()._resolve(X, weights, feature_names)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel

    def _sizes(self, X: Points) -> Array:
        return squared_norms(X)  # tanh never overflows, but what it is taken of may


class ArcCosine(Kernel):
    """The arc-cosine kernel, the limit of a random neural network layer of infinite width.

    Parameters
    ----------
    order : {0, 1, 2}, default=1
        The power of a neuron's output: a step, a ramp (ReLU) or a squared ramp.

    Examples
    --------
    >>> from maxmargin.kernels import ArcCosine
    >>> ArcCosine(order=0)([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    array([[1.  , 0.75, 0.5 ],
           [0.75, 1.  , 0.75],
           [0.5 , 0.75, 1.  ]])
    """

    psd = True
    _limits: ClassVar = {"order": {"least": 0, "most": 2, "integer": True}}

    def __init__(self, order: int = 1) -> None:
        self.order = order

    def matrix(self, A: Points, B: Points) -> Array:
        U, lengths_a = _directions(A)
        V, lengths_b = (U, lengths_a) if B is A else _directions(B)
        # The angle of unit vectors from their distance |u - v| = 2 sin(t/2), which keeps its digits where t is small,
        # and |u + v| = 2 cos(t/2), which does where pi - t is: order 0 has its zero there.
        D = np.minimum(squared_distances(U, V), 4.0)
        zero = np.logical_or.outer(lengths_a == 0, lengths_b == 0)
        if self.order == 0:
            J = 2.0 / np.pi * np.arctan2(np.sqrt(squared_distances(U, -V)), np.sqrt(D))
            J[zero] = 0.5  # a neuron at its threshold gives half a step
            return J
        t = 2.0 * np.arctan2(np.sqrt(D), np.sqrt(4.0 - D))
        t[zero] = np.pi / 2
        J = np.pi - t
        if self.order == 1:
            J = np.sin(t) + J * np.cos(t)
        else:
            J = 3.0 * np.sin(t) * np.cos(t) + J * (1.0 + 2.0 * np.cos(t) ** 2)
        J *= np.multiply.outer(lengths_a**self.order, lengths_b**self.order) / np.pi
        return J

    def self_similarity(self, A: Points) -> Array:
        squares = squared_norms(A)
        if self.order == 0:
            return np.where(squares > 0, 1.0, 0.5)
        return squares if self.order == 1 else 3.0 * squares**2


def _directions(A: Points) -> tuple[Points, Array]:
    """Points divided by their lengths (zero ones stay), and the lengths."""
    lengths = np.sqrt(squared_norms(A))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if sp.issparse(A):
        return sp.csr_array(sp.diags_array(inverse) @ as_float64(A)), lengths
    return as_float64(A) * inverse[:, None], lengths


class Tanimoto(Kernel):
    """The Tanimoto kernel, k(x, z) = x'z / (x'x + z'z - x'z).

    For bit vectors, such as molecular fingerprints, it is the number of common bits divided by the number of bits in
    either; :class:`Jaccard` is the same for sets. Two zero vectors have similarity 1.

    Examples
    --------
    >>> from maxmargin.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]).round(3)
    array([[1.   , 0.667, 0.   ],
           [0.667, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    psd = True

    def matrix(self, A: Points, B: Points) -> Array:
        shared = products(A, B)
        either = np.add.outer(squared_norms(A), squared_norms(B)) - shared
        return np.divide(shared, either, out=np.ones_like(shared), where=either > 0)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    def _sizes(self, X: Points) -> Array:
        return squared_norms(X)  # values are at most 1, but what they are made of may overflow
