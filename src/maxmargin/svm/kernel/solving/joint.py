"""The joint problem of all classes (Crammer and Singer): posed, solved and certified as one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.joint import JointProblem, certify_joint
from maxmargin.problems.separability import InseparableError
from maxmargin.problems.verification import certified_status, verified_joint
from maxmargin.runtime.control import Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers.crammer_singer import CrammerSinger
from maxmargin.svm.kernel.classes import Labels, SolvedClasses, TrainingCodes
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.formulations import Formulation
from maxmargin.svm.kernel.publishing import CoefficientTable
from maxmargin.svm.kernel.solving.outcomes import KernelOutcome
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.report import SolverUsed


@dataclass(frozen=True)
class SolvedJoint:
    """The joint problem, solved."""

    rows: Array  # its canonical rows
    problem: JointProblem
    gram: Gram  # the operator of its rows
    # A, F: shape (n, n_classes), its variables, and K @ A
    A: Array
    F: Array

    def warm_start(self, context: FitContext) -> WarmStart:
        """The variables, for the next fit."""
        return WarmStart.of_joint(context, self.rows, self.A)


def solve_joint(
    context: FitContext, labels: Labels, formulation: Formulation, warm_start: WarmStart | None
) -> SolvedClasses:
    """Pose, solve and certify the joint problem."""
    rows = np.flatnonzero(labels.weight > 0)
    gram = context.gram_of(rows)
    problem = JointProblem(context.target[rows], formulation.bounds(labels.weight[rows]), labels.n_classes)
    start = None if warm_start is None else warm_start.joint_start(context, rows, problem.n_classes)
    control = context.control.of_one()
    with single_threaded_blas():
        solution = CrammerSinger().solve(problem, gram, tol=context.tol, control=control, start=start)
        F = gram.product(np.arange(gram.n), solution.a)
    F = verified_joint(problem, solution.a, F, context.defined_values(rows))
    certificate = certify_joint(problem, solution.a, F)
    status = certified_status(solution.status, certificate, np.inf, context.tol)
    if problem.hard_margin and status is Status.INSEPARABLE:
        raise InseparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated jointly with this kernel. "
            "Use a finite C, or another kernel."
        )
    evaluations = context.evaluations + (0 if gram is context.gram else gram.evaluations)
    used = SolverUsed(CrammerSinger.name, "the joint problem is one over all classes", evaluations)
    solution = replace(solution, status=status)
    outcome = KernelOutcome.of_solutions([certificate], [solution], used, [control.reports], np.ones(1))
    predicted = context.target.copy()  # of rows without weight their own
    predicted[rows] = np.where(labels.present, F, -np.inf).argmax(axis=1)
    found = SolvedJoint(rows, problem, gram, solution.a, F)
    codes, n_iter = TrainingCodes(predicted, np.empty(0, int)), outcome.n_iter.astype(np.int32)
    return SolvedClasses(labels, found, _table(context, found), np.zeros(labels.n_classes), n_iter, outcome, codes)


def _table(context: FitContext, found: SolvedJoint) -> CoefficientTable:
    """The coefficients, one line per class; equal rows share theirs by their weights."""
    values = np.zeros((found.problem.n_classes, context.n))
    values[:, found.rows] = found.A.T
    if not context.merged:
        return CoefficientTable(values)
    filled, own = np.zeros_like(values), found.A[np.arange(len(found.A)), found.problem.label]
    filled[:, found.rows] = own / found.problem.bound
    return CoefficientTable(values, filled, np.full((1, len(context.given.weight)), np.nan))
