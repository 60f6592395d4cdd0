"""Regression on basis functions: f(x) = w'Phi(x) + b, with the weights that minimise

    sum_i v_i (y_i - f(x_i))^2 + alpha |w|^2,       without weights and intercept:  w = (Phi'Phi + alpha I)^-1 Phi'y.

Phi is any transformer. The intercept b costs nothing: it makes the weighted mean of the residuals zero, so that w is
found from Phi and y less their weighted means. f depends on y linearly, f(x) = b(x)'y.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.preprocessing import FunctionTransformer

from maxmargin.kernel_methods.feature_maps import GaussianBasis, MonomialMap
from maxmargin.kernel_methods.ridge.least_squares import ridge_weights
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_flag,
    check_memory,
    check_new_points,
    check_number,
    check_outputs,
    check_points,
    check_training_points,
    check_weights,
    shown,
    warn,
)

CHUNK_FEATURES = 1 << 22  # features at a time when predicting
NAMES = ("gaussian", "polynomial")


class TrainingFeatures(NamedTuple):
    """Phi of the training rows."""

    scaled: Array  # Phi less its mean, times the roots of the weights
    mean: Array  # of Phi
    root: Array  # of the weights
    share: Array  # of each row in a mean; all zero without an intercept


@documented()
@parameters
class BasisRegression(MultiOutputMixin, RegressorMixin, Estimator):
    """Regression on basis functions, f(x) = w'Phi(x), by least squares or ridge regression.

    Parameters
    ----------
    basis : transformer, callable, {"polynomial", "gaussian"} or None, default=None
        The map Phi: a transformer, which is cloned and fitted, or a function of the array of points. ``"polynomial"``
        is ``MonomialMap(3, include_bias=True)``, ``"gaussian"`` is ``GaussianBasis()``, with one function per training
        point; both are in :mod:`maxmargin.kernel_methods.feature_maps`. None uses the columns unchanged.
    alpha : float, default=0.0
        Penalty on the squared weights, >= 0; 0 is least squares.
    fit_intercept : bool, default=False
        Whether to add an unpenalised intercept. By default a constant, if needed, is part of Phi and is penalised like
        the other weights, as in w = (Phi'Phi + alpha I)^-1 Phi'y.

    Attributes
    ----------
    basis_ : transformer
        The fitted map.
    coef_ : array of shape (n_basis,) or (n_targets, n_basis)
        The weights w, in the order of ``basis_.get_feature_names_out()``, if the transformer has this method.
    intercept_ : float or array of shape (n_targets,)
        The constant; 0 without ``fit_intercept``.
    rank_ : int
        The rank of the system that was solved: the number of basis functions, unless they are linearly dependent.
    X_fit_ : array or CSR matrix of shape (n_samples, n_features)
        The training points, for ``blend_weights``.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernel_methods.feature_maps import MonomialMap
    >>> from maxmargin import BasisRegression
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([1.0, 2.0, 5.0, 10.0])  # 1 + x^2
    >>> model = BasisRegression(MonomialMap(2, include_bias=True)).fit(x, y)
    >>> model.coef_.round(6) + 0.0
    array([1., 0., 1.])
    >>> B = model.blend_weights([[4.0]])  # how the prediction is blended of the four targets
    >>> B.round(6), (B @ y).round(6)
    (array([[ 0.75, -1.25, -0.75,  2.25]]), array([17.]))
    """

    basis: Any = None
    alpha: float = 0.0
    fit_intercept: bool = False

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the map, then the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target values.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights; a weight of two equals repeating the sample, unless the map itself depends on the number of points.

        {Returns, self}
        """
        alpha = check_number("alpha", self.alpha, least=0)
        check_flag("fit_intercept", self.fit_intercept)
        X = check_training_points(self, X)
        Y, self._single = check_outputs(y, X.shape[0])
        self._weights = check_weights(sample_weight, X.shape[0])
        used = np.flatnonzero(self._weights)
        self.X_fit_ = X.copy()
        self.basis_ = _transformer(self.basis).fit(X[used], Y[used, 0] if self._single else Y[used])
        features = self._training_features()
        center = features.share @ Y[used]
        W, self.rank_ = ridge_weights(features.scaled, features.root[:, None] * (Y[used] - center), alpha)
        intercept = center - features.mean @ W
        self.coef_ = W[:, 0] if self._single else W.T.copy()
        self.intercept_: Any = float(intercept[0]) if self._single else intercept
        if self.rank_ < len(W):
            warn(
                f"{len(W)} basis functions on {len(used)} samples have only rank {self.rank_} with "
                f"alpha={self.alpha:g}: the weights of smallest norm were chosen among all that fit equally well. Use "
                "a larger alpha, or fewer basis functions (a lower degree, fewer centres).",
                scipy.linalg.LinAlgWarning,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Values at new points.

        {X -> outputs}
        """
        X = check_new_points(self, X)
        W = np.atleast_2d(self.coef_).T
        values = np.empty((X.shape[0], W.shape[1]))
        rows_each = max(1, CHUNK_FEATURES // max(1, len(W)))
        with single_threaded_blas():
            for start in range(0, X.shape[0], rows_each):
                values[start : start + rows_each] = self._features(X[start : start + rows_each]) @ W
        values += self.intercept_
        return values.ravel() if self._single else values

    def blend_weights(self, X: Any) -> Array:
        """Weights of the training targets in each prediction: the matrix B with ``predict(X) = B @ y``.

        This solves the linear system again, once per training row.

        {Parameters, X}

        Returns
        -------
        B : array of shape (n_samples, n_samples_fit)
        """
        X = check_new_points(self, X)
        n = self.X_fit_.shape[0]
        check_memory(8.0 * X.shape[0] * n, f"Blending weights of {X.shape[0]:,} rows", "use fewer rows at a time.")
        features = self._training_features()
        operator = ridge_weights(features.scaled, np.diag(features.root), float(self.alpha))[
            0
        ]  # w = operator (y - center)
        B = np.zeros((X.shape[0], n))
        used = np.flatnonzero(self._weights)
        with single_threaded_blas():
            blend = (self._features(X) - features.mean) @ operator
        B[:, used] = blend - np.outer(blend.sum(axis=1), features.share) + features.share
        return B

    def _features(self, X: Points) -> Array:
        """Phi of validated points, dense, in float64."""
        Phi = self.basis_.transform(X)
        if sp.issparse(Phi):
            check_memory(8.0 * Phi.shape[0] * Phi.shape[1], "The features as a dense array", "use fewer of them.")
            Phi = Phi.toarray()
        return check_points(Phi, "basis.transform(X)").astype(np.float64, copy=False)

    def _training_features(self) -> TrainingFeatures:
        """Those of the rows that have weight."""
        used = np.flatnonzero(self._weights)
        weights = self._weights[used]
        Phi, root = self._features(self.X_fit_[used]), np.sqrt(weights)
        share = weights / weights.sum() if self.fit_intercept else np.zeros(len(used))
        mean = share @ Phi
        centred = Phi - mean
        if self.fit_intercept:  # a constant among the basis functions is now rounding, which must not be fitted with
            noise = len(used) * np.finfo(np.float64).eps * np.abs(Phi).max(axis=0)
            centred[:, np.abs(centred).max(axis=0) <= noise] = 0.0
        return TrainingFeatures(centred * root[:, None], mean, root, share)


def _transformer(basis: Any) -> Any:
    """A new, unfitted transformer from what ``basis`` may be."""
    if basis is None:
        return FunctionTransformer(feature_names_out="one-to-one")
    if isinstance(basis, str):
        check_choice("basis", basis, NAMES, extra=", a transformer, a function or None")
        return GaussianBasis() if basis == "gaussian" else MonomialMap(3, include_bias=True)
    if hasattr(basis, "fit") and hasattr(basis, "transform") and not isinstance(basis, type):
        return clone(basis)
    if callable(basis) and not isinstance(basis, type):
        return FunctionTransformer(basis)
    raise TypeError(
        f"basis must be a transformer (with fit and transform), a function, {' or '.join(map(repr, NAMES))}, or None; "
        f"got {shown(basis)}."
    )
