"""Newton's method for the squared hinge (Mangasarian 2002; Keerthi & DeCoste 2005).

The objective  1/2 |w|^2 + sum_i c_i max(0, 1 - m_i)^2,  m_i = y_i (w'x_i + b),  is quadratic wherever the set S of rows
inside their margins stays the same:

    gradient    w - X'(y alpha),   -y'alpha          alpha_i = 2 c_i max(0, 1 - m_i)
    Hessian     I + X'Theta X with the border X'Theta 1, 1'Theta 1,    Theta_i = 2 c_i on S, else 0.

So the step to the minimum of the present piece is exact once S is right, which takes about ten steps. The border is
eliminated, which centres the columns at their Theta-weighted means, and the step's length is the exact minimum along
it: the slope

    s(t) = w'dw + t |dw|^2 - 2 sum_i c_i u_i max(0, 1 - m_i - t u_i),    u_i = y_i (dw'x_i + db)

grows piecewise linearly with t, and its root is found by Newton's method inside a bracket. alpha is dual feasible as
soon as the intercept is optimal, so every step has a duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin._control import Control, Status
from maxmargin._validation import Array, check_memory
from maxmargin.linear.barrier import design_of
from maxmargin.linear.base import LinearSolution, Run, Start
from maxmargin.linear.problem import LinearProblem
from maxmargin.linear.products import Design, Halted

SEARCH = 60  # looks along one direction
ROUNDING = 1e-15  # of the Hessian, relative to its diagonal
PATIENCE = 5  # steps without a lower objective before the method gives up


@numba.njit(cache=True, nogil=True)
def _slope(slack: Array, u: Array, c: Array, t: float) -> tuple[float, float]:
    """The slope of the losses at t, and its derivative; ``slack`` is 1 - m."""
    slope, curvature = 0.0, 0.0
    for i in range(len(u)):
        left = slack[i] - t * u[i]
        if left > 0:
            slope -= 2.0 * c[i] * u[i] * left
            curvature += 2.0 * c[i] * u[i] * u[i]
    return slope, curvature


def _length(slack: Array, u: Array, c: Array, first: float, second: float) -> float:
    """The t > 0 at which  first + t second + the losses' slope  is zero."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(SEARCH):
        slope, curvature = _slope(slack, u, c, t)
        slope, curvature = slope + first + t * second, curvature + second
        if slope == 0.0:
            break
        low, high = (low, t) if slope > 0 else (t, high)
        step = t - slope / curvature if curvature > 0 else np.inf
        new = step if low < step < high else (0.5 * (low + high) if np.isfinite(high) else 2.0 * t)
        if abs(new - t) <= 1e-12 * t:
            return new
        t = new
    return t


class _Hessian:
    """Newton directions on the present piece."""

    def __init__(self, design: Design, theta: Array, free: bool) -> None:
        M = design.gram(theta)
        self.border = design.transposed(theta) if free else np.zeros(design.d)
        self.corner = float(theta.sum()) if free else 0.0
        if self.corner > 0:
            M -= np.outer(self.border, self.border / self.corner)
        M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
        self.factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def direction(self, gradient: Array, by_b: float) -> tuple[Array, float]:
        if self.corner == 0:
            return -cho_solve(self.factors, gradient, check_finite=False), 0.0
        dw = -cho_solve(self.factors, gradient - self.border * (by_b / self.corner), check_finite=False)
        return dw, -(by_b + float(self.border @ dw)) / self.corner


@dataclass(frozen=True)
class Newton:
    """Exact Newton steps: the solver for the squared hinge with moderately many columns.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> machine = LinearSVC(loss="squared_hinge", solver="newton", tol=1e-10).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> machine.report_.relative_gap < 1e-10
    True
    """

    name: ClassVar[str] = "newton"
    learns: ClassVar[str] = "primal"

    def refuses(self, problem: LinearProblem) -> str | None:
        if not problem.squared:
            return "newton needs a loss with a derivative: use loss='squared_hinge', or solver='barrier'"
        if problem.hard_margin:
            return "newton needs finite prices, and C=inf is a hard margin: use solver='barrier'"
        return None

    def solve(
        self,
        problem: LinearProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        run = Run(problem, tol, control)
        n_iter, status = 0, run.begin(start)
        if status is not None:
            return run.solution(status, n_iter)
        try:
            n_iter, status = self._steps(problem, run, control, start)
        except Halted:
            status = control.stop()
        except np.linalg.LinAlgError:
            status = Status.STALLED
        return run.solution(status or Status.STALLED, n_iter)

    def _steps(self, problem: LinearProblem, run: Run, control: Control, start: Start | None) -> tuple[int, Status]:
        design = design_of(problem, control)
        check_memory(
            12 * 8.0 * design.d**2, f"solver='newton' with {design.d:,} columns", "use solver='coordinate_descent'."
        )
        free, columns = problem.intercept == "free", problem.n_features
        w, f, b = np.zeros(design.d), np.zeros(problem.n_rows), 0.0  # b belongs to the shifted columns
        if start is not None:
            w[:columns] = start.w
            if problem.intercept == "penalised":
                w[-1] = start.b / problem.scaling
            f = design.times(w)
        best, waited, n_iter = np.inf, 0, 0
        while True:
            slack = 1.0 - problem.y * (f + b)
            alpha = 2.0 * problem.bound * np.maximum(0.0, slack)
            sums = design.transposed(problem.y * alpha)
            status = self._look(problem, run, design, n_iter, w, b, f, alpha, sums)
            if status is not None:
                return n_iter, status
            value = 0.5 * float(w @ w) + 0.5 * float(alpha @ np.maximum(0.0, slack))
            waited = 0 if value < best else waited + 1
            best = min(best, value)
            if waited > PATIENCE:
                return n_iter, Status.STALLED
            hessian = _Hessian(design, np.where(slack > 0, 2.0 * problem.bound, 0.0), free)
            dw, db = hessian.direction(w - sums, -float(problem.y @ alpha) if free else 0.0)
            df = design.times(dw)
            length = _length(slack, problem.y * (df + db), problem.bound, float(w @ dw), float(dw @ dw))
            w, b, f = w + length * dw, b + length * db, f + length * df
            n_iter += 1

    @staticmethod
    def _look(
        problem: LinearProblem,
        run: Run,
        design: Design,
        n_iter: int,
        w: Array,
        b: float,
        f: Array,
        alpha: Array,
        sums: Array,
    ) -> Status | None:
        d = problem.n_features
        own = problem.scaling * float(w[-1]) if problem.intercept == "penalised" else b
        moved = 0.0 if design.shift is None else float(design.shift @ w)  # f of the shifted columns lacks this
        f = f - own if problem.intercept == "penalised" else f + moved
        feasible = problem.feasible(alpha)
        same = feasible is alpha or np.array_equal(feasible, alpha)
        if not same:
            sums = design.transposed(problem.y * feasible)
        return run.visit(n_iter, w[:d], own - moved, f, feasible, sums[:d])
