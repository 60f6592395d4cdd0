"""Newton's method for squared losses (Mangasarian 2002; Keerthi & DeCoste 2005).

The objective  1/2 |w|^2 + sum_i loss_i(r_i),  r_i = y_i - w'x_i - b,  is quadratic as long as the set S of rows with a
loss, and the side of each, do not change:

    gradient    w - X'beta,   -1'beta                beta_i the derivative of loss_i
    Hessian     I + X'Theta X with the border X'Theta 1, 1'Theta 1,    Theta_i = 2 c_i on S, else 0.

So the step to the minimum of the present piece is exact once S is right, which takes about ten steps. The border is
eliminated, which centres the columns at their Theta-weighted means, and the step's length is the exact minimum along
it: the slope

    s(t) = w'dw + t |dw|^2 - sum_i u_i beta_i(r_i - t u_i),    u_i = dw'x_i + db

grows piecewise linearly with t, and its root is found by Newton's method inside a bracket. beta is dual feasible as
soon as the intercept is optimal, so every step has a duality gap. Without a tube the first step of the squared loss is
the solution: ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.problems.design import Design
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Halted, single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.base import SQUARED_LOSSES, LinearSolver
from maxmargin.solvers.descent import first_epochs
from maxmargin.solvers.run import LinearSolution, Run, Start, own_intercept, start_of_columns

# After so many steps a relative gap above this means that S is far from right: then, where rows are sparse and few,
# some epochs of coordinate descent find a better one.
FAR_STEPS, FAR_GAP, FAR_EPOCHS, FAR_MAX_ENTRIES = 2, 0.1, 3, 2_000_000
SEARCH_MAX_STEPS = 60  # along one direction
REFORM_MIN_SHARE = 0.5  # of the rows of S: if more have changed, X'Theta X is recomputed
HESSIAN_RIDGE = 1e-15  # of the Hessian, relative to its diagonal
NO_PROGRESS_MAX_STEPS = 5  # steps without a lower objective before the method gives up


def line_search(rows: Any, r: Array, u: Array, first: float, second: float) -> float:
    """The t > 0 at which  first + t second + the slope of the losses at r - t u  is zero."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(SEARCH_MAX_STEPS):
        slope, curvature = rows.slope(r, u, t)
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


class _Moments:
    """X'Theta X, updated: rows that enter S are added, and those that leave it are subtracted. There are fewer of them
    in every step; if there are many, the sum is recomputed."""

    def __init__(self, design: Design) -> None:
        self.design, self.theta = design, np.zeros(design.n)
        self.value = np.zeros((design.columns, design.columns))

    def at(self, theta: Array) -> Array:
        design, change, size = self.design, theta - self.theta, self.value.shape
        if np.count_nonzero(change) > REFORM_MIN_SHARE * np.count_nonzero(theta):
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
    """The quadratic function that equals the objective around (w, b), by one pass over the rows with values f + b."""

    def __init__(self, problem: PrimalProblem, design: Design, f: Array, b: float) -> None:
        V = np.empty((3, problem.n_rows))
        self.beta, (self.theta, up, down) = np.empty(problem.n_rows), V
        problem.rows.derivative(f, b, self.beta, self.theta)
        np.maximum(self.beta, 0.0, out=up)
        np.minimum(self.beta, 0.0, out=down)
        (S,) = design.summed(lambda rows, out: design.tile_sums(rows, V[:, rows], out), (design.columns + 1, 3))
        self.border, self.up, self.down = design.with_constant(S).T
        self.corner, self.total_up, self.total_down = (float(value) for value in S[-1])
        self.design, self.free = design, problem.free
        self.scales = problem.balance(self.total_up, self.total_down)

    def direction(self, w: Array, moments: Array) -> tuple[Array, float]:
        """The step to the minimum of this piece; ``moments`` is X'Theta X."""
        M, free = self.design.bordered(moments, self.border), self.free and self.corner > 0
        if free:
            M -= np.outer(self.border, self.border / self.corner)
        M[np.diag_indices_from(M)] += 1.0 + HESSIAN_RIDGE * np.diagonal(M)
        factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        gradient, by_b = w - self.up - self.down, -(self.total_up + self.total_down)
        if not free:
            return -cho_solve(factors, gradient, check_finite=False), 0.0
        dw = -cho_solve(factors, gradient - self.border * (by_b / self.corner), check_finite=False)
        return dw, -(by_b + float(self.border @ dw)) / self.corner


