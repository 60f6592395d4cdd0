"""Support vector classification on landmarks, for millions of rows: ``NystroemSVC``."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin.large_scale.estimator import LandmarkEstimator
from maxmargin.large_scale.parameter_docs import LANDMARK_ENTRIES
from maxmargin.large_scale.rows.targets import Classification, Targets
from maxmargin.large_scale.training import Problem
from maxmargin.problems.losses import Loss, make_loss
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_labels, check_number
from maxmargin.svm.streaming.batches import labels, places

HINGE_LOSSES = ("hinge", "squared_hinge")


@documented(LANDMARK_ENTRIES)
@parameters
class NystroemSVC(ClassifierMixin, LandmarkEstimator):
    """Support vector classification with a kernel, for up to millions of rows.

    Minimises 1/2 |f|^2 + C sum_i loss(y_i (f(x_i) + b)) over the functions f(x) = sum_j B_j k(x, z_j) of m landmarks
    z_j, one for two classes, one per class for more. Time and memory grow with n m. With all rows as landmarks it
    is the exact problem.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0: the smaller, the stronger the regularisation.
    {kernel, gamma, degree, coef0, n_components, landmarks}
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        max(0, 1 - m)^2 or max(0, 1 - m) of the margin m = y (f(x) + b). The former is faster.
    {fit_intercept}
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class; in one-vs-rest it applies only in the binary problem of that class.
    {tol, cache_size, max_iter, max_seconds, random_state, n_jobs, verbose}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coefficients_ : array of shape (n_components_, 1) or (n_components_, n_classes)
        B.
    intercept_ : array of shape (1,) or (n_classes,)
        b of each binary model.
    {landmarks_, landmark_indices_, n_components_, n_iter_, kernel_, report_, history_}
    {n_features_in_, feature_names_in_}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin.large_scale import NystroemSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystroemSVC(C=10.0, gamma=0.001, n_components=300, random_state=0).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.95, model.coefficients_.shape
    (True, (300, 10))
    >>> model.report_.relative_gap < 1e-3
    True
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    class_weight: Any = None

    def _check_parameters(self) -> None:
        check_number("C", self.C, above=0, remedy="For a hard margin use SVC(C=inf).")
        check_choice("loss", self.loss, HINGE_LOSSES)
        self._check_options()

    def _loss(self) -> Loss:
        return make_loss(self.loss)

    def _pose(self, totals: Array, labels: Array) -> Problem:
        """The problem of rows whose classes have these weights in all; y will hold codes, or the labels themselves.
        Sets ``class_weight_``."""
        codes = np.arange(len(self.classes_))
        self.class_weight_ = check_class_weights(self.class_weight, self.classes_, codes, totals)
        self._present = totals * self.class_weight_ > 0
        present = np.flatnonzero(self._present)
        if len(present) == 0:
            raise ValueError("All samples have zero weight once class_weight is applied: there is nothing to fit.")
        task = Classification(labels, present, self.class_weight_[present], float(self.C))
        # A single class is decided in advance: f = 1 has no loss.
        first_b = np.full(1 if len(present) <= 2 else len(present), 1.0 if len(present) == 1 else 0.0)
        return Problem(task, self._loss(), 1.0, first_b)

    @all_or_nothing
    def fit_stream(self, source: Any, *, target: Any = None, classes: Any = None) -> Self:
        """Fit the model to rows in batches, from a file or an iterable.

        The solver reads the rows several times. They are kept in memory if they fit into ``cache_size``, otherwise in a
        temporary file, which is removed at the end.

        {Parameters, source, target}
        classes : array-like, optional
            All possible labels. Other labels are refused; labels that do not occur are still included in ``classes_``.

        {Returns, self}

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin.large_scale import NystroemSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NystroemSVC().fit_stream((X[i::3], y[i::3]) for i in range(3))
        >>> model.score(X, y) > 0.95
        True
        """
        return self._fit_stream(source, target, classes)

    def _training_values(self, X: Any, y: Any) -> tuple[Points, Array]:
        X, y = self._training_points(X, y, supervised=True)
        return X, y

    def _joined(self, parts: list[Array]) -> Array:
        return np.concatenate([labels(part) for part in parts])

    def _fit_targets(
        self, X: Points, y: Array, weights: Array, control: Control, source: str = "", classes: Any = None
    ) -> None:
        if classes is None:
            self.classes_, codes = check_labels(y)
        else:
            self.classes_ = check_labels(labels(np.asarray(classes)))[0]
            codes, known = places(self.classes_, y)
            if not known.all():
                raise ValueError(
                    f"y has labels that are not among the classes, {self.classes_.tolist()}: "
                    f"{np.unique(y[~known]).tolist()}."
                )
        totals = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        problem = self._pose(totals, np.arange(len(totals)))
        weights = np.where(weights * self.class_weight_[codes] > 0, weights, 0.0)
        self._fit_rows(X, codes, weights, problem, control, source)

    def _set_function(self, coefficients: Array, intercept: Array) -> None:
        """The outputs belong to the classes that have weight: they are put in the places of all."""
        B, b, present = coefficients, intercept, np.flatnonzero(self._present)
        if len(self.classes_) == 2:
            if len(present) == 1:  # decided in advance
                B, b = np.zeros_like(B), np.full(1, 1.0 if self._present[1] else -1.0)
        else:
            if len(present) == 2:
                B, b = np.column_stack((-B, B)), np.concatenate((-b, b))
            every = np.zeros((len(B) + 1, len(self.classes_)))
            every[:, present] = np.vstack((B, b))
            B, b = np.ascontiguousarray(every[:-1]), every[-1]
        self.coefficients_, self.intercept_ = B, b

    def _summary(self) -> tuple[str, str]:
        n_classes = len(self.classes_)
        several = f", one-vs-rest, {n_classes} binary problems" if n_classes > 2 else ""
        return (
            f"{type(self).__name__}, approximate, {n_classes} classes{several}",
            f"C = {self.C:g}, {self.loss.replace('_', ' ')} loss",
        )

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points.

        {X_new -> decision}
        """
        X = self._new_points(X)
        decision = self._expand(self._expansion, X)
        return decision[:, 0] if decision.shape[1] == 1 else np.where(self._present, decision, -np.inf)

    def predict(self, X: Any) -> Array:
        """Labels of new points.

        {X_new -> labels}
        """
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def _exact_targets(self, y: Any, values: Array, weights: Array) -> tuple[Array, Targets]:
        present = np.flatnonzero(self._present)
        # Two classes share a binary problem, that of the second.
        own = np.array([0]) if values.shape[1] == 1 else present[1:] if len(present) == 2 else present
        if len(present) == 1:  # decided in advance, without loss
            weights = np.zeros(len(weights))
        task = Classification(self.classes_, present, self.class_weight_[present], float(self.C))
        at, targets = task.targets(np.asarray(y), weights)
        return values[at][:, own], targets
