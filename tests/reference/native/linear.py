"""NumPy twins of the native loops of linear models: design, losses, descent, interior, lanes, stochastic, columns."""

import numpy as np


def loss(r, above, below, eps, squared):
    power = 2 if squared else 1
    up, down = np.maximum(0, r - eps) ** power, np.maximum(0, -r - eps) ** power
    return np.where(above > 0, above, 0) * up + np.where(below > 0, below, 0) * down


def derivative(r, above, below, eps, squared):
    up, down = np.maximum(0, r - eps), np.maximum(0, -r - eps)
    return 2 * (above * up - below * down) if squared else above * (up > 0) - below * (down > 0)


def ridge(above, below, squared):
    weight = np.maximum(above, below)
    return np.where(squared & (weight > 0), 0.5 / np.where(weight > 0, weight, 1), 0.0)


def box(above, below, squared):
    if squared:
        above, below = np.where(above > 0, np.inf, 0), np.where(below > 0, np.inf, 0)
    return -below, above


def soft(v, e):
    return np.sign(v) * np.maximum(0, np.abs(v) - e)


def after_step(r, beta, above, below, eps, squared):
    t = np.maximum(above, below) * (2 if squared else 1)
    lower, upper = box(above, below, squared)
    return np.clip(soft((0 if squared else beta) + t * r, t * eps), lower, upper)


def epoch(X, y, q, rho_i, lower, upper, eps, rho, b, beta, order):
    """One pass of coordinate descent in a given order, every row taking part; beta and w change."""
    w = X.T @ beta
    for i in order:
        g = X[i] @ w + b + rho * beta.sum() - y[i] + rho_i[i] * beta[i]
        new = np.clip(soft(beta[i] - g / q[i], eps / q[i]), lower[i], upper[i])
        w = w + (new - beta[i]) * X[i]
        beta[i] = new
    return w


def steps(X, y, weight, above, below, eps, squared, drawn, eta):
    """w and the multipliers after stochastic steps, and their averages with weights 1, 2, 3, ..."""
    w, beta = np.zeros(X.shape[1]), np.zeros(len(y))
    mean_w, mean_beta, total = np.zeros_like(w), np.zeros_like(beta), 0.0
    for t, (rows, step) in enumerate(zip(drawn, eta, strict=True), start=1):
        r = y[rows] - X[rows] @ w
        hit = derivative(r, above[rows], below[rows], eps, squared) / weight[rows]
        w, beta = (1 - step) * w, (1 - step) * beta
        for i, h in zip(rows, hit, strict=True):
            move = step * weight.sum() * h / len(rows)
            w, beta[i] = w + move * X[i], beta[i] + move
        mean_w, mean_beta, total = mean_w + t * w, mean_beta + t * beta, total + t
    return w, beta, mean_w / total, mean_beta / total


def lane_sweep(X, lane, bound, own, squared, rho, A, W, b, order):
    """One pass over the rows for all lanes, in double precision; A and W change."""
    total = (A * np.where(lane[:, None] == np.arange(A.shape[1]), 1.0, -1.0)).sum(axis=0)
    for i in order:
        sign = np.where(np.arange(A.shape[1]) == lane[i], 1.0, -1.0)
        c = np.where(sign > 0, bound[i] * own, bound[i])
        r = 0.5 / c if squared else 0.0 * c
        g = sign * (X[i] @ W + b + rho * total) - 1 + r * A[i]
        new = np.maximum(A[i] - g / (X[i] @ X[i] + rho + r), 0)
        new = new if squared else np.minimum(new, c)
        change = sign * (new - A[i])
        A[i], total = new, total + change
        W += np.outer(X[i], change)


def columns_pass(X, order, y, c, w, slack):
    """One pass of one-dimensional Newton steps under the L1 penalty; w and slack change."""
    for j in order:
        inside = slack > 0
        p = 2 * (c * y * X[:, j] * slack)[inside].sum()
        all_curvature = 2 * (c * X[:, j] ** 2).sum()
        h = max(2 * (c * X[:, j] ** 2)[inside].sum(), 1e-12 * all_curvature)
        if h <= 0:
            continue
        step = soft(h * w[j] + p, 1) / h - w[j]
        promise = -p * step + abs(w[j] + step) - abs(w[j])
        for _ in range(30):
            after = np.maximum(0, slack - step * y * X[:, j])
            change = abs(w[j] + step) - abs(w[j]) + c @ (after**2 - np.maximum(0, slack) ** 2)
            if step != 0 and change <= 0.01 * promise:
                slack -= step * y * X[:, j]
                w[j] += step
                break
            step, promise = step / 2, promise / 2
