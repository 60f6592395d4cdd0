"""A small problem, solved whole in one compiled call.

Fits of a few hundred rows are over in microseconds; what they cost is the way in and out of compiled code. Here all of
it is one call: Q is gathered, pair steps run on all variables in double precision
(:mod:`maxmargin.kernels.gram.tiles.selection`), f = K @ coefficients is computed anew from the result, and if rounding
has left a violation above the goal, the pair steps go on from there. A problem that creeps is left to the solver that
knows more.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.gram.tiles.selection import BIG, UNIT, solve_pairs
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import Solution

STEPS = 20  # pair steps, for each variable, after which a problem is said to creep
ROUNDS = 4  # times f is computed anew


@numba.njit(cache=True, nogil=True)
def _solve(
    K: Array,
    at: Array,
    row: Array,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    group: Array,
    n_groups: int,
    as_is: bool,
    a: Array,
    f: Array,
    goal: float,
    max_steps: int,
) -> tuple[int, float]:
    """Move ``a`` to violation <= goal and set ``f``; the steps taken, and the violation.

    ``at`` are the rows of K that the problem's rows stand for; ``n_groups`` is 0 if no equality ties variables, and
    ``as_is`` says that Q is the first rows and columns of K."""
    n, n_rows = len(a), len(at)
    lone = n_groups == 0
    n_ranges = max(1, n_groups)
    # Slots: the groups one after the other, each padded to whole vectors; the padding can neither rise nor fall. A
    # slot with a gradient of zero and no bounds lets pairs move single variables.
    starts, stops = np.empty(n_ranges, np.int64), np.empty(n_ranges, np.int64)
    slot = np.empty(n, np.int64)
    size = 0
    for k in range(n_ranges):
        starts[k] = size
        for v in range(n):
            if lone or group[v] == k:
                slot[v] = size
                size += 1
        dummy = size
        if lone:
            size += 1
        size = -(-size // UNIT) * UNIT
        stops[k] = size
    Q = K
    if not as_is or K.shape[1] < size:
        Q = np.zeros((size, size + 16))  # a stride that is no power of two
        for u in range(n):
            source, target, s = K[at[row[u]]], Q[slot[u]], sign[u]
            for v in range(n):
                target[slot[v]] = s * sign[v] * source[at[row[v]]]
    x, low, high, g = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    rise, fall, diagonal = np.full(size, np.float64(BIG)), np.full(size, np.float64(-BIG)), np.zeros(size)
    coef = np.empty(n_rows)
    steps = 0
    for _ in range(ROUNDS):
        coef[:] = 0.0
        for v in range(n):
            coef[row[v]] += sign[v] * a[v]
        f[:] = 0.0
        for j in range(n_rows):
            if coef[j] != 0:
                source, c = K[at[j]], coef[j]
                if as_is:
                    for i in range(n_rows):
                        f[i] += c * source[i]
                else:
                    for i in range(n_rows):
                        f[i] += c * source[at[i]]
        for v in range(n):
            t = slot[v]
            g[t] = sign[v] * f[row[v]] + linear[v]
            x[t], low[t], high[t], diagonal[t] = a[v], lower[v], upper[v], Q[t, t]
            rise[t] = 0.0 if a[v] < upper[v] else BIG
            fall[t] = 0.0 if a[v] > lower[v] else -BIG
        if lone:
            x[dummy], low[dummy], high[dummy], g[dummy] = 0.0, -np.inf, np.inf, 0.0
            rise[dummy] = fall[dummy] = 0.0
        violation = 0.0
        for k in range(n_ranges):
            lowest, highest = np.inf, -np.inf
            for t in range(starts[k], stops[k]):
                lowest, highest = min(lowest, g[t] + rise[t]), max(highest, g[t] + fall[t])
            violation = max(violation, highest - lowest)
        if violation <= goal or steps >= max_steps:
            return steps, violation
        steps += solve_pairs(Q, g, x, low, high, rise, fall, diagonal, starts, stops, 0.9 * goal, max_steps - steps)
        for v in range(n):
            a[v] = x[slot[v]]
    return steps, np.inf


def solve_whole(
    problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None
) -> tuple[Solution, bool]:
    """The solution of a small problem whose kernel values are stored in float64, and whether it is one: if not, it is
    where another solver should go on."""
    a = problem.start() if start is None else problem.feasible(start)
    f = np.empty(problem.n_rows)
    if not _told(problem, gram, a, control):
        return Solution(a, f, Status.INTERRUPTED, 0), False
    K, at = gram.stored()
    as_is = problem.kind in ("c_svc", "one_class") and problem.fit_intercept and np.array_equal(at, np.arange(gram.n))
    limit = STEPS * problem.n_variables
    if control.max_iter >= 0:
        limit = min(limit, control.max_iter)
    goal = tol * problem.tol_scale
    steps, violation = _solve(
        K,
        at,
        problem.row,
        problem.sign,
        problem.linear,
        problem.lower,
        problem.upper,
        problem.group,
        len(problem.totals),
        as_is,
        a,
        f,
        goal,
        limit,
    )
    control.report(steps, violation, int(np.count_nonzero(a)))
    return Solution(a, f, Status.OPTIMAL, steps, fresh=True), violation <= goal


def _told(problem: DualProblem, gram: Gram, a: Array, control: Control) -> bool:
    """Report where the run begins, if somebody listens; whether it should begin."""
    if control.callback is not None:
        coef = problem.coefficients(a)
        gradient = problem.gradient(gram.product(np.arange(gram.n), coef), a)
        control.report(0, optimality.violation(problem, a, gradient), int(np.count_nonzero(a)))
    return control.stop() is None
