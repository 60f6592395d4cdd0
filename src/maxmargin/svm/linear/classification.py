"""The linear classifier for any number of classes: ``LinearSVC``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin.problems.joint import JointProblem
from maxmargin.runtime.callbacks import CallbackSupport, with_callbacks
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing, remove_attributes
from maxmargin.runtime.validation import Array, check_labels, check_training, check_weights
from maxmargin.svm.calibration.folds import stratified_folds
from maxmargin.svm.calibration.learning import CalibrationGoal
from maxmargin.svm.calibration.probabilities import ProbabilityMixin, check_calibration
from maxmargin.svm.linear.binary_models import LinearOutcome
from maxmargin.svm.linear.coef_bounds import check_monotonic_classes, coefficient_bounds, has_bounds
from maxmargin.svm.linear.fit import FitContext, Fitted, fit_path, prepare, publish, solve_problems
from maxmargin.svm.linear.function import LinearClassifier, class_codes
from maxmargin.svm.linear.one_vs_rest import bound_of, check_separable, pose_one_vs_rest
from maxmargin.svm.linear.parameters import LINEAR, check_linear_parameters, describe_intercept, intercept_of
from maxmargin.svm.linear.rows import TrainingRows, training_rows
from maxmargin.svm.streaming.mixin import StreamingMixin


@documented(LINEAR)
@parameters
class LinearSVC(CallbackSupport, ProbabilityMixin, StreamingMixin, LinearClassifier, ClassifierMixin, Estimator):
    """Linear support vector classification, for many rows or many columns.

    Minimises 1/2 |w|^2 + C sum_i loss(y_i (w'x_i + b)), one problem for two classes, one per class for more.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        1/2 |w|^2, or |w|_1, which makes many coefficients exactly zero (squared hinge and one-vs-rest only).
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        max(0, 1 - m)^2 or max(0, 1 - m) of the margin m = y (w'x + b).
    {dual, tol}
    C : float, default=1.0
        Penalty of slack, > 0; ``inf`` requires a hard margin, and raises an error if the classes are not separable.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One-vs-rest, or the joint problem of Crammer and Singer (hinge loss, its own solver).
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float or None, default=None
        None leaves the intercept unpenalised. A number s penalises it as scikit-learn does: the term 1/2 (b/s)^2 is
        added to the objective. The joint problem always penalises the intercept, and treats None as 1.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class. In one-vs-rest the factor of a class applies only in the binary problem of that
        class, as in scikit-learn.
    {verbose, random_state, max_iter}
    solver : str or solver object, default="auto"
        ``"barrier"``, ``"newton"`` (squared hinge), ``"coordinate_descent"``, ``"smo"``, ``"qp_primal"``,
        ``"qp_dual"``, ``"subgradient"``, ``"stochastic_subgradient"``, ``"pegasos"``, or an object of
        :mod:`maxmargin.solvers` with options, such as ``Pegasos(batch_size=16)``. ``"auto"`` chooses by the shape of X;
        ``report_`` states which, and why.
    {n_jobs, max_seconds, warm_start}
    calibration : {None, "sigmoid", "isotonic", "temperature"}, default=None
        How decision values become probabilities, as in :class:`maxmargin.SVC`; None means no ``predict_proba``.
    {monotonic_cst, coef_bounds}

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        w of each binary model.
    intercept_ : array of shape (1,) or (n_classes,)
        b of each binary model.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Largest number of iterations of any binary problem.
    {n_features_in_, feature_names_in_, report_}
    history_ : History
        Objectives, gap, margin, support vectors and time at each iteration, of each binary problem.
    t_ : int
        Number of rows learnt by ``partial_fit`` or ``fit_stream``.
    stream_report_ : StreamReport
        The report of ``fit_stream``, with an error estimate from held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> model.coef_.shape, model.report_.solver
    ((3, 4), 'barrier')
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: Any = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    class_weight: Any = None
    verbose: Any = 0
    random_state: Any = None
    max_iter: int = 1000
    solver: Any = "auto"
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False
    calibration: str | None = None
    monotonic_cst: Any = None
    coef_bounds: Any = None

    def _check_parameters(self) -> None:
        check_linear_parameters(self)
        check_calibration(self.calibration)

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the model to training data.

        {X, y_labels, sample_weight -> self}
        """
        self._check_parameters()
        X, y = check_training(self, X, y, order=None)
        self.classes_, codes = check_labels(y)
        check_monotonic_classes(self.monotonic_cst, self.classes_)
        weights = check_weights(sample_weight, X.shape[0])
        self.class_weight_ = check_class_weights(self.class_weight, self.classes_, codes, weights)
        effective = weights * self.class_weight_[codes]
        if not effective.any():
            raise ValueError("All samples have zero weight once class_weight is applied: there is nothing to fit.")
        self._forget_stream()
        self._present = np.bincount(codes, weights=effective, minlength=len(self.classes_)) > 0
        joint = self.multi_class == "crammer_singer"
        weighted = len(self.classes_) == 2 or joint
        if weighted:
            weights = np.where(effective > 0, weights, 0.0)
        context = prepare(self, X, codes, weights, training_rows, Control.of(self))
        if weighted:  # after equal rows are merged: a factor before it would round the sum of their weights
            rows = context.rows
            context = replace(context, rows=replace(rows, weight=rows.weight * self.class_weight_[rows.target]))
        remove_attributes(self, "calibration_")
        fitted = self._fit_joint(context) if joint else self._fit_one_vs_rest(context)
        if math.isinf(self.C) and fitted.outcome.status in (Status.INSEPARABLE, Status.STALLED, Status.MAX_ITER):
            self._check_separable(X, codes, effective if weighted else weights, fitted.outcome)
            fitted = replace(fitted, outcome=replace(fitted.outcome, status=Status.STALLED))
        outcome, rows = fitted.outcome, context.rows
        self.coef_, self.intercept_ = outcome.coef, outcome.intercept
        values = self._values(rows.X) if outcome.decision is None else outcome.decision
        error = _training_error(values, self._present, rows.member_of, codes)
        publish(self, context, fitted, X, model=self._title(), parameters=self._parameters(), training_error=error)
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> list[Self]:
        """Fit models for several values of C, each with a warm start from the next smaller one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Targets.
        Cs : array-like
            Values of C; the models are returned in this order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None means that all are one.

        Returns
        -------
        list of LinearSVC
            One fitted model per C, with the other parameters of this estimator. The estimator itself is not modified.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> [model.C for model in LinearSVC().path(X, y, [10.0, 0.1, 1.0])]
        [10.0, 0.1, 1.0]
        """
        models = fit_path(self, Cs, (X, y, sample_weight), ["_last_fit"])
        for model in models:
            model._last_fit = None
        return models

    def _fit_one_vs_rest(self, context: FitContext) -> Fitted:
        """One problem for two classes, one per class for more."""
        rows, C = context.rows, float(self.C)
        problems, constant = pose_one_vs_rest(
            rows,
            self.class_weight_,
            C=C,
            loss=self.loss,
            penalty=self.penalty,
            intercept=intercept_of(self),
            threads=context.threads,
            bounds=coefficient_bounds(self, rows.X.shape[1]),
        )
        fitted = solve_problems(context, problems, constant, (bound_of(C, rows.weight), self.class_weight_))
        if self.calibration is not None:
            from maxmargin.svm.linear.calibrating import calibrate_one_vs_rest  # imported by fits that need it

            with context.control.catching_interrupts():
                goal, weight = self._calibration_goal(rows), self._own_weight(rows)
                self.calibration_ = calibrate_one_vs_rest(goal, rows, weight, fitted.models, context.control)
        return fitted

    def _calibration_goal(self, rows: TrainingRows) -> CalibrationGoal:
        assert self.calibration is not None
        folds = stratified_folds(rows.target, len(self.classes_))
        return CalibrationGoal(self.calibration, self.classes_, self._present, folds)

    def _own_weight(self, rows: TrainingRows) -> Array:
        """The sample weights alone: a class weight is a penalty, not a frequency."""
        if len(self.classes_) > 2 and self.multi_class != "crammer_singer":
            return rows.weight  # the class weights come in model by model
        return rows.weight / np.where(self.class_weight_ > 0, self.class_weight_, 1.0)[rows.target]

    def _fit_joint(self, context: FitContext) -> Fitted:
        """One problem for all classes that have weight."""
        from maxmargin.svm.linear.crammer_singer import solve_joint

        rows, control, threads = context.rows, context.control, context.threads
        present, (kind, scaling) = np.flatnonzero(self._present), intercept_of(self)
        bound = bound_of(float(self.C), rows.weight)
        problem = JointProblem(np.searchsorted(present, rows.target), bound, len(present))
        constant = 0.0 if kind == "none" else scaling
        with control.catching_interrupts(), single_threaded_blas():
            outcome = solve_joint(rows.X, problem, constant, tol=context.tol, control=control, threads=threads)
            if self.calibration is not None:
                from maxmargin.svm.linear.calibrating import calibrate_joint

                goal, weight = self._calibration_goal(rows), self._own_weight(rows)
                self.calibration_ = calibrate_joint(
                    goal, rows, weight, problem, outcome, constant=constant, control=control, threads=threads
                )
        n_classes = len(self.classes_)
        coef, intercept = np.zeros((n_classes, rows.X.shape[1])), np.zeros(n_classes)
        coef[present], intercept[present] = outcome.coef, outcome.intercept
        if n_classes == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
            if len(present) < 2:
                intercept[0] = 1.0 if self._present[1] else -1.0
        return Fitted(replace(outcome, coef=coef, intercept=intercept))

    def _check_separable(self, X: Any, codes: Array, weights: Array, outcome: LinearOutcome) -> None:
        """An error, with the proof, if a hard margin is impossible."""
        from maxmargin.problems.separability import InseparableError

        if self.multi_class == "crammer_singer":
            if outcome.status is Status.INSEPARABLE:
                raise InseparableError(
                    "C=inf asks for a hard margin, but the classes cannot be separated jointly. Use a finite C."
                )
            return
        names = self.classes_.tolist()
        two = len(names) == 2
        for k in [1] if two else np.flatnonzero(self._present):
            y = np.where(codes == k, 1.0, -1.0)
            labels = (names[k], names[0] if two else None)
            check_separable(X, y, np.flatnonzero(weights > 0), bool(self.fit_intercept), labels)

    def _title(self) -> str:
        name, n_classes = type(self).__name__, len(self.classes_)
        if self.multi_class == "crammer_singer":
            return f"{name}, {n_classes} classes, joint (Crammer and Singer)"
        return f"{name}, {n_classes} classes" + (f", one-vs-rest, {n_classes} binary problems" if n_classes > 2 else "")

    def _parameters(self) -> str:
        kind, scaling = intercept_of(self)
        joint = self.multi_class == "crammer_singer"
        loss = "hinge" if joint else self.loss.replace("_", " ")
        with_b = describe_intercept("penalised" if joint and kind == "free" else kind, scaling)
        l1 = ", L1 penalty" if self.penalty == "l1" else ""
        bounds = ", bounded coefficients" if has_bounds(self) else ""
        hard = " (hard margin)" if math.isinf(self.C) else ""
        return f"C = {self.C:g}{hard}, {loss} loss{l1}, {with_b}{bounds}"


def _training_error(decision: Array, present: Array, member_of: Array, codes: Array) -> Callable[[], float]:
    """The fraction of misclassified training samples, computed when it is read."""

    def error() -> float:
        used = member_of >= 0
        return float(np.mean(class_codes(decision, present)[member_of[used]] != codes[used]))

    return error
