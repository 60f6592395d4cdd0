"""What is on the page is in sight: no words are cut off, hidden or crossed out, on projectors and telephones."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import lab_browser
import pytest
from lab_browser import PHONE, expect, idle, link, painted

from maxmargin.lab.presets import tours
from maxmargin.lab.traces import trace

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

# Choices whose words are wider than their control.
TOO_WIDE = """() => [...document.querySelectorAll("select")].flatMap((node) => {
    if (!node.checkVisibility()) return [];
    const style = getComputedStyle(node);
    const g = document.createElement("canvas").getContext("2d");
    g.font = style.font;
    const room = node.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return [...node.options].map((each) => each.textContent).filter((text) => g.measureText(text).width > room + 1);
})"""


@pytest.mark.parametrize("tab", ["classify", "step", "lift", "regress", "digits"])
def test_chosen_words_fit_their_control(opened: Callable[..., Any], lab: SimpleNamespace, tab: str) -> None:
    page = opened(link(lab, tab, {"example": "three"} if tab == "classify" else None), height=720)
    idle(page)
    assert page.locator(f"#panel-{tab} select").first.is_visible()
    assert page.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("present", [False, True], ids=["page", "present"])
def test_six_classes_on_a_telephone(opened: Callable[..., Any], lab: SimpleNamespace, present: bool) -> None:
    page = opened(link(lab, "classify", {"example": "six"}), **PHONE)
    idle(page)
    if present:
        page.keyboard.press("f")
    expect(page.locator("#panel-classify .legend")).to_contain_text("class 6")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(
    ("tour", "step", "words"), [(2, 2, "#panel-step .sentence"), (1, 1, "#panel-lift .sentences")], ids=["step", "lift"]
)
def test_a_tour_leaves_room_for_all_sentences(
    opened: Callable[..., Any], lab: SimpleNamespace, tour: int, step: int, words: str
) -> None:
    page = opened(link(lab, "classify", {"points": []}), height=720)
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name=tours()[tour]["title"]).click()
    for _ in range(step):
        page.locator("#tour").get_by_role("button", name="Next").click()
    idle(page)
    shown = page.locator(words).first
    expect(shown).to_contain_text("SMO converged" if tour == 2 else "support vectors")
    painted(page)
    assert shown.evaluate("(node) => node.scrollHeight - node.clientHeight") <= 1


def test_the_player_is_not_under_the_tour(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "step"), **PHONE)
    page.get_by_role("button", name="Tours").click()
    page.get_by_role("button", name=tours()[2]["title"]).click()
    play = page.get_by_role("button", name="Play")
    play.scroll_into_view_if_needed()
    play.click(timeout=5000)  # refused while something else is on top of it
    expect(page.locator("#tour")).to_be_visible()


def test_what_is_opened_comes_into_sight(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "classify", {"example": "overlapping"}), height=720)
    idle(page)
    page.get_by_text("Losses of the points").click()
    chart = page.locator("#panel-classify details canvas").last
    expect(chart).to_be_in_viewport(ratio=0.9)


def test_lines_keep_away_from_the_names_of_curves(modules: Any) -> None:
    """A line that runs through "f = 0" would make it "f =-0": between the letters there is none of it."""
    ink = modules.evaluate("""import('/static/js/plot.js').then(({ halo }) => {
        const g = new OffscreenCanvas(200, 40).getContext("2d");
        g.fillRect(0, 19, 200, 3);
        g.font = "600 15px system-ui, sans-serif";
        g.textBaseline = "middle";
        halo(g, { plane: "#ffffff" }, "f = 0", 80, 20, "#ffffff", 4);
        const row = g.getImageData(0, 20, 200, 1).data;
        const light = (x) => row[4 * x] + row[4 * x + 1] + row[4 * x + 2] + 3 * (255 - row[4 * x + 3]);
        return Array.from({ length: 200 }, (_, x) => light(x));
    })""")
    assert min(ink[79:118]) > 400
    assert max(ink[:70]) < 100
    assert max(ink[130:]) < 100


def test_captions_of_two_models_in_the_largest_type(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    second = {"kernel": {"name": "rbf", "gamma": 50}, "C": 100}
    page = opened(link(lab, "classify", {"example": "moons", "compare": second}), height=720)
    for _ in range(4):
        page.get_by_role("button", name="Larger text").click()
    idle(page)
    for k in (0, 1):
        caption = page.locator("#panel-classify .caption").nth(k)
        expect(caption).to_contain_text("support vectors")
        assert caption.evaluate("(node) => node.scrollHeight - node.clientHeight") <= 1


def test_no_line_is_the_minus_of_an_axis_number(modules: Any) -> None:
    """The line of y = 0 begins where its number does, not left of it, where it would make it "-0"."""
    drawn = modules.evaluate("""import('/static/js/plot.js').then(({ Frame, axes }) => {
        const g = new OffscreenCanvas(300, 200).getContext("2d");
        axes(g, new Frame({ x0: -1, x1: 1, y0: -1, y1: 1 }, 300, 200, 15), { muted: "#000000", plane: "#ffffff" });
        const row = g.getImageData(0, 100, 300, 1).data;
        return Array.from({ length: 300 }, (_, x) => row[4 * x + 3]);
    })""")
    assert max(drawn[:3]) == 0
    assert min(drawn[20:]) > 0


@pytest.mark.parametrize(("example", "followed"), [("separable", "the margin"), ("six", "the boundary")])
def test_the_invitation_names_what_is_drawn(
    opened: Callable[..., Any], lab: SimpleNamespace, example: str, followed: str
) -> None:
    page = opened(link(lab, "classify", {"example": example}))
    expect(page.locator("#panel-classify .hint.low:visible")).to_contain_text(
        f"Drag a point with a ring: {followed} follows"
    )


def test_lift_writes_the_width_as_the_page_does(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "lift", {"map": "bump", "gamma": 2}))
    sentences = page.locator("#panel-lift .sentences")
    expect(sentences).to_contain_text("exp(−r² / 2σ²)")
    page.locator("#panel-lift").get_by_role("radio", name="Give it as γ").click()
    expect(sentences).to_contain_text("exp(−γ r²)")


def test_the_solution_beside_a_perceptron_is_the_other_solver_s(
    opened: Callable[..., Any], lab: SimpleNamespace
) -> None:
    page = opened(link(lab, "step", {"example": "six", "solver": "perceptron", "second": "smo"}))
    row = page.locator("#panel-step .figures tr", has_text="primal objective")
    expect(row.locator("td").last).not_to_have_text("–")


def test_a_gap_of_rounding_is_nothing(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "step", {"example": "mixed", "solver": "newton", "at": 2}))
    for name in ("gap", "violation"):
        row = page.locator("#panel-step .figures tr", has_text=name)
        expect(row.locator("td").first).to_have_text("0")


def test_the_tour_counts_the_bars_at_the_bound(modules: Any) -> None:
    step = tours()[2]["steps"][1]
    assert "five bars end at the dashed line C" in step["watch"]
    points = modules.evaluate(
        "import('/static/js/step/examples.js').then(({ SMALL }) => SMALL.find((e) => e.id === 'mixed'))"
    )
    assert step["state"] == {"example": "mixed", "solver": "smo"}
    last = trace({"points": points["points"], "kernel": points["kernel"], "C": points["C"], "solver": "smo"})["frames"][
        -1
    ]
    assert sum(alpha == points["C"] for alpha in last["alpha"]) == 5


@pytest.mark.parametrize(("tab", "words"), [("lift", ".morph"), ("regress", ".sentence"), ("digits", ".thumb")])
def test_the_largest_type_on_a_telephone(
    opened: Callable[..., Any], lab: SimpleNamespace, tab: str, words: str
) -> None:
    page = opened(link(lab, tab), **PHONE)
    for _ in range(3):
        page.locator("#larger").click()
    idle(page)
    painted(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    hidden = "node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 2"
    shown = page.locator(f"#panel-{tab} {words}")
    assert shown.count() > 0
    assert shown.evaluate_all(f"(all) => all.filter((node) => {hidden}).map((node) => node.outerHTML)") == []
