"""C-SVC along a path of C, on kernel values that are held in float32: what a grid search does most.

    minimise 1/2 a'Ka - y'a    subject to  sum a = 0,  0 <= y_i a_i <= c_i,        a_i = y_i alpha_i,  f = Ka

A fold is a mask: rows outside it have the bound c_i = 0, can neither rise nor fall, and still have their f computed, so
that the score of the rows left out needs no further kernel value.

The next C starts on the ray of the last solution, at theta a, 1 <= theta <= C_new / C, which is feasible for every such
theta. The dual is least at theta = y'a / a'Ka; but where that is not far from the end of the ray, most variables are at
their bounds, and the end, where they still are, needs fewer steps. (Starts from a neighbour: DeCoste & Wagstaff 2000.)

A solve alternates pair steps (second-order SMO) on a set W, and f += K[:, W] change in double precision:

    1. W is everything, and K is used in place, while the violation is large;
    2. then W holds the free variables and those near their conditions; its matrix is gathered once and grows with W.

The stopping rule is LIBSVM's, m(a) - M(a) <= tol, on f summed in double precision from float32 kernel values, as there.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.kernels.gram.tiles.products import add_rows
from maxmargin.kernels.gram.tiles.selection import BIG, UNIT, solve_pairs
from maxmargin.runtime.validation import Array

NARROW = 0.6  # part of the rows up to which a matrix of its own pays for W
INNER = 0.05  # pair steps stop at this part of the present violation
ROUNDS = 500  # of one solve; a run that needs more creeps
FAR = 0.3  # part of the ray from which on its end is the better start
LARGEST = 2048  # rows of W: its matrix stays in the cache


@numba.njit(cache=True, nogil=True)
def advance(
    K: Array,
    y: Array,
    bound: Array,
    a: Array,
    f: Array,
    W: Array,
    held: Array,
    M: Array,
    goal: float,
    max_steps: int,
) -> tuple[int, float, float]:
    """Move a, and f = Ka, to violation <= goal, or by about ``max_steps`` pair steps; the steps, the violation, and -b:
    the mean of f - y over the free variables, or the middle of what the others allow.

    K is (n, at least n padded to whole vectors), contiguous, and zero beyond column n. ``W[:held[0]]`` are the rows
    whose matrix is in the corner of M; both are kept for the next call with the same K."""
    n, wide = len(a), M.shape[0]
    size = -(-n // UNIT) * UNIT
    steps = 0
    inside = np.zeros(n, np.bool_)
    for t in range(held[0]):
        inside[W[t]] = True
    lower, upper = np.zeros(n), np.zeros(n)
    for i in range(n):
        if y[i] > 0:
            upper[i] = bound[i]
        else:
            lower[i] = -bound[i]
        a[i] = min(max(a[i], lower[i]), upper[i])  # a start on the ray may be beyond a bound by its rounding
    starts, stops = np.zeros(1, np.int64), np.zeros(1, np.int64)
    x, low, high = np.zeros(size), np.zeros(size), np.zeros(size)
    g, diagonal = np.zeros(size, np.float32), np.zeros(size, np.float32)
    rise, fall = np.empty(size, np.float32), np.empty(size, np.float32)
    changed, change = np.empty(n, np.int64), np.empty(n)
    violation = offset = np.inf
    for _ in range(ROUNDS):
        lowest, highest, total, free = np.inf, -np.inf, 0.0, 0
        for i in range(n):
            slope = f[i] - y[i]
            if lower[i] < a[i] < upper[i]:
                total += slope
                free += 1
            if a[i] < upper[i]:
                lowest = min(lowest, slope)
            if a[i] > lower[i]:
                highest = max(highest, slope)
        violation = max(highest - lowest, 0.0)
        middle = 0.5 * (lowest + highest)
        offset = total / free if free else middle
        if violation <= goal or steps >= max_steps:
            break
        # Rows that may move, or may soon: within the violation of the middle.
        near = 0
        for i in range(n):
            slope = f[i] - y[i] - middle
            if (a[i] < upper[i] and slope < violation) or (a[i] > lower[i] and slope > -violation):
                near += 1
        whole = near > NARROW * n or near > wide - UNIT
        if whole:
            m = n
        else:
            if held[0] > 1.5 * near + UNIT or held[0] + near > wide - UNIT:
                for t in range(held[0]):
                    inside[W[t]] = False
                held[0] = 0
            m = before = held[0]
            for i in range(n):
                slope = f[i] - y[i] - middle
                if not inside[i] and (
                    (a[i] < upper[i] and slope < violation) or (a[i] > lower[i] and slope > -violation)
                ):
                    W[m] = i
                    inside[i] = True
                    m += 1
            held[0] = m
            for s in range(before, m):
                source, target = K[W[s]], M[s]
                for t in range(m):
                    target[t] = source[W[t]]
                    M[t, s] = target[t]
        stops[0] = -(-m // UNIT) * UNIT
        if not whole:
            for s in range(m):
                M[s, m : stops[0]] = 0.0
        for t in range(stops[0]):
            i = t if whole else W[min(t, m - 1)]
            if t >= m:
                x[t] = low[t] = high[t] = 0.0
                g[t], diagonal[t], rise[t], fall[t] = 0.0, 0.0, BIG, -BIG
                continue
            x[t], low[t], high[t] = a[i], lower[i], upper[i]
            g[t] = f[i] - y[i] - middle
            diagonal[t] = K[i, i]
            rise[t] = 0.0 if a[i] < upper[i] else BIG
            fall[t] = 0.0 if a[i] > lower[i] else -BIG
        target_gap = np.float32(max(INNER * violation, 0.4 * goal))
        most = min(max_steps - steps, 2 * n if whole else 100 * n)
        Q = K if whole else M
        taken = solve_pairs(Q, g, x, low, high, rise, fall, diagonal, starts, stops, target_gap, most)
        steps += max(taken, 1)
        count = 0
        for t in range(m):
            i = t if whole else W[t]
            if x[t] != a[i]:
                changed[count], change[count] = i, x[t] - a[i]
                a[i] = x[t]
                count += 1
        if count == 0:
            break
        add_rows(K, changed[:count], change[:count], f)
    return steps, violation, offset


def ray(y: Array, a: Array, f: Array, ratio: float) -> float:
    """Where on the ray of the last solution the next C, ``ratio`` times as large, should start."""
    curvature = float(a @ f)
    theta = float(y @ a) / curvature if curvature > 0 else ratio
    return ratio if theta > FAR * ratio else max(1.0, theta)
