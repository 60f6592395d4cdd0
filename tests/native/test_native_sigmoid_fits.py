import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import sigmoid_fits as twin


def arguments(rng, sizes, scale=1.0):
    values = scale * rng.standard_normal(sum(sizes))
    return {
        "values": values,
        "positive": values + scale * rng.standard_normal(len(values)) > 0,
        "weight": rng.integers(1, 4, len(values)).astype(float),
        "starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "slope": np.full(len(sizes), np.nan),
        "offset": np.full(len(sizes), np.nan),
        "steps": np.zeros(len(sizes), np.int64),
        "first": 0,
        "max_rows": 10**9,
    }


@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=0, max_size=4), scale=st.sampled_from([1e-100, 1.0, 1e100]), seed=seeds
)
def test_cross_entropy_is_least(level, sizes, scale, seed):
    given_ = arguments(np.random.default_rng(seed), sizes, scale)
    assert _native.fit_sigmoids(**given_) == len(sizes)
    assert (given_["slope"] >= 0).all()
    for p, (start, stop) in enumerate(zip(given_["starts"], given_["starts"][1:], strict=False)):
        problem = [given_[name][start:stop] for name in ("values", "positive", "weight")]
        if start == stop:
            assert given_["slope"][p] == given_["offset"][p] == 0.0
            continue
        found = twin.cross_entropy(given_["slope"][p], given_["offset"][p], *problem)
        assert found <= twin.fit_sigmoid(*problem) * (1 + 1e-9) + 1e-9


@given(sizes=st.lists(st.integers(0, 20), min_size=1, max_size=5), seed=seeds)
def test_bounded_calls_and_neighbours_change_nothing(level, sizes, seed):
    """A call may end after any step; and a problem's sigmoid does not depend on which others come with it."""
    once = arguments(np.random.default_rng(seed), sizes)
    parts = {name: part.copy() if isinstance(part, np.ndarray) else part for name, part in once.items()}
    assert _native.fit_sigmoids(**once) == len(sizes)
    parts["max_rows"], problem = 1, 0
    while problem < len(sizes):
        problem = _native.fit_sigmoids(**{**parts, "first": problem})
    np.testing.assert_array_equal(parts["slope"], once["slope"])
    np.testing.assert_array_equal(parts["offset"], once["offset"])
    last = slice(once["starts"][-2], None)
    alone = {name: once[name][last] for name in ("values", "positive", "weight")}
    slope, offset = np.empty(1), np.empty(1)
    starts, steps = np.array([0, sizes[-1]]), np.zeros(1, int)
    _native.fit_sigmoids(**alone, starts=starts, slope=slope, offset=offset, steps=steps, first=0, max_rows=9**9)
    assert (slope[0], offset[0]) == (once["slope"][-1], once["offset"][-1])


def test_values_that_mean_nothing_get_a_constant(level):
    """Values that rank the classes the wrong way round, and values that are all equal."""
    values = np.array([3.0, 2.0, -1.0, -2.0, 5.0, 5.0, 5.0])
    positive = np.array([False, False, True, True, True, True, False])
    slope, offset = np.empty(2), np.empty(2)
    starts, steps = np.array([0, 4, 7]), np.zeros(2, int)
    _native.fit_sigmoids(values, positive, np.ones(7), starts, slope, offset, steps, 0, 1000)
    assert slope[0] == 0.0
    assert offset[0] == 0.0
    p = 1.0 / (1.0 + np.exp(-slope[1] * 5.0 - offset[1]))
    assert p == pytest.approx((2 * 0.75 + 1 / 3) / 3)


RIGHT = arguments(np.random.default_rng(0), [3, 4])


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"values": np.ones(7, np.float32)}, TypeError, "values"),
        ({"positive": np.ones(7, int)}, TypeError, "positive"),
        ({"positive": np.ones(6, bool)}, ValueError, "positive"),
        ({"weight": np.ones(8)}, ValueError, "weight"),
        ({"starts": np.array([0, 3, 8])}, ValueError, "starts"),
        ({"starts": np.array([0, 4, 3])}, ValueError, "starts"),
        ({"starts": np.empty(0, np.int64)}, ValueError, "starts"),
        ({"slope": np.ones(1)}, ValueError, "slope"),
        ({"offset": np.ones(3)}, ValueError, "offset"),
        ({"steps": np.zeros(3, np.int64)}, ValueError, "steps"),
        ({"first": 3}, ValueError, "problems"),
        ({"first": -1}, ValueError, "problems"),
        ({"max_rows": 0}, ValueError, "max_rows"),
    ],
)
def test_wrong_arguments(changed, error, message):
    refused("fit_sigmoids", RIGHT, changed, error, message)
