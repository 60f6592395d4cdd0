"""NumPy twins of native/symmetric_entries."""

import numpy as np


def select_entries(block, diagonal, threshold, counts, indices, data):
    height, width = block.shape
    beyond = np.arange(width) > diagonal + np.arange(height)[:, None]
    rows, columns = np.nonzero(beyond & (np.abs(block) > np.float32(threshold)))
    counts[:] = np.bincount(rows, minlength=height)
    indices[: len(rows)] = columns
    data[: len(rows)] = block[rows, columns]
    return len(rows)


def matrix(indptr, indices, data, first, n):
    """The symmetric matrix of the entries, without a diagonal."""
    S = np.zeros((n, n))
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    S[rows, first + indices.astype(int)] = data
    return S + S.T


def symmetric_product(indptr, indices, data, first, x, out):
    out += matrix(indptr, indices, data, first, len(x)) @ x


def symmetric_fill(indptr, indices, data, first, rows, place, out):
    S = matrix(indptr, indices, data, first, len(place))
    for i in rows:
        for j in np.flatnonzero(S[i]):
            if place[i] >= 0 and place[j] >= 0:
                out[place[i], place[j]] = out[place[j], place[i]] = S[i, j]
