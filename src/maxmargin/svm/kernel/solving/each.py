"""Solve and certify the problems of a fit.

    batch      small problems with a finite C and an intercept: one compiled call
    near       updates of a nearby solution
    alone      everything else, and what a batch leaves unfinished, from where it is: problem by problem, several at a
               time, each over its own part of the Gram operator

The last two and the solvers that they need are imported when a problem needs them: most fits are one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels import Precomputed
from maxmargin.kernels.gram.operator import Gram, StoredGram
from maxmargin.problems import optimality
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.dual import c_svc
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers.solution import Solution
from maxmargin.svm.kernel.context import CONCURRENT_PROBLEMS, FitContext
from maxmargin.svm.kernel.solving import batch
from maxmargin.svm.kernel.solving.batch import KernelValues, Posed, Solved
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, SolvedProblems, Subproblem
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.report import SolverUsed

SERIAL_MAX_ROWS = 500  # rows of a problem up to which threads cost more than they bring
NEAR_MIN_ROWS = 1_000  # of an update of a nearby solution; below, the general way takes a few milliseconds
# Rows of a problem alone up to which a batch is the fastest way, where rows are short or long (measured on magic,
# covtype, spambase; a9a, mnist). Beyond, its steps, which run over all rows, cost more than those of working sets: six
# times as much on 5,000 rows of a9a.
ALONE_MAX_ROWS, WIDE_ALONE_MAX_ROWS = 2_400, 4_000
# A larger problem is tried as a batch first: few support vectors take less time than one working set, and one of long
# rows without all of K. A trial has at most so many steps, and ends after the first of the two numbers if more than the
# second became support vectors in the last 32 of them: on sets of 2,000 to 5,000 rows, 35 to 64 of short rows and 15 or
# 16 of long ones in the first 8 steps; where few steps sufficed, up to 27, and up to 12.
TRIAL_STEPS, TRIAL, WIDE_TRIAL = 500, (160, 32, False), (8, 13, True)
UNCHECKED, CHECKED_MIN_FEATURES = (TRIAL_STEPS + 1, 0, False), 32  # of shorter rows all steps of a trial cost little
WIDE_TRIAL_MIN_ROWS = 1_500  # below, all of K takes little
TRIAL_MAX_SUPPORT = 300  # of the start (nu-SVC: nu times the rows), beyond which no trial ends in time
BATCH_REASON = "small problems are solved together in one compiled call"


NOTHING_SOLVED = SolverUsed("none", "only one class has weight, so there is nothing to solve", 0)


def solve_subproblems(
    context: FitContext, posed: Sequence[Subproblem], gram_of: Callable[[int], Gram] | None = None
) -> tuple[list[BinaryModel], SolverUsed]:
    """Solve and certify every problem, several at a time; ``gram_of`` gives the operator of a problem's rows. Several
    functions of the same rows (one array ``rows``) share their kernel values; each is solved as if it were alone."""
    if not posed:
        return [], NOTHING_SOLVED
    used = _requested_solver(context, posed[0]) if context.solver != "auto" else None
    models: list[BinaryModel] = [None] * len(posed)  # type: ignore[list-item]
    evaluations, batched = [0] * len(posed), [False] * len(posed)
    together = len(posed) > 1 and all(sub.rows is posed[0].rows for sub in posed)
    share = context.budget if together else context.budget / min(CONCURRENT_PROBLEMS, len(posed))
    batches = context.solver == "auto" and gram_of is None
    attempts = _solve_as_batch(context, posed, context.control, share) if together and batches else None

    def work(t: int) -> None:
        sub, attempt = posed[t], None if attempts is None else attempts[t]
        has_start = sub.start is not None or (attempt is not None and not attempt.untried)
        idle = not has_start and not (sub.problem.hard_margin or sub.problem.totals.any())
        stopped = context.control.stop()
        if stopped is not None and idle:
            models[t] = untouched(sub, stopped)
            return
        control = context.control if len(posed) == 1 else context.control.of_one()
        if context.solver == "auto" and sub.start is not None and len(sub.rows) >= NEAR_MIN_ROWS:
            gram = context.gram_of(sub.rows) if gram_of is None else gram_of(t)
            from maxmargin.svm.kernel.solving.near import solve_near

            with single_threaded_blas():
                near = solve_near(context, sub, lambda posed: kernel_values(context, posed), gram, control)
            if near is not None:
                models[t], evaluations[t] = near
                batched[t] = True
                return
        if batches:
            if attempt is None:
                attempt = _solve_as_batch(context, [sub], control, share)[0]
            evaluations[t] += attempt.evaluations
            if attempt.model is not None:
                models[t], batched[t] = attempt.model, True
                return
            sub = replace(sub, start=attempt.start)
        if idle and len(posed) == 1 and gram_of is None and context.gram_in_time() is None:
            models[t] = untouched(sub, context.control.stop() or Status.DEADLINE)
            return
        from maxmargin.svm.kernel.solving.alone import solve_alone

        gram = context.gram_of(sub.rows) if gram_of is None else gram_of(t)
        before, gram.budget = gram.evaluations, share
        with single_threaded_blas():
            models[t] = solve_alone(context, sub, gram, control)
        evaluations[t] += 0 if gram is context.gram else gram.evaluations - before

    serial = together or sum(len(sub.rows) for sub in posed) <= SERIAL_MAX_ROWS * len(posed)
    run_tiles(work, len(posed), 1 if serial else min(CONCURRENT_PROBLEMS, context.threads))
    if context.gram_in_use is not None:
        context.gram_in_use.budget = context.budget
    name, reason = ("batch", BATCH_REASON) if all(batched) else used or _requested_solver(context, posed[0])
    reason = "; ".join([reason, *dict.fromkeys(model.solution.note for model in models if model.solution.note)])
    return models, SolverUsed(name, reason, context.evaluations + sum(evaluations))


def _requested_solver(context: FitContext, sub: Subproblem) -> tuple[str, str]:
    """The name of the solver for a problem, and why it was chosen; refused where it cannot solve it."""
    from maxmargin.solvers.registry import choose_solver

    solver, reason = choose_solver(context.solver, sub.problem)
    return solver.name, reason


def kernel_values(context: FitContext, posed: Posed) -> tuple[KernelValues | None, Array | None]:
    """Kernel values of a fit's rows for a batch of problems, and which of their rows the canonical rows are (None: the
    same ones)."""
    if isinstance(context.kernel, Precomputed):
        at = context.rows.representative
        K = context.X if isinstance(context.X, np.ndarray) else context.gram.stored()[0]
        return KernelValues.of_matrix(K), at
    values = KernelValues.of_points(context.kernel, context.X, posed)
    if values is None and context.n <= batch.PROBLEM_MAX_ROWS and isinstance(context.gram, StoredGram):
        K, index = context.gram.stored()
        return KernelValues.of_matrix(K, context.defined_values(np.arange(context.n))), index
    return values, None


def fastest_alone(posed: Posed, values: KernelValues) -> bool:
    """Whether a batch beats working sets also if the problem is the only one. Problems that share their kernel values
    are faster together, and regression takes the same way for one target as for several."""
    if posed.n_problems > 1 or posed.kind not in ("c_svc", "nu_svc", "one_class") or not values.features:
        return True
    row_length = len(values.points[2]) / max(1, len(values.points[0]) - 1) if values.sparse else values.features
    wide = row_length >= batch.WIDE_MIN_FEATURES
    if wide and values.sparse:  # text: working sets would compute long rows again and again
        return True
    return posed.largest <= (WIDE_ALONE_MAX_ROWS if wide else ALONE_MAX_ROWS)


def _solve_posed(
    context: FitContext,
    posed: Posed,
    values: KernelValues,
    control: Control,
    budget: float,
    start: Array | None,
    index: Array | None,
    to_the_end: bool,
    known: tuple[Array, Array] | None = None,
) -> Solved:
    """Solve a batch, after a trial where that pays; as a trial only, unless ``to_the_end``."""
    wide = posed.n_problems == 1 and values.features >= batch.WIDE_MIN_FEATURES and not values.sparse
    trial = (0, 0, False)
    if not to_the_end and not 0 <= control.max_iter <= TRIAL_STEPS:
        trial = TRIAL if values.features >= CHECKED_MIN_FEATURES else UNCHECKED
        control = replace(control, max_iter=TRIAL_STEPS)
    elif to_the_end and wide:  # with one thread and with several: K in blocks is not that of a lattice
        trial = WIDE_TRIAL if posed.largest >= WIDE_TRIAL_MIN_ROWS else (0, 0, True)
    return batch.solve_posed(
        posed,
        values,
        tol=context.tol,
        control=control,
        budget=budget,
        threads=context.threads,
        start=start,
        known=known,
        index=index,
        trial=trial,
    )


@dataclass(frozen=True)
class BatchAttempt:
    """What came of a problem as a batch of one: a model, or where another solver should go on."""

    model: BinaryModel | None
    start: Array | None
    evaluations: int = 0

    @property
    def untried(self) -> bool:
        return self.model is None and self.start is None


def _solve_as_batch(
    context: FitContext, subs: Sequence[Subproblem], control: Control, budget: float
) -> list[BatchAttempt]:
    """Problems over the same rows as one batch."""
    rows, problem = subs[0].rows, subs[0].problem
    posed = None
    if problem.n_variables <= batch.PROBLEM_MAX_ROWS:
        posed = batch.over_the_same_rows([sub.problem for sub in subs])
    unsolved = [BatchAttempt(None, sub.start) for sub in subs]
    if posed is None or control.stop() is not None:
        return unsolved
    values, index = kernel_values(context, posed)
    if not batch.suits(posed, values, budget):
        return unsolved
    assert values is not None
    to_the_end = fastest_alone(posed, values)
    begin = None
    if any(sub.start is not None or sub.problem.totals.any() for sub in subs):
        starts = [s.problem.start() if s.start is None else s.problem.feasible(s.start) for s in subs]
        begin = starts[0][posed.order] if posed.kind == "nu_svc" else np.concatenate(starts)
        if not to_the_end and np.count_nonzero(begin) > TRIAL_MAX_SUPPORT:
            return unsolved
    solved = _solve_posed(
        context, posed, values, control, budget, begin, rows if index is None else index[rows], to_the_end
    )
    alone = len(subs) == 1
    return [_attempt(sub, solved, p, control if alone else control.of_one()) for p, sub in enumerate(subs)]


def _attempt(sub: Subproblem, solved: Solved, p: int, control: Control) -> BatchAttempt:
    """What came of problem p of a batch."""
    problem, variables = sub.problem, slice(solved.posed.at[p], solved.posed.at[p + 1])
    a, f = solved.a[variables], solved.f[variables][: problem.n_rows]
    if solved.posed.kind == "nu_svc":  # its rows are sorted by class
        a, f = np.empty_like(a), np.empty_like(f)
        a[solved.posed.order], f[solved.posed.order] = solved.a, solved.f
    status = batch.STATUSES.get(int(solved.status[p]))
    evaluations = int(solved.evaluations[p])
    if status is None:
        return BatchAttempt(None, a, evaluations)
    steps = int(solved.steps[p])
    certificate = solved.certificates[p]
    _report(control, steps, certificate, int(solved.n_support[p]))
    offset = solved.offset[p, : len(problem.totals)]
    solution = Solution(a, f, status, steps, fresh=True)
    model = BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.reports)
    return BatchAttempt(model, None, evaluations)


def untouched(sub: Subproblem, status: Status) -> BinaryModel:
    """The model of a problem that a stopped fit did not come to: all variables are zero, and so is f."""
    a, f = sub.problem.start(), np.zeros(sub.problem.n_rows)
    with single_threaded_blas():  # a second thread for sums of this size costs more than the sums
        offset = optimality.offsets(sub.problem, a, sub.problem.gradient(f, a))
        certificate = optimality.certify(sub.problem, a, f, offset)
    return BinaryModel(sub.rows, sub.problem, Solution(a, f, status, 0), certificate, f, *sub.problem.scalars(offset))


# ------------------------------------------------------------ many classes in one batch


def solve_pairs(
    context: FitContext, rows: Array, bounds: Array, n_classes: int, warm_start: WarmStart | None
) -> SolvedProblems | None:
    """C-SVC of all pairs of classes, over canonical rows with finite bounds, as one batch; None where another way is
    better. What the batch leaves unfinished is solved one by one."""
    posed = batch.pairs_of_classes(context.target[rows], bounds, n_classes)
    if len(rows) < context.n:
        posed = replace(posed, order=rows[posed.order])
    values, index = kernel_values(context, posed)
    if not batch.suits(posed, values, context.budget):
        return None
    assert values is not None
    if not fastest_alone(posed, values):
        return None
    start, known = (None, None) if warm_start is None else warm_start.start_of_pairs(context, posed)
    solved = _solve_posed(context, posed, values, context.control, context.budget, start, index, True, known)
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
        steps, certificate.violation, n_support, primal=certificate.primal, dual=certificate.dual, norm=certificate.norm
    )


def _finished(context: FitContext, solved: Solved, p: int) -> BinaryModel:
    """A problem that the batch left unfinished, by the general solver; the batch's arrays take the result."""
    from maxmargin.svm.kernel.solving.alone import solve_alone

    posed = solved.posed
    variables = slice(posed.at[p], posed.at[p + 1])
    y = posed.target[variables]
    rows = posed.rows(p)
    problem = c_svc(y, posed.upper[variables] - posed.lower[variables])
    gram = context.gram_of(rows)
    control = context.control.of_one()
    model = solve_alone(context, Subproblem(rows, problem, solved.a[variables].copy()), gram, control)
    solved.a[variables], solved.f[variables] = model.solution.a, model.f
    solved.offset[p, 0] = -model.intercept
    solved.certificates.replace(p, model.certificate)
    solved.steps[p] += model.solution.n_iter
    solved.n_support[p] = np.count_nonzero(model.solution.a)
    solved.evaluations[p] += 0 if gram is context.gram else gram.evaluations
    return model
