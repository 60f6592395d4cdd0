"""Coefficients of merged rows, distributed over the input rows: nothing is lost, and no bound is passed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from native.drawn import refused, seeds
from reference.native import coefficients as twin


@st.composite
def merged(draw):
    """Merged rows with their members, problems, coefficients within the bounds, and the bounds of the members."""
    rng = np.random.default_rng(draw(seeds))
    rows, problems, C = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.sampled_from([1e-8, 1.0, 1e6]))
    of = np.concatenate((np.arange(rows), rng.integers(0, rows, draw(st.integers(0, 15)))))
    rng.shuffle(of)
    weight = rng.integers(1, 5, len(of)) / 4.0
    total = np.bincount(of, weights=weight)
    filled = rng.choice([0.0, 1.0, 0.5, 1e-9, 1 - 1e-12, *rng.random(4)], (rows, problems))
    coefficients = rng.choice([-1.0, 1.0], filled.shape) * filled * C * total[:, None]
    bounds = np.repeat(C * weight[:, None], problems, axis=1)
    return of, weight / total[of], coefficients, filled, bounds


@given(merged())
def test_each_row_takes_its_share_in_turn(level, case):
    of, share, coefficients, filled, bounds = case
    out, expected = np.full(bounds.shape, np.nan), np.empty(bounds.shape)
    _native.distribute_coefficients(of, share, coefficients, filled, bounds, out)
    twin.distribute_coefficients(of, share, coefficients, filled, bounds, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-14 * bounds.max())


@given(merged())
def test_nothing_is_lost_and_no_bound_is_passed(level, case):
    of, share, coefficients, filled, bounds = case
    out = np.full(bounds.shape, np.nan)
    _native.distribute_coefficients(of, share, coefficients, filled, bounds, out)
    sums = np.zeros_like(coefficients)
    np.add.at(sums, of, out)
    np.testing.assert_allclose(sums, coefficients, rtol=1e-12)
    assert np.all(np.abs(out) <= bounds * (1 + 1e-12))
    full = (filled == 1)[of]
    np.testing.assert_array_equal(
        np.abs(out[full]), np.where(share[:, None] == 1, np.abs(coefficients[of]), bounds)[full]
    )


def test_without_a_bound_the_first_row_takes_all(level):
    of, share = np.array([0, 0, 0]), np.full(3, 1 / 3)
    out = np.full((3, 1), np.nan)
    _native.distribute_coefficients(of, share, np.array([[5.0]]), np.zeros((1, 1)), np.full((3, 1), np.inf), out)
    np.testing.assert_array_equal(out.ravel(), [5.0, 0.0, 0.0])


GOOD = {
    "of": np.array([0, 1, 1]),
    "share": np.array([1.0, 0.5, 0.5]),
    "coefficients": np.ones((2, 2)),
    "filled": np.ones((2, 2)),
    "bounds": np.ones((3, 2)),
    "out": np.ones((3, 2)),
}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"of": np.array([0, 1, 2])}, ValueError, r"of must lie in \[0, 2\)"),
        ({"of": np.array([0, -1, 1])}, ValueError, "of must lie"),
        ({"of": np.array([0, 1, 1], np.int32)}, TypeError, "of must be"),
        ({"share": np.ones(2)}, ValueError, r"share\.shape"),
        ({"coefficients": np.ones(2)}, TypeError, "coefficients must be"),
        ({"coefficients": np.asfortranarray(np.ones((2, 2)))}, TypeError, "coefficients must be"),
        ({"filled": np.ones((1, 2))}, ValueError, r"filled\.shape\[0\]"),
        ({"filled": np.ones((2, 1))}, ValueError, r"filled\.shape\[1\]"),
        ({"bounds": np.ones((2, 2))}, ValueError, r"bounds\.shape\[0\]"),
        ({"bounds": np.ones((3, 1))}, ValueError, r"bounds\.shape\[1\]"),
        ({"out": np.ones((2, 2))}, ValueError, r"out\.shape\[0\]"),
        ({"out": np.ones((3, 3))}, ValueError, r"out\.shape\[1\]"),
        ({"out": np.ones((3, 2), np.float32)}, TypeError, "out must be"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("distribute_coefficients", GOOD, changed, error, message)
