"""Probabilities of the linear classifier: its out-of-fold decision values, and what is learnt from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.problems.dual import JointProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array, check_new_points
from maxmargin.solvers.run import Start
from maxmargin.svm.calibration.folds import silent, stratified_folds
from maxmargin.svm.calibration.learning import CalibrationGoal, learn_binary, learn_classes
from maxmargin.svm.calibration.linear_folds import linear_joint_values, linear_values
from maxmargin.svm.calibration.linear_matrix import LinearMatrix, suits
from maxmargin.svm.calibration.probabilities import ProbabilityMixin
from maxmargin.svm.linear.binary_models import SolvedProblem
from maxmargin.svm.linear.rows import TrainingRows


class LinearProbabilityMixin(ProbabilityMixin):
    """The hooks that ``LinearSVC.fit`` calls."""

    def _calibrate_linear(
        self: Any, rows: TrainingRows, models: Sequence[SolvedProblem | None], control: Control
    ) -> None:
        """Linear models: one for two classes, one a class for more."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(rows.target, len(self.classes_))
        goal = CalibrationGoal(self.calibration, self.classes_, self._present, folds)
        weight = self._own_weight(rows)
        solved, columns, own = [], [], []
        matrix: LinearMatrix | None = None
        for t, model in enumerate(models):
            if model is not None:
                start = Start(model.solution.w, model.solution.b, model.certificate.beta)
                if start.beta is not None and not model.problem.hard_margin and suits(model.problem):
                    matrix = matrix or LinearMatrix(model.problem)
                    columns.append(matrix.values(model.problem, start, folds.of_row, silent(control)))
                else:
                    columns.append(linear_values(model.problem, start, folds.of_row, silent(control)))
                own.append(model.problem.design.times(start.w) + start.b)
                solved.append(t)
        if len(models) == 1:
            self.calibration_ = learn_binary(goal, columns, rows.target == 1, weight, own)
            return
        scores, training = np.full((2, len(rows.target), len(models)), -1.0)
        for t, left_out, trained in zip(solved, columns, own, strict=True):
            scores[:, t], training[:, t] = left_out, trained
        self.calibration_ = learn_classes(goal, scores, rows.target, weight, training)

    def _calibrate_linear_joint(
        self: Any,
        rows: TrainingRows,
        problem: JointProblem,
        coef: Array,
        intercept: Array,
        constant: float,
        control: Control,
        threads: int,
    ) -> None:
        """The joint linear model; ``problem`` counts the classes that have weight only."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(rows.target, len(self.classes_))
        goal = CalibrationGoal(self.calibration, self.classes_, self._present, folds)
        own = np.asarray(rows.X @ coef.T) + intercept
        scores = linear_joint_values(rows.X, problem, own, constant, folds.of_row, silent(control), threads)
        weight = self._own_weight(rows)
        if len(self.classes_) == 2:
            both = [s[:, 1] - s[:, 0] for s in (scores, own)] if problem.n_classes == 2 else []
            self.calibration_ = learn_binary(goal, both[:1], rows.target == 1, weight, both[1:])
            return
        full, training = np.full((2, len(scores), len(self.classes_)), -1.0)
        full[:, np.flatnonzero(self._present)], training[:, np.flatnonzero(self._present)] = scores, own
        self.calibration_ = learn_classes(goal, full, rows.target, weight, training)

    def _decision_and_codes(self: Any, X: Any) -> tuple[Array, Array]:
        decision = self._values(check_new_points(self, X))
        return decision, self._codes(decision)

    def _own_weight(self: Any, rows: TrainingRows) -> Array:
        """The samples' own weights: what a class weight adds is a price, not a frequency."""
        if len(self.classes_) > 2 and self.multi_class != "crammer_singer":
            return rows.weight  # the class weights come in model by model
        return rows.weight / np.where(self.class_weight_ > 0, self.class_weight_, 1.0)[rows.target]
