"""Models without a fold, for problems whose kernel values fit into memory: one matrix serves all folds.

Let a be the solution of all rows, and g = Q a + p its gradient. A fold's solution is reached from there:

    1. its variables are set to zero, one after the other:   g -= a_t Q_t;
    2. the sums of the groups are restored by the variables with the largest gradients if the sum must fall, and with
       the smallest if it must rise;
    3. pair steps follow until the violation is small enough. The fold's variables are fixed, but every update of g
       includes them.

So at the end g of the fold's rows gives the values of the model without them:   f_t = s_t (g_t - p_t). Few variables
change, and no row is copied. (Starting a fold from the solution of all rows goes back to DeCoste & Wagstaff 2000.) The
steps are in ``native/folds`` and ``native/pair_steps``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array

MAX_OPERATIONS_PER_CALL = 2**25  # values touched: some hundredths of a second, so that a fit can be stopped in between
SLOT_UNIT, FOLD_OF_PADDING = _native.SLOT_UNIT, _native.FOLD_OF_PADDING


def padded(count: int) -> int:
    """The number of slots for this number of variables: full vectors."""
    return -(-count // SLOT_UNIT) * SLOT_UNIT


@dataclass(frozen=True)
class SlotProblem:
    """A dual problem whose variables are in slots, group by group, and its solution of all rows."""

    Q: Array  # shape (>= slots, >= slots), float32 or float64; finite
    diagonal: Array  # shape (slots,), of Q, with zeros for slots without a row
    # a, lower, upper: shape (slots,), the solution, and the bounds
    a: Array
    lower: Array
    upper: Array
    # int (slots,): the fold of each slot; -1 for slots that are in every model, ``FOLD_OF_PADDING``
    # for slots without a row
    folds: Array
    # starts, stops: the slots of each group. Without equalities there is one group, with
    # a slot that has no bounds and a gradient of zero, so that pairs move single variables
    starts: Array
    stops: Array
    totals: Array  # shape (folds, equalities), the sums of the groups without each fold

    def without(
        self, fold: int, gradient: Array, goal: float, max_steps: int, control: Control
    ) -> tuple[Array, Array, Array]:
        """The variables of the model without a fold, their gradient, and the groups' offsets.

        ``gradient`` is that of the solution, without the contribution of variables of the fold that have no slot."""
        g = np.array(gradient, self.Q.dtype)
        x, rise, fall = np.empty(len(g)), np.empty_like(g), np.empty_like(g)
        problem = self.Q, self.a, self.lower, self.upper, self.folds, self.starts, self.stops
        state = g, x, rise, fall
        _native.start_fold(problem, state, fold, self.totals[fold])
        steps_per_call = max(1, MAX_OPERATIONS_PER_CALL // (2 * len(g)))
        bounds = self.lower, self.upper, rise, fall, self.diagonal, self.starts, self.stops
        while max_steps > 0 and control.stop() is None:
            steps = min(steps_per_call, max_steps)
            taken = _native.solve_pairs(self.Q, g, x, *bounds, goal, steps)
            max_steps -= taken
            if taken < steps:
                break
        offsets = np.zeros(self.totals.shape[1])
        _native.fold_offsets(problem, state, fold, offsets)
        return x, g, offsets


def small_problem_folds(
    problem: DualProblem,
    gram: Gram,
    a: Array,
    f: Array,
    folds: Array,
    totals: Array,
    goal: float,
    max_steps: int,
    control: Control,
) -> tuple[Array, Array]:
    """Every fold of a small classifier, from the solution ``a`` of all rows and f = K a; ``totals`` are the sums of the
    groups without each fold, and ``goal`` is the violation at which a model is accurate enough.

    Returns K a of the model without each row's fold (of rows in none, f; NaN where the fit was stopped before), and the
    offsets of the groups, one line per fold."""
    K, at = gram.stored()
    in_place = problem.kind == "c_svc" and problem.fit_intercept and bool(np.array_equal(at, np.arange(len(at))))
    values, offsets = np.array(f, np.float64), np.zeros(totals.shape)
    values[folds >= 0] = np.nan
    arrays = problem.sign, problem.linear, problem.lower, problem.upper, problem.group
    rows = np.ascontiguousarray(at, np.int64), arrays, in_place, a, f, folds, totals
    fold = 0
    while fold < len(totals) and control.stop() is None:
        fold = _native.solve_small_folds(K, *rows, goal, max_steps, fold, MAX_OPERATIONS_PER_CALL, values, offsets)
    return values, offsets


class WorkingSetFolds:
    """The models without a fold, over some ``rows`` of a classifier, on a matrix in memory; all other rows keep their
    variables, or lose them with their fold. ``a`` is the solution of all rows, f = K a, and ``totals`` are the sums of
    the groups without each fold over the rows that take part."""

    def __init__(
        self, problem: DualProblem, rows: Array, gram: Gram, a: Array, f: Array, folds: Array, totals: Array
    ) -> None:
        untied = len(problem.totals) == 0
        parts, starts, size = [], [], 0
        for j in range(max(1, len(problem.totals))):
            members = rows if len(problem.totals) <= 1 else rows[problem.group[rows] == j]
            length = padded(len(members) + untied)
            parts += [members, np.full(length - len(members), -1)]
            starts.append(size)
            size += length
        slots = np.concatenate(parts)
        self.real = np.flatnonzero(slots >= 0)
        self.rows = v = slots[self.real]
        side = -(-size // 64) * 64
        # In the solver's buffer: touching new memory costs more than computing.
        dtype: Any = np.float64 if gram.single_is_exact else np.float32
        Q = gram.scratch.take("working set", (side + 8, side + 16), dtype)
        at = np.where(slots >= 0, slots, v[-1])
        gram.fill(at, Q)
        if (problem.sign < 0).any():
            Q[:size, :size] *= (problem.sign[at] * problem.sign[at][:, None]).astype(dtype)
        variables, lower, upper = np.zeros(size), np.zeros(size), np.zeros(size)
        variables[self.real], lower[self.real], upper[self.real] = a[v], problem.lower[v], problem.upper[v]
        of_slot = np.full(size, FOLD_OF_PADDING)
        of_slot[self.real] = folds[v]
        diagonal = np.zeros(size, dtype)
        diagonal[self.real] = Q[self.real, self.real]
        if untied:
            lower[len(v)], upper[len(v)], of_slot[len(v)] = -np.inf, np.inf, -1
            Q[len(v), :size] = 0
            Q[:size, len(v)] = 0
        begin = np.array(starts, np.int64)
        end = np.append(begin[1:], size)
        self.problem = SlotProblem(Q, diagonal, variables, lower, upper, of_slot, begin, end, totals)
        self.linear, self.sign = problem.linear[v], problem.sign[v]
        self.gradient = np.zeros(size)
        self.gradient[self.real] = self.sign * f[v] + self.linear

    def without(
        self, fold: int, change: Array, goal: float, max_steps: int, control: Control
    ) -> tuple[Array, Array, Array]:
        """The variables of the model without a fold, its K a, both in the order of ``rows``, and the groups' offsets;
        ``change`` is the contribution to f of the fold's variables that are not in ``rows``."""
        gradient = self.gradient.copy()
        gradient[self.real] += self.sign * change
        x, g, offsets = self.problem.without(fold, gradient, goal, max_steps, control)
        return x[self.real], self.sign * (g[self.real] - self.linear), offsets
