"""Newton's method for the squared epsilon-insensitive loss.

The objective  1/2 |w|^2 + sum_i c_i max(0, |r_i| - eps)^2,  r_i = y_i - w'x_i - b,  is quadratic wherever the set S of
rows outside their tubes, and the side of each, stay the same:

    gradient    w - X'beta,   -1'beta                beta_i = 2 c_i (r_i -+ eps) outside the tube, 0 inside
    Hessian     I + X'Theta X with the border X'Theta 1, 1'Theta 1,    Theta_i = 2 c_i on S, else 0.

As for the squared hinge (:mod:`maxmargin.solvers.linear.newton`), the step to the minimum of the present piece is exact
once S is right, and its length is the exact minimum along it: the slope

    s(t) = w'dw + t |dw|^2 - sum_i u_i beta_i(r_i - t u_i),    u_i = dw'x_i + db

grows piecewise linearly with t. Without a tube the first step is the solution: ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.linear.base import LinearSolution, Start
from maxmargin.solvers.linear.products import Design, Halted
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_barrier import centred_design
from maxmargin.solvers.linear.regression_run import RegressionRun

SEARCH = 60  # looks along one direction
ROUNDING = 1e-15  # of the Hessian, relative to its diagonal
PATIENCE = 5  # steps without a lower objective before the method gives up


@numba.njit(cache=True, nogil=True)
def _multipliers(r: Array, eps: float, c: Array, beta: Array, theta: Array) -> None:
    """beta_i of residuals r, and Theta_i."""
    for i in range(len(r)):
        out = r[i] - eps if r[i] > eps else (r[i] + eps if r[i] < -eps else 0.0)
        beta[i] = 2.0 * c[i] * out
        theta[i] = 2.0 * c[i] if out != 0.0 or eps == 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def _slope(r: Array, u: Array, eps: float, c: Array, t: float) -> tuple[float, float]:
    """The slope of the losses at t, and its derivative."""
    slope, curvature = 0.0, 0.0
    for i in range(len(u)):
        left = r[i] - t * u[i]
        out = left - eps if left > eps else (left + eps if left < -eps else 0.0)
        if out != 0.0:
            slope -= 2.0 * c[i] * u[i] * out
            curvature += 2.0 * c[i] * u[i] * u[i]
    return slope, curvature


def _length(r: Array, u: Array, eps: float, c: Array, first: float, second: float) -> float:
    """The t > 0 at which  first + t second + the losses' slope  is zero."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(SEARCH):
        slope, curvature = _slope(r, u, eps, c, t)
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


def _direction(design: Design, theta: Array, free: bool, gradient: Array, by_b: float) -> tuple[Array, float]:
    """The Newton step of w and b on the present piece; the border is eliminated."""
    M = design.gram(theta)
    corner = float(theta.sum()) if free else 0.0
    border = design.transposed(theta) if corner > 0 else np.zeros(design.d)
    if corner > 0:
        M -= np.outer(border, border / corner)
    M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
    factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    if corner == 0:
        return -cho_solve(factors, gradient, check_finite=False), 0.0
    dw = -cho_solve(factors, gradient - border * (by_b / corner), check_finite=False)
    return dw, -(by_b + float(border @ dw)) / corner


@dataclass(frozen=True)
class TubeNewton:
    """Exact Newton steps: the solver for the squared loss with moderately many columns.

    Examples
    --------
    >>> from maxmargin.svm.linear.regression import LinearSVR
    >>> machine = LinearSVR(loss="squared_epsilon_insensitive", solver="newton", tol=1e-10)
    >>> machine.fit([[0.0], [1.0], [3.0]], [0.0, 2.0, 5.0]).report_.relative_gap < 1e-10
    True
    """

    name: ClassVar[str] = "newton"
    learns: ClassVar[str] = "primal"

    def refuses(self, problem: RegressionProblem) -> str | None:
        if not problem.squared:
            return "newton needs a loss with a derivative: use loss='squared_epsilon_insensitive', or solver='barrier'"
        return None

    def solve(
        self,
        problem: RegressionProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        run = RegressionRun(problem, tol, control)
        n_iter, status = 0, run.begin(start)
        if status is not None:
            return run.solution(status, n_iter)
        try:
            with single_threaded_blas():
                n_iter, status = self._steps(problem, run, control, start)
        except Halted:
            status = control.stop()
        except np.linalg.LinAlgError:
            status = Status.STALLED
        return run.solution(status or Status.STALLED, n_iter)

    def _steps(
        self, problem: RegressionProblem, run: RegressionRun, control: Control, start: Start | None
    ) -> tuple[int, Status]:
        design, n = centred_design(problem, control), problem.n_rows
        memory = f"solver='newton' with {design.d:,} columns"
        check_memory(12 * 8.0 * design.d**2, memory, "use solver='coordinate_descent'.")
        free, c, eps = problem.intercept == "free", problem.above, problem.epsilon
        w, f = np.zeros(design.d), np.zeros(n)
        if start is not None:
            w[: problem.n_features] = start.w
            if problem.intercept == "penalised":
                w[-1] = start.b / problem.scaling
            f = design.times(w)
        b = problem.settle(f, 0.0)  # belongs to the shifted columns
        beta, theta = np.empty(n), np.empty(n)
        best, waited, n_iter = np.inf, 0, 0
        while True:
            r = problem.y - f - b
            _multipliers(r, eps, c, beta, theta)
            sums = design.transposed(beta)
            if n_iter > 0:
                status = self._look(problem, run, design, n_iter, w, b, f, beta, sums)
                if status is not None:
                    return n_iter, status
            value = 0.5 * float(w @ w) + 0.25 * float(beta @ (beta / c))
            waited = 0 if value < best else waited + 1
            best = min(best, value)
            if waited > PATIENCE:
                return n_iter, Status.STALLED
            dw, db = _direction(design, theta, free, w - sums, -float(beta.sum()) if free else 0.0)
            df = design.times(dw)
            length = _length(r, df + db, eps, c, float(w @ dw), float(dw @ dw))
            w, b, f = w + length * dw, b + length * db, f + length * df
            n_iter += 1

    @staticmethod
    def _look(
        problem: RegressionProblem,
        run: RegressionRun,
        design: Design,
        n_iter: int,
        w: Array,
        b: float,
        f: Array,
        beta: Array,
        sums: Array,
    ) -> Status | None:
        d = problem.n_features
        own = problem.scaling * float(w[-1]) if problem.intercept == "penalised" else b
        moved = 0.0 if design.shift is None else float(design.shift @ w)  # f of the shifted columns lacks this
        f = f - own if problem.intercept == "penalised" else f + moved
        feasible = problem.feasible(beta)
        if not np.array_equal(feasible, beta):
            sums = design.transposed(feasible)
        return run.visit(n_iter, w[:d], own - moved, f, feasible, sums[:d])
