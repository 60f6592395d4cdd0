"""Products of sparse rows with sparse rows, against NumPy, on every instruction level."""

import numpy as np
import pytest
import scipy.sparse as sp
from drawn import seeds, sparse_rows
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.kernels import _arrays
from reference.native import sparse_products as twin


@given(
    n=st.integers(0, 30),
    m=st.integers(0, 50),
    d=st.integers(0, 40),
    density=st.sampled_from([0.02, 0.3, 1.0]),
    index=st.sampled_from([np.int32, np.int64]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=seeds,
)
def test_products(level, n, m, d, density, index, dtype, seed):
    rng = np.random.default_rng(seed)
    A, B = (
        (indptr, indices, data.astype(dtype))
        for indptr, indices, data in (sparse_rows(rng, k, d, index=index, density=density)[0] for k in (n, m))
    )
    out, expected = np.full((n, m), np.nan), np.empty((n, m))
    _native.sparse_products(A, B, d, out)
    twin.sparse_products(A, B, d, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


def test_a_column_that_a_row_has_twice(level):
    twice = (np.array([0, 3], np.int32), np.array([1, 0, 1], np.int32), np.array([2.0, 5.0, 3.0]))
    out = np.empty((1, 1))
    _native.sparse_products(twice, twice, 2, out)
    assert out.tolist() == [[50.0]]


def test_products_of_points_in_parts(monkeypatch):
    monkeypatch.setattr(_arrays, "SPARSE_CALL_MAX_TERMS", 40)
    rng = np.random.default_rng(0)
    A, B = sp.random(37, 60, 0.2, "csr", rng=rng), sp.random(41, 60, 0.2, "csr", rng=rng)
    wide = A.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = A.toarray() @ B.toarray().T
    for left in (A, wide, A.astype(np.float32).astype(np.float64), A[::-1][::-1]):
        np.testing.assert_allclose(_arrays.products(left, B), expected, rtol=1e-6 if left is not A else 1e-13)
    assert _arrays.products(A[:0], B).shape == (0, 41)
    assert _arrays.products(A, B[:0]).shape == (37, 0)


def test_wrong_arguments():
    M = sp.csr_array([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]])
    good, out = (M.indptr, M.indices, M.data), np.empty((3, 3))
    _native.sparse_products(good, good, 2, out)
    damaged = [
        ((M.indptr, M.indices + 1, M.data), ValueError),
        ((M.indptr[::-1].copy(), M.indices, M.data), ValueError),
        ((M.indptr, M.indices, M.data[:-1]), ValueError),
        ((M.indptr, M.indices), TypeError),
    ]
    for bad, error in damaged:
        for arguments in ((bad, good), (good, bad)):
            with pytest.raises(error):
                _native.sparse_products(*arguments, 2, out)
    for other in ((M.indptr.astype(np.int64), M.indices, M.data), (M.indptr, M.indices, M.data.astype(np.float32))):
        with pytest.raises(TypeError):
            _native.sparse_products(good, other, 2, out)
    with pytest.raises(ValueError, match="rows of B"):
        _native.sparse_products(good, good, 2, np.empty((3, 4)))
    with pytest.raises(ValueError, match="columns"):
        _native.sparse_products(good, good, -1, out)
