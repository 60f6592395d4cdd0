"""The lab's page in a real browser: the story of Classify, undo, links, keyboard, a stopped server.

The modules' mathematics (contours, values between nodes, hulls, the way to the margin) is checked in the browser too,
against the formulas.
"""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import pytest
from lab_browser import PHONE, Requests, Tab, excused, expect, idle, link, ready, saved, serving, until, written_link

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES


class Classify(Tab):
    id = "classify"

    def example(self, name: str) -> None:
        self.panel.locator(f"[data-example={name}]").click()

    def comment(self, name: str) -> str:
        """A line of the comment window."""
        return self.panel.locator(f".comment dt:text-is('{name}') + dd").text_content()

    def says(self, name: str, pattern: str) -> None:
        line = self.page.locator(f".comment dt:text-is('{name}') + dd")
        expect(line).to_have_text(re.compile(pattern))


@pytest.fixture(scope="module")
def shared(opening: Callable[..., Any]) -> Classify:
    return Classify(opening())


@pytest.fixture
def classify(shared: Classify, quiet: None) -> Classify:
    """A page without points; one for all tests that need no more."""
    shared.page.keyboard.press("Escape")
    shared.go({"points": []})
    expect(shared.panel.get_by_text("in the plane to add a point")).to_be_visible()
    shared.page.keyboard.press("1")
    return shared


def number(text: str) -> float:
    return float(text.split()[0].replace(",", ""))


# ---- the story ------------------------------------------------------------------------------------------------------


def test_story(opened: Callable[..., Any]) -> None:
    page = opened()
    classify = Classify(page)
    expect(page.get_by_text("in the plane to add a point")).to_be_visible()
    classify.click(0.3, 0.5)
    expect(page.get_by_text("add a point of another class")).to_be_visible()
    page.keyboard.press("2")
    classify.click(0.6, 0.5)
    classify.says("support vectors", "^2 of 2")
    before = number(classify.comment("margin 2/|w|"))
    (x0, y0, c0), (x1, y1, c1) = classify.points
    assert (c0, c1) == (0, 1)
    assert before == pytest.approx(math.hypot(x1 - x0, y1 - y0), rel=1e-3)

    classify.drag((0.6, 0.5), (0.8, 0.4))
    classify.says("margin 2/|w|", rf"^(?!{before:.5g})")
    (x0, y0, _), (x1, y1, _) = classify.points
    after = pytest.approx(math.hypot(x1 - x0, y1 - y0), rel=1e-3)
    until(page, lambda: number(classify.comment("margin 2/|w|")) == after)

    classify.click(0.2, 0.2)
    classify.click(0.2, 0.8)
    assert len(classify.points) == 4
    classify.click(0.2, 0.8, button="right")
    assert len(classify.points) == 3
    page.keyboard.press("e")
    classify.click(0.2, 0.2)
    assert len(classify.points) == 2
    page.get_by_role("button", name="Clear").click()
    assert classify.points == []
    assert page.evaluate("window.shifts") < 0.01


def test_penalty_of_slack(classify: Classify) -> None:
    """A smaller C, a wider margin; and a hard margin that does not exist is proved not to."""
    classify.example("overlapping")
    margins = []
    for penalty in ("100", "1", "0.01"):
        classify.type("C", penalty)
        classify.says("C", f"^{penalty}$")
        margins.append(number(classify.comment("margin 2/|w|")))
    assert margins == sorted(margins)
    slider = classify.page.get_by_label("C", exact=True)
    slider.press("End")
    expect(classify.page.locator(".comment .alarm")).to_contain_text("No hard margin exists")
    assert classify.state["C"] == "inf"


def test_readout_follows_the_pointer(classify: Classify) -> None:
    classify.click(0.25, 0.5)
    classify.page.keyboard.press("2")
    classify.click(0.75, 0.5)
    classify.says("support vectors", "^2 of 2")
    readout = classify.page.locator(".readout")
    classify.page.mouse.move(*classify.at(0.5, 0.3))
    expect(readout).to_contain_text(re.compile(r"f\(x\) (−?0\.0|−?\d\S*e|0predicted)"))  # half-way between two points
    classify.page.mouse.move(*classify.at(0.75, 0.5))
    expect(readout).to_contain_text("on the margin, support vector")
    expect(readout).to_contain_text("slack 0")


