import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from maxmargin.inspection.shapley import _gauss_legendre, _panels, _rules
from reference.native import shapley as twin

shapes = {
    "n": st.integers(1, 3),
    "d": st.integers(1, 5),
    "m": st.integers(1, 11),
    "outputs": st.integers(1, 3),
    "others": st.integers(0, 3),
    "seed": seeds,
}


def _drawn(n, d, m, outputs, others, seed):
    """Rows, anchors, coefficients and background with equal coordinates here and there."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: np.where(rng.random(shape) < 0.3, 1.0, rng.random(shape) * 3)  # noqa: E731
    return draw(n, d), draw(m, d), rng.standard_normal((m, outputs)), draw(others, d) if others else None, rng


@settings(max_examples=40)
@given(spread=st.sampled_from([0.05, 1.0, 20.0]), **shapes)
def test_product(level, spread, **shape):
    rows, anchors, coefficients, background, rng = _drawn(**shape)
    rates = [spread * rng.random(rows.shape[1]) for _ in range(3)]
    found = np.ones((len(rows), coefficients.shape[1], rows.shape[1]))
    panels = _panels(anchors, coefficients)
    _native.shapley_product(rows, *panels, background, *rates, _rules(rows.shape[1]), 0.5, found)
    expected = 1.0 + 0.5 * twin.shapley_product(rows, anchors, coefficients, background, *rates)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@settings(max_examples=40)
@given(degree=st.integers(1, 12), constant=st.sampled_from([0.0, 1.0, -0.5]), **shapes)
def test_power(level, degree, constant, **shape):
    rows, anchors, coefficients, background, rng = _drawn(**shape)
    scale = rng.random(rows.shape[1]) / 4
    found = np.zeros((len(rows), coefficients.shape[1], rows.shape[1]))
    rule = _gauss_legendre((8,))
    _native.shapley_power(rows, *_panels(anchors, coefficients), background, scale, constant, degree, rule, 1.0, found)
    expected = twin.shapley_power(rows, anchors, coefficients, background, scale, constant, degree)
    sizes = twin.shapley_power(rows, anchors, np.abs(coefficients), background, scale, abs(constant), degree)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * (1 + np.abs(sizes).max()))


@pytest.mark.parametrize("columns", [1, 40, 300])
@pytest.mark.parametrize("spread", [0.01, 0.3, 5.0, 200.0])
def test_few_nodes_are_as_good_as_enough_nodes(level, columns, spread):
    """The rule that is chosen by sigma against the one of half as many nodes as columns, which is exact."""
    rng = np.random.default_rng(columns)
    rows, anchors, background = rng.random((2, columns)), rng.random((9, columns)), rng.random((3, columns))
    coefficients, rates = rng.standard_normal((9, 1)), rng.random(columns) * spread
    few, enough = np.zeros((2, 1, columns)), np.zeros((2, 1, columns))
    exact = _gauss_legendre((-(-columns // 8) * 4,))
    for rules, out in ((_rules(columns), few), (exact, enough)):
        panels = _panels(anchors, coefficients)
        _native.shapley_product(rows, *panels, background, rates, None, None, rules, 1.0, out)
    np.testing.assert_allclose(few, enough, rtol=0, atol=1e-14 * np.abs(coefficients).sum())


RIGHT = {
    "rows": np.ones((2, 3)),
    "panels": np.ones((2, 3, 8)),
    "coefficients": np.ones((2, 1, 8)),
    "background": np.ones((4, 3)),
    "rules": _rules(3),
    "weight": 1.0,
    "out": np.zeros((2, 1, 3)),
}


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"rows": np.ones(3)}, TypeError, "rows"),
        ({"panels": np.ones((2, 2, 8))}, ValueError, "panels"),
        ({"panels": np.ones((2, 3, 7))}, ValueError, "panels"),
        ({"coefficients": np.ones((1, 1, 8))}, ValueError, "coefficients"),
        ({"background": np.ones((4, 2))}, ValueError, "background"),
        ({"square": np.ones(2)}, ValueError, "square"),
        ({"rules": (np.ones(4), np.ones(4))}, TypeError, "rules must be a tuple"),
        ({"rules": (np.ones(3), np.ones(3), np.array([0, 3]), np.ones(1))}, ValueError, "multiples of 4"),
        ({"rules": (np.ones(4), np.ones(4), np.array([0, 8]), np.ones(1))}, ValueError, "starts must rise"),
        ({"rules": (np.ones(4), np.ones(3), np.array([0, 4]), np.ones(1))}, ValueError, "weights"),
        ({"out": np.zeros((2, 2, 3))}, ValueError, "out"),
    ],
)
def test_wrong_arguments(changed, error, message):
    right = {**RIGHT, "square": None, "absolute": None, "chi_squared": None}
    refused("shapley_product", right, changed, error, message)


@pytest.mark.parametrize(
    ("changed", "message"), [({"degree": 0}, "degree"), ({"degree": 13}, "degree"), ({"scale": np.ones(2)}, "scale")]
)
def test_wrong_arguments_of_powers(changed, message):
    refused("shapley_power", {**RIGHT, "scale": np.ones(3), "constant": 1.0, "degree": 2}, changed, ValueError, message)
