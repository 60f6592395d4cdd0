"""One run of a solver on a linear problem: the best points so far, the history, and the reasons to stop.

The tolerance is the relative duality gap. A run returns the best point it has evaluated and how it ended; whether that
is optimal is decided elsewhere, by :mod:`maxmargin.problems.primal_certificate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from maxmargin.problems.design import Design
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import scaled_to_margin
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array

UNLIMITED_ITERATIONS = 1_000_000  # where the user sets no limit
HISTORY_MAX_RECORDS = 400  # after which every second one is dropped: enough for any plot


@dataclass(frozen=True)
class Start:
    """A starting point: w and b, and optionally multipliers, feasible or not.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers import Start
    >>> Start(w=np.array([1.0, -2.0]), b=0.5).beta is None
    True
    """

    w: Array
    b: float
    beta: Array | None = None


@dataclass(frozen=True)
class LinearSolution:
    """The best iterate of a run.

    Attributes
    ----------
    w, b : array of shape (n_features,) and float
        Coefficients and intercept.
    beta : array of shape (n_rows,) or None
        Feasible multipliers, where the solver has any: the rows' coefficients in w.
    status : Status
        How the fit ended.
    n_iter : int
        Iterations, or epochs of a method that goes through the rows one by one.
    history : History
        Progress per iteration.
    advice : str
        Message of the solver about early termination; often empty.
    f : array of shape (n_rows,) or None
        X w, where it is known.
    made : bool
        Whether w was made from beta, in double precision and at once.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import LinearSolution, Status
    >>> history = LinearSVC().fit([[0.0], [1.0]], [0, 1]).history_
    >>> LinearSolution(w=[2.0], b=-1.0, beta=None, status=Status.OPTIMAL, n_iter=3, history=history).advice
    ''
    """

    w: Array
    b: float
    beta: Array | None
    status: Status
    n_iter: int
    history: History = field(default_factory=History)
    advice: str = ""
    f: Array | None = None
    made: bool = False


def own_intercept(problem: PrimalProblem, design: Design, w: Array, b: float) -> float:
    """The intercept of X itself, from the constant column's weight or from that of the shifted columns."""
    if problem.intercept == "penalised":
        return problem.scaling * float(w[-1])
    return b if design.shift is None else b - float(design.shift @ w[: len(design.shift)])


def start_of_columns(problem: PrimalProblem, design: Design, start: Start) -> tuple[Array, float, Array]:
    """w, b and the values of the solver's columns, which may be shifted, or have a constant one; b is 0 unless it is
    free."""
    w, b = np.zeros(design.d), 0.0
    w[: problem.n_features] = start.w
    if problem.intercept == "penalised":
        w[-1] = start.b / problem.scaling
    elif problem.free:
        b = start.b + (0.0 if design.shift is None else float(design.shift @ start.w))
    return w, b, design.times(w)


