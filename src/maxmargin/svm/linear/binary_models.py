"""The binary machines of a fit: their rows, solving and certifying each, and what came of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.canonical_rows import canonical_rows, row_hashes
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.linear.base import LinearSolution, LinearSolver, Start
from maxmargin.solvers.linear.certificate import LinearCertificate, certify
from maxmargin.solvers.linear.coordinate_descent import CoordinateDescent
from maxmargin.solvers.linear.l1 import L1Problem, certify_l1
from maxmargin.solvers.linear.lanes import solve_together
from maxmargin.solvers.linear.problem import LinearProblem

SMALL = 2_000_000  # entries of X up to which equal rows are merged, and sorted by content
SPARSE = 0.2  # share of the entries up to which only those that are not zero are kept,
DENSE = 250_000  # but for so few that all of them cost nothing
REPEATS = 3  # times a solver is resumed because its certificate, computed apart, was not met


@dataclass(frozen=True)
class TrainingRows:
    """The rows that have weight.

    Attributes
    ----------
    X, target, weight : arrays
    member_of : array
        For each input row its place among these, or -1.
    key : array
        A hash of each row's content and target.
    """

    X: Points
    target: Array
    weight: Array
    member_of: Array
    key: Array


def training_rows(X: Points, target: Array, weights: Array, *, keys: bool) -> TrainingRows:
    """Small data in canonical form, so that a weight of two equals a repetition to the last bit; large data as it is,
    without the rows of weight zero. ``keys`` says whether the hashes are needed in any case."""
    if (X.nnz if sp.issparse(X) else X.size) <= SMALL:
        X = X.tocsr() if sp.issparse(X) else X
        rows = canonical_rows(X, target, weights)
        at, key = rows.representative, rows.key
        X, weight, member_of = _form(X[at]), rows.weight, rows.member_of
    else:
        at = np.flatnonzero(weights > 0)
        member_of = np.full(len(weights), -1)
        member_of[at] = np.arange(len(at))
        if len(at) < len(weights) or keys:  # rows are to be picked, or told apart
            X = X.tocsr() if sp.issparse(X) else X
        X, weight = X if len(at) == len(weights) else X[at], weights[at]
        key = row_hashes(X) if keys else np.zeros(len(at), np.uint64)
    salt = target[at].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return TrainingRows(X, target[at], weight, member_of, key ^ salt)


def _form(X: Points) -> Points:
    """Dense or CSR by the share of entries that are not zero, whichever form X came in: both make the same machine."""
    n, d = X.shape
    filled = X.nnz if sp.issparse(X) else np.count_nonzero(X[:: max(1, n // 2000)]) * max(1, n // 2000)
    if n * d <= DENSE or d <= 16 or filled > SPARSE * n * d:
        return X.toarray() if sp.issparse(X) else X
    return X if sp.issparse(X) else sp.csr_matrix(X)


@dataclass(frozen=True)
class LinearMachine:
    """One problem of a fit and what came of it."""

    problem: LinearProblem
    solution: LinearSolution
    certificate: LinearCertificate


def solve_certified(
    problem: LinearProblem, solver: LinearSolver, *, tol: float, control: Control, start: Start | None, seed: int
) -> LinearMachine:
    """Solve until the certificate says that the relative gap is at most ``tol``, or the solver gives up."""
    n_iter, goal = 0, tol
    for _ in range(REPEATS):
        solution = solver.solve(problem, tol=goal, control=control, start=start, random_state=seed)
        n_iter += solution.n_iter
        found = (solution.w, solution.b, solution.alpha)
        certificate = (
            certify_l1(problem, *found)
            if isinstance(problem, L1Problem)
            else certify(problem, *found, solution.f, made=solution.made)
        )
        met = certificate.relative_gap <= tol
        if met or solution.status is not Status.OPTIMAL:
            break
        start, goal = Start(solution.w, solution.b, solution.alpha), 0.1 * goal
    status = Status.OPTIMAL if met else Status.STALLED if solution.status is Status.OPTIMAL else solution.status
    return LinearMachine(problem, replace(solution, status=status, n_iter=n_iter), certificate)


def lanes_serve(solver: LinearSolver | None, problem: LinearProblem) -> bool:
    """Whether one-vs-rest machines of this kind are solved side by side."""
    usual = solver == CoordinateDescent() and not isinstance(problem, L1Problem)
    return usual and problem.design.sparse and not problem.hard_margin and problem.X.indices.dtype.kind == "i"


def solve_side_by_side(
    problems: Sequence[LinearProblem],
    bound: Array,
    own: Array,
    *,
    tol: float,
    control: Control,
    starts: Sequence[Start | None],
    seeds: Sequence[int],
    threads: int,
) -> list[LinearMachine]:
    """The one-vs-rest machines of the same CSR rows: all at once in single precision as far as that goes, then each of
    those that are not there yet on its own."""
    solutions = solve_together(
        problems, bound, own, tol=tol, control=control, starts=starts, seed=seeds[0], threads=threads
    )
    machines: list[LinearMachine | None] = [None] * len(problems)

    def work(k: int) -> None:
        problem, solution = problems[k], solutions[k]
        certificate = certify(problem, solution.w, solution.b, solution.alpha, solution.f, made=solution.made)
        if certificate.relative_gap <= tol:
            solution = replace(solution, status=Status.OPTIMAL)
        elif control.stop() is None and solution.status is not Status.MAX_ITER:
            start = Start(solution.w, solution.b, solution.alpha)
            more = solve_certified(
                problem, CoordinateDescent(), tol=tol, control=control.of_one(), start=start, seed=seeds[k]
            )
            history = solution.history.continued(more.solution.history, solution.n_iter)
            n_iter = solution.n_iter + more.solution.n_iter
            machines[k] = replace(more, solution=replace(more.solution, n_iter=n_iter, history=history))
            return
        machines[k] = LinearMachine(problem, solution, certificate)

    run_tiles(work, len(problems), threads)
    return [machine for machine in machines if machine is not None]


@dataclass(frozen=True)
class Outcome:
    """What a fit leaves behind, whatever its scheme.

    Attributes
    ----------
    coef, intercept : arrays of shape (machines, d) and (machines,)
    certificates : sequence of Certificate
        One a problem.
    status : Status
        The first that is not optimal, if there is one.
    n_iter : array of int
    history : History
    support : array of bool
        The rows that are a support vector of any machine.
    advice : str
    decision : array of shape (n_rows, machines) or None
        Decision values of the rows, where they are known.
    """

    coef: Array
    intercept: Array
    certificates: Sequence[Certificate]
    status: Status
    n_iter: Array
    history: History
    support: Array
    advice: str = ""
    decision: Array | None = None


def gathered(machines: Sequence[LinearMachine | None], constant: Array, n_features: int, n_rows: int) -> Outcome:
    """The outcome of independent machines; None stands for a decision that is ``constant``."""
    solved = [machine for machine in machines if machine is not None]
    coef, intercept = np.zeros((len(machines), n_features)), constant.copy()
    support = np.zeros(n_rows, bool)
    for k, machine in enumerate(machines):
        if machine is not None:
            coef[k], intercept[k] = machine.solution.w, machine.solution.b
            support |= machine.certificate.support
    known = [machine.solution.f for machine in solved if machine.solution.f is not None]
    decision = np.stack(known, axis=1) + intercept if len(known) == len(machines) else None
    failed = [machine.solution for machine in solved if not machine.solution.status.converged]
    return Outcome(
        coef=coef,
        intercept=intercept,
        certificates=[machine.certificate for machine in solved],
        status=failed[0].status if failed else Status.OPTIMAL,
        n_iter=np.array([0 if machine is None else machine.solution.n_iter for machine in machines]),
        history=History.joined(History() if machine is None else machine.solution.history for machine in machines),
        support=support,
        advice=failed[0].advice if failed else "",
        decision=decision,
    )


@dataclass(frozen=True)
class Memory:
    """What a warm start of the next fit needs: each machine's w, b and multipliers, and the rows those belong to."""

    key: Array
    coef: Array
    intercept: Array
    filled: Array

    @classmethod
    def of(cls, rows: TrainingRows, machines: Sequence[LinearMachine | None]) -> Memory | None:
        """The memory of machines that were all solved; None if one was not. Multipliers are kept in units of their
        row's price, where that is finite, so that another C can use them."""
        solved = [machine for machine in machines if machine is not None]
        if len(solved) < len(machines):
            return None
        return cls(
            key=rows.key,
            coef=np.array([machine.solution.w for machine in solved]),
            intercept=np.array([machine.solution.b for machine in solved]),
            filled=np.array([machine.certificate.alpha / _unit(machine.problem) for machine in solved]),
        )

    def starts(self, rows: TrainingRows, problems: Sequence[LinearProblem]) -> list[Start | None]:
        """Where to start: multipliers row by row, wherever a row is known."""
        if self.coef.shape != (len(problems), rows.X.shape[1]):
            return [None] * len(problems)
        if np.array_equal(self.key, rows.key):
            at = np.arange(len(self.key))
        else:
            order = np.argsort(self.key, kind="stable")
            at = order[np.searchsorted(self.key, rows.key, sorter=order).clip(max=len(order) - 1)]
        known = self.key[at] == rows.key
        return [
            Start(w, float(b), np.where(known, filled[at] * _unit(problem), 0.0))
            for w, b, filled, problem in zip(self.coef, self.intercept, self.filled, problems, strict=True)
        ]


def _unit(problem: LinearProblem) -> Array:
    return np.where(np.isfinite(problem.bound), problem.bound, 1.0)
