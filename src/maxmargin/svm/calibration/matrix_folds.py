"""Machines without a fold, for problems whose kernel values fit into memory: one matrix serves all folds.

Let a be the solution of all rows, and g = Q a + p its gradient. A fold's machine is reached from there:

    1. its variables are set to zero, one after the other:   g -= a_t Q_t;
    2. the sums of the groups are put right by the variables that most want to move that way, those of the largest
       gradient if the sum must fall, of the smallest if it must rise;
    3. pair steps follow until the violation is small enough. The fold's variables cannot move, but they take part in
       every update of g.

So g of the fold's rows is at the end what the machine without them says:   f_t = s_t (g_t - p_t). Few variables change,
and no row is copied. (Starting a fold from the solution of all rows goes back to DeCoste & Wagstaff 2000.)
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.gram.tiles.selection import BIG, UNIT, solve_pairs
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array

PADDING = -2  # the fold of slots that stand for no row


@numba.njit(cache=True, nogil=True)
def _repair(
    Q: Array,
    g: Array,
    x: Array,
    lower: Array,
    upper: Array,
    rise: Array,
    fall: Array,
    begin: int,
    end: int,
    total: float,
) -> None:
    """Bring the sum of x[begin:end] to ``total`` by the variables that most want to move."""
    size = 0.0
    excess = -total
    for t in range(begin, end):
        excess += x[t]
        size += abs(x[t])
    for _ in range(2 * (end - begin)):
        if abs(excess) <= 1e-14 * (size + abs(total)):
            return
        best = -1
        for t in range(begin, end):
            if excess > 0:
                if fall[t] == 0 and (best < 0 or g[t] > g[best]):
                    best = t
            elif rise[t] == 0 and (best < 0 or g[t] < g[best]):
                best = t
        if best < 0:
            return
        room = x[best] - lower[best] if excess > 0 else upper[best] - x[best]
        move = min(room, abs(excess))
        if excess > 0:
            x[best] = lower[best] if move >= room else x[best] - move
            fall[best] = -BIG if move >= room else 0
            rise[best] = 0
            excess, move = excess - move, -move
        else:
            x[best] = upper[best] if move >= room else x[best] + move
            rise[best] = BIG if move >= room else 0
            fall[best] = 0
            excess += move
        step = g.dtype.type(move)
        row = Q[best]
        for t in range(len(g)):
            g[t] += step * row[t]


@numba.njit(cache=True, nogil=True)
def _offset(g: Array, x: Array, lower: Array, upper: Array, frozen: Array, begin: int, end: int) -> float:
    """A group's multiplier: the mean gradient of its free variables, or else the middle of the sides."""
    total, free = 0.0, 0
    lowest, highest = np.inf, -np.inf
    for t in range(begin, end):
        if frozen[t]:
            continue
        may_rise, may_fall = x[t] < upper[t], x[t] > lower[t]
        if may_rise and may_fall:
            total += g[t]
            free += 1
        if may_rise:
            lowest = min(lowest, g[t])
        if may_fall:
            highest = max(highest, g[t])
    if free > 0:
        return total / free
    if lowest == np.inf:
        return highest if highest > -np.inf else 0.0
    return lowest if highest == -np.inf else 0.5 * (lowest + highest)


