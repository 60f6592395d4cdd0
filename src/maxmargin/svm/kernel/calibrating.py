"""The calibration step of a kernel classifier: from its solved problems to a ``Calibration``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.calibrated import Calibration, fit_binary
from maxmargin.svm.calibration.folds import PAIR_MAX_ROWS, quotas, stratified_folds
from maxmargin.svm.calibration.learning import CalibrationGoal, calibration_of, learn_binary, learn_classes
from maxmargin.svm.calibration.out_of_fold import joint_values, kernel_values
from maxmargin.svm.kernel.classes import BinaryProblems, Labels, SolvedClasses
from maxmargin.svm.kernel.context import CONCURRENT_PROBLEMS, FitContext
from maxmargin.svm.kernel.solving.joint import SolvedJoint
from maxmargin.svm.kernel.solving.outcomes import BinaryModel

SERIAL_MAX_ROWS = 500  # rows of a binary model up to which threads cost more than they bring


class CalibrationStep(NamedTuple):
    """What was learnt, and the kernel values that this took."""

    calibration: Calibration
    evaluations: int


def calibrate(method: str, context: FitContext, found: SolvedClasses) -> CalibrationStep:
    """Learn from out-of-fold values how decision values become probabilities."""
    if isinstance(found.problems, SolvedJoint):
        return CalibrationStep(_calibrate_joint(method, context, found.labels, found.problems), 0)
    return _calibrate_binary(method, context, found.labels, found.problems)


def _calibrate_binary(method: str, context: FitContext, labels: Labels, found: BinaryProblems) -> CalibrationStep:
    """One-vs-one and one-vs-rest."""
    models, target = found.solved.models(), context.target
    quota: Array | int = PAIR_MAX_ROWS
    if not labels.has_pairs:
        n_support = np.mean([float(np.count_nonzero(model.solution.a)) for model in models] or [0.0])
        quota = quotas(method, target, labels.n_classes, float(n_support))
    assert context.classes is not None
    folds = stratified_folds(target, labels.n_classes, quota=quota)
    goal = CalibrationGoal(method, context.classes, labels.present, folds)
    weights, control = context.weight * folds.factor, context.control.silent()
    values: list[Any] = [None] * len(models)
    evaluations = [0] * len(models)
    share = context.budget / min(CONCURRENT_PROBLEMS, max(1, len(models)))

    def work(p: int) -> None:
        model, rows = models[p], models[p].rows
        gram = context.gram_of(rows) if found.gram_of is None else found.gram_of(p)
        gram.budget, before = share, gram.evaluations
        evaluated = folds.factor[rows] > 0
        values[p] = kernel_values(
            model.problem, gram, model.solution.a, model.f, folds.of_row[rows], evaluated, control
        )
        evaluations[p] = gram.evaluations - before

    rows_each = np.mean([len(model.rows) for model in models]) if models else 0
    side_by_side = len(models) > 1 and rows_each > SERIAL_MAX_ROWS
    with single_threaded_blas():
        run_tiles(work, len(models), min(CONCURRENT_PROBLEMS, context.threads) if side_by_side else 1)
        context.gram.budget = context.budget
        scale = found.solved.outcome.scale
        training_values = [factor * (model.f + model.intercept) for factor, model in zip(scale, models, strict=True)]
        rows = models[0].rows if models else np.empty(0, int)
        if labels.has_pairs:
            learnt = _learn_pairs(goal, found, models, values, training_values, weights)
        elif labels.n_classes == 2:
            learnt = learn_binary(goal, values, target[rows] == 1, weights[rows], training_values)
        else:
            scores, training = np.full((2, len(rows), len(found.intercept)), -1.0)
            training[:] = found.intercept
            for t, left_out, trained in zip(found.tasks, values, training_values, strict=True):
                scores[:, t], training[:, t] = left_out, trained
            learnt = learn_classes(goal, scores, target[rows], weights[rows], training)
    return CalibrationStep(learnt, sum(evaluations))


def _learn_pairs(
    goal: CalibrationGoal,
    found: BinaryProblems,
    models: Sequence[BinaryModel],
    values: list[Array],
    training_values: list[Array],
    weights: Array,
) -> Calibration:
    """A map per pair of classes."""
    maps: list[Any] = [None] * len(found.intercept)
    known = (goal.folds.of_row >= 0) & (goal.folds.factor > 0)
    for t, model, value, training in zip(found.tasks, models, values, training_values, strict=True):
        evaluated = weights[model.rows] > 0
        reached = evaluated & np.isfinite(value)
        known[model.rows[evaluated & ~reached]] = False
        chosen, value = (np.flatnonzero(reached), value) if reached.any() else (np.flatnonzero(evaluated), training)
        positive, weight = model.problem.target[chosen] > 0, weights[model.rows[chosen]]
        maps[t] = fit_binary(goal.method, value[chosen], positive, weight)
    return calibration_of(goal, "pairs", maps, np.nan, int(np.count_nonzero(known)))


def _calibrate_joint(method: str, context: FitContext, labels: Labels, found: SolvedJoint) -> Calibration:
    """The joint problem: one score per class."""
    problem = found.problem
    assert context.classes is not None
    goal = CalibrationGoal(method, context.classes, labels.present, stratified_folds(problem.label, labels.n_classes))
    with single_threaded_blas():
        scores = joint_values(problem, found.gram, found.A, found.F, goal.folds.of_row, context.control.silent())
        return learn_classes(goal, scores, problem.label, context.weight[found.rows], found.F)
