"""Twins of native/row_hashes, in Python's integers."""

import numpy as np

MASK = 2**64 - 1


def mixed(column, value):
    z = int(np.float64(value).view(np.uint64)) ^ ((column + 1) * 0x9E3779B97F4A7C15 & MASK)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def hash_rows(X, out):
    for i, row in enumerate(X):
        out[i] = sum(mixed(k, x) for k, x in enumerate(row) if x != 0) & MASK


def hash_rows_csr(X, columns, out):
    indptr, indices, data = X
    for i in range(len(out)):
        at = slice(indptr[i], indptr[i + 1])
        pairs = zip(indices[at].tolist(), data[at], strict=True)
        out[i] = sum(mixed(k, x) for k, x in pairs if x != 0) & MASK
