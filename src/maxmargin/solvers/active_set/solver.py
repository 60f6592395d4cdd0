"""The exact engine: small working sets, and updates of f without a kernel matrix.

Like every block method it alternates between solving on a working set W and bringing f = K @ coefficients up to date,
but it is arranged so that almost all time goes into fused tiles and vectorised pair steps:

    solve     second-order SMO on the float32 matrix K_WW, which is rebuilt each round and never larger than a few
              thousand rows; W holds free variables of the last round, the worst violators, and *random* violators,
              in equal numbers of those that want to rise and to fall. Support vectors at their bounds leave W.
    update    f += k(rows, changed) @ change, by tiles that never store a kernel value; float32 values, float64 sums.

It runs in three phases, each on fewer rows and with more digits:

    1. all rows, until the violation has fallen to a half of its first value;
    2. only rows near their conditions; the others are updated once at the end, with the summed change;
    3. if the audit of the result asks for it, the rows that decide the violation, with f in float64, until it is at
       most tol. Rows that the known error of float32 keeps at a safe distance stay as they are.

Where single precision cannot go on (very large kernel values, or C), the double-precision block solver finishes.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from maxmargin._native import SLOT_UNIT
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Halted
from maxmargin.runtime.validation import Array
from maxmargin.solvers.active_set.nearly_diagonal import solve_nearly_diagonal
from maxmargin.solvers.active_set.pair_steps import BoxVariables, Position, pair_steps, reserve_matrix
from maxmargin.solvers.active_set.parts import falls_apart, solve_parts
from maxmargin.solvers.active_set.small_dense import solve_small_dense
from maxmargin.solvers.base import KernelSolver
from maxmargin.solvers.blocks import MIN_STEPS
from maxmargin.solvers.coordinate_descent import CoordinateDescent
from maxmargin.solvers.slots import Slots
from maxmargin.solvers.smo import SMO
from maxmargin.solvers.solution import Solution

WORKING_SET_MIN, WORKING_SET_MAX = 1536, 6144  # size of W: twice the free variables, within these, but
CACHED_MAX_ROWS = 2048  # beyond this, where K_WW outgrows the cache, only a quarter more than the free variables
EARLY_ROUNDS, GROWTH_PER_ROUND = 8, 256  # after so many rounds over all rows, W grows by so much each round
INNER_SHARE = 0.1  # the inner solve stops at this part of the present violation
INNER_SHARE_HELD = 0.02  # the same where updates of f is cheap, for values are held in memory, and a new W is not
NEAR_SHARE = 0.1  # phase 2 takes rows within this part of the first violation
ERROR_FACTOR = 3.0  # of a sample's largest error that a violation, a difference of two values of f, may err by
ALONE_MAX_SHARE = 0.75  # of the goal: so much of it may be taken by that error where float32 decides alone
CLOSE_SHARE = 0.01  # phase 3 takes rows within this part of the first violation, or more if float32 erred more
SLICE_MAX_VALUES = 3_000_000  # kernel values between two checks of the clock: a tenth of a second with 784 columns
SLICE_MIN_ROWS = 64
ONE_BLOCK_MAX_VARIABLES = 1024  # of a problem that is one block, if its kernel values are stored
DUAL_PROGRESS_RELATIVE = 1e-7  # a relative gain of the dual objective that counts as progress
STALLED_ROUNDS = 40  # rounds without progress before the double-precision solver takes over


class ActiveSet(KernelSolver):
    """The default solver for kernels; ``smallest`` and ``largest`` bound the size of its working sets.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> SVC(solver="active_set").fit([[0.0], [1.0]], [0, 1]).report_.solver
    'active_set'
    """

    name: ClassVar[str] = "active_set"
    title: ClassVar[str] = "active set: small working sets, solved exactly"

    def __init__(self, smallest: int = WORKING_SET_MIN, largest: int = WORKING_SET_MAX) -> None:
        self.smallest, self.largest = smallest, largest

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        n_before, one_block = 0, min(ONE_BLOCK_MAX_VARIABLES, self.largest)
        if problem.n_variables <= one_block and gram.single_is_exact:
            solution, done = solve_small_dense(problem, gram, tol=tol, control=control, start=start)
            if done:
                return solution
            n_before, start = solution.n_iter, solution.a
        note, f, parts = "", None, falls_apart(problem, gram, control)
        if parts is None:
            first = solve_nearly_diagonal(problem, gram, self.solve, tol=tol, control=control, start=start)
        else:
            first = solve_parts(problem, gram, parts, self.solve, tol=tol, control=control, start=start)
        if first is not None:
            start, f, n_before, note = first.a, first.f, first.n_iter, first.note
            if f is not None and first.meets(problem, tol * problem.tol_scale):
                return Solution(start, f, Status.OPTIMAL, n_before, fresh=True, note=note)
        run = _Run(self, problem, gram, tol, control, start, f if parts is None else None)
        run.n_iter = n_before
        run.limit = max(run.limit, n_before + MIN_STEPS) if control.max_iter < 0 else run.limit
        status = run.solve()
        if status is not None:
            return Solution(run.a, run.f, status, run.n_iter, fresh=run.fresh, note=note)
        solver = SMO() if len(problem.totals) else CoordinateDescent()
        last = solver.solve(problem, gram, tol=tol, control=control, start=run.a)
        return Solution(last.a, last.f, last.status, run.n_iter + last.n_iter, note=note)


class _Run:
    """One solve: the state that its phases share."""

    def __init__(
        self,
        solver: ActiveSet,
        problem: DualProblem,
        gram: Gram,
        tol: float,
        control: Control,
        start: Array | None,
        f: Array | None,  # of the start, if it is known
    ) -> None:
        self.problem, self.gram, self.control = problem, gram, control
        self.goal = tol * problem.tol_scale
        self.limit = control.max_iter if control.max_iter >= 0 else max(MIN_STEPS, 100 * problem.n_variables)
        self.n_iter = self.rounds = 0
        self.pending = np.zeros(problem.n_rows)
        self.dual, self.fresh = np.nan, False
        self.inner = INNER_SHARE_HELD if gram.held else INNER_SHARE
        self.untied = len(problem.totals) == 0
        self.group = np.maximum(problem.group, 0)
        self.n_groups = max(1, len(problem.totals))
        self.a = problem.start() if start is None else problem.feasible(start)
        self.diagonal = gram.diagonal()
        self.dtype = np.float64 if gram.single_is_exact else np.float32
        self.f = f if f is not None else self._f()
        self.every = np.arange(problem.n_variables)
        self.one_each = problem.n_variables == problem.n_rows
        cap = min(
            solver.largest,
            int(np.sqrt(gram.budget / np.dtype(self.dtype).itemsize)),
            problem.n_variables + SLOT_UNIT * (self.n_groups + 1),
        )
        self.cap = max(4 * SLOT_UNIT, cap)
        self.smallest, self.largest = min(solver.smallest, self.cap), solver.largest
        reserve_matrix(gram, self.cap, self.dtype)
        self.W, self.current = np.empty(0, np.int64), self.every  # the latter: variables whose gradients are up to date
        self.gradient = problem.gradient(self.f, self.a)

    # ------------------------------------------------------------ conditions

    def _variables(self) -> BoxVariables:
        p = self.problem
        return BoxVariables(self.gradient, self.a, p.lower, p.upper, self.group, self.n_groups, self.untied)

    def _conditions(self, ids: Array) -> tuple[float, Array, float]:
        """Over the variables ids: the violation, each group's middle, and half the widest group's violation. It is
        infinite where kernel values times multipliers overflow: comparisons with NaN would find no violation."""
        violation, middle = self._variables().sides(ids)
        if not math.isfinite(float(self.gradient.sum())):
            violation = math.inf
        return violation, middle, 0.5 * violation

    def _refresh_gradient(self, ids: Array | None = None) -> None:
        p = self.problem
        if ids is None:
            self.gradient = p.gradient(self.f, self.a)
        else:
            self.gradient[ids] = p.sign[ids] * self.f[p.row[ids]] + p.linear[ids]

    def _report(self, violation: float, every: bool) -> None:
        """Progress. The dual objective is followed step by step; the primal one takes f of all rows."""
        primal, norm, n_support = np.nan, np.nan, int(np.count_nonzero(self.a))
        if every:
            now = optimality.best_certificate(self.problem, self.a, self.f)
            primal, self.dual, norm = now.primal, now.dual, now.norm
        self.control.report(self.n_iter, violation, n_support, primal=primal, dual=self.dual, norm=norm)

    def _noise(self) -> float:
        """What the rounding of float32 kernel values may add to the objective, if errors of f are like random ones."""
        return float(2.0**-24 * np.abs(self.diagonal).max(initial=0.0) * np.abs(self.a).sum() * np.linalg.norm(self.a))

    # ------------------------------------------------------------ one round

    def _pair_steps(self, W: Array, middle: Array, dtype: type, target: float) -> tuple[Array, Array]:
        """Pair steps on the variables W until their violation is at most ``target``; how much each changed, and the
        variables in the order of the changes."""
        steps = pair_steps(
            self.problem,
            self.gram,
            Slots.of(W, self.group, self.n_groups, self.untied),
            Position(self.a, self.gradient, self.diagonal, middle),
            dtype=dtype,
            target=target,
            limit=self.limit - self.n_iter,
            control=self.control,
        )
        self.n_iter += steps.taken
        self.dual += steps.gain
        self.a[steps.variables] = steps.values
        return steps.change, steps.variables

    def _solve_block(self, ids: Array, violation: float, middle: Array, goal: float) -> tuple[Array, Array]:
        """Choose W among ids and solve on it; the rows whose coefficients changed, and by how much."""
        p = self.problem
        free, least = int(np.count_nonzero((self.a > p.lower) & (self.a < p.upper))), self.smallest
        if len(ids) == len(self.every):  # many support vectors are still to come: take more of them at a time
            least = min(2 * CACHED_MAX_ROWS, least + GROWTH_PER_ROUND * max(0, self.rounds - EARLY_ROUNDS))
        size = min(self.cap, max(least, min(2 * free, max(CACHED_MAX_ROWS, 5 * free // 4))))
        if len(ids) <= self.cap - SLOT_UNIT * (self.n_groups + 1):
            size = min(size, len(ids)) if len(ids) > self.smallest else len(ids)
        start = (self.rounds * 7919) % max(1, len(ids))
        self.W = W = np.sort(self._variables().choose(ids, self.W, size, middle, start))
        W = W[self.gram.arranged(p.row[W])]
        change, v = self._pair_steps(W, middle, self.dtype, max(self.inner * violation, 0.5 * goal))
        moved = np.flatnonzero(change)
        self.rounds += 1
        rows, delta = p.row[v[moved]], p.sign[v[moved]] * change[moved]
        if not self.one_each and len(rows):
            rows, inverse = np.unique(rows, return_inverse=True)
            delta = np.bincount(inverse, weights=delta)
        return rows, delta

    def _run_rounds(self, ids: Array, goal: float, single: bool) -> Status | None:
        """Rounds on the variables ids until their violation is at most goal; None if that was reached."""
        every = len(ids) == len(self.every)
        self.current = ids
        rows = None if every else (self.problem.row[ids] if self.one_each else np.unique(self.problem.row[ids]))
        best, climbed, stalled_rounds = np.inf, -1e300, 0
        while True:
            violation, middle, _ = self._conditions(ids)
            self._report(violation, every)
            if violation <= goal:
                return None
            stop = self.control.stop() or (Status.MAX_ITER if self.n_iter >= self.limit else None)
            if violation == math.inf or stop is not None:
                return Status.STALLED if violation == math.inf else stop
            # While support vectors come in, the violation, the largest of all rows, may rise for long though the
            # objective improves.
            better = every and self.dual > climbed + DUAL_PROGRESS_RELATIVE * abs(climbed) + self._noise()
            stalled_rounds = 0 if violation < 0.98 * best or better else stalled_rounds + 1
            best, climbed = min(best, violation), self.dual if better else climbed
            before = self.a.copy()
            try:
                changed, delta = self._solve_block(ids, violation, middle, goal)
                if len(changed) == 0 or stalled_rounds > STALLED_ROUNDS:
                    return Status.STALLED
                new = self.gram.product(changed, delta, rows, single=single, stop=self.control.stop)
            except Halted:  # f belongs to the variables before this round
                self.a = before
                continue
            if every:
                self.fresh = False
                self.f += new
                self._refresh_gradient()
            else:
                self.f[rows] += new
                self.pending[changed] += delta
                self._refresh_gradient(ids)

    def _update_rest(self, ids: Array) -> None:
        """Bring the rows of all other variables up to date with the summed change."""
        p = self.problem
        changed = np.flatnonzero(self.pending)
        if len(changed) == 0:
            return
        known = np.zeros(p.n_rows, bool)
        known[p.row[ids]] = True
        rest = np.flatnonzero(~known)
        if len(rest):
            self.f[rest] += self.gram.product(changed, self.pending[changed], rest, single=True)
            self._refresh_gradient()
        self.pending[:] = 0.0

    # ------------------------------------------------------------ the phases

    def solve(self) -> Status | None:
        """Run the phases; the status, or None if the double-precision solver should go on."""
        first, _, _ = self._conditions(self.every)
        self.resumed = first <= 2 * self.goal
        if self.resumed:  # a start at the solution, up to the error of float32
            self.f = optimality.audited(self.problem, self.a, self.f, self.gram)
            self._refresh_gradient()
            first, _, _ = self._conditions(self.every)
        if first <= self.goal:
            return Status.OPTIMAL
        if self.gram.single_is_exact and len(self.every) <= min(ONE_BLOCK_MAX_VARIABLES, self.largest):
            return self._solve_one_block()
        status = self._run_rounds(self.every, max(self.goal, 0.5 * first), single=True)
        if status is None:
            # float32 decides alone where it is found to err by much less than tol, otherwise double precision does.
            # With values held in memory a check is not worth its time: if the audit of the result finds tol missed, the
            # solver is sent on from there.
            exact = self.gram.single_is_exact
            error = 0.0 if exact or self.resumed or self.gram.held else self._error()
            alone = exact or (not self.resumed and ERROR_FACTOR * error <= ALONE_MAX_SHARE * self.goal)
            status = self._near_phase(first, self.goal - ERROR_FACTOR * error if alone else 2 * self.goal)
            if status is Status.STALLED and alone and not exact:  # by rounding, above a goal that the error made small
                self._update_rest(self.current)
                status = self._close_phase(first)
            elif status is None and not alone:
                status = self._close_phase(first)
        if status is None:
            return Status.OPTIMAL
        if status is Status.STALLED:
            self._update_all()
            return None
        self._update_rest(self.current)  # who stops a run does not want to wait for all of f anew
        return status

    def _solve_one_block(self) -> Status:
        """A small problem whose kernel values are at hand: all of it is the working set, in double precision. It ends
        when the objective no longer falls: what is left of the violation is then rounding."""
        objective, idle = np.inf, 0
        while True:
            violation, middle, _ = self._conditions(self.every)
            self._report(violation, True)
            if violation <= self.goal:
                return Status.OPTIMAL
            stop = self.control.stop() or (Status.MAX_ITER if self.n_iter >= self.limit else None)
            if stop is not None:
                return stop
            before, objective = objective, self.problem.objective(self.f, self.a)
            # also where it is no number: a kernel that is not positive may have no minimum
            idle = 0 if before - objective > 1e-14 * abs(objective) else idle + 1
            if idle > 2:
                return Status.STALLED
            self._pair_steps(self.every, middle, np.float64, 0.9 * self.goal)
            self._update_all()
            self._refresh_gradient()

    def _error(self) -> float:
        """The error of f, measured on a sample of the support vectors."""
        coef = self.problem.coefficients(self.a)
        used = np.flatnonzero(coef)
        rows = used[:: max(1, len(used) // 32)]
        return float(np.max(np.abs(self.gram.product(used, coef[used], rows) - self.f[rows]), initial=0.0))

    def _update_all(self) -> None:
        """After an early end f may lag behind on some rows: compute it anew."""
        self.f, self.fresh = self._f(), self.gram.single_is_exact
        self.pending[:] = 0.0

    def _f(self) -> Array:
        return self.gram.times(self.problem.coefficients(self.a), single=True)

    def _near_phase(self, first: float, goal: float) -> Status | None:
        """Phase 2: only rows near their conditions, in single precision."""
        violation, middle, half = self._conditions(self.every)
        slack = max(0.25 * violation, NEAR_SHARE * first)
        near = np.flatnonzero(self._variables().excess(self.every, middle) > -(slack + half))
        while True:
            status = self._run_rounds(near, goal, single=True)
            if status is not None:
                return status
            self._update_rest(near)
            violation, middle, half = self._conditions(self.every)
            if violation <= goal:
                return None
            bad = np.flatnonzero(self._variables().excess(self.every, middle) > -0.5 * half)
            near = np.union1d(near, bad)

    def _close_phase(self, first: float) -> Status | None:
        """Phase 3: f in float64 for the rows that decide, and updates of f in float64 until tol is met there."""
        p = self.problem
        exact = np.zeros(p.n_variables, bool)
        slack, error = CLOSE_SHARE * first, 0.0
        while True:
            _, middle, half = self._conditions(self.every)
            slack = max(slack, 16 * error)
            close = self._variables().excess(self.every, middle) > -(half + slack)
            fresh = np.flatnonzero(close & ~exact)
            if len(fresh):
                rows = np.unique(p.row[fresh])
                coef = p.coefficients(self.a)
                used = np.flatnonzero(coef)
                step = max(SLICE_MIN_ROWS, SLICE_MAX_VALUES // len(used))
                for start in range(0, len(rows), step):
                    part = rows[start : start + step]
                    values = self.gram.product(used, coef[used], part)
                    error = max(error, float(np.max(np.abs(values - self.f[part]))))
                    self.f[part] = values
                    stop = self.control.stop()
                    if stop is not None:
                        return stop
                exact[np.isin(p.row, rows)] = True
                self._refresh_gradient()
                if 16 * error > slack:
                    continue
            ids = np.flatnonzero(exact)
            status = self._run_rounds(ids, self.goal, single=False)
            if status is not None:
                return status
            self._update_rest(ids)
            violation, middle, half = self._conditions(self.every)
            rest = np.flatnonzero(~exact)
            settled = np.max(self._variables().excess(rest, middle), initial=-np.inf) <= 0.5 * self.goal - 4 * error
            if settled and violation <= self.goal:
                return None
