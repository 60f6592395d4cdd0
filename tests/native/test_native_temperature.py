import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import temperature as twin


@given(n=st.integers(0, 30), k=st.integers(1, 12), slope=st.sampled_from([0.0, 0.1, 1.0, 30.0, 1e6]), seed=seeds)
def test_derivatives(level, n, k, slope, seed):
    rng = np.random.default_rng(seed)
    scores, own, weight = rng.standard_normal((n, k)), rng.standard_normal(n), rng.random(n)
    found = _native.temperature_derivatives(scores, own, weight, slope)
    np.testing.assert_allclose(found, twin.temperature_derivatives(scores, own, weight, slope), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"scores": np.ones(3)}, TypeError, "scores"),
        ({"scores": np.ones((3, 0))}, ValueError, "scores"),
        ({"own": np.ones(2)}, ValueError, "own"),
        ({"weight": np.ones(4)}, ValueError, "weight"),
        ({"slope": -1.0}, ValueError, "slope must be at least 0, got -1"),
        ({"slope": np.nan}, ValueError, "slope"),
    ],
)
def test_wrong_arguments(changed, error, message):
    right = {"scores": np.ones((3, 2)), "own": np.ones(3), "weight": np.ones(3), "slope": 1.0}
    refused("temperature_derivatives", right, changed, error, message)
