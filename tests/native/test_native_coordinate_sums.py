import numpy as np
import pytest
from drawn import INDICES, refused, seeds, sparse_rows
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import coordinate_sums as twin

sizes = st.integers(0, 40)


@given(n=sizes, m=sizes, d=sizes, term=st.integers(0, 2), seed=seeds)
def test_dense_and_sparse_sums(level, n, m, d, term, seed):
    """Both have the twin's bits: their terms are added in the order of the coordinates."""
    rng = np.random.default_rng(seed)
    index = INDICES[seed % 2]
    (A, dense_A), (B, dense_B) = sparse_rows(rng, n, d, index=index), sparse_rows(rng, m, d, index=index)
    expected, wide = np.empty((n, m)), np.full((n, m + 5), np.nan)
    twin.coordinate_sums(dense_A, dense_B, term, expected)
    _native.coordinate_sums(dense_A, dense_B, term, wide[:, 2 : m + 2])
    np.testing.assert_array_equal(wide[:, 2 : m + 2], expected)
    assert np.isnan(wide[:, :2]).all()
    assert np.isnan(wide[:, m + 2 :]).all()
    wide[:] = np.nan
    _native.coordinate_sums_csr(A, B, d, term, wide[:, 1 : m + 1])
    np.testing.assert_array_equal(wide[:, 1 : m + 1], expected)


@given(d=st.integers(1, 20), seed=seeds)
def test_signed_points_and_symmetry(level, d, seed):
    A = np.random.default_rng(seed).standard_normal((11, d))
    out, expected = np.empty((11, 11)), np.empty((11, 11))
    _native.coordinate_sums(A, A, 0, out)
    twin.coordinate_sums(A, A, 0, expected)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(out, out.T)


DENSE = {"A": np.ones((3, 4)), "B": np.ones((2, 4)), "term": 0, "out": np.ones((3, 2))}
SPARSE = {
    "A": (np.array([0, 1, 2]), np.array([0, 3]), np.ones(2)),
    "B": (np.array([0, 1]), np.array([2]), np.ones(1)),
    "columns": 4,
    "term": 0,
    "out": np.ones((2, 1)),
}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"A": np.ones((3, 4), np.float32)}, TypeError, "A must be a C-contiguous float64"),
        ({"B": np.ones((4, 2)).T}, TypeError, "B must be .* another order"),
        ({"B": np.ones((2, 5))}, ValueError, r"B.shape\[1\] must be 4"),
        ({"term": 3}, ValueError, "term must be 0, 1 or 2, got 3"),
        ({"term": -1}, ValueError, "term"),
        ({"out": np.ones((2, 2))}, ValueError, r"out.shape\[0\] must be 3"),
        ({"out": np.ones((3, 3))}, ValueError, r"out.shape\[1\] must be 2"),
        ({"out": np.ones((2, 3)).T}, TypeError, "out must have the entries of a row side by side"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("coordinate_sums", DENSE, changed, error, message)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"A": [1, 2, 3]}, TypeError, r"A must be a tuple \(indptr, indices, data\)"),
        ({"A": (np.array([0, 1, 2]), np.array([0, 3]))}, TypeError, "A must be a tuple"),
        ({"A": (np.array([0, 1, 2]), np.array([0, 4]), np.ones(2))}, ValueError, r"A.indices must lie in \[0, 4\)"),
        ({"A": (np.array([0, 1, 3]), np.array([0, 1]), np.ones(2))}, ValueError, "A.indptr must rise"),
        ({"A": (np.array([0, 2, 1]), np.array([0, 1]), np.ones(2))}, ValueError, "A.indptr must rise"),
        ({"A": (np.array([], int), np.array([0, 1]), np.ones(2))}, ValueError, "A.indptr"),
        ({"B": (np.array([0, 1]), np.array([-1]), np.ones(1))}, ValueError, "B.indices"),
        ({"B": (np.array([0, 1]), np.array([2], np.int32), np.ones(1))}, TypeError, "B.indices"),
        ({"B": (np.array([0, 1]), np.array([2]), np.ones(2))}, ValueError, "B.data"),
        ({"columns": 2}, ValueError, "A.indices"),
        ({"term": 7}, ValueError, "term"),
        ({"out": np.ones((2, 2))}, ValueError, "out"),
        ({"out": np.ones((1, 1))}, ValueError, "out"),
    ],
)
def test_wrong_sparse_arguments(changed, error, message):
    refused("coordinate_sums_csr", SPARSE, changed, error, message)
