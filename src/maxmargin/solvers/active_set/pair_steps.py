"""Pair steps on a working set W, laid out for vectors (:mod:`maxmargin.solvers.slots`).

Variables without an equality form a group whose offset is known: zero. A slot that stands for it, with a gradient of
zero and no bounds, lets pairs move single variables.

Which variables an active-set round should work on: compiled passes over all variables (``native/working_set``).

A group's sides are the smallest gradient among variables that may rise and the largest among those that may fall; their
difference is its violation, and its middle the best estimate of its offset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin._native import PAIR_BARRIER
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array
from maxmargin.solvers.active_set.free_step import free_step
from maxmargin.solvers.slots import Slots

# Pair steps after which a Newton step on the free variables is tried. It takes as long as about 30: 45 ms against 0.8
# microseconds per pair step with 1,600 free of 2,048, and 240 ms against 2.6 with 2,800 of 4,096.
CREEPING_STEPS_PER_VARIABLE = 20
REPAIR_STEPS_PER_VARIABLE = 2  # between two Newton steps, and between two looks
STEPS_PER_VARIABLE = 100  # pair steps in a round, for each variable of W
FREE_STEP_MAX_VARIABLES = 2048  # beyond, a Newton step takes longer than the pair steps that it spares
FREE_STEP_BYTES_PER_VALUE = 16  # of a Newton step: K of the free variables, and its factor
SUMMED_ROWS = 256  # rows of K in double precision at a time
SLICE_MAX_VARIABLES = 300_000_000  # variables touched between two checks of the clock: under 0.2 s


@dataclass(frozen=True)
class BoxVariables:
    """The variables of a dual problem: gradients, values, bounds, and the group of each."""

    g: Array
    a: Array
    lower: Array
    upper: Array
    group: Array
    n_groups: int
    # whether no equality ties the variables: the offset is known to be zero, so that zero is on both sides
    zero_offset: bool

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.g, self.a, self.lower, self.upper, self.group

    def sides(self, ids: Array) -> tuple[float, Array]:
        """Over the variables ids: the largest violation of a group, and the middle of each group's sides."""
        middle = np.empty(self.n_groups)
        return _native.group_sides(*self._arrays, ids, self.zero_offset, middle), middle

    def excess(self, ids: Array, middle: Array) -> Array:
        """How far each variable is on the wrong side of its group's middle; negative means safely right."""
        out = np.empty(len(ids))
        _native.side_excess(*self._arrays, ids, middle, out)
        return out

    def choose(self, ids: Array, previous: Array, size: int, middle: Array, start: int) -> Array:
        """The next working set: free variables of the last one, then of each side its worst violators, and others
        from all violators, beginning at ``start``."""
        W = np.empty(size + 2 * self.n_groups, np.int64)
        return W[: _native.choose_working_set(*self._arrays, ids, previous, size, middle, start, W)]


@dataclass(frozen=True)
class Position:
    """Where pair steps begin."""

    # a, gradient: of all variables
    a: Array
    gradient: Array
    diagonal: Array  # of K, for all rows
    middle: Array  # of each group: between the two sides' gradients


@dataclass(frozen=True)
class Steps:
    """What pair steps did: the variables, their values and changes, the gain of the dual objective, and how many."""

    variables: Array
    values: Array
    change: Array
    gain: float
    taken: int


