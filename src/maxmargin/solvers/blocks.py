"""The outer loop of the block methods.

The dual has one variable (or two) per row; its matrix does not fit into memory. So in rounds (Joachims 1999):

    1. choose a working set W of variables that violate the conditions most;
    2. solve the problem restricted to W, with Q_WW in memory, to a fraction of the present violation;
    3. update f = K @ coefficients for the coefficients that changed.

:class:`BlockSolver` is that loop; a solver adds how to choose W and how to solve on it.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import KernelSolver, report_point
from maxmargin.solvers.solution import Solution

INNER_WORK = 20_000_000  # array elements touched between two checks of the clock: well under 0.2 s
MIN_STEPS = 10_000_000  # LIBSVM's limit if the user sets none: max(10^7, 100 n)
ROUND_MIN_STEPS = 50  # steps in a round of a problem that is its own working set, or one for each variable
ROUND_PREVIOUS_STEPS = 20  # steps so far for each step of such a round: ten million take 250 rounds, not 200,000
STEPS_PER_VARIABLE = 200  # steps in a round, for each variable of its block
NO_PROGRESS_MAX_ROUNDS = 20  # rounds without progress before a run is called stalled


@dataclass
class Block:
    """The problem restricted to a working set; the inner solver changes ``a`` and ``g`` in place."""

    Q: Array  # of the variables as :meth:`BlockSolver.arrange` lays them out
    g: Array
    a: Array
    lower: Array
    upper: Array
    group: Array


@dataclass(frozen=True, kw_only=True)
class BlockSolver(KernelSolver):
    """Rounds of choosing a working set, solving on it and updating f.

    Parameters
    ----------
    working_set : int, default=1024
        Of kernel problems: largest number of variables in W; one no larger than twice this is solved in one block.
    """

    working_set: int = 1024

    @abc.abstractmethod
    def choose(self, problem: DualProblem, a: Array, gradient: Array, previous: Array) -> Array:
        """The variables of the next working set."""

    def arrange(self, group: Array) -> Array:
        """The place in W of each row of Q, given the groups of the variables in W."""
        return np.arange(len(group))

    @abc.abstractmethod
    def solve_block(self, block: Block, goal: float, max_steps: int) -> int:
        """Solve until the violation inside the block is at most ``goal``; the number of steps taken."""

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        m = problem.n_variables
        goal = tol * problem.tol_scale
        limit = control.max_iter if control.max_iter >= 0 else max(MIN_STEPS, 100 * m)
        a = problem.start() if start is None else problem.feasible(start)
        f = gram.times(problem.coefficients(a))
        one_block = m <= 2 * self.working_set
        W = np.arange(m) if one_block else np.empty(0, int)
        Q = self._matrix(problem, gram, W) if one_block else np.empty((0, 0))
        n_iter = stalled_rounds = idle = 0
        best = np.inf
        while True:
            gradient = problem.gradient(f, a)
            violation = report_point(problem, a, f, n_iter, control).violation
            if violation <= goal:
                return Solution(a, f, Status.OPTIMAL, n_iter)
            stalled_rounds = 0 if violation < 0.99 * best else stalled_rounds + 1
            best = min(best, violation)
            stop = control.stop() or (Status.MAX_ITER if n_iter >= limit else None)
            if stop is not None:
                return Solution(a, f, stop, n_iter)
            if not one_block:
                W = self.choose(problem, a, gradient, W)
                Q = self._matrix(problem, gram, W)
            block = Block(Q, gradient[W], a[W], problem.lower[W], problem.upper[W], problem.group[W])
            target = max(goal * 0.9 if one_block else 0.1 * violation, 0.5 * goal)
            most = STEPS_PER_VARIABLE * len(W)
            if one_block:  # short rounds first: a small problem has a history, too
                most = max(ROUND_MIN_STEPS, len(W), n_iter // ROUND_PREVIOUS_STEPS)
            steps = self._inner(block, target, min(most, limit - n_iter), control)
            n_iter += steps
            change = block.a - a[W]
            changed = np.flatnonzero(change)
            moved = np.bincount(
                problem.row[W[changed]], weights=problem.sign[W[changed]] * change[changed], minlength=problem.n_rows
            )
            decrease = -float(np.dot(change, 0.5 * (gradient[W] + block.g)))
            a[W] = block.a
            f += gram.times(moved)
            idle = 0 if decrease > 1e-15 * abs(problem.objective(f, a)) else idle + 1
            if (
                idle > NO_PROGRESS_MAX_ROUNDS
            ):  # the objective no longer falls, or has no minimum: the rest of the violation stays
                return Solution(a, f, Status.STALLED, n_iter)
            if steps == 0 and stalled_rounds > 0:
                # The block sees no violation but the sum does: rounding in f. Recompute it, once.
                if stalled_rounds > 2:
                    return Solution(a, f, Status.STALLED, n_iter)
                f = gram.times(problem.coefficients(a))

    def _inner(self, block: Block, target: float, limit: int, control: Control) -> int:
        """The inner solve in slices short enough to obey the clock and Ctrl-C."""
        slice_steps = max(100, INNER_WORK // max(1, len(block.a)))
        steps = 0
        while steps < limit:
            allowed_steps = min(slice_steps, limit - steps)
            taken = self.solve_block(block, target, allowed_steps)
            steps += taken
            if taken < allowed_steps or control.stop() is not None:
                break
        return steps

    def _matrix(self, problem: DualProblem, gram: Gram, W: Array) -> Array:
        """Q_WW, from the kernel values of its distinct rows."""
        W = W[self.arrange(problem.group[W])]
        rows, at = np.unique(problem.row[W], return_inverse=True)
        K = gram.block(rows, rows)
        if len(rows) < len(W) or not np.array_equal(at, np.arange(len(W))):
            K = K[np.ix_(at, at)]
        sign = problem.sign[W]
        if (sign < 0).any():
            K = K * sign * sign[:, None]
        return np.ascontiguousarray(K)