@numba.njit(cache=True, nogil=True)
def solve_folds(
    Q: Array,
    diagonal: Array,
    a: Array,
    lower: Array,
    upper: Array,
    folds: Array,
    first: int,
    last: int,
    starts: Array,
    stops: Array,
    totals: Array,
    goal: float,
    most: int,
    X: Array,
    G: Array,
    offsets: Array,
) -> None:
    """The machines without the folds first..last - 1: row k of X has the variables, of G the gradient of all slots
    (before: that of the solution ``a``), and of ``offsets`` the groups' offsets.

    Slots of fold PADDING never move. ``totals`` has no columns if no equality ties variables."""
    n, number = len(a), G.dtype.type
    rise, fall = np.empty(n, G.dtype), np.empty(n, G.dtype)
    frozen = np.empty(n, np.bool_)
    for k in range(first, last):
        x, g = X[k], G[k]
        for t in range(n):
            frozen[t] = folds[t] == PADDING or folds[t] == k
            rise[t] = 0 if not frozen[t] and a[t] < upper[t] else BIG
            fall[t] = 0 if not frozen[t] and a[t] > lower[t] else -BIG
            x[t] = a[t]
            if frozen[t] and a[t] != 0:
                step, row = number(-a[t]), Q[t]
                for u in range(n):
                    g[u] += step * row[u]
                x[t] = 0.0
        for j in range(totals.shape[1]):
            _repair(Q, g, x, lower, upper, rise, fall, starts[j], stops[j], totals[k, j])
        solve_pairs(Q, g, x, lower, upper, rise, fall, diagonal, starts, stops, number(goal), most)
        for j in range(totals.shape[1]):
            offsets[k, j] = _offset(g, x, lower, upper, frozen, starts[j], stops[j])


