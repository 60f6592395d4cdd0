"""Kernels of a distance. With s = gamma ||x - z||_2^2 and gamma = 1 / (2 sigma^2), sigma the length scale,

    RBF                 k(x, z) = exp(-s)
    Matern              nu = 1/2: exp(-r),   3/2: (1 + r) exp(-r),   5/2: (1 + r + r^2/3) exp(-r),     r = sqrt(4 nu s)
    RationalQuadratic   k(x, z) = (1 + s / alpha)^-alpha
    Periodic            k(x, z) = exp(-4 gamma sum_j sin^2(pi (x_j - z_j) / period))
    Laplacian           k(x, z) = exp(-gamma ||x - z||_1)

All are positive semidefinite for every gamma > 0, and k(x, x) = 1: all points lie on a sphere in feature space. The
functions of a Matern kernel are nu - 1/2 times differentiable; it is the RBF kernel for nu -> oo, as is the rational
quadratic one, a mixture of RBF kernels of many widths, for alpha -> oo. The periodic kernel is the
RBF kernel of the points (cos t_j, sin t_j), t_j = 2 pi x_j / period, whose squared distance is 4 sum_j sin^2 (MacKay
1998; Rasmussen & Williams 2006, chapter 4).
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import centre_of, distances_from, squared_distances, squared_norms
from maxmargin.kernels._loops import MANHATTAN, coordinate_sums
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points, check_number, shown

__all__ = ["RBF", "Laplacian", "Matern", "Periodic", "RationalQuadratic"]


class Stationary(Kernel):
    """A kernel of s = gamma ||x - z||^2. A subclass writes ``_profile``, its values at s; they are 1 at s = 0.

    Attributes
    ----------
    shift_ : ndarray of shape (n_features,) or None
        After ``resolve``: the mean of the training points. Distances are computed relative to it, to preserve precision
        for data far from the origin. None for sparse training points.
    """

    shift_: Array | None = None
    psd = True

    def __init__(self, gamma: str | float = "scale", *, sigma: float | None = None) -> None:
        self.gamma = gamma
        self.sigma = sigma

    @abstractmethod
    def _profile(self, S: Array) -> Array:
        """The values at s, which may be overwritten."""

    def matrix(self, A: Points, B: Points) -> Array:
        S = squared_distances(A, B, self.shift_)
        S *= float(self.gamma)
        return self._profile(S)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = super()._resolve(X, weights, feature_names)
        kernel.gamma = resolve_gamma(self.gamma, X, weights) if self.sigma is None else self._gamma_of_sigma()
        kernel.sigma = None
        kernel.shift_ = centre_of(X, weights)
        return kernel

    def _gamma_of_sigma(self) -> float:
        if self.gamma != "scale":
            raise ValueError(
                f"{type(self).__name__} takes gamma or sigma, not both; got gamma={shown(self.gamma)} and "
                f"sigma={shown(self.sigma)}. They are the same parameter: gamma = 1 / (2 sigma^2)."
            )
        sigma = check_number("sigma", self.sigma, above=0)
        gamma = 0.5 / sigma / sigma
        if not math.isfinite(gamma):
            raise ValueError(f"sigma={shown(self.sigma)} is too small: gamma = 1 / (2 sigma^2) overflows.")
        return gamma

    def _sizes(self, X: Points) -> Array | None:
        if self.shift_ is None or sp.issparse(X):
            return float(self.gamma) * squared_norms(X)
        return float(self.gamma) * distances_from(X, self.shift_)


class RBF(Stationary):
    """The Gaussian kernel, k(x, z) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse squared width, > 0: 1 / (n_features * variance of X), 1 / n_features, or a number.
    sigma : float, optional
        The width instead of gamma: gamma = 1 / (2 sigma^2).

    Attributes
    ----------
    shift_ : ndarray of shape (n_features,) or None
        After ``resolve``: the mean of the training points. Distances are computed relative to it, to preserve precision
        for data far from the origin. None for sparse training points.

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

    def matrix(self, A: Points, B: Points) -> Array:
        S = squared_distances(A, B, self.shift_, float(self.gamma))  # exact where an exponent could be wrong
        with np.errstate(over="ignore"):  # exp(-inf) = 0
            S *= float(self.gamma)
        return self._profile(S)

    def _profile(self, S: Array) -> Array:
        np.negative(S, out=S)
        return np.exp(S, out=S)