class Run:
    """The best primal and the best dual point so far, the history, and the reasons to stop.

    Both points are bounds of the optimum on their own, so they need not come from the same iteration."""

    def __init__(self, problem: PrimalProblem, tol: float, control: Control) -> None:
        self.problem, self.tol, self.control = problem, tol, control
        self.history = History()
        self.primal, self.dual = math.inf, -math.inf
        self.w, self.b = np.zeros(problem.n_features), 0.0
        self.beta: Array | None = None
        self.f: Array | None = None  # X w of the best w, where it is known

    @property
    def gap(self) -> float:
        """The relative gap of the best points so far."""
        return self.problem.relative_gap(self.primal, self.dual)

    def evaluate_start(self, start: Start | None) -> Status | None:
        """Evaluate the start, if given, and the common initial point, which is optimal if no multiplier can
        move or needs to: a single class, or targets inside one tube."""
        problem = self.problem
        if start is not None:
            beta = None if start.beta is None else problem.feasible(start.beta)
            status = self.evaluate(0, start.w, start.b, problem.design.times(start.w), beta)
            if status is Status.OPTIMAL:
                return status
        if problem.loss.classifies:
            used = problem.weight > 0
            up, down = bool(((problem.y > 0) & used).any()), bool(((problem.y < 0) & used).any())
            if (up and down) or ((up or down) and not problem.free):
                return None
            nothing, w = np.zeros(problem.n_rows), problem.weights_of(np.zeros(problem.n_features))
            f = problem.design.times(w) if w.any() else nothing
            b = 1.0 - float(f.min()) if up else -1.0 - float(f.max()) if down else 0.0
            return self.evaluate(0, w, b, f, nothing, np.zeros(problem.n_features))
        beta = problem.initial_multipliers()
        v = problem.row_combination(beta) if beta.any() else np.zeros(problem.n_features)
        w = problem.weights_of(v)
        f = problem.design.times(w) if w.any() else np.zeros(problem.n_rows)
        b = problem.best_intercept(f, problem.penalised_intercept(beta))
        if problem.total:  # w = 0 and b = 0 cost nothing
            self.primal = min(self.primal, 0.0)
        if start is None:
            status = self.evaluate(0, w, b, f, beta, v)
            return status if status is Status.OPTIMAL else None
        self._keep(w, b, f, problem.primal(w, b, f), beta, problem.dual(beta, v))
        return Status.OPTIMAL if self.gap <= self.tol else None

    def _keep(self, w: Array, b: float, f: Array | None, primal: float, beta: Array | None, dual: float) -> None:
        if primal < self.primal:
            self.primal, self.w, self.b, self.f = primal, w.copy(), b, f
        if beta is not None and dual > self.dual:
            self.dual, self.beta = dual, beta

    def evaluate(
        self,
        iteration: int,
        w: Array,
        b: float,
        f: Array,
        beta: Array | None = None,
        v: Array | None = None,
        *,
        scales: tuple[float, float] = (1.0, 1.0),
        own: bool = False,
    ) -> Status | None:
        """Evaluate an iterate: w, b, the values f = X w, multipliers that are feasible once the positive and the
        negative ones are multiplied by ``scales``, and v = sum_i beta_i x_i (scaled) where it is known. ``own``
        says that f is X w to the last digit, and may be kept.

        Returns how the run ended, or None to continue."""
        problem = self.problem
        w, b, f = scaled_to_margin(problem, w, b, f)
        hard = float(np.abs(beta).max(initial=0.0)) if problem.hard_margin and beta is not None else 0.0
        sums = problem.survey(f, b, beta, problem.centre, hard or 1.0)
        support = int(sums.support)
        primal, dual = problem.penalty(w, b) + problem.total * b + sums.losses, -math.inf
        if beta is not None:
            if v is None:
                v = problem.row_combination(beta if scales == (1.0, 1.0) else beta * np.where(beta > 0, *scales))
            of_b = problem.scaling**2 * sums.total(*scales)
            dual = sums.dual(*scales) - problem.dual_penalty(v, of_b if problem.intercept == "penalised" else 0.0)
            if dual > self.dual and scales != (1.0, 1.0):
                beta = beta * np.where(beta > 0, *scales)
            elif dual > self.dual:
                beta = beta.copy()
        self._keep(w, b, f.copy() if own else None, primal, beta, dual)
        norm = math.sqrt(float(w @ w))
        self.record(iteration, norm, primal, dual, support)
        gap = self.gap
        self.control.report(iteration, gap, support, primal=primal, dual=dual, norm=norm)
        return Status.OPTIMAL if gap <= self.tol else self.stop(iteration)

    def record(self, iteration: int, norm: float, primal: float, dual: float, n_support: int) -> None:
        """Write a line of the history."""
        if len(self.history) >= HISTORY_MAX_RECORDS:
            self.history = thinned(self.history)
        self.history.append(
            iteration=iteration,
            objective=primal,
            dual=dual if dual > -math.inf else math.nan,
            margin=2.0 / norm if norm > 0 else math.inf,
            n_support=n_support,
            seconds=self.control.seconds,
        )

    def update_best(self, w: Array, b: float, f: Array) -> None:
        """Keep w and b if they are the best so far; nothing is recorded."""
        self._keep(w, b, None, self.problem.primal(w, b, f), None, -math.inf)

    def stop(self, iteration: int) -> Status | None:
        """The reason to stop now, other than optimality, or None."""
        limit = self.control.max_iter if self.control.max_iter >= 0 else UNLIMITED_ITERATIONS
        return self.control.stop() or (Status.MAX_ITER if iteration >= limit else None)

    def solution(self, status: Status, n_iter: int, advice: str = "") -> LinearSolution:
        """The best point, with the best intercept for its w (which the optimum does not always determine)."""
        f = self.problem.design.times(self.w) if self.f is None else self.f
        b = self.problem.best_intercept(f, self.b)
        return LinearSolution(self.w, b, self.beta, status, n_iter, self.history, advice, f)


def thinned(history: History) -> History:
    """Every second record, and those with the best objectives."""
    best = {int(np.nanargmin(history.objective))} if np.isfinite(history.objective).any() else set()
    if np.isfinite(history.dual).any():
        best.add(int(np.nanargmax(history.dual)))
    return History(record for k, record in enumerate(history) if k % 2 == 0 or k in best)
