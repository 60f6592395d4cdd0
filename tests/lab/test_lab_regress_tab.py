"""The tab Regression in a real browser: numbers on the screen against the formulas, weights, undo, links, keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import numpy as np
import pytest
from lab_browser import PHONE, Requests, Tab, decoded, excused, expect, link, until, written_link

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES


class Regression(Tab):
    id = "regress"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.strip = self.panel.locator(".strip canvas")

    def model(self, name: str) -> None:
        self.choose("Model", name)

    def number(self, name: str) -> float:
        return plain(self.panel.locator(f".numbers dt:text-is('{name}') + dd").inner_text())

    def says(self, name: str, value: float) -> None:
        """A line of the numbers has this value, to the digits that are shown."""
        expect(self.panel.locator(f".numbers dt:text-is('{name}') + dd")).to_have_text(re.compile(r"\d"))
        until(self.page, lambda: self.number(name) == pytest.approx(value, rel=2e-3, abs=1e-9))

    @property
    def coefficients(self) -> list[float]:
        return [plain(text) for text in self.panel.locator(".coefficients dd").all_inner_texts()]


def plain(text: str) -> float:
    return float(text.split()[0].replace("−", "-"))


@pytest.fixture(scope="module")
def shared(opening: Callable[..., Any], lab: SimpleNamespace) -> Regression:
    return Regression(opening(link(lab, "regress")))


@pytest.fixture
def regress(shared: Regression, quiet: None) -> Regression:
    """A plane without points; one page for all tests that need no more."""
    shared.go({"points": []})
    expect(shared.panel.get_by_text("in the plane to add a point")).to_be_visible()
    shared.page.keyboard.press("a")
    return shared


# ---- curves against the formulas ------------------------------------------------------------------------------------


def test_story(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    regress = Regression(opened(link(lab, "regress", {"points": []})))
    expect(regress.panel.get_by_text("in the plane to add a point")).to_be_visible()
    for u, v in ((0.2, 0.7), (0.4, 0.4), (0.6, 0.5), (0.8, 0.2)):
        regress.click(u, v)
    expect(regress.panel.get_by_text("in the plane to add a point")).to_be_hidden()
    regress.type("Degree d", "1")
    regress.panel.get_by_label("λ = 0").check()
    x, y = np.array(regress.points).T
    slope, offset = np.polyfit(x, y, 1)
    regress.says("training error", float(np.sqrt(np.mean((slope * x + offset - y) ** 2))))
    assert regress.coefficients == pytest.approx([offset, slope], rel=6e-3)
    before = regress.points
    regress.drag((0.8, 0.2), (0.8, 0.6), steps=6)
    assert regress.points[:3] == before[:3]
    assert regress.points[3][1] < before[3][1]
    regress.click(0.8, 0.6, button="right")
    assert regress.points == before[:3]
    regress.page.keyboard.press("e")
    regress.click(0.2, 0.7)
    assert regress.points == before[1:3]
    regress.panel.get_by_role("button", name="Clear").click()
    assert regress.points == []
    expect(regress.panel.get_by_text("in the plane to add a point")).to_be_visible()
    assert regress.page.evaluate("window.shifts") < 0.01


def gauss(x: Any, z: Any, denominator: float) -> Any:
    return np.exp(-((x[:, None] - z[None, :]) ** 2) / denominator)


@pytest.mark.parametrize("model", ["ridge_poly", "ridge_gauss", "kernel_ridge"])
def test_ridge(regress: Regression, model: str) -> None:
    """w = (Phi'Phi + lambda I)^-1 Phi'y, condition number and error, from the definitions."""
    regress.example("sine")
    regress.model(model)
    regress.type("Lambda λ", "0.05")
    if model == "ridge_poly":
        regress.type("Degree d", "4")
    else:
        regress.type("Sigma σ", "0.4")
    if model == "ridge_gauss":
        regress.type("Centres", "6")
    x, y = np.array(regress.points).T
    if model == "kernel_ridge":
        A = gauss(x, x, 2 * 0.4**2)
        w = np.linalg.solve(A + 0.05 * np.eye(len(x)), y)
        f, B = A @ w, A
    else:
        Phi = x[:, None] ** np.arange(5)
        if model == "ridge_gauss":
            Phi = gauss(x, np.linspace(x.min(), x.max(), 6), 2 * 0.4**2)
        B = Phi.T @ Phi
        w = np.linalg.solve(B + 0.05 * np.eye(B.shape[0]), Phi.T @ y)
        f = Phi @ w
    values = np.linalg.eigvalsh(B) + 0.05
    regress.says("training error", float(np.sqrt(np.mean((f - y) ** 2))))
    regress.says("condition number", float(values.max() / values.min()))
    assert regress.coefficients == pytest.approx(w, rel=6e-3, abs=1e-3)


def test_tube(regress: Regression) -> None:
    """Support vectors are on the edge of the tube or beyond it; a wider tube has fewer."""
    from sklearn.svm import SVR

    regress.example("sine")
    counts = []
    for epsilon in (0.05, 0.15, 0.4):
        regress.type("Epsilon ε", str(epsilon))
        x, y = np.array(regress.points).T
        slow = SVR(gamma=1 / (2 * 0.3**2), C=10.0, epsilon=epsilon, tol=1e-8).fit(x[:, None], y)
        regress.says("training error", float(np.sqrt(np.mean((slow.predict(x[:, None]) - y) ** 2))))
        counts.append(len(slow.support_))
        expect(regress.panel.locator(".legend")).to_contain_text(f"support vectors {counts[-1]}")
    assert counts == sorted(counts, reverse=True)
    regress.says("offset b", float(slow.intercept_[0]))


def test_one_point_is_not_enough_for_a_tube(regress: Regression) -> None:
    regress.model("svr")
    regress.click(0.5, 0.5)
    expect(regress.panel.get_by_text("needs two points")).to_be_visible()
    regress.click(0.7, 0.5)
    expect(regress.panel.get_by_text("needs two points")).to_be_hidden()
    regress.says("training error", 0.0)


def test_readout_of_a_point(regress: Regression) -> None:
    regress.click(0.3, 0.6)
    regress.click(0.7, 0.4)
    regress.type("Degree d", "0")
    regress.panel.get_by_label("λ = 0").check()
    (_, y0), (_, y1) = regress.points
    regress.says("training error", abs(y0 - y1) / 2)
    regress.hover(0.3, 0.6)
    readout = regress.panel.locator(".readout")
    found = {
        part.rsplit(" ", 1)[0]: plain(part.rsplit(" ", 1)[1]) for part in readout.locator("span").all_inner_texts()
    }
    assert found["f(x)"] == pytest.approx((y0 + y1) / 2, rel=6e-3, abs=1e-6)
    assert found["y"] == pytest.approx(y0, rel=6e-3)
    assert found["y − f(x)"] == pytest.approx((y0 - y1) / 2, rel=6e-3)


# ---- weights --------------------------------------------------------------------------------------------------------


def test_blend_follows_the_cursor(regress: Regression) -> None:
    regress.example("few")
    regress.says("training error", 0.0)
    blends = Requests(regress.page, "/api/blend")
    regress.hover(0.2, 0.3)
    expect(regress.panel.locator(".sentence")).to_contain_text("is the sum of")
    blends.rest()
    x, y = np.array(regress.points).T
    for u in (0.45, 0.62):
        with regress.page.expect_response("**/api/blend") as found:
            regress.hover(u, 0.3)
        answer = found.value.json()
        # Lagrange: the weights of interpolation are the polynomials that are 1 at one point and 0 at the others
        lagrange = [np.prod([(answer["at"] - t) / (s - t) for t in x if t != s]) for s in x]
        assert answer["weights"] == pytest.approx(lagrange, abs=1e-5)  # six digits are sent
        assert answer["value"] == pytest.approx(float(np.dot(lagrange, y)), abs=1e-5)
        expect(regress.panel.locator(".sentence")).to_contain_text(f"f({answer['at']:.3g}) =".replace("-", "−"))
        shown = regress.panel.locator(".readout span").nth(1).inner_text()
        assert plain(shown.rsplit(" ", 1)[1]) == pytest.approx(answer["value"], abs=2e-3)
    regress.page.mouse.move(*regress.at(0.9, 0.5), steps=40)
    left, width = (regress.canvas.bounding_box()[name] for name in ("x", "width"))
    end = pytest.approx(-1.1 + 2.2 * (regress.at(0.9, 0.5)[0] - left) / width, abs=0.05)
    blends.rest(lambda: blends.asked[-1]["at"] == end)  # near, or at the point that is there
    assert blends.most == 1


def test_strip_by_keyboard_and_pointer(regress: Regression) -> None:
    regress.example("line")
    regress.says("training error", regress_error(regress))
    regress.strip.focus()
    regress.page.keyboard.press("Home")
    before = float(regress.strip.get_attribute("aria-valuenow"))
    regress.page.keyboard.press("ArrowRight")
    assert float(regress.strip.get_attribute("aria-valuenow")) == pytest.approx(before + 0.022, abs=2e-3)
    box = regress.strip.bounding_box()
    regress.page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 10)
    assert float(regress.strip.get_attribute("aria-valuenow")) == pytest.approx(-1.1 + 0.75 * 2.2, abs=0.01)
    regress.panel.get_by_role("button", name="Show", exact=True).click()
    regress.panel.get_by_label("weights below").uncheck()
    expect(regress.strip).to_be_hidden()
    assert regress.state["hidden"] == ["weights"]


def regress_error(regress: Regression) -> float:
    """Of ridge regression on 1, x with lambda = 0.01."""
    x, y = np.array(regress.points).T
    Phi = x[:, None] ** np.arange(2)
    w = np.linalg.solve(Phi.T @ Phi + 0.01 * np.eye(2), Phi.T @ y)
    return float(np.sqrt(np.mean((Phi @ w - y) ** 2)))


def test_refit_while_dragging(regress: Regression) -> None:
    before = Requests(regress.page, "/api/regress")
    regress.example("sine")
    before.rest(lambda: bool(before.asked))
    x, y = regress.points[9]
    u, v = (x + 1.1) / 2.2, (1.4 - y) / 2.8
    curves = Requests(regress.page, "/api/regress")
    regress.drag((u, v), (u, 0.1), steps=30, lift=False)
    end = pytest.approx(1.4 - 0.28, abs=0.02)
    curves.rest(lambda: curves.asked[-1]["points"][9][1] == end)  # before the button is released
    regress.page.mouse.up()
    curves.rest(lambda: curves.asked[-1]["samples"] == 400)  # at rest the curve is fine
    assert curves.most == 1
    assert {asked["samples"] for asked in curves.asked[:-1]} == {200}


# ---- state, keyboard, errors, script --------------------------------------------------------------------------------


def test_undo_and_link(regress: Regression, opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    regress.example("outlier")
    regress.type("C", "3")
    regress.panel.get_by_label("Sigma σ", exact=True).press("ArrowRight")
    state = regress.state
    assert (state["model"], state["C"], len(state["points"])) == ("svr", 3, 17)
    regress.model("ridge_gauss")
    regress.panel.get_by_label("a bump on every point").check()
    assert regress.state["centres"] == "points"
    fragment = written_link(regress.page)
    for _ in range(2):
        regress.page.keyboard.press("Control+z")
    assert regress.state == state
    other = Regression(opened(lab.link + fragment))
    assert other.state["centres"] == "points"
    assert other.state["points"] == state["points"]
    assert other.panel.get_by_label("a bump on every point").is_checked()


STRANGE = [
    {"points": [[1, "x"], [0], None, [1e300, 0], [0.5, 0.5]], "model": "<b>", "degree": 2.5, "lambda": -1},
    {"points": 7, "view": {"x0": 1, "x1": 0, "y0": 0, "y1": 1}, "hidden": 3, "C": "inf", "centres": {}},
    {"model": "constructor", "points": [[0, 0]] * 2000},
]


@pytest.mark.parametrize("k", range(len(STRANGE)))
def test_strange_links(regress: Regression, k: int) -> None:
    regress.go(STRANGE[k])
    expect(regress.panel.locator(".corner")).to_be_visible()
    state = regress.state
    assert state["model"] == "ridge_poly"
    assert len(state["points"]) == (1, 24, 1000)[k]  # without points, those of the first example
    assert (state["degree"], state["lambda"], state["hidden"]) == ((3, 1, 3)[k], 0.01, [])


def test_keyboard(regress: Regression) -> None:
    regress.canvas.focus()
    for key in ("ArrowUp", "Enter", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"):
        regress.page.keyboard.press(key)
    (x0, y0), (x1, y1) = regress.points
    assert y0 == y1 > 0
    assert x1 > x0
    for key in ("Space", "Shift+ArrowUp", "Space"):
        regress.page.keyboard.press(key)
    assert regress.points[1][1] > y1
    regress.page.keyboard.press("Delete")
    assert regress.points == [[x0, y0]]


def test_errors_are_in_place(regress: Regression, watch: SimpleNamespace) -> None:
    regress.example("line")
    regress.says("training error", regress_error(regress))
    regress.type("Degree d", "99")
    field = regress.panel.locator(".field", has=regress.page.get_by_label("Degree d", exact=True))
    expect(field.locator(".error")).to_have_text("degree must be between 0 and 30; it is 99.")
    excused(watch, "400")  # the browser tells of every refusal
    regress.type("Degree d", "1")
    regress.says("training error", regress_error(regress))
    expect(field.locator(".error")).to_have_text("")
    regress.type("Lambda λ", "much")
    wrong = regress.panel.locator(".field", has=regress.page.get_by_label("Lambda λ", exact=True)).locator(".error")
    expect(wrong).to_contain_text("“much” is not a number")
    assert regress.state["lambda"] == 0.01


@pytest.mark.parametrize("name", ["step", "outlier"])
def test_script_has_the_numbers_of_the_screen(
    regress: Regression, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    with regress.page.expect_response("**/api/regress") as found:
        regress.example(name)
    answer = found.value.json()
    regress.says("training error", answer["rmse"])
    regress.page.get_by_role("button", name="Share").click()
    regress.page.get_by_role("button", name="Python script").click()
    text = regress.page.locator("dialog pre").inner_text()
    regress.page.keyboard.press("Escape")
    ran: dict[str, Any] = {}
    exec(text, ran)
    residuals = ran["y"] - ran["model"].predict(ran["X"])
    regress.says("training error", float(np.sqrt(np.mean(residuals**2))))
    curve = np.array(answer["curve"])
    np.testing.assert_allclose(np.interp(curve[:, 0], ran["at"], ran["f"]), curve[:, 1], atol=1e-4)


def test_picture_is_saved(regress: Regression) -> None:
    regress.example("sine")
    expect(regress.panel.locator(".numbers dd").first).to_have_text(re.compile(r"\d"))
    with regress.page.expect_download() as found:
        regress.page.get_by_role("button", name="Share").click()
        regress.page.get_by_role("button", name="Save picture").click()
    image = pytest.importorskip("PIL.Image")
    with image.open(found.value.path()) as picture:
        assert picture.width > 1000
        colours = np.unique(np.asarray(picture.convert("RGB"))[::7, ::7].reshape(-1, 3), axis=0)
    assert len(colours) > 20


def test_narrow_screen(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    regress = Regression(opened(link(lab, "regress", {"points": []}), **PHONE))
    x, y = regress.at(0.3, 0.6)
    regress.page.touchscreen.tap(x, y)
    assert len(regress.points) == 1
    assert regress.page.evaluate("document.documentElement.scrollWidth") == 390
    assert regress.canvas.evaluate("(node) => getComputedStyle(node).touchAction") == "none"


def test_film_of_a_slider(opened: Callable[..., Any], lab: SimpleNamespace, browser: Any) -> None:
    """All degrees, each long enough to be seen; a slider that is off has no film."""
    tab = Regression(opened(link(lab, "regress")))
    tab.panel.get_by_label("λ = 0, no penalty").check()
    expect(tab.panel.get_by_role("button", name="Sweep Lambda λ")).to_be_disabled()
    with tab.page.expect_download(timeout=300_000) as download:
        tab.page.get_by_role("button", name="Share").click()
        expect(tab.page.get_by_role("button", name="Film: ")).to_have_text(["Film: sweep d"])
        tab.page.get_by_role("button", name="Film: sweep d").click()
    areas = [[0, 0, 1900, 700], [0, 800, 1900, 180], [0, 1010, 1900, 60]]
    film = decoded(browser, Path(download.value.path()).read_bytes(), [0.01, 0.4, 0.97], areas)
    assert (film["width"], film["height"]) == (1920, 1080)
    assert film["seconds"] == pytest.approx(8 + 1.5, abs=0.1)
    assert all(area["colours"] > 3 for picture in film["pictures"] for area in picture)
    assert len({picture[0]["mean"] for picture in film["pictures"]}) == 3
    assert tab.state["degree"] == 15
