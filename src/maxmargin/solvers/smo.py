"""Sequential minimal optimisation (Platt 1998) on a working set, with second-order selection (Fan, Chen & Lin 2005).

The equality of a group leaves two variables as the smallest set that can move: a_i += d, a_j -= d with i, j in one
group. Along it the objective is  -d (g_j - g_i) + 1/2 d^2 (Q_ii + Q_jj - 2 Q_ij).  A step takes

    i = argmin { g_u : a_u < upper_u }                                     the variable that most wants to rise,
    j = argmax { (g_u - g_i)^2 / (Q_ii + Q_uu - 2 Q_iu) : a_u > lower_u, g_u > g_i }   the partner with the best gain,
    d = (g_j - g_i) / (Q_ii + Q_jj - 2 Q_ij), cut at the bounds,

for the best group, and stops when max { g_u : a_u > lower_u } - min { g_u : a_u < upper_u } <= tol in every group.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _native
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array
from maxmargin.solvers.blocks import Block, BlockSolver

KEEP = 0.5  # at most this part of W are free variables of the last one; the rest are violators


class SMO(BlockSolver):
    """Pairs of variables on a working set: the solver for every dual whose variables are tied by equalities."""

    name = "smo"

    def refuses(self, problem: DualProblem) -> str | None:
        if (problem.group < 0).any():
            return "smo moves pairs of variables, and a dual without intercept ties none: use 'coordinate_descent'"
        return None

    def choose(self, problem: DualProblem, a: Array, gradient: Array, previous: Array) -> Array:
        """Free variables of the last working set, then, for each group and in equal numbers, those that most want to
        rise and those that most want to fall. Both ends of the worst pair are always among them."""
        free = previous[(a[previous] > problem.lower[previous]) & (a[previous] < problem.upper[previous])]
        free = free[: int(KEEP * self.working_set)]
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

    def solve_block(self, block: Block, goal: float, max_steps: int) -> int:
        n_groups = int(block.group.max()) + 1
        return _native.solve_block_pairs(
            block.Q, block.g, block.a, block.lower, block.upper, block.group, n_groups, float(goal), max_steps
        )
