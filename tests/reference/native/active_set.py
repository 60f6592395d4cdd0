"""NumPy twin of native/active_set: every step solves for the free variables from nothing."""

import numpy as np


def conditions(g, d, lower, upper):
    """The smallest gradient of a variable that may rise, and the largest of one that may fall."""
    return g[d < upper].min(initial=np.inf), g[d > lower].max(initial=-np.inf)


def solve(Q, linear, lower, upper, d, goal, ridge, max_steps):
    """d is changed in place; the steps taken."""
    free = (d > lower) & (d < upper)
    for step in range(max_steps + 1):
        g = Q @ d + linear
        rise, fall = conditions(g, d, lower, upper)
        if fall - rise <= goal or step == max_steps:
            return step
        if free.sum() < 2 or np.ptp(g[free]) <= 0.1 * goal:
            below = np.where(~free & (d < upper), g, np.inf)
            above = np.where(~free & (d > lower), g, -np.inf)
            if not free.any():
                free[[below.argmin(), above.argmax()]] = True
            else:
                offset = g[free].mean()
                free[above.argmax() if above.max() - offset > offset - below.min() else below.argmin()] = True
        F = np.flatnonzero(free)
        inverse = np.linalg.inv(Q[np.ix_(F, F)] + ridge * np.eye(len(F)))
        offset = (inverse @ g[F]).sum() / inverse.sum()
        p = -inverse @ (g[F] - offset)
        p -= p.mean()
        room = np.where(p > 0, upper[F] - d[F], lower[F] - d[F])
        reach = np.divide(room, p, out=np.full(len(F), np.inf), where=p != 0)
        curvature = p @ Q[np.ix_(F, F)] @ p
        t = min(-(p @ g[F]) / curvature if curvature > 0 else np.inf, reach.min())
        ends = reach <= t
        d[F] = np.where(ends, np.where(p > 0, upper[F], lower[F]), d[F] + t * p)
        free[F[ends]] = False
    return max_steps
