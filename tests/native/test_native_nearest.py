import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import nearest as twin


@given(
    rows=st.integers(0, 6),
    widths=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    count=st.integers(1, 7),
    clip=st.booleans(),
    own=st.booleans(),
    seed=seeds,
)
def test_keep_nearest(level, rows, widths, count, clip, own, seed):
    """Tile after tile; few distinct values, so that many distances are equal, and some are NaN."""
    rng = np.random.default_rng(seed)
    states = [(np.full((rows, count), np.inf), np.zeros((rows, count), np.int64)) for _ in range(2)]
    first = 0
    for width in widths:
        K = rng.integers(-2, 3, (rows, width)) / 2.0 + 1e-16 * rng.standard_normal((rows, width))
        K[rng.random(K.shape) < 0.05] = np.nan
        tile = K, np.ones(rows), np.ones(width), first, 3 if own else -10, 1e-15, clip
        _native.keep_nearest(*tile, *states[0])
        twin.keep_nearest(*tile, *states[1])
        first += width
    np.testing.assert_allclose(states[0][0], states[1][0], rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(states[0][1], states[1][1])


RIGHT = {
    "K": np.ones((2, 3)),
    "k_xx": np.ones(2),
    "k_zz": np.ones(3),
    "first": 0,
    "excluded": -5,
    "rounding": 1e-15,
    "clip": True,
    "squares": np.ones((2, 4)),
    "indices": np.zeros((2, 4), np.int64),
}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"K": np.ones((2, 3), np.float32)}, TypeError, "K must be"),
        ({"k_xx": np.ones(3)}, ValueError, "k_xx"),
        ({"k_zz": np.ones(2)}, ValueError, "k_zz"),
        ({"squares": np.ones((2, 0)), "indices": np.zeros((2, 0), np.int64)}, ValueError, "squares.*at least 1"),
        ({"squares": np.ones((1, 4))}, ValueError, "squares"),
        ({"indices": np.zeros((2, 3), np.int64)}, ValueError, "indices"),
        ({"indices": np.zeros((3, 4), np.int64)}, ValueError, "indices"),
        ({"indices": np.zeros((2, 4), np.int32)}, TypeError, "indices"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("keep_nearest", RIGHT, changed, error, message)
