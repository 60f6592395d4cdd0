"""Twins of native/folds: the start of a fold by definition, and its solution by a general solver."""

import numpy as np
from scipy.optimize import minimize


def offset(g, x, lower, upper, own):
    """The mean gradient of free variables, or else the middle of what the others allow."""
    free = own & (x > lower) & (x < upper)
    if free.any():
        return g[free].mean()
    lowest, highest = g[own & (x < upper)].min(initial=np.inf), g[own & (x > lower)].max(initial=-np.inf)
    if np.isinf(lowest):
        return highest if np.isfinite(highest) else 0.0
    return lowest if np.isinf(highest) else 0.5 * (lowest + highest)


def objective_without(Q, p, lower, upper, group, totals, rest):
    """The least 1/2 a'Qa + p'a over the variables of ``rest``, with the groups' sums."""
    Q, p, bounds = Q[np.ix_(rest, rest)], p[rest], list(zip(lower[rest], upper[rest], strict=True))
    members = [(group[rest] == k, total) for k, total in enumerate(totals)]
    sums = [{"type": "eq", "fun": lambda a, own=own, t=t: a[own].sum() - t} for own, t in members if own.any()]
    found = minimize(
        lambda a: (0.5 * a @ Q @ a + p @ a, Q @ a + p),
        np.clip(0.0, lower[rest], upper[rest]),
        jac=True,
        bounds=bounds,
        constraints=sums,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.fun
