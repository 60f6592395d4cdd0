"""Kernel k-means: Lloyd's algorithm on the features (Schölkopf, Smola & Müller 1998; Dhillon, Guan & Kulis 2004).

Points of weight w_i are divided into clusters so that the inertia J = sum_i w_i |phi(x_i) - c_{z_i}|^2 is small, z_i
the cluster of point i. The centre of cluster c is the mean of its features, a kernel expansion:

    c_c = sum_i C_ic phi(x_i),       C_ic = w_i / sum_{j in c} w_j  for i in c, else 0
    |phi(x) - c_c|^2 = k(x, x) - 2 f_c(x) + s_c,   f_c(x) = sum_i C_ic k(x_i, x),   s_c = |c_c|^2 = sum_i C_ic f_c(x_i)

One iteration computes F = K C and moves every point to its nearest centre. Neither step raises J, and there are
finitely many divisions, so iterations come to an end, in a local minimum: several starts are tried and the best is
kept. A cluster that loses all its points gets the one that is farthest from its centre, which lowers J as well.

Starts: k-means++ (Arthur & Vassilvitskii 2007) draws each first centre among the points with probability proportional
to w_i times its squared distance from those drawn so far, and of several draws takes the best.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from maxmargin.kernel_methods.base import KERNEL_ENTRIES, KernelMethod
from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.canonical_rows import CanonicalRows, canonical_rows
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_choice, check_number, check_weights, warn
from maxmargin.svm.kernel_input import self_similarity
from maxmargin.svm.models.expansion import KernelExpansion


@documented(KERNEL_ENTRIES)
@parameters
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelMethod):
    """Kernel k-means clustering.

    Assigns each point to the nearest cluster mean in feature space. With the linear kernel it is ordinary k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    {kernel, gamma, degree, coef0}
    init : {"k-means++", "random"} or array-like of shape (n_samples,), default="k-means++"
        Initial centres: spread out by k-means++, random points, or the initial cluster of each sample as integers from
        0 to n_clusters - 1.
    n_init : int, default=10
        Number of initialisations; the result with the smallest inertia is kept.
    max_iter : int, default=300
        Maximum number of iterations per initialisation.
    tol : float, default=1e-6
        Stop when no point changes its cluster, or the inertia decreases by less than this fraction.
    random_state : int or RandomState, optional
        Seed of the initialisations.
    {n_jobs}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each training point: the one whose centre is nearest.
    inertia_ : float
        Sum of squared distances in feature space from the nearest centre, times the weights.
    n_iter_ : int
        Iterations of the best initialisation.
    history_ : ndarray of shape (n_iter_,)
        Inertia in each of its iterations; it never increases if the kernel is positive semidefinite.
    {kernel_}

    Examples
    --------
    Points by their direction, whatever their length:

    >>> from maxmargin import KernelKMeans
    >>> X = [[1.0, 0.1], [5.0, 0.2], [30.0, 1.0], [0.1, 1.0], [0.3, 4.0], [1.0, 28.0]]
    >>> model = KernelKMeans(n_clusters=2, kernel="cosine", random_state=0).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> model.predict([[100.0, 2.0]])
    array([1], dtype=int32)
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-6
    random_state: Any = None

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)
    fit_predict = all_or_nothing(ClusterMixin.fit_predict)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the clusters.

        {X_train, y_ignored, sample_weight -> self}
        """
        self._threads(0)  # refuses a bad n_jobs
        for name in ("n_clusters", "n_init", "max_iter"):
            check_number(name, getattr(self, name), least=1, integer=True)
        check_number("tol", self.tol, least=0)
        X = self._training_points(X)
        n = X.shape[0]
        if self.n_clusters > n:
            raise ValueError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: give more points, or lower n_clusters."
            )
        weights = check_weights(sample_weight, n)
        rows = canonical_rows(X, np.zeros(n), weights, merge=not (self._is_precomputed() or self._objects))
        first = self._first_labels(n, rows)
        gram, anchors = self._gram_of(X, rows.representative, rows.weight)
        count = min(int(self.n_clusters), gram.n)
        if count < self.n_clusters:
            warn(
                f"There are {gram.n} different points for n_clusters={self.n_clusters}: each is a cluster of its own.",
                ConvergenceWarning,
            )

        rng = check_random_state(self.random_state)
        diagonal = gram.diagonal()
        best: _Clustering | None = None
        for _ in range(int(self.n_init) if first is None else 1):
            start = first if first is not None else _seeded(gram, diagonal, rows.weight, count, self.init, rng)
            division = _lloyd(gram, diagonal, rows.weight, count, start, int(self.max_iter), self.tol)
            if best is None or division.inertia < best.inertia:
                best = division
        assert best is not None
        if not best.converged:
            warn(
                f"KernelKMeans stopped after max_iter={self.max_iter} iterations while points still moved; the inertia "
                f"is {best.inertia:.6g}. Raise max_iter or tol.",
                ConvergenceWarning,
            )

        self._diagonal, self._square_norms = diagonal, best.square_norms
        self._expansion = KernelExpansion(self.kernel_, anchors, best.centres, -0.5 * best.square_norms)
        self.inertia_, self.n_iter_, self.history_ = best.inertia, len(best.history), np.array(best.history)
        self.labels_ = best.labels[rows.member_of].astype(np.int32)
        absent = np.flatnonzero(weights == 0)
        if len(absent):
            self.labels_[absent] = self._expand(self._expansion, X[absent]).argmax(axis=1)
        return self

    def _first_labels(self, n: int, rows: CanonicalRows) -> Array | None:
        """The initial clusters of the merged rows, if ``init`` contains them."""
        if isinstance(self.init, str):
            check_choice("init", self.init, ["k-means++", "random"], extra=" or an array of labels")
            return None
        labels = np.asarray(self.init)
        if labels.shape != (n,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"init must be 'k-means++', 'random' or one integer for each of the {n} points; got an array of shape "
                f"{labels.shape} and type {labels.dtype}."
            )
        if labels.min() < 0 or labels.max() >= self.n_clusters:
            raise ValueError(
                f"init holds clusters from {labels.min()} to {labels.max()}; n_clusters={self.n_clusters} allows 0 to "
                f"{self.n_clusters - 1}."
            )
        return labels[rows.representative].astype(np.intp)

    def predict(self, X: Any) -> Array:
        """The cluster whose centre is nearest in feature space.

        {X_new -> labels}
        """
        return self._values(X).argmax(axis=1).astype(np.int32)

    def transform(self, X: Any) -> Array:
        """Distances from the centres, in feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_training)
            Points; with ``kernel="precomputed"`` their kernel values with the training points; distances are then
            available only if all training points have the same k(x, x).

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        X = self._new_points(X)
        half = self._expand(self._expansion, X)  # f_c(x) - s_c / 2
        squares = self_similarity(self.kernel_, X, self._diagonal)[:, None] - 2.0 * half
        return np.sqrt(np.maximum(squares, 0.0))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The negative inertia of points with respect to the fitted centres.

        {X, y_ignored, sample_weight -> score}
        """
        distances = self.transform(X)
        return -float(check_weights(sample_weight, len(distances)) @ distances.min(axis=1) ** 2)

    @property
    def _n_features_out(self) -> int:
        return len(self._square_norms)


@dataclass(frozen=True)
class _Clustering:
    """What one start ended with."""

    labels: Array
    centres: Array  # C
    square_norms: Array  # s
    inertia: float
    history: list[float]
    converged: bool


def _lloyd(
    gram: Gram, diagonal: Array, weight: Array, count: int, labels: Array, max_iter: int, tol: float
) -> _Clustering:
    """Iterations of Lloyd's algorithm from the labels given, until no point moves."""
    n, every = gram.n, np.arange(gram.n)
    history: list[float] = []
    labels = _without_empty_clusters(labels, weight * diagonal, count)
    for _ in range(max_iter):
        centres = np.zeros((n, count))
        centres[every, labels] = weight / np.bincount(labels, weights=weight, minlength=count)[labels]
        F = gram.product(every, centres)
        square_norms = np.einsum("ic,ic->c", centres, F)
        distances = square_norms - 2.0 * F  # |phi(x) - c|^2 - k(x, x), which does not matter to the nearest
        nearest = distances.argmin(axis=1)
        history.append(float(weight @ (diagonal + distances[every, labels])))
        costs = weight * np.maximum(0.0, diagonal + distances[every, nearest])
        decrease = math.inf if len(history) < 2 else history[-2] - history[-1]
        converged = np.array_equal(nearest, labels) or decrease <= tol * abs(history[-1])
        if converged:
            break
        labels = _without_empty_clusters(nearest, costs, count)
    return _Clustering(nearest, centres, square_norms, float(costs.sum()), history, converged)


