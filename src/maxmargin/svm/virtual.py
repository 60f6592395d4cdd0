"""Virtual support vectors: what must not change a prediction, put into the training set where it matters.

A classifier is fitted, its support vectors are transformed by every change that must not matter (a digit stays the same
digit when it is shifted by a pixel), and it is fitted again on the support vectors and their changed copies. The points
that are no support vectors do not carry the function, so their copies would cost time and add little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_training, check_weights
from maxmargin.svm.kernel.classification import SVC


def _has(name: str) -> Any:
    """Whether the classifier inside has that method."""

    def check(self: Any) -> bool:
        getattr(self._inside(), name)
        return True

    return available_if(check)


@documented()
class VirtualSVC(MetaEstimatorMixin, ClassifierMixin, Estimator):
    """Support vector classification with virtual support vectors, for known invariances.

    Parameters
    ----------
    estimator : classifier, optional
        With ``support_`` when fitted: ``SVC``, ``NuSVC``, or a pipeline that ends in one. ``SVC()`` by default.
    transforms : sequence of callables
        Functions that map points of shape (n, d), the support vectors, to n transformed points of the same classes:
        :mod:`maxmargin.invariances` has shifts, rotations, scalings, shears and thickness changes of images. With a
        pipeline, they get the points before its first step. Without transforms, the second fit uses the support vectors
        alone.

    Attributes
    ----------
    first_ : classifier
        Fitted on the training set.
    estimator_ : classifier
        Fitted to the support vectors and their transformed copies; makes the predictions.
    n_virtual_ : int
        Number of transformed copies.
    classes_ : array
        The labels.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    ``save`` refuses it, because its transforms are functions. Save ``estimator_``, which makes the same predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin import SVC, VirtualSVC
    >>> from maxmargin.invariances import shifts
    >>> X, y = load_digits(return_X_y=True)
    >>> plain = SVC(gamma=0.001).fit(X[:300], y[:300])
    >>> model = VirtualSVC(SVC(gamma=0.001), shifts((8, 8), 0.5)).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > plain.score(X[300:], y[300:])
    True
    """

    def __init__(self, estimator: Any = None, transforms: Sequence[Any] = ()) -> None:
        self.estimator = estimator
        self.transforms = transforms

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, transform the support vectors, fit again.

        {Parameters, X, y_labels}
        sample_weight : array-like of shape (n_samples,), default=None
            A copy has the weight of its support vector.

        {Returns, self}
        """
        transforms = self._checked_transforms()
        names = X if hasattr(X, "columns") else None
        points, labels = check_training(self, X, y)
        weights = None if sample_weight is None else check_weights(sample_weight, points.shape[0])
        table = points if names is None else names
        first = _fitted(self._inside(), table, labels, weights)
        last = first[-1] if isinstance(first, Pipeline) else first
        if not (hasattr(last, "support_") and hasattr(last, "classes_")):
            raise TypeError(
                f"VirtualSVC needs a classifier with support_, like SVC or NuSVC; got {type(last).__name__}."
            )
        support = _equal_rows(points, labels, weights, np.asarray(last.support_))
        vectors = points[support]
        copies = [_copies(transform, vectors) for transform in transforms]
        stacked = sp.vstack([vectors, *copies], format="csr") if sp.issparse(vectors) else np.vstack([vectors, *copies])
        times = 1 + len(copies)
        if names is not None:
            stacked = type(names)(dict(zip(names.columns, stacked.T, strict=True)))
        again = None if weights is None else np.tile(weights[support], times)
        second = first  # a constant function has no support vectors
        if len(support):
            second = _fitted(self._inside(), stacked, np.tile(labels[support], times), again)
        self.first_, self.estimator_, self.n_virtual_ = first, second, len(support) * len(copies)
        self.classes_ = second.classes_
        return self

    def predict(self, X: Any) -> Array:
        """The class of each point.

        {X -> labels}
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """Decision values of ``estimator_``.

        {X -> decision}
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, those of ``estimator_``.

        {X -> probabilities}
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def _inside(self) -> Any:
        return SVC() if self.estimator is None else self.estimator

    def _checked_transforms(self) -> list[Any]:
        given = self.transforms
        transforms = list(given) if isinstance(given, Iterable) and not callable(given) else [given]
        for transform in transforms:
            if not callable(transform):
                raise TypeError(f"transforms must be functions of points; got {transform!r}.")
        return transforms

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._inside().__sklearn_tags__().input_tags.sparse
        return tags


def _fitted(estimator: Any, X: Any, y: Array, weights: Array | None) -> Any:
    made = clone(estimator)
    if weights is None:
        return made.fit(X, y)
    if isinstance(made, Pipeline):
        return made.fit(X, y, **{f"{made.steps[-1][0]}__sample_weight": weights})
    return made.fit(X, y, sample_weight=weights)


def _equal_rows(points: Points, labels: Array, weights: Array | None, support: Array) -> Array:
    """The support vectors with all rows that equal one: those that share its coefficient need not be listed."""
    weights = np.ones(len(labels)) if weights is None else weights
    codes = np.unique(labels, return_inverse=True)[1].astype(np.float64)
    group = canonical_rows(points, codes, weights).member_of
    return np.flatnonzero(np.isin(group, group[support]))


def _copies(transform: Any, vectors: Points) -> Points:
    """The transformed support vectors, as many and as long as before."""
    made = transform(vectors)
    name = getattr(transform, "name", None) or getattr(transform, "__name__", repr(transform))
    made = made if sp.issparse(made) else np.asarray(made, np.float64)
    if made.shape != vectors.shape:
        raise ValueError(
            f"the transform {name} turned points of shape {vectors.shape} into {made.shape}; it must keep the number "
            "of points and of features."
        )
    if not np.isfinite(made.data if sp.issparse(made) else made).all():
        raise ValueError(f"the transform {name} returned values that are not finite.")
    return made
