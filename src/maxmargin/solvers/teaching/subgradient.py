"""Batch sub-gradient descent.

The objective P(w, b) has a sub-gradient in every point. With multipliers s_i that belong to the present margins,

    s_i = c_i inside the margin, 0 outside, anything between on it     (hinge)
    s_i = 2 c_i max(0, 1 - m_i)                                        (squared hinge: a gradient)

it is w - sum_i s_i y_i x_i, and a step of length eta against it is

    w <- (1 - eta) w + eta sum_i s_i y_i x_i.

Two things follow. First, w is always sum_i alpha_i y_i x_i with alpha <- (1 - eta) alpha + eta s: for eta <= 1 these
are averages of feasible multipliers, hence feasible, and their dual objective bounds the optimum from below. The method
comes with a certificate. (On the dual it is the method of Frank & Wolfe 1956; see Bach 2015.) Second, P is strongly
convex with constant 1, so eta_t = 1/t converges; this is 1 / (lambda t) where the objective is written with lambda.

A free intercept is not stepped but minimised out, exactly (:mod:`maxmargin.problems.losses`): the method runs
on min_b P(w, b), whose sub-gradients are those with sum_i y_i s_i = 0. The step of the squared hinge, a smooth loss, is
1 / L with L the largest curvature of the objective.

With eta_t = 1/t, w is an average of sub-gradients already. With other steps the average of the iterates with weights t
(Lacoste-Julien, Schmidt & Bach 2012) moves far less than they do, and so do the multipliers averaged with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin.problems.design import Design
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array, check_number
from maxmargin.solvers.base import MARGIN_LOSSES, LinearSolver
from maxmargin.solvers.run import LinearSolution, Run, Start

Step = str | float | Callable[[int], float]
INVERSE = "1/(lambda t)"
MAX_ENTRY = 1e70  # of X: its fourth power is a float64
DIVERGED_MIN_GROWTH = 1e8  # growth of the objective, over that of w = 0, that has no way back


def refuses_hard(solver: LinearSolver, problem: PrimalProblem) -> str | None:
    """What sub-gradient methods cannot take: rows without slack, and losses of regression."""
    if problem.hard_margin:
        return f"{solver.name} follows the slope of the losses, which a hard margin (C=inf) has not: use 'barrier'"
    return solver.refuses_loss(problem) or refuses_huge(solver, problem)


def refuses_huge(solver: LinearSolver, problem: PrimalProblem) -> str | None:
    """Entries so large that the first steps, sums of products of four of them, overflow."""
    X = problem.X
    entries = X.data if problem.design.sparse else X
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    if largest <= MAX_ENTRY:
        return None
    size = abs(X).max(axis=0)
    column = int(np.argmax(size.toarray() if problem.design.sparse else size))
    return (
        f"column {column} of X has entries of {largest:.0e}, and the steps of {solver.name} overflow beyond "
        f"{MAX_ENTRY:.0e}: scale the column (StandardScaler), or use solver='barrier'"
    )


def largest_curvature(problem: PrimalProblem) -> float:
    """L of the squared hinge: 1 + the largest eigenvalue of 2 X' diag(c) X, by power iteration and a margin for what
    that misses. A penalised intercept is one more column; minimising a free one out makes no curvature larger."""
    constant = problem.scaling if problem.intercept == "penalised" else None
    design = Design(problem.X, constant=constant, threads=problem.threads)
    v = np.random.default_rng(0).standard_normal(design.d)
    value = 0.0
    for _ in range(100):
        v = design.transposed(2.0 * problem.weight * design.times(v / (np.linalg.norm(v) or 1.0)))
        value, last = float(np.linalg.norm(v)), value
        if abs(value - last) <= 1e-3 * value:
            break
    return 1.0 + 1.05 * value


def schedule(step: Step | None, first: float) -> Callable[[int], float]:
    """The step length eta_t, t = 1, 2, ...: a number, a function of t, or 1 / (t + 1/first - 1), which begins with
    ``first`` and ends as 1/t."""
    if callable(step):
        return step
    if step is None or step == INVERSE:
        return lambda t: 1.0 / (t + 1.0 / first - 1.0)
    if isinstance(step, str):
        raise ValueError(f"step must be {INVERSE!r}, a number > 0 or a function of t = 1, 2, ...; got step={step!r}.")
    constant = check_number("step", step, above=0)
    return lambda t: constant


def highest(problem: PrimalProblem, step: Step | None) -> float:
    """The objective beyond which a run with the user's own steps has diverged. Steps of 1/t begin far away, with badly
    scaled columns very far, and come back."""
    return (
        DIVERGED_MIN_GROWTH * problem.losses(np.zeros(problem.n_rows))
        if step not in (None, INVERSE)
        else sys.float_info.max
    )


def too_long(step: Step | None) -> str:
    """What to do about steps that lead away."""
    remedy = "scale the columns of X" if step in (None, INVERSE) else f"give a smaller step than {step!r}"
    return f"the steps are too long and the iterates diverge: {remedy}"


@dataclass(frozen=True)
class Subgradient(LinearSolver):
    """Batch sub-gradient descent, all rows in every step; slow, but easy to understand.

    Parameters
    ----------
    step : "1/(lambda t)", float, callable or None, default=None
        Length of step t = 1, 2, ...: 1/t (lambda is 1 in the objective as stated here), a constant, or a function of t.
        None is 1/t for the hinge, and 1 / L for the squared hinge, L being its largest curvature.
    average : bool, default=False
        Return the weighted average of the iterates, which helps with constant steps.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import Subgradient
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", solver=Subgradient(), tol=1e-2, max_iter=5000).fit(X, y)
    >>> bool(abs(model.coef_[0, 0] - 1) < 0.05)
    True
    """

    name: ClassVar[str] = "subgradient"
    title: ClassVar[str] = "sub-gradient descent: all rows in every step"
    accepts: ClassVar[tuple[str, ...]] = ("linear",)
    learns: ClassVar[str] = "primal"
    losses: ClassVar[tuple[str, ...]] = MARGIN_LOSSES

    step: Step | None = None
    average: bool = False

    def refuses(self, problem: PrimalProblem) -> str | None:
        return refuses_hard(self, problem)

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        problem = run.problem
        eta = self._schedule(problem)
        beta = np.zeros(problem.n_rows)
        if start is not None and start.beta is not None:
            beta = problem.feasible(start.beta)
        w = problem.row_combination(beta)
        mean_w, mean_beta, mean_f = w, beta, np.zeros(problem.n_rows)
        worst, t = highest(problem, self.step), 0
        while True:
            f = problem.design.times(w)
            b = problem.best_intercept(f, problem.penalised_intercept(beta))
            s = multipliers(problem, f, b)
            w_s = problem.row_combination(s)
            part = 2.0 / (t + 2) if self.average else 1.0  # the iterates' weights are 1, 2, 3, ...
            mean_w, mean_beta = mean_w + part * (w - mean_w), mean_beta + part * (beta - mean_beta)
            mean_f = mean_f + part * (f - mean_f)
            mean_b = problem.best_intercept(mean_f, problem.penalised_intercept(mean_beta))
            # A smooth loss has multipliers at w itself; the hinge's only settle in the average over the steps.
            dual = (s, w_s) if problem.squared else (mean_beta, mean_w)
            if not problem.primal(w, b, f) <= worst:
                return run.solution(Status.STALLED, t, too_long(self.step))
            status = run.evaluate(t, mean_w, mean_b, mean_f, *_feasible(problem, *dual))
            if self.average:
                run.update_best(w, b, f)
            if status is not None:
                return run.solution(status, t)
            t += 1
            w, beta = w + eta(t) * (w_s - w), beta + eta(t) * (s - beta)

    def _schedule(self, problem: PrimalProblem) -> Callable[[int], float]:
        if self.step is None and problem.squared:
            return schedule(1.0 / largest_curvature(problem), 1.0)
        return schedule(self.step, 1.0)


def multipliers(problem: PrimalProblem, f: Array, b: float) -> Array:
    """beta of the sub-gradient at the values f + b; with a free intercept rows on the margin take values that make the
    sum zero."""
    r = problem.y - f - b
    if problem.squared:
        beta = np.empty(problem.n_rows)
        problem.rows.derivative(np.ascontiguousarray(f), b, beta, None)
        return beta
    near = 1e-12 * (1.0 + np.abs(f + b))
    inside = np.where(problem.y * r > near, problem.y * problem.weight, 0.0)
    if not problem.free:
        return inside
    return balanced(inside, np.where(np.abs(r) <= near, problem.y * problem.weight, 0.0))


def balanced(beta: Array, slack: Array) -> Array:
    """Multipliers with the sum zero, by moving those that have ``slack``, with its sign: rows on their margin."""
    missing = -float(beta.sum())
    side = np.where(slack * missing > 0, slack, 0.0)
    total = abs(float(side.sum()))
    return beta if total <= 0 else beta + side * min(1.0, abs(missing) / total)


def _feasible(problem: PrimalProblem, beta: Array, w: Array) -> tuple[Array, Array | None]:
    """Feasible multipliers and, if they are beta itself, their w."""
    inside = problem.feasible(beta)
    size = float(np.abs(beta).max(initial=0.0))
    return inside, w if np.abs(inside - beta).max(initial=0.0) <= 1e-12 * size else None
