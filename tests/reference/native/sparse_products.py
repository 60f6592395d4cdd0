"""NumPy twin of native/sparse_products."""

import numpy as np
import scipy.sparse as sp


def sparse_products(A, B, columns, out):
    left, right = (
        sp.csr_array((M[2].astype(np.float64), M[1], M[0]), shape=(len(M[0]) - 1, columns)).toarray() for M in (A, B)
    )
    out[:] = left @ right.T
