"""Maps made of monomials.

PolynomialMap   Phi(x)'Phi(z) = (gamma x'z + c)^p, exactly. By the binomial theorem

                    (gamma x'z + c)^p = sum_m C(p, m) c^(p-m) (gamma x'z)^m,

                and with t_m = sqrt(gamma m) the block B_m of ``monomials`` has B_m(x)'B_m(z) = (gamma x'z)^m. So Phi is
                the blocks B_0, ..., B_p side by side, block m times sqrt(C(p, m) c^(p-m)); for c = 0 it is B_p alone.

MonomialMap     (x, x^2, ..., x^p) of every column, without products of columns.

Maps of the distance from the origin.

RadialMap   (x_1, ..., x_d, |x|^2)      a circle around the origin becomes a plane
PolarMap    (x_1, x_2) -> (r, theta)    x_1 = r cos(theta),  x_2 = r sin(theta),  -pi < theta <= pi
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernel_methods.feature_maps.base import FeatureMap, empty_features
from maxmargin.kernel_methods.feature_maps.monomials import count, names_of_monomials, weighted_monomials
from maxmargin.kernels import Linear
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.validation import Array, Points, check_flag, check_memory, check_number


@parameters
class PolynomialMap(FeatureMap):
    """Explicit features of the polynomial kernel: Phi(x)'Phi(z) = (gamma x'z + coef0)^degree.

    The features are the monomials of the full degree and, if ``coef0`` > 0, of all lower degrees, each with the
    square root of its multinomial coefficient; sorted by degree, then by columns. For two columns, degree 2 and
    gamma 1 they are (x0^2, sqrt2 x0 x1, x1^2), and with ``coef0=1`` these after (1, sqrt2 x0, sqrt2 x1).

    Parameters
    ----------
    degree : int, default=2
        The degree, >= 1.
    gamma : {"scale", "auto"} or float, default=1.0
        The factor of x'z, >= 0; the rules are those of :class:`~maxmargin.kernels.Polynomial`.
    coef0 : float, default=0.0
        The constant, >= 0: with a negative one the kernel has no map.

    Attributes
    ----------
    gamma_ : float
        The value of ``gamma`` that was used.
    n_output_features_ : int
        C(d + degree, degree) for d columns, or C(d + degree - 1, degree) if ``coef0`` is zero.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Sparse points have sparse features. If the features do not fit into memory, an error gives their number; the kernel
    only needs the d columns of the points.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernel_methods.feature_maps import PolynomialMap
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> lifted = PolynomialMap(degree=2, coef0=1.0).fit(X)
    >>> lifted.get_feature_names_out().tolist()
    ['1', '1.414 x0', '1.414 x1', 'x0^2', '1.414 x0 x1', 'x1^2']
    >>> Z = lifted.transform(X)
    >>> (Z @ Z.T).round(9)
    array([[ 36., 144.],
           [144., 676.]])
    >>> (X @ X.T + 1) ** 2
    array([[ 36., 144.],
           [144., 676.]])
    """

    degree: int = 2
    gamma: str | float = 1.0
    coef0: float = 0.0

    def _check(self, X: Points) -> None:
        check_number("degree", self.degree, least=1, integer=True)
        check_number("coef0", self.coef0, least=0, remedy="With a negative constant the kernel is no inner product.")
        self.gamma_ = resolve_gamma(self.gamma, X)
        d, p = X.shape[1], int(self.degree)
        self.n_output_features_ = math.comb(d + p, p) if self.coef0 > 0 else count(d, p)
        if not sp.issparse(X):
            check_memory(
                16.0 * self.n_output_features_,
                f"One row of a PolynomialMap of degree {p} of {d:,} columns, {self.n_output_features_:,} features,",
                "use the Polynomial kernel instead of the map, or a lower degree.",
            )
        if not np.isfinite(self._factors()).all():
            raise ValueError(f"The weights of degree={p} with coef0={self.coef0:g} overflow: lower either.")

    def _steps(self) -> list[float]:
        return [math.sqrt(self.gamma_ * m) for m in range(1, int(self.degree) + 1)]

    def _factors(self) -> list[float]:
        """sqrt(C(p, m) c^(p-m)) for m = 0, ..., p."""
        p, c = int(self.degree), np.float64(self.coef0)
        with np.errstate(over="ignore"):
            return [float(np.sqrt(np.float64(math.comb(p, m)) * c ** (p - m))) for m in range(p + 1)]

    def _features(self, X: Points) -> Any:
        return weighted_monomials(
            X,
            lambda rows: np.ones(rows.shape[0]),
            self._steps(),
            self._factors(),
            f"A PolynomialMap of degree {self.degree}",
        )

    def _names(self, columns: list[str]) -> list[str]:
        return names_of_monomials(columns, self._steps(), self._factors())


@parameters
class MonomialMap(FeatureMap):
    """The powers of every column, (x, x^2, ..., x^degree), ordered by degree.

    The basis of polynomial regression, and for one column the map (x, x^2) that separates an interval from its
    surroundings by a line.

    Parameters
    ----------
    degree : int, default=2
        The highest power, >= 1.
    include_bias : bool, default=False
        Whether the constant 1 is the first feature.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from maxmargin.kernel_methods.feature_maps import MonomialMap
    >>> MonomialMap(degree=3, include_bias=True).fit_transform([[2.0], [3.0]])
    array([[ 1.,  2.,  4.,  8.],
           [ 1.,  3.,  9., 27.]])
    """

    degree: int = 2
    include_bias: bool = False

    def _check(self, X: Points) -> None:
        check_number("degree", self.degree, least=1, integer=True)
        check_flag("include_bias", self.include_bias)

    def _features(self, X: Points) -> Any:
        (n, d), p, bias = X.shape, int(self.degree), int(self.include_bias)
        if sp.issparse(X):
            powers = [X.power(m) for m in range(1, p + 1)]
            ones = [sp.csr_matrix(np.ones((n, 1), X.dtype))] * bias
            return sp.hstack([*ones, *powers], format="csr", dtype=X.dtype)
        out: Array = empty_features(n, bias + p * d, X.dtype, f"A MonomialMap of degree {p}")
        out[:, :bias] = 1
        power = X.astype(np.float64)
        base = power.copy()
        for m in range(p):
            if m:
                power *= base
            out[:, bias + m * d : bias + (m + 1) * d] = power
        return out

    def _names(self, columns: list[str]) -> list[str]:
        first = ["1"] if self.include_bias else []
        powers = [name if m == 1 else f"{name}^{m}" for m in range(1, int(self.degree) + 1) for name in columns]
        return [*first, *powers]


class RadialMap(FeatureMap):
    """The columns and their sum of squares, (x_1, ..., x_d, \\|x\\|^2).

    Classes that a circle or a sphere separates are separated by a plane in these features.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from maxmargin.kernel_methods.feature_maps import RadialMap
    >>> RadialMap().fit_transform([[3.0, 4.0], [1.0, 0.0]])
    array([[ 3.,  4., 25.],
           [ 1.,  0.,  1.]])
    """

    def _features(self, X: Points) -> Any:
        squares = Linear().self_similarity(X)
        if sp.issparse(X):
            return sp.hstack([X, sp.csr_matrix(squares[:, None])], format="csr", dtype=X.dtype)
        n, d = X.shape
        out = empty_features(n, d + 1, X.dtype, "A RadialMap")
        out[:, :d], out[:, d] = X, squares
        return out

    def _names(self, columns: list[str]) -> list[str]:
        return [*columns, "|x|^2"]


class PolarMap(FeatureMap):
    """Polar coordinates of two columns, (x_1, x_2) -> (r, theta).

    The angle is in (-pi, pi]; at the origin it is 0.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns, two.

    Examples
    --------
    >>> from maxmargin.kernel_methods.feature_maps import PolarMap
    >>> PolarMap().fit_transform([[0.0, 2.0], [-1.0, 0.0]]).round(4)
    array([[2.    , 1.5708],
           [1.    , 3.1416]])
    """

    def _check(self, X: Points) -> None:
        if X.shape[1] != 2:
            names = getattr(self, "feature_names_in_", None)
            which = "" if names is None else f" ({', '.join(names[:6])}{', ...' if len(names) > 6 else ''})"
            raise ValueError(
                f"PolarMap takes exactly 2 columns, and X has {X.shape[1]} feature(s){which}: choose the two to map, "
                "for example with sklearn.compose.ColumnTransformer."
            )

    def _features(self, X: Points) -> Any:
        first, second = (X.toarray() if sp.issparse(X) else X).T
        first, second = first + 0.0, second + 0.0  # -0.0 is 0, so that the angle of the negative axis is pi
        return np.column_stack((np.hypot(first, second), np.arctan2(second, first)))

    def _names(self, columns: list[str]) -> list[str]:
        return ["r", "theta"]
