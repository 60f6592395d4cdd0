"""Solve and certify the problems of a fit.

    batch      small problems with a finite C and an intercept: one compiled call
    solver     everything else, and what a batch leaves unfinished, from where it is: problem by problem, several at a
               time, each over its own part of the Gram operator

Whoever solves, the certificate is computed from float64 values of f; a solver that misses tol by it is sent on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels import Precomputed
from maxmargin.kernels.gram.operator import Gram, StoredGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import c_svc
from maxmargin.problems.optimality import Certificate
from maxmargin.problems.verification import certified_status, verified
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers import SOLVERS, KernelSolver, Solution, choose_solver
from maxmargin.svm.kernel.context import CONCURRENT_PROBLEMS, FitContext
from maxmargin.svm.kernel.solving import batch
from maxmargin.svm.kernel.solving.batch import KernelValues, Solved
from maxmargin.svm.kernel.solving.hard_margin import solve_hard_margin, solve_hard_tube
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, SolvedProblems, Subproblem
from maxmargin.svm.report import SolverUsed

SERIAL_MAX_ROWS = 500  # rows of a problem up to which threads cost more than they bring
CREEPING_MAX_VARIABLES = 1000  # of a problem in which pair steps creep, up to which interior points take over
CERTIFICATE_ATTEMPTS = 3  # times a solver is resumed because the certificate, computed from scratch, was not met
BATCH_REASON = "small problems are solved together in one compiled call"


NOTHING_SOLVED = SolverUsed("none", "only one class has weight, so there is nothing to solve", 0)


def solve_subproblems(
    context: FitContext, posed: Sequence[Subproblem], gram_of: Callable[[int], Gram] | None = None
) -> tuple[list[BinaryModel], SolverUsed]:
    """Solve and certify every problem, several at a time; ``gram_of`` gives the operator of a problem's rows."""
    if not posed:
        return [], NOTHING_SOLVED
    solver, reason = choose_solver(context.solver, posed[0].problem)
    models: list[BinaryModel] = [None] * len(posed)  # type: ignore[list-item]
    evaluations, batched = [0] * len(posed), [False] * len(posed)
    share = context.budget / min(CONCURRENT_PROBLEMS, len(posed))

    def work(t: int) -> None:
        sub = posed[t]
        stopped = context.control.stop()
        if stopped is not None and sub.start is None and not (sub.problem.hard_margin or sub.problem.totals.any()):
            with single_threaded_blas():  # a second thread for sums of this size costs more than the sums
                models[t] = untouched(sub, stopped)
            return
        control = context.control.of_one()
        if context.solver == "auto" and gram_of is None:
            attempt = _solve_as_batch(context, sub, control, share)
            evaluations[t] += attempt.evaluations
            if attempt.model is not None:
                models[t], batched[t] = attempt.model, True
                return
            sub = replace(sub, start=attempt.start)
        gram = context.gram_of(sub.rows) if gram_of is None else gram_of(t)
        before, gram.budget = gram.evaluations, share
        with single_threaded_blas():
            models[t] = _after_batch(context, sub, solver, gram, control)
        evaluations[t] += 0 if gram is context.gram else gram.evaluations - before

    rows_each = np.mean([len(sub.rows) for sub in posed])
    run_tiles(work, len(posed), min(CONCURRENT_PROBLEMS, context.threads) if rows_each > SERIAL_MAX_ROWS else 1)
    if context.gram_in_use is not None:
        context.gram_in_use.budget = context.budget
    name, reason = ("batch", BATCH_REASON) if all(batched) else (solver.name, reason)
    return models, SolverUsed(name, reason, context.evaluations + sum(evaluations))


def kernel_values(context: FitContext, largest: int) -> tuple[KernelValues | None, Array | None]:
    """Kernel values of a fit's rows for a batch whose largest problem has so many variables, and the rows of them that
    the canonical rows are (None: the same)."""
    if isinstance(context.kernel, Precomputed):
        at = context.rows.representative
        K = context.X if isinstance(context.X, np.ndarray) else context.gram.stored()[0]
        return KernelValues.of_matrix(K), at
    values = KernelValues.of_points(context.kernel, context.X, largest)
    if values is None and context.n <= batch.PROBLEM_MAX_ROWS and isinstance(context.gram, StoredGram):
        K, index = context.gram.stored()
        return KernelValues.of_matrix(K, context.defined_values(np.arange(context.n))), index
    return values, None


