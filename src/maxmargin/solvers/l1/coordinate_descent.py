"""Coordinate descent for the L1 penalty, on a working set of columns.

Each round evaluates all columns once, for the slopes p_j and the duality gap of :mod:`maxmargin.problems.l1`, and
then works on few of them: those whose weight is not zero, and those that promise most, by

    (|p_j| - 1) / h_j,     h_j^2 = sum_i 2 c_i x_ij^2,

which for |p_j| > 1 is the root of the decrease that the weight could bring alone, and for the others the distance to
where it could bring any (Massias, Gramfort & Salmon 2018). The dual objective is strongly concave: the optimal
multipliers are so near to any feasible ones of gap G that

    |p_j| + sqrt(2 G) h_j < 1

proves w_j = 0 (Ndiaye, Fercoq, Gramfort & Salmon 2017). Without such columns the problem has the same solution, so they
are not evaluated again.

The work on the chosen columns is a Newton step. With S the rows inside their margins and Theta_i = 2 c_i on S, else 0,
the losses are quadratic as long as S stays the same, and the model

    1/2 (v - w)'H(v - w) - p'(v - w) + |v|_1,     H = X'Theta X, centred at the Theta-weighted means if b is free,

is minimised by coordinate descent on H (:mod:`maxmargin.solvers.l1.model`; Yuan, Ho & Lin 2012). Its length is
the minimum along it, and b is then made exact, so that the multipliers are balanced. S is right after about ten steps.
From one step to the next few rows enter or leave it, and H is updated by those alone. Where so many weights are not
zero that H would be too large, passes of one-dimensional steps over the columns themselves take the place of the Newton
step (:mod:`maxmargin.solvers.l1.columns`).

Where a step is much too long, because it runs into rows outside S that the model does not know of, the weights
c_i are approached from below: the solution for weights a few times lower is a good start, and where they are low enough
all rows are inside.

Memory. Besides X there are a copy of the chosen columns (none if all are chosen), the square matrix H, and, if X is
sparse, its CSC form: a copy of X, as large as X. All problems of a fit can share it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from maxmargin import _native
from maxmargin.problems.design import Design
from maxmargin.problems.l1 import L1Problem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Halted
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.l1.columns import Columns, columns_of
from maxmargin.solvers.l1.model import minimise, violation
from maxmargin.solvers.run import LinearSolution, Run, Start

FIRST_WORKING_SET_COLUMNS = 128  # columns of the first working set
HESSIAN_MAX_COLUMNS = 3000  # columns up to which H is formed
PASSES_PER_ROUND = 10  # over the columns in a round where it is not
LINE_SEARCH_MAX_EVALUATIONS = 60  # along one direction
LINE_SEARCH_END_SLOPE = 0.02  # slope, relative to that at the start, at which a search ends
MODEL_TOL_SHARE = 0.01  # violation of the model's conditions, relative to that of the problem's
MAX_FULL_STEPS = 10  # full steps in a row that may end lower than a search
POOR_STEP_LENGTH = 0.5  # length of a Newton step below which its model was a poor one
ROUNDING_SHARE = 1e-12  # relative: below it there is nothing else
MAX_POOR_STEPS = 3  # poor steps in a row before the weights are approached from below
FIRST_WEIGHTS_MAX_GRADIENT = 10.0  # largest |p_j| at w = 0 for the first of the lower weights
WEIGHTS_FACTOR = 3.0  # factor from one set of weights to the next
WEIGHTS_GAP = 0.01  # relative gap that is enough on the way
WEIGHTS_MAX_ROUNDS = 12  # for one set of weights on the way
NO_PROGRESS_MAX_ROUNDS = 5  # rounds without a lower objective before the method gives up


def _slope(rows: Any, r: Array, u: Array, w: Array, dw: Array, t: float) -> tuple[float, float, float]:
    """The slope of the objective at t along (dw, u), u_i = dw'x_i + db, from residuals r; half its jump there; the
    curvature."""
    slope, curvature = rows.slope(r, u, t)
    at = w + t * dw
    slope += float(np.sign(at) @ dw)
    return slope, float(np.abs(dw[at == 0.0]).sum()), curvature


def _length(rows: Any, r: Array, u: Array, w: Array, dw: Array, flat: float) -> float:
    """The t > 0 at which the slope is as good as zero; 1 is tried first, where weights become exactly zero."""
    low, high, t = 0.0, math.inf, 1.0
    first = abs(_slope(rows, r, u, w, dw, 0.0)[0])
    for _ in range(LINE_SEARCH_MAX_EVALUATIONS):
        slope, jump, curvature = _slope(rows, r, u, w, dw, t)
        if abs(slope) <= jump + flat * first:
            break
        low, high = (low, t) if slope > 0 else (t, high)
        step = t - slope / curvature if curvature > 0 else math.inf
        new = step if low < step < high else (0.5 * (low + high) if math.isfinite(high) else 2.0 * t)
        if abs(new - t) <= 1e-15 * t:
            break
        t = new
    return t


class Direction(NamedTuple):
    """From w to the minimum of the model of a problem."""

    v: Array  # the minimum
    db: float  # the change of a free intercept
    u: Array  # (v - w)'x_i + db
    solved: bool  # whether the model was solved


class NewtonStep(NamedTuple):
    """What a step leads to."""

    w: Array
    db: float  # the change of a free intercept
    slack: Array
    well: bool  # whether the model was solved, and the step not cut short


class _WorkingSet:
    """Some columns of X, and steps over their weights and the intercept.

    The weights are those of the columns, and b / s at the end if the intercept is penalised. ``slack`` is 1 - m."""

    def __init__(self, every: Columns, columns: Array) -> None:
        self.problem, self.columns, self.control = every.problem, columns, every.control
        self.free = self.problem.intercept == "free"
        self.shift = None if every.shift is None else every.shift[columns]
        self.X = every.chosen(columns)
        self.design = self._design(self.X)
        self.theta = np.zeros(self.problem.n_rows)
        self.H, self.border = np.zeros((self.design.d, self.design.d)), np.zeros(self.design.d)

    def _design(self, X: Points) -> Design:
        constant = self.problem.scaling if self.problem.intercept == "penalised" else None
        return Design(X, shift=self.shift, constant=constant, threads=self.problem.threads, stop=self.control.stop)

    def weights(self, w: Array, b: float) -> Array:
        own = w[self.columns]
        return np.append(own, b / self.problem.scaling) if self.problem.intercept == "penalised" else own

    def _moments(self, theta: Array) -> None:
        """H and X'Theta 1 for another S: by the rows that entered or left it, if they are fewer."""
        entered, left = (np.flatnonzero(sign * (theta - self.theta) > 0) for sign in (1, -1))
        if 2 * (len(entered) + len(left)) > np.count_nonzero(theta):
            self.H, self.border = self.design.gram(theta), self.design.transposed(theta)
        else:
            for sign, rows in ((1.0, entered), (-1.0, left)):
                if len(rows):
                    part, added = self._design(self.X[rows]), 2.0 * self.problem.weight[rows]
                    self.H += sign * part.gram(added)
                    self.border += sign * part.transposed(added)
        self.theta = theta

    def _direction(self, w: Array, slack: Array, p: Array) -> Direction:
        """Towards the minimum of the model."""
        problem = self.problem
        self._moments(np.where(slack > 0, 2.0 * problem.weight, 0.0))
        H, corner, by_b = self.H, float(self.theta.sum()), 0.0
        centre = self.free and corner > 0
        if centre:
            by_b = float(self.problem.y @ (self.theta * np.maximum(0.0, slack)))
            H = H - np.outer(self.border, self.border / corner)
            flat = np.diagonal(H) <= ROUNDING_SHARE * np.diagonal(self.H)  # constant on S: nothing but rounding is left
            H[flat], H[:, flat] = 0.0, 0.0
            p = np.where(flat, 0.0, p - self.border * (by_b / corner))
        v, solved = minimise(H, p + H @ w, w, max(ROUNDING_SHARE, MODEL_TOL_SHARE * min(1.0, violation(-p, w))))
        db = (by_b - float(self.border @ (v - w))) / corner if centre else 0.0
        return Direction(v, db, self.design.times(v - w) + db, solved)

    def newton(self, w: Array, slack: Array, p: Array, full: int) -> NewtonStep:
        """A Newton step.

        A step that its search cuts short has met rows outside S. Full steps, one after the other, take such rows into S
        and often end lower, though they do not descend on the way; ``full`` of them are tried."""
        problem, y = self.problem, self.problem.y
        v, db, u, solved = self._direction(w, slack, p)
        t = _length(problem.rows, y * slack, u, w, v - w, LINE_SEARCH_END_SLOPE)
        cut = NewtonStep(v if t == 1.0 else w + t * (v - w), t * db, slack - t * (y * u), solved)
        if t > POOR_STEP_LENGTH:
            return cut
        goal = self._value(cut.w, cut.slack)
        for _ in range(full if solved else 0):
            w, moved, slack = v, db, slack - y * u
            if self._value(w, slack) < goal:
                return NewtonStep(w, moved, slack, solved)
            p = self.design.transposed(problem.y * (2.0 * problem.weight * np.maximum(0.0, slack)))
            v, more, u, solved = self._direction(w, slack, p)
            db = moved + more
            if not solved:
                break
        return cut._replace(well=False)

    def _value(self, w: Array, slack: Array) -> float:
        return float(np.abs(w).sum()) + _losses(self.problem, slack)

    def passes(self, w: Array, slack: Array, rng: Any) -> tuple[Array, float, Array]:
        """The same by passes over the columns."""
        problem, y, c = self.problem, self.problem.y, self.problem.weight
        w, slack, moved, k = w.copy(), slack.copy(), 0.0, len(self.columns)
        columns = columns_of(self.X if self.shift is None else self.X - self.shift)
        constant = columns_of(np.full((problem.n_rows, 1), problem.scaling))
        for _ in range(PASSES_PER_ROUND):
            largest = _native.l1_descend(columns, rng.permutation(k), y, c, w[:k], slack)
            if problem.intercept == "penalised":
                _native.l1_descend(constant, np.zeros(1, np.int64), y, c, w[k:], slack)
            elif self.free:
                db = best_move(problem, slack)
                moved, slack = moved + db, slack - y * db
            if largest <= ROUNDING_SHARE or self.control.stop() is not None:
                break
        return w, moved, slack