def test_one_request_at_a_time(classify: Classify) -> None:
    before = Requests(classify.page, "/api/classify")
    classify.example("moons")
    classify.says("support vectors", "of 80")
    before.rest()
    requests = Requests(classify.page, "/api/classify")
    classify.drag((0.5, 0.1), (0.6, 0.9), steps=60)
    requests.rest(lambda: requests.asked[-1]["grid"] == [280, 280])  # at rest the picture is fine
    assert requests.most == 1
    assert {tuple(asked["grid"]) for asked in requests.asked[:-1]} == {(80, 80)}
    assert [asked["live"] for asked in requests.asked] == [True] * (len(requests.asked) - 1) + [False]


def paste(page: Any, text: str) -> None:
    page.evaluate(
        """(text) => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    }""",
        text,
    )


def test_many_points_are_watched(classify: Classify) -> None:
    page = classify.page
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(f"{request.method} {re.sub(r'fits/[^/]+', 'fits/ID', request.url)}")
    )
    rows = [f"{math.sin(k):.4f},{math.cos(3 * k) * 0.9:.4f},{int(math.sin(k) > 0.2)}" for k in range(1500)]
    paste(page, "\n".join(["x,y,class", *rows]))
    classify.says("support vectors", "of 1500")
    ends = {entry.split("/api/")[-1] for entry in asked if "/api/" in entry}
    assert {"fits", "fits/ID/events"} <= ends
    expect(page.locator(".comment .busy")).to_be_hidden()


def test_long_fit_is_cancelled(classify: Classify) -> None:
    """Of points without any order a hard margin takes long; the button ends it, and the page goes on."""
    page = classify.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    rows = [f"{math.sin(k * k):.4f},{math.cos(7 * k):.4f},{int(math.sin(k**3) > 0)}" for k in range(3000)]
    classify.type("C", "100000")
    classify.choose("Kernel", "rbf")
    paste(page, "\n".join(rows))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".comment .busy")).to_be_hidden()
    until(page, lambda: "DELETE" in asked)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("in the plane to add a point")).to_be_visible()


# ---- undo, links ----------------------------------------------------------------------------------------------------


def test_undo_and_redo(classify: Classify) -> None:
    page = classify.page
    classify.click(0.3, 0.4)
    classify.click(0.5, 0.6)
    two = classify.points
    classify.drag((0.5, 0.6), (0.7, 0.7))
    moved = classify.points
    assert moved != two
    page.keyboard.press("Control+z")
    assert classify.points == two
    page.get_by_role("button", name="Undo").click()
    assert classify.points == two[:1]
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+Shift+z")
    assert classify.points == moved
    assert page.get_by_role("button", name="Redo").is_disabled()
    page.keyboard.press("Control+z")
    classify.click(0.2, 0.2)  # a new change ends what could be redone
    assert page.get_by_role("button", name="Redo").is_disabled()


def test_link_holds_everything(classify: Classify, opened: Callable[..., Any]) -> None:
    classify.example("circles")
    classify.page.get_by_label("Gamma γ, exact value").fill("0.7")
    classify.page.keyboard.press("Enter")
    state, address = classify.state, classify.page.url
    assert state["kernel"] == {"name": "poly", "gamma": 0.7, "degree": 2, "coef0": 1}
    other = opened()
    other.goto(address)
    other.reload()
    ready(other)
    again = Classify(other)
    assert again.state == state
    assert other.get_by_label("Gamma γ, exact value").input_value() == "0.7"
    again.says("kernel", "degree 2")


def test_back_and_forward(classify: Classify) -> None:
    classify.example("xor")
    xor = classify.points
    classify.example("moons")
    moons = classify.points
    classify.page.go_back()
    assert classify.points == xor
    classify.page.go_forward()
    assert classify.points == moons


STRANGE = [
    {
        "v": 1,
        "at": "nowhere",
        "tabs": {"classify": {"points": [[1, "x", 0], [0, 0, 99], None, [1e300, 0, 1]], "C": -3}},
    },
    {"tabs": {"classify": {"kernel": {"name": "<b>"}, "view": {"x0": 1, "x1": 0, "y0": 0, "y1": 1}, "hidden": 3}}},
    {"tabs": [1, 2]},
    {"tabs": {"classify": [], "constructor": {}}},
]


def test_links_of_strangers(classify: Classify) -> None:
    """What a link holds is checked: wrong values are left out, the rest of the page works."""
    page = classify.page
    for k, state in enumerate(STRANGE):
        saved(page)
        page.evaluate(lab_browser.GO, state)
        if k == 0:
            page.reload()
            ready(page)
        page.locator("[data-example]").first.wait_for()
        saved(page)
        page.get_by_role("button", name="Clear").click()
        classify.click(0.5, 0.5)
        assert len(classify.points) == 1
        assert classify.state["C"] in (10, "inf")  # the default, or that of the first example
        assert classify.state["view"] == {"x0": -1, "x1": 1, "y0": -1, "y1": 1}


