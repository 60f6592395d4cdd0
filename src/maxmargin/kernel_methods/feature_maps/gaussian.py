"""Maps made of Gaussians.

GaussianSeriesMap   the Gaussian kernel as a power series. With u = x / sigma, v = z / sigma,

                        exp(-|u - v|^2 / 2) = exp(-|u|^2 / 2) exp(-|v|^2 / 2) sum_m (u'v)^m / m!,

                    and with s(x) = exp(-|u|^2 / 2), t_m = 1 / sigma the block B_m of ``monomials`` has
                    B_m(x)'B_m(z) = s(x) s(z) (u'v)^m / m!. The map ends at m = n, the order. What is missing is at most

                        s(x) s(z) sum_(m>n) (|u||v|)^m / m! = exp(-(|u| - |v|)^2 / 2) P(n + 1, |u||v|) <= P(n + 1, R^2),

                    where |u|, |v| <= R and P(n + 1, t) = exp(-t) sum_(m>n) t^m / m! is the regularised incomplete gamma
                    function, which grows with t. For u = v, |u| = R, so much is missing: there is no smaller bound.

GaussianBasis       exp(-|x - c|^2 / sigma^2) for each of some centres c, the distinct training points unless given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammainc

from maxmargin.kernel_methods.feature_maps.base import FeatureMap, empty_features
from maxmargin.kernel_methods.feature_maps.monomials import names_of_monomials, weighted_monomials
from maxmargin.kernels import RBF, Linear
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points, check_memory, check_new_points, check_number, check_points

MAX_ORDER = 1000  # up to it, features of points so far away that exp(-|u|^2 / 2) is 0 in float64 are 0 as well
CHUNK_ROWS = 256  # rows at a time


@documented()
@parameters
class GaussianSeriesMap(FeatureMap):
    """Truncated power series of the Gaussian kernel: Phi(x)'Phi(z) -> exp(-\\|x - z\\|^2 / (2 sigma^2)).

    For one column the features are exp(-x^2 / (2 sigma^2)) (x / sigma)^k / sqrt(k!), k = 0, ..., order. For several
    they are the products of these of total degree up to the order, which is the series of the kernel in several
    variables.

    Parameters
    ----------
    order : int, default=10
        The highest power, 0 to 1000.
    sigma : float, default=1.0
        The width of the kernel, > 0.

    Attributes
    ----------
    n_output_features_ : int
        C(d + order, order) for d columns.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernel_methods.feature_maps import GaussianSeriesMap
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> series = GaussianSeriesMap(order=10).fit(x)
    >>> Z = series.transform(x)
    >>> kernel = np.exp(-((x - x.T) ** 2) / 2)
    >>> error = np.abs(Z @ Z.T - kernel).max()
    >>> print(f"{error:.2e}, at most {series.truncation_error(x):.2e}")
    1.00e-08, at most 1.00e-08
    """

    order: int = 10
    sigma: float = 1.0

    def truncation_error(self, X: Any) -> float:
        """The largest \\|exp(-\\|x - z\\|^2 / (2 sigma^2)) - Phi(x)'Phi(z)\\| over any two of the given rows, a row
        with itself included.

        {Parameters, X}

        Returns
        -------
        error : float
            P(order + 1, R^2), R the length of the longest row divided by sigma. It is attained by that row paired with
            itself, and bounds the error for all points of smaller or equal norm.
        """
        X = check_new_points(self, X)
        with np.errstate(over="ignore"):
            longest = Linear().self_similarity(X).max() / float(self.sigma) ** 2
        return float(gammainc(int(self.order) + 1, longest)) if math.isfinite(longest) else 1.0

    def _check(self, X: Points) -> None:
        check_number("order", self.order, least=0, most=MAX_ORDER, integer=True)
        check_number("sigma", self.sigma, above=0)
        d, n = X.shape[1], int(self.order)
        self.n_output_features_ = math.comb(d + n, n)
        if not sp.issparse(X):
            check_memory(
                16.0 * self.n_output_features_,
                f"One row of a GaussianSeriesMap of order {n} of {d:,} columns, {self.n_output_features_:,} features,",
                "use the RBF kernel instead of the map, or a lower order.",
            )

    def _start(self, X: Points) -> Array:
        """exp(-|u|^2 / 2)."""
        return np.exp(-0.5 * (Linear().self_similarity(X) / float(self.sigma) ** 2))

    def _steps(self) -> list[float]:
        return [1.0 / float(self.sigma)] * int(self.order)

    def _factors(self) -> list[float]:
        return [1.0] * (int(self.order) + 1)

    def _features(self, X: Points) -> Any:
        name = f"A GaussianSeriesMap of order {self.order}"
        return weighted_monomials(X, self._start, self._steps(), self._factors(), name)

    def _names(self, columns: list[str]) -> list[str]:
        """``g`` stands for exp(-|x|^2 / (2 sigma^2))."""
        return names_of_monomials(columns, self._steps(), self._factors(), prefix="g")


@parameters
class GaussianBasis(FeatureMap):
    """Gaussian basis functions: one feature exp(-\\|x - c\\|^2 / sigma^2) per centre c.

    There is no 2 in the exponent, unlike in the Gaussian kernel: the width of the kernel is sigma / sqrt2.

    Parameters
    ----------
    sigma : float, default=1.0
        The width of a basis function, > 0.
    centers : array-like of shape (n_centers,) or (n_centers, n_features), default=None
        The centres; None puts one on each distinct training point, in the order of their first appearance (two equal
        centres would only make two equal features).

    Attributes
    ----------
    centers_ : array or CSR matrix of shape (n_centers, n_features)
        The centres of the basis functions.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from maxmargin.kernel_methods.feature_maps import GaussianBasis
    >>> bumps = GaussianBasis(sigma=2.0).fit([[0.0], [1.0], [2.0]])
    >>> bumps.transform([[0.0], [1.0]]).round(3)
    array([[1.   , 0.779, 0.368],
           [0.779, 1.   , 0.779]])
    >>> GaussianBasis(centers=[0.0, 10.0]).fit_transform([[0.0], [1.0], [2.0]]).round(3)
    array([[1.   , 0.   ],
           [0.368, 0.   ],
           [0.018, 0.   ]])
    """

    sigma: float = 1.0
    centers: Any = None

    def _check(self, X: Points) -> None:
        sigma = check_number("sigma", self.sigma, above=0)
        gamma = 1.0 / sigma / sigma
        if not math.isfinite(gamma):
            raise ValueError(f"sigma={self.sigma!r} is too small: 1 / sigma^2 overflows.")
        if self.centers is None:
            first = canonical_rows(X, np.zeros(X.shape[0]), np.ones(X.shape[0])).representative
            self.centers_ = X[np.sort(first)]
        else:
            one_dimensional = not sp.issparse(self.centers) and np.ndim(self.centers) < 2
            self.centers_ = check_points(
                np.reshape(self.centers, (-1, 1)) if one_dimensional else self.centers, "centers"
            )
            columns = self.centers_.shape[1]
            if columns != X.shape[1]:
                raise ValueError(
                    f"centers has {columns} column(s) and X has {X.shape[1]}: give points of the same features."
                )
        self._kernel = RBF(gamma=gamma).resolve(self.centers_)

    def _features(self, X: Points) -> Any:
        out = empty_features(X.shape[0], self.centers_.shape[0], X.dtype, "A GaussianBasis")
        with single_threaded_blas():
            for first in range(0, X.shape[0], CHUNK_ROWS):
                out[first : first + CHUNK_ROWS] = self._kernel.matrix(X[first : first + CHUNK_ROWS], self.centers_)
        return out

    def _names(self, columns: list[str]) -> list[str]:
        return [f"gaussian{i}" for i in range(self.centers_.shape[0])]
