"""What ``SVC`` and ``NuSVC`` share: the fit of a classifier, and its predictions.

A classifier defines the formulation of its binary problems."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from maxmargin.kernels import Kernel
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.class_weights import check_class_weights, check_weighted_classes
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing, remove_attributes
from maxmargin.runtime.validation import Array, check_choice, check_flag, check_labels, check_weights
from maxmargin.svm.calibration.probabilities import ProbabilityMixin, check_calibration
from maxmargin.svm.compatibility import PlattAttributes, calibration_of, check_probability, check_unaltered
from maxmargin.svm.kernel import forecast
from maxmargin.svm.kernel.classes import Labels, TrainingCodes, solve_classes
from maxmargin.svm.kernel.context import FitContext, InputRows, prepare
from maxmargin.svm.kernel.estimator import KernelSVM
from maxmargin.svm.kernel.formulations import Formulation
from maxmargin.svm.kernel.publishing import publish
from maxmargin.svm.kernel.updating import UpdateMixin
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.multiclass import certain, predict_codes, votes_with_confidence
from maxmargin.svm.report import report_fit

SCHEMES = {"ovo": "one-vs-one", "ovr": "one-vs-rest", "crammer_singer": "joint (Crammer and Singer)"}
STOPPED_MAX_PRODUCTS = 1e8  # multiplications that a fit may still do after a request to stop: about 0.1 s
COPY_PRODUCTS = 20  # multiplications that take the time of copying a number to new memory
DECISION_ERROR = 1e-9  # relative error of decision values within which ``predict`` itself decides


@documented()
@parameters
class KernelClassifier(PlattAttributes, ProbabilityMixin, ClassifierMixin, UpdateMixin, KernelSVM, abc.ABC):
    """What ``SVC`` and ``NuSVC`` share; they differ in their formulation."""

    _: KW_ONLY
    probability: Any = "deprecated"
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    multiclass: str = "ovo"
    fit_intercept: bool = True
    calibration: str | None = None

    @abc.abstractmethod
    def _formulation(self) -> Formulation:
        """How a binary problem is posed; its parameters are checked."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.calibration is not None:
            check_calibration(self.calibration)
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("break_ties", self.break_ties)
        check_choice("decision_function_shape", self.decision_function_shape, ["ovo", "ovr"])
        check_choice("multiclass", self.multiclass, SCHEMES)
        if self.multiclass == "crammer_singer" and self.solver != "auto":
            raise ValueError(
                f"solver={self.solver!r} solves binary problems; multiclass='crammer_singer' is one joint problem and "
                "has its own solver: use solver='auto'."
            )

    def _checked_calibration(self) -> str | None:
        """The method of calibration, from ``calibration`` or ``probability``."""
        if not (isinstance(self.probability, str) and self.probability == "deprecated"):
            check_probability(self)
            return calibration_of(self)
        return self.calibration

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model to training data.

        {X_train, y_labels, sample_weight -> self}
        """
        self._check_parameters()
        formulation = self._formulation()
        self._checked_calibration()
        kernel, X, y = self._kernel_and_points(X, y, supervised=True)
        rows = InputRows(X, y, check_weights(sample_weight, X.shape[0]))
        if sample_weight is not None:
            check_weighted_classes(*check_labels(y), rows.weight, sample_weight)
        return self._fit_rows(rows, formulation, kernel, self._last_fit if self.warm_start else None)

    def _updated(self, rows: InputRows, start: WarmStart | None) -> Any:
        return self._fit_rows(rows, self._formulation(), self._kernel(), start)

    def _fit_rows(self, rows: InputRows, formulation: Formulation, kernel: Kernel, start: WarmStart | None) -> Any:
        """The fit over validated points, labels and weights."""
        X, y, weights, method = rows.X, rows.target, rows.weight, self._checked_calibration()
        classes, codes = check_labels(y)
        class_weight = check_class_weights(self.class_weight, classes, codes, weights)
        if X.shape[0] >= forecast.FORECAST_MIN_ROWS:
            forecast.announce_long_fit(self, X, y, weights, "accuracy")
        n_classes, given = len(classes), InputRows(X, codes, weights)
        scheme = self.multiclass if n_classes > 2 or self.multiclass == "crammer_singer" else "ovo"
        context = prepare(
            self,
            given,
            kernel,
            classes=classes,
            pairs=scheme == "ovo" and n_classes > 2,
            zero_sums=self.fit_intercept and scheme != "crammer_singer",
        )
        labels = Labels.of(context, scheme, class_weight)
        with context.control.catching_interrupts():
            if scheme == "crammer_singer":
                from maxmargin.svm.kernel.solving.joint import solve_joint  # only these fits wait for its modules

                found = solve_joint(context, labels, formulation, start)
            else:
                found = solve_classes(context, labels, formulation, start, self.solver == "auto")
            publish(self, context, found.table, found.intercept, codes)
            self.classes_, self.class_weight_, self.n_iter_ = classes, class_weight, found.n_iter
            self._scheme, self._present = scheme, labels.present
            self._last_fit = found.warm_start(context) if self.warm_start else None
            self._training_rows = rows if self.warm_start else None
            outcome = found.outcome
            if method is None:
                remove_attributes(self, "calibration_")
            else:
                from maxmargin.svm.kernel.calibrating import calibrate

                self.calibration_, evaluations = calibrate(method, context, found)
                outcome = outcome.with_evaluations(evaluations)
            several = f", {SCHEMES[scheme]}, {len(found.intercept)} binary problems" if n_classes > 2 else ""
            self.fit_status_ = int(not outcome.status.converged)
            report_fit(
                self,
                context,
                outcome,
                context.X,
                model=f"{type(self).__name__}, {n_classes} classes{several}",
                parameters=lambda: formulation.describe(0.0),
                training_error=_misclassified(context, labels, found.training_codes, self._expansion),
            )
        return self

    # ------------------------------------------------------------ predictions

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points.

        {Parameters, X}

        Returns
        -------
        decision : array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: one value, positive for ``classes_[1]``. More: one value per class, or with one-vs-one and
            ``decision_function_shape="ovo"`` one value per pair.
        """
        decision = self._decision(self._new_points(X))
        if decision.shape[1] == 1:
            return decision.ravel()
        if self._scheme == "crammer_singer" and len(self.classes_) == 2:
            return decision[:, 1] - decision[:, 0]
        if self._scheme == "ovo" and self.decision_function_shape == "ovr":
            return votes_with_confidence(decision, self._present)
        if self._scheme != "ovo":
            if self.decision_function_shape == "ovo":
                raise ValueError(
                    f"decision_function_shape='ovo' needs one value per pair, which multiclass={self.multiclass!r} "
                    "does not have: use decision_function_shape='ovr'."
                )
            return np.where(self._present, decision, -np.inf)
        return decision

    def predict(self, X: Any) -> Array:
        """Labels of new points.

        {X -> labels}
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        X = self._new_points(X)
        check_unaltered(self)
        rough = self._expansion.rough_decision(X, self.n_jobs)
        if rough is None:
            return self.classes_[self._label(self._decision(X))]
        decision, bound = rough
        codes = self._label(decision)
        doubtful = np.flatnonzero(~certain(decision, bound, codes, self._scheme))
        if len(doubtful):
            codes[doubtful] = self._label(self._decision(X[doubtful]))
        return self.classes_[codes]

    def _label(self, decision: Array) -> Array:
        """Class codes, with ties broken according to ``break_ties``."""
        if self._scheme == "ovo" and self.break_ties and len(self.classes_) > 2:
            return votes_with_confidence(decision, self._present).argmax(axis=1)
        return predict_codes(decision, self._scheme, self._present)

    def _decision_and_codes(self, X: Any) -> tuple[Array, Array]:
        decision = self._decision(self._new_points(X))
        codes = self._label(decision)
        # predict may sum in another order: where that could matter, its label counts.
        bound = DECISION_ERROR * (self._expansion.absolute_sums + np.abs(self._expansion.intercept))
        if not certain(decision, bound, codes, self._scheme).all():
            codes = np.searchsorted(self.classes_, self.predict(X))
        return decision, codes


def _misclassified(
    context: FitContext, labels: Labels, codes: TrainingCodes, function: KernelExpansion
) -> Callable[[], float]:
    """The share of input rows that the model misclassifies, computed when it is read. NaN if that would take long and
    the fit was asked to stop."""
    given, member_of, doubtful = context.given.target, context.rows.member_of, codes.doubtful
    if len(doubtful) and context.control.stop() is not None:
        columns = context.X.shape[-1] if context.X.ndim > 1 else 1
        products = len(doubtful) * columns * max(function.anchors.shape[0], COPY_PRODUCTS)
        if products > STOPPED_MAX_PRODUCTS:
            return lambda: math.nan
    points = context.points(doubtful) if len(doubtful) else None
    threads, scheme, present = context.threads, labels.scheme, labels.present

    def share() -> float:
        predicted, counted = codes.known, member_of >= 0
        if points is not None:
            predicted = predicted.copy()
            predicted[doubtful] = predict_codes(function.decision(points, threads), scheme, present)
        return float(np.mean(predicted[member_of[counted]] != given[counted]))

    return share