@dataclass(frozen=True)
class Newton(LinearSolver):
    """Newton's method, for squared losses with up to a few hundred columns.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> model = LinearSVC(loss="squared_hinge", solver="newton", tol=1e-10).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.relative_gap < 1e-10
    True
    """

    name: ClassVar[str] = "newton"
    title: ClassVar[str] = "Newton's method on the rows that have a loss"
    accepts: ClassVar[tuple[str, ...]] = ("linear",)
    losses: ClassVar[tuple[str, ...]] = SQUARED_LOSSES
    learns: ClassVar[str] = "primal"
    reads_columns: ClassVar[bool] = True

    def refuses(self, problem: PrimalProblem) -> str | None:
        if problem.hard_margin:
            return "newton needs finite weights, and C=inf is a hard margin: use solver='barrier'"
        if not problem.squared:
            squared = "squared_hinge" if problem.loss.classifies else "squared_epsilon_insensitive"
            return f"newton needs a loss with a derivative: use loss={squared!r}, or solver='barrier'"
        return None

    def solves_small(self, problem: PrimalProblem) -> bool:
        return problem.squared

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        n_iter = 0
        status: Status | None = None
        try:
            with single_threaded_blas():
                n_iter, status = self._steps(run.problem, run, run.control, start)
        except Halted:
            status = run.control.stop()
        except np.linalg.LinAlgError:
            status = Status.STALLED
        return run.solution(status or Status.STALLED, n_iter)

    def _steps(self, problem: PrimalProblem, run: Run, control: Control, start: Start | None) -> tuple[int, Status]:
        design = problem.solver_design(control.stop)
        memory = f"solver='newton' with {design.d:,} columns"
        check_memory(12 * 8.0 * design.d**2, memory, "use solver='coordinate_descent'.")
        w, f = np.zeros(design.d), np.zeros(problem.n_rows)
        b = 0.0 if problem.loss.classifies else problem.best_intercept(f, 0.0)  # b belongs to the shifted columns
        if start is not None:
            w, b, f = start_of_columns(problem, design, start)
        moments = _Moments(design)
        best, stalled_steps, n_iter = np.inf, 0, 0
        while True:
            piece = _Piece(problem, design, f, b)
            value = self._value(problem, w, piece.beta)
            status = self._evaluate(problem, run, design, n_iter, w, b, f, piece)
            if status is not None:
                return n_iter, status
            if n_iter == FAR_STEPS and start is None and _is_far(problem, run):
                nearer = self._nearer(problem, control)
                start = Start(*nearer)
                if problem.primal(*nearer) < value:
                    w, b, f = start_of_columns(problem, design, start)
                    continue
            stalled_steps = 0 if value < best else stalled_steps + 1
            best = min(best, value)
            if stalled_steps > NO_PROGRESS_MAX_STEPS:
                return n_iter, Status.STALLED
            dw, db = piece.direction(w, moments.at(piece.theta))
            df = design.times(dw)
            length = line_search(problem.rows, problem.y - f - b, df + db, float(w @ dw), float(dw @ dw))
            w, b, f = w + length * dw, b + length * db, f + length * df
            n_iter += 1

    @staticmethod
    def _value(problem: PrimalProblem, w: Array, beta: Array) -> float:
        """The objective; the loss of a row is beta_i^2 / 4 c_i."""
        return 0.5 * float(w @ w) + 0.5 * float((problem.ridge * beta) @ beta)

    @staticmethod
    def _evaluate(
        problem: PrimalProblem, run: Run, design: Design, n_iter: int, w: Array, b: float, f: Array, piece: _Piece
    ) -> Status | None:
        d, own = problem.n_features, own_intercept(problem, design, w, b)
        sums = (piece.scales[0] * piece.up + piece.scales[1] * piece.down)[:d]
        return run.evaluate(n_iter, w[:d], own, f + (b - own), piece.beta, sums, scales=piece.scales)

    @staticmethod
    def _nearer(problem: PrimalProblem, control: Control) -> tuple[Array, float]:
        return first_epochs(replace(problem, X=problem.X.tocsr()), FAR_EPOCHS, control)


def _is_far(problem: PrimalProblem, run: Run) -> bool:
    return bool(run.gap > FAR_GAP and problem.design.sparse and problem.X.nnz <= FAR_MAX_ENTRIES)