def _without_empty_clusters(labels: Array, costs: Array, count: int) -> Array:
    """Labels without empty clusters: each gets the point of largest cost, out of a cluster that has others."""
    sizes = np.bincount(labels, minlength=count)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return labels
    labels = labels.copy()
    candidates = iter(np.argsort(-costs, kind="stable"))
    for cluster in empty:
        point = next(i for i in candidates if sizes[labels[i]] > 1)
        sizes[labels[point]] -= 1
        labels[point] = cluster
    return labels


def _seeded(gram: Gram, diagonal: Array, weight: Array, count: int, init: str, rng: Any) -> Array:
    """First labels: the nearest of ``count`` points that are drawn as first centres."""
    every = np.arange(gram.n)
    drawn = np.argsort(-np.log(rng.uniform(size=gram.n)) / weight)[
        :count
    ]  # without repetition, in proportion to weight
    trials = 2 + int(math.log(count)) if init == "k-means++" else 1
    closest, labels = np.full(gram.n, np.inf), np.zeros(gram.n, np.intp)
    for c in range(count):
        candidates = drawn[c : c + 1]
        chances = np.cumsum(weight * closest) if c and init == "k-means++" else np.zeros(1)
        if chances[-1] > 0:
            candidates = np.searchsorted(chances, rng.uniform(size=trials) * chances[-1], side="right")
            candidates = np.minimum(candidates, gram.n - 1)
        distances = np.maximum(0.0, diagonal[:, None] + diagonal[candidates] - 2.0 * gram.block(every, candidates))
        distances[candidates, np.arange(len(candidates))] = 0.0
        nearer = np.minimum(distances, closest[:, None])
        pick = int((weight @ nearer).argmin())
        labels[distances[:, pick] < closest] = c
        closest = nearer[:, pick]
    return labels
