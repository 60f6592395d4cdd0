"""The map of a grid search: right colours in the right places, and the chosen cell marked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

pytest.importorskip("matplotlib")

from maxmargin import SVC
from maxmargin.displays.search import SearchDisplay
from maxmargin.model_selection import SVCCV, SVRCV

X, Y = load_iris(return_X_y=True)
CS, GAMMAS = [0.1, 1.0, 10.0], [0.01, 0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def search():
    return SVCCV(Cs=CS, gammas=GAMMAS, cv=3).fit(X, Y)


def colour_at(display, x, y):
    """The value that is painted at a place, in the axes' own units."""
    left, right, low, high = display.image_.get_extent()
    values = display.image_.get_array()
    column = int((x - left) / (right - left) * values.shape[1])
    row = int((y - low) / (high - low) * values.shape[0])
    return values[row, column]


def test_every_cell_has_its_score(search):
    display = SearchDisplay.from_estimator(search)
    results = search.cv_results_
    for C, gamma, score in zip(results["param_C"], results["param_gamma"], results["mean_test_score"], strict=True):
        assert colour_at(display, np.log10(C), np.log10(gamma)) == pytest.approx(score)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("C", "gamma")
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0.1", "1", "10"]
    written = {text.get_text() for text in display.ax_.texts}
    assert written == {f"{score:.3f}" for score in results["mean_test_score"]}


def test_the_chosen_cell_is_marked(search):
    display = SearchDisplay.from_estimator(search)
    (x,), (y,) = display.marker_.get_data()
    assert (10**x, 10**y) == pytest.approx((search.C_, search.gamma_))
    assert f"C = {search.C_:g}, gamma = {search.gamma_:g}" in display.ax_.get_title(loc="left")
    assert "accuracy" in display.ax_.get_title(loc="left")


def test_axes_can_be_chosen_and_swapped(search):
    display = SearchDisplay.from_estimator(search, x="gamma", y="C")
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("gamma", "C")
    with pytest.raises(ValueError, match="it has C, gamma"):
        SearchDisplay.from_estimator(search, x="degree")


def test_a_finer_grid_shows_inside_the_coarse_one():
    search = SVCCV(Cs=CS, gammas=GAMMAS, cv=3, refine=True).fit(X, Y)
    display = SearchDisplay.from_estimator(search)
    for cell in np.flatnonzero(search.cv_results_["mean_test_score"] >= 0)[-5:]:
        params = search.cv_results_["params"][cell]
        painted = colour_at(display, np.log10(params["C"]), np.log10(params["gamma"]))
        assert painted == pytest.approx(search.cv_results_["mean_test_score"][cell])
    assert len(display.ax_.texts) < len(search.cv_results_["params"])


def test_one_parameter_is_a_curve():
    search = SVCCV(Cs=CS, kernel="linear", cv=3).fit(X, Y)
    display = SearchDisplay.from_estimator(search)
    assert display.image_ is None
    assert display.marker_.get_xdata()[0] == search.C_
    assert display.ax_.get_xscale() == "log"
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), search.cv_results_["mean_test_score"])


def test_other_parameters_are_at_their_best():
    search = SVCCV(Cs=CS, kernel="poly", gammas=[0.1, 1.0], kernel_params={"degree": [1, 2]}, cv=3).fit(X, Y)
    display = SearchDisplay.from_estimator(search)
    scores = {}
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        scores.setdefault((params["C"], params["gamma"]), []).append(score)
    for (C, gamma), found in scores.items():
        assert colour_at(display, np.log10(C), np.log10(gamma)) == pytest.approx(max(found))
    assert SearchDisplay.from_estimator(search, x="degree", y="C").ax_.get_xlabel() == "degree"


def test_searches_of_scikit_learn_and_of_regression():
    peer = GridSearchCV(SVC(), {"C": CS, "gamma": GAMMAS}, cv=3).fit(X, Y)
    assert SearchDisplay.from_estimator(peer).image_ is not None
    values = SVRCV(Cs=CS, gammas=GAMMAS, cv=3).fit(X[:, :3], X[:, 3])
    assert "R²" in SearchDisplay.from_estimator(values).ax_.get_title(loc="left")


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(TypeError, match="no cv_results_"):
        SearchDisplay.from_estimator(SVC().fit(X, Y))
    single = SVCCV(Cs=[1.0], gammas=[0.1], cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="nothing to draw"):
        SearchDisplay.from_estimator(single)
