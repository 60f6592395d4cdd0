"""Guided tours: those of the lab go through, one's own are opened from a file, and mistakes name their line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import lab_browser
import pytest
from lab_browser import expect, idle, link, ready, saved, written_link

from maxmargin.lab.presets import presets, tours

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES


@pytest.mark.parametrize("tour", tours(), ids=lambda tour: tour["id"])
def test_tours_name_what_there_is(tour: dict[str, Any]) -> None:
    known = {preset["id"] for preset in presets()} | {"six", "mixed"}
    for step in tour["steps"]:
        assert set(step) == {"text", "watch", "at", "state"}
        assert step["state"]["example"] in known


def test_a_tour_goes_forth_and_back_and_its_link_holds_it(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(lab.link)
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="From lines to kernels").click()
    strip = page.locator("#tour")
    steps = tours()[1]["steps"]
    for k, step in enumerate(steps):
        expect(strip.locator(".text")).to_have_text(step["text"])
        expect(strip.locator("b")).to_have_text(f"From lines to kernels, {k + 1} of {len(steps)}")
        expect(page.locator(f"#panel-{step['at']}")).to_be_visible()
        if k + 1 < len(steps):
            strip.get_by_role("button", name="Next").click()
    idle(page)
    expect(page.locator("#panel-classify .comment")).to_contain_text("σ = 0.1")
    strip.get_by_role("button", name="Back").click()
    expect(strip.locator(".text")).to_have_text(steps[-2]["text"])
    saved(page)
    other = opened(lab.link + written_link(page))
    expect(other.locator("#tour .text")).to_have_text(steps[-2]["text"])
    strip.get_by_role("button", name="End the tour").click()
    expect(strip).to_be_hidden()


def test_a_tour_by_the_keyboard_alone(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(lab.link)
    page.get_by_role("button", name="Tours").focus()
    page.keyboard.press("Enter")
    for key, title in [("ArrowDown", "From lines to kernels"), ("ArrowUp", "The margin")]:
        page.keyboard.press(key)
        expect(page.get_by_role("button", name=title)).to_be_focused()
    page.keyboard.press("Enter")
    strip = page.locator("#tour")
    for number in (1, 2, 3):
        expect(strip.locator("b")).to_have_text(f"The margin, {number} of 6")
        expect(strip.get_by_role("button", name="Next")).to_be_focused()
        page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(strip.get_by_role("button", name="End the tour")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Tours")).to_be_focused()


def test_after_a_press_on_next_the_keys_are_the_player_s(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(lab.link)
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="How solvers think").click()
    page.locator("#tour").get_by_role("button", name="Next").click()
    expect(page.locator("#tour b")).to_have_text("How solvers think, 2 of 6")
    expect(page.locator("#panel-step .place").first).to_contain_text(
        re.compile(r"step 0 of 2[12]\b")
    )  # rounding breaks a tie
    page.keyboard.press("Space")
    expect(page.locator("#panel-step").get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#tour b")).to_have_text("How solvers think, 2 of 6")


def open_tour(page: Any, files: list[dict[str, Any]]) -> None:
    """By the menu, as a user does."""
    page.get_by_role("button", name="Tours").click()
    with page.expect_file_chooser() as found:
        page.get_by_role("button", name="Open a tour file").click()
    found.value.set_files(files)


def test_a_tour_of_one_s_own(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(lab.link)
    text = {"title": "Mine", "steps": [{"text": "Look here.", "at": "classify", "state": {"example": "xor"}}]}
    files = [{"name": "tour.json", "mimeType": "application/json", "buffer": json.dumps(text).encode()}]
    open_tour(page, files)
    expect(page.locator("#tour .text")).to_have_text("Look here.")
    expect(page.locator("[data-example=xor]")).to_have_attribute("aria-pressed", "true")
    saved(page)
    page.reload()
    ready(page)
    expect(page.locator("#tour .text")).to_have_text("Look here.")
    files[0]["buffer"] = (
        b'{"title": "Mine",\n"steps": [\n{"text": "a", "at": "classify"},\n{"text": "b", "at": "lfit"}]}'
    )
    open_tour(page, files)
    expect(page.locator("#toast")).to_contain_text('Line 4 of the tour: step 2 has "at": "lfit"; it must be one of')
    expect(page.locator("#tour .text")).to_have_text("Look here.")


def _tour(step: str) -> str:
    """A tour of one step, which begins in line 2 and goes on in line 3."""
    return '{"title": "a", "steps": [\n{"text": "b",\n' + step + "}]}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"title": "a",\n"steps": [}', "Line 2 of the tour is not JSON from “}” on"),
        ('{"title": "a"\n"steps": []\n\n}', 'Line 2 of the tour is not JSON from “"steps'),
        ('{"title": "a",\n"steps": [tru],\n"x": 1}', "Line 2 of the tour is not JSON from “tru"),
        ('{"title": "a",\n"steps": [\n', "Line 3 of the tour is not JSON: it ends too early"),
        ('{"title": "a"} {}\n', "Line 1 of the tour is not JSON from “{}” on"),
        (
            _tour('"at": "classify",\n"state": {\n"exampel": "xor"}'),
            'Line 5 of the tour: step 1 has an unknown "exampel"',
        ),
        (_tour('"at": "classify",\n"state": {"example":\n"xr"}'), 'Line 4 of the tour: step 1 has "example": "xr"'),
        (_tour('"at": "classify",\n"state": {\n"C": "ten"}'), 'Line 5 of the tour: step 1 has "C": "ten"; it must be'),
        (_tour('"at": "step",\n\n"state": {"kernel": "rbf"}'), 'Line 5 of the tour: step 1 has the kernel "rbf"'),
        (_tour('"at": "step",\n"state": {"solver": "sgd"}'), 'Line 4 of the tour: step 1 has "solver": "sgd"'),
        (_tour('"at": "lift", "wacht": "b"'), 'Line 3 of the tour: step 1 has an unknown "wacht"'),
        (_tour('"at": "lift",\n"state": {"points": [[0, 1]]}'), 'Line 4 of the tour: step 1 has "points" that'),
        (
            '{"title": "a",\n"steps": [{"text": "b", "at": "lift",\n"state": {"m[ap": "polar"}}]}',
            'Line 3 of the tour: step 1 has an unknown "m[ap"',
        ),
        ("[]", 'Line 1 of the tour: give the tour a "title".'),
        ('{"title": "a", "steps": []}', 'Line 1 of the tour: "steps" must be'),
        ('{"title": "a}{", "steps": [\n{"at": "step"}]}', 'Line 2 of the tour: step 1 has no "text".'),
        ('{"title": "a", "steps": [\n\n{"text": "b", "at": "step", "state": 3}]}', "Line 3 of the tour: step 1 has a"),
    ],
)
def test_mistakes_name_their_line(modules: Any, text: str, sentence: str) -> None:
    found = modules.evaluate(
        """(text) => import('/static/js/tourfile.js').then(({ parseTour }) => {
            try { parseTour(text, ["xor"]); } catch (error) { return error.message; }
        })""",
        text,
    )
    assert found.startswith(sentence)


@pytest.mark.parametrize("tab", ["classify", "step", "lift", "regress", "digits"])
def test_whatever_a_tab_puts_into_a_link_may_stand_in_a_tour(opened: Callable[..., Any], lab: Any, tab: str) -> None:
    """Lecturers copy a state from a link: nothing in it is an unknown key or value. So are the tours of the lab."""
    page = opened(link(lab, tab, {"second": "pegasos", "holdout": True, "probability": True, "noise": 0.1, "nu": 0.2}))
    idle(page)
    if tab == "classify":
        page.keyboard.press("b")
        idle(page)
    saved(page)
    check = """async ([tab, tours, examples]) => {
            const { mistake } = await import('/static/js/tourfile.js');
            const { decode } = await import('/static/js/state.js');
            const { tabs } = await decode(location.hash);
            const own = { title: "a", steps: [{ text: "b", at: tab, state: tabs[tab] }] };
            return [Object.keys(tabs[tab]).length, ...[own, ...tours].map((tour) => mistake(tour, examples))];
        }"""
    keys, *found = page.evaluate(check, [tab, tours(), [preset["id"] for preset in presets()]])
    assert keys > 0
    assert found == [None] * len(found)
