"""Coordinate descent for duals without equalities: the machines without intercept.

With box constraints only, a single variable can move. Along it the objective is g_i d + 1/2 Q_ii d^2, so a step takes
the variable with the largest possible decrease and moves it to the minimum inside its box:

    d_i = clip(a_i - g_i / Q_ii, lower_i, upper_i) - a_i,      i = argmax of -(g_i d_i + 1/2 Q_ii d_i^2).

The stopping rule is that of SMO with an offset known to be zero: the largest gradient of a variable that may fall
minus the smallest of one that may rise, both at least zero in size, is at most tol.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array
from maxmargin.solvers.blocks import Block, BlockSolver


@numba.njit(cache=True, nogil=True)
def _solve_coordinates(Q: Array, g: Array, a: Array, lower: Array, upper: Array, goal: float, max_steps: int) -> int:
    n = len(a)
    for step in range(max_steps):
        lowest, highest, best, i, target = 0.0, 0.0, 0.0, -1, 0.0
        for u in range(n):
            if a[u] < upper[u]:
                lowest = min(lowest, g[u])
            if a[u] > lower[u]:
                highest = max(highest, g[u])
            curvature = max(Q[u, u], 1e-300)
            aim = min(max(a[u] - g[u] / curvature, lower[u]), upper[u])
            d = aim - a[u]
            gain = -d * (g[u] + 0.5 * curvature * d)
            if gain > best:
                best, i, target = gain, u, aim
        if highest - lowest <= goal or i < 0:
            return step
        d = target - a[i]
        a[i] = target
        for u in range(n):
            g[u] += d * Q[i, u]
    return max_steps


class CoordinateDescent(BlockSolver):
    """Single variables on a working set: the solver for every dual without equalities."""

    name = "coordinate_descent"

    def refuses(self, problem: DualProblem) -> str | None:
        if (problem.group >= 0).any():
            return (
                "coordinate_descent moves one variable at a time, and this dual ties its variables by an equality: "
                "use 'smo', or fit_intercept=False"
            )
        return None

    def choose(self, problem: DualProblem, a: Array, gradient: Array, previous: Array) -> Array:
        """The variables with the largest projected gradients."""
        size = np.maximum(
            np.where(a < problem.upper, -gradient, 0.0),
            np.where(a > problem.lower, gradient, 0.0),
        )
        candidates = np.flatnonzero(size > 0)
        if len(candidates) > self.working_set:
            candidates = candidates[np.argpartition(-size[candidates], self.working_set)[: self.working_set]]
        return np.sort(candidates)

    def solve_block(self, block: Block, goal: float, max_steps: int) -> int:
        return int(_solve_coordinates(block.Q, block.g, block.a, block.lower, block.upper, float(goal), max_steps))
