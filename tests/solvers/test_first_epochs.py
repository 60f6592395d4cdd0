"""Epochs of coordinate descent before methods of square systems: how many are tried, and when they are given up."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import certify
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers import SOLVERS, CoordinateDescent
from maxmargin.solvers.coordinate_descent import _Forecast
from maxmargin.solvers.registry import first_passes


def test_epochs_are_given_up_where_more_passes_are_needed_than_allowed():
    X, y = make_classification(600, 10, n_informative=8, flip_y=0.1, random_state=0)
    problem = PrimalProblem(X, np.where(y > 0, 1.0, -1.0), np.full(600, 100.0), "squared_hinge")
    few = CoordinateDescent(max_passes=3.0).solve_linear(problem, tol=1e-6, control=Control(), random_state=0)
    assert few.status is Status.MAX_ITER
    assert few.n_iter <= 10
    easy = replace(problem, weight=np.full(600, 1e-4))
    found = CoordinateDescent(max_passes=100.0).solve_linear(easy, tol=1e-4, control=Control(), random_state=0)
    assert found.status is Status.OPTIMAL
    assert certify(easy, found.w, found.b, found.beta).relative_gap <= 1e-4


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_more_passes_are_tried_where_the_other_method_takes_longer(squared, kind):
    X = np.random.default_rng(0).standard_normal((500, 40))
    solver = SOLVERS["newton" if squared else "barrier"]
    counts = []
    for columns in (5, 40):
        part = sp.csr_matrix(X[:, :columns]) if kind == "csr" else np.ascontiguousarray(X[:, :columns])
        loss = "squared_hinge" if squared else "hinge"
        counts.append(first_passes(PrimalProblem(part, np.sign(X[:, 0]), np.ones(500), loss), solver))
    assert 0 < counts[0] < counts[1]
    wide = PrimalProblem(X[:20], np.sign(X[:20, 0]), np.ones(20))
    assert first_passes(wide, SOLVERS["barrier"]) == 0.0


@pytest.mark.parametrize("second", [0.2, np.nextafter(0.2, 0.0), 0.2 - 1e-6, 0.2 - 1e-12, 0.9, 0.0, np.nan, np.inf])
def test_a_gap_that_hardly_falls_is_given_up(second):
    """With a power of the passes near zero the forecast is beyond the range of numbers."""
    forecast = _Forecast(50.0, 1e-4)
    assert forecast.continues(2.0, 0.2)
    known = 0.0 < second < 1.0  # otherwise there is no forecast
    assert forecast.continues(4.0, second) is not known
    assert not forecast.continues(51.0, 1e-3)


def test_a_gap_that_falls_like_a_power_of_the_passes_is_forecast():
    """-log(gap) = passes^2 / 10 reaches -log(1e-4) = 9.2 after 9.6 passes."""
    for max_passes in (9.0, 10.0):
        forecast = _Forecast(max_passes, 1e-4)
        forecast.continues(4.0, np.exp(-1.6))
        assert forecast.continues(7.0, np.exp(-4.9)) is (max_passes > 9.6)
