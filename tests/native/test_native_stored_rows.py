import numpy as np
import pytest
from drawn import REALS, refused, seeds
from hypothesis import given
from hypothesis import strategies as st
from test_native_smoothed_losses import LOSSES, rows_of

from maxmargin import _native
from reference.native import stored_rows as twin


def padded(rng, n, m, dtype):
    """Rows with padding between them, which nobody may read."""
    wide = np.full((n, m + 3), np.nan, dtype)
    wide[:, :m] = rng.standard_normal((n, m))
    return wide[:, :m]


@given(
    loss=LOSSES,
    n=st.integers(0, 100),
    m=st.integers(0, 40),
    dtype=st.sampled_from(REALS),
    sides=st.integers(1, 2),
    anew=st.booleans(),
    seed=seeds,
)
def test_evaluate_rows(level, loss, n, m, dtype, sides, anew, seed):
    rng = np.random.default_rng(seed)
    K = padded(rng, n, m, dtype)
    F, y, c, centre = rows_of(rng, loss, n, 1, seed % 2 == 0)
    B = rng.standard_normal(m) if anew else None
    found = []
    for module in (_native, twin):
        own, g, sums, gradient = F.copy(), np.empty((n, 1)), np.zeros((10, 1)), np.ones((sides, m))
        support = module.evaluate_rows(K, B, 0.3, loss, own, y, c, centre, g, sums, gradient)
        found.append((own, g, sums, gradient, support))
    edges = np.zeros(10, bool)
    edges[9] = not anew  # at the end of a parabola either second derivative will do
    for ours, expected in zip(*found, strict=True):
        if np.shape(ours) == (10, 1):
            ours, expected = ours[~edges], expected[~edges]
        np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10)


@given(n=st.integers(1, 20), m=st.integers(0, 20), count=st.integers(0, 30), dtype=st.sampled_from(REALS), seed=seeds)
def test_take_rows(level, n, m, count, dtype, seed):
    rng = np.random.default_rng(seed)
    K, keep = padded(rng, n, m, dtype)[::-1], rng.integers(0, n, count)
    out = np.full((count, m), np.nan, dtype)
    _native.take_rows(K, keep, out)
    np.testing.assert_array_equal(out, K[keep])


@given(n=st.integers(0, 30), m=st.integers(0, 40), dtype=st.sampled_from(REALS), squared=st.booleans(), seed=seeds)
def test_add_weighted_rows(level, n, m, dtype, squared, seed):
    rng = np.random.default_rng(seed)
    X, w, mean, sums = padded(rng, n, m, dtype), rng.random(n), rng.standard_normal(m), np.ones((2, m))
    for t, module in enumerate((_native, twin)):
        module.add_weighted_rows(X, w, mean, squared, sums[t])
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-12, atol=1e-13)  # sums of terms near 1 that may cancel


COLUMN = np.ones((5, 1))
EVALUATE = {
    "K": np.ones((5, 3)),
    "B": np.ones(3),
    "b": 0.0,
    "loss": (False, False, 0.0, 1.0),
    **dict.fromkeys(("F", "y", "c", "centre", "g"), COLUMN),
    "sums": np.zeros((10, 1)),
    "gradient": np.zeros((2, 3)),
}
TAKE = {"K": np.ones((5, 3)), "keep": np.array([0, 4]), "out": np.ones((2, 3))}
ADD = {"X": np.ones((5, 3)), "w": np.ones(5), "mean": np.ones(3), "squared": True, "sums": np.ones(3)}


@pytest.mark.parametrize(
    ("function", "right", "changed", "error", "message"),
    [
        ("evaluate_rows", EVALUATE, {"K": np.ones((5, 3), int)}, TypeError, "K must be a float32 or float64"),
        ("evaluate_rows", EVALUATE, {"K": np.ones((3, 5)).T}, TypeError, "K must have the entries of a row side by"),
        ("evaluate_rows", EVALUATE, {"K": np.ones((5, 4))}, ValueError, r"gradient.shape\[1\] must be 4"),
        ("evaluate_rows", EVALUATE, {"B": np.ones(2)}, ValueError, "B.shape"),
        ("evaluate_rows", EVALUATE, {"F": np.ones((4, 1))}, ValueError, "F.shape"),
        ("evaluate_rows", EVALUATE, {"F": np.ones((5, 2))}, ValueError, "F.shape"),
        ("evaluate_rows", EVALUATE, {"y": np.ones((4, 1))}, ValueError, "y.shape"),
        ("evaluate_rows", EVALUATE, {"g": np.ones((5, 2))}, ValueError, "g.shape"),
        ("evaluate_rows", EVALUATE, {"sums": np.ones((10, 2))}, ValueError, "sums.shape"),
        ("evaluate_rows", EVALUATE, {"gradient": np.ones((3, 3))}, ValueError, "1 or 2 sides, got 3"),
        ("evaluate_rows", EVALUATE, {"gradient": np.ones((0, 3))}, ValueError, "1 or 2 sides, got 0"),
        ("take_rows", TAKE, {"keep": np.array([0, 5])}, ValueError, r"keep must lie in \[0, 5\)"),
        ("take_rows", TAKE, {"keep": np.array([-1, 0])}, ValueError, "keep"),
        ("take_rows", TAKE, {"keep": np.array([0, 1], np.int32)}, TypeError, "keep"),
        ("take_rows", TAKE, {"out": np.ones((2, 3), np.float32)}, TypeError, "out"),
        ("take_rows", TAKE, {"out": np.ones((3, 3))}, ValueError, "out"),
        ("add_weighted_rows", ADD, {"w": np.ones(4)}, ValueError, "w.shape"),
        ("add_weighted_rows", ADD, {"mean": np.ones(4)}, ValueError, "mean.shape"),
        ("add_weighted_rows", ADD, {"sums": np.ones(2)}, ValueError, "sums.shape"),
    ],
)
def test_wrong_arguments(function, right, changed, error, message):
    refused(function, right, changed, error, message)
