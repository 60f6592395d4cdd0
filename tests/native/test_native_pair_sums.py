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


@given(seed=st.integers(0, 10**6), kind=KINDS, sparse=st.booleans(), blocks=st.integers(0, 5))
def test_blocks(level, seed, kind, sparse, blocks):
    rng = np.random.default_rng(seed)
    X = points(rng, 30, 7, np.float64, kind)
    parts = [[rng.integers(0, 30, rng.integers(0, 12)) for _ in range(blocks)] for _ in range(2)]
    starts = [np.cumsum([0, *map(len, each)]) for each in parts]
    flat = [np.concatenate([np.empty(0, int), *each]) for each in parts]
    P = sp.csr_array(X) if sparse else X
    found = np.empty(int(np.dot(np.diff(starts[0]), np.diff(starts[1]))))
    if sparse:
        left, right = ((M.indptr, M.indices, M.data) for M in (sp.csr_array(P[rows]) for rows in flat))
        _native.pair_sums_csr(left, starts[0], right, starts[1], 7, kind, found)
    else:
        _native.pair_sums_dense(P, flat[0], starts[0], P, flat[1], starts[1], kind, found)
    every = pair_sums(P, P, kind)
    expected = [every[np.ix_(rows, cols)].ravel() for rows, cols in zip(*parts, strict=True)]
    np.testing.assert_array_equal(found, np.concatenate([np.empty(0), *expected]))


A, B, OUT = np.ones((3, 2)), np.ones((4, 2)), np.empty(12)
ROWS = np.arange(3)
HALVES = np.array([0, 1, 3])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((A, None, None, B[:, :1].copy(), None, None, 0, OUT), ValueError, r"B.shape\[1\] must be 2 \(columns of A\)"),
        ((A, None, None, B, None, None, 5, OUT), ValueError, "kind must be 0, 1, 2, 3 or 4, got 5"),
        ((A, None, None, B, None, None, -1, OUT), ValueError, "kind"),
        ((A, None, None, B.astype(np.float32), None, None, 0, OUT), TypeError, "B must be"),
        ((A, None, None, B, None, None, 0, OUT.reshape(3, 4)), TypeError, "out must be"),
        ((A, None, None, B, None, None, 0, OUT[:8]), ValueError, r"out.shape\[0\] must be 12"),
        ((A, ROWS + 1, None, B, None, None, 0, OUT), ValueError, r"rows must lie in \[0, 3\)"),
        ((A, ROWS, None, B, ROWS - 1, None, 0, OUT[:9]), ValueError, r"cols must lie in \[0, 4\)"),
        ((A, ROWS.astype(np.int32), None, B, None, None, 0, OUT), TypeError, "rows must be"),
        ((A, ROWS, None, B, None, None, 0, OUT.astype(np.float32)), TypeError, "out must be"),
        ((A, ROWS, HALVES, B, ROWS, HALVES, 0, OUT), ValueError, r"out.shape\[0\] must be 5"),
        ((A, ROWS, HALVES, B, ROWS, HALVES[:2], 0, OUT), ValueError, "same length"),
        ((A, ROWS, HALVES + 1, B, ROWS, HALVES, 0, OUT), ValueError, "row_start must rise"),
        ((A, ROWS, HALVES[::-1].copy(), B, ROWS, HALVES, 0, OUT), ValueError, "row_start must rise"),
        ((A, ROWS, HALVES, B, ROWS, HALVES - 1, 0, OUT), ValueError, "col_start must rise"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        _native.pair_sums_dense(*arguments)


def test_wrong_sparse_arguments():
    M = sp.csr_array(A)
    good = (M.indptr, M.indices, M.data)
    out = np.empty(9)
    _native.pair_sums_csr(good, None, good, None, 2, 0, out)
    for place, bad, error in [
        (1, M.indices + 1, ValueError),
        (0, M.indptr[::-1].copy(), ValueError),
        (2, M.data[:-1], ValueError),
    ]:
        damaged = list(good)
        damaged[place] = bad
        for arguments in ((tuple(damaged), None, good, None), (good, None, tuple(damaged), None)):
            with pytest.raises(error):
                _native.pair_sums_csr(*arguments, 2, 0, out)
    for other in ((M.indptr.astype(np.int64), M.indices, M.data), (M.indptr, M.indices, M.data.astype(np.float32))):
        with pytest.raises(TypeError):
            _native.pair_sums_csr(good, None, other, None, 2, 0, out)
    with pytest.raises(TypeError, match="tuples"):
        _native.pair_sums_csr(good, None, good[:2], None, 2, 0, out)
    with pytest.raises(ValueError, match="pairs of all blocks"):
        _native.pair_sums_csr(good, None, good, None, 2, 0, np.empty(12))
    with pytest.raises(ValueError, match="columns"):
        _native.pair_sums_csr(good, None, good, None, -1, 0, out)