def pair_steps(
    problem: DualProblem,
    gram: Gram,
    slots: Slots,
    position: Position,
    *,
    dtype: type,
    target: float,
    limit: int,
    control: Control,
) -> Steps:
    """Pair steps on the slots' variables until their violation is at most ``target``; at most ``limit``."""
    a, gradient, middle = position.a, position.gradient, position.middle
    real, begin, end, size = slots.real, slots.begin, slots.end, len(slots.variable)
    v = slots.variable[real]
    K = _matrix(problem, gram, slots.variable, dtype, control)
    x, lower, upper, rise, fall = slots.box(a, problem.lower, problem.upper, dtype)
    g: Array = np.zeros(size, dtype)
    curvature: Array = np.zeros(size, dtype)
    offset = np.repeat(middle, end - begin)
    g[real] = gradient[v] - offset[real]
    curvature[real] = position.diagonal[problem.row[v]]
    if slots.zero_slot is not None:
        K[slots.zero_slot, :size] = 0
        K[:size, slots.zero_slot] = 0
        g[slots.zero_slot] = -middle[0]
        lower[slots.zero_slot], upper[slots.zero_slot] = -np.inf, np.inf
        rise[slots.zero_slot] = fall[slots.zero_slot] = 0
    tied = [] if slots.zero_slot is not None else [slice(*ends) for ends in zip(begin, end, strict=True)]
    done, most = 0, min(STEPS_PER_VARIABLE * size, limit)
    piece = max(1000, min(SLICE_MAX_VARIABLES // size, REPAIR_STEPS_PER_VARIABLE * size))
    max_free = min(FREE_STEP_MAX_VARIABLES, float(np.sqrt(gram.budget / FREE_STEP_BYTES_PER_VALUE)))
    longest = CREEPING_STEPS_PER_VARIABLE * size
    creeping, wait, free = 0, longest, (x > lower) & (x < upper)
    while done < most:
        allowed_steps = min(piece, most - done)
        taken = _native.solve_pairs(K, g, x, lower, upper, rise, fall, curvature, begin, end, target, allowed_steps)
        done += taken
        creeping += taken
        if taken < allowed_steps or control.stop() is not None:
            break
        before, free = free, (x > lower) & (x < upper)
        # While variables still become free or cease to be, the minimum over them lies far outside the bounds.
        if creeping >= wait and np.array_equal(free, before):
            step = free_step(
                K, g, x, lower, upper, tied, real, max_free=max_free, threads=gram.threads, stop=control.stop
            )
            # After the whole way to the minimum a few pair steps correct the bounds for the next one. After a part of
            # it, or none, which variables are free is not known yet: the next one waits longer.
            creeping = 0
            wait = REPAIR_STEPS_PER_VARIABLE * size if step is not None and step.exact else 2 * max(wait, longest)
            if step is not None:
                moved, move = step.free, step.change
                x[moved] = np.clip(x[moved] + move, lower[moved], upper[moved])
                g[:] = _moved_gradient(g, K, moved, move)
                rise[moved] = np.where(x[moved] < upper[moved], 0, PAIR_BARRIER)
                fall[moved] = np.where(x[moved] > lower[moved], 0, -PAIR_BARRIER)
    change = x[real] - a[v]
    # The sums of a group's changes are zero, so the offsets do not matter.
    gain = -0.5 * float(np.dot(gradient[v] + g[real] + offset[real], change))
    return Steps(v, x[real], change, gain, done)


def _moved_gradient(g: Array, K: Array, free: Array, move: Array) -> Array:
    """g + K move, summed in double precision: terms may be much larger than their sum."""
    total = g.astype(np.float64)
    for start in range(0, len(free), SUMMED_ROWS):
        part = slice(start, start + SUMMED_ROWS)
        total += move[part] @ K[free[part], : len(g)].astype(np.float64)
    return total


def reserve_matrix(gram: Gram, most: int, dtype: type) -> None:
    """Reserve addresses for the matrix of working sets of up to ``most`` variables, which grow from round to round."""
    reserve = math.prod(_matrix_shape(most)) * np.dtype(dtype).itemsize
    gram.scratch.take("working set", (0,), dtype, reserve=reserve)


def _matrix_shape(slots: int) -> tuple[int, int]:
    need = -(-slots // 64) * 64
    return need + 8, need + 16


def _matrix(problem: DualProblem, gram: Gram, slots: Array, dtype: type, control: Control) -> Array:
    """K of the slots' rows, in a buffer whose stride is no power of two."""
    rows = problem.row[slots]
    K: Array = gram.scratch.take("working set", _matrix_shape(len(rows)), dtype)
    gram.fill(rows, K, stop=control.stop)
    sign = problem.sign[slots]
    if (sign < 0).any():
        n = len(slots)
        K[:n, :n] *= (sign * sign[:, None]).astype(dtype)
    return K
