"""native/active_set: a dense box-constrained problem with one equality."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import active_set as twin


def problem(n, rank, two_sided, seed):
    """A problem over n rows whose matrix has this rank at most, and a feasible start."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, rank))
    K = np.ascontiguousarray(points @ points.T)
    row = np.tile(np.arange(n), 2) if two_sided else np.arange(n)
    side = np.repeat([1.0, -1.0], n) if two_sided else np.sign(rng.normal(size=n))
    y = rng.normal(size=n)
    linear = side * 0.2 - np.tile(y, 2) if two_sided else -side
    lower, upper = np.minimum(2 * side, 0), np.maximum(2 * side, 0)
    start = lower + (upper - lower) * rng.choice([0.0, 0.3, 1.0], size=len(row))
    return K, row, linear, lower, upper, start


@given(
    n=st.integers(2, 60),
    rank=st.sampled_from([1, 2, 5, 100]),
    two_sided=st.booleans(),
    blocks=st.sampled_from([0, 1, 20]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_ends_at_the_solution(level, n, rank, two_sided, blocks, seed):
    K, row, linear, lower, upper, start = problem(n, rank, two_sided, seed)
    Q, d, f = K[np.ix_(row, row)], start.copy(), K @ np.bincount(row, weights=start)
    total, variables, ridge = start.sum(), len(row), 1e-10 * np.trace(K) / n
    goal = 1e-6 * np.diag(K).mean()
    R, free = np.full((variables, variables + 3), np.nan), np.zeros(variables, np.int64)
    _, n_free, violation = _native.solve_active_set(
        K, row, linear, lower, upper, d, f, R, free, 0, goal, ridge, 50 * variables + 100, blocks
    )
    F = free[:n_free]
    assert sorted(F) == np.flatnonzero((d > lower) & (d < upper)).tolist()
    factor = np.triu(R[:n_free, :n_free])
    np.testing.assert_allclose(factor.T @ factor, Q[np.ix_(F, F)] + ridge * np.eye(n_free), atol=1e-8 * np.abs(K).max())
    assert np.all((lower <= d) & (d <= upper))
    assert d.sum() == pytest.approx(total, abs=1e-9 * variables)
    np.testing.assert_allclose(f, K @ np.bincount(row, weights=d), atol=1e-9 * variables * np.diag(K).max())
    rise, fall = twin.conditions(f[row] + linear, d, lower, upper)
    assert violation == pytest.approx(max(0.0, fall - rise), abs=1e-12)
    assert violation <= goal
    expected = start.copy()
    assert twin.solve(Q, linear, lower, upper, expected, goal, ridge, 100 * variables) < 100 * variables

    def height(x):
        return 0.5 * x @ Q @ x + linear @ x

    # the gap of either is at most the violation times the sum of the bounds' widths
    assert height(d) == pytest.approx(height(expected), abs=2 * goal * (upper - lower).sum())


def test_the_first_steps_are_those_of_the_twin(level):
    K, row, linear, lower, upper, start = problem(30, 40, False, 3)
    for steps in range(12):
        d, f, expected = start.copy(), K @ start, start.copy()
        R, free = np.empty((30, 30)), np.zeros(30, np.int64)
        bounds = linear, lower, upper
        taken, _, _ = _native.solve_active_set(K, row, *bounds, d, f, R, free, 0, 1e-9, 1e-9, steps, 0)
        assert taken == steps
        twin.solve(K, linear, lower, upper, expected, 1e-9, 1e-9, steps)
        np.testing.assert_allclose(d, expected, atol=1e-8)


@pytest.mark.parametrize("blocks", [0, 5])
def test_more_free_variables_than_it_may_have(level, blocks):
    K, row, linear, lower, upper, start = problem(30, 40, False, 4)
    d, f, R, free = start.copy(), K @ start, np.empty((3, 3)), np.zeros(3, np.int64)
    *_, violation = _native.solve_active_set(K, row, linear, lower, upper, d, f, R, free, 0, 1e-9, 1e-9, 1000, blocks)
    assert violation > 1e-9
    assert np.all((lower <= d) & (d <= upper))


@pytest.mark.parametrize("blocks", [0, 20])
def test_goes_on_with_the_factor_of_the_last_call(level, blocks):
    """With other linear terms, and with the variables in another order."""
    K, row, linear, lower, upper, start = problem(80, 100, False, 5)
    d, f, R, free = start.copy(), K @ start, np.empty((80, 83)), np.zeros(80, np.int64)
    _, count, _ = _native.solve_active_set(K, row, linear, lower, upper, d, f, R, free, 0, 1e-8, 1e-9, 9999, blocks)
    order = np.random.default_rng(0).permutation(80)
    place = np.argsort(order)
    free[:count] = place[free[:count]]
    again, other = d[order].copy(), linear[order] + 0.1 * np.cos(np.arange(80))
    own = np.ascontiguousarray(K[np.ix_(order, order)])
    values = own @ again
    bounds = other, lower[order], upper[order]
    _, _, violation = _native.solve_active_set(
        own, row, *bounds, again, values, R, free, count, 1e-8, 1e-9, 9999, blocks
    )
    assert violation <= 1e-8
    rise, fall = twin.conditions(own @ again + other, again, *bounds[1:])
    assert fall - rise <= 1e-8 + 1e-11


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"K": np.zeros((3, 2))}, ValueError),
        ({"K": np.zeros((3, 3), np.float32)}, TypeError),
        ({"row": np.array([0, 1, 3])}, ValueError),
        ({"row": np.array([0, 1])}, ValueError),
        ({"linear": np.zeros(2)}, ValueError),
        ({"f": np.zeros(2)}, ValueError),
        ({"ridge": 0.0}, ValueError),
        ({"max_steps": -1}, ValueError),
        ({"blocks": -1}, ValueError),
        ({"n_free": 4}, ValueError),
        ({"n_free": 1, "free": np.array([3, 0, 0])}, ValueError),
        ({"R": np.zeros((2, 3))}, ValueError),
        ({"R": np.zeros((3, 2))}, ValueError),
    ],
)
def test_wrong_calls(change, error):
    arguments = {"K": np.eye(3), "row": np.arange(3), "linear": np.zeros(3), "lower": np.zeros(3), "upper": np.ones(3)}
    arguments |= {"d": np.zeros(3), "f": np.zeros(3), "R": np.zeros((3, 3)), "free": np.zeros(3, int), "n_free": 0}
    arguments |= {"goal": 1e-3, "ridge": 1e-9, "max_steps": 5, "blocks": 0}
    with pytest.raises(error):
        _native.solve_active_set(**{**arguments, **change})
