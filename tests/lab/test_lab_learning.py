"""Held-out points, error curves, probabilities and one class: the server against the library, and the page."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import lab_browser
import numpy as np
import pytest
from lab_browser import Requests, Tab, expect, link, until, written_link

from maxmargin import SVC, OneClassSVM
from maxmargin.lab.classify import TOL, classify
from maxmargin.lab.jobs import Run
from maxmargin.lab.learning import curve
from maxmargin.lab.presets import presets
from maxmargin.lab.requests import RequestError
from maxmargin.lab.script import classify_script

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

RBF = {"name": "rbf", "gamma": 10.0}
POINTS = next(item for item in presets() if item["id"] == "overlapping")["points"]
CLOUD = [[*row, 0] for row in np.random.default_rng(0).normal(0, 0.3, (40, 2)).round(3).tolist()]


def parts(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows)
    return table[:, :2], table[:, 2].astype(int)


def test_held_out_points_are_predicted_and_nothing_else() -> None:
    train, test = POINTS[::2], POINTS[1::2]
    request = {"points": train, "kernel": RBF, "C": 10.0}
    answer = classify({**request, "test": test}, Run())
    model = SVC(kernel="rbf", gamma=10.0, C=10.0, tol=TOL).fit(*parts(train))
    predicted = model.predict(parts(test)[0])
    assert answer["test"]["predicted"] == predicted.tolist()
    assert answer["test"]["errors"] == np.count_nonzero(predicted != parts(test)[1]) > 0
    alone = classify(request, Run())
    assert alone["test"] is None
    assert answer["values"] == alone["values"]
    assert f"test errors           {answer['test']['errors']} of 40 points" in answer["comment"][5]


@pytest.mark.parametrize("over", ["C", "gamma"])
@pytest.mark.parametrize("C", [10.0, "inf"])
def test_curve_is_the_error_of_each_fit(over: str, C: Any) -> None:
    train, test = POINTS[::2], POINTS[1::2]
    answer = curve({"points": train, "test": test, "kernel": RBF, "C": C, "over": over}, Run())
    assert len(answer["values"]) == 25
    for k in (0, 12, 24):
        settings = {"gamma": 10.0, "C": 100.0 if C == "inf" else C} | {over: answer["values"][k]}
        model = SVC(kernel="rbf", **settings).fit(*parts(train))
        for name, rows in (("train", train), ("test", test)):
            X, y = parts(rows)
            assert answer[name][k] == pytest.approx(1 - model.score(X, y))


def test_curve_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(RequestError, match="two classes"):
        curve({"points": [[0, 0, 0]]}, Run())
    with pytest.raises(RequestError, match="linear kernel has no gamma"):
        curve({"points": [[0, 0, 0], [1, 0, 1]], "kernel": {"name": "linear"}, "over": "gamma"}, Run())


def test_sigmoid_gives_the_probabilities_of_the_library() -> None:
    answer = classify({"points": POINTS, "kernel": RBF, "C": 1.0, "probability": True}, Run())
    slope, offset = answer["sigmoid"]
    X, y = parts(POINTS)
    model = SVC(kernel="rbf", gamma=10.0, C=1.0, tol=TOL, calibration="sigmoid").fit(X, y)
    f = model.decision_function(X)
    found = 1 / (1 + np.exp(-(slope * f + offset)))
    found = np.where(
        f > 0, np.maximum(found, 0.5), np.minimum(found, 0.5)
    )  # as the page: the label is the likelier one
    np.testing.assert_allclose(found, model.predict_proba(X)[:, 1], atol=1e-9)
    assert classify({"points": POINTS, "kernel": RBF}, Run())["sigmoid"] is None


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.7])
def test_one_class_keeps_the_promise_of_nu(nu: float) -> None:
    answer = classify({"points": CLOUD, "kernel": {"name": "rbf", "gamma": 4.0}, "nu": nu}, Run())
    assert answer["kind"] == "one_class"
    assert answer["report"]["errors"] <= math.floor(nu * 40 + 1e-9) <= nu * 40 + 1e-9
    assert answer["n_support"] >= nu * 40 - 1e-9
    model = OneClassSVM(gamma=4.0, nu=nu, tol=1e-5).fit(np.array(CLOUD)[:, :2])
    f = model.decision_function(np.array(CLOUD)[:, :2])
    np.testing.assert_allclose([point["f"] for point in answer["points"]], f)
    assert classify({"points": CLOUD[:2], "nu": nu}, Run())["kind"] == "empty"


def test_one_class_around_the_origin_says_that_a_line_has_no_boundary() -> None:
    """w = 0 solves the problem: the rest of f is rounding, and must not be drawn."""
    square = [[x, y, 0] for x in (-0.5, -0.1, 0.1, 0.5) for y in (-0.5, 0.1, 0.4)]
    answer = classify({"points": square, "kernel": {"name": "linear"}, "nu": 0.1}, Run())
    assert answer["comment"][-1].startswith("No boundary exists (w = 0)")
    assert np.isnan(np.frombuffer(base64.b64decode(answer["values"]), "<f4")).all()
    away = [[x + 3, y + 3, c] for x, y, c in square]
    answer = classify({"points": away, "kernel": {"name": "linear"}, "nu": 0.1}, Run())
    assert "half-plane" in answer["comment"][-1]
    assert np.isfinite(np.frombuffer(base64.b64decode(answer["values"]), "<f4")).all()


def test_script_of_one_class() -> None:
    text = classify_script({"points": CLOUD, "kernel": {"name": "rbf", "gamma": 4.0}, "nu": 0.2})
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["model"].nu == 0.2
    assert len(names["X"]) == 40


# ---- the page -------------------------------------------------------------------------------------------------------


class Classify(Tab):
    id = "classify"

    def says(self, name: str, pattern: str) -> None:
        expect(self.page.locator(f".comment dt:text-is('{name}') + dd")).to_have_text(re.compile(pattern))


def test_hold_out_noise_and_curve(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    state = {"example": "overlapping", "kernel": RBF, "C": 10}
    tab = Classify(opened(link(lab, "classify", state)))
    page = tab.page
    fits, curves = Requests(page, "/api/classify"), Requests(page, "/api/curve")
    tab.says("training errors", "of 80")
    page.get_by_text("Training and test", exact=True).click()
    expect(tab.panel.get_by_text("Hold out points to see the test error.")).to_be_visible()
    tab.panel.get_by_label("hold out every third point").check()
    tab.says("training errors", "of 54")
    tab.says("test errors", "of 26")
    expect(tab.panel.get_by_text(re.compile(r"The test error is smallest, \d+ %, at .*C (=|from)"))).to_be_visible()
    assert tab.state["holdout"] is True
    rows = fits.asked[-1]
    assert sorted(rows["points"] + rows["test"]) == sorted(tab.points)
    for c in (0, 1):
        assert sum(row[2] == c for row in rows["test"]) == 13
    expect(page.locator("[data-example=overlapping]")).to_have_attribute("aria-pressed", "true")  # the same points
    # another C moves the mark on the curve and asks for no new one; another axis does
    before = len(curves.asked)
    tab.type("C", "100")
    fits.rest(lambda: fits.asked[-1]["C"] == 100)
    assert len(curves.asked) == before
    tab.panel.get_by_role("radio", name="Error along the width").click()
    expect(tab.panel.get_by_text(re.compile(r"The test error is smallest, \d+ %, at .*σ (=|from)"))).to_be_visible()
    tab.panel.get_by_role("radio", name="Give it as γ").first.click()  # as everywhere on the page
    expect(tab.panel.get_by_text(re.compile(r"The test error is smallest, \d+ %, at .*γ (=|from)"))).to_be_visible()
    # noise moves the points, and back
    clean = np.array(tab.points)
    tab.type("Noise", "0.2")
    moved = np.array(tab.points)
    assert 0.15 < (moved - clean)[:, :2].std() < 0.25
    assert tab.state["noise"] == 0.2
    tab.panel.get_by_label("hold out every third point").uncheck()
    tab.says("training errors", "of 80")
    tab.type("Noise", "0")
    np.testing.assert_allclose(np.array(tab.points), clean, atol=1e-4)
    page.locator("#undo").click()
    np.testing.assert_allclose(np.array(tab.points), moved, atol=1e-4)
    assert tab.state["noise"] == 0.2
    page.locator("#undo").click()
    tab.says("test errors", "of 26")
    other = Classify(opened(lab.link + written_link(page)))
    other.says("test errors", "of 26")


def test_an_example_of_a_tour_gets_its_noise(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "moons", "noise": 0.1})))
    tab.says("training errors", "of 80")
    clean = next(preset["points"] for preset in presets() if preset["id"] == "moons")
    assert 0.07 < (np.array(tab.points) - np.array(clean))[:, :2].std() < 0.13
    assert tab.state["noise"] == 0.1
    moved = np.array(tab.points)
    other = Classify(opened(lab.link + written_link(tab.page)))  # a link has the points as they are
    other.says("training errors", "of 80")
    np.testing.assert_array_equal(other.points, moved)


def test_probability_as_colour(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "overlapping", "kernel": RBF, "C": 1})))
    tab.says("training errors", "of 80")
    tab.page.get_by_text("Training and test", exact=True).click()
    look = "(canvas) => canvas.toDataURL()"
    before = tab.canvas.evaluate(look)
    tab.panel.get_by_label("colours show the probability").check()
    until(tab.page, lambda: tab.canvas.evaluate(look) != before)
    tab.hover(0.7, 0.4)
    expect(tab.panel.locator(".readout")).to_contain_text(re.compile(r"probability\s*(0\.[5-9]\d*|1)$"))


def test_one_class_until_a_second_one_comes(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"points": CLOUD, "kernel": {"name": "rbf", "gamma": 4}})))
    tab.says("outside", r"^\d+ of 40 points \(at most 10 %\)$")
    expect(tab.panel.get_by_label("C", exact=True)).to_be_hidden()
    expect(tab.panel.locator(".legend")).to_contain_text("on the boundary")
    tab.type("Nu ν", "0.5")
    tab.says("nu", "^0.5$")
    assert tab.state["nu"] == 0.5
    tab.panel.get_by_role("radio", name="Add points of class 2").click()
    tab.click(0.05, 0.9)
    tab.says("training errors", "of 41")
    expect(tab.panel.get_by_label("C", exact=True)).to_be_visible()
    expect(tab.panel.get_by_label("Nu ν", exact=True)).to_be_hidden()
    expect(tab.panel.locator(".legend")).to_contain_text("inside the margin")
