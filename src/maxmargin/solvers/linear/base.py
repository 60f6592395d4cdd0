"""What a solver of the linear machine takes and gives, and the book-keeping that all of them share.

A solver gets a :class:`~maxmargin.solvers.linear.problem.LinearProblem` and a tolerance, the relative duality gap. It
returns the best point it has seen, how it ended, and its history; whether it was right is decided elsewhere, by
:mod:`maxmargin.solvers.linear.certificate`. A solver's own options are the fields of its class:
``Pegasos(batch_size=16)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numba
import numpy as np

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.products import Design

MOST = 1_000_000  # iterations where the user sets no limit


@dataclass(frozen=True)
class Start:
    """Where a run may begin: w and b, and multipliers if there are any. None of it need be feasible."""

    w: Array
    b: float
    alpha: Array | None = None


@dataclass(frozen=True)
class LinearSolution:
    """The best point of a run.

    Attributes
    ----------
    w, b : array of shape (n_features,) and float
    alpha : array of shape (n_rows,) or None
        Feasible multipliers, where the solver has any.
    status : Status
    n_iter : int
        Iterations, or epochs of a method that goes through the rows one by one.
    history : History
    advice : str
        What the solver itself has to say about an early end; often empty.
    f : array of shape (n_rows,) or None
        X w, where it is known.
    made : bool
        Whether w was made from alpha, in double precision and at once.
    """

    w: Array
    b: float
    alpha: Array | None
    status: Status
    n_iter: int
    history: History = field(default_factory=History)
    advice: str = ""
    f: Array | None = None
    made: bool = False


class LinearSolver(Protocol):
    """One algorithm for :class:`~maxmargin.solvers.linear.problem.LinearProblem`.

    Attributes
    ----------
    name : str
    learns : {"primal", "dual", "both"}
        Whether its unknowns are the d numbers of w, the n multipliers, or both.
    """

    name: ClassVar[str]
    learns: ClassVar[str]

    def refuses(self, problem: LinearProblem) -> str | None:
        """Why this solver cannot take the problem, or None if it can."""
        ...

    def solve(
        self,
        problem: LinearProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """Minimise to a relative duality gap <= tol, or stop for a reason that the status names."""
        ...


def relative(primal: float, dual: float) -> float:
    """The relative duality gap."""
    if primal == dual:
        return 0.0
    gap = primal - dual
    return gap / max(abs(primal), abs(dual)) if math.isfinite(gap) else math.inf


def support_of(problem: LinearProblem, margins: Array, alpha: Array | None) -> Array:
    """Which rows are support vectors: those whose multiplier stays positive after a projected gradient step. (Methods
    that only come close to the optimum leave every multiplier a little above zero.) Without multipliers, the rows that
    are not outside their margin."""
    if alpha is None:
        return (margins <= 1.0) & (problem.bound > 0)
    return alpha > steps_of(problem, alpha) * (margins - 1.0 + problem.ridge * alpha)


def steps_of(problem: LinearProblem, alpha: Array) -> Array:
    """The length t_i of that step: the size of the row's box; 2 c_i for the squared hinge, for which the step then
    leads to 2 c_i max(0, 1 - m_i); the largest multiplier where slack is forbidden."""
    largest = float(alpha.max(initial=0.0)) or 1.0
    return np.where(np.isfinite(problem.bound), (2.0 if problem.squared else 1.0) * problem.bound, largest)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def survey(
    y: Array, f: Array, b: float, c: Array, alpha: Array, squared: bool
) -> tuple[float, int, float, float, float, float]:
    """The losses, the support vectors of :func:`support_of`, and of either class the sum of alpha and that of
    alpha^2 / 4c (the squared hinge's), all c finite."""
    losses, n_support, up, down, squares_up, squares_down = 0.0, 0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(y)):
        slack, a, square = 1.0 - y[i] * (f[i] + b), alpha[i], 0.0
        if squared:
            losses += c[i] * slack * slack if slack > 0.0 else 0.0
            # a projected gradient step of length 2c leads to 2 c max(0, slack)
            n_support += slack > 0.0 and c[i] > 0.0
            square = 0.25 * a * a / c[i] if c[i] > 0.0 else 0.0
        else:
            losses += c[i] * slack if slack > 0.0 else 0.0
            n_support += a + c[i] * slack > 0.0
        if y[i] > 0:
            up += a
            squares_up += square
        else:
            down += a
            squares_down += square
    return losses, n_support, up, down, squares_up, squares_down


def design_of(problem: LinearProblem, poll: Callable[[], Any]) -> Design:
    """X as solvers of square systems need it: dense columns centred for a free intercept, a constant column for a
    penalised one."""
    free = problem.intercept == "free"
    return Design(
        problem.X,
        shift=problem.design.mean() if free and not problem.design.sparse else None,
        constant=problem.scaling if problem.intercept == "penalised" else None,
        threads=problem.threads,
        poll=poll,
    )


def own_intercept(problem: LinearProblem, design: Design, w: Array, b: float) -> float:
    """The intercept of X itself, from the constant column's weight or from that of the shifted columns."""
    if problem.intercept == "penalised":
        return problem.scaling * float(w[-1])
    return b if design.shift is None else b - float(design.shift @ w)


