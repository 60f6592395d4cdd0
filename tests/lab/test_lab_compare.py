"""Two models side by side, films of sweeps, and what saved pictures and screen readers are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import lab_browser
import pytest
from lab_browser import PHONE, Requests, Tab, decoded, expect, idle, link, until, written_link

from maxmargin import SVC
from maxmargin.lab.presets import presets

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

MOONS = next(item for item in presets() if item["id"] == "moons")["points"]
SEPARABLE = next(item for item in presets() if item["id"] == "separable")["points"]


class Classify(Tab):
    id = "classify"


def texts_of_canvases(page: Any) -> None:
    """Keeps what is written on canvases that are not on the page: pictures to save, films."""
    page.evaluate("""() => {
        window.written = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            if (!this.canvas.isConnected) window.written.push(text);
            write.call(this, text, ...rest);
        };
    }""")


def save(page: Any, item: str) -> Any:
    with page.expect_download() as found:
        page.get_by_role("button", name="Share").click()
        page.get_by_role("button", name=item).click()
    return found.value


def test_two_models_on_the_same_points(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "moons"})))
    page = tab.page
    second = Requests(page, "/api/compare")
    captions = tab.panel.locator(".caption")
    expect(captions.first).to_be_hidden()
    tab.panel.get_by_role("button", name="compare two models").click()
    expect(captions.last).to_have_text(
        re.compile(r"^B: Gaussian \(RBF\) kernel, σ = 0.316, C = 10, \d+ support vectors")
    )
    field = tab.panel.get_by_role("group", name="Model B").get_by_label("Sigma σ, exact value")
    field.fill("0.1")
    field.press("Enter")
    X, y = [row[:2] for row in MOONS], [row[2] for row in MOONS]
    n = SVC(kernel="rbf", gamma=50.0, C=10.0, tol=1e-5).fit(X, y).report_.n_support
    expect(captions.last).to_contain_text(f"σ = 0.1, C = 10, {n} support vectors")
    expect(captions.first).to_contain_text("A: Gaussian (RBF) kernel, σ = 0.316")
    assert tab.state["compare"] == {"kernel": {"name": "rbf", "gamma": 50}, "C": 10}
    assert tab.state["kernel"]["gamma"] == pytest.approx(5)
    # a point that moves on one plane moves both models, and each begins at its own multipliers
    before = second.asked[-1]["points"]
    tab.drag((0.5, 0.2), (0.55, 0.25))
    tab.click(0.5, 0.9)
    second.rest(lambda: len(second.asked[-1]["points"]) == len(before) + 1)
    left, right = (canvas.bounding_box() for canvas in tab.panel.locator(".planes canvas").all())
    assert left["width"] == pytest.approx(right["width"], abs=1)
    texts_of_canvases(page)
    save(page, "Save picture")
    written = page.evaluate("written.join(' | ')")
    assert "σ = 0.316, C = 10" in written
    assert "σ = 0.1, C = 10" in written
    other = Classify(opened(lab.link + written_link(page)))
    expect(other.panel.locator(".caption").last).to_contain_text("σ = 0.1")
    page.keyboard.press("b")
    expect(captions.first).to_be_hidden()
    assert "compare" not in tab.state


def test_captions_cover_no_points(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    state = {"example": "overlapping", "compare": {"kernel": {"name": "linear"}, "C": 10, "loss": "count"}}
    for size in ({"width": 1280, "height": 720}, PHONE):
        page = opened(link(lab, "classify", state), **size)
        captions = page.locator("#panel-classify .caption")
        expect(captions.last).to_contain_text("B: counts errors")
        for k in (0, 1):
            caption, canvas = captions.nth(k), page.locator("#panel-classify .planes canvas").nth(k)
            place, plane = caption.bounding_box(), canvas.bounding_box()
            assert place["y"] >= plane["y"] + plane["height"]
            assert caption.evaluate("(node) => node.scrollHeight - node.clientHeight") <= 1


def test_present_mode_has_chips_of_both_models(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "moons"})))
    tab.page.keyboard.press("f")
    chips = tab.page.locator("#chips .menu:visible > button")
    expect(chips).to_have_text(["Gaussian (RBF)", "σ = 0.3162", "C = 10"])
    tab.page.keyboard.press("b")
    expect(chips).to_have_text(
        ["Gaussian (RBF)", "σ = 0.3162", "C = 10", "B: Gaussian (RBF)", "B: σ = 0.3162", "B: C = 10"]
    )
    expect(tab.panel.locator(".overlay")).to_be_hidden()
    tab.page.keyboard.press("b")
    expect(chips).to_have_count(3)
    expect(tab.panel.locator(".overlay")).to_be_visible()


def test_strange_second_model(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    given = {"example": "moons", "compare": {"kernel": {"name": "<b>", "gamma": "x"}, "C": -3}}
    tab = Classify(opened(link(lab, "classify", given)))
    expect(tab.panel.locator(".caption").last).to_contain_text("B: Linear kernel, C = ")


def test_errors_are_counted_beside_the_hinge(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "outlier", "C": 5})))
    tab.page.keyboard.press("b")
    second = tab.panel.get_by_role("group", name="Model B")
    caption = tab.panel.locator(".caption").last
    expect(caption).to_contain_text("B: Linear kernel, C = 5")
    second.get_by_label("Loss").select_option("count")
    # the outlier is one error, and the margin that of the others: |w|^2 = 4 / 0.543^2
    expect(caption).to_contain_text("B: counts errors, C = 5: margin 0.543, 1 point inside it or on the wrong side")
    expect(caption).to_contain_text("|w|² + C · 1 = 18.6")
    assert tab.state["compare"] == {"kernel": {"name": "linear"}, "C": 5, "loss": "count"}
    other = Classify(opened(lab.link + written_link(tab.page)))
    expect(other.panel.locator(".caption").last).to_contain_text("B: counts errors")
    second.get_by_label("Kernel").select_option("rbf")  # a kernel has no such loss
    expect(second.get_by_label("Loss")).to_be_hidden()
    expect(caption).to_contain_text("B: Gaussian (RBF) kernel")
    assert "loss" not in tab.state["compare"]


def test_film_of_a_sweep(opened: Callable[..., Any], lab: SimpleNamespace, browser: Any) -> None:
    tab = Classify(opened(link(lab, "classify", {"example": "moons"})))
    page = tab.page
    idle(page)
    texts_of_canvases(page)
    with page.expect_download() as found:
        page.get_by_role("button", name="Share").click()
        page.get_by_role("button", name="Film: sweep C").click()
        captions = lambda: {text for text in page.evaluate("written") if "C = " in text}  # noqa: E731
        until(page, lambda: len(captions()) > 12)
        tab.panel.get_by_role("button", name="Sweep C").first.click()
    assert found.value.suggested_filename == "maxmargin-classify-sweep.webm"
    areas = [[100, 20, 1700, 800], [0, 900, 1900, 160]]  # the plane; its caption and legend
    film = decoded(browser, found.value.path().read_bytes(), [0.0, 0.9], areas)
    assert (film["width"], film["height"]) == (1920, 1080)
    assert film["seconds"] >= 12 * 0.04
    assert all(area["colours"] > 3 for picture in film["pictures"] for area in picture)
    assert film["pictures"][0] != film["pictures"][1]
    # every picture is of the C that it names: the first of the smallest, and none is left out
    notches = [re.search(r"C = ([\d.]+)", text)[1] for text in page.evaluate("written") if "C = " in text]
    assert notches[0] == "0.01"
    assert list(dict.fromkeys(notches))[:3] == ["0.01", "0.011", "0.012"]
    page.get_by_role("tab", name="Regression").click()
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("button", name="Film: sweep C")).to_have_count(0)


def test_caption_and_legend_of_a_saved_picture(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(
        opened(link(lab, "classify", {"points": SEPARABLE, "kernel": {"name": "rbf", "gamma": 2}, "C": "inf"}))
    )
    idle(tab.page)
    texts_of_canvases(tab.page)
    save(tab.page, "Save picture")
    written = tab.page.evaluate("written")
    assert any(
        re.match(r"Gaussian \(RBF\) kernel, σ = 0.5, C = ∞, \d+ support vectors, margin [\d.]+", text)
        for text in written
    )
    assert {"class 1", "class 2", "support vector on the margin", "inside the margin", "on the wrong side"} <= set(
        written
    )


def test_screen_readers_hear_words_apart(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Classify(opened(link(lab, "classify", {"points": SEPARABLE, "C": "inf"})))
    idle(tab.page)
    expect(tab.page.locator("#live")).to_have_text("3 support vectors, margin 0.543, 0 on the wrong side")
    tab.canvas.focus()
    tab.page.keyboard.press("n")
    said = tab.page.locator("#live")
    expect(said).to_have_text(
        re.compile(r"^x −?[\d.]+, −?[\d.]+, f −?[\d.]+, α [\d.]+, slack [\d.]+, class \d [a-z ]+(, support vector)?$")
    )
