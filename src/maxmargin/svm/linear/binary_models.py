"""The problems of a linear fit: their solution and certification, the outcome, and the state of a warm start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.problems.certificate import Certificate
from maxmargin.problems.l1 import L1Problem, certify_l1
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import PrimalCertificate, certify
from maxmargin.runtime.canonical_rows import places_among
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.lanes import solve_together
from maxmargin.solvers.registry import linear_fallback
from maxmargin.solvers.run import LinearSolution, Start
from maxmargin.solvers.small_linear import is_small, solve_small
from maxmargin.svm.linear.rows import TrainingRows
from maxmargin.svm.report import SolverUsed

CERTIFY_MAX_REPEATS = 3  # times a solver is resumed because its certificate, computed separately, misses tol


@dataclass(frozen=True)
class SolvedProblem:
    """One problem of a fit, its solution and certificate."""

    problem: PrimalProblem
    solution: LinearSolution
    certificate: PrimalCertificate


def solve_certified(
    problem: PrimalProblem, solver: LinearSolver, *, tol: float, control: Control, start: Start | None, seed: int
) -> SolvedProblem:
    """Solve until the certificate says that the relative gap is at most ``tol``, or the solver ends otherwise."""
    n_iter, goal = 0, tol
    for _ in range(CERTIFY_MAX_REPEATS):
        solution = solver.solve_linear(problem, tol=goal, control=control, start=start, random_state=seed)
        n_iter += solution.n_iter
        certificate = _certificate(problem, solution, control)
        met = certificate.relative_gap <= tol
        if met or solution.status is not Status.OPTIMAL:
            break
        start, goal = Start(solution.w, solution.b, solution.beta), 0.1 * goal
    status = Status.OPTIMAL if met else Status.STALLED if solution.status is Status.OPTIMAL else solution.status
    return SolvedProblem(problem, replace(solution, status=status, n_iter=n_iter), certificate)


def _certificate(problem: PrimalProblem, solution: LinearSolution, control: Control) -> PrimalCertificate:
    found = (solution.w, solution.b, solution.beta)
    if isinstance(problem, L1Problem):
        return certify_l1(problem, *found)
    return certify(problem, *found, solution.f, made=solution.made, suggest=control.stop() is None)


def solve_by_epochs(
    problem: PrimalProblem, max_passes: float, *, tol: float, control: Control, seed: int
) -> SolvedProblem | Start | None:
    """The solution by epochs of coordinate descent; where more than ``max_passes`` over all rows seem to be needed, the
    point where they were given up, or None if that is no good start."""
    from maxmargin.solvers.coordinate_descent import CoordinateDescent  # imported by fits that need it

    solver = CoordinateDescent(max_passes=max_passes)
    solution = solver.solve_linear(problem, tol=tol, control=control, random_state=seed)
    if solution.status is Status.MAX_ITER:
        return None if solution.beta is None else Start(solution.w, solution.b)
    model = SolvedProblem(problem, solution, _certificate(problem, solution, control))
    if solution.status is not Status.OPTIMAL or model.certificate.relative_gap <= tol:
        return model
    start = Start(solution.w, solution.b, solution.beta)
    more = solve_certified(problem, linear_fallback(), tol=tol, control=control, start=start, seed=seed)
    return _continued(solution, more)


def continue_stalled(model: SolvedProblem, *, tol: float, control: Control, seed: int) -> SolvedProblem:
    """Where a method of square systems has lost its digits before ``tol``, coordinate descent, which forms none, goes
    on from its solution; the better of the two."""
    problem, before = model.problem, model.solution
    by_columns = problem.design.sparse and problem.X.format != "csr"
    if before.status is not Status.STALLED or problem.hard_margin or problem.form != "linear" or by_columns:
        return model
    start = Start(before.w, before.b, before.beta)
    more = solve_certified(problem, linear_fallback(), tol=tol, control=control, start=start, seed=seed)
    if more.certificate.relative_gap >= model.certificate.relative_gap:
        return model
    return _continued(before, more)


def _continued(before: LinearSolution, more: SolvedProblem) -> SolvedProblem:
    """A model with the iterations and the history of the solution that it started from."""
    history = before.history.continued(more.solution.history, before.n_iter)
    return replace(more, solution=replace(more.solution, n_iter=before.n_iter + more.solution.n_iter, history=history))


def solve_at_once(problem: PrimalProblem, solver: LinearSolver, tol: float, control: Control) -> SolvedProblem | None:
    """A small dense problem in one compiled call of the solver's method; None where there is none, or it does not reach
    ``tol``."""
    suits = solver.solves_small(problem) and is_small(problem) and control.stop() is None
    found = solve_small(problem, tol, control) if suits else None
    return None if found is None else SolvedProblem(problem, *found)


def solve_side_by_side(
    problems: Sequence[PrimalProblem],
    bound: Array,
    own: Array,
    *,
    tol: float,
    control: Control,
    starts: Sequence[Start | None],
    seeds: Sequence[int],
    threads: int,
) -> list[SolvedProblem]:
    """The one-vs-rest models of the same CSR rows: all at once in single precision, then each that has not converged
    on its own."""
    solutions = solve_together(
        problems, bound, own, tol=tol, control=control, starts=starts, seed=seeds[0], threads=threads
    )
    models: list[SolvedProblem | None] = [None] * len(problems)

    def work(k: int) -> None:
        problem, solution = problems[k], solutions[k]
        found = (solution.w, solution.b, solution.beta, solution.f)
        certificate = certify(problem, *found, made=solution.made, suggest=control.stop() is None)
        if certificate.relative_gap <= tol:
            solution = replace(solution, status=Status.OPTIMAL)
        elif control.stop() is None and solution.status is not Status.MAX_ITER:
            start = Start(solution.w, solution.b, solution.beta)
            more = solve_certified(
                problem, linear_fallback(), tol=tol, control=control.of_one(), start=start, seed=seeds[k]
            )
            models[k] = _continued(solution, more)
            return
        models[k] = SolvedProblem(problem, solution, certificate)

    run_tiles(work, len(problems), threads)
    return [model for model in models if model is not None]


@dataclass(frozen=True)
class LinearOutcome:
    """The outcome of a fit, for every multiclass scheme."""

    # coef, intercept: shape (models, d) and (models,)
    coef: Array
    intercept: Array
    certificates: Sequence[Certificate]  # one per problem
    solver: SolverUsed
    status: Status  # the first that is not optimal, or optimal
    n_iter: Array
    history: History
    support: Array  # bool: the rows that are a support vector of any model
    advice: str = ""
    decision: Array | None = None  # shape (n_rows, models), decision values of the rows, or None

    @property
    def margins(self) -> Array:
        """2 / |w| of each problem."""
        return np.array([2.0 / c.norm if c.norm > 0 else math.inf for c in self.certificates])


def collect_outcome(
    models: Sequence[SolvedProblem | None], solver: SolverUsed, constant: Array, n_features: int, n_rows: int
) -> LinearOutcome:
    """The outcome of independent models; None stands for a decision that is ``constant``."""
    solved = [model for model in models if model is not None]
    coef, intercept = np.zeros((len(models), n_features)), constant.copy()
    support = np.zeros(n_rows, bool)
    for k, model in enumerate(models):
        if model is not None:
            coef[k], intercept[k] = model.solution.w, model.solution.b
            support |= model.certificate.support
    known = [model.solution.f for model in solved if model.solution.f is not None]
    decision = np.stack(known, axis=1) + intercept if len(known) == len(models) else None
    histories = [History() if model is None else model.solution.history for model in models]
    failed = [model.solution for model in solved if not model.solution.status.converged]
    return LinearOutcome(
        coef=coef,
        intercept=intercept,
        certificates=[model.certificate for model in solved],
        solver=solver,
        status=failed[0].status if failed else Status.OPTIMAL,
        n_iter=np.array([0 if model is None else model.solution.n_iter for model in models]),
        history=History.deferred(lambda: History.joined(histories)),
        support=support,
        advice=failed[0].advice if failed else "",
        decision=decision,
    )


@dataclass(frozen=True)
class WarmStart:
    """The state of a warm start: each model's w, b and multipliers, and the keys of their rows."""

    key: Array
    coef: Array
    intercept: Array
    filled: Array

    @classmethod
    def of(cls, rows: TrainingRows, models: Sequence[SolvedProblem | None]) -> WarmStart | None:
        """The memory of models that were all solved; None if one was not. Multipliers are kept in units of their
        row's weight, where that is finite, so that another C can use them."""
        solved = [model for model in models if model is not None]
        if len(solved) < len(models):
            return None
        return cls(
            key=rows.key,
            coef=np.array([model.solution.w for model in solved]),
            intercept=np.array([model.solution.b for model in solved]),
            filled=np.array([model.certificate.beta / _unit(model.problem) for model in solved]),
        )

    def starts(self, rows: TrainingRows, problems: Sequence[PrimalProblem]) -> list[Start | None]:
        """The starts of these problems: multipliers of the rows that occurred in the last fit, zero for others."""
        if self.coef.shape != (len(problems), rows.X.shape[1]):
            return [None] * len(problems)
        at = places_among(self.key, rows.key)
        return [
            Start(w, float(b), np.where(at >= 0, filled[at] * _unit(problem), 0.0))
            for w, b, filled, problem in zip(self.coef, self.intercept, self.filled, problems, strict=True)
        ]


def _unit(problem: PrimalProblem) -> Array:
    return np.where(np.isfinite(problem.weight) & (problem.weight > 0), problem.weight, 1.0)
