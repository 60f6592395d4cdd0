"""Twin of native/sigmoid_fits: the cross-entropy, and its minimum by SciPy."""

import numpy as np
from scipy.optimize import minimize


def targets(positive, weight):
    up, down = weight[positive].sum(), weight[~positive].sum()
    return np.where(positive, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))


def cross_entropy(slope, offset, values, positive, weight):
    z = slope * values + offset
    return weight @ (np.logaddexp(0.0, z) - targets(positive, weight) * z)


def fit_sigmoid(values, positive, weight):
    """The least cross-entropy over all slopes that are not negative."""
    size = np.abs(values).max(initial=0.0) or 1.0
    t = targets(positive, weight)

    def both(x):
        z = x[0] * values / size + x[1]
        residual = weight * (1.0 / (1.0 + np.exp(-np.clip(z, -700, 700))) - t)
        return cross_entropy(x[0] / size, x[1], values, positive, weight), [residual @ values / size, residual.sum()]

    return minimize(both, [0.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)], tol=1e-14).fun
