"""Passes over all variables: sides, excess, the choice of a working set, conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import working_set as twin


def variables(n, groups, seed):
    """Gradients, values at and between their bounds, and groups; some bounds are infinite."""
    rng = np.random.default_rng(seed)
    g = np.round(rng.standard_normal(n), 1)  # with ties
    lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
    a = np.where(rng.random(n) < 0.3, lower, np.where(rng.random(n) < 0.5, upper, 0.5 * (lower + upper)))
    free = rng.random(n) < 0.1
    a[free], upper[free] = 0.0, np.inf
    return g, a, lower, upper, rng.integers(0, groups, n)


@given(n=st.integers(0, 80), groups=st.integers(1, 3), zero=st.booleans(), seed=st.integers(0, 999))
def test_sides_and_excess(level, n, groups, zero, seed):
    x = variables(n, groups, seed)
    ids = np.flatnonzero(np.random.default_rng(seed).random(n) < 0.7)
    middle = np.full(groups, np.nan)
    violation = _native.group_sides(*x, ids, zero, middle)
    expected, expected_middle = twin.group_sides(*x, ids, zero, groups)
    assert violation == pytest.approx(expected)
    np.testing.assert_allclose(middle, expected_middle)
    out = np.full(len(ids), np.nan)
    _native.side_excess(*x, ids, middle, out)
    np.testing.assert_allclose(out, twin.side_excess(*x, ids, middle))


@given(
    n=st.integers(1, 300), groups=st.integers(1, 3), size=st.integers(0, 120), start=st.integers(0, 500),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_choice(level, n, groups, size, start, seed):
    g, a, lower, upper, group = x = variables(n, groups, seed)
    rng = np.random.default_rng(seed)
    ids = np.flatnonzero(rng.random(n) < 0.8)
    previous = rng.permutation(n)[: n // 3]
    middle = np.zeros(groups)
    _native.group_sides(*x, ids, False, middle)
    W = np.full(size + 2 * groups, -1)
    count = _native.choose_working_set(*x, ids, previous, size, middle, start, W)
    chosen = W[:count]
    assert len(np.unique(chosen)) == count
    assert np.all(W[count:] == -1)
    assert np.all(np.isin(chosen, np.concatenate((ids, previous))))
    free = previous[(lower[previous] < a[previous]) & (a[previous] < upper[previous])]
    kept = free[: int(np.ceil(0.85 * size))]
    np.testing.assert_array_equal(chosen[: len(kept)], kept)
    for k in range(groups):  # both ends of each group's worst pair are chosen, or as bad ones
        mine = ids[group[ids] == k]
        up, down = mine[a[mine] < upper[mine]], mine[a[mine] > lower[mine]]
        ours = chosen[group[chosen] == k]
        if len(np.setdiff1d(up, kept)):
            assert g[ours][a[ours] < upper[ours]].min() <= g[np.setdiff1d(up, kept)].min()
        rest = np.setdiff1d(down, chosen)
        if len(np.setdiff1d(down, kept)):
            assert g[ours][a[ours] > lower[ours]].max() >= g[rest].max(initial=-np.inf)
    again = np.full_like(W, -1)
    assert _native.choose_working_set(*x, ids, previous, size, middle, start, again) == count
    np.testing.assert_array_equal(again, W)


def test_violators_of_a_crowded_side_are_spread(level):
    """Two in a hundred are the worst; the others come from where `start` says."""
    n, size = 4000, 1600
    g = np.linspace(-2, -1, n)
    x = g, np.zeros(n), np.zeros(n), np.ones(n), np.zeros(n, int)
    picked = []
    for start in (0, 2000):
        W = np.empty(size + 2, np.int64)
        count = _native.choose_working_set(*x, np.arange(n), np.empty(0, int), size, np.zeros(1), start, W)
        picked.append(W[:count])
        assert set(range(16)) <= set(W[:count])
    assert picked[0].max() < 2000 < picked[1].max()


@given(values=st.lists(st.integers(0, 9) | st.floats(-1e3, 1e3), min_size=1, max_size=60), data=st.data())
def test_the_worst_are_the_smallest(level, values, data):
    """Of a side without violators, which takes its worst variables, as many as it may: a selection with many ties."""
    n, quota = len(values), data.draw(st.integers(1, len(values)))
    x = np.array(values, float), np.zeros(n), np.zeros(n), np.ones(n), np.zeros(n, int)
    W = np.empty(2 * quota + 2, np.int64)
    count = _native.choose_working_set(*x, np.arange(n), np.empty(0, int), 2 * quota, np.full(1, -np.inf), 0, W)
    assert sorted(x[0][W[:count]]) == sorted(map(float, values))[:quota]


def test_equal_values_do_not_crowd_out_the_worst(level):
    g = np.full(1000, -1.0)
    g[777] = -2.0
    x = g, np.zeros(1000), np.zeros(1000), np.ones(1000), np.zeros(1000, int)
    W = np.empty(22, np.int64)
    count = _native.choose_working_set(*x, np.arange(1000), np.empty(0, int), 20, np.zeros(1), 0, W)
    assert 777 in W[:count]


@given(n=st.integers(0, 80), groups=st.integers(0, 3), seed=st.integers(0, 999))
def test_conditions(level, n, groups, seed):
    g, a, lower, upper, _ = variables(n, 1, seed)
    group = np.random.default_rng(seed).integers(-1, groups, n)
    out = np.full((5, groups + 1), np.nan)
    _native.scan_conditions(g, a, lower, upper, group, out)
    np.testing.assert_allclose(out, twin.scan_conditions(g, a, lower, upper, group, groups), atol=1e-12)
    offset = np.random.default_rng(seed + 1).standard_normal(groups)
    a = a + 0.01 * np.random.default_rng(seed).standard_normal(n)
    expected = twin.slackness(g, a, lower, upper, group, offset)
    np.testing.assert_allclose(_native.slackness(g, a, lower, upper, group, offset), expected, atol=1e-12)


N = 5
GOOD = {
    **{name: np.zeros(N) for name in ("g", "a", "lower", "upper")},
    **{"group": np.zeros(N, int), "ids": np.arange(N), "zero_offset": False, "middle": np.zeros(1), "out": np.zeros(N)},
    **{"previous": np.arange(2), "size": 3, "start": 0, "W": np.zeros(5, int)},
}
BOX = ("g", "a", "lower", "upper", "group")
CALLS = {
    "group_sides": (*BOX, "ids", "zero_offset", "middle"),
    "side_excess": (*BOX, "ids", "middle", "out"),
    "choose_working_set": (*BOX, "ids", "previous", "size", "middle", "start", "W"),
}


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"g": np.zeros(N, np.float32)}, TypeError),
        ({"a": np.zeros(4)}, ValueError),
        ({"upper": np.zeros(6)}, ValueError),
        ({"group": np.full(N, 1)}, ValueError),
        ({"group": np.full(N, -1)}, ValueError),
        ({"group": np.zeros(N, np.int32)}, TypeError),
        ({"ids": np.array([5])}, ValueError),
        ({"ids": np.array([-1])}, ValueError),
        ({"middle": np.zeros(1, int)}, TypeError),
        ({"out": np.zeros(4)}, ValueError),
        ({"previous": np.array([5])}, ValueError),
        ({"size": -1}, ValueError),
        ({"start": -1}, ValueError),
        ({"W": np.zeros(4, int)}, ValueError),
    ],
)
def test_wrong_arguments(function, change, error):
    if not set(change) & set(CALLS[function]):
        return
    arguments = {**GOOD, **change}
    with pytest.raises(error):
        getattr(_native, function)(*(arguments[name] for name in CALLS[function]))


def test_wrong_conditions():
    x = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    group = np.array([0, -1, 1])
    for arguments in (
        (*x, group, np.zeros((5, 2))),
        (*x, group, np.zeros((4, 3))),
        (*x, group - 1, np.zeros((5, 3))),
        (*x, group[:2], np.zeros((5, 3))),
        (*x, group, np.zeros((5, 0))),
    ):
        with pytest.raises(ValueError, match="must"):
            _native.scan_conditions(*arguments)
    with pytest.raises(ValueError, match="group must lie"):
        _native.slackness(*x, group, np.zeros(1))
