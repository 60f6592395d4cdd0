"""Rules of accessibility on each tab, light and dark, in the served page and the exported one.

Names of controls, references between elements, identifiers, landmarks, and the contrast of every text on its ground.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import pytest
from lab_browser import expect, idle, link, ready

from maxmargin.lab import export

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

TABS = ("classify", "step", "lift", "regress", "digits")
BROKEN = (Path(__file__).parent / "accessible.js").read_text(encoding="utf-8")


def test_the_rules_find_what_is_broken(opened: Callable[..., Any]) -> None:
    page = opened()
    page.evaluate("""() => {
        const added = `<p id="pale">pale</p><button></button><i id="tabs"></i><b aria-labelledby="nobody">x</b>`;
        document.body.insertAdjacentHTML("beforeend", added);
        Object.assign(document.getElementById("pale").style, { color: "#bbb", background: "#fff" });
    }""")
    words = " ".join(page.evaluate(BROKEN))
    for rule in ("contrast 1.9", "outside of landmarks", "no name", "twice: tabs", "aria-labelledby leads nowhere"):
        assert rule in words


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("tab", TABS)
def test_served(opened: Callable[..., Any], lab: SimpleNamespace, tab: str, dark: bool) -> None:
    page = opened(link(lab, tab), color_scheme="dark" if dark else "light")
    idle(page)
    for summary in page.locator(f"#panel-{tab} summary").all():
        if summary.is_visible():
            summary.click()
    if tab == "classify":
        page.keyboard.press("b")
        expect(page.locator(".caption").last).to_contain_text("B: ")
    assert page.evaluate(BROKEN) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_exported(browser: Any, tmp_path: Path, dark: bool) -> None:
    page = browser.new_page(color_scheme="dark" if dark else "light", offline=True)
    page.goto(export(tmp_path).as_uri())
    ready(page)
    for tab in ("classify", "step", "lift"):
        page.locator(f"#tab-{tab}").click()
        page.locator(f"#panel-{tab} canvas").first.wait_for()
        assert page.evaluate(BROKEN) == []
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name="The margin").click()
    assert page.evaluate(BROKEN) == []
    page.close()


def test_high_contrast_shows_what_is_chosen(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "classify"), forced_colors="active")
    chosen = page.locator("[role=tab][aria-selected=true], .swatches [aria-checked=true], [data-example=separable]")
    expect(chosen).to_have_count(3)
    outlines = "(all) => all.map((node) => getComputedStyle(node).outlineStyle)"
    assert chosen.evaluate_all(outlines) == ["solid"] * 3
    assert (
        page.locator("[role=tab][aria-selected=false]").first.evaluate("(n) => getComputedStyle(n).outlineStyle")
        == "none"
    )
    page.locator("#tab-digits").click()
    fill, track = (page.locator(f".score:not(.head) {name}").first for name in (".fill", ".track"))
    colour = "(node) => getComputedStyle(node).backgroundColor"
    assert fill.evaluate(colour) != track.evaluate(colour)
