"""NumPy twins of native/pair_steps and native/block_steps, and the conditions that their results must meet."""

import numpy as np


def best_pair(K, g, a, lower, upper, rounding=1e-15, tiny=1e-30):
    """Second-order choice in one group: (violation, i, j), or None where no variable may rise or none may fall."""
    up, down = np.flatnonzero(a < upper), np.flatnonzero(a > lower)
    if len(up) == 0 or len(down) == 0:
        return None
    i = up[np.argmin(g[up])]
    violation = g[down].max() - g[i]
    above = np.maximum(g[down] - g[i], 0.0)
    size = K[i, i] + K[down, down]
    curvature = np.maximum(size - 2 * K[i, down], rounding * np.abs(size) + tiny)
    return violation, i, down[np.argmax(above**2 / curvature)]


def moved(a, change, bound):
    slack, step = abs(bound - a), abs(change)
    return bound if slack - step <= 1e-14 * (abs(a) + step) else a + change


def solve_pairs(K, g, a, lower, upper, groups, goal, max_steps, rounding=1e-15, tiny=1e-30):
    """``groups`` are arrays of variables. g and a are changed in place; the steps taken."""
    for step in range(max_steps + 1):
        best = None
        for mine in groups:
            found = best_pair(K[np.ix_(mine, mine)], g[mine], a[mine], lower[mine], upper[mine], rounding, tiny)
            if found is not None and (best is None or found[0] > best[0]):
                best = found[0], mine[found[1]], mine[found[2]]
        if best is None or best[0] <= goal or step == max_steps:
            return step
        _, i, j = best
        size = K[i, i] + K[j, j]
        move = (g[j] - g[i]) / max(size - 2 * K[i, j], rounding * abs(size) + tiny)
        move = min(move, upper[i] - a[i], a[j] - lower[j])
        if not move > 0:
            return step
        a[i], a[j] = moved(a[i], move, upper[i]), moved(a[j], -move, lower[j])
        g += move * (K[i] - K[j])


def solve_coordinates(Q, g, a, lower, upper, goal, max_steps):
    for step in range(max_steps):
        lowest = min(0.0, g[a < upper].min(initial=0.0))
        highest = max(0.0, g[a > lower].max(initial=0.0))
        curvature = np.maximum(np.diag(Q), 1e-300)
        aim = np.clip(a - g / curvature, lower, upper)
        d = aim - a
        gain = -d * (g + 0.5 * curvature * d)
        i = int(np.argmax(gain))
        if highest - lowest <= goal or gain[i] <= 0:
            return step
        a[i] = aim[i]
        g += d[i] * Q[i]
    return max_steps


def violation(g, a, lower, upper, groups):
    """The largest difference of gradients between a variable that may fall and one that may rise, over the groups."""
    worst = 0.0
    for mine in groups:
        up, down = g[mine][(a < upper)[mine]], g[mine][(a > lower)[mine]]
        if len(up) and len(down):
            worst = max(worst, down.max() - up.min())
    return worst
