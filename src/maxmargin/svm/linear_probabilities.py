"""Probabilities of the linear classifier: its out-of-fold decision values, and what is learnt from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._control import Control
from maxmargin._validation import Array
from maxmargin.calibration.linear_folds import linear_joint_values, linear_values
from maxmargin.calibration.out_of_fold import silent, stratified_folds
from maxmargin.linear.base import Start
from maxmargin.linear.machine import LinearMachine, TrainingRows
from maxmargin.problems import JointProblem
from maxmargin.svm.probabilities import ProbabilityMixin


class LinearProbabilityMixin(ProbabilityMixin):
    """The hooks that ``LinearSVC.fit`` calls."""

    def _calibrate_linear(
        self: Any, rows: TrainingRows, machines: Sequence[LinearMachine | None], control: Control
    ) -> None:
        """Linear machines: one for two classes, one a class for more."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(rows.target, len(self.classes_), quota=None)
        weight = self._own_weight(rows)
        solved, columns = [], []
        for t, machine in enumerate(machines):
            if machine is not None:
                start = Start(machine.solution.w, machine.solution.b, machine.certificate.alpha)
                columns.append(linear_values(machine.problem, start, folds.of_row, silent(control)))
                solved.append(t)
        if len(machines) == 1:
            self._learn_binary(columns, rows.target == 1, weight, folds)
            return
        scores = np.full((len(rows.target), len(machines)), -1.0)
        for t, own in zip(solved, columns, strict=True):
            scores[:, t] = own
        self._learn_classes(scores, rows.target, weight, folds)

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
        """The joint linear machine; ``problem`` counts the classes that have weight only."""
        self.__dict__.pop("calibration_", None)
        if self.calibration is None:
            return
        folds = stratified_folds(rows.target, len(self.classes_), quota=None)
        own = np.asarray(rows.X @ coef.T) + intercept
        scores = linear_joint_values(rows.X, problem, own, constant, folds.of_row, silent(control), threads)
        weight = self._own_weight(rows)
        if len(self.classes_) == 2:
            values = [scores[:, 1] - scores[:, 0]] if problem.n_classes == 2 else []
            self._learn_binary(values, rows.target == 1, weight, folds)
            return
        full = np.full((len(scores), len(self.classes_)), -1.0)
        full[:, np.flatnonzero(self._present)] = scores
        self._learn_classes(full, rows.target, weight, folds)

    def _own_weight(self: Any, rows: TrainingRows) -> Array:
        """The samples' own weights: what a class weight adds is a price, not a frequency."""
        if len(self.classes_) > 2 and self.multi_class != "crammer_singer":
            return rows.weight  # the class weights come in machine by machine
        return rows.weight / np.where(self.class_weight_ > 0, self.class_weight_, 1.0)[rows.target]
