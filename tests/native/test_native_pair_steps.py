"""Pair steps on slots, on blocks, on small problems and along a path, against their twins and their conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import pair_steps as twin

UNIT, BARRIER = _native.SLOT_UNIT, _native.PAIR_BARRIER
reals = st.sampled_from([np.float32, np.float64])


def problem(n, seed, bound=2.0):
    """K, y and the bounds of y alpha: overlapping classes."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 3))
    K = np.exp(-0.4 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2)) + 1e-3 * np.eye(n)
    y = np.where(Z[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    c = bound * rng.uniform(0.5, 1.5, n)
    return K, y, np.where(y > 0, 0.0, -c), np.where(y > 0, c, 0.0)


class Slots:
    """Groups of variables in slots padded to whole units, and the arrays that pair steps work on."""

    def __init__(self, K, g, a, lower, upper, sizes, dtype):
        self.n, self.dtype = len(a), dtype
        padded = [-(-size // UNIT) * UNIT for size in sizes]
        self.stops = np.cumsum(padded)
        self.starts = self.stops - padded
        self.at = np.concatenate([start + np.arange(size) for start, size in zip(self.starts, sizes, strict=True)])
        total = int(self.stops[-1])
        self.K = np.zeros((total, total + 16), dtype)
        self.K[np.ix_(self.at, self.at)] = K
        self.g, self.diagonal = np.zeros(total, dtype), np.zeros(total, dtype)
        self.a, self.lower, self.upper = np.zeros(total), np.zeros(total), np.zeros(total)
        self.g[self.at], self.a[self.at], self.lower[self.at], self.upper[self.at] = g, a, lower, upper
        self.diagonal[self.at] = np.diag(K)
        self.rise = np.where(self.a < self.upper, 0, BARRIER).astype(dtype)
        self.fall = np.where(self.a > self.lower, 0, -BARRIER).astype(dtype)

    def solve(self, goal, max_steps):
        arrays = self.K, self.g, self.a, self.lower, self.upper, self.rise, self.fall, self.diagonal
        return _native.solve_pairs(*arrays, self.starts, self.stops, goal, max_steps)


def in_groups(sizes):
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def drawn_state(lower, upper, seed):
    """Values at and between their bounds, and gradients without ties. (After a step its two gradients are equal up to
    rounding, which then decides between them: steps are compared one at a time.)"""
    rng = np.random.default_rng(seed)
    a = np.choose(rng.integers(0, 3, len(lower)), (lower, upper, 0.5 * (lower + upper)))
    return a, rng.standard_normal(len(lower))


@given(sizes=st.lists(st.integers(1, 70), min_size=1, max_size=3), seed=st.integers(0, 9999))
def test_a_step_is_the_twin_s(level, sizes, seed):
    n = sum(sizes)
    K, _, lower, upper = problem(n, seed)
    a, g = drawn_state(lower, upper, seed)
    slots = Slots(K, g, a, lower, upper, sizes, np.float64)
    expected = twin.solve_pairs(K, g, a, lower, upper, in_groups(sizes), 1e-6, 1)
    assert slots.solve(1e-6, 1) == expected
    np.testing.assert_allclose(slots.a[slots.at], a, atol=1e-12)
    np.testing.assert_allclose(slots.g[slots.at], g, atol=1e-12)
    padding = np.setdiff1d(np.arange(len(slots.a)), slots.at)
    assert np.all(slots.a[padding] == 0)


@given(sizes=st.lists(st.integers(2, 90), min_size=1, max_size=2), dtype=reals, seed=st.integers(0, 999))
@settings(max_examples=30)
def test_steps_end_where_the_conditions_hold(level, sizes, dtype, seed):
    n = sum(sizes)
    K, y, lower, upper = problem(n, seed)
    goal = 1e-3 if dtype is np.float32 else 1e-9
    slots = Slots(K, -y, np.zeros(n), lower, upper, sizes, dtype)
    steps = slots.solve(goal, 100_000)
    assert steps < 100_000
    a = slots.a[slots.at]
    assert np.all((a >= lower) & (a <= upper))
    for mine in in_groups(sizes):
        assert abs(a[mine].sum()) < 1e-9
    slack = 2e-4 if dtype is np.float32 else 1e-11
    assert twin.violation(K @ a - y, a, lower, upper, in_groups(sizes)) <= goal + slack


def test_masks_follow_the_bounds(level):
    K, y, lower, upper = problem(50, 1)
    slots = Slots(K, -y, np.zeros(50), lower, upper, [50], np.float64)
    slots.solve(1e-6, 1000)
    assert np.array_equal(slots.rise == 0, slots.a < slots.upper)
    assert np.array_equal(slots.fall == 0, slots.a > slots.lower)


def test_a_curvature_of_rounding_is_no_division_by_zero(level):
    n = UNIT
    y = np.resize([1.0, -1.0], n)
    slots = Slots(np.ones((n, n)), -y, np.zeros(n), np.minimum(0, 3 * y), np.maximum(0, 3 * y), [n], np.float64)
    slots.solve(1e-6, 1000)
    assert np.all(np.isfinite(slots.a))
    assert np.all(np.abs(slots.a) == 3)


def test_steps_stop_at_their_limit(level):
    y = np.resize([1.0, -1.0], UNIT)
    for dtype in (np.float32, np.float64):
        slots = Slots(np.eye(UNIT), -y, np.zeros(UNIT), np.minimum(0, 5 * y), np.maximum(0, 5 * y), [UNIT], dtype)
        assert slots.solve(0.0, 3) == 3
        assert np.count_nonzero(slots.a) == 6


def test_nothing_to_move(level):
    slots = Slots(np.eye(4), -np.ones(4), np.zeros(4), np.zeros(4), np.zeros(4), [4], np.float64)
    assert slots.solve(1e-3, 10) == 0
    slots.g[:] = np.nan
    slots.upper[:4] = slots.rise[:4] = 1.0
    assert slots.solve(1e-3, 10) == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"K": np.zeros((UNIT - 1, UNIT))}, ValueError, r"K\.shape\[0\] must be at least"),
        ({"K": np.zeros((UNIT, UNIT - 1))}, ValueError, r"K\.shape\[1\] must be at least"),
        ({"K": np.zeros((UNIT, UNIT), np.float32)}, TypeError, "K must be a float64"),
        ({"a": np.zeros(UNIT, np.float32)}, TypeError, "a must be"),
        ({"a": np.zeros(UNIT + 1)}, ValueError, r"a\.shape"),
        ({"rise": np.zeros(3)}, ValueError, r"rise\.shape"),
        ({"diagonal": np.zeros(3)}, ValueError, r"diagonal\.shape"),
        ({"lower": np.zeros(3)}, ValueError, r"lower\.shape"),
        ({"starts": np.array([1])}, ValueError, "multiples of SLOT_UNIT"),
        ({"stops": np.array([2 * UNIT])}, ValueError, "start and stop"),
        ({"stops": np.array([UNIT, UNIT])}, ValueError, r"stops\.shape"),
        ({"max_steps": -1}, ValueError, "max_steps must be"),
    ],
)
def test_wrong_arguments(change, error, message):
    zeros = dict.fromkeys(("g", "a", "lower", "upper", "rise", "fall", "diagonal"))
    arguments = {"K": np.zeros((UNIT, UNIT)), **{name: np.zeros(UNIT) for name in zeros}}
    arguments |= {"starts": np.array([0]), "stops": np.array([UNIT]), "goal": 1.0, "max_steps": 1}
    with pytest.raises(error, match=message):
        _native.solve_pairs(**{**arguments, **change})


