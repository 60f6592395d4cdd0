"""Line searches: zeros of slopes that are smooth, bent or far away; and the sample that stands for the Hessian."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.large_scale.line_search import FIRST_STEPS, FLAT_SLOPE, best_steps
from maxmargin.large_scale.preconditioner import Preconditioner, cholesky_of
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.targets import Labels
from maxmargin.large_scale.rows.tiles import LinearRows
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import make_loss
from reference import smoothed_loss as reference


def test_several_parabolas_at_once():
    minima = np.array([0.01, 0.4, 1.0, 2.5])
    steps = best_steps(lambda t: t - minima, -minima, np.ones(4, bool))
    assert (np.abs(steps - minima) <= FLAT_SLOPE * minima).all()


def test_a_minimum_beyond_the_longest_step_is_approached():
    assert best_steps(lambda t: t - 100.0, np.array([-100.0]), np.ones(1, bool))[0] == FIRST_STEPS[-1]


def test_outputs_that_do_not_matter_or_do_not_descend_stay():
    steps = best_steps(lambda t: t - 1.0, np.array([-1.0, -1.0, 2.0]), np.array([True, False, True]))
    assert steps[0] > 0
    assert (steps[1:] == 0).all()


@settings(max_examples=40, deadline=None)
@given(st.floats(-2.3, 0.4), st.floats(0.0, 8.0))
def test_sharp_bends_are_found(where, steepness):
    """The slope is -1 up to a bend and rises steeply after it: the step is near the bend, never far beyond."""
    bend = 10.0**where
    step = best_steps(
        lambda t: np.where(t < bend, -1.0, 10**steepness * (t - bend) - 1.0), -np.ones(1), np.ones(1, bool)
    )[0]
    assert 0.5 * bend < step < bend + 10.0**-steepness + 0.05 * bend


@pytest.mark.parametrize("intercept", [True, False])
def test_a_sample_of_all_rows_is_the_hessian(intercept):
    rng = np.random.default_rng(0)
    A, T = rng.normal(size=(40, 6)), rng.normal(size=(6, 4))
    targets = Labels.one_vs_rest(rng.integers(0, 3, 40), np.ones(40), 2.0, np.ones(3))
    oracle = LocalOracle(LinearRows(A), targets)
    B, b, loss = rng.normal(size=(6, 3)), rng.normal(size=3), SmoothedLoss(make_loss("squared_hinge"))
    sampled = Preconditioner(oracle, T, intercept)
    sampled.refresh(oracle, B, b, loss, np.full(3, 1e-9))
    y, c = targets.tile(slice(0, 40))
    wide = np.column_stack((A @ T, np.ones(40))) if intercept else A @ T
    for k in range(3):
        D = c[:, k] * reference.curvature(loss, A @ B[:, k] + b[k], y[:, k])
        H = np.diag([1.0] * 4 + [1e-9] * intercept) + wide.T @ (D[:, None] * wide)
        r = rng.normal(size=len(H))
        np.testing.assert_allclose(sampled.solve(k, r), np.linalg.solve(H, r), rtol=1e-6)


def test_a_matrix_that_rounding_made_indefinite_still_has_a_factor():
    H = np.full((3, 3), 1e20)
    H[0, 0] -= 1e12
    L = np.tril(cholesky_of(H.copy(), None))
    assert np.isfinite(L).all()
    assert (np.diagonal(L) > 0).all()
