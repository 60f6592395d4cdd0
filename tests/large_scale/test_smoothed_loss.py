"""Losses: derivatives against differences, multipliers against Fenchel, all four against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.large_scale.rows.targets import Labels, Values
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import make_loss
from reference import smoothed_loss as reference

NAMES = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "squared"]


def smoothed(name, epsilon=0.0, width=0.0):
    options = {} if "hinge" in name else {"epsilon": epsilon}
    return SmoothedLoss(make_loss(name, **options), width)


def compiled(loss, f, y):
    """First and second derivatives with respect to f."""
    f, y, c = (np.ascontiguousarray(part, float)[:, None] for part in (f, y, np.ones(len(f))))
    g, D = np.empty_like(f), np.empty_like(f)
    _native.loss_first_order(loss.native, f, y, c, None, g, np.zeros((_native.LOSS_SUMS, 1)))
    _native.loss_second_order(loss.native, f, y, c, None, D)
    return g[:, 0], D[:, 0]


def points(loss, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=300) * 2
    return f, rng.normal(size=300) if not loss.loss.classifies else rng.choice([-1.0, 1.0], 300)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_definitions(name):
    loss = smoothed(name, 0.3)
    f, y = points(loss)
    expected = {
        "hinge": np.maximum(0, 1 - y * f),
        "squared_hinge": np.maximum(0, 1 - y * f) ** 2,
        "epsilon_insensitive": np.maximum(0, np.abs(y - f) - 0.3),
        "squared_epsilon_insensitive": np.maximum(0, np.abs(y - f) - 0.3) ** 2,
        "squared": np.maximum(0, np.abs(y - f) - 0.3) ** 2,
    }[name]
    np.testing.assert_allclose(loss.loss.value(y, f, np.ones(len(f))), expected)
    np.testing.assert_allclose(reference.value(loss, f, y), expected)


def test_squares_without_a_tube():
    f, y = points(smoothed("squared"))
    f[0] = y[0]
    np.testing.assert_array_equal(compiled(smoothed("squared"), f, y)[1], 2.0)
    assert smoothed("squared").quadratic
    assert not smoothed("squared_hinge").quadratic


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_limits_of_differences(name):
    loss = smoothed(name, 0.3, 0.5)
    f, y = points(loss, 1)
    h = 1e-6
    numeric = (reference.smooth_value(loss, f + h, y) - reference.smooth_value(loss, f - h, y)) / (2 * h)
    np.testing.assert_allclose(compiled(loss, f, y)[0], numeric, atol=1e-6)
    second = (compiled(loss, f + h, y)[0] - compiled(loss, f - h, y)[0]) / (2 * h)
    kinks = np.abs(second - compiled(loss, f, y)[1]) > 1e-4  # a difference may straddle an end of the parabola
    assert kinks.sum() <= 2


@pytest.mark.parametrize("name", NAMES)
def test_conjugate_is_the_supremum(name):
    loss = smoothed(name, 0.2)
    grid = np.linspace(-60, 60, 240_001)
    for y in (-1.0, 1.0) if loss.loss.classifies else (-0.7, 2.0):
        for a in (0.0, 0.3, 0.9):
            g = -a if not loss.loss.classifies else -a * y
            best = np.max(g * grid - reference.value(loss, grid, np.full(len(grid), y)))
            np.testing.assert_allclose(reference.conjugate(loss, np.array([g]), np.array([y]))[0], best, atol=1e-3)
    if not loss.squared:
        assert reference.conjugate(loss, np.array([2.5]), np.array([1.0]))[0] == np.inf


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.floats(0.01, 3.0), st.integers(0, 10**6))
def test_fenchel_holds_and_the_parabola_misses_it_by_little(name, width, seed):
    loss = smoothed(name, 0.25, width)
    f, y = points(loss, seed)
    g = compiled(loss, f, y)[0]
    missing = reference.value(loss, f, y) + reference.conjugate(loss, g, y) - g * f
    assert (missing > -1e-9).all()
    if loss.squared:
        assert missing.max() < 1e-9
    elif loss.loss.classifies:
        assert missing.max() <= width / 16 + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_a_tile(name):
    loss = smoothed(name, 0.3, 0.7)
    rng = np.random.default_rng(3)
    F, c = rng.normal(size=(50, 3)), rng.uniform(0.1, 2, (50, 3))
    y = rng.normal(size=(50, 3)) if not loss.loss.classifies else rng.choice([-1.0, 1.0], (50, 3))
    g, sums = np.empty((50, 3)), np.zeros((_native.LOSS_SUMS, 3))
    support = _native.loss_first_order(loss.native, F, y, c, None, g, sums)
    for k in range(3):
        d = c[:, k] * reference.derivative(loss, F[:, k], y[:, k])
        np.testing.assert_allclose(g[:, k], d)
        np.testing.assert_allclose(sums[0, k], c[:, k] @ reference.value(loss, F[:, k], y[:, k]))
        np.testing.assert_allclose([sums[2, k], sums[5, k]], [d[d > 0].sum(), d[d < 0].sum()])
        conjugate = c[:, k] @ reference.conjugate(loss, d / c[:, k], y[:, k])
        np.testing.assert_allclose(sums[[3, 4, 6, 7], k].sum(), conjugate)
        np.testing.assert_allclose(sums[9, k], c[:, k] @ reference.curvature(loss, F[:, k], y[:, k]))
    np.testing.assert_allclose(sums[8], c.sum(axis=0))
    assert support == np.count_nonzero(g.any(axis=1))


def test_centres_move_the_parabola():
    """With a centre a0 the multiplier at the kink is a0, and a0 + s / d around it."""
    loss = smoothed("hinge", width=0.5)
    s = np.linspace(-1, 1, 41)
    F, y, centre, a = (1 - s)[:, None], np.ones((41, 1)), np.full((41, 1), 0.8), np.empty((41, 1))
    _native.loss_multipliers(loss.native, F, y, centre, a)
    np.testing.assert_allclose(a[:, 0], np.clip(0.8 + s / 0.5, 0, 1), atol=1e-12)


def test_along_a_line_is_the_loss_there():
    loss = smoothed("epsilon_insensitive", 0.1, 0.4)
    rng = np.random.default_rng(4)
    F, G, y, c = rng.normal(size=(4, 30, 2))
    c = np.abs(c)
    steps, values, slopes = np.array([[0.0, 0.5], [1.0, 2.0]]), np.zeros((2, 2)), np.zeros((2, 2))
    _native.loss_along_line(loss.native, F, G, y, c, None, steps, values, slopes)
    for q in range(2):
        for k in range(2):
            f = F[:, k] + steps[q, k] * G[:, k]
            np.testing.assert_allclose(values[q, k], c[:, k] @ reference.smooth_value(loss, f, y[:, k]))
            np.testing.assert_allclose(slopes[q, k], (c[:, k] * G[:, k]) @ reference.derivative(loss, f, y[:, k]))


def test_labels_of_two_and_of_three_classes():
    two = Labels.one_vs_rest(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]), 2.0, np.array([1.0, 10.0]))
    y, c = two.tile(slice(0, 3))
    np.testing.assert_array_equal(y.ravel(), [-1, 1, 1])
    np.testing.assert_array_equal(c.ravel(), [2, 40, 60])
    three = Labels.one_vs_rest(np.array([2, 0]), np.ones(2), 1.0, np.array([5.0, 6.0, 7.0]))
    y, c = three.tile(np.array([1, 0]))
    np.testing.assert_array_equal(y, [[1, -1, -1], [-1, -1, 1]])
    np.testing.assert_array_equal(c, [[5, 1, 1], [1, 1, 7]])
    assert three.error(slice(0, 2), np.array([[0.0, 0, 1], [0, 2, 1]])) == 1
    assert two.error(slice(0, 3), np.array([[1.0], [1.0], [-1.0]])) == 2


def test_values_of_several_targets():
    values = Values(np.arange(6.0).reshape(3, 2), np.array([1.0, 0.0, 2.0]), 3.0)
    y, c = values.tile(slice(1, 3))
    np.testing.assert_array_equal(y, [[2, 3], [4, 5]])
    np.testing.assert_array_equal(c, [[0, 0], [6, 6]])
    assert values.error(slice(0, 3), np.zeros((3, 2))) == 0 + 1 + 16 + 25
