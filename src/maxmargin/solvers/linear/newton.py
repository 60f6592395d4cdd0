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

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numba
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.linear.base import LinearSolution, Run, Start, design_of, own_intercept
from maxmargin.solvers.linear.coordinate_descent import first_epochs
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.products import Design, Halted

PLAIN, FAR = 2, 0.1  # steps after which a relative gap above this means that S is far from right: then, where rows are
EPOCHS = 3  # sparse, so many epochs of coordinate descent find a better one,
SMALL = 2_000_000  # unless X has more entries than this
SEARCH = 60  # looks along one direction
MANY = 0.5  # of the rows of S: if more have changed, X'Theta X is formed anew
ROUNDING = 1e-15  # of the Hessian, relative to its diagonal
PATIENCE = 5  # steps without a lower objective before the method gives up


@numba.njit(cache=True, nogil=True, error_model="numpy")
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _piece(start: int, y: Array, f: Array, b: float, c: Array, V: Array) -> None:
    """V = theta, and y alpha of the positive and of the negative class."""
    for k in range(V.shape[1]):
        i = start + k
        slack = 1.0 - y[i] * (f[i] + b)
        V[0, k] = 2.0 * c[i] if slack > 0.0 else 0.0
        alpha = V[0, k] * slack
        V[1, k] = alpha if y[i] > 0 else 0.0
        V[2, k] = 0.0 if y[i] > 0 else -alpha


class _Moments:
    """X'Theta X, kept up to date: rows that enter S are added, and those that leave it are taken away. From step to
    step there are ever fewer of them; where there are many, the sum is formed anew."""

    def __init__(self, design: Design) -> None:
        self.design, self.theta = design, np.zeros(design.n)
        self.value = np.zeros((design.columns, design.columns))

    def at(self, theta: Array) -> Array:
        design, change, size = self.design, theta - self.theta, self.value.shape
        if np.count_nonzero(change) > MANY * np.count_nonzero(theta):
            (self.value,) = design.summed(lambda rows, G: design.tile_gram(rows, theta[rows], G), size, wide=True)
        else:

            def work(rows: slice, more: Array, less: Array) -> None:
                part = change[rows]
                if part.any():
                    design.tile_gram(rows, np.maximum(part, 0.0), more)
                    design.tile_gram(rows, np.maximum(-part, 0.0), less)

            more, less = design.summed(work, size, size, wide=True)
            self.value += more - less
        self.theta = theta
        return self.value


class _Piece:
    """The quadratic that the objective is around (w, b), where the rows have the values f + b: one pass over them."""

    def __init__(self, problem: LinearProblem, design: Design, f: Array, b: float) -> None:
        self.theta = np.empty(problem.n_rows)

        def work(rows: slice, S: Array) -> None:
            V = design.scratch.take("V", (3, rows.stop - rows.start), np.float64)
            _piece(rows.start, problem.y, f, b, problem.bound, V)
            self.theta[rows] = V[0]
            design.tile_sums(rows, V, S)

        (S,) = design.summed(work, (design.columns + 1, 3))
        self.border, self.up, self.down = design.settled(S).T
        self.corner, self.total_up, self.total_down = S[-1]
        self.design, self.free = design, problem.intercept == "free"

    def scales(self) -> tuple[float, float]:
        """What makes alpha feasible: the heavier class is made as light as the other."""
        up, down = float(self.total_up), -float(self.total_down)
        if not self.free or up == down:
            return 1.0, 1.0
        return min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0

    def direction(self, w: Array, moments: Array) -> tuple[Array, float]:
        """The step to the minimum of this piece; ``moments`` is X'Theta X."""
        M, free = self.design.bordered(moments, self.border), self.free and self.corner > 0
        if free:
            M -= np.outer(self.border, self.border / self.corner)
        M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
        factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        gradient, by_b = w - self.up - self.down, -float(self.total_up + self.total_down)
        if not free:
            return -cho_solve(factors, gradient, check_finite=False), 0.0
        dw = -cho_solve(factors, gradient - self.border * (by_b / self.corner), check_finite=False)
        return dw, -(by_b + float(self.border @ dw)) / float(self.corner)


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
        design = design_of(problem, control.stop)
        check_memory(
            12 * 8.0 * design.d**2, f"solver='newton' with {design.d:,} columns", "use solver='coordinate_descent'."
        )
        columns = problem.n_features
        w, f, b = np.zeros(design.d), np.zeros(problem.n_rows), 0.0  # b belongs to the shifted columns
        if start is not None:
            w[:columns] = start.w
            if problem.intercept == "penalised":
                w[-1] = start.b / problem.scaling
            elif problem.intercept == "free":
                b = start.b + (0.0 if design.shift is None else float(design.shift @ w))
            f = design.times(w)
        moments = _Moments(design)
        best, waited, n_iter = np.inf, 0, 0
        while True:
            piece = _Piece(problem, design, f, b)
            slack = 1.0 - problem.y * (f + b)
            alpha = 2.0 * problem.bound * np.maximum(0.0, slack)
            scales, own = piece.scales(), own_intercept(problem, design, w, b)
            sums = scales[0] * piece.up + scales[1] * piece.down
            status = run.look(n_iter, w, own, f, b, alpha, scales, sums)
            if status is not None:
                return n_iter, status
            value = 0.5 * float(w @ w) + 0.5 * float(alpha @ np.maximum(0.0, slack))
            if n_iter == PLAIN and run.gap > FAR and start is None and design.sparse and problem.X.nnz <= SMALL:
                start = self._nearer(problem, control)
                if problem.primal(start.w, start.b) < value:
                    w[:columns], b = start.w, start.b
                    if problem.intercept == "penalised":
                        w[-1], b = b / problem.scaling, 0.0
                    f = design.times(w)
                    continue
            waited = 0 if value < best else waited + 1
            best = min(best, value)
            if waited > PATIENCE:
                return n_iter, Status.STALLED
            dw, db = piece.direction(w, moments.at(piece.theta))
            df = design.times(dw)
            length = _length(slack, problem.y * (df + db), problem.bound, float(w @ dw), float(dw @ dw))
            w, b, f = w + length * dw, b + length * db, f + length * df
            n_iter += 1

    @staticmethod
    def _nearer(problem: LinearProblem, control: Control) -> Start:
        w, b = first_epochs(replace(problem, X=problem.X.tocsr()), EPOCHS, control)
        return Start(w, b)
