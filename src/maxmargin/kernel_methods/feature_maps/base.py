"""What every map shares: points in, features out, in the precision of the points.

An author writes ``_features`` and ``_names``, and ``_check`` where there are parameters.
"""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_memory, check_new_points, check_training_points


@documented()
class FeatureMap(TransformerMixin, Estimator, abc.ABC):
    """A transformer from points to features."""

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters, and learn what depends on the training points.

        {X, y_ignored -> self}
        """
        X = check_training_points(self, X)
        self._check(X)
        return self

    def transform(self, X: Any) -> Any:
        """The features of points.

        {Parameters, X}

        Returns
        -------
        features : array or CSR matrix of shape (n_samples, n_output_features)
            float32 if the points are float32, float64 otherwise.
        """
        X = check_new_points(self, X)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            features = self._features(X)
        values = features.data if sp.issparse(features) else features
        if not np.isfinite(values).all():
            raise ValueError(
                f"features overflow in row {_first_infinite_row(features)} of X: they do not fit {values.dtype}. "
                "Scale the data (for example with StandardScaler) or lower the degree."
            )
        return features

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        return np.array(self._names(list(_check_feature_names_in(self, input_features))), dtype=object)

    def _check(self, X: Points) -> None:
        """Refuse parameters that are out of their range; learn what depends on the training points."""

    @abc.abstractmethod
    def _features(self, X: Points) -> Any:
        """The features of validated points."""

    @abc.abstractmethod
    def _names(self, columns: list[str]) -> list[str]:
        """The names of the features."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _first_infinite_row(features: Points) -> int:
    """The first row with a value that is not finite."""
    if not sp.issparse(features):
        return int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
    entry = np.flatnonzero(~np.isfinite(features.data))[0]
    return int(np.searchsorted(features.indptr, entry, side="right")) - 1


def empty_features(rows: int, columns: int, dtype: Any, name: str) -> Array:
    """Room for the features of so many rows, if there is any."""
    check_memory(
        float(rows) * columns * np.dtype(dtype).itemsize,
        f"{name} of {rows:,} rows, {columns:,} features each,",
        "use the kernel instead of the map, a lower degree or order, or fewer rows at a time.",
    )
    return np.empty((rows, columns), dtype)
