"""Coordinate descent for duals without equalities: the machines without intercept.

With box constraints only, a single variable can move. Along it the objective is g_i d + 1/2 Q_ii d^2, so a step takes
the variable with the largest possible decrease and moves it to the minimum inside its box:

    d_i = clip(a_i - g_i / Q_ii, lower_i, upper_i) - a_i,      i = argmax of -(g_i d_i + 1/2 Q_ii d_i^2).

The stopping rule is that of SMO with an offset known to be zero: the largest gradient of a variable that may fall
minus the smallest of one that may rise, both at least zero in size, is at most tol.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _native
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array
from maxmargin.solvers.blocks import Block, BlockSolver


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
        return _native.solve_block_coordinates(
            block.Q, block.g, block.a, block.lower, block.upper, float(goal), max_steps
        )
