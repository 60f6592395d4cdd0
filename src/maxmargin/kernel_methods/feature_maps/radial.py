"""Maps of the distance from the origin.

RadialMap   (x_1, ..., x_d, |x|^2)      a circle around the origin becomes a plane
PolarMap    (x_1, x_2) -> (r, theta)    x_1 = r cos(theta),  x_2 = r sin(theta),  -pi < theta <= pi
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernel_methods.feature_maps.base import FeatureMap, empty_features
from maxmargin.kernels import Linear
from maxmargin.runtime.validation import Points


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
