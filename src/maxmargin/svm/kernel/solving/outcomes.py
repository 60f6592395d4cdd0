"""The problems of a fit, and what comes of them: one record per problem, or all problems as columns.

:class:`BinaryModel` is one solved and certified problem. :class:`SolvedProblems` holds all of a fit as flat arrays,
whichever way they were solved: what is published and predicted on the training rows is computed from it, and its
:class:`KernelOutcome`, one entry per problem, is what reports are made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from maxmargin.problems.dual import DualProblem, c_svc
from maxmargin.problems.optimality import Certificate, Certificates
from maxmargin.runtime.control import Progress, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.solution import Solution
from maxmargin.svm.kernel.solving.batch import STATUSES, Solved
from maxmargin.svm.report import SolverUsed


@dataclass(frozen=True)
class LastSolution:
    """A solution of almost the same problem, with its fitted values: the same kernel, but for some rows and bounds."""

    values: Array  # one entry per variable; zeros of rows that it did not have
    known: Array  # the rows that it had
    f: Array  # their fitted values, without intercept
    # points, coefficient: terms of its function that belong to rows which are no longer there
    points: Points
    coefficient: Array


@dataclass(frozen=True)
class Subproblem:
    """One problem of a fit: its canonical rows, and where to start (None: at the problem's own start)."""

    rows: Array
    problem: DualProblem
    start: Array | None = None  # feasible
    last: LastSolution | None = None  # what ``start`` was made of, where its fitted values are known


@dataclass(frozen=True)
class BinaryModel:
    """One problem of a fit, solved."""

    rows: Array  # its canonical rows
    problem: DualProblem
    solution: Solution
    certificate: Certificate
    f: Array  # the values without intercept on its rows, from which the certificate was computed
    # intercept, rho, epsilon: as in :class:`~maxmargin.problems.dual.PrimalScalars`
    intercept: float
    rho: float = 0.0
    epsilon: float = 0.0
    progress: Sequence[Progress] = ()  # what the solver reported


@dataclass(frozen=True)
class KernelOutcome:
    """Certificates and counts, one entry per problem."""

    certificates: Certificates
    n_iter: Array
    n_support: Array
    scale: Array  # factors from the dual's variables to decision values with margin one
    status: Status  # of the fit: the first that is not optimal
    solver: SolverUsed
    progress: Sequence[Sequence[Progress]] = ()  # what solvers reported of each problem; empty where they did not
    advice: str = ""

    @classmethod
    def of_solutions(
        cls,
        certificates: Sequence[Certificate],
        solutions: Sequence[Solution],
        solver: SolverUsed,
        progress: Sequence[Sequence[Progress]],
        scale: Array,
    ) -> KernelOutcome:
        """Of problems that were solved one by one."""
        return cls(
            Certificates.of(certificates),
            np.array([own.n_iter for own in solutions], np.int64),
            np.array([np.count_nonzero(own.a) for own in solutions], np.int64),
            scale,
            next((own.status for own in solutions if not own.status.converged), Status.OPTIMAL),
            solver,
            progress,
        )

    @property
    def margins(self) -> Array:
        """2 / |w| of each problem."""
        norm = self.certificates.norm * self.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(norm >= 0, 2.0 / norm, math.nan)

    def with_evaluations(self, more: int) -> KernelOutcome:
        """The same with more kernel values computed."""
        return replace(self, solver=replace(self.solver, evaluations=self.solver.evaluations + more))

    @property
    def history(self) -> History:
        """What solvers reported of each problem, and its certificate as the last record; made when it is read."""
        return History.deferred(self._history)

    def _history(self) -> History:
        history, margins = History(), self.margins
        for k, certificate in enumerate(self.certificates):
            reported = self.progress[k] if self.progress else ()
            for progress in reported:
                norm = self.scale[k] * progress.norm
                history.append(
                    problem=k,
                    iteration=progress.iteration,
                    objective=progress.primal,
                    dual=progress.dual,
                    margin=2.0 / norm if norm > 0 else math.inf if norm == 0 else math.nan,
                    n_support=progress.n_support,
                    seconds=progress.seconds,
                )
            history.append(
                problem=k,
                iteration=int(self.n_iter[k]),
                objective=certificate.primal,
                dual=certificate.dual,
                margin=float(margins[k]),
                n_support=int(self.n_support[k]),
                seconds=reported[-1].seconds if reported else 0.0,
            )
        return history


@dataclass(frozen=True)
class SolvedProblems:
    """The problems of a fit as columns."""

    at: Array  # shape (n_problems + 1,), the entries of problem p are ``at[p]:at[p + 1]``
    # rows, target, coefficient, bound, f: one entry per row of each problem; f is without the intercept
    rows: Array
    target: Array
    coefficient: Array
    bound: Array
    f: Array
    intercept: Array  # one entry per problem
    outcome: KernelOutcome
    source: Solved | Sequence[BinaryModel]  # where the columns come from

    @classmethod
    def of_models(cls, models: Sequence[BinaryModel], solver: SolverUsed, scale: Array) -> SolvedProblems:
        """Problems that were solved one by one."""
        outcome = KernelOutcome.of_solutions(
            [m.certificate for m in models], [m.solution for m in models], solver, [m.progress for m in models], scale
        )

        def joined(parts: list[Array]) -> Array:
            return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)

        return cls(
            np.array([*accumulate((len(m.rows) for m in models), initial=0)]),
            joined([m.rows for m in models]).astype(np.int64, copy=False),
            joined([m.problem.target for m in models]),
            joined([m.problem.coefficients(m.solution.a) for m in models]),
            joined([m.problem.bound for m in models]),
            joined([m.f for m in models]),
            np.array([m.intercept for m in models], np.float64),
            outcome,
            models,
        )

    def with_zero_sums(self) -> SolvedProblems:
        """The same with coefficients that sum to zero in each problem as nearly as float64 can: what pair steps leave
        of the sum goes to the smallest coefficient that has the digits for it."""
        coefficient = self.coefficient.copy()
        for begin, end in zip(self.at[:-1], self.at[1:], strict=True):
            own = coefficient[begin:end]
            rest = math.fsum(own)
            size = np.abs(own)
            free = np.flatnonzero((size > 2 * abs(rest)) & (size < self.bound[begin:end]))
            if rest != 0 and len(free):
                own[free[np.argmin(size[free])]] -= rest
        return replace(self, coefficient=coefficient)

    @classmethod
    def of_batch(cls, solved: Solved, status: Status, solver: SolverUsed) -> SolvedProblems:
        """C-SVC problems of a batch."""
        posed, ones = solved.posed, np.ones(len(solved.steps))
        return cls(
            posed.at,
            posed.order[posed.place],
            posed.target,
            solved.a,
            posed.upper - posed.lower,
            solved.f,
            solved.intercept,
            KernelOutcome(solved.certificates, solved.steps, solved.n_support, ones, status, solver),
            solved,
        )

    @property
    def sizes(self) -> Array:
        """Rows of each problem."""
        return np.diff(self.at)

    def models(self) -> Sequence[BinaryModel]:
        """The problems one by one, for steps that take them so."""
        if not isinstance(self.source, Solved):
            return self.source
        solved, posed, models = self.source, self.source.posed, []
        for p in range(posed.n_problems):
            variables = slice(posed.at[p], posed.at[p + 1])
            problem = c_svc(posed.target[variables], posed.upper[variables] - posed.lower[variables])
            status = STATUSES.get(int(solved.status[p]), Status.OPTIMAL)
            solution = Solution(solved.a[variables], solved.f[variables], status, int(solved.steps[p]), fresh=True)
            b = float(solved.intercept[p])
            models.append(BinaryModel(posed.rows(p), problem, solution, solved.certificates[p], solution.f, b))
        return models
