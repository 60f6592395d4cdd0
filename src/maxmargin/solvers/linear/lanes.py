"""Dual coordinate descent for many one-vs-rest machines at once, one a vector lane.

The machines of a fit with many classes share their rows and differ only in the signs of y. The method is that of
:mod:`maxmargin.solvers.linear.coordinate_descent`; but while a row is at hand, the multiplier of every machine takes
its step:

    g_l = y_l (w_l'x_i + b_l) - 1 + r alpha_l,      alpha_l <- clip(alpha_l - g_l / q, 0, upper),

all w_l'x_i by one read of the row, for the weights of the 16 machines stand side by side in memory
(:mod:`maxmargin.kernels.gram.tiles.lanes`). Single precision is enough to find the solution to four digits or so: a
machine is then computed anew from its multipliers in double precision, and its certificate decides. The few that are
late, or need more digits, are left to the method for one machine, which starts where this one ends.

Rows in which no multiplier has moved for three visits are passed over, but for one epoch in eight. A machine whose gap
is small enough is frozen, so that it keeps no row awake.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numba
import numpy as np
from sklearn.utils import check_random_state

from maxmargin.kernels.gram.tiles.lanes import LINE, lane_add, lane_count, lane_dot
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import LinearSolution, Run, Start, survey
from maxmargin.solvers.linear.problem import LinearProblem

PENALTY = 0.2  # rho of a free intercept, in units of a typical |x_i|^2
WORK = 4_000_000  # entries of X between two looks at the clock: well under 0.2 s
FIRST = 5  # epochs before the first look at the gaps
QUIET = 3  # visits without gain after which a row is passed over,
REVISIT = 8  # but for every so many epochs
SAFE = 0.9  # of the tolerance is what has to be reached here, for the certificate to find the same
STUCK = 6  # looks without a better gap before the method gives up
LEFT, LATE = 0.15, 30  # share of the machines that are not worth more epochs after so many of them


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sweep(
    order: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    lane: Array,
    squares: Array,
    bound: Array,
    own: Array,
    awake: Array,
    squared: bool,
    rho: float,
    A: Array,
    W: Array,
    b: Array,
    total: Array,
    quiet: Array,
    every: bool,
) -> int:
    """One pass over ``order``; how many rows were visited."""
    L = A.shape[1]
    f, change = np.zeros(L, A.dtype), np.zeros(L, A.dtype)
    one, none, visited = A.dtype.type(1.0), A.dtype.type(0.0), 0
    step_b = A.dtype.type(rho)
    for t in range(len(order)):
        i = order[t]
        if quiet[i] >= QUIET and not every:
            continue
        visited += 1
        lane_dot(indices, data, indptr[i], indptr[i + 1], W, f)
        c, mine = bound[i], lane[i]
        moved = none
        for l in range(L):
            sign = one if l == mine else -one
            price = c * own[l] if l == mine else c
            ridge = A.dtype.type(0.5) / price if squared else none
            q = squares[i] + step_b + ridge
            a = A[i, l]
            g = sign * (f[l] + b[l] + step_b * total[l]) - one + ridge * a
            new = max(a - g / q, none)
            if not squared:
                new = min(new, price)
            new = a + awake[l] * (new - a)
            step = new - a
            A[i, l] = new
            change[l] = sign * step
            moved = max(moved, abs(step))
        quiet[i] = 0 if moved > none else quiet[i] + 1
        if moved > none:
            for l in range(L):
                total[l] += change[l]
            lane_add(indices, data, indptr[i], indptr[i + 1], W, change)
    return visited


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _values(start: int, stop: int, indptr: Array, indices: Array, data: Array, W: Array, out: Array) -> None:
    """w_l'x_i of all lanes."""
    for i in range(start, stop):
        lane_dot(indices, data, indptr[i], indptr[i + 1], W, out[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _squares(W: Array, out: Array) -> None:
    """|w_l|^2 of all lanes, in double precision."""
    L = len(out)
    for j in range(0, len(W), L):
        for l in range(L):
            out[l] += float(W[j + l]) * float(W[j + l])


class _Group:
    """The machines that share a line of memory."""

    def __init__(
        self,
        problems: Sequence[LinearProblem],
        bound: Array,
        own: Array,
        squares: Array,
        starts: Sequence[Start | None],
        dtype: type,
        control: Control,
    ) -> None:
        first = problems[0]
        self.problems, self.dtype, self.count = problems, dtype, len(problems)
        n, d, L = first.n_rows, first.n_features, lane_count(dtype)
        signs = np.array([problem.y > 0 for problem in problems])
        self.lane = np.where(signs.any(axis=0), signs.argmax(axis=0), -1)
        self.bound: Array = bound.astype(dtype)
        self.squares: Array = squares.astype(dtype)
        self.own: Array = np.ones(L, dtype)
        self.awake: Array = np.zeros(L, dtype)
        self.own[: self.count], self.awake[: self.count] = own, 1.0
        typical = float(np.median(squares)) or float(squares.mean())
        self.rho = {"none": 0.0, "penalised": first.scaling**2}.get(first.intercept, PENALTY * typical)
        self.W = _aligned(d * L, dtype)
        self.A: Array = np.zeros((n, L), dtype)
        self.values: Array = np.zeros((n, L), dtype)
        self.b: Array = np.zeros(L, dtype)
        self.total: Array = np.zeros(L, dtype)
        self.quiet, self.epoch = np.zeros(n, np.int32), 0
        self.runs = [Run(problem, 0.0, control) for problem in problems]
        for l, start in enumerate(starts):
            if start is not None and start.alpha is not None:
                problem = problems[l]
                alpha = problem.feasible(start.alpha)
                self.A[:, l], self.total[l] = alpha, float(problem.y @ alpha)
                self.W.reshape(d, L)[:, l] = problem.w_of(alpha)
                self.b[l] = 0.0 if first.intercept != "free" else start.b - self.rho * float(self.total[l])

    @property
    def rows(self) -> tuple[Array, Array, Array]:
        X = self.problems[0].X
        return X.indptr, X.indices, X.data

    def sweep(self, order: Array, control: Control) -> None:
        """One epoch."""
        first = self.problems[0]
        at_once = max(1, int(WORK * first.n_rows / max(1, first.X.nnz)))
        for begin in range(0, len(order), at_once):
            _sweep(
                order[begin : begin + at_once],
                *self.rows,
                self.lane,
                self.squares,
                self.bound,
                self.own,
                self.awake,
                first.squared,
                self.rho,
                self.A,
                self.W,
                self.b,
                self.total,
                self.quiet,
                self.epoch % REVISIT == REVISIT - 1,
            )
            if control.stop() is not None:
                return
        self.epoch += 1
        if first.intercept == "free":
            self.b += self.dtype(self.rho) * self.total * self.awake  # b_0 <- b

    def look(self, tol: float, control: Control) -> float:
        """The largest relative gap of the machines that are awake; those that are good enough freeze."""
        first = self.problems[0]
        n, L = self.A.shape
        at_once = max(1, int(WORK * n / max(1, first.X.nnz)))
        for begin in range(0, n, at_once):
            _values(begin, min(n, begin + at_once), *self.rows, self.W, self.values)
            if control.stop() is not None:
                return math.inf
        worst = 0.0
        norms = np.zeros(L)
        _squares(self.W, norms)
        for l in np.flatnonzero(self.awake).tolist():
            problem, f, alpha, squares = self.problems[l], self.values[:, l], self.A[:, l], float(norms[l])
            b = problem.settle(f, float(self.b[l] + self.rho * self.total[l]))
            losses, n_support, up, down, squares_up, squares_down = survey(
                problem.y, f, b, problem.bound, alpha, problem.squared
            )
            self.total[l] = up - down
            penalty = 0.5 * squares + (0.5 * (b / problem.scaling) ** 2 if problem.intercept == "penalised" else 0.0)
            primal, dual = penalty + losses, up + down - squares_up - squares_down - penalty
            if problem.intercept == "free":
                dual -= abs(b * (up - down))
            gap = (primal - dual) / max(abs(primal), 1e-300)
            self.runs[l].note(self.epoch, math.sqrt(squares), primal, dual, n_support)
            control.report(self.epoch, gap, n_support, primal=primal, dual=dual, norm=math.sqrt(squares))
            self.awake[l] = gap > SAFE * tol
            worst = max(worst, gap)
        return worst

    def solve(self, tol: float, control: Control, seed: int) -> Status:
        rng = check_random_state(seed)
        n = self.problems[0].n_rows
        look, best, waited = FIRST, math.inf, 0
        limit = control.max_iter if control.max_iter >= 0 else 1_000_000
        while True:
            self.sweep(rng.permutation(n), control)
            status = control.stop() or (Status.MAX_ITER if self.epoch >= limit else None)
            if self.epoch < look and status is None:
                continue
            look = self.epoch + max(2, self.epoch // 6)
            worst = self.look(tol, control)
            if not self.awake.any():
                return Status.OPTIMAL
            waited = 0 if worst < best else waited + 1
            best = min(best, worst)
            few = self.epoch > LATE and np.count_nonzero(self.awake) <= LEFT * self.count
            if status is not None or waited > STUCK or few:
                return status or Status.STALLED


def _aligned(size: int, dtype: type) -> Array:
    """Zeros that begin with a cache line."""
    item = np.dtype(dtype).itemsize
    whole: Array = np.zeros(size + LINE // item, dtype)
    first = (-whole.ctypes.data % LINE) // item
    return whole[first : first + size]


def solve_together(
    problems: Sequence[LinearProblem],
    bound: Array,
    own: Array,
    *,
    tol: float,
    control: Control,
    starts: Sequence[Start | None],
    seed: int,
    threads: int,
    dtype: type = np.float32,
) -> list[LinearSolution]:
    """One-vs-rest machines of the same CSR rows, solved side by side.

    Parameters
    ----------
    problems : sequence of LinearProblem
    bound : array of shape (n,)
        c_i of a row in all machines but its own,
    own : array
        and the factor of each machine's own rows.
    tol, control, starts
        As for :class:`~maxmargin.solvers.linear.base.LinearSolver`.
    seed : int
    threads : int
    dtype : {numpy.float32, numpy.float64}

    Returns
    -------
    list of LinearSolution
        Computed from the multipliers, in double precision.
    """
    first = problems[0]
    # As few as fit, but two where that keeps a second core busy; the number of threads must not change the result.
    groups = max(-(-len(problems) // lane_count(dtype)), 2 if len(problems) >= 6 else 1)
    cuts = [len(problems) * g // groups for g in range(groups + 1)]
    squares = first.design.squared_norms()
    solutions: list[LinearSolution | None] = [None] * len(problems)

    def work(g: int) -> None:
        mine = slice(cuts[g], cuts[g + 1])
        group = _Group(problems[mine], bound, own[mine], squares, starts[mine], dtype, control)
        status = group.solve(tol, control, seed + g)
        solutions[mine] = _solutions(group, status)

    run_tiles(work, groups, threads)
    return [solution for solution in solutions if solution is not None]


def _solutions(group: _Group, status: Status) -> list[LinearSolution]:
    problems = group.problems
    alpha = np.array([problem.feasible(group.A[:, l].astype(np.float64)) for l, problem in enumerate(problems)])
    signed = np.array([problem.y for problem in problems]) * alpha
    X = problems[0].X
    W = np.asarray(X.T @ signed.T.copy())
    F = np.asarray(X @ W)
    solutions = []
    for l, problem in enumerate(problems):
        b = problem.settle(F[:, l], problem.b_of(alpha[l]))
        ended = Status.OPTIMAL if not group.awake[l] else status
        solutions.append(
            LinearSolution(W[:, l].copy(), b, alpha[l], ended, group.epoch, group.runs[l].history, f=F[:, l], made=True)
        )
    return solutions
