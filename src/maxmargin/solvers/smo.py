"""Sequential minimal optimisation (Platt 1998) on a working set, with second-order selection (Fan, Chen & Lin 2005).

The equality of a group leaves two variables as the smallest set that can move: a_i += d, a_j -= d with i, j in one
group. Along it the objective is  -d (g_j - g_i) + 1/2 d^2 (Q_ii + Q_jj - 2 Q_ij).  A step takes

    i = argmin { g_u : a_u < upper_u }                                     the smallest gradient,
    j = argmax { (g_u - g_i)^2 / (Q_ii + Q_uu - 2 Q_iu) : a_u > lower_u, g_u > g_i }   the partner with the best gain,
    d = (g_j - g_i) / (Q_ii + Q_jj - 2 Q_ij), cut at the bounds,

in the group of the largest violation, and stops when max { g_u : a_u > lower_u } - min { g_u : a_u < upper_u } <= tol
in every group.

Linear problems are the same with the linear kernel, but end by the duality gap. So the pair steps are repeated
with a tenth of the violation, from the last point, until the gap is small enough; each repetition is one record of the
history. An iteration there is as many pair steps as there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin import _native
from maxmargin.kernels import Linear
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.blocks import Block, BlockSolver
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.slots import Slots

FREE_MAX_SHARE = 0.5  # of W that are free variables of the last one; the rest are violators
GRADIENT_MAX = 1e10  # of pair steps, whose barriers are 1e30; larger ones are divided, and Q with them
FIRST_VIOLATION, LAST_VIOLATION = 1.0, 1e-13  # of a linear problem: the initial goal, and that of rounding
LINEAR_KERNEL_BYTES = 2e8  # for kernel values of a linear problem


@dataclass(frozen=True, kw_only=True)
class SMO(BlockSolver, LinearSolver):
    """Sequential minimal optimisation on working sets, for duals with equality constraints; for linear problems, the
    hinge loss with a free intercept.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import SMO
    >>> model = LinearSVC(loss="hinge", solver=SMO(), tol=1e-6).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.converged
    True
    """

    name: ClassVar[str] = "smo"
    title: ClassVar[str] = "SMO: two multipliers at a time"
    accepts: ClassVar[tuple[str, ...]] = ("kernel", "linear")
    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def refuses(self, problem: DualProblem | PrimalProblem) -> str | None:
        if isinstance(problem, PrimalProblem):
            if problem.loss.name not in self.losses:
                return "smo is for the hinge loss: use loss='hinge', or 'coordinate_descent'"
            if not problem.free:
                return "smo moves pairs of multipliers, which only a free intercept ties: use 'coordinate_descent'"
            return None
        if (problem.group < 0).any():
            return "smo moves pairs of variables, and a dual without intercept ties none: use 'coordinate_descent'"
        return None

    def choose(self, problem: DualProblem, a: Array, gradient: Array, previous: Array) -> Array:
        """Free variables of the last working set, then, for each group and in equal numbers, those with the
        smallest gradients that may rise and the largest that may fall. Both ends of the worst pair are always among
        them."""
        free = previous[(a[previous] > problem.lower[previous]) & (a[previous] < problem.upper[previous])]
        free = free[: int(FREE_MAX_SHARE * self.working_set)]
        chosen = [free]
        taken = np.zeros(len(a), bool)
        taken[free] = True
        quota = max(1, (self.working_set - len(free)) // (2 * len(problem.totals)))
        rise, fall = optimality.sides(problem, a, gradient)
        for g in range(len(problem.totals)):
            members = problem.group == g
            for may_move, value, limit in (
                (a < problem.upper, gradient, fall[g]),
                (a > problem.lower, -gradient, -rise[g]),
            ):
                candidates = np.flatnonzero(members & may_move & ~taken & (value < limit))
                if len(candidates) > quota:
                    candidates = candidates[np.argpartition(value[candidates], quota)[:quota]]
                taken[candidates] = True
                chosen.append(candidates)
        return np.sort(np.concatenate(chosen))

    def arrange(self, group: Array) -> Array:
        return _slots(group).variable

    def solve_block(self, block: Block, goal: float, max_steps: int) -> int:
        slots = _slots(block.group)
        x, lower, upper, rise, fall = slots.box(block.a, block.lower, block.upper, float)
        unit = max(1.0, float(np.abs(block.g).max()) / GRADIENT_MAX)
        Q, g = (block.Q if unit == 1.0 else block.Q / unit), block.g[slots.variable] / unit
        diagonal = np.diag(Q).copy()
        taken = _native.solve_pairs(
            Q, g, x, lower, upper, rise, fall, diagonal, slots.begin, slots.end, goal / unit, max_steps
        )
        v = slots.variable[slots.real]
        block.a[v], block.g[v] = x[slots.real], unit * g[slots.real]
        return taken

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        problem, control = run.problem, run.control
        dual, n = problem.boxes, problem.n_rows
        gram = make_gram(Linear().resolve(problem.X), problem.X, threads=problem.threads, budget=LINEAR_KERNEL_BYTES)
        gram.budget = LINEAR_KERNEL_BYTES
        limit = control.max_iter * n if control.max_iter >= 0 else -1
        a = dual.start() if start is None or start.beta is None else dual.feasible(start.beta)
        steps, goal = 0, FIRST_VIOLATION
        while True:
            w = problem.row_combination(a)
            f = problem.design.times(w)
            b = problem.best_intercept(f, dual.scalars(optimality.offsets(dual, a, dual.gradient(f, a))).intercept)
            n_iter = -(-steps // n)
            status = run.evaluate(n_iter, w, b, f, a, w)
            if status is None and goal < LAST_VIOLATION:
                status = Status.STALLED
            if status is not None:
                return run.solution(status, n_iter)
            inner = replace(control.of_one(), max_iter=max(0, limit - steps) if limit >= 0 else -1, callback=None)
            solution = self.solve(dual, gram, tol=goal, control=inner, start=a)
            a, steps, goal = solution.a, steps + solution.n_iter, 0.1 * goal
            if solution.status is Status.STALLED:
                goal = 0.0
            if not np.isfinite(a).all():
                return run.solution(Status.STALLED, n_iter)


def _slots(group: Array) -> Slots:
    return Slots.of(np.arange(len(group)), group, int(group.max()) + 1, zero_slot=False)
