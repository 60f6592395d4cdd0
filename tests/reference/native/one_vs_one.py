"""One-vs-one, pair by pair."""

import itertools

import numpy as np


def values(K, coefficients, counts):
    """f_ij of each row of K, from the coefficients of the support vectors of classes i and j."""
    stops = np.cumsum(counts)
    own = [slice(stop - n, stop) for n, stop in zip(counts, stops, strict=True)]
    columns = [
        K[:, own[i]] @ coefficients[own[i], j - 1] + K[:, own[j]] @ coefficients[own[j], i]
        for i, j in itertools.combinations(range(len(counts)), 2)
    ]
    return np.stack(columns, axis=1)


def votes(f, classes, zero_for_first=False):
    out = np.zeros((len(f), classes))
    for column, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        first = f[:, column] >= 0 if zero_for_first else f[:, column] > 0
        out[first, i] += 1
        out[~first, j] += 1
    return out


def vote_range(f, bound, classes):
    """The fewest and most votes among all values within the bounds: each pair decides for itself."""
    fewest, most = np.zeros((2, len(f), classes))
    for column, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        low, high = f[:, column] - bound[column], f[:, column] + bound[column]
        fewest[:, i] += low > 0
        most[:, i] += high >= 0
        fewest[:, j] += high < 0
        most[:, j] += low <= 0
    return fewest, most


def confidence(f, classes):
    out = np.zeros((len(f), classes))
    for column, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        out[:, i] += f[:, column]
        out[:, j] -= f[:, column]
    return out
