"""The calibration step of the linear classifier: from solved problems to a ``Calibration``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.problems.joint import JointProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import Start
from maxmargin.svm.calibration.calibrated import Calibration
from maxmargin.svm.calibration.learning import CalibrationGoal, learn_binary, learn_classes
from maxmargin.svm.calibration.linear_folds import LinearMatrix, linear_joint_values, linear_values, suits
from maxmargin.svm.linear.binary_models import LinearOutcome, SolvedProblem
from maxmargin.svm.linear.rows import TrainingRows


def calibrate_one_vs_rest(
    goal: CalibrationGoal, rows: TrainingRows, weight: Array, models: Sequence[SolvedProblem | None], control: Control
) -> Calibration:
    """One model for two classes, one per class for more; ``weight`` are the samples' own weights."""
    folds, solved, columns, own = goal.folds.of_row, [], [], []
    matrix: LinearMatrix | None = None
    for t, model in enumerate(models):
        if model is not None:
            start = Start(model.solution.w, model.solution.b, model.certificate.beta)
            if start.beta is not None and not model.problem.hard_margin and suits(model.problem):
                matrix = matrix or LinearMatrix(model.problem)
                columns.append(matrix.values(model.problem, start, folds, control.silent()))
            else:
                columns.append(linear_values(model.problem, start, folds, control.silent()))
            own.append(model.problem.design.times(start.w) + start.b)
            solved.append(t)
    if len(models) == 1:
        return learn_binary(goal, columns, rows.target == 1, weight, own)
    scores, training = np.full((2, len(rows.target), len(models)), -1.0)
    for t, left_out, trained in zip(solved, columns, own, strict=True):
        scores[:, t], training[:, t] = left_out, trained
    return learn_classes(goal, scores, rows.target, weight, training)


def calibrate_joint(
    goal: CalibrationGoal,
    rows: TrainingRows,
    weight: Array,
    problem: JointProblem,
    outcome: LinearOutcome,
    *,
    constant: float,
    control: Control,
    threads: int,
) -> Calibration:
    """The joint model; ``problem`` counts the classes that have weight only."""
    own = np.asarray(rows.X @ outcome.coef.T) + outcome.intercept
    scores = linear_joint_values(rows.X, problem, own, constant, goal.folds.of_row, control.silent(), threads)
    if len(goal.classes) == 2:
        both = [s[:, 1] - s[:, 0] for s in (scores, own)] if problem.n_classes == 2 else []
        return learn_binary(goal, both[:1], rows.target == 1, weight, both[1:])
    full, training = np.full((2, len(scores), len(goal.classes)), -1.0)
    full[:, np.flatnonzero(goal.present)], training[:, np.flatnonzero(goal.present)] = scores, own
    return learn_classes(goal, full, rows.target, weight, training)
