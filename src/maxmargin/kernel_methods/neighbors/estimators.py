"""Nearest neighbours in feature space: a label or a value by the vote or the mean of the nearest training points.

The distance is that of the features, d(x, z)^2 = k(x, x) - 2 k(x, z) + k(z, z); see ``search.py``. With weights w_j of
the n_neighbors nearest training points,

    share of class c   sum_{j: y_j = c} w_j / sum_j w_j          value   sum_j w_j y_j / sum_j w_j
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernel_methods.base import KERNEL_ENTRIES, KernelParameters
from maxmargin.kernel_methods.neighbors.search import FeatureSpace
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_labels, check_number, check_outputs

NEIGHBORS_ENTRIES = KERNEL_ENTRIES | entries(
    """
n_neighbors : int, default=5
    Number of neighbours.
weights : {"uniform", "distance"} or callable, default="uniform"
    Uniform weights; weights of 1 / distance (a neighbour at distance zero decides alone); or a function of the array of
    distances that returns weights.
n_samples_fit_ : int
    Number of training points.
"""
)


@parameters
class _KernelNeighbors(KernelParameters):
    """What classifier and regressor share: parameters, training points and the search."""

    n_neighbors: int = 5
    _: KW_ONLY
    weights: Any = "uniform"

    def _check_parameters(self) -> None:
        self._threads(0)  # refuses a bad n_jobs
        check_number("n_neighbors", self.n_neighbors, least=1, integer=True)
        if not callable(self.weights):
            check_choice("weights", self.weights, ["uniform", "distance"], extra=" or a function of the distances")

    def _fit_points(self, X: Points) -> None:
        self.X_fit_ = X = X.copy()  # the user may change X
        self.n_samples_fit_ = X.shape[0]
        self.kernel_ = self._resolved(X)
        self._space = FeatureSpace(self.kernel_, X)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Array, Array] | Array:
        """The nearest training points, nearest first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            Points; with ``kernel="precomputed"`` their kernel values with the training points. When not given, the
            neighbours of each training point among the others.
        n_neighbors : int, optional
            How many; the estimator's own number when not given.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            In feature space; only with ``return_distance``.
        indices : ndarray of shape (n_samples, n_neighbors)
            Positions in the training set.
        """
        check_is_fitted(self)
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        check_number("n_neighbors", count, least=1, integer=True)
        others = self.n_samples_fit_ - (X is None)
        if count > others:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit = "
                f"{self.n_samples_fit_}{', and a point is no neighbour of its own' if X is None else ''}: lower "
                "n_neighbors, or give more training points."
            )
        points = self.X_fit_ if X is None else self._new_points(X)
        squares, indices = self._space.nearest(
            points, int(count), training=X is None, threads=self._threads(points.shape[0])
        )
        if not return_distance:
            return indices
        return self._space.distances(points, squares, training=X is None), indices

    def _neighbors(self, X: Any) -> tuple[Array, Array]:
        """Weights and indices of the neighbours of new points."""
        if self.weights == "uniform":
            indices = np.asarray(self.kneighbors(X, return_distance=False))
            return np.ones(indices.shape), indices
        distances, indices = self.kneighbors(X)
        if self.weights == "distance":
            at_zero = distances == 0
            with np.errstate(divide="ignore"):
                return np.where(at_zero.any(axis=1)[:, None], at_zero, 1.0 / distances), indices
        weights = np.asarray(self.weights(distances), dtype=np.float64)
        if weights.shape != distances.shape:
            raise ValueError(
                f"weights was called with distances of shape {distances.shape} and returned shape {weights.shape}: "
                "it must return one weight for each distance."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any(axis=1).all()):
            raise ValueError("weights must return finite numbers >= 0, and not only zeros for a point.")
        return weights, indices


@documented(NEIGHBORS_ENTRIES)
class KernelKNeighborsClassifier(ClassifierMixin, _KernelNeighbors):
    """k-nearest-neighbours classification by distance in feature space.

    With the Gaussian kernel the neighbours are those of the Euclidean distance.

    Parameters
    ----------
    {n_neighbors, weights, kernel, gamma, degree, coef0, n_jobs}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    {kernel_, X_fit_, n_samples_fit_}

    Notes
    -----
    With ``kernel="precomputed"``, rows of new points contain k(x, x_i) but not k(x, x), which is needed for distances,
    though not for their order. If all training points have the same k(x, x), as with a normalised kernel, that value is
    used; otherwise ``weights="distance"`` and the distances of ``kneighbors`` are refused.

    Examples
    --------
    Words, compared by their shared pairs of letters:

    >>> import numpy as np
    >>> from maxmargin import KernelKNeighborsClassifier
    >>> def shared_pairs(s, t):
    ...     return len(set(zip(s, s[1:])) & set(zip(t, t[1:])))
    >>> words = ["running", "jumping", "singing", "jumped", "walked", "talked"]
    >>> model = KernelKNeighborsClassifier(n_neighbors=3, kernel=shared_pairs)
    >>> model.fit(words, ["now", "now", "now", "past", "past", "past"]).predict(["bringing", "balked"])
    array(['now', 'past'], dtype='<U4')
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Any:
        """Keep the training points and their labels.

        {X_train, y_labels -> self}
        """
        self._check_parameters()
        X, y = self._training_points(X, y, supervised=True)
        self.classes_, self._codes = check_labels(y)
        self._fit_points(X)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Fraction of votes for each class.

        {X_new -> probabilities}
        """
        weights, indices = self._neighbors(X)
        n, n_classes = len(indices), len(self.classes_)
        cell = self._codes[indices] + n_classes * np.arange(n)[:, None]
        votes = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=n * n_classes).reshape(n, n_classes)
        return votes / votes.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        """Predict the label with the most votes; ties go to the first in ``classes_``.

        {X_new -> labels}
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


@documented(NEIGHBORS_ENTRIES)
class KernelKNeighborsRegressor(MultiOutputMixin, RegressorMixin, _KernelNeighbors):
    """k-nearest-neighbours regression by distance in feature space.

    Parameters
    ----------
    {n_neighbors, weights, kernel, gamma, degree, coef0, n_jobs}

    Attributes
    ----------
    {kernel_, X_fit_, n_samples_fit_}

    Examples
    --------
    >>> from maxmargin import KernelKNeighborsRegressor
    >>> model = KernelKNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]], [0.0, 1.0, 4.0, 81.0])
    >>> model.predict([[0.4], [1.6]])
    array([0.5, 2.5])
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Any:
        """Keep the training points and their targets.

        {X_train, y_outputs -> self}
        """
        self._check_parameters()
        X = self._training_points(X)
        Y, single = check_outputs(y, X.shape[0])
        self._targets = (Y[:, 0] if single else Y).copy()  # the user may change y
        self._fit_points(X)
        return self

    def predict(self, X: Any) -> Array:
        """The weighted mean of the neighbours' targets.

        {X_new -> outputs}
        """
        weights, indices = self._neighbors(X)
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("ij,ij...->i...", weights, self._targets[indices])
