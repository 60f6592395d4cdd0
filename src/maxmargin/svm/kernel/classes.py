"""From labels to binary problems and back: one-vs-one, one-vs-rest, and the joint problem.

Pairs of classes with a finite C are solved as one batch, other problems one by one. Both give the same columns, from
which the table of coefficients and the predictions for the training rows are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.gram.shared import ClassBlocks
from maxmargin.kernels.gram.tiled import TiledGram
from maxmargin.runtime.validation import Array
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.formulations import Formulation
from maxmargin.svm.kernel.publishing import CoefficientTable
from maxmargin.svm.kernel.solving.batch import Solved
from maxmargin.svm.kernel.solving.each import solve_pairs, solve_subproblems
from maxmargin.svm.kernel.solving.outcomes import KernelOutcome, SolvedProblems, Subproblem
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.models.multiclass import one_vs_one, one_vs_rest, pair_classes, pairs, predict_codes, task_of_pair


@dataclass(frozen=True)
class Labels:
    """The classes of the rows, and their weights."""

    n_classes: int
    scheme: str  # {"ovo", "ovr", "crammer_singer"}
    weight: Array  # weight of each canonical row, class weights included
    present: Array  # bool: the classes that have weight; the others keep their places and are never predicted
    input_weight: Array  # weight of each input row, class weights included

    @classmethod
    def of(cls, context: FitContext, scheme: str, class_weight: Array) -> Labels:
        weight = context.weight * class_weight[context.target]
        if not weight.any():
            raise ValueError(
                "All samples have zero weight once class_weight is applied: there is nothing to fit. "
                "Give a class that has samples a positive weight."
            )
        n_classes, given = len(class_weight), context.given
        present = np.bincount(context.target, weights=weight, minlength=n_classes) > 0
        return cls(n_classes, scheme, weight, present, given.weight * class_weight[given.target])

    @property
    def has_pairs(self) -> bool:
        """Whether there is a decision value per pair of three or more classes."""
        return self.scheme == "ovo" and self.n_classes > 2


@dataclass(frozen=True)
class BinaryProblems:
    """The solved binary problems of a classifier."""

    solved: SolvedProblems
    tasks: Array  # of each problem, its place among all tasks of the scheme; the others are decided in advance
    # intercept, n_iter: one entry per task, in the scale of decision values
    intercept: Array
    n_iter: Array
    # the operator of a problem's rows, where classes share theirs
    gram_of: Callable[[int], Gram] | None = None

    def warm_start(self, context: FitContext) -> WarmStart:
        """The variables, for the next fit."""
        source = self.solved.source
        if isinstance(source, Solved) and source.posed.n_problems > 1:
            return WarmStart.of_pairs(context, source)
        return WarmStart.of(context, self.solved.models())


@dataclass(frozen=True)
class TrainingCodes:
    """Predicted classes of the canonical rows; those of the doubtful rows are left to the fitted function."""

    known: Array
    doubtful: Array


@dataclass(frozen=True)
class SolvedClasses:
    """A solved classifier, whichever its scheme."""

    labels: Labels
    problems: Any  # what calibration and warm starts are computed from
    table: CoefficientTable
    # intercept, n_iter: one entry per decision value (n_iter: per problem)
    intercept: Array
    n_iter: Array
    outcome: KernelOutcome
    training_codes: TrainingCodes

    def warm_start(self, context: FitContext) -> WarmStart:
        """The variables, for the next fit."""
        start: WarmStart = self.problems.warm_start(context)
        return start


def solve_classes(
    context: FitContext, labels: Labels, formulation: Formulation, warm_start: WarmStart | None, batched: bool
) -> SolvedClasses:
    """One-vs-one and one-vs-rest: pose, solve and certify the binary problems; ``batched`` says that no other way was
    asked for."""
    found = None
    update = warm_start is not None and labels.n_classes == 2  # one problem, which may be solved from nearby
    if batched and labels.scheme == "ovo" and formulation.is_batched and not update:
        found = _solve_pairs(context, labels, formulation, warm_start)
    if found is None:
        found = _solve_tasks(context, labels, formulation, warm_start)
    if context.centre is not None:
        found = replace(found, solved=found.solved.with_zero_sums())
    table, codes = _coefficient_table(context, labels, formulation, found), _training_codes(context, labels, found)
    return SolvedClasses(labels, found, table, found.intercept, found.n_iter, found.solved.outcome, codes)


def _solve_pairs(
    context: FitContext, labels: Labels, formulation: Formulation, warm_start: WarmStart | None
) -> BinaryProblems | None:
    """One-vs-one as one batch; None where problems must be solved one by one."""
    present = np.flatnonzero(labels.present)
    if len(present) < 2 or (context.control.max_seconds is not None and context.control.stop() is not None):
        return None
    k, active = labels.n_classes, np.flatnonzero(labels.weight > 0)
    solved = solve_pairs(context, active, formulation.bounds(labels.weight[active]), k, warm_start)
    if solved is None:
        return None
    n_iter = solved.outcome.n_iter.astype(np.int32)
    if len(present) == k:
        return BinaryProblems(solved, np.arange(len(n_iter)), solved.intercept, n_iter)
    tasks = task_of_pair(present[np.column_stack(pair_classes(len(present)))], k)
    first, second = pair_classes(k)
    intercept = labels.present[first] - labels.present[second].astype(np.float64)  # the class with rows wins
    every = np.zeros(len(first), np.int32)
    intercept[tasks], every[tasks] = solved.intercept, n_iter
    return BinaryProblems(solved, tasks, intercept, every)


def _solve_tasks(
    context: FitContext, labels: Labels, formulation: Formulation, warm_start: WarmStart | None
) -> BinaryProblems:
    """One-vs-one and one-vs-rest: independent binary problems over one operator."""
    active = np.flatnonzero(labels.weight > 0)
    made = (one_vs_one if labels.scheme == "ovo" else one_vs_rest)(context.target[active], labels.n_classes)
    tasks = np.array([t for t, task in enumerate(made) if task.constant is None], int)
    intercept = np.array([0.0 if task.constant is None else task.constant for task in made])
    blocks = _class_blocks(context, labels, active)
    posed = []
    for t in tasks:
        rows, y = active[made[t].rows], made[t].y
        if blocks is not None:  # rows class by class, as in the blocks
            i, j = pairs(labels.n_classes)[t]
            rows = np.concatenate((blocks.members[i], blocks.members[j]))
            y = np.where(context.target[rows] == i, 1.0, -1.0)
        posed.append(Subproblem(rows, formulation.problem(y, labels.weight[rows])))
    if warm_start is not None:
        posed = warm_start.starts(context, posed)
    gram_of = None
    if blocks is not None:
        of_task = pairs(labels.n_classes)
        gram_of = lambda p: blocks.pair(*of_task[tasks[p]])  # noqa: E731
    models, used = solve_subproblems(context, posed, gram_of)
    models = [formulation.completed(model) for model in models]
    scale = np.array([formulation.scale(model) for model in models])
    solved = SolvedProblems.of_models(models, used, scale)
    n_iter = np.zeros(len(made), np.int32)
    intercept[tasks], n_iter[tasks] = scale * solved.intercept, solved.outcome.n_iter
    return BinaryProblems(solved, tasks, intercept, n_iter, gram_of)


def _class_blocks(context: FitContext, labels: Labels, active: Array) -> ClassBlocks | None:
    """One-vs-one: K of each class with itself, computed once for all its pairs, if the memory and the time allow it."""
    codes = context.target[active]
    if not labels.has_pairs or context.control.stop() is not None:
        return None
    gram = context.gram_in_time()
    if not isinstance(gram, TiledGram) or ClassBlocks.bytes_needed(codes, context.threads) > gram.budget:
        return None
    of_row = np.full(context.n, -1)
    of_row[active] = codes
    return ClassBlocks(gram, of_row, labels.n_classes)


def _coefficient_table(
    context: FitContext, labels: Labels, formulation: Formulation, found: BinaryProblems
) -> CoefficientTable:
    """The coefficients of all problems, one line per task, or in LIBSVM's layout of pairs."""
    solved, scale, lines = found.solved, found.solved.outcome.scale, len(found.intercept)
    used = np.flatnonzero(solved.coefficient)
    rows, coefficient = solved.rows[used], solved.coefficient[used]
    problem = np.searchsorted(solved.at, used, side="right") - 1
    line = found.tasks[problem] if lines > 1 else 0
    if labels.has_pairs:
        first, second = pair_classes(labels.n_classes)
        i, j = first[found.tasks][problem], second[found.tasks][problem]
        line, lines = np.where(context.target[rows] == i, j - 1, i), labels.n_classes - 1
    values = np.zeros((lines, context.n))
    values[line, rows] = coefficient * scale[problem]
    if not context.merged:
        return CoefficientTable(values, pairs=labels.has_pairs)
    filled, size, bound = np.zeros_like(values), np.abs(coefficient), solved.bound[used]
    filled[line, rows] = np.divide(size, bound, out=np.zeros_like(size), where=bound > 0)
    bounds = formulation.bounds(labels.input_weight)[None, :]
    if (scale != 1.0).any():
        factor = np.ones_like(values)
        factor[line, rows] = scale[problem]
        bounds = bounds * factor[:, context.rows.member_of]
    return CoefficientTable(values, filled, bounds, labels.has_pairs)


