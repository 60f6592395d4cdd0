"""Pair steps in vector code that is compiled on the user's machine."""

import numpy as np
import pytest

from maxmargin.kernels.gram.tiles.selection import BIG, UNIT, solve_pairs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [1, 2])
def test_pair_steps_reach_the_optimality_conditions(dtype, groups):
    rng = np.random.default_rng(3)
    n = 3 * UNIT
    Z = rng.standard_normal((groups * n, 4))
    K = np.exp(-0.3 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    y = np.where(Z[:, 0] + 0.5 * rng.standard_normal(groups * n) > 0, 1.0, -1.0)
    lower, upper = np.where(y > 0, 0.0, -2.0), np.where(y > 0, 2.0, 0.0)
    matrix = np.zeros((groups * n, groups * n + 16), dtype)
    matrix[:, : groups * n] = K
    a, g = np.zeros(groups * n), (-y).astype(dtype)
    rise = np.where(a < upper, 0, BIG).astype(dtype)
    fall = np.where(a > lower, 0, -BIG).astype(dtype)
    starts = np.arange(groups) * n
    ones = np.ones(groups * n, dtype)
    goal = 1e-3 if dtype is np.float32 else 1e-10
    steps = solve_pairs(matrix, g, a, lower, upper, rise, fall, ones, starts, starts + n, dtype(goal), 100_000)
    assert 0 < steps < 100_000
    gradient = K @ a - y
    for start in starts:
        mine = slice(start, start + n)
        assert abs(a[mine].sum()) < 1e-9
        worst = gradient[mine][(a > lower)[mine]].max() - gradient[mine][(a < upper)[mine]].min()
        assert worst <= goal + (1e-4 if dtype is np.float32 else 1e-11)
    assert np.all((a >= lower) & (a <= upper))


def test_the_steps_stop_at_their_limit():
    K = np.eye(UNIT, UNIT + 16, dtype=np.float32)
    y = np.resize([1.0, -1.0], UNIT)
    lower, upper = np.where(y > 0, 0.0, -5.0), np.where(y > 0, 5.0, 0.0)
    a, g = np.zeros(UNIT), (-y).astype(np.float32)
    rise, fall = np.where(y > 0, 0, BIG).astype(np.float32), np.where(y > 0, -BIG, 0).astype(np.float32)
    whole = np.zeros(1, int), np.array([UNIT])
    assert solve_pairs(K, g, a, lower, upper, rise, fall, np.ones(UNIT, np.float32), *whole, np.float32(0), 3) == 3
    assert np.count_nonzero(a) == 6
