"""Coordinate descent: one variable of the dual at a time.

Kernels. With box constraints only (no intercept) a single variable can move. Along it the objective is
g_i d + 1/2 Q_ii d^2, so a step takes the variable with the largest possible decrease and moves it to the minimum inside
its box:

    d_i = clip(a_i - g_i / Q_ii, lower_i, upper_i) - a_i,      i = argmax of -(g_i d_i + 1/2 Q_ii d_i^2).

The stopping rule is that of SMO with an offset of zero: the largest gradient of a variable that may fall
minus the smallest of one that may rise, both at least zero in size, is at most tol.

Linear problems, with any intercept: epochs over the rows (:mod:`maxmargin.solvers.descent`). The duality gap, which
takes two more passes, is computed only if the estimate of an epoch is small enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from maxmargin import _native
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import EVERY_LOSS, LinearSolver
from maxmargin.solvers.blocks import Block, BlockSolver
from maxmargin.solvers.descent import FREE_STEP_PERIOD, INTERCEPT_PENALTY, Descent
from maxmargin.solvers.run import UNLIMITED_ITERATIONS, LinearSolution, Run, Start

FREE_STEP_FIRST_EPOCH = 20  # epochs before conjugate gradients help
SMALL_CLASSIFIER_FIRST_EPOCH = 500  # before that they may disturb b_0; afterwards they follow every epoch
FULL_HISTORY_MAX_ENTRIES = 50_000  # of X: beyond, the history has few records: each costs as much as an epoch
GAP_CHECK_FACTOR = 1.4  # times the tolerance: estimate of the gap, an epoch old, from which the gap is computed
REST_SHARE = 0.01  # pulls within this part of the first count as rest: if all rows rest, the next goal is a tenth
ROUNDING_SHARE = 1e-14  # part of the first pull below which there is only rounding

START_MAX_GAP = 0.5  # up to which epochs that are given up leave a good start: before, w is often too long
FORECAST_GROWTH = 1.6  # passes between two forecasts grow by this factor,
FORECAST_FIRST_PASSES = 2.0  # beginning here
FORECAST_POWER = 1.6  # of the passes, with which -log(gap) grows at least until the gap is below 1 / e


class _Forecast:
    """Whether the gap will reach the tolerance within a number of passes over all rows.

    -log(gap) grows about like a power of the passes: slowly until most multipliers have found their bounds, then
    faster, and at the end linearly at the rate of the free ones. The power is taken from the last two forecasts."""

    def __init__(self, max_passes: float, tol: float) -> None:
        self.max_passes, self.goal, self.due = max_passes, -math.log(min(tol, 0.5)), FORECAST_FIRST_PASSES
        self.passes, self.depth = 0.0, 0.0

    def epochs(self, passes: float, active: float) -> int:
        """Epochs of the part ``active`` of all rows until the next forecast."""
        if not math.isfinite(self.max_passes):
            return UNLIMITED_ITERATIONS
        return max(1, int((self.due - passes) / max(active, 1e-6)))

    def continues(self, passes: float, gap: float) -> bool:
        """Whether the epochs are worth continuing."""
        if passes < self.due or not math.isfinite(self.max_passes):
            return True
        self.due = FORECAST_GROWTH * passes
        if passes > self.max_passes:
            return False
        depth = -math.log(gap) if 0.0 < gap < 1.0 else 0.0
        power = FORECAST_POWER
        if 0.0 < self.depth < depth:
            power = math.log(depth / self.depth) / math.log(passes / self.passes)
            power = max(power, FORECAST_POWER if depth < 1.0 else ROUNDING_SHARE)
        elif self.depth > 0.0:
            power = 0.5  # no progress
        self.passes, self.depth = passes, depth
        # passes (goal / depth)^(1 / power), in logarithms: a gap that hardly falls has a power near zero
        return depth <= 0.0 or math.log(passes) + math.log(self.goal / depth) / power <= math.log(self.max_passes)


@dataclass(frozen=True, kw_only=True)
class CoordinateDescent(BlockSolver, LinearSolver):
    """Coordinate descent on one variable at a time, for kernel problems without an intercept and for sparse linear
    problems such as text.

    Parameters
    ----------
    working_set : int, default=1024
        For kernel problems: maximum number of variables in a working set.
    shrinking : bool, default=True
        Skip multipliers that stay at a bound or at zero.
    free_steps : bool, default=True
        Move all free multipliers together, by conjugate gradients, between epochs.
    penalty : float, default=0.1
        rho for a free intercept, relative to the squared norm of a typical row.
    max_passes : float, default=inf
        For linear problems: passes over all rows after which the method gives up, or as soon as the fall of the gap
        predicts that more would be needed.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import CoordinateDescent
    >>> X, y = make_classification(random_state=0)
    >>> LinearSVC(solver=CoordinateDescent(shrinking=False), random_state=0).fit(X, y).report_.converged
    True
    """

    name: ClassVar[str] = "coordinate_descent"
    title: ClassVar[str] = "coordinate descent: one multiplier at a time"
    accepts: ClassVar[tuple[str, ...]] = ("kernel", "linear")
    losses: ClassVar[tuple[str, ...]] = EVERY_LOSS

    shrinking: bool = True
    free_steps: bool = True
    penalty: float = INTERCEPT_PENALTY
    max_passes: float = math.inf

    def refuses(self, problem: DualProblem | PrimalProblem) -> str | None:
        if isinstance(problem, DualProblem) and (problem.group >= 0).any():
            return (
                "coordinate_descent moves one variable at a time, and this dual ties its variables by an equality: "
                "use 'smo', or fit_intercept=False"
            )
        return None

    def choose(self, problem: DualProblem, a: Array, gradient: Array, previous: Array) -> Array:
        """The variables with the largest projected gradients."""
        size = np.maximum(np.where(a < problem.upper, -gradient, 0.0), np.where(a > problem.lower, gradient, 0.0))
        candidates = np.flatnonzero(size > 0)
        if len(candidates) > self.working_set:
            candidates = candidates[np.argpartition(-size[candidates], self.working_set)[: self.working_set]]
        return np.sort(candidates)

    def solve_block(self, block: Block, goal: float, max_steps: int) -> int:
        return _native.solve_block_coordinates(
            block.Q, block.g, block.a, block.lower, block.upper, float(goal), max_steps
        )

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        descent = Descent(run.problem, self.penalty, start, seed)
        epoch, evaluated, status = self._epochs(descent, run)
        if status is None:
            beta = descent.beta if descent.state.gap <= START_MAX_GAP else None
            return LinearSolution(descent.w, descent.intercept(), beta, Status.MAX_ITER, epoch, run.history)
        if evaluated != epoch:
            status = Status.OPTIMAL if descent.evaluate(run, epoch) is Status.OPTIMAL else status
        return run.solution(status, epoch)

    def _epochs(self, descent: Descent, run: Run) -> tuple[int, int, Status | None]:
        """Epochs, the last that was evaluated, and how they ended; None where they were given up."""
        tol, control = run.tol, run.control
        state, small = descent.state, descent.entries < FULL_HISTORY_MAX_ENTRIES
        limit = control.max_iter if control.max_iter >= 0 else UNLIMITED_ITERATIONS
        late = SMALL_CLASSIFIER_FIRST_EPOCH
        unit, goal, promising = 0.0, REST_SHARE, GAP_CHECK_FACTOR * tol  # unit: the largest pull of the first epoch
        epoch, evaluated, due = 0, -1, 0
        turn = late if small and run.problem.loss.classifies else FREE_STEP_FIRST_EPOCH
        turn = turn if self.free_steps else limit + 1
        status: Status | None = None
        forecast = _Forecast(self.max_passes, tol)
        while True:
            if epoch >= due:
                if evaluated < epoch and (small or epoch > 0):
                    status, evaluated = descent.evaluate(run, epoch), epoch
                due = epoch + max(1, epoch // 5) if small else max(FREE_STEP_FIRST_EPOCH, 3 * epoch)
            status = status or run.stop(epoch) or (Status.STALLED if goal < ROUNDING_SHARE else None)
            if status is not None:
                return epoch, evaluated, status
            if not forecast.continues(descent.passes, state.gap):
                return epoch, evaluated, None
            most = min(
                min(due, limit, turn) - epoch, forecast.epochs(descent.passes, state.active / len(descent.order))
            )
            epoch += descent.sweep(most, promising, goal * unit, self.shrinking, control)
            unit = unit or float(state.pull)
            if epoch >= turn:
                turn = epoch + (1 if epoch > late else FREE_STEP_PERIOD)
                descent.free_step(epoch > late, control)
            rested, near, complete = state.pull <= goal * unit, state.gap <= promising, descent.complete
            if near and control.stop() is None:
                estimate, status, evaluated = state.gap, descent.evaluate(run, epoch), epoch
                if status is None:  # the next evaluation is when the gap should be small enough
                    promising = estimate * min(0.8, max(0.1 if complete else 0.5, 0.8 * tol / run.gap))
            if not complete and (rested or near):
                descent.use_all_rows()
            elif rested:  # all rows are at rest for the present goal
                due = due if np.isfinite(state.gap) else epoch
                goal *= 0.1 if descent.balanced(goal) else 1.0