def _training_codes(context: FitContext, labels: Labels, found: BinaryProblems) -> TrainingCodes:
    """Predicted classes, mostly from values that the certificates needed anyway.

    One-vs-one: a row that its own class wins in all of its own class's models has the most votes there are, so only the
    others need the models that were not trained on them."""
    solved, target = found.solved, context.target
    if labels.scheme == "ovo":
        value = solved.f + (np.repeat(solved.intercept, solved.sizes) if len(found.tasks) > 1 else solved.intercept)
        lost = ~labels.present[target]
        lost[solved.rows[(value > 0) != (solved.target > 0)]] = True
        if labels.n_classes == 2 and labels.present.all():
            return TrainingCodes(np.where(lost, 1 - target, target), np.empty(0, int))
        return TrainingCodes(target, np.flatnonzero(lost))
    covered = solved.rows[: solved.at[min(1, len(found.tasks))]]  # all problems have the same rows
    decision = np.tile(found.intercept, (len(covered), 1))
    if len(found.tasks):
        decision[:, found.tasks] += (solved.f.reshape(len(found.tasks), -1) * solved.outcome.scale[:, None]).T
    known = target.copy()
    known[covered] = predict_codes(decision, labels.scheme, labels.present)
    return TrainingCodes(known, np.setdiff1d(np.arange(context.n), covered))
