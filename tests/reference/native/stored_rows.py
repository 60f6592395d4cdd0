"""NumPy twins of native/stored_rows."""

import numpy as np

from reference.native.smoothed_losses import loss_first_order


def evaluate_rows(K, B, b, loss, F, y, c, centre, g, sums, gradient):
    K = K.astype(np.float64)
    if B is not None:
        F[:, 0] = K @ B + b
    support = loss_first_order(loss, F, y, c, centre, g, sums)
    gradient[0] += K.T @ np.where(g[:, 0] > 0, g[:, 0], 0.0)
    gradient[-1] += K.T @ np.where(g[:, 0] < 0, g[:, 0], 0.0)
    return support


def take_rows(K, keep, out):
    out[:] = K[keep]


def add_weighted_rows(X, w, mean, squared, sums):
    away = X.astype(np.float64) - mean
    sums += w @ (away**2 if squared else away)
