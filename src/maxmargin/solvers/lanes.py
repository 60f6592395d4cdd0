"""Dual coordinate descent for many one-vs-rest problems at once, one per vector lane.

The problems of a fit with many classes share their rows and differ only in the signs of y. The method is that of
:mod:`maxmargin.solvers.descent`; but each row is read once for all problems, whose multipliers take
their steps together:

    g_l = y_l (w_l'x_i + b_l) - 1 + r alpha_l,      alpha_l <- clip(alpha_l - g_l / q, 0, upper),

all w_l'x_i by one read of the row, for the weights of the 16 problems stand side by side in memory
(native/lanes). Single precision is enough to find the solution to four digits or so: a
problem is then recomputed from its multipliers in double precision, and certified. The few that converge late, or need
more digits, are continued by the method for one problem.

Rows in which no multiplier has moved for three visits are skipped in seven of eight epochs. A problem whose gap
is small enough is frozen, so that its rows can be skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin import _native
from maxmargin.problems.design import csr_rows
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import LinearSolution, Run, Start

INTERCEPT_RHO = 0.2  # rho of a free intercept, in units of a typical |x_i|^2
LINE_BYTES = 64  # a cache line
CALL_MAX_ENTRIES = 1_000_000  # of X that one call reads for all lanes: some hundredths of a second
FIRST_EVALUATION_EPOCH = 5
QUIET_VISITS = 3  # without gain after which a row is passed over,
REVISIT_PERIOD = 8  # but for every so many epochs
TOL_SHARE = 0.9  # of the tolerance is what has to be reached here, for the certificate to find the same
NO_PROGRESS_MAX_EVALUATIONS = 6  # evaluations without a better gap before the method gives up
LEFT_SHARE, LEFT_EPOCH = 0.15, 30  # of the problems that are not worth more epochs after so many of them


def lane_count(dtype: Any) -> int:
    """Problems side by side: those whose weights of a column fill a cache line."""
    return int(LINE_BYTES // np.dtype(dtype).itemsize)


def _lines(count: int, dtype: Any) -> Array:
    """Zeros, shape (count, lanes), each row a cache line of its own: one that crosses two would take twice as long."""
    itemsize = np.dtype(dtype).itemsize
    memory = np.zeros((count + 1) * LINE_BYTES // itemsize, dtype)
    first = -memory.ctypes.data % LINE_BYTES // itemsize
    return memory[first : first + count * lane_count(dtype)].reshape(count, -1)


class _Group:
    """The problems that share a line of memory."""

    def __init__(
        self,
        problems: Sequence[PrimalProblem],
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
        self.rho = {"none": 0.0, "penalised": first.scaling**2}.get(first.intercept, INTERCEPT_RHO * typical)
        self.W, self.A, self.values = _lines(d, dtype), _lines(n, dtype), _lines(n, dtype)
        self.b: Array = np.zeros(L, dtype)
        self.total: Array = np.zeros(L, dtype)
        self.epoch = 0
        self.runs = [Run(problem, 0.0, control) for problem in problems]
        for l, start in enumerate(starts):
            if start is not None and start.beta is not None:
                problem = problems[l]
                beta = problem.feasible(start.beta)
                self.A[:, l], self.total[l] = np.abs(beta), float(beta.sum())
                self.W[:, l] = problem.row_combination(beta)
                self.b[l] = 0.0 if not first.free else start.b - self.rho * float(self.total[l])
        kind = _native.LanesSingle if dtype is np.float32 else _native.LanesDouble
        # float32 X for float32 weights: no conversion at every use, and less memory to read.
        X = first.X
        self.rows = csr_rows(X.indptr, X.indices, X.data.astype(dtype, copy=False), X.shape[1])
        self.lanes = kind(
            self.rows, self.lane, self.squares, self.bound, self.own, self.awake, self.A, self.W, self.b,
            self.total,
        )  # fmt: skip
        self.lanes.rho, self.lanes.squared, self.lanes.quiet_limit = self.rho, first.squared, QUIET_VISITS
        self.at_once = max(1, int(CALL_MAX_ENTRIES * n / max(1, first.X.nnz)))

    def sweep(self, order: Array, control: Control) -> None:
        """One epoch."""
        for begin in range(0, len(order), self.at_once):
            self.lanes.sweep(order[begin : begin + self.at_once], self.epoch % REVISIT_PERIOD == REVISIT_PERIOD - 1)
            if control.stop() is not None:
                return
        self.epoch += 1
        if self.problems[0].free:
            self.b += self.dtype(self.rho) * self.total * self.awake  # b_0 <- b

    def products(self, W: Array, out: Array, control: Control) -> bool:
        """out = X W; False if the run is to stop."""
        return self._parts(lambda begin, end: _native.line_values(self.rows, W, begin, end, out), control)

    def _parts(self, work: Callable[[int, int], None], control: Control) -> bool:
        n = self.A.shape[0]
        for begin in range(0, n, self.at_once):
            work(begin, min(n, begin + self.at_once))
            if control.stop() is not None:
                return False
        return True

    def evaluate(self, tol: float, control: Control) -> float:
        """The largest relative gap of the problems that are awake; those that are good enough freeze."""
        if not self.products(self.W, self.values, control):
            return math.inf
        worst, norms = 0.0, np.zeros(self.A.shape[1])
        _native.line_squares(self.W, norms)
        for l in np.flatnonzero(self.awake).tolist():
            problem, squares = self.problems[l], float(norms[l])
            f, beta = self.values[:, l].astype(np.float64), problem.y * self.A[:, l]
            b = problem.primal_intercept(f, float(self.b[l] + self.rho * self.total[l]))
            sums = problem.survey(f, b, beta)
            support = int(sums.support)
            self.total[l] = missing = sums.total()
            penalty = 0.5 * squares + (0.5 * (b / problem.scaling) ** 2 if problem.intercept == "penalised" else 0.0)
            primal, dual = penalty + sums.losses, sums.dual() - penalty
            if problem.free:
                dual -= abs(b * missing)
            gap = (primal - dual) / max(abs(primal), 1e-300)
            self.runs[l].record(self.epoch, math.sqrt(squares), primal, dual, support)
            control.report(self.epoch, gap, support, primal=primal, dual=dual, norm=math.sqrt(squares))
            self.awake[l] = gap > TOL_SHARE * tol
            worst = max(worst, gap)
            if control.stop() is not None:
                return math.inf
        return worst

    def solve(self, tol: float, control: Control, seed: int) -> Status:
        rng = check_random_state(seed)
        n = self.problems[0].n_rows
        due, best, stalled_evaluations, evaluated = FIRST_EVALUATION_EPOCH, math.inf, 0, 0
        limit = control.max_iter if control.max_iter >= 0 else 1_000_000
        while True:
            self.sweep(rng.permutation(n), control)
            status = control.stop() or (Status.MAX_ITER if self.epoch >= limit else None)
            if self.epoch < due and status is None:
                continue
            worst = self.evaluate(tol, control)
            if not self.awake.any():
                return Status.OPTIMAL
            # An evaluation costs as much as an epoch: the next one is due where the gap, which falls by the same factor
            # every epoch, will be small enough.
            rate = math.log(best / worst) / (self.epoch - evaluated) if worst < best < math.inf else 0.0
            left = math.log(worst / (TOL_SHARE * tol)) / rate if rate > 0 else 0.0
            due = self.epoch + max(2, min(math.ceil(left), self.epoch // 2))
            evaluated = self.epoch
            stalled_evaluations = 0 if worst < best else stalled_evaluations + 1
            best = min(best, worst)
            few = self.epoch > LEFT_EPOCH and np.count_nonzero(self.awake) <= LEFT_SHARE * self.count
            if status is not None or stalled_evaluations > NO_PROGRESS_MAX_EVALUATIONS or few:
                return status or Status.STALLED


def solve_together(
    problems: Sequence[PrimalProblem],
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
    """One-vs-rest problems of the same CSR rows, solved side by side; ``bound`` is c_i of a row in all problems but its
    own, and ``own`` the factor of each problem's own rows. The solutions are computed from the multipliers, in double
    precision."""
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
    """The problems recomputed from their multipliers, in double precision."""
    problems, rows, L = group.problems, group.problems[0].design.compiled, lane_count(np.float64)
    n, d = problems[0].X.shape
    solutions = []
    for first in range(0, len(problems), L):
        some = range(first, min(first + L, len(problems)))
        beta = [problems[l].feasible(problems[l].y * group.A[:, l]) for l in some]
        factors, W, F = _lines(n, np.float64), _lines(d, np.float64), _lines(n, np.float64)
        factors[:, : len(beta)] = np.transpose(beta)
        _native.line_sums(rows, factors, 0, n, W)
        _native.line_values(rows, W, 0, n, F)
        for l, own in zip(some, beta, strict=True):
            problem, f, w = problems[l], F[:, l - first].copy(), W[:, l - first].copy()
            b = problem.primal_intercept(f, problem.penalised_intercept(own))
            ended, history = Status.OPTIMAL if not group.awake[l] else status, group.runs[l].history
            solutions.append(LinearSolution(w, b, own, ended, group.epoch, history, f=f, made=True))
    return solutions
