"""Sums over pairs of points, against NumPy, on every instruction level."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.kernels.pair_sums import ABSOLUTE, CHI_SQUARED, MINIMUM, PRODUCT, SQUARED, pair_sums
from reference.native import pair_sums as twin

KINDS = st.sampled_from([PRODUCT, SQUARED, ABSOLUTE, CHI_SQUARED, MINIMUM])
REALS = st.sampled_from([np.float32, np.float64])


def points(rng, n, d, dtype, kind, share=0.6):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < share)
    return (abs(X) if kind in (CHI_SQUARED, MINIMUM) else X).astype(dtype)


def close(found, A, B, kind):
    expected = twin.pair_sums(A, B, kind)
    size = twin.pair_sums(abs(A), -abs(B) if kind in (SQUARED, ABSOLUTE) else abs(B), kind)
    assert found.dtype == np.float64
    assert (abs(found - expected) <= 4e-16 * (4 + A.shape[1]) * size).all()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 40),
    m=st.integers(0, 80),
    d=st.integers(0, 40),
    dtype=REALS,
    kind=KINDS,
)
def test_dense(level, seed, n, m, d, dtype, kind):
    rng = np.random.default_rng(seed)
    A, B = points(rng, n, d, dtype, kind), points(rng, m, d, dtype, kind)
    close(pair_sums(A, B, kind), A, B, kind)
    if n and m:
        rows, cols = rng.integers(0, n, 5), rng.integers(0, m, 37)
        close(pair_sums(A, B, kind, rows=rows, cols=cols), A[rows], B[cols], kind)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 20),
    m=st.integers(0, 20),
    d=st.integers(1, 40),
    dtype=REALS,
    kind=KINDS,
)
def test_sparse(level, seed, n, m, d, dtype, kind):
    rng = np.random.default_rng(seed)
    A, B = points(rng, n, d, dtype, kind, 0.2), points(rng, m, d, dtype, kind, 0.2)
    close(pair_sums(sp.csr_array(A), sp.csr_array(B), kind), A, B, kind)
    close(pair_sums(A, sp.csr_array(B), kind), A, B, kind)
    wide = sp.csr_array(A)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    close(pair_sums(wide, sp.csr_array(B), kind), A, B, kind)


@given(seed=st.integers(0, 10**6), kind=KINDS, sparse=st.booleans())
def test_a_pair_does_not_depend_on_the_others(level, seed, kind, sparse):
    rng = np.random.default_rng(seed)
    A, B = points(rng, 13, 9, np.float64, kind), points(rng, 50, 9, np.float64, kind)
    make = sp.csr_array if sparse else np.asarray
    every = pair_sums(make(A), make(B), kind)
    A[5], B[17] = 1e300, 1e300
    i, j = int(rng.integers(0, 5)), int(rng.integers(18, 50))
    assert pair_sums(make(A), make(B), kind)[i, j] == every[i, j]
    assert pair_sums(make(A[i : i + 1]), make(B[j : j + 1]), kind)[0, 0] == every[i, j]


def test_small_distances_of_long_points_keep_their_digits(level):
    A = np.array([[1e15, 1.0]])
    B = np.array([[1e15, 2.0], [1e15 + 1, 1.0]])
    for make in (np.asarray, sp.csr_array):
        assert pair_sums(make(A), make(B), SQUARED).tolist() == [[1.0, 1.0]]
        assert pair_sums(make(A), make(B), ABSOLUTE).tolist() == [[1.0, 1.0]]


A, B, OUT = np.ones((3, 2)), np.ones((4, 2)), np.empty((3, 4))
ROWS = np.arange(3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((A, None, B[:, :1].copy(), None, 0, OUT), ValueError, r"B.shape\[1\] must be 2 \(columns of A\)"),
        ((A, None, B, None, 5, OUT), ValueError, "kind must be 0, 1, 2, 3 or 4, got 5"),
        ((A, None, B, None, -1, OUT), ValueError, "kind"),
        ((A, None, B.astype(np.float32), None, 0, OUT), TypeError, "B must be"),
        ((A, None, B, None, 0, OUT.T), TypeError, "out must be"),
        ((A, None, B, None, 0, OUT[:2]), ValueError, r"out.shape\[0\] must be 3"),
        ((A, ROWS + 1, B, None, 0, OUT), ValueError, r"rows must lie in \[0, 3\)"),
        ((A, ROWS, B, ROWS - 1, 0, OUT), ValueError, r"cols must lie in \[0, 4\)"),
        ((A, ROWS.astype(np.int32), B, None, 0, OUT), TypeError, "rows must be"),
        ((A, ROWS, B, None, 0, OUT.astype(np.float32)), TypeError, "out must be"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        _native.pair_sums_dense(*arguments)


def test_wrong_sparse_arguments():
    M = sp.csr_array(A)
    good = [M.indptr, M.indices, M.data]
    out = np.empty((3, 3))
    _native.pair_sums_csr(*good, *good, 2, 0, out)
    for place, bad, error in [
        (1, M.indices + 1, ValueError),
        (0, M.indptr[::-1].copy(), ValueError),
        (2, M.data[:-1], ValueError),
        (3, M.indptr.astype(np.int64), TypeError),
        (5, M.data.astype(np.float32), TypeError),
    ]:
        arguments = [*good, *good, 2, 0, out]
        arguments[place] = bad
        with pytest.raises(error):
            _native.pair_sums_csr(*arguments)
    with pytest.raises(ValueError, match="rows of B"):
        _native.pair_sums_csr(*good, *good, 2, 0, np.empty((3, 4)))
    with pytest.raises(ValueError, match="columns"):
        _native.pair_sums_csr(*good, *good, -1, 0, out)
