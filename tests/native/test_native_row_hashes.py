import numpy as np
import pytest
from drawn import INDICES, REALS, refused, seeds, sparse_rows
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import row_hashes as twin


@given(n=st.integers(0, 6), d=st.integers(0, 40), dtype=st.sampled_from(REALS), seed=seeds)
def test_hashes(level, n, d, dtype, seed):
    rng = np.random.default_rng(seed)
    parts, X = sparse_rows(rng, n, d, dtype, INDICES[seed % 2], 0.6)
    X[rng.random((n, d)) < 0.1] *= -1.0
    X[rng.random((n, d)) < 0.02] = np.nan
    out, expected = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    _native.hash_rows(X, out)
    twin.hash_rows(X, expected)
    np.testing.assert_array_equal(out, expected)
    parts[2][rng.random(len(parts[2])) < 0.2] = 0.0  # zeros that are stored
    _native.hash_rows_csr(parts, d, out)
    twin.hash_rows_csr(parts, d, expected)
    np.testing.assert_array_equal(out, expected)


@given(n=st.integers(0, 6), d=st.integers(0, 40), seed=seeds)
def test_all_forms_agree(level, n, d, seed):
    X = np.round(np.random.default_rng(seed).standard_normal((n, d)), 1).astype(np.float32)
    hashes = np.zeros((3, n), np.uint64)
    _native.hash_rows(X, hashes[0])
    _native.hash_rows(X.astype(np.float64), hashes[1])
    i, k = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=n))])
    _native.hash_rows_csr((indptr, k.astype(np.int64), X[i, k]), d, hashes[2])
    np.testing.assert_array_equal(hashes[0], hashes[1])
    np.testing.assert_array_equal(hashes[0], hashes[2])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"X": np.ones((3, 2), int)}, TypeError, "X must be a float32 or float64"),
        ({"X": np.ones((2, 3)).T}, TypeError, "X must be a C-contiguous"),
        ({"out": np.zeros(2, np.uint64)}, ValueError, r"out.shape\[0\] must be 3"),
        ({"out": np.zeros(3, np.int64)}, TypeError, "out"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("hash_rows", {"X": np.ones((3, 2)), "out": np.zeros(3, np.uint64)}, changed, error, message)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"X": (np.array([0, 1]), np.array([5]), np.ones(1))}, ValueError, r"X.indices must lie in \[0, 5\)"),
        ({"X": (np.array([0, 2]), np.array([1]), np.ones(1))}, ValueError, "X.indptr"),
        ({"X": (np.array([0, 1]), np.array([1]), np.ones(1, int))}, TypeError, "X.data"),
        ({"X": (np.array([0, 1]), np.array([1.0]), np.ones(1))}, TypeError, "X.indices"),
        ({"columns": 1}, ValueError, "X.indices"),
        ({"columns": -1}, ValueError, "X.indices"),
        ({"out": np.zeros(2, np.uint64)}, ValueError, "out"),
    ],
)
def test_wrong_sparse_arguments(changed, error, message):
    right = {"X": (np.array([0, 1]), np.array([1]), np.ones(1)), "columns": 5, "out": np.zeros(1, np.uint64)}
    refused("hash_rows_csr", right, changed, error, message)
