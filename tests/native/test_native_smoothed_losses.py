import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import smoothed_losses as twin

LOSSES = st.tuples(st.booleans(), st.booleans(), st.sampled_from([0.0, 0.3]), st.sampled_from([0.25, 1.0, 3.0]))


def rows_of(rng, loss, n, k, with_centre=True):
    """Decision values on a coarse grid, so that kinks and ends of parabolas are met, targets, weights and centres."""
    F = rng.integers(-8, 9, (n, k)) / 4.0
    y = rng.integers(-8, 9, (n, k)) / 4.0 if loss[0] else rng.choice([-1.0, 1.0], (n, k))
    c = rng.random((n, k)) * (rng.random((n, k)) < 0.8)
    centre = None
    if with_centre:
        centre = rng.random((n, k)) * (rng.choice([-1.0, 1.0], (n, k)) if loss[0] else 1.0)
        centre[rng.random((n, k)) < 0.2] = 0.0
    return F, y, c, centre


@given(loss=LOSSES, n=st.integers(0, 150), k=st.integers(1, 4), centred=st.booleans(), seed=seeds)
def test_all_functions(level, loss, n, k, centred, seed):
    rng = np.random.default_rng(seed)
    F, y, c, centre = rows_of(rng, loss, n, k, centred)
    g, sums = np.full((2, n, k), np.nan), np.tile(rng.random((10, k)), (2, 1, 1))
    supports = [
        f(loss, F, y, c, centre, g[t], sums[t]) for t, f in enumerate((_native.loss_first_order, twin.loss_first_order))
    ]
    assert supports[0] == supports[1]
    np.testing.assert_allclose(g[0], g[1], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-11, atol=1e-11)
    D, a = np.full((2, n, k), np.nan), np.full((2, n, k), np.nan)
    for t, module in enumerate((_native, twin)):
        module.loss_second_order(loss, F, y, c, centre, D[t])
        module.loss_multipliers(loss, F, y, centre, a[t])
    np.testing.assert_allclose(a[0], a[1], rtol=1e-13, atol=1e-13)
    edges = np.abs(a[1] % 1.0) < 1e-12  # at the end of a parabola either second derivative will do
    np.testing.assert_allclose(D[0][~edges], D[1][~edges], rtol=1e-13)
    steps, G = rng.standard_normal((3, k)), rng.standard_normal((n, k))
    lines = np.zeros((2, 2, 3, k))
    for t, module in enumerate((_native, twin)):
        module.loss_along_line(loss, F, G, y, c, centre, steps, *lines[t])
    np.testing.assert_allclose(lines[0], lines[1], rtol=1e-11, atol=1e-11)


@given(n=st.integers(0, 40), k=st.integers(1, 3), seed=seeds)
def test_hinge_changes(level, n, k, seed):
    rng = np.random.default_rng(seed)
    F, y, c, _ = rows_of(rng, (False, True, 0.0, 0.0), n, k)
    inside, change = np.tile(rng.random(n) < 0.5, (2, 1)), np.empty((2, n))
    found = [f(F, y, c, k - 1, inside[t], change[t]) for t, f in enumerate((_native.hinge_changes, twin.hinge_changes))]
    assert found[0] == found[1]
    np.testing.assert_array_equal(inside[0], inside[1])
    np.testing.assert_array_equal(change[0], change[1])


def test_without_width_the_kink_has_the_multiplier_one(level):
    """And values that overflow or are NaN do not pass for small ones."""
    y = np.ones((4, 1))
    F = 1.0 - np.array([[0.0], [1.0], [-1.0], [np.inf]])
    a, g, sums = np.empty((4, 1)), np.empty((4, 1)), np.zeros((10, 1))
    _native.loss_multipliers((False, False, 0.0, 0.0), F, y, None, a)
    np.testing.assert_array_equal(a.ravel(), [1, 1, 0, 1])
    F[3] = np.nan
    _native.loss_first_order((False, False, 0.0, 0.5), F, y, y, None, g, sums)
    assert np.isnan(sums[1, 0])


ARRAYS = dict(zip(("F", "y", "c", "centre"), np.ones((4, 5, 2)), strict=True))
LOSS = {"loss": (False, False, 0.0, 1.0), **ARRAYS}
FIRST = {**LOSS, "g": np.ones((5, 2)), "sums": np.zeros((10, 2))}
SECOND = {**LOSS, "D": np.ones((5, 2))}
MULTIPLIERS = {name: part for name, part in LOSS.items() if name != "c"} | {"a": np.ones((5, 2))}
LINE = {**LOSS, "G": np.ones((5, 2)), "steps": np.ones((3, 2)), "values": np.ones((3, 2)), "slopes": np.ones((3, 2))}
CHANGES = {
    **{name: ARRAYS[name] for name in ("F", "y", "c")},
    "output": 0,
    "inside": np.zeros(5, bool),
    "change": np.ones(5),
}


@pytest.mark.parametrize(
    ("function", "right", "changed", "error", "message"),
    [
        ("loss_first_order", FIRST, {"loss": (False, False, 0.0)}, TypeError, "loss must be a tuple"),
        ("loss_first_order", FIRST, {"loss": [False, False, 0.0, 1.0]}, TypeError, "loss must be a tuple"),
        ("loss_first_order", FIRST, {"loss": ("a", False, 0.0, 1.0)}, TypeError, "two bools and two floats"),
        ("loss_first_order", FIRST, {"F": np.ones(5)}, TypeError, "F must be"),
        ("loss_first_order", FIRST, {"y": np.ones((4, 2))}, ValueError, "y.shape"),
        ("loss_first_order", FIRST, {"c": np.ones((5, 3))}, ValueError, "c.shape"),
        ("loss_first_order", FIRST, {"centre": np.ones((5, 2), np.float32)}, TypeError, "centre"),
        ("loss_first_order", FIRST, {"g": np.ones((6, 2))}, ValueError, "g.shape"),
        ("loss_first_order", FIRST, {"sums": np.ones((9, 2))}, ValueError, "sums.shape"),
        ("loss_first_order", FIRST, {"sums": np.ones((10, 1))}, ValueError, "sums.shape"),
        ("loss_second_order", SECOND, {"D": np.ones((5, 1))}, ValueError, "D.shape"),
        ("loss_second_order", SECOND, {"y": np.ones((2, 5)).T}, TypeError, "y must be"),
        ("loss_multipliers", MULTIPLIERS, {"a": np.ones((4, 2))}, ValueError, "a.shape"),
        ("loss_along_line", LINE, {"G": np.ones((5, 3))}, ValueError, "G.shape"),
        ("loss_along_line", LINE, {"steps": np.ones((3, 3))}, ValueError, "steps.shape"),
        ("loss_along_line", LINE, {"values": np.ones((2, 2))}, ValueError, "values.shape"),
        ("loss_along_line", LINE, {"slopes": np.ones((3, 1))}, ValueError, "slopes.shape"),
        ("hinge_changes", CHANGES, {"output": 2}, ValueError, "output must be a column of F, got 2"),
        ("hinge_changes", CHANGES, {"output": -1}, ValueError, "output"),
        ("hinge_changes", CHANGES, {"inside": np.zeros(5, np.uint8)}, TypeError, "inside"),
        ("hinge_changes", CHANGES, {"inside": np.zeros(4, bool)}, ValueError, "inside"),
        ("hinge_changes", CHANGES, {"change": np.zeros(6)}, ValueError, "change"),
    ],
)
def test_wrong_arguments(function, right, changed, error, message):
    refused(function, right, changed, error, message)