# Blocks


@given(n=st.integers(1, 60), seed=st.integers(0, 9999))
def test_block_coordinates(level, n, seed):
    K, y, lower, upper = problem(n, seed)
    a, g = drawn_state(lower, upper, seed)
    b, h = a.copy(), g.copy()
    taken = _native.solve_block_coordinates(K, g, a, lower, upper, 1e-9, 1)
    assert taken == twin.solve_coordinates(K, h, b, lower, upper, 1e-9, 1)
    np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(g, h, atol=1e-12)
    a, g = np.zeros(n), -y.copy()
    assert _native.solve_block_coordinates(K, g, a, lower, upper, 1e-9, 100_000) < 100_000
    assert np.all((a >= lower) & (a <= upper))
    gradient = K @ a - y
    assert gradient[a > lower].max(initial=0.0) - gradient[a < upper].min(initial=0.0) <= 1e-9 + 1e-10


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"Q": np.zeros((3, 4))}, ValueError),
        ({"Q": np.zeros((4, 3))}, ValueError),
        ({"Q": np.zeros((4, 4), np.float32)}, TypeError),
        ({"g": np.zeros(3)}, ValueError),
        ({"upper": np.zeros(3)}, ValueError),
        ({"max_steps": -1}, ValueError),
    ],
)
def test_wrong_blocks(change, error):
    zeros = {name: np.zeros(4) for name in ("g", "a", "lower", "upper")}
    arguments = {"Q": np.zeros((4, 4)), **zeros, "goal": 1.0, "max_steps": 1}
    with pytest.raises(error):
        _native.solve_block_coordinates(**{**arguments, **change})


