"""The point that distances are computed around: no row, however far, takes the digits of the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC as SklearnSVC

from maxmargin import SVC
from maxmargin.kernels import RBF
from maxmargin.kernels._arrays import SAMPLE_MAX_ROWS, SYMMETRY_TILE, _column_means, centre_of, symmetrised
from maxmargin.large_scale import NystroemSVC


def points(n=120, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def by_definition(A, gamma):
    """The kernel matrix from differences, which lose nothing."""
    return np.exp(-gamma * ((A[:, None] - A[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("n", [20, 120, 3 * SAMPLE_MAX_ROWS + 1])
def test_one_row_far_away_leaves_the_others_their_digits(n, far):
    Z = np.vstack((points(n), [[far, 0.0, -far]]))
    kernel = RBF(gamma=0.5).resolve(Z)
    some = Z[np.r_[: min(n, 100), n]]
    np.testing.assert_allclose(kernel.matrix(some, some), by_definition(some, 0.5), atol=1e-12)


@pytest.mark.parametrize("far", [1e9, 1e12])
@pytest.mark.parametrize("model", [SVC, NystroemSVC])
def test_models_learn_beside_a_row_far_away(model, far):
    X = points()
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    Z, labels = np.vstack((X, [[far, 0.0, 0.0]])), np.append(y, 0)
    peer = SklearnSVC(gamma=0.5).fit(Z, labels).score(X, y)
    assert model(gamma=0.5).fit(Z, labels).score(X, y) >= peer - 1e-12


def test_it_is_the_mean_of_ordinary_points():
    X = points(500)
    np.testing.assert_array_equal(centre_of(X, None), X.mean(axis=0))
    weights = np.random.default_rng(1).uniform(size=500)
    np.testing.assert_allclose(centre_of(X, weights), np.average(X, axis=0, weights=weights), rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 1e3, 1e9, 1e200]))
def test_a_weight_of_two_is_a_repetition(seed, n, far):
    rng = np.random.default_rng(seed)
    X, times = rng.normal(size=(n, 2)).round(1), rng.integers(1, 4, n)
    X[0, 0] += far
    repeated = np.repeat(X, times, axis=0)
    np.testing.assert_allclose(
        centre_of(X, times.astype(float)), centre_of(repeated, np.ones(len(repeated))), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_means_in_chunks(dtype, monkeypatch):
    monkeypatch.setattr("maxmargin.kernels._arrays.CHUNK_ENTRIES", 10)
    X, weights = points(101).astype(dtype), np.random.default_rng(2).uniform(size=101)
    expected = np.average(X.astype(np.float64), axis=0, weights=weights)
    np.testing.assert_allclose(_column_means(X, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 5, SYMMETRY_TILE, 2 * SYMMETRY_TILE + 3])
def test_a_matrix_and_its_transpose_in_tiles(n):
    K = np.random.default_rng(n).normal(size=(n, n))
    np.testing.assert_array_equal(symmetrised(K), (K + K.T) / 2)
