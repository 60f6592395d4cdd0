"""The Newton step on the free variables: exact where nothing is in the way, feasible and downhill elsewhere."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin.solvers.active_set.free_step import free_step


def problem(n, seed, groups=1, width=1.0):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, n + 3))
    K = Z @ Z.T / n
    lower, upper = -width * rng.random(n), width * rng.random(n)
    a = lower + (upper - lower) * rng.random(n)
    at_bound = rng.random(n) < 0.3
    a[at_bound] = np.where(rng.random(n) < 0.5, lower, upper)[at_bound]
    edges = np.linspace(0, n, groups + 1).astype(int)
    return (
        K,
        rng.standard_normal(n),
        a,
        lower,
        upper,
        [slice(*ends) for ends in pairwise(edges)],
    )


@pytest.mark.parametrize("groups", [0, 1, 2])
def test_far_from_the_bounds_one_step_is_enough(groups):
    """All gradients of free variables are then equal to their group's multiplier (zero without a group)."""
    K, g, a, lower, upper, ranges = problem(30, 1, max(1, groups), width=1e6)
    ranges = ranges if groups else []
    step = free_step(K, g, a, lower, upper, ranges, np.arange(30))
    free, change = step.free, step.change
    assert step.exact
    assert np.array_equal(free, np.flatnonzero((a > lower) & (a < upper)))
    after = g + K[:, free] @ change
    if not groups:
        np.testing.assert_allclose(after[free], 0, atol=1e-8)
    for mine in ranges:
        inside = free[(free >= mine.start) & (free < mine.stop)]
        np.testing.assert_allclose(after[inside], after[inside].mean(), atol=1e-8)
        assert abs(change[(free >= mine.start) & (free < mine.stop)].sum()) < 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10_000), st.integers(0, 2))
def test_a_step_stays_in_the_box_keeps_the_sums_and_lowers_the_objective(n, seed, groups):
    K, g, a, lower, upper, ranges = problem(n, seed, max(1, groups))
    ranges = ranges if groups else []
    step = free_step(K, g, a, lower, upper, ranges, np.arange(n))
    if step is None:
        return
    free, change = step.free, step.change
    there = a[free] + change
    assert np.all(there >= lower[free] - 1e-12)
    assert np.all(there <= upper[free] + 1e-12)
    for mine in ranges:
        assert abs(change[(free >= mine.start) & (free < mine.stop)].sum()) < 1e-9
    assert change @ g[free] + 0.5 * change @ K[np.ix_(free, free)] @ change < 0


def test_variables_that_pass_a_bound_end_there_and_the_others_reach_the_minimum():
    K, g, a, _, _, _ = problem(40, 3, width=1e6)
    free = np.arange(40)
    whole = free_step(K, g, a, np.full(40, -1e9), np.full(40, 1e9), [slice(0, 40)], free)
    lower, upper = np.full(40, -1e9), np.full(40, 1e9)
    passing = np.argsort(np.abs(whole.change))[-2:]  # these two may go half of their way
    half = a[passing] + 0.5 * whole.change[passing]
    lower[passing], upper[passing] = np.minimum(a[passing], half), np.maximum(a[passing], half)
    inside = np.sign(whole.change[passing])
    lower[passing] -= np.where(inside > 0, 1.0, 0.0)
    upper[passing] += np.where(inside < 0, 1.0, 0.0)
    step = free_step(K, g, a, lower, upper, [slice(0, 40)], free)
    assert step.exact
    np.testing.assert_allclose(a[passing] + step.change[passing], half)
    assert abs(step.change.sum()) < 1e-6
    after = g + K @ step.change
    others = np.setdiff1d(free, passing)
    np.testing.assert_allclose(after[others], after[others].mean(), atol=1e-7)


def test_single_precision_steps_solve_what_double_precision_would():
    """The ridge of a float32 matrix is larger, so that the step is near the exact one, not equal."""
    K, g, a, lower, upper, ranges = problem(60, 5, width=1e6)
    exact = free_step(K, g, a, lower, upper, ranges, np.arange(60))
    single = free_step(K.astype(np.float32), g.astype(np.float32), a, lower, upper, ranges, np.arange(60))
    assert exact.exact
    assert single.exact
    after = g + K[:, single.free] @ single.change
    free = single.free
    assert np.ptp(after[free]) < 1e-3 * np.ptp(g[free])


def test_too_many_free_variables_are_left_to_the_pair_steps():
    K, g, a, lower, upper, ranges = problem(30, 1, width=1e6)
    assert free_step(K, g, a, lower, upper, ranges, np.arange(30), max_free=10) is None


def test_nothing_free_and_no_way_down_are_said():
    K, g = np.eye(3), np.ones(3)
    bounds = np.zeros(3), np.ones(3)
    assert free_step(K, g, np.array([0.0, 1.0, 0.5]), *bounds, [slice(0, 3)], np.arange(3)) is None
    assert free_step(K, g, np.full(3, 0.5), *bounds, [slice(0, 3)], np.arange(3)) is None  # already optimal


def test_an_indefinite_matrix_is_left_to_the_pair_steps():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    half = np.full(2, 0.5)
    assert free_step(K, np.array([1.0, -1.0]), half, np.zeros(2), np.ones(2), [], np.arange(2)) is None


def test_large_prices_no_longer_keep_a_small_estimator_from_converging():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(200) > 0).astype(int)
    report = SVC(kernel="linear", C=1e5).fit(X, y).report_
    assert report.converged
    assert report.n_iter < 2_000_000


def test_a_nearly_singular_matrix_does_not_spoil_the_sums():
    """Rows that are almost equal give directions of any length; what is added up must still be zero."""
    rng = np.random.default_rng(4)
    Z = np.outer(np.ones(12), rng.standard_normal(3)) + 1e-9 * rng.standard_normal((12, 3))
    lower, upper = np.zeros(12), np.full(12, 30.0)
    a = rng.uniform(0.1, 1.0, 12)
    step = free_step(Z @ Z.T, rng.standard_normal(12), a, lower, upper, [slice(0, 12)], np.arange(12))
    assert step is not None
    assert abs(step.change.sum()) < 1e-10
