"""Moments of dense points: sums of powers, distances from a point, and a centre that far rows do not move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from native.drawn import REALS, refused, seeds
from reference.native import moments as twin

sizes = st.tuples(st.integers(1, 40), st.integers(1, 23))


@given(seed=seeds, size=sizes, dtype=st.sampled_from(REALS), power=st.sampled_from([1, 2]))
def test_sums_of_powers(level, seed, size, dtype, power):
    rng = np.random.default_rng(seed)
    X, weights, centre = rng.normal(size=size).astype(dtype), rng.random(size[0]), float(rng.normal())
    expected = twin.power_sum(X, weights, centre, power)
    assert _native.power_sum(X, weights, centre, power) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(seed=seeds, size=sizes, dtype=st.sampled_from(REALS))
def test_sums_of_columns(level, seed, size, dtype):
    rng = np.random.default_rng(seed)
    X, weights, out = rng.normal(size=size).astype(dtype), rng.random(size[0]), rng.normal(size=size[1])
    expected = out.copy()
    _native.column_sums(X, weights, out)
    twin.column_sums(X, weights, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@given(seed=seeds, size=sizes, dtype=st.sampled_from(REALS))
def test_distances_from_a_point(level, seed, size, dtype):
    rng = np.random.default_rng(seed)
    X, centre = rng.normal(size=size).astype(dtype), rng.normal(size=size[1])
    out, expected = np.full(size[0], np.nan), np.empty(size[0])
    _native.row_distances(X, centre, out)
    twin.row_distances(X, centre, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@given(seed=seeds, size=sizes, far=st.sampled_from([0.0, 1e3, 1e12, 1e300]), equal=st.booleans())
def test_robust_centre(level, seed, size, far, equal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=size).round(1)
    X[rng.integers(size[0]), rng.integers(size[1])] += far
    weights = np.ones(size[0]) if equal else rng.integers(1, 4, size[0]) / 4.0  # sums are exact: no ties by rounding
    centre = weights @ X / weights.sum()
    expected = centre.copy()
    _native.robust_centre(X, weights, 10.0, centre)
    twin.robust_centre(X, weights, 10.0, expected)
    np.testing.assert_array_equal(centre, expected)


X, W, C = np.ones((3, 2)), np.ones(3), np.ones(2)
POWER = {"X": X, "weights": W, "centre": 0.0, "power": 1}
COLUMNS = {"X": X, "weights": W, "out": np.ones(2)}
DISTANCES = {"X": X, "centre": C, "out": np.ones(3)}
CENTRE = {"X": X, "weights": W, "factor": 10.0, "centre": np.ones(2)}


@pytest.mark.parametrize(
    ("function", "arguments", "changed", "error", "message"),
    [
        ("power_sum", POWER, {"X": X.astype(int)}, TypeError, "X must be"),
        ("power_sum", POWER, {"X": X.T}, TypeError, "X"),
        ("power_sum", POWER, {"weights": W[:2]}, ValueError, r"weights\.shape"),
        ("power_sum", POWER, {"power": 3}, ValueError, "power must be 1 or 2, got 3"),
        ("column_sums", COLUMNS, {"weights": W[:2]}, ValueError, r"weights\.shape"),
        ("column_sums", COLUMNS, {"out": np.ones(3)}, ValueError, r"out\.shape"),
        ("column_sums", COLUMNS, {"X": X[0]}, TypeError, "X must be"),
        ("row_distances", DISTANCES, {"centre": np.ones(3)}, ValueError, r"centre\.shape"),
        ("row_distances", DISTANCES, {"out": np.ones(2)}, ValueError, r"out\.shape"),
        ("row_distances", DISTANCES, {"out": np.ones(3, np.float32)}, TypeError, "out must be"),
        (
            "robust_centre",
            CENTRE,
            {"X": X.astype(np.float32)},
            TypeError,
            "X must be .* float64 array of 2 dimensions, got float32",
        ),
        ("robust_centre", CENTRE, {"X": X[:0], "weights": W[:0]}, ValueError, "at least 1"),
        ("robust_centre", CENTRE, {"weights": W[:2]}, ValueError, r"weights\.shape"),
        ("robust_centre", CENTRE, {"centre": np.ones(3)}, ValueError, r"centre\.shape"),
    ],
)
def test_wrong_arguments(function, arguments, changed, error, message):
    refused(function, arguments, changed, error, message)
