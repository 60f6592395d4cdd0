"""NumPy twins of native/coordinate_sums."""

import numpy as np
import scipy.sparse as sp


def term_of(a, b, term):
    if term == 0:
        return np.abs(a - b)
    if term == 1:
        return np.divide((a - b) ** 2, a + b, out=np.zeros(np.broadcast(a, b).shape), where=a + b != 0)
    return np.minimum(a, b)


def coordinate_sums(A, B, term, out):
    """Term by term in the order of the coordinates, as the bits are promised."""
    out[:] = 0.0
    for k in range(A.shape[1]):
        out += term_of(A[:, k, None], B[None, :, k], term)


def coordinate_sums_csr(A, B, columns, term, out):
    dense = (sp.csr_array((x, i, p), shape=(len(p) - 1, columns)).toarray() for p, i, x in (A, B))
    coordinate_sums(*dense, term, out)
