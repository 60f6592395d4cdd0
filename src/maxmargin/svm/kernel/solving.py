"""Solve and certify the problems of a fit.

    batch      small problems with a finite C and an intercept: one compiled call (:mod:`maxmargin.svm.kernel.batch`)
    solver     everything else, and what a batch leaves unfinished, from where it is: problem by problem, several at a
               time, each over its own part of the Gram operator

Whoever solves, the certificate is computed from float64 values of f; a solver that misses tol by it is sent on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels import Precomputed
from maxmargin.kernels.gram.operator import Gram, StoredGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem, c_svc
from maxmargin.problems.verification import settled, verified
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers import Solution, Solver, choose_solver
from maxmargin.svm.kernel import batch
from maxmargin.svm.kernel.batch import KernelValues, Posed, Solved
from maxmargin.svm.kernel.coefficients import Machine
from maxmargin.svm.kernel.hard_margin import solve_hard_margin
from maxmargin.svm.kernel.training import ABREAST, TrainingSet

SERIAL_MAX_ROWS = 500  # rows of a problem up to which threads cost more than they bring
CERTIFICATE_ATTEMPTS = 3  # times a solver is resumed because the certificate, computed from scratch, was not met
UNCAUGHT_MAX_PRODUCTS = 2e7  # multiplications of a batch that is over in milliseconds: Ctrl-C raises as before the fit
BATCH_REASON = "small problems are solved together in one compiled call"


@dataclass(frozen=True)
class Subproblem:
    """One problem of a fit: its canonical rows, and where to start (None: at the problem's own start)."""

    rows: Array
    problem: DualProblem
    start: Array | None = None


@dataclass(frozen=True)
class Method:
    """How problems are solved: the solver's name as the user gave it, tol, and labels for messages."""

    solver: str
    tol: float
    classes: Array | None = None


@dataclass(frozen=True)
class SolverUsed:
    """For the report: which solver, why, and the kernel values it computed."""

    name: str
    reason: str
    evaluations: int


NOTHING_SOLVED = SolverUsed("none", "only one class has weight, so there is nothing to solve", 0)


def solve_subproblems(
    data: TrainingSet, method: Method, posed: Sequence[Subproblem], gram_of: Callable[[int], Gram] | None = None
) -> tuple[list[Machine], SolverUsed]:
    """Solve and certify every problem, several at a time; ``gram_of`` gives the operator of a problem's rows."""
    if not posed:
        return [], NOTHING_SOLVED
    solver, reason = choose_solver(method.solver, posed[0].problem)
    models: list[Machine] = [None] * len(posed)  # type: ignore[list-item]
    evaluations, batched = [0] * len(posed), [False] * len(posed)
    share = data.budget / min(ABREAST, len(posed))

    def work(t: int) -> None:
        sub = posed[t]
        stopped = data.control.stop()
        if stopped is not None and sub.start is None and not (sub.problem.hard_margin or sub.problem.totals.any()):
            models[t] = untouched(sub, stopped)
            return
        control = data.control.of_one()
        if method.solver == "auto" and gram_of is None:
            model, count, start = _solved_alone(data, method, sub, control, share)
            evaluations[t] += count
            if model is not None:
                models[t], batched[t] = model, True
                return
            sub = replace(sub, start=start)
        gram = (
            gram_of(t) if gram_of is not None else data.gram if len(sub.rows) == data.n else data.gram.subset(sub.rows)
        )
        before, gram.budget = gram.evaluations, share
        with single_threaded_blas():
            models[t] = solve_one(data, method, sub, solver, gram, control)
        evaluations[t] += 0 if gram is data.gram else gram.evaluations - before

    rows_each = np.mean([len(sub.rows) for sub in posed])
    run_tiles(work, len(posed), min(ABREAST, data.threads) if rows_each > SERIAL_MAX_ROWS else 1)
    if "gram" in data.__dict__:
        data.gram.budget = data.budget
    name, reason = ("batch", BATCH_REASON) if all(batched) else (solver.name, reason)
    return models, SolverUsed(name, reason, data.evaluations + sum(evaluations))


def kernel_values(data: TrainingSet, largest: int) -> tuple[KernelValues | None, Array | None]:
    """Kernel values of a fit's rows for a batch whose largest problem has so many variables, and the rows of them that
    the canonical rows are (None: the same)."""
    if isinstance(data.kernel, Precomputed):
        at = data.rows.representative
        K = data.X if isinstance(data.X, np.ndarray) else data.gram.stored()[0]
        return KernelValues.of_matrix(K), at
    values = KernelValues.of_points(data.kernel, data.X, largest)
    if values is None and data.n <= batch.PROBLEM_MAX_ROWS and isinstance(data.gram, StoredGram):
        K, index = data.gram.stored()
        return KernelValues.of_matrix(K, data.defined_values(np.arange(data.n))), index
    return values, None


def _solved_alone(
    data: TrainingSet, method: Method, sub: Subproblem, control: Control, budget: float
) -> tuple[Machine | None, int, Array | None]:
    """A problem as a batch of one: the model, the kernel values computed, and where another solver should go on."""
    problem = sub.problem
    posed = batch.one_problem(problem) if problem.n_variables <= batch.PROBLEM_MAX_ROWS else None
    if posed is None or control.stop() is not None:
        return None, 0, sub.start
    values, index = kernel_values(data, posed.largest)
    if not batch.suits(posed, values, budget):
        return None, 0, sub.start
    assert values is not None
    start = problem.start() if sub.start is None else problem.feasible(sub.start)
    order = posed.order
    at = sub.rows[order] if index is None else index[sub.rows[order]]
    permuted = posed.kind == "nu_svc"
    begin = None if sub.start is None and not problem.totals.any() else start[order] if permuted else start
    solved = batch.solve_posed(
        replace(posed, order=at),
        values,
        tol=method.tol,
        control=control,
        budget=budget,
        threads=data.threads,
        start=begin,
    )
    a, f = solved.a, solved.f[: problem.n_rows]
    if permuted:
        a, f = np.empty_like(a), np.empty_like(f)
        a[order], f[order] = solved.a, solved.f
    status = batch.STATUSES.get(int(solved.status[0]))
    evaluations = int(solved.evaluations[0])
    if status is None:
        return None, evaluations, a
    steps = int(solved.steps[0])
    certificate = solved.certificate(0)
    control.report(
        steps,
        certificate.violation,
        int(solved.n_support[0]),
        primal=certificate.primal,
        dual=certificate.dual,
        norm=certificate.norm,
    )
    offset = solved.offset[0, : len(problem.totals)]
    solution = Solution(a, f, status, steps, fresh=True)
    return (
        Machine(sub.rows, problem, solution, certificate, f, *problem.intercept(offset), control.seen),
        evaluations,
        None,
    )


def solve_one(
    data: TrainingSet, method: Method, sub: Subproblem, solver: Solver, gram: Gram, control: Control
) -> Machine:
    """Solve one problem; a certificate that misses tol sends the solver on, with half the tol it had."""
    problem, start, n_iter, tol = sub.problem, sub.start, 0, method.tol
    values = data.defined_values(sub.rows)
    for attempt in range(CERTIFICATE_ATTEMPTS):
        if problem.hard_margin:
            own = replace(data, control=control)
            solution = solve_hard_margin(solver, problem, gram, tol, own, sub.rows, start, method.classes)
        else:
            solution = solver.solve(problem, gram, tol=tol, control=control, start=start)
        n_iter += solution.n_iter
        f, a = solution.f, solution.a
        if not solution.fresh:
            f = optimality.audited(problem, a, f, gram, finished=solution.status.converged)
        f = verified(problem, a, f, values)
        offset = optimality.offsets(problem, a, problem.gradient(f, a))
        certificate = optimality.certify(problem, a, f, offset)
        status = settled(solution.status, certificate, float(np.abs(a).sum()), method.tol * problem.tol_scale)
        if status is solution.status or status.converged or attempt == CERTIFICATE_ATTEMPTS - 1:
            break
        start, tol = a, 0.5 * tol
    solution = replace(solution, n_iter=n_iter, status=status)
    return Machine(sub.rows, problem, solution, certificate, f, *problem.intercept(offset), control.seen)


def untouched(sub: Subproblem, status: Status) -> Machine:
    """The model of a problem that a stopped fit did not come to: all variables are zero, and so is f."""
    a, f = sub.problem.start(), np.zeros(sub.problem.n_rows)
    offset = optimality.offsets(sub.problem, a, sub.problem.gradient(f, a))
    certificate = optimality.certify(sub.problem, a, f, offset)
    return Machine(sub.rows, sub.problem, Solution(a, f, status, 0), certificate, f, *sub.problem.intercept(offset))


# ------------------------------------------------------------ many classes in one batch


def solve_classes(data: TrainingSet, method: Method, posed: Posed) -> tuple[Solved, Status, SolverUsed] | None:
    """C-SVC problems with finite bounds as one batch; None where another way is better. What the batch leaves
    unfinished is solved one by one; ``posed.order`` are canonical rows."""
    values, index = kernel_values(data, posed.largest)
    if not batch.suits(posed, values, data.budget):
        return None
    assert values is not None
    with data.control.catching_interrupts() if batch.products(posed, values) > UNCAUGHT_MAX_PRODUCTS else nullcontext():
        solved = batch.solve_posed(
            posed, values, tol=method.tol, control=data.control, budget=data.budget, threads=data.threads, index=index
        )
        _report_batch(data.control, solved)
        status = Status.OPTIMAL
        if solved.status.any():
            status = _finish_batch(data, method, solved)
    return solved, status, SolverUsed("batch", BATCH_REASON, data.evaluations + int(solved.evaluations.sum()))


def _finish_batch(data: TrainingSet, method: Method, solved: Solved) -> Status:
    """Solve what the batch left unfinished, one by one; the status of the fit."""
    left = np.flatnonzero((solved.status != batch.OPTIMAL) & (solved.status != batch.MAX_STEPS))
    status = Status.MAX_ITER if (solved.status == batch.MAX_STEPS).any() else Status.OPTIMAL
    for p in left:
        stopped = data.control.stop()
        if stopped is not None and solved.status[p] == batch.NOT_BEGUN:
            status = stopped
            continue
        with single_threaded_blas():
            model = _finished(data, method, solved, int(p))
        if not model.solution.status.converged:
            status = model.solution.status
    return status


def _report_batch(control: Control, solved: Solved) -> None:
    """Progress of a batch: one report per problem where somebody listens."""
    if control.callback is None and not control.watchers:
        return
    steps = np.cumsum(solved.steps)
    for p in range(len(steps)):
        control.report(
            int(steps[p]),
            float(solved.violation[p]),
            int(solved.n_support[p]),
            primal=float(solved.primal[p]),
            dual=float(solved.dual[p]),
            norm=float(solved.norm[p]),
        )


def _finished(data: TrainingSet, method: Method, solved: Solved, p: int) -> Machine:
    """A problem that the batch left unfinished, by the general solver; the batch's arrays take the result."""
    posed = solved.posed
    variables = slice(posed.at[p], posed.at[p + 1])
    y = posed.target[variables]
    rows = posed.rows(p)
    problem = c_svc(y, posed.upper[variables] - posed.lower[variables])
    solver, _ = choose_solver(method.solver, problem)
    gram = data.gram if len(rows) == data.n and np.array_equal(rows, np.arange(data.n)) else data.gram.subset(rows)
    control = data.control.of_one()
    model = solve_one(data, method, Subproblem(rows, problem, solved.a[variables].copy()), solver, gram, control)
    solved.a[variables], solved.f[variables] = model.solution.a, model.f
    solved.offset[p, 0] = -model.intercept
    certificate = model.certificate
    solved.violation[p], solved.primal[p], solved.dual[p] = certificate.violation, certificate.primal, certificate.dual
    solved.stationarity[p], solved.outside[p] = certificate.stationarity, certificate.dual_infeasibility
    solved.complementarity[p], solved.norm[p] = certificate.complementarity, certificate.norm
    solved.steps[p] += model.solution.n_iter
    solved.n_support[p] = np.count_nonzero(model.solution.a)
    solved.evaluations[p] += 0 if gram is data.gram else gram.evaluations
    return model


def models_of(solved: Solved) -> list[Machine]:
    """The problems of a batch one by one, for steps that take them so."""
    posed, models = solved.posed, []
    for p in range(posed.n_problems):
        variables = slice(posed.at[p], posed.at[p + 1])
        problem = c_svc(posed.target[variables], posed.upper[variables] - posed.lower[variables])
        status = batch.STATUSES.get(int(solved.status[p]), Status.OPTIMAL)
        solution = Solution(solved.a[variables], solved.f[variables], status, int(solved.steps[p]), fresh=True)
        models.append(
            Machine(
                posed.rows(p), problem, solution, solved.certificate(p), solution.f, float(solved.intercept[p]), 0.0
            )
        )
    return models