# Small dense problems


def small(n, seed, groups):
    """Two variables per point, one of each sign, in 0, 1 or 2 groups, on rows in any order of a larger K."""
    rng = np.random.default_rng(seed)
    K, y, _, _ = problem(n + 3, seed)
    at = rng.permutation(n + 3)[:n]
    row, sign = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
    linear = np.concatenate((0.1 - y[at], 0.1 + y[at]))
    group = np.zeros(2 * n, int) if groups < 2 else np.repeat([0, 1], n)
    return K, at, row, sign, linear, np.zeros(2 * n), rng.uniform(0.5, 2, 2 * n), group


@given(n=st.integers(1, 50), groups=st.integers(0, 2), seed=st.integers(0, 999))
@settings(max_examples=40)
def test_small_problems_are_solved(level, n, groups, seed):
    K, at, row, sign, linear, lower, upper, group = small(n, seed, groups)
    a, f = np.zeros(2 * n), np.full(n, np.nan)
    if groups:
        a[:] = 0.25 * upper.min()
    totals = [a[group == k].sum() for k in range(groups)]
    arguments = K, at, row, sign, linear, lower, upper, group, groups, False, a, f, 1e-9, 100_000
    steps, violation = _native.solve_small_dense(*arguments)
    assert steps < 100_000
    assert violation <= 1e-9
    own = K[np.ix_(at, at)]
    coef = np.bincount(row, weights=sign * a, minlength=n)
    np.testing.assert_allclose(f, own @ coef, atol=1e-12)
    gradient = sign * f[row] + linear
    if groups:
        parts = [np.flatnonzero(group == k) for k in range(groups)]
        np.testing.assert_allclose([a[mine].sum() for mine in parts], totals, atol=1e-10)
        assert twin.violation(gradient, a, lower, upper, parts) <= 1e-9 + 1e-11
    else:
        fall, rise = gradient[a > lower].max(initial=0.0), gradient[a < upper].min(initial=0.0)
        assert fall - rise <= 1e-9 + 1e-11


@given(n=st.integers(2, 70), extra=st.integers(0, 60), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_small_problems_in_place(level, n, extra, seed):
    """The first rows and columns of a larger array, whether it has columns for whole units or not."""
    K, y, lower, upper = problem(n, seed)
    room = np.full((n, n + extra), 0.0)
    room[:, :n] = K
    found = []
    for in_place in (False, True):
        a, f, every = np.zeros(n), np.empty(n), np.arange(n)
        rest = every, every, np.ones(n), -y, lower, upper, np.zeros(n, int), 1
        steps, violation = _native.solve_small_dense(room, *rest, in_place, a, f, 1e-8, 100_000)
        assert violation <= 1e-8
        found.append((steps, a))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_a_small_problem_stops_at_its_limit(level):
    K, at, row, sign, linear, lower, upper, group = small(40, 0, 1)
    a, f = np.zeros(80), np.empty(40)
    a[:] = 0.25 * upper.min()
    steps, violation = _native.solve_small_dense(K, at, row, sign, linear, lower, upper, group, 1, False, a, f, 1e-9, 5)
    assert steps == 5
    assert violation > 1e-9
    np.testing.assert_allclose(f, K[np.ix_(at, at)] @ np.bincount(row, weights=sign * a), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"K": np.zeros((2, 9))}, ValueError),
        ({"K": np.zeros((9, 2))}, ValueError),
        ({"K": np.zeros((9, 9), np.float32)}, TypeError),
        ({"at": np.array([0, 1, 9])}, ValueError),
        ({"row": np.array([0, 1, 3])}, ValueError),
        ({"row": np.array([0, 1])}, ValueError),
        ({"sign": np.ones(2)}, ValueError),
        ({"f": np.zeros(2)}, ValueError),
        ({"group": np.array([0, 0, 1])}, ValueError),
        ({"groups": -1}, ValueError),
        ({"groups": 2, "in_place": True}, ValueError),
        ({"max_steps": -1}, ValueError),
    ],
)
def test_wrong_small_problems(change, error):
    every = np.arange(3)
    arguments = {"K": np.eye(9), "at": every, "row": every, "sign": np.ones(3), "linear": np.zeros(3)}
    arguments |= {"lower": np.zeros(3), "upper": np.ones(3), "group": np.zeros(3, int), "groups": 1, "in_place": False}
    arguments |= {"a": np.zeros(3), "f": np.zeros(3), "goal": 1.0, "max_steps": 1}
    with pytest.raises(error):
        _native.solve_small_dense(**{**arguments, **change})


