"""One-vs-one in compiled code: against its NumPy twin at every level, and what wrong arguments get."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _native
from reference.native import one_vs_one as twin
from reference.native import predictor


def drawn(seed, classes=None):
    rng = np.random.default_rng(seed)
    classes = classes or int(rng.integers(2, 30))
    counts = rng.integers(0, 9, classes)
    width = -(-(classes - 1) // 8) * 8
    coefficients = np.zeros((counts.sum(), width))
    coefficients[:, : classes - 1] = rng.standard_normal((counts.sum(), classes - 1))
    return rng, classes, counts, coefficients


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(level, seed, dtype):
    rng, classes, counts, coefficients = drawn(seed)
    K = rng.standard_normal((int(rng.integers(1, 12)), len(coefficients))).astype(dtype)
    out = np.full((len(K), classes * (classes - 1) // 2), np.nan)
    _native.pair_values(K, coefficients, counts, out)
    np.testing.assert_allclose(out, twin.values(K.astype(np.float64), coefficients, counts), atol=1e-13)
    for i in range(len(K)):  # a row's bits do not depend on the rows beside it
        alone = np.empty((1, out.shape[1]))
        _native.pair_values(K[i : i + 1], coefficients, counts, alone)
        np.testing.assert_array_equal(alone[0], out[i])


@pytest.mark.parametrize("seed", range(12))
def test_votes(level, seed):
    rng, classes, _, _ = drawn(seed)
    f = rng.integers(-2, 3, (5, classes * (classes - 1) // 2)).astype(np.float64)
    bound = rng.integers(0, 3, f.shape[1]) + 0.5
    counted, fewest, most, sums = np.full((4, 5, classes), np.nan)
    for zero_for_first in (False, True):
        _native.pair_votes(f, zero_for_first, counted)
        np.testing.assert_array_equal(counted, twin.votes(f, classes, zero_for_first))
    _native.pair_vote_range(f, bound, fewest, most)
    np.testing.assert_array_equal([fewest, most], twin.vote_range(f, bound, classes))
    assert (fewest <= counted).all()
    assert (counted <= most).all()
    _native.pair_confidence(f, sums)
    np.testing.assert_array_equal(sums, twin.confidence(f, classes))


@pytest.mark.parametrize("kind", [predictor.RBF, predictor.LAPLACIAN, predictor.POLYNOMIAL, predictor.SIGMOID])
@pytest.mark.parametrize("seed", range(4))
def test_predictor_of_pairs(level, kind, seed):
    rng, classes, counts, coefficients = drawn(seed)
    Z, X = rng.standard_normal((len(coefficients), 4)), rng.standard_normal((19, 4))
    intercept = rng.standard_normal(classes * (classes - 1) // 2)
    given = (kind, 0.3, 0.5, 2, Z, coefficients, counts, intercept)
    function = _native.Predictor(*given, 4, np.ones(classes, bool))
    expected = predictor.decision(*given, X)
    np.testing.assert_allclose(function.decision(X), expected, atol=1e-11)
    np.testing.assert_array_equal(function.decision(X[3]), function.decision(X)[3])
    np.testing.assert_array_equal(function.codes(X), twin.votes(function.decision(X), classes).argmax(axis=1))


def test_wrong_arguments():
    _, _, counts, coefficients = drawn(0, classes=3)
    K, out = np.zeros((2, len(coefficients))), np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"coefficients.shape\[1\] must be a multiple of 8"):
        _native.pair_values(K, np.ascontiguousarray(coefficients[:, :3]), counts, out)
    with pytest.raises(ValueError, match="counts must be as many as rows of coefficients"):
        _native.pair_values(K, coefficients, counts + 1, out)
    with pytest.raises(ValueError, match="counts must be at least 0"):
        _native.pair_values(K, coefficients, counts * 0 - 1, out)
    with pytest.raises(ValueError, match="support vectors of all classes"):
        _native.pair_values(K, coefficients, counts * 0, out)
    with pytest.raises(ValueError, match="rows of coefficients"):
        _native.pair_values(K[:, 1:].copy(), coefficients, counts, out)
    with pytest.raises(ValueError, match="pairs of classes"):
        _native.pair_values(K, coefficients, counts, out[:, :2].copy())
    with pytest.raises(ValueError, match="pairs of classes"):
        _native.pair_votes(out, False, np.zeros((2, 4)))
    with pytest.raises(ValueError, match="rows of f"):
        _native.pair_confidence(out, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="columns of f"):
        _native.pair_vote_range(out, np.zeros(2), np.zeros((2, 3)), np.zeros((2, 3)))