class Run:
    """The best primal and the best dual point so far, the history, and whether to go on.

    Both points are bounds of the optimum on their own, so they need not come from the same iteration."""

    def __init__(self, problem: LinearProblem, tol: float, control: Control) -> None:
        self.problem, self.tol, self.control = problem, tol, control
        self.history = History()
        self.primal, self.dual = math.inf, -math.inf
        self.w, self.b = np.zeros(problem.n_features), 0.0
        self.alpha: Array | None = None
        self.f: Array | None = None  # X w of the best w, where it is known

    @property
    def gap(self) -> float:
        """The relative gap of the best points so far."""
        return relative(self.primal, self.dual)

    def begin(self, start: Start | None) -> Status | None:
        """Look at the start, if there is one. A problem without two classes is solved here: with a free intercept
        w = 0 has no loss."""
        problem = self.problem
        if start is not None:
            alpha = None if start.alpha is None else problem.feasible(start.alpha)
            status = self.visit(0, start.w, start.b, problem.design.times(start.w), alpha)
            if status is Status.OPTIMAL:
                return status
        used = problem.bound > 0
        up, down = bool(((problem.y > 0) & used).any()), bool(((problem.y < 0) & used).any())
        if (up and down) or ((up or down) and problem.intercept != "free"):
            return None
        nothing = np.zeros(problem.n_rows)
        return self.visit(0, np.zeros(problem.n_features), float(up) - float(down), nothing, nothing)

    def visit(
        self,
        iteration: int,
        w: Array,
        b: float,
        f: Array,
        alpha: Array | None = None,
        w_alpha: Array | None = None,
    ) -> Status | None:
        """Look at an iterate: w, b, the values f = X w, feasible multipliers and their w where they are known.

        Returns how the run ended, or None if it should go on."""
        problem = self.problem
        margins = problem.y * (f + b)
        w, b, margins = stretched(problem, w, b, margins)
        primal = problem.primal(w, b, margins)
        dual = -math.inf if alpha is None else problem.dual(alpha, w_alpha)
        if primal < self.primal:
            self.primal, self.w, self.b, self.f = primal, w, b, None
        if dual > self.dual:
            self.dual, self.alpha = dual, alpha
        return self._seen(iteration, w, primal, dual, int(np.count_nonzero(support_of(problem, margins, alpha))))

    def look(
        self,
        iteration: int,
        w: Array,
        b: float,
        f: Array,
        moved: float,
        alpha: Array,
        scales: tuple[float, float],
        sums: Array,
        own: bool = False,
    ) -> Status | None:
        """The same as :meth:`visit` in one compiled pass, for solvers that have their sums at hand: decision values
        f + moved, the multipliers ``alpha`` that are feasible once those of the two classes are multiplied by
        ``scales``, and their w, ``sums``. w and sums may have the weight of a constant column at their end. ``own``
        says that f is X w itself, to the last digit, and may be kept."""
        problem, d = self.problem, self.problem.n_features
        if problem.hard_margin:
            alpha = alpha * np.where(problem.y > 0, *scales)
            return self.visit(iteration, w[:d], b, f + (moved - b), alpha, sums[:d])
        losses, n_support, up, down, squares_up, squares_down = survey(
            problem.y, f, moved, problem.bound, alpha, problem.squared
        )
        primal = 0.5 * float(w @ w) + losses
        dual = scales[0] * up + scales[1] * down - 0.5 * float(sums @ sums)
        dual -= scales[0] ** 2 * squares_up + scales[1] ** 2 * squares_down
        if primal < self.primal:
            self.primal, self.w, self.b, self.f = primal, w[:d].copy(), b, f if own else None
        if dual > self.dual:
            self.dual, self.alpha = dual, alpha * np.where(problem.y > 0, *scales)
        return self._seen(iteration, w[:d], primal, dual, n_support)

    def _seen(self, iteration: int, w: Array, primal: float, dual: float, n_support: int) -> Status | None:
        norm = math.sqrt(float(w @ w))
        self.note(iteration, norm, primal, dual, n_support)
        self.control.report(iteration, self.gap, n_support, primal=primal, dual=dual, norm=norm)
        if self.gap <= self.tol:
            return Status.OPTIMAL
        return self.stop(iteration)

    def note(self, iteration: int, norm: float, primal: float, dual: float, n_support: int) -> None:
        """Write a line of the history."""
        self.history.append(
            iteration=iteration,
            objective=primal,
            dual=dual if dual > -math.inf else math.nan,
            margin=2.0 / norm if norm > 0 else math.inf,
            n_support=n_support,
            seconds=self.control.seconds,
        )

    def consider(self, w: Array, b: float, f: Array) -> None:
        """Keep w and b if they are the best so far; nothing is recorded."""
        primal = self.problem.primal(w, b, self.problem.y * (f + b))
        if primal < self.primal:
            self.primal, self.w, self.b, self.f = primal, w, b, None

    def stop(self, iteration: int) -> Status | None:
        """The reason to stop now that is not optimality, if there is one."""
        limit = self.control.max_iter if self.control.max_iter >= 0 else MOST
        return self.control.stop() or (Status.MAX_ITER if iteration >= limit else None)

    def solution(self, status: Status, n_iter: int, advice: str = "") -> LinearSolution:
        """The best point, with the best intercept for its w (which the optimum does not always determine)."""
        f = self.problem.design.times(self.w) if self.f is None else self.f
        b = self.problem.settle(f, self.b)
        return LinearSolution(self.w, b, self.alpha, status, n_iter, self.history, advice, f)


def stretched(problem: LinearProblem, w: Array, b: float, margins: Array) -> tuple[Array, float, Array]:
    """The same direction, scaled until the closest row without slack has a margin of one, where that is possible."""
    if not problem.hard_margin:
        return w, b, margins
    hard = np.isinf(problem.bound)
    smallest = float(margins[hard].min())
    if smallest <= 0 or (smallest >= 1 and not hard.all()):
        return w, b, margins
    return w / smallest, b / smallest, margins / smallest