def test_storage_keeps_the_points(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    classify = Classify(opened())
    classify.example("xor")
    points = classify.points
    classify.page.goto("about:blank")
    classify.page.goto(lab.home)  # without the state in the address
    ready(classify.page)
    classify.page.keyboard.press("Control+z")  # there is nothing to undo yet
    assert classify.points == points
    classify.click(0.5, 0.02)
    assert classify.points[:-1] == points


# ---- keyboard, touch, errors ----------------------------------------------------------------------------------------


def test_keyboard_alone(opened: Callable[..., Any]) -> None:
    page = opened()
    classify = Classify(page)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            break
    press = page.keyboard.press
    for _ in range(3):
        press("Shift+ArrowLeft")
    press("Enter")
    press("2")
    for _ in range(6):
        press("Shift+ArrowRight")
    press("Enter")
    classify.says("support vectors", "^2 of 2")
    (x0, _, c0), (x1, y1, c1) = classify.points
    assert x0 < 0 < x1
    assert (c0, c1) == (0, 1)
    press(" ")
    press("ArrowUp")
    press("ArrowUp")
    press(" ")
    (_, _, _), (x2, y2, _) = classify.points
    assert x2 == x1
    assert y2 > y1
    press("n")
    press("Delete")
    assert classify.points == [[x2, y2, 1]]
    press("Control+z")
    assert len(classify.points) == 2
    press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "CANVAS"  # the plane is no trap


def test_everything_has_a_name(classify: Classify) -> None:
    assert classify.nameless() == []


def test_errors_stand_at_their_field(classify: Classify, watch: SimpleNamespace) -> None:
    page = classify.page
    classify.example("moons")
    classify.type("C", "much")
    expect(page.locator(".field.wrong .error")).to_contain_text("is not a positive number")
    classify.type("C", "1e15")
    expect(page.locator(".field.wrong .error")).to_contain_text("C must be between")
    classify.type("C", "10")
    expect(page.locator(".field.wrong")).to_have_count(0)
    assert len(watch.complaints) == 1  # the browser notes the refusal by itself
    excused(watch, "400")


def test_pasted_table(classify: Classify) -> None:
    page = classify.page
    page.get_by_role("button", name="Paste …").click()
    page.get_by_label("Table").fill("x;y;class\n10;20;cat\n12;21;dog\n11;24;cat")
    page.get_by_role("button", name="Use these points").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert classify.points == [[10, 20, 0], [12, 21, 1], [11, 24, 0]]
    view = classify.state["view"]
    assert view["x0"] < 10
    assert view["x1"] > 12
    assert view["y0"] < 20
    assert view["y1"] > 24


def test_phone(opened: Callable[..., Any]) -> None:
    page = opened(**PHONE, device_scale_factor=2)
    classify = Classify(page)
    page.touchscreen.tap(*classify.at(0.3, 0.5))
    page.get_by_role("radio", name=re.compile("class 2")).tap()
    page.touchscreen.tap(*classify.at(0.7, 0.5))
    classify.says("support vectors", "^2 of 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    plot, side = page.locator(".stage .plot:visible").bounding_box(), page.locator(".side").bounding_box()
    assert side["y"] >= plot["y"] + plot["height"]
    assert page.evaluate("window.shifts") < 0.01


def test_two_fingers_zoom(opened: Callable[..., Any]) -> None:
    """They come nearer to the middle between them, and the point that the first of them put there is taken back."""
    page = opened(**PHONE)
    classify = Classify(page)
    page.locator("[data-example]").first.wait_for()
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *places: tuple[float, float]) -> None:
        found = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(classify.at(*place) for place in places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

    fingers("touchStart", (0.4, 0.5))
    fingers("touchStart", (0.4, 0.5), (0.6, 0.5))
    for k in range(1, 6):
        fingers("touchMove", (0.4 - 0.02 * k, 0.5), (0.6 + 0.02 * k, 0.5))
    fingers("touchEnd", (0.3, 0.5))
    fingers("touchEnd")
    until(page, lambda: classify.state["view"]["x1"] < 0.9)
    state = classify.state
    assert state["points"] == []
    assert state["view"]["x1"] - state["view"]["x0"] == pytest.approx(2 / 2, rel=0.05)  # they are twice as far apart
    assert state["view"]["x0"] == pytest.approx(-state["view"]["x1"], abs=0.02)
    fingers("touchStart", (0.5, 0.5))
    fingers("touchEnd")
    assert len(classify.points) == 1
    assert page.get_by_role("button", name="Undo").get_attribute("title") == "Undo: Add a point"


def test_text_size_and_colours_are_kept(opened: Callable[..., Any]) -> None:
    page = opened()
    size = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
    before = page.evaluate(size)
    page.get_by_role("button", name="Larger text").click()
    page.get_by_role("button", name="Larger text").click()
    page.get_by_role("button", name="Light or dark").click()
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.locator("[data-example]").first.wait_for()
    assert page.evaluate(size) == pytest.approx(1.3 * before)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


# ---- sharing --------------------------------------------------------------------------------------------------------


def test_picture_is_saved(classify: Classify, tmp_path: Path) -> None:
    page = classify.page
    classify.example("three")
    classify.says("support vectors", "of 42")
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture (PNG)").click()
    target = tmp_path / "picture.png"
    download.value.save_as(target)
    content = target.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    box = classify.canvas.bounding_box()
    assert width == pytest.approx(2 * box["width"], abs=2)
    assert height > 2 * box["height"] + 40  # the legend is below


def test_script_is_shown(classify: Classify) -> None:
    page = classify.page
    classify.example("moons")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Python script").click()
    expect(page.get_by_role("dialog").locator("pre")).to_contain_text("from maxmargin import SVC")


def test_stopped_server(opened: Callable[..., Any], watch: SimpleNamespace) -> None:
    with serving() as server:
        page = opened(link(server, "classify", {"points": []}))
        classify = Classify(page)
        classify.click(0.3, 0.5)
        assert len(classify.points) == 1
        server.stop()
        classify.click(0.6, 0.5)
        banner = page.get_by_role("alert")
        expect(banner).to_contain_text("The lab has stopped: run maxmargin lab again, and this page goes on")
        address = page.evaluate("location.hash")
        classify.click(0.7, 0.7)
        until(page, lambda: page.evaluate("location.hash") != address)
        saved(page)
        kept = page.evaluate("JSON.parse(localStorage.getItem('maxmargin-lab.session')).tabs.classify.points")
        assert len(kept) == 3
        # started again at once, on the same port; the link of the new start lets the old page in too
        with serving(server.port, "another-token") as again:
            expect(banner).to_contain_text("The lab was started again")
            other = page.context.new_page()
            other.goto(again.link)
            ready(other)
            expect(banner).to_be_hidden()
            page.keyboard.press("2")
            classify.click(0.5, 0.2)
            classify.says("support vectors", "of 4 points")
    excused(watch, "ERR_CONNECTION", "403")


def test_first_visit_shows_an_example_and_invites(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(lab.link)
    classify = Classify(page)
    classify.says("support vectors", "^3 of 40")
    expect(page.get_by_text("Drag a point with a ring")).to_be_visible()
    expect(page.locator(".legend")).to_contain_text("class 2")
    assert page.locator(".side .field:visible label").all_inner_texts() == ["Kernel", "C", "Solver"]
    classify.drag((0.4, 0.55), (0.42, 0.5))
    expect(page.get_by_text("Drag a point with a ring")).to_be_hidden()


def test_nobody_is_invited_to_drag_rings_where_there_are_none(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "classify", {"example": "overlapping", "C": "inf"}))
    expect(page.locator(".alarm:visible")).to_contain_text("No hard margin exists")
    idle(page)
    expect(page.get_by_text("Drag a point with a ring")).to_be_hidden()


def test_present_mode_does_not_lose_the_focus_of_the_keyboard(opened: Callable[..., Any]) -> None:
    page = opened()
    page.get_by_role("button", name="Random").focus()
    page.keyboard.press("f")
    expect(page.locator("#panel-classify canvas").first).to_be_focused()  # the panel is hidden
    page.locator("#chips .menu > button").first.focus()
    page.keyboard.press("f")
    expect(page.get_by_role("button", name="Present full screen")).to_be_focused()


def test_present_mode_on_a_telephone_scrolls(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    """There is no room for all of it in large type: nothing may be cut off at the right, or lie on something else."""
    page = opened(link(lab, "digits"), **PHONE)
    page.keyboard.press("f")
    for tab in ("Digits", "Classify", "Lift", "Step by step", "Regression"):
        page.get_by_role("tab", name=tab, include_hidden=True).evaluate("(tab) => tab.click()")
        idle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        places = page.locator("main section:visible .stage > *:visible").evaluate_all(
            """(nodes) => nodes.filter((node) => getComputedStyle(node).position !== "sticky")
                .map((node) => node.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"""
        )
        assert all(above[1] <= below[0] + 1 for above, below in itertools.pairwise(places)), tab


def test_the_example_and_its_hint_are_in_the_link(
    classify: Classify, opened: Callable[..., Any], lab: SimpleNamespace
) -> None:
    classify.example("moons")
    note = classify.page.locator(".comment .note")
    expect(note).to_contain_text("Two half moons")
    assert classify.state["example"] == "moons"
    classify.example("xor")
    expect(note).to_contain_text("opposite corners")
    saved(classify.page)
    classify.page.go_back()
    expect(note).to_contain_text("Two half moons")
    expect(classify.page.locator("[data-example=moons]")).to_have_attribute("aria-pressed", "true")
    saved(classify.page)
    other = opened(lab.link + written_link(classify.page))
    expect(other.locator(".comment .note")).to_contain_text("Two half moons")


def test_a_scheme_for_several_classes_has_no_effect_on_two(classify: Classify) -> None:
    classify.example("three")
    classify.choose("Classes", "crammer_singer")
    classify.says("support vectors", "of 42")
    classify.example("separable")
    expect(classify.panel.get_by_label("Classes", exact=True)).to_be_hidden()
    classify.says("margin 2/|w|", "^0.5432")


def test_one_switch_between_sigma_and_gamma(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "classify"))
    classify = Classify(page)
    classify.example("moons")
    formula = classify.panel.locator(".formula")
    expect(formula).to_have_text("k(x, z) = exp(−|x − z|² / 2σ²)")
    classify.type("Sigma σ", "0.5")
    assert classify.state["kernel"]["gamma"] == 2
    classify.panel.get_by_role("radio", name="Give it as γ").click()
    expect(formula).to_have_text("k(x, z) = exp(−γ |x − z|²)")
    expect(classify.panel.get_by_label("Gamma γ, exact value")).to_have_value("2")
    page.get_by_role("tab", name="Regression").click()
    regression = page.locator("#panel-regress")
    regression.get_by_label("Model", exact=True).select_option("ridge_gauss")
    expect(regression.locator(".formula")).to_have_text("f(x) = Σ wⱼ exp(−γ (x − cⱼ)²)")
    expect(regression.get_by_label("Gamma γ", exact=True)).to_be_visible()


def test_ties_are_hatched_and_named(classify: Classify) -> None:
    classify.example("three")
    expect(classify.page.locator(".legend")).to_contain_text("tie of votes")
    classify.choose("Classes", "ovr")
    expect(classify.page.get_by_text("tie of votes")).to_be_hidden()


# ---- the modules' mathematics ---------------------------------------------------------------------------------------


GRID = """
const make = (f, n, view = { x0: -2, x1: 2, y0: -1, y1: 3 }) => {
  const values = new Float32Array(n * n);
  for (let j = 0; j < n; j++) for (let i = 0; i < n; i++)
    values[j * n + i] = f(view.x0 + (i * (view.x1 - view.x0)) / (n - 1), view.y0 + (j * (view.y1 - view.y0)) / (n - 1));
  return { view, nx: n, ny: n, values };
};
"""


def test_contours_lie_on_their_level(modules: Any) -> None:
    """On a circle of radius 0.9 about (0.2, 1): the error of linear interpolation is of second order in the cell."""
    ends = {}
    for n in (41, 81):
        ends[n] = modules.evaluate(
            f"""import('/static/js/grid.js').then(({{ contour }}) => {{ {GRID}
            return [...contour(make((x, y) => (x - 0.2) ** 2 + (y - 1) ** 2, {n}), 0.81)]; }})"""
        )
    errors = {}
    for n, flat in ends.items():
        radii = [math.hypot(x - 0.2, y - 1) for x, y in zip(flat[::2], flat[1::2], strict=True)]
        errors[n] = max(abs(r - 0.9) for r in radii)
        angles = sorted(math.atan2(y - 1, x - 0.2) for x, y in zip(flat[::2], flat[1::2], strict=True))
        assert max(b - a for a, b in itertools.pairwise(angles)) < 0.3  # all the way round
        length = sum(math.hypot(flat[k] - flat[k + 2], flat[k + 1] - flat[k + 3]) for k in range(0, len(flat), 4))
        assert length == pytest.approx(2 * math.pi * 0.9, rel=0.01)
    assert errors[41] < 0.1**2 / (8 * 0.9) * 1.2
    assert errors[81] < errors[41] / 2.5


def test_contours_of_a_saddle_do_not_cross(modules: Any) -> None:
    """x y = +-0.01 in one cell about the origin: two branches in opposite quadrants."""
    for level, sign in ((0.01, 1), (-0.01, -1)):
        flat = modules.evaluate(
            f"""import('/static/js/grid.js').then(({{ contour }}) => {{ {GRID}
            return [...contour(make((x, y) => x * y, 2, {{ x0: -1, x1: 1, y0: -1, y1: 1 }}), {level})]; }})"""
        )
        assert len(flat) == 8
        for x0, y0, x1, y1 in (flat[:4], flat[4:]):
            middle_x, middle_y = (x0 + x1) / 2, (y0 + y1) / 2
            assert middle_x * middle_y * sign > 0


def test_values_between_nodes(modules: Any) -> None:
    """Bilinear functions are met exactly, and outside there is nothing."""
    found = modules.evaluate(
        f"""import('/static/js/grid.js').then(({{ valueAt }}) => {{ {GRID}
        const grid = make((x, y) => 1 + 2 * x - y + 0.5 * x * y, 9);
        const inside = [[0.3, 0.7], [2, 3], [-2, -1]].map(([x, y]) => valueAt(grid, x, y));
        return [...inside, String(valueAt(grid, 2.01, 0))]; }})"""
    )
    exact = [1 + 2 * x - y + 0.5 * x * y for x, y in ((0.3, 0.7), (2, 3), (-2, -1))]
    assert found[:3] == pytest.approx(exact, abs=1e-5)
    assert found[3] == "NaN"


def test_way_to_the_margin(modules: Any) -> None:
    """With f = w'x + b the way is the perpendicular, of length slack / |w|."""
    for sign in (1, -1):
        path = modules.evaluate(
            f"""import('/static/js/classify/picture.js').then(({{ toMargin }}) => {{ {GRID}
            const {{ view, nx, ny, values }} = make((x, y) => 1.5 * x + 2 * y - 2, 81);
            return toMargin({{ view, nx, ny, planes: [values] }}, 0.1, 0.8, {sign}); }})"""
        )
        x, y = path[-1]
        f0, f1 = (1.5 * u + 2 * v - 2 for u, v in (path[0], path[-1]))
        assert sign * f1 == pytest.approx(1, abs=1e-4)
        assert math.hypot(x - 0.1, y - 0.8) == pytest.approx((1 - sign * f0) / 2.5, rel=1e-3)


def test_borders_of_votes_are_no_staircase(modules: Any) -> None:
    """Votes of three models f_ij = s_i - s_j with linear s: the borders are where the two largest s are equal."""
    slopes = [(1.0, 0.3, 0.1), (-0.8, 0.6, 0.0), (0.1, -1.2, -0.2)]
    found = modules.evaluate(
        f"""(slopes) => import('/static/js/classify/answer.js').then(({{ prepared }}) => {{ {GRID}
        const n = 41;
        const {{ view, values }} = make(() => 0, n);
        const s = slopes.map(([a, b, c]) => make((x, y) => a * x + b * y + c, n).values);
        const pairs = [[0, 1], [0, 2], [1, 2]].map(([i, j]) => s[i].map((value, k) => value - s[j][k]));
        const planes = s.map((own) => own.map((value, k) => s.filter((other) => value > other[k]).length));
        const points = [];
        return prepared({{ points }}, {{ view, nx: n, ny: n, planes, pairs, ids: [] }}).lines.borders; }})""",
        slopes,
    )
    gaps = []
    for x, y in zip(found[::2], found[1::2], strict=True):
        scores = sorted(a * x + b * y + c for a, b, c in slopes)
        gaps.append(scores[2] - scores[1])
    assert len(gaps) > 100
    assert sorted(gaps)[len(gaps) * 9 // 10] < 1e-5  # all but the few pieces in the cell where three classes meet
    assert max(gaps) < 0.3


def test_borders_where_the_votes_are_equal(modules: Any) -> None:
    """Three models whose lines f_01, f_02, f_12 = 0 do not meet in a point: in the triangle between them each class
    has one vote. Its rim lies on these lines."""
    lines = [(1.0, 0.2, -0.05), (0.3, -1.0, 0.9), (-0.9, -0.9, 1.4)]  # a x + b y + c of the pairs 01, 02, 12
    found = modules.evaluate(
        f"""(lines) => import('/static/js/classify/answer.js').then(({{ prepared }}) => {{ {GRID}
        const n = 61;
        const pairs = lines.map(([a, b, c]) => make((x, y) => a * x + b * y + c, n).values);
        const [p, q, r] = pairs;
        const votes = [(k) => (p[k] > 0) + (q[k] > 0), (k) => (p[k] < 0) + (r[k] > 0), (k) => (q[k] < 0) + (r[k] < 0)];
        const sums = [(k) => p[k] + q[k], (k) => r[k] - p[k], (k) => -q[k] - r[k]];
        const squeezed = (c) => c / (3 * (Math.abs(c) + 1));
        const planes = votes.map((vote, i) => Float32Array.from(p, (_, k) => vote(k) + squeezed(sums[i](k))));
        const about = {{ view: make(() => 0, n).view, nx: n, ny: n, planes, pairs, ids: [] }};
        return prepared({{ points: [] }}, about).lines.borders; }})""",
        lines,
    )

    def sums(x: float, y: float) -> list[float]:
        p, q, r = (a * x + b * y + c for a, b, c in lines)
        return sorted([p + q, r - p, -q - r])

    off = []
    for x, y in zip(found[::2], found[1::2], strict=True):
        on_a_line = min(abs(a * x + b * y + c) for a, b, c in lines)
        off.append(min(on_a_line, sums(x, y)[2] - sums(x, y)[1]))  # inside, where two confidences are equal
    assert len(off) > 200
    # cells are 0.067 wide; all but the pieces in the corners of the triangle
    assert sorted(off)[len(off) * 95 // 100] < 0.005


def test_hulls(modules: Any) -> None:
    hull = modules.evaluate(
        """import('/static/js/classify/proof.js').then(({ hull }) =>
        hull([[0, 0], [2, 0], [1, 0], [2, 2], [0, 2], [1, 1], [0.5, 1.5], [0, 1]]))"""
    )
    assert sorted(hull) == [[0, 0], [0, 2], [2, 0], [2, 2]]


def test_links_are_read_as_they_were_written(modules: Any) -> None:
    state = {"v": 1, "tabs": {"classify": {"points": [[0.1, -2.5, 3]] * 500, "C": "inf", "text": "γ ≤ ∞"}}}
    read = "(text) => import('/static/js/state.js').then((m) => m.decode(text))"
    link = modules.evaluate("(state) => import('/static/js/state.js').then((m) => m.encode(state))", state)
    assert len(link) < 400  # it is compressed
    assert re.fullmatch(r"d\.[\w-]+", link)
    assert modules.evaluate(read, f"#{link}") == state
    for broken in ("", "#", "#main", "#d.AAAA", f"#{link[:-9]}", "#j.e30x", "#d." + "A" * 999, "#x.e30"):
        assert modules.evaluate(read, broken) is None


def test_numbers_as_people_write_them(modules: Any) -> None:
    found = modules.evaluate(
        """import('/static/js/controls.js').then(({ parseNumber }) =>
        ["1e3", " 0,5", "−2", ".5", "5.", "inf", "abc", "", "1 2", "0x10", "1e999"].map((text) => parseNumber(text)))"""
    )
    assert found == [1000, 0.5, -2, 0.5, 5, None, None, None, None, None, None]
    assert modules.evaluate(
        "import('/static/js/controls.js').then(({ parseNumber }) => parseNumber(' ∞ ', true) === Infinity)"
    )


def test_present_mode_shows_the_numbers_that_there_are(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    """One class has a nu and no margin; without a hard margin there is only C."""
    one = [[0.1 * k, (-0.2) ** k, 0] for k in range(8)]
    page = opened(link(lab, "classify", {"points": one}))
    page.keyboard.press("f")
    names = page.locator(".overlay span:visible")
    expect(names).to_have_text([re.compile("support vectors"), re.compile("outside"), re.compile(r"^0\.\d+ν$")])
    expect(page.locator("#chips .menu > button:visible").last).to_have_text(re.compile("^ν = "))
    Classify(page).go({"example": "overlapping", "C": "inf"})
    expect(names).to_have_text(["∞C"])


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (3840, 2160)])
def test_present_mode_fills_the_screen_at_the_largest_font(opened: Callable[..., Any], width: int, height: int) -> None:
    page = opened(width=width, height=height)
    classify = Classify(page)
    for _ in range(4):
        page.get_by_role("button", name="Larger text").click()
    classify.example("moons")
    classify.says("support vectors", "of 80")
    page.keyboard.press("f")
    chips = page.locator("#chips .menu > button")
    expect(chips).to_have_text(["Gaussian (RBF)", "σ = 0.3162", "C = 10"])
    expect(page.locator(".overlay b").first).to_have_text(re.compile(r"^\d+$"))
    rem = page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    assert rem == pytest.approx(0.0245 * 1.15 * height, rel=0.01)
    beyond = """() => [...document.querySelectorAll("main *, #chips *")].filter((node) => {
        const box = node.getBoundingClientRect();
        const seen = node.checkVisibility() && box.width > 1 && !node.closest("svg, .hint, [aria-hidden] canvas");
        return seen && (box.right > innerWidth + 1 || box.bottom > innerHeight + 1 || box.left < -1 || box.top < -1);
    }).map((node) => node.outerHTML.slice(0, 120))"""
    assert page.evaluate(beyond) == []
    for tab in ("Digits", "Regression", "Lift", "Step by step"):
        page.get_by_role("tab", name=tab, include_hidden=True).evaluate("(tab) => tab.click()")
        idle(page)
        assert page.evaluate(beyond) == [], tab
    expect(page.locator("#panel-step .place").first).to_contain_text("step 0")
    assert page.locator("#panel-step canvas.charts").first.is_visible()
    expect(chips.last).to_have_text("C = 5")
    chips.last.click()
    expect(page.locator("#chips").get_by_label("C", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    expect(page.locator("#chips")).to_be_hidden()
    expect(page.locator("#panel-step").get_by_label("Kernel")).to_be_visible()


def test_losses_of_the_points(classify: Classify) -> None:
    """Every point stands on the hinge at its y f; the chart is hidden where there are more than two classes."""
    page = classify.page
    page.evaluate("""() => {
        window.dots = [];
        const arc = CanvasRenderingContext2D.prototype.arc;
        CanvasRenderingContext2D.prototype.arc = function (x, y, ...rest) {
            if (this.canvas.closest(".losses")) window.dots.push([x, y]);
            arc.call(this, x, y, ...rest);
        };
    }""")
    classify.example("overlapping")
    classify.says("support vectors", "of 80")
    page.get_by_text("Losses of the points").click()
    until(page, lambda: page.evaluate("dots.length") >= 40)  # circles are of class 1, which has 40 points
    classify.example("three")
    expect(page.locator(".losses")).to_be_hidden()


def test_sweep_moves_a_slider_from_end_to_end(classify: Classify) -> None:
    classify.example("overlapping")
    classify.says("C", "^1$")
    requests = Requests(classify.page, "/api/classify")
    sweep = classify.panel.get_by_role("button", name="Sweep C")
    sweep.click()
    until(classify.page, lambda: len({asked["C"] for asked in requests.asked}) > 3)
    sweep.click()
    expect(sweep).to_have_attribute("aria-pressed", "false")
    requests.rest(lambda: requests.asked[-1]["live"] is False)
    steps = [asked["C"] for asked in requests.asked if asked["live"]]
    assert steps == sorted(steps)
    assert steps[0] < 0.1
    classify.page.keyboard.press("Control+z")
    assert classify.state["C"] == 1


@pytest.mark.parametrize("at", ["classify", "step", "lift", "regress", "digits"])
def test_what_screen_readers_need(opened: Callable[..., Any], lab: SimpleNamespace, at: str) -> None:
    """Names contain the text on the screen, lists of terms have terms, and in present mode the heading stays."""
    page = opened(link(lab, at))
    idle(page)
    page.locator("details:visible").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    other_names = """() => [...document.querySelectorAll("button[aria-label]")].filter((node) => {
        const words = (text) => text.toLowerCase().match(/[\\p{L}\\p{N}]+/gu) ?? [];
        const name = words(node.getAttribute("aria-label"));
        return words(node.innerText).some((word) => !name.includes(word));
    }).map((node) => node.outerHTML)"""
    assert page.evaluate(other_names) == []
    assert page.locator("dl:has(> *):not(:has(dt))").count() == 0
    page.keyboard.press("f")
    expect(page.locator("header #chips")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    if at == "regress":
        expect(page.locator("#chips .menu:visible > button")).to_have_text(["Ridge, powers of x", "d = 1", "λ = 0.01"])


@pytest.mark.parametrize(("width", "height", "rem"), [(1280, 720, 15), (1920, 1080, 18.58), (3840, 2160, 37.15)])
def test_text_grows_with_the_screen(opened: Callable[..., Any], width: int, height: int, rem: float) -> None:
    page = opened(width=width, height=height)
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == pytest.approx(
        rem, abs=0.1
    )
    page.set_viewport_size({"width": 1280, "height": 720})
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == 15