# Along a path of C


@given(n=st.integers(2, 150), seed=st.integers(0, 99), room=st.sampled_from([2 * UNIT, 8 * UNIT]))
@settings(max_examples=30, deadline=None)
def test_a_path_ends_where_the_conditions_hold(level, n, seed, room):
    K, y, _, _ = problem(n, seed)
    padded = -(-n // UNIT) * UNIT
    K32 = np.zeros((n, padded + 16), np.float32)
    K32[:, :n] = K
    a, f = np.zeros(n), np.zeros(n)
    W, held, M = np.empty(room, np.int64), np.zeros(1, np.int64), np.empty((room, room + 16), np.float32)
    outside = np.random.default_rng(seed).random(n) < 0.2  # rows of another fold
    for C in (0.1, 1.0, 10.0):
        bound = np.where(outside, 0.0, C)
        steps, violation, offset = _native.advance_path(K32, y, bound, a, f, W, held, M, 1e-3, 1_000_000)
        assert steps < 1_000_000
        assert violation <= 1e-3
        lower, upper = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
        assert np.all((a >= lower) & (a <= upper))
        assert np.all(a[outside] == 0)
        assert abs(a.sum()) < 1e-8
        exact = K32[:, :n].astype(float) @ a
        np.testing.assert_allclose(f, exact, atol=1e-9 * (1 + np.abs(a).sum()))
        slope = exact - y
        assert twin.violation(slope, a, lower, upper, [np.arange(n)]) <= 1e-3 + 1e-8
        free = (a > lower) & (a < upper)
        if free.any():
            np.testing.assert_allclose(offset, slope[free].mean(), atol=1e-8)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"K": np.zeros((5, UNIT - 1), np.float32)}, ValueError),
        ({"K": np.zeros((4, UNIT), np.float32)}, ValueError),
        ({"K": np.zeros((5, UNIT))}, TypeError),
        ({"y": np.ones(4)}, ValueError),
        ({"f": np.ones(4)}, ValueError),
        ({"W": np.zeros(2 * UNIT - 1, np.int64)}, ValueError),
        ({"held": np.array([2 * UNIT + 1])}, ValueError),
        ({"held": np.array([-1])}, ValueError),
        ({"held": np.array([2]), "W": np.full(2 * UNIT, 5)}, ValueError),
        ({"M": np.zeros((2 * UNIT, UNIT), np.float32)}, ValueError),
        ({"max_steps": -1}, ValueError),
    ],
)
def test_wrong_paths(change, error):
    arguments = {"K": np.eye(5, UNIT, dtype=np.float32), "y": np.ones(5), "bound": np.ones(5), "a": np.zeros(5)}
    arguments |= {"f": np.zeros(5), "W": np.zeros(2 * UNIT, np.int64), "held": np.zeros(1, np.int64)}
    arguments |= {"M": np.zeros((2 * UNIT, 2 * UNIT), np.float32), "goal": 1e-3, "max_steps": 10}
    with pytest.raises(error):
        _native.advance_path(**{**arguments, **change})
