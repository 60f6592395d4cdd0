"""The compiled predictor: against its NumPy twin at every level, and what wrong arguments get."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import _native
from reference.native import predictor as twin

KINDS = range(5)
NO_LABEL, SIGN, REGION, HIGHEST, VOTES, CONFIDENCE = range(6)


def drawn(kind, seed, rule=NO_LABEL, classes=1):
    rng = np.random.default_rng(seed)
    n, d, outputs = int(rng.integers(1, 150)), int(rng.integers(1, 40)), int(rng.integers(1, 6))
    Z = rng.standard_normal((outputs if kind == twin.LINEAR else n, d))
    coefficients = None if kind == twin.LINEAR else rng.standard_normal((n, outputs))
    g, coef0, degree = float(rng.uniform(0.01, 1)), float(rng.uniform(-1, 1)), int(rng.integers(1, 5))
    given = (kind, g, coef0, degree, Z, coefficients, None, rng.standard_normal(outputs))
    return given, _native.Predictor(*given, rule, np.ones(classes, bool)), rng.standard_normal((7, d))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_values_are_the_twin_s(level, kind, seed):
    given, predictor, X = drawn(kind, seed)
    expected = twin.decision(*given, X)
    scale = np.abs(expected).max() + 1
    np.testing.assert_allclose(predictor.decision(X), expected, rtol=0, atol=1e-13 * scale * 150)
    # a row's bits do not depend on the rows beside it
    for i, row in enumerate(X):
        np.testing.assert_array_equal(predictor.decision(row), predictor.decision(X)[i])


def test_a_distant_row_takes_no_digits_of_others(level):
    Z, X = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.1, 0.2], [1e12, 1e12]])
    given = (twin.RBF, 1.0, 0.0, 1, Z, np.ones((2, 1)), None, np.zeros(1))
    values = _native.Predictor(*given, NO_LABEL, np.ones(1, bool)).decision(X)
    np.testing.assert_allclose(values, twin.decision(*given, X), rtol=1e-14, atol=1e-290)


def pairs_predictor(values, rule, present=(True, True, True)):
    """A predictor of three classes whose pair values are constants."""
    zeros = np.zeros((3, 1))
    return _native.Predictor(0, 1.0, 0.0, 1, zeros, None, None, np.asarray(values, float), rule, np.array(present))


@pytest.mark.parametrize(
    ("values", "rule", "present", "code"),
    [
        ([1, 1, 1], VOTES, (True, True, True), 0),
        ([-1, 1, 1], VOTES, (True, True, True), 1),
        ([-1, -1, -1], VOTES, (True, True, True), 2),
        ([1, -1, 1], VOTES, (True, True, True), 0),  # a tie: the first class
        ([1, -5, 2], CONFIDENCE, (True, True, True), 2),  # the same votes: the largest sum of values
        ([0, 1, 1], VOTES, (True, True, True), 1),  # zero is a vote for the second class
        ([1, 1, 1], VOTES, (False, True, True), 1),  # a class without rows gets no vote
        ([3, 2, 1], HIGHEST, (True, True, True), 0),
        ([3, 2, 1], HIGHEST, (False, True, True), 1),
    ],
)
def test_codes(values, rule, present, code):
    predictor = pairs_predictor(values, rule, present)
    assert predictor.codes(np.zeros(1)) == code
    assert predictor.codes(np.zeros((2, 1))).tolist() == [code, code]


def test_wrong_arguments():
    _, predictor, X = drawn(twin.RBF, 0)
    with pytest.raises(TypeError, match=r"X must be a .*float64"):
        predictor.decision(X.astype(np.float32))
    with pytest.raises(TypeError, match="contiguous"):
        predictor.decision(np.asfortranarray(X))
    with pytest.raises(TypeError, match="X must be an array"):
        predictor.decision([0.0])
    with pytest.raises(ValueError, match="features of the model"):
        predictor.decision(X[:, :0].copy())
    with pytest.raises(ValueError, match="rule must be one that gives class codes"):
        predictor.codes(X)
    ones = np.ones(1, bool)
    with pytest.raises(ValueError, match="kind must be"):
        _native.Predictor(7, 1.0, 0.0, 1, X, np.ones((7, 1)), None, np.zeros(1), NO_LABEL, ones)
    with pytest.raises(ValueError, match="coefficients"):
        _native.Predictor(1, 1.0, 0.0, 1, X, np.ones((3, 1)), None, np.zeros(1), NO_LABEL, ones)
    with pytest.raises(TypeError, match="coefficients"):
        _native.Predictor(1, 1.0, 0.0, 1, X, None, None, np.zeros(1), NO_LABEL, ones)
    with pytest.raises(ValueError, match="pairs of classes"):
        pairs_predictor([1, 2], VOTES)


def by_columns(Z, index=np.int32):
    """The arrays of dense support vectors, column after column."""
    transposed = sp.csr_array(Z.T)
    return transposed.indptr.astype(index), transposed.indices.astype(index), transposed.data


def sparse_rows(rng, n, d, index=np.int32):
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
    rows = sp.csr_array(X)
    return X, (rows.indptr.astype(index), rows.indices.astype(index), rows.data)


@pytest.mark.parametrize("kind", [twin.RBF, twin.POLYNOMIAL, twin.SIGMOID])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(5))
def test_sparse_values_are_the_twin_s(level, kind, index, seed):
    rng = np.random.default_rng(seed)
    m, d, n = (int(rng.integers(1, high)) for high in (70, 40, 6))
    Z, _ = sparse_rows(rng, m, d)
    X, rows = sparse_rows(rng, n, d, index)
    form = (kind, float(rng.uniform(0.01, 1)), float(rng.uniform(-1, 1)), int(rng.integers(1, 5)))
    values = _native.SparseKernelValues(*form, by_columns(Z, index), m)
    K = np.empty((n, m))
    values.store(rows, K)
    expected = twin.kernel_values(*form, Z, X)
    np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-13 * (1 + np.abs(expected).max()))
    for i in range(n):  # a row's bits do not depend on the rows beside it
        begin, end = rows[0][i], rows[0][i + 1]
        one = np.empty((1, m))
        values.store((np.array([0, end - begin], index), rows[1][begin:end], rows[2][begin:end]), one)
        np.testing.assert_array_equal(one[0], K[i])


def test_wrong_arguments_of_sparse_values():
    Z, rows = sparse_rows(np.random.default_rng(0), 5, 4)
    right = (1, 1.0, 0.0, 1, by_columns(Z), 5)
    values = _native.SparseKernelValues(*right)
    for kind in (0, 2, 5):
        with pytest.raises(ValueError, match="kind must be"):
            _native.SparseKernelValues(kind, *right[1:])
    with pytest.raises(ValueError, match=r"by_column.indices must lie in \[0, 2\)"):
        _native.SparseKernelValues(*right[:5], 2)
    with pytest.raises(ValueError, match="support must be"):
        _native.SparseKernelValues(*right[:5], -1)
    with pytest.raises(ValueError, match="rows of X"):
        values.store(rows, np.empty((4, 5)))
    with pytest.raises(ValueError, match="support vectors"):
        values.store(rows, np.empty((5, 4)))
    with pytest.raises(ValueError, match=r"X\.indices"):
        values.store((rows[0], rows[1] + 4, rows[2]), np.empty((5, 5)))
    with pytest.raises(TypeError, match="out"):
        values.store(rows, np.empty((5, 5), np.float32))
