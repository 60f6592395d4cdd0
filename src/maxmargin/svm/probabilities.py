"""Probabilities of classes, for the classifiers of this folder: ``calibration=`` and ``predict_proba``.

fit            out-of-fold decision values -> a map of each machine's value to a probability (``calibration_``)
predict_proba  decision values -> maps -> coupled or normalised -> the nearest that agree with ``predict``
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from maxmargin._parallel import run_tiles
from maxmargin._validation import Array, callers_level, check_choice, check_new_points
from maxmargin.calibration.agreement import agreeing
from maxmargin.calibration.calibrated import METHODS, Calibration, fit_binary, fit_classes, log_loss
from maxmargin.calibration.out_of_fold import (
    Folds,
    joint_values,
    kernel_values,
    silent,
    stratified_folds,
)
from maxmargin.gram import Gram, StoredGram
from maxmargin.multiclass import certain
from maxmargin.problems import JointProblem
from maxmargin.shared_blocks import HeldGram
from maxmargin.svm.coefficients import Machine
from maxmargin.svm.training import TrainingSet

NEAR_TIE = 1e-9  # relative error of decision values within which ``predict`` itself is asked


def _has_calibration(estimator: Any) -> bool:
    if estimator.calibration is None:
        raise AttributeError(
            f"{type(estimator).__name__} has predict_proba if it is calibrated when fitted: give it "
            "calibration='sigmoid', 'isotonic' or 'temperature'. decision_function needs no calibration."
        )
    return True


class ProbabilityMixin:
    """``predict_proba`` and ``predict_log_proba``; a classifier has the parameter ``calibration``, and its ``fit``
    calls one of the hooks below."""

    calibration: str | None
    classes_: Array
    _present: Array
    _scheme: str
    _evaluations: int

    def _check_calibration(self) -> None:
        if self.calibration is not None:
            check_choice("calibration", self.calibration, METHODS, " or None")

    # ------------------------------------------------------------ probabilities

    @available_if(_has_calibration)
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes for new points; the largest is that of the class ``predict`` gives.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to one. Where the calibrated probabilities would prefer another class
            than ``predict``, the nearest ones that do not are given.

        Notes
        -----
        There only is this method if ``calibration`` is not None.
        """
        decision, codes = self._decided(X)
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is None:
            raise AttributeError(
                f"this {type(self).__name__} was fitted without calibration={self.calibration!r}: call fit again."
            )
        return agreeing(calibration.probabilities(decision, self._present), codes)

    @available_if(_has_calibration)
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : array of shape (n_samples, n_classes)
            -inf for a class that had no weight in the training data.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _decided(self: Any, X: Any) -> tuple[Array, Array]:
        """Decision values, one column a machine, and the code of the class that ``predict`` gives each row."""
        if not hasattr(self, "_expansion"):
            points = check_new_points(self, X)
            decision = self._values(points)
            return decision, self._codes(decision)
        points = self._new_points(X)
        decision = self._decision(points)
        codes = self._label(decision)
        # predict may sum in another order: where that could matter, it has the word.
        bound = NEAR_TIE * (np.abs(self._expansion.coefficients).sum(axis=0) + np.abs(self._expansion.intercept))
        if not certain(decision, bound, codes, self._scheme).all():
            codes = np.searchsorted(self.classes_, self.predict(X))
        return decision, codes

    # ------------------------------------------------------------ hooks of fit

    def _calibrate(
        self: Any,
        data: TrainingSet,
        machines: Sequence[Machine],
        solved: Sequence[int],
        n_tasks: int,
        gram_of: Callable[[int], Gram] | None,
    ) -> None:
        """Kernel machines of one-vs-one and one-vs-rest: learn the maps from out-of-fold values."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(data.target, len(self.classes_))
        weights = data.weight * folds.factor
        control = silent(data.control)
        values: list[Any] = [None] * len(machines)

        def work(t: int) -> None:
            machine = machines[t]
            if gram_of is None:
                gram = data.gram if len(machine.rows) == data.gram.n else data.gram.subset(machine.rows)
            else:
                gram = _divisible(gram_of(t), data.gram, machine.rows)
            gram.budget, before = data.gram.budget / min(data.threads, len(machines)), gram.evaluations
            a, of_row, judged = machine.solution.a, folds.of_row[machine.rows], folds.factor[machine.rows] > 0
            values[t] = kernel_values(machine.problem, gram, a, machine.f, of_row, judged, control)
            evaluations[t] = gram.evaluations - before

        evaluations = [0] * len(machines)
        run_tiles(work, len(machines), data.threads if len(machines) > 1 else 1)
        self._evaluations += sum(evaluations)
        if self._scheme == "ovr" and len(self.classes_) > 2:
            scores = np.full((data.gram.n, n_tasks), -1.0)
            for t, machine, own in zip(solved, machines, values, strict=True):
                scores[machine.rows, t] = own
            rows = machines[0].rows if machines else np.empty(0, int)
            self._learn_classes(scores[rows], data.target[rows], weights[rows], folds)
            return
        if len(self.classes_) == 2:
            rows = machines[0].rows if machines else np.empty(0, int)
            self._learn_binary(values, data.target[rows] == 1, weights[rows], folds)
            return
        maps: list[Any] = [None] * n_tasks
        for t, machine, own in zip(solved, machines, values, strict=True):
            judged = np.flatnonzero(weights[machine.rows] > 0)
            positive, weight = machine.problem.target[judged] > 0, weights[machine.rows[judged]]
            maps[t] = fit_binary(self.calibration, own[judged], positive, weight)
        self._keep("pairs", maps, folds, np.nan)

    def _calibrate_joint(
        self: Any, data: TrainingSet, problem: JointProblem, A: Array, F: Array, gram: Gram, active: Array
    ) -> None:
        """The joint kernel machine."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(problem.label, len(self.classes_), quota=None)
        scores = joint_values(problem, gram, A, F, folds.of_row, silent(data.control))
        self._learn_classes(scores, problem.label, data.weight[active], folds)

    # ------------------------------------------------------------ what the hooks share

    def _learn_binary(self: Any, values: Any, positive: Array, weight: Array, folds: Folds) -> None:
        """Two classes: the map of their machine, if there is one (``values`` is a list of its values)."""
        if not values:
            self._keep("binary", [None], folds, np.nan)
            return
        judged = np.flatnonzero(weight > 0)
        values, positive, weight = values[0][judged], positive[judged], weight[judged]
        learnt = fit_binary(self.calibration, values, positive, weight)
        p = learnt(values)
        loss = log_loss(np.column_stack((1.0 - p, p)), positive.astype(int), weight)
        self._keep("binary", [learnt], folds, loss)

    def _learn_classes(self: Any, scores: Array, codes: Array, weight: Array, folds: Folds) -> None:
        if np.count_nonzero(self._present) < 2:  # nothing to learn: that class is certain
            self._keep(
                "classes", [None] * (1 if self.calibration == "temperature" else len(self.classes_)), folds, np.nan
            )
            return
        judged = np.flatnonzero(weight > 0)
        scores, codes, weight = scores[judged], codes[judged], weight[judged]
        maps = fit_classes(self.calibration, scores, codes, weight, self._present)
        learnt = Calibration(self.calibration, "classes", maps, 0, 0, np.nan, "")
        self._keep("classes", maps, folds, log_loss(learnt.probabilities(scores, self._present), codes, weight))

    def _keep(self: Any, kind: str, maps: list[Any], folds: Folds, loss: float) -> None:
        """Set ``calibration_``, and say what was done about small classes."""

        def named(codes: Array) -> str:
            return ", ".join(repr(label) for label in self.classes_[codes].tolist())

        notes = []
        if len(folds.few):
            notes.append(f"fewer rows than folds in class {named(folds.few)}: it is in some of the held-out parts only")
        if len(folds.alone):
            notes.append(
                f"a single row in class {named(folds.alone)}: it is never left out, so that the probabilities of this "
                "class come from the machine's own training value"
            )
        note, judged = "; ".join(notes), int(np.count_nonzero((folds.of_row >= 0) & (folds.factor > 0)))
        self.calibration_ = Calibration(self.calibration, kind, maps, folds.count, judged, float(loss), note)
        if len(folds.alone):
            warnings.warn(f"calibration: {notes[-1]}.", UserWarning, stacklevel=callers_level())


def _divisible(gram: Gram, whole: Gram, rows: Array) -> Gram:
    """An operator that has subsets: values held in float64 as they are; others are computed again where needed."""
    if not isinstance(gram, HeldGram):
        return gram
    if not gram.double:
        return whole.subset(rows)
    K, at = gram.stored()
    return StoredGram(K[: len(at), : len(at)].copy())