def best_move(problem: PrimalProblem, slack: Array) -> float:
    """The change of a free intercept that is best for these slacks, by Newton's method."""
    inside = problem.weight * np.maximum(0.0, slack)
    by_b, curvature = float(problem.y @ inside), float(problem.weight[slack > 0].sum())
    if by_b == 0 or curvature == 0:
        return 0.0
    unit, no_weights = by_b / curvature, np.zeros(0)
    u = np.full(problem.n_rows, unit)
    return unit * _length(problem.rows, problem.y * slack, u, no_weights, no_weights, 1e-14)


def _losses(problem: PrimalProblem, slack: Array) -> float:
    return float(problem.weight @ np.maximum(0.0, slack) ** 2)


@dataclass(frozen=True)
class L1CoordinateDescent(LinearSolver):
    """The solver for ``penalty="l1"``: Newton steps on working sets of columns, by coordinate descent.

    Parameters
    ----------
    first : int, default=128
        Columns of the first working set.
    square : int, default=3000
        Maximum number of columns for which a square matrix is formed; with more, the steps are one-dimensional.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.runtime.control import Control
    >>> from maxmargin.problems.l1 import L1Problem, certify_l1
    >>> from maxmargin.solvers import L1CoordinateDescent
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 50))
    >>> problem = L1Problem(X, np.sign(X[:, 0] - X[:, 1]), np.full(200, 0.02))
    >>> solution = L1CoordinateDescent().solve_linear(problem, tol=1e-6, control=Control())
    >>> np.flatnonzero(solution.w)
    array([0, 1])
    >>> certify_l1(problem, solution.w, solution.b, solution.beta).relative_gap < 1e-6
    True
    """

    name: ClassVar[str] = "l1_coordinate_descent"
    title: ClassVar[str] = "working sets of columns, for the L1 penalty"
    accepts: ClassVar[tuple[str, ...]] = ("l1",)
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    learns: ClassVar[str] = "primal"
    reads_columns: ClassVar[bool] = True

    first: int = FIRST_WORKING_SET_COLUMNS
    square: int = HESSIAN_MAX_COLUMNS

    def refuses(self, problem: PrimalProblem) -> str | None:
        if not isinstance(problem, L1Problem):
            return "l1_coordinate_descent minimises |w|_1: use penalty='l1', or another solver"
        if not problem.squared:
            return "l1_coordinate_descent needs a loss with a derivative: use loss='squared_hinge'"
        if problem.hard_margin:
            return "l1_coordinate_descent needs finite weights, and C=inf is a hard margin: use a finite C"
        return None

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        problem, control = run.problem, run.control
        reason = self.refuses(problem)
        if reason is not None or not isinstance(problem, L1Problem):
            raise ValueError(f"solver={self.name!r} cannot solve this problem: {reason}.")
        n_iter, status = 0, None
        rng = check_random_state(random_state)
        try:
            n_iter, status = self._rounds(problem, run, control, rng, start, 0, poor=MAX_POOR_STEPS)
            if status is None:
                n_iter, start, status = self._approach(problem, run, control, rng, n_iter)
            if status is None:
                n_iter, status = self._rounds(problem, run, control, rng, start, n_iter)
        except Halted:
            status = control.stop()
        return run.solution(status or Status.STALLED, n_iter)

    def _approach(
        self, problem: L1Problem, run: Run, control: Control, rng: Any, n_iter: int
    ) -> tuple[int, Start | None, Status | None]:
        """A start: coarse solutions for weights that grow from where few columns matter."""
        start = None
        b = problem.best_intercept(np.zeros(problem.n_rows), 0.0)
        beta = problem.suggested(np.zeros(problem.n_rows), b)
        steepest = float(np.abs(problem.row_combination(beta)).max(initial=0.0))
        stages = math.ceil(math.log(max(1.0, steepest / FIRST_WEIGHTS_MAX_GRADIENT), WEIGHTS_FACTOR))
        for stage in range(stages, 0, -1):
            part = replace(problem, weight=problem.weight / WEIGHTS_FACTOR**stage, csc=problem.by_columns)
            quiet = control.silent(max_iter=WEIGHTS_MAX_ROUNDS)
            coarse = Run(part, WEIGHTS_GAP, quiet)
            done, _ = self._rounds(part, coarse, quiet, rng, start, 0)
            n_iter, start = n_iter + done, Start(coarse.w, coarse.b)
            status = run.evaluate(n_iter, start.w, start.b, problem.design.times(start.w))
            if status is not None:
                return n_iter, start, status
        return n_iter, start, None

    def _rounds(
        self, problem: L1Problem, run: Run, control: Control, rng: Any, start: Start | None, n_iter: int, poor: int = -1
    ) -> tuple[int, Status | None]:
        """Rounds until the run ends, or until ``poor`` Newton steps in a row have gone badly."""
        y, d, free = problem.y, problem.n_features, problem.intercept == "free"
        shift = problem.design.mean() if free and not problem.design.sparse else None
        every = Columns(problem, shift, control)
        w, b = (np.zeros(d), 0.0) if start is None else (np.asarray(start.w, np.float64), start.b)
        b += 0.0 if shift is None else float(shift @ w)  # b belongs to the shifted columns
        slack = 1.0 - y * (every.design.times(w) + b)
        h = np.sqrt(every.squares())
        alive, working = h > 0, _WorkingSet(every, np.arange(0))
        best, stalled_rounds, bad = math.inf, 0, 0
        while True:
            if free:
                db = best_move(problem, slack)
                b, slack = b + db, slack - y * db
            beta = problem.suggested(y * (1.0 - slack), 0.0)
            p = every.slopes(beta, alive)
            t = problem.scale(beta, p)
            own = b - (0.0 if shift is None else float(shift @ w))
            status = run.evaluate(n_iter, w, own, y * (1.0 - slack) - own, t * beta, t * p)
            value = problem.penalty(w, b) + _losses(problem, slack)
            stalled_rounds = 0 if value < best else stalled_rounds + 1
            best = min(best, value)
            if status is not None or stalled_rounds > NO_PROGRESS_MAX_ROUNDS:
                return n_iter, status or Status.STALLED
            alive &= t * np.abs(p) + math.sqrt(max(0.0, 2.0 * (value - problem.dual(t * beta)))) * h >= 1.0
            columns = self._chosen(np.abs(p), h, w, alive, working.columns)
            if columns is not working.columns:
                working = _WorkingSet(every, columns)
            part = working.weights(w, b)
            slopes = p[columns]
            if problem.intercept == "penalised":
                slopes = np.append(slopes, problem.scaling * float(beta.sum()))
            db, well = 0.0, False
            if len(columns) <= self.square:
                part, db, slack, well = working.newton(part, slack, slopes, MAX_FULL_STEPS >> bad)
            bad = 0 if well else bad + 1
            if bad == poor:
                return n_iter, None
            if not well:
                part, more, slack = working.passes(part, slack, rng)
                db += more
            w = np.zeros(d)
            w[columns] = part[: len(columns)]
            b = problem.scaling * float(part[-1]) if problem.intercept == "penalised" else b + db
            n_iter += 1

    def _chosen(self, p: Array, h: Array, w: Array, alive: Array, present: Array) -> Array:
        """The present working set if no other column promises anything; else the weights that are not zero and as
        many others, the most promising."""
        outside = alive & (p > 1.0)
        outside[present] = False
        if len(present) and not outside.any():
            return present
        used = w != 0
        count = int(np.count_nonzero(used))
        size = max(self.first, count + min(count, int(np.count_nonzero(outside))))
        candidates = np.flatnonzero(alive | used)
        if len(candidates) <= size:
            return np.arange(len(w)) if len(w) <= size else candidates
        promise = np.where(used, np.inf, (p - 1.0) / np.where(h > 0, h, 1.0))[candidates]
        return np.sort(candidates[np.argpartition(-promise, size)[:size]])
