"""Kernels out of kernels, value by value.

    Sum       k(x, z) = k_1(x, z) + k_2(x, z) + ...    the features of all, side by side
    Product   k(x, z) = k_1(x, z) k_2(x, z) ...        all products of a feature of each
    Scaled    k(x, z) = c k_1(x, z),  c > 0            features times sqrt(c)
    Power     k(x, z) = k_1(x, z)^p                    for integer p, the product of p equal kernels

All four keep positive semidefiniteness (the product by Schur's theorem), powers when p is an integer.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.kernels._arrays import is_integer, power
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points


class Combination(Kernel):
    """Several kernels joined by an operation; the shared part of ``Sum`` and ``Product``.

    The members' parameters are reached as ``k0__gamma``, ``k1__degree``, and the members themselves as ``k0``,
    ``k1``, in ``get_params``, ``set_params`` and so in a grid search.
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    @classmethod
    def of(cls, *kernels: Kernel) -> Self:
        """The combination of some kernels; those that are combinations of the same kind are flattened first."""
        return cls([member for kernel in kernels for member in (kernel.kernels if type(kernel) is cls else [kernel])])

    @staticmethod
    @abstractmethod
    def _join(total: Array, values: Array) -> None:
        """Add or multiply ``values`` to ``total``, in place."""

    def matrix(self, A: Points, B: Points) -> Array:
        total = self.kernels[0].matrix(A, B)
        for kernel in self.kernels[1:]:
            self._join(total, kernel.matrix(A, B))
        return total

    def self_similarity(self, A: Points) -> Array:
        total = self.kernels[0].self_similarity(A)
        for kernel in self.kernels[1:]:
            self._join(total, kernel.self_similarity(A))
        return total

    @property
    def psd(self) -> bool:
        return all(kernel.psd for kernel in self.kernels)

    @property
    def takes_objects(self) -> bool:
        return all(getattr(kernel, "takes_objects", False) for kernel in self.kernels)

    @property
    def takes_vectors(self) -> bool:
        return all(getattr(kernel, "takes_vectors", True) for kernel in self.kernels)

    def check_points(self, A: Points) -> None:
        for kernel in _checked_members(self):
            kernel.check_points(A)

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        resolved = copy.copy(self)
        resolved.kernels = [kernel.resolve(X, weights, feature_names) for kernel in self.kernels]
        return resolved

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with ``deep`` also the members, as ``k0``, ``k1``, ..., and theirs.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of the members.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = {"kernels": self.kernels}
        if deep:
            for index, kernel in enumerate(self.kernels):
                params[f"k{index}"] = kernel
                params.update({f"k{index}__{name}": value for name, value in kernel.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set ``kernels``, a member as ``k0``, or a parameter of a member as ``k0__gamma``."""
        if "kernels" in params:
            self.kernels = params.pop("kernels")
        members = list(self.kernels)
        for index in range(len(members)):
            if f"k{index}" in params:
                members[index] = params.pop(f"k{index}")
                self.kernels = members  # a new list: the user's is not modified
        super().set_params(**params)
        return self


class Sum(Combination):
    """The sum of kernels, ``k1 + k2``.

    Parameters
    ----------
    kernels : list of Kernel
        At least one.

    Examples
    --------
    >>> from maxmargin.kernels import RBF, Linear
    >>> kernel = RBF(gamma=1.0) + Linear()
    >>> kernel
    Sum(kernels=[RBF(gamma=1.0), Linear()])
    >>> kernel([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 2.   ]])
    >>> kernel.set_params(k0__gamma=0.5)
    Sum(kernels=[RBF(gamma=0.5), Linear()])
    """

    @staticmethod
    def _join(total: Array, values: Array) -> None:
        total += values


class Product(Combination):
    """The product of kernels, ``k1 * k2``.

    Parameters
    ----------
    kernels : list of Kernel
        At least one.

    Examples
    --------
    >>> from maxmargin.kernels import RBF, Linear
    >>> kernel = RBF(gamma=1.0) * Linear()
    >>> kernel([[1.0], [2.0]]).round(3)
    array([[1.   , 0.736],
           [0.736, 4.   ]])
    """

    @staticmethod
    def _join(total: Array, values: Array) -> None:
        total *= values


class Wrapper(Kernel):
    """A kernel around another one, which determines the kind of points."""

    kernel: Kernel

    @property
    def takes_objects(self) -> bool:
        return getattr(self.kernel, "takes_objects", False)

    @property
    def takes_vectors(self) -> bool:
        return getattr(self.kernel, "takes_vectors", True)

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def check_points(self, A: Points) -> None:
        checked_kernel(self).check_points(A)

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        resolved = super()._resolve(X, weights, feature_names)
        resolved.kernel = self.kernel.resolve(X, weights, feature_names)
        return resolved


class Scaled(Wrapper):
    """A kernel times a positive number, ``c * k``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    factor : float
        The number c > 0.

    Examples
    --------
    >>> from maxmargin.kernels import Linear
    >>> (0.5 * Linear())([[1.0], [2.0]])
    array([[0.5, 1. ],
           [1. , 2. ]])
    """

    _limits: ClassVar = {"factor": {"above": 0}}

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = kernel
        self.factor = factor

    def matrix(self, A: Points, B: Points) -> Array:
        K = self.kernel.matrix(A, B)
        K *= self.factor
        return K

    def self_similarity(self, A: Points) -> Array:
        return self.kernel.self_similarity(A) * self.factor


class Power(Wrapper):
    """A kernel to a power, ``k ** p``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    exponent : float
        The exponent p >= 0. If it is not an integer, the kernel values must not be negative.

    Examples
    --------
    >>> from maxmargin.kernels import Linear
    >>> (Linear() ** 2)([[1.0], [2.0]])
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    _limits: ClassVar = {"exponent": {"least": 0}}

    def __init__(self, kernel: Kernel, exponent: float) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def matrix(self, A: Points, B: Points) -> Array:
        return power(self.kernel.matrix(A, B), self.exponent, lambda: self._scale(A, B), "Power kernel")

    def self_similarity(self, A: Points) -> Array:
        return power(self.kernel.self_similarity(A), self.exponent, lambda: self._scale(A, A), "Power kernel")

    def _scale(self, A: Points, B: Points) -> float:
        largest = (np.abs(self.kernel.self_similarity(points)).max() for points in (A, B))
        return float(np.sqrt(np.prod(list(largest))))

    @property
    def psd(self) -> bool:
        return self.kernel.psd and is_integer(self.exponent) and self.exponent >= 0


def checked_kernel(outer: Any) -> Kernel:
    """The kernel inside another one, or an error with the remedy."""
    if not isinstance(outer.kernel, Kernel):
        raise TypeError(
            f"{type(outer).__name__} needs a kernel object, like RBF(); got {outer.kernel!r}. "
            "A function becomes one as Callable(function)."
        )
    return outer.kernel


def _checked_members(combination: Combination) -> Sequence[Kernel]:
    """The members of a sum or product, or an error with the remedy."""
    kernels = combination.kernels
    if not isinstance(kernels, (list, tuple)) or not all(isinstance(kernel, Kernel) for kernel in kernels):
        raise TypeError(f"{type(combination).__name__} needs a list of kernel objects, like [RBF()]; got {kernels!r}.")
    if not kernels:
        raise ValueError(f"{type(combination).__name__} needs at least one kernel; got an empty list.")
    return kernels