@dataclass(frozen=True)
class BatchAttempt:
    """What came of a problem as a batch of one: a model, or where another solver should go on."""

    model: BinaryModel | None
    start: Array | None
    evaluations: int = 0


def _solve_as_batch(context: FitContext, sub: Subproblem, control: Control, budget: float) -> BatchAttempt:
    """A problem as a batch of one."""
    problem = sub.problem
    posed = batch.one_problem(problem) if problem.n_variables <= batch.PROBLEM_MAX_ROWS else None
    if posed is None or control.stop() is not None:
        return BatchAttempt(None, sub.start)
    values, index = kernel_values(context, posed.largest)
    if not batch.suits(posed, values, budget):
        return BatchAttempt(None, sub.start)
    assert values is not None
    start = problem.start() if sub.start is None else problem.feasible(sub.start)
    order = posed.order
    at = sub.rows[order] if index is None else index[sub.rows[order]]
    permuted = posed.kind == "nu_svc"
    begin = None if sub.start is None and not problem.totals.any() else start[order] if permuted else start
    solved = batch.solve_posed(
        replace(posed, order=at),
        values,
        tol=context.tol,
        control=control,
        budget=budget,
        threads=context.threads,
        start=begin,
    )
    a, f = solved.a, solved.f[: problem.n_rows]
    if permuted:
        a, f = np.empty_like(a), np.empty_like(f)
        a[order], f[order] = solved.a, solved.f
    status = batch.STATUSES.get(int(solved.status[0]))
    evaluations = int(solved.evaluations[0])
    if status is None:
        return BatchAttempt(None, a, evaluations)
    steps = int(solved.steps[0])
    certificate = solved.certificates[0]
    _report(control, steps, certificate, int(solved.n_support[0]))
    offset = solved.offset[0, : len(problem.totals)]
    solution = Solution(a, f, status, steps, fresh=True)
    model = BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.seen)
    return BatchAttempt(model, None, evaluations)


def _after_batch(
    context: FitContext, sub: Subproblem, solver: KernelSolver, gram: Gram, control: Control
) -> BinaryModel:
    """Solve a problem that a batch did not take, or in which its pair steps creep: unscaled columns, a large C. On few
    rows interior points do not mind, and take less time than the steps did; what they cannot solve goes on as ever."""
    problem = sub.problem
    crept = context.solver == "auto" and sub.start is not None and control.max_iter < 0
    barrier = SOLVERS["barrier"]
    assert isinstance(barrier, KernelSolver)
    if crept and problem.n_variables <= CREEPING_MAX_VARIABLES and barrier.refuses(problem) is None:
        model = solve_one(context, replace(sub, start=None), barrier, gram, control)
        if model.solution.status.converged or control.stop() is not None:
            return model
    return solve_one(context, sub, solver, gram, control)


def solve_one(context: FitContext, sub: Subproblem, solver: KernelSolver, gram: Gram, control: Control) -> BinaryModel:
    """Solve one problem; a certificate that misses tol sends the solver on, with half the tol it had."""
    problem, start, n_iter, tol = sub.problem, sub.start, 0, context.tol
    values = context.defined_values(sub.rows)
    for attempt in range(CERTIFICATE_ATTEMPTS):
        if problem.hard_margin:
            solution = solve_hard_margin(context, replace(sub, start=start), solver, gram, tol, control)
        elif problem.hard_tube:
            solution = solve_hard_tube(replace(sub, start=start), solver, gram, tol, control)
        else:
            solution = solver.solve(problem, gram, tol=tol, control=control, start=start)
        n_iter += solution.n_iter
        f, a = solution.f, solution.a
        if not solution.fresh:
            f = optimality.audited(problem, a, f, gram, finished=solution.status.converged)
        f = verified(problem, a, f, values)
        offset = optimality.offsets(problem, a, problem.gradient(f, a))
        certificate = optimality.certify(problem, a, f, offset)
        status = certified_status(solution.status, certificate, float(np.abs(a).sum()), context.tol * problem.tol_scale)
        if status is solution.status or status.converged or attempt == CERTIFICATE_ATTEMPTS - 1:
            break
        start, tol = a, 0.5 * tol
    solution = replace(solution, n_iter=n_iter, status=status)
    return BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.seen)