class Matern(Stationary):
    """The Matern kernel, for functions that are less smooth than those of :class:`RBF`.

    With r = sqrt(4 nu gamma) ||x - z|| it is exp(-r) for nu = 1/2, (1 + r) exp(-r) for nu = 3/2, and
    (1 + r + r^2 / 3) exp(-r) for nu = 5/2: functions that are 0, 1 and 2 times differentiable.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse squared width, > 0, as for :class:`RBF`.
    nu : {0.5, 1.5, 2.5}, default=1.5
        The smoothness.
    sigma : float, optional
        The length scale instead of gamma: gamma = 1 / (2 sigma^2).

    Examples
    --------
    >>> from maxmargin.kernels import Matern
    >>> Matern(sigma=1.0, nu=0.5)([[0.0, 0.0], [3.0, 4.0]]).round(4)
    array([[1.    , 0.0067],
           [0.0067, 1.    ]])
    """

    def __init__(self, gamma: str | float = "scale", nu: float = 1.5, *, sigma: float | None = None) -> None:
        self.gamma = gamma
        self.nu = nu
        self.sigma = sigma

    def _profile(self, S: Array) -> Array:
        with np.errstate(over="ignore"):
            S *= 4.0 * self.nu
        r = np.sqrt(S, out=S)
        decay = np.exp(-r)
        if self.nu == 0.5:
            return decay
        far = decay == 0.0  # where r^2 may have overflowed
        factor = 1.0 + r if self.nu == 1.5 else 1.0 + r + np.where(far, 0.0, r) ** 2 / 3.0
        decay *= factor
        return decay

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5; got nu={shown(self.nu)}. For a smoother kernel use RBF.")
        return super()._resolve(X, weights, feature_names)


class RationalQuadratic(Stationary):
    """The rational quadratic kernel, k(x, z) = (1 + gamma ||x - z||^2 / alpha)^-alpha: RBF kernels of many widths.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse squared width, > 0, as for :class:`RBF`.
    alpha : float, default=1.0
        Concentration of the widths, > 0; the limit for large values is :class:`RBF`.
    sigma : float, optional
        The length scale instead of gamma: gamma = 1 / (2 sigma^2).

    Examples
    --------
    >>> from maxmargin.kernels import RationalQuadratic
    >>> RationalQuadratic(gamma=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """

    _limits: ClassVar = {"alpha": {"above": 0}}

    def __init__(self, gamma: str | float = "scale", alpha: float = 1.0, *, sigma: float | None = None) -> None:
        self.gamma = gamma
        self.alpha = alpha
        self.sigma = sigma

    def _profile(self, S: Array) -> Array:
        S /= float(self.alpha)
        np.log1p(S, out=S)
        S *= -float(self.alpha)
        return np.exp(S, out=S)


class Periodic(Stationary):
    """The periodic kernel, k(x, z) = exp(-4 gamma sum_j sin^2(pi (x_j - z_j) / period)), for cyclic columns.

    Points that are a period apart are equal: hours of a day, angles, seasons.

    Parameters
    ----------
    period : float, default=1.0
        The period of all columns; use :class:`Columns` for different periods.
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse squared width, > 0, as for :class:`RBF` of the points (cos t, sin t), t = 2 pi x / period.
    sigma : float, optional
        The length scale instead of gamma: gamma = 1 / (2 sigma^2).

    Examples
    --------
    >>> from maxmargin.kernels import Periodic
    >>> Periodic(period=24.0, gamma=1.0)([[23.0], [1.0], [11.0]]).round(3)
    array([[1.   , 0.765, 0.018],
           [0.765, 1.   , 0.024],
           [0.018, 0.024, 1.   ]])
    """

    def __init__(self, period: float = 1.0, gamma: str | float = "scale", *, sigma: float | None = None) -> None:
        self.period = period
        self.gamma = gamma
        self.sigma = sigma

    def matrix(self, A: Points, B: Points) -> Array:
        on_circles = circles(A, self.period)
        return super().matrix(on_circles, on_circles if B is A else circles(B, self.period))

    def _profile(self, S: Array) -> Array:
        np.negative(S, out=S)
        return np.exp(S, out=S)

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        check_number("period", self.period, above=0)
        kernel = super()._resolve(circles(X, self.period), weights, feature_names)
        kernel.shift_ = None  # circles lie around the origin
        return kernel

    def _sizes(self, X: Points) -> None:
        return None  # points on circles have no size that could overflow


def circles(X: Points, period: float) -> Array:
    """The points (cos t, sin t), t = 2 pi x / period; full periods are taken off first, where x still has all its
    digits."""
    x = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    angle = 2.0 * np.pi * (np.remainder(x, period) / period)
    return np.hstack((np.cos(angle), np.sin(angle)))


class Laplacian(Kernel):
    """The Laplacian kernel, k(x, z) = exp(-gamma ||x - z||_1).

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        The inverse width, > 0: 1 / (n_features * variance of X), 1 / n_features, or a number.

    Examples
    --------
    >>> from maxmargin.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    psd = True

    def __init__(self, gamma: str | float = "scale") -> None:
        self.gamma = gamma

    def matrix(self, A: Points, B: Points) -> Array:
        K = coordinate_sums(A, B, MANHATTAN)
        K *= -self.gamma  # type: ignore[operator]  # a number since resolve
        return np.exp(K, out=K)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(A.shape[0])

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        kernel = copy.copy(self)
        kernel.gamma = resolve_gamma(self.gamma, X, weights)
        return kernel
