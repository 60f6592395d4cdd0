"""NumPy twins of native/moments."""

import numpy as np


def power_sum(X, weights, centre, power):
    return weights @ ((X.astype(float) - centre) ** power).sum(axis=1)


def column_sums(X, weights, out):
    out += weights @ X.astype(float)


def row_distances(X, centre, out):
    out[:] = ((X.astype(float) - centre) ** 2).sum(axis=1)


def median(values, weights):
    """The smallest value that at least half of the weight does not exceed."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) >= 0.5 * weights.sum()
    return values[order][reached.argmax()]


def robust_centre(X, weights, factor, centre):
    for k, column in enumerate(X.T):
        middle = median(column, weights)
        far, near = (median(np.abs(column - point), weights) for point in (centre[k], middle))
        if not far <= factor * near + 1e-12 * abs(centre[k]):
            centre[k] = middle