def untouched(sub: Subproblem, status: Status) -> BinaryModel:
    """The model of a problem that a stopped fit did not come to: all variables are zero, and so is f."""
    a, f = sub.problem.start(), np.zeros(sub.problem.n_rows)
    offset = optimality.offsets(sub.problem, a, sub.problem.gradient(f, a))
    certificate = optimality.certify(sub.problem, a, f, offset)
    return BinaryModel(sub.rows, sub.problem, Solution(a, f, status, 0), certificate, f, *sub.problem.scalars(offset))


# ------------------------------------------------------------ many classes in one batch


def solve_pairs(context: FitContext, rows: Array, bounds: Array, n_classes: int) -> SolvedProblems | None:
    """C-SVC of all pairs of classes, over canonical rows with finite bounds, as one batch; None where another way is
    better. What the batch leaves unfinished is solved one by one."""
    posed = batch.pairs_of_classes(context.target[rows], bounds, n_classes)
    if len(rows) < context.n:
        posed = replace(posed, order=rows[posed.order])
    values, index = kernel_values(context, posed.largest)
    if not batch.suits(posed, values, context.budget):
        return None
    assert values is not None
    solved = batch.solve_posed(
        posed,
        values,
        tol=context.tol,
        control=context.control,
        budget=context.budget,
        threads=context.threads,
        index=index,
    )
    _report_batch(context.control, solved)
    status = _finish_batch(context, solved) if solved.status.any() else Status.OPTIMAL
    used = SolverUsed("batch", BATCH_REASON, context.evaluations + int(solved.evaluations.sum()))
    return SolvedProblems.of_batch(solved, status, used)


def _finish_batch(context: FitContext, solved: Solved) -> Status:
    """Solve what the batch left unfinished, one by one; the status of the fit."""
    left = np.flatnonzero((solved.status != batch.OPTIMAL) & (solved.status != batch.MAX_STEPS))
    status = Status.MAX_ITER if (solved.status == batch.MAX_STEPS).any() else Status.OPTIMAL
    for p in left:
        stopped = context.control.stop()
        if stopped is not None and solved.status[p] == batch.NOT_BEGUN:
            status = stopped
            continue
        with single_threaded_blas():
            model = _finished(context, solved, int(p))
        if not model.solution.status.converged:
            status = model.solution.status
    return status


def _report_batch(control: Control, solved: Solved) -> None:
    """Progress of a batch: one report per problem where somebody listens."""
    if control.callback is None and not control.watchers:
        return
    steps = np.cumsum(solved.steps)
    for p, certificate in enumerate(solved.certificates):
        _report(control, int(steps[p]), certificate, int(solved.n_support[p]))


def _report(control: Control, steps: int, certificate: Certificate, n_support: int) -> None:
    control.report(
        steps,
        certificate.violation,
        n_support,
        primal=certificate.primal,
        dual=certificate.dual,
        norm=certificate.norm,
    )


def _finished(context: FitContext, solved: Solved, p: int) -> BinaryModel:
    """A problem that the batch left unfinished, by the general solver; the batch's arrays take the result."""
    posed = solved.posed
    variables = slice(posed.at[p], posed.at[p + 1])
    y = posed.target[variables]
    rows = posed.rows(p)
    problem = c_svc(y, posed.upper[variables] - posed.lower[variables])
    solver, _ = choose_solver(context.solver, problem)
    gram = context.gram_of(rows)
    control = context.control.of_one()
    model = _after_batch(context, Subproblem(rows, problem, solved.a[variables].copy()), solver, gram, control)
    solved.a[variables], solved.f[variables] = model.solution.a, model.f
    solved.offset[p, 0] = -model.intercept
    solved.certificates.replace(p, model.certificate)
    solved.steps[p] += model.solution.n_iter
    solved.n_support[p] = np.count_nonzero(model.solution.a)
    solved.evaluations[p] += 0 if gram is context.gram else gram.evaluations
    return model
