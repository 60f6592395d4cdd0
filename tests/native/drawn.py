"""What tests of the compiled core draw: random arrays and sparse matrices by a seed, and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from maxmargin import _native

REALS = (np.float32, np.float64)
INDICES = (np.int32, np.int64)
seeds = st.integers(0, 2**32 - 1)


def sparse_rows(rng, n, d, dtype=np.float64, index=np.int32, density=0.3):
    """(indptr, indices, data) of a random non-negative matrix, and the matrix itself."""
    dense = (rng.random((n, d)) * (rng.random((n, d)) < density)).astype(dtype)
    matrix = sp.csr_array(dense)
    return (matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data), dense


def refused(function, arguments, changed, error, message):
    """A call with one argument changed raises an error that names it."""
    with pytest.raises(error, match=message):
        getattr(_native, function)(**{**arguments, **changed})