@numba.njit(cache=True, nogil=True)
def _solve_all(
    K: Array,
    at: Array,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    group: Array,
    as_is: bool,
    a: Array,
    f: Array,
    folds: Array,
    totals: Array,
    goal: float,
    most: int,
    values: Array,
    offsets: Array,
) -> None:
    """All folds of a small problem in one call: sets ``values`` of the rows that are in a fold, and ``offsets``.

    ``at`` are the rows of K that the problem's rows stand for; ``as_is`` says that Q is the first of them."""
    n, n_groups, count = len(a), totals.shape[1], totals.shape[0]
    lone = n_groups == 0
    starts, stops = np.empty(max(1, n_groups), np.int64), np.empty(max(1, n_groups), np.int64)
    slot = np.empty(n, np.int64)
    size = 0
    for j in range(len(starts)):
        starts[j] = size
        for v in range(n):
            if lone or group[v] == j:
                slot[v] = size
                size += 1
        dummy = size
        size = -(-(size + (1 if lone else 0)) // UNIT) * UNIT
        stops[j] = size
    Q = K
    if not as_is or K.shape[1] < size:
        Q = np.zeros((size, size + 16))
        for u in range(n):
            source, target, s = K[at[u]], Q[slot[u]], sign[u]
            for v in range(n):
                target[slot[v]] = s * sign[v] * source[at[v]]
    x, low, high, diagonal = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    of_slot = np.full(size, PADDING)
    X, G = np.empty((count, size)), np.zeros((count, size))
    if lone:
        low[dummy], high[dummy], of_slot[dummy] = -np.inf, np.inf, -1
    for v in range(n):
        t = slot[v]
        x[t], low[t], high[t], diagonal[t], of_slot[t] = a[v], lower[v], upper[v], Q[t, t], folds[v]
        for k in range(count):
            G[k, t] = sign[v] * f[v] + linear[v]
    solve_folds(Q, diagonal, x, low, high, of_slot, 0, count, starts, stops, totals, goal, most, X, G, offsets)
    for v in range(n):
        if folds[v] >= 0:
            values[v] = sign[v] * (G[folds[v], slot[v]] - linear[v])


def whole_folds(
    problem: DualProblem, gram: Gram, a: Array, f: Array, folds: Array, totals: Array, goal: float, most: int
) -> tuple[Array, Array]:
    """Every fold of a small problem.

    Parameters
    ----------
    problem : DualProblem
        A classifier's: one variable a row.
    gram : Gram
        The operator of its rows, few enough to store K.
    a, f : arrays
        The solution of all rows, and K a.
    folds : array of int
        The fold of each row.
    totals : array of shape (folds, groups)
        The sums of the groups without each fold.
    goal : float
        The violation at which a machine is good enough.
    most : int
        Steps that a fold may take.

    Returns
    -------
    values : array of shape (n,)
        K a of the machine without the row's fold; of rows in none, f.
    offsets : array of shape (folds, groups)
    """
    K, at = gram.stored()
    one = problem.kind == "c_svc" and problem.fit_intercept
    values, offsets = f.copy(), np.zeros(totals.shape)
    _solve_all(
        K,
        at,
        problem.sign,
        problem.linear,
        problem.lower,
        problem.upper,
        problem.group,
        one and bool(np.array_equal(at, np.arange(len(at)))),
        a,
        f,
        folds,
        totals,
        goal,
        most,
        values,
        offsets,
    )
    return values, offsets


class PartFolds:
    """The machines without a fold, over some of a classifier's rows, on a matrix in memory.

    Parameters
    ----------
    problem : DualProblem
        One variable a row.
    rows : array of int
        The rows that take part; all others keep their variables, or lose them with their fold.
    gram : Gram
        The operator of the problem's rows.
    a, f : arrays
        The solution of all rows, and K a.
    folds : array of int
        The fold of each of the problem's rows.
    totals : array of shape (folds, groups)
        The sums of the groups without each fold, over the rows that take part.
    """

    def __init__(
        self, problem: DualProblem, rows: Array, gram: Gram, a: Array, f: Array, folds: Array, totals: Array
    ) -> None:
        lone = len(problem.totals) == 0
        # Slots: the groups one after the other, each padded to whole vectors. Where no equality ties variables, one
        # slot has no bounds and a gradient of zero, so that pairs move single variables.
        parts, starts, size = [], [], 0
        for j in range(max(1, len(problem.totals))):
            mine = rows if len(problem.totals) <= 1 else rows[problem.group[rows] == j]
            length = -(-(len(mine) + lone) // UNIT) * UNIT
            parts += [mine, np.full(length - len(mine), -1)]
            starts.append(size)
            size += length
        slots = np.concatenate(parts)
        self.real = np.flatnonzero(slots >= 0)
        self.rows = v = slots[self.real]
        self.starts = np.array(starts)
        self.stops = np.append(self.starts[1:], size)
        need = -(-size // 64) * 64
        # In the solver's own buffer: it is there, and touching new memory costs more than computing.
        dtype: Any = np.float64 if gram.single_is_exact else np.float32
        self.Q = gram.scratch.take("working set", (need + 8, need + 16), dtype)
        at = np.where(slots >= 0, slots, v[-1])
        gram.fill(at, self.Q)
        if (problem.sign < 0).any():
            self.Q[:size, :size] *= (problem.sign[at] * problem.sign[at][:, None]).astype(dtype)
        self.a, self.lower, self.upper = np.zeros(size), np.zeros(size), np.zeros(size)
        self.a[self.real], self.lower[self.real], self.upper[self.real] = a[v], problem.lower[v], problem.upper[v]
        self.folds = np.full(size, PADDING)
        self.folds[self.real] = folds[v]
        self.linear, self.sign, self.totals = problem.linear[v], problem.sign[v], totals
        self.diagonal = np.zeros(size, dtype)
        self.diagonal[self.real] = self.Q[self.real, self.real]
        if lone:
            self.lower[len(v)], self.upper[len(v)], self.folds[len(v)] = -np.inf, np.inf, -1
            self.Q[len(v), :size] = 0
            self.Q[:size, len(v)] = 0
        self.X, self.G = np.empty((len(totals), size)), np.zeros((len(totals), size), dtype)
        self.G[:, self.real] = self.sign * f[v] + self.linear
        self.offsets = np.zeros(totals.shape)

    def solve(self, k: int, change: Array, goal: float, most: int) -> tuple[Array, Array, Array]:
        """The variables of the machine without fold k, its K a, both in the order of ``rows``, and the groups' offsets;
        ``change`` is what f of the rows loses with variables of the fold that take no part."""
        self.G[k, self.real] += self.sign * change
        solve_folds(
            self.Q,
            self.diagonal,
            self.a,
            self.lower,
            self.upper,
            self.folds,
            k,
            k + 1,
            self.starts,
            self.stops,
            self.totals,
            goal,
            most,
            self.X,
            self.G,
            self.offsets,
        )
        return self.X[k, self.real], self.sign * (self.G[k, self.real] - self.linear), self.offsets[k]
