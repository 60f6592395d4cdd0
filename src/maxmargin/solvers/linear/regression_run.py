"""The book-keeping that all solvers of :class:`~maxmargin.solvers.linear.regression.RegressionProblem` share.

They take and give what those of the linear classifier do (:mod:`maxmargin.solvers.linear.base`): a
:class:`~maxmargin.solvers.linear.base.Start`, a :class:`~maxmargin.solvers.linear.base.LinearSolution`, whose ``alpha``
are the multipliers beta.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Protocol

import numba
import numpy as np

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import MOST, LinearSolution, Start
from maxmargin.solvers.linear.regression import RegressionProblem


class RegressionSolver(Protocol):
    """One algorithm; the attributes are those of :class:`~maxmargin.solvers.linear.base.LinearSolver`."""

    name: ClassVar[str]
    learns: ClassVar[str]

    def refuses(self, problem: RegressionProblem) -> str | None:
        """Why this solver cannot take the problem, or None if it can."""
        ...

    def solve(
        self,
        problem: RegressionProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """Minimise to a relative duality gap <= tol, or stop for a reason that the status names."""
        ...


@numba.njit(cache=True, nogil=True)
def _after_step(r: Array, beta: Array, eps: float, above: Array, below: Array, squared: bool, out: Array) -> int:
    """Each beta_i after a proximal gradient step of length t_i, the size of the row's box (2 u_i for the squared loss,
    for which the step leads to the multiplier that belongs to r_i); and how many are not zero."""
    support = 0
    for i in range(len(r)):
        t = max(above[i], below[i])
        moved = 2.0 * t * r[i] if squared else beta[i] + t * r[i]
        wide = (2.0 * t if squared else t) * eps
        moved = moved - wide if moved > wide else (moved + wide if moved < -wide else 0.0)
        if not squared:
            moved = min(max(moved, -below[i]), above[i])
        out[i] = moved
        support += moved != 0.0
    return support


def after_step(problem: RegressionProblem, r: Array, beta: Array) -> tuple[Array, int]:
    """beta after a step towards the optimum from residuals r = y - X w - b, and the number of support vectors: the
    rows whose multiplier is then not zero. (Methods that only come close leave every multiplier a little beside it.)"""
    out = np.empty(len(r))
    count = _after_step(r, beta, problem.epsilon, problem.above, problem.below, problem.squared, out)
    return out, int(count)


class RegressionRun:
    """The best primal and the best dual point so far, the history, and whether to go on."""

    def __init__(self, problem: RegressionProblem, tol: float, control: Control) -> None:
        self.problem, self.tol, self.control = problem, tol, control
        self.history = History()
        self.primal, self.dual = math.inf, -math.inf
        self.w, self.b = np.zeros(problem.n_features), 0.0
        self.beta = problem.first()

    def begin(self, start: Start | None) -> Status | None:
        """Look at the start, or without one at the first multipliers, which are optimal where all targets are inside
        one tube (or nothing can move)."""
        problem = self.problem
        if start is not None:
            beta = None if start.alpha is None else problem.feasible(start.alpha)
            status = self.visit(0, start.w, start.b, problem.design.times(start.w), beta)
            if status is Status.OPTIMAL:
                return status
        beta = problem.first()
        w = problem.w_of(beta)
        f = problem.design.times(w)
        b = problem.settle(f, problem.b_of(beta))
        if problem.total:  # w = 0 and b = 0 cost nothing
            self.primal = min(self.primal, 0.0)
        return self.visit(0, w, b, f, beta, w) if start is None else self._consider(w, b, f, beta)

    def _consider(self, w: Array, b: float, f: Array, beta: Array) -> Status | None:
        """Keep the point if it is the best so far; nothing is recorded."""
        self._keep(w, b, self.problem.primal(w, b, f), beta, self.problem.dual(beta, w))
        return Status.OPTIMAL if self.problem.relative(self.primal, self.dual) <= self.tol else None

    def _keep(self, w: Array, b: float, primal: float, beta: Array | None, dual: float) -> None:
        if primal < self.primal:
            self.primal, self.w, self.b = primal, w.copy(), b
        if beta is not None and dual > self.dual:
            self.dual, self.beta = dual, beta

    def visit(
        self,
        iteration: int,
        w: Array,
        b: float,
        f: Array,
        beta: Array | None = None,
        w_beta: Array | None = None,
    ) -> Status | None:
        """Look at an iterate: w, b, the values f = X w, feasible multipliers and their w where they are known.

        Returns how the run ended, or None if it should go on."""
        problem = self.problem
        primal = problem.primal(w, b, f)
        dual = -math.inf if beta is None else problem.dual(beta, w_beta)
        self._keep(w, b, primal, beta, dual)
        norm = math.sqrt(float(w @ w))
        n_support = after_step(problem, problem.y - f - b, self.beta if beta is None else beta)[1]
        self.history.append(
            iteration=iteration,
            objective=primal,
            dual=dual if beta is not None else math.nan,
            margin=2.0 / norm if norm > 0 else math.inf,
            n_support=n_support,
            seconds=self.control.seconds,
        )
        gap = problem.relative(self.primal, self.dual)
        self.control.report(iteration, gap, n_support, primal=primal, dual=dual, norm=norm)
        return Status.OPTIMAL if gap <= self.tol else self.stop(iteration)

    def stop(self, iteration: int) -> Status | None:
        """The reason to stop now that is not optimality, if there is one."""
        limit = self.control.max_iter if self.control.max_iter >= 0 else MOST
        return self.control.stop() or (Status.MAX_ITER if iteration >= limit else None)

    def solution(self, status: Status, n_iter: int) -> LinearSolution:
        """The best point, with the best intercept for its w (which the optimum does not always determine)."""
        b = self.problem.settle(self.problem.design.times(self.w), self.b)
        return LinearSolution(self.w, b, self.beta, status, n_iter, self.history)
