"""What ``native/small_linear`` computes, from the definitions."""

import numpy as np


def objectives(X, y, above, below, eps, squared, free, scaling, w, b, beta):
    """Primal objective of (w, b), dual objective of beta, w of beta."""
    r = y - X @ w - b
    up, down = np.maximum(r - eps, 0.0), np.maximum(-r - eps, 0.0)
    power = 2 if squared else 1
    of_b = b / scaling if scaling > 0 else 0.0
    primal = 0.5 * w @ w + 0.5 * of_b**2 + np.sum(above * up**power + below * down**power)
    rho = 0.5 / np.maximum(above, below) if squared else np.zeros(len(y))
    of_beta = X.T @ beta
    dual = y @ beta - eps * np.abs(beta).sum() - 0.5 * rho @ beta**2 - 0.5 * of_beta @ of_beta
    return primal, dual - 0.5 * (scaling * beta.sum()) ** 2, of_beta


def feasible(beta, above, below, squared, free):
    """Multipliers inside their boxes, the heavier side made as light as the other where the intercept is free."""
    if squared:
        above, below = np.where(above > 0, np.inf, 0.0), np.where(below > 0, np.inf, 0.0)
    beta = np.clip(beta, -below, above)
    up, down = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if free and up > down:
        beta = np.where(beta > 0, beta * (down / up), beta)
    elif free and down > up:
        beta = np.where(beta < 0, beta * (up / down), beta)
    return beta


def after_step(r, beta, above, below, eps, squared):
    """beta after a proximal gradient step whose length is the size of the row's box."""
    step = np.maximum(above, below) * (2.0 if squared else 1.0)
    z = (0.0 if squared else beta) + step * r
    moved = np.sign(z) * np.maximum(0.0, np.abs(z) - step * eps)
    top, bottom = (np.where(side > 0, np.inf, 0.0) if squared else side for side in (above, below))
    return np.clip(moved, -bottom, top)
