"""The lab's tab "Step by step" in a real browser, against the runs of :mod:`maxmargin.lab.traces`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import numpy as np
import pytest
from lab_browser import PHONE, Requests, Tab, decoded, excused, expect, idle, link, painted, until, written_link

from maxmargin.lab.traces import trace

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES


class Step(Tab):
    id = "step"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        page.locator("#tab-step").click()
        self.panel.get_by_label("Example").wait_for()
        self.at_step(0)

    def place(self, pane: int = 0) -> Any:
        return self.panel.locator(".place").nth(pane)

    def note(self, pane: int = 0) -> Any:
        return self.panel.locator(".sentence").nth(pane)

    def at_step(self, step: int, of: int | None = None, pane: int = 0) -> None:
        expect(self.place(pane)).to_have_text(re.compile(rf"^step {step:,} of {'' if of is None else f'{of:,}'}"))

    def press(self, key: str) -> None:
        """A key while no control has the focus."""
        self.page.evaluate("document.activeElement?.blur()")
        self.page.keyboard.press(key)

    def run(self, **changes: Any) -> dict[str, Any]:
        """The same run, computed here."""
        asked = {key: self.state[key] for key in ("points", "kernel", "C", "solver", "seed")}
        return trace({**asked, **changes})


@pytest.fixture(scope="module")
def shared(opening: Callable[..., Any], lab: SimpleNamespace) -> Step:
    return Step(opening(link(lab, "step"), reduced_motion="reduce"))


@pytest.fixture
def step(shared: Step, quiet: None) -> Step:
    """The tab as it begins; one page for all tests that need no more."""
    shared.go({})
    shared.at_step(0)
    return shared


# ---- a run ----------------------------------------------------------------------------------------------------------


def test_steps_forth_and_back(step: Step) -> None:
    run = step.run()
    frames = run["frames"]
    assert run["steps"] > 10
    step.at_step(0, of=run["steps"])
    expect(step.note()).to_have_text(frames[0]["note"])
    for k in (1, 2, 3):
        step.press("ArrowRight")
        expect(step.note()).to_have_text(frames[k]["note"])
    step.press("ArrowLeft")
    expect(step.note()).to_have_text(frames[2]["note"])
    step.press("End")
    expect(step.note()).to_have_text(f"{frames[-1]['note']} {run['ended']}")
    figures = step.panel.locator(".figures tr", has_text="primal objective").locator("td").all_inner_texts()
    assert [float(text) for text in figures] == pytest.approx([frames[-1]["primal"], run["final"]["primal"]], rel=1e-3)
    step.press("Home")
    step.at_step(0)
    step.panel.get_by_label("Step of the run").fill("7")
    expect(step.note()).to_have_text(frames[7]["note"])


@pytest.mark.parametrize(
    "solver", ["coordinate_descent", "active_set", "barrier", "newton", "subgradient", "perceptron"]
)
def test_every_solver(step: Step, solver: str) -> None:
    step.choose("Solver", solver)
    expect(step.panel.locator(".solver").first).not_to_have_text("SMO")
    run = step.run()
    assert run["solver"] == solver
    step.press("End")
    expect(step.note()).to_have_text(f"{run['frames'][-1]['note']} {run['ended']}")


def test_pegasos_draws_again(step: Step) -> None:
    step.choose("Solver", "pegasos")
    step.at_step(0, of=1001)
    step.press("ArrowRight")
    first = step.run()["frames"][1]["note"]
    expect(step.note()).to_have_text(first)
    for _ in range(3):  # one of three other draws begins with another point
        step.panel.get_by_role("button", name="Draw again").click()
    seed = step.state["seed"]
    assert seed == 3
    step.press("Home")
    step.press("ArrowRight")
    expect(step.note()).to_have_text(step.run(seed=3)["frames"][1]["note"])


def test_plays_to_the_end(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    step = Step(opened(link(lab, "step")))
    last = step.run()["steps"]
    play = step.panel.get_by_role("button", name=re.compile("^(Play|Pause)"))
    step.choose("Speed", "16")
    expect(step.note()).to_have_attribute("aria-live", "polite")
    step.press("Space")
    expect(play).to_have_text("Pause")
    expect(step.note()).to_have_attribute("aria-live", "off")
    step.press("Space")
    expect(play).to_have_text("Play")
    assert not step.place().inner_text().startswith(f"step {last} ")
    step.press("Space")
    step.at_step(last, of=last)
    expect(play).to_have_text("Play")
    expect(step.note()).to_have_attribute("aria-live", "polite")
    step.choose("Speed", "2")
    play.click()  # from the end it begins again
    expect(step.place()).to_have_text(re.compile("^step [1-9] "))
    step.press("ArrowLeft")  # a step by hand pauses
    expect(play).to_have_text("Play")


def test_step_n_shows_step_n_and_says_where_steps_are_left_out(step: Step) -> None:
    step.choose("Solver", "pegasos")
    step.choose("Beside it", "perceptron")
    step.at_step(0, of=1001)
    step.at_step(0, pane=1)
    for k in (1, 2, 3):
        step.press("ArrowRight")
        step.at_step(k)
        step.at_step(k, pane=1)
        expect(step.note()).to_have_text(step.run()["frames"][k]["note"])
    step.panel.get_by_label("Step of the run").fill("160")
    step.at_step(160)
    step.at_step(160, pane=1)
    expect(step.place()).to_contain_text("every 2nd step from here")
    step.press("ArrowRight")
    step.at_step(162)
    step.at_step(162, pane=1)


def test_speed_counts_steps(modules: Any) -> None:
    """At 4 steps a second, frames 1, 2 and 8 steps apart wait 0.25, 0.5 and 2 seconds; faster ones are left out."""
    found = modules.evaluate("""import('/static/js/step/player.js').then(({ Player }) => {
        const player = new Player({ still: () => true, ready: () => true, show() {}, changed() {} });
        player.load([0, 1, 2, 4, 12], 0);
        const waits = [0, 1, 2, 3].map((tick) => player.lasting(tick, player.after(tick)));
        player.speed = 64;
        return { waits, fast: [0, 1, 2, 3].map((tick) => player.after(tick)) };
    })""")
    assert found["waits"] == [250, 250, 500, 2000]
    assert found["fast"] == [2, 3, 3, 4]  # 64 / 20 = 3.2 steps a picture


def test_dots_of_curves_are_whole_at_both_ends(modules: Any) -> None:
    dots = modules.evaluate("""import('/static/js/step/curves.js').then(({ curves }) => {
        const canvas = new OffscreenCanvas(800, 400);
        const g = canvas.getContext("2d");
        const run = { last: 1, answer: { curves: { iteration: [0, 5] } } };
        const style = { g, rem: 40, palette: { line: "#000", muted: "#000" } };
        const edges = [40 * 3.1, 800 - 40 * 0.8]; // of the frame
        return [0, 1].map((k) => {
            g.clearRect(0, 0, 800, 400);
            const line = { name: "", values: [1, 1], colour: "#ff0000" };
            curves(style, { x: 0, y: 0, w: 800, h: 400 }, { run, k }, "", [line]);
            const { data } = g.getImageData(edges[k] - (k ? 0 : 10), 0, 10, 400); // outside of it
            return data.reduce((sum, value, at) => sum + (at % 4 === 0 && value === 255 && data[at + 1] === 0), 0);
        });
    })""")
    assert min(dots) > 100  # half a disc of radius 10.8 has 183 pixels


def test_margin_lines_stay_thinner_than_the_boundary_on_a_small_screen(modules: Any) -> None:
    widths = modules.evaluate("""import('/static/js/plot.js').then(({ Frame }) => {
        const frame = new Frame({ x0: -1, x1: 1, y0: -1, y1: 1 }, 300, 300, 15);
        frame.least = 3; // in present mode
        return [1, 1.6, 2.8].map((width) => frame.pen(width));
    })""")
    assert widths[:2] == [3, 3]
    assert widths[2] > 1.5 * 3


def test_nothing_moves_by_itself(step: Step) -> None:
    """With less motion asked for, steps jump: after a key there is no picture in between."""
    counting = """() => {
        window.painted = 0;
        const whole = CanvasRenderingContext2D.prototype.strokeRect;
        CanvasRenderingContext2D.prototype.strokeRect = function (...a) { window.painted += 1; whole.apply(this, a); };
    }"""
    idle(step.page)
    painted(step.page)
    step.page.evaluate(counting)
    painted(step.page, 10)
    assert step.page.evaluate("window.painted") == 0
    step.press("ArrowRight")
    step.at_step(1)
    idle(step.page)
    painted(step.page)
    assert 0 < step.page.evaluate("window.painted") <= 4 * 4  # four charts, for the frame and the finer grid


def test_values_are_fetched_once_and_of_the_frame(step: Step) -> None:
    asked = Requests(step.page, "/api/trace-values").asked
    step.choose("Example", "circles")
    step.choose("Kernel", "rbf")
    expect(step.place()).to_have_text(re.compile("^step 0"))
    run = step.run()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"):
        step.press(key)
        idle(step.page)
    seen = [(tuple(body["alphas"]), tuple(body["grid"])) for body in asked if body["kernel"]["name"] == "rbf"]
    assert len(seen) == len(set(seen))
    signed = [tuple(s * a for s, a in zip(run["signs"], frame["alpha"], strict=True)) for frame in run["frames"]]
    for k in (1, 2):
        assert any(alphas == pytest.approx(signed[k]) for alphas, _ in seen)
    for body in asked:
        for frame, alphas in zip(run["frames"], signed, strict=True):
            if any(alphas) and tuple(body["alphas"]) == alphas:
                assert body["intercept"] == frame["b"]


def test_boundary_is_painted_where_it_is(step: Step) -> None:
    """Left of w'x + b = 0 the plane has the colour of one class, right of it of the other."""
    step.choose("Example", "six")
    step.at_step(0, of=3)
    step.press("End")
    idle(step.page)
    painted(step.page)
    frame = step.run()["frames"][-1]
    (w, b), half = (np.array(frame["w"]), frame["b"]), 0.9
    colours = step.page.evaluate(
        """([places]) => {
            const canvas = document.querySelector("#panel-step .plot canvas");
            const g = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
            g.drawImage(canvas, 0, 0);
            const unit = Math.min(canvas.width, canvas.height) / 2;
            const [cx, cy] = [canvas.width / 2, canvas.height / 2];
            return places.map(([x, y]) => [...g.getImageData(cx + x * unit, cy - y * unit, 1, 1).data]);
        }""",
        [[[x, y] for x in (-half, half) for y in (-0.85, 0.6)]],
    )
    for (x, y), (red, _, blue, _) in zip([(x, y) for x in (-half, half) for y in (-0.85, 0.6)], colours, strict=True):
        f = w @ [x, y] + b
        assert abs(f) > 0.5
        assert (red > blue) == (f > 0)  # orange is class 2


# ---- two of them ----------------------------------------------------------------------------------------------------


def test_two_solvers_by_step_and_by_share(step: Step) -> None:
    step.choose("Beside it", "active_set")
    first, second = step.run(), step.run(solver="active_set")
    assert first["steps"] < second["steps"]
    step.at_step(0, of=second["steps"], pane=1)
    for _ in range(5):
        step.press("ArrowRight")
    step.at_step(5)
    step.at_step(5, pane=1)
    expect(step.note(1)).to_have_text(second["frames"][5]["note"])
    step.press("End")
    step.at_step(first["steps"])
    step.at_step(second["steps"], pane=1)
    step.press("ArrowLeft")
    step.at_step(first["steps"])  # the shorter run waits at its end
    step.at_step(second["steps"] - 1, pane=1)
    step.panel.get_by_role("radio", name=re.compile("by share")).click()
    half = second["steps"] // 2
    step.panel.get_by_label("Step of the run").fill(str(half))
    step.at_step(half, pane=1)
    step.at_step(math.floor(half * first["steps"] / second["steps"] + 0.5))  # halves go up, as in JavaScript
    step.panel.get_by_role("radio", name=re.compile("by step")).click()
    step.panel.get_by_role("radio", name=re.compile("by share")).click()
    step.page.keyboard.press("ArrowRight")  # after a click the keys belong to the run again
    step.at_step(half + 1, pane=1)
    step.choose("Beside it", "")
    expect(step.panel.locator(".pane").nth(1)).to_be_hidden()


@pytest.mark.parametrize(
    "size", [(320, 450, 19), (400, 900, 15), (900, 300, 15), (620, 130, 19), (1200, 800, 38)], ids=str
)
def test_four_charts_at_any_size(modules: Any, size: tuple[int, int, int]) -> None:
    """None is left out: they fill the canvas, beside each other where they would be too low."""
    call = "(size) => import('/static/js/step/charts.js').then((m) => m.areas(...size))"
    areas = modules.evaluate(call, list(size))
    assert len(areas) == 4
    assert sum(area["w"] * area["h"] for area in areas) == pytest.approx(size[0] * size[1])
    assert len({(area["x"], area["y"]) for area in areas}) == 4
    columns = len({area["x"] for area in areas})
    assert columns == 2 or min(area["h"] for area in areas) >= 5.5 * size[2]


def test_titles_of_narrow_charts_do_not_run_into_each_other(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/step/chart.js').then(({ title }) => [400, 220, 120].map((w) => {
        const g = new OffscreenCanvas(10, 10).getContext("2d");
        let end = 0;
        g.fillText = (text, x) => (end = x + g.measureText(text).width);
        title({ g, palette: {}, rem: 20 }, { x: 0, y: 0, w, h: 100 }, [["objective"], ["primal"], ["dual"]]);
        return [w, end];
    }))""")
    assert all(end < width for width, end in found)


@pytest.mark.parametrize("present", [False, True], ids=["page", "present"])
@pytest.mark.parametrize("pair", [("smo", "pegasos"), ("perceptron", "smo"), ("active_set", "barrier")], ids=str)
def test_no_sentence_of_two_solvers_is_cut_off(
    opened: Callable[..., Any], lab: SimpleNamespace, pair: tuple[str, str], present: bool
) -> None:
    """At the size of the smallest projector, with the longest sentences: those of the last step, in present mode in the
    largest type."""
    page = opened(link(lab, "step", {"example": "mixed", "solver": pair[0], "second": pair[1]}), height=720)
    step = Step(page)
    if present:
        for _ in range(4):
            page.get_by_role("button", name="Larger text").click()
        page.keyboard.press("f")
    step.press("End")
    idle(page)
    for pane in (0, 1):
        assert len(step.note(pane).inner_text()) > 80
        assert step.note(pane).evaluate("(note) => note.scrollHeight - note.clientHeight") <= 1


@pytest.mark.parametrize("present", [False, True], ids=["page", "present"])
def test_charts_of_two_solvers_have_room_in_the_largest_type(
    opened: Callable[..., Any], lab: SimpleNamespace, present: bool
) -> None:
    """On the smallest projector: curves beside their words, a plane that is no slit, a page that does not scroll."""
    page = opened(link(lab, "step", {"example": "overlapping", "second": "pegasos", "at": 12}), height=720)
    for _ in range(4):
        page.get_by_role("button", name="Larger text").click()
    if present:
        page.keyboard.press("f")
    idle(page)
    found = page.evaluate("""async () => {
        const { areas, typeIn } = await import('/static/js/step/charts.js');
        const { inside } = await import('/static/js/step/chart.js');
        const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
        const all = (selector) => [...document.querySelectorAll(`#panel-step ${selector}`)];
        const chartsOf = (node) => areas(node.clientWidth, node.clientHeight, rem).map(size);
        const size = (area) => ({ ...inside(area, typeIn(area, rem)), type: typeIn(area, rem) });
        const charts = all("canvas.charts").flatMap(chartsOf);
        const planes = all(".plot canvas:not(.charts)").map((node) => node.clientHeight);
        const places = all(".place").map((node) => node.scrollHeight - node.clientHeight);
        return { charts, planes, places, beyond: document.documentElement.scrollHeight - innerHeight };
    }""")
    assert len(found["charts"]) == 8
    for chart in found["charts"]:
        assert chart["w"] >= 100
        assert chart["h"] >= 30
        assert chart["type"] >= 13
    assert min(found["planes"]) >= (300 if present else 120)
    assert max(found["places"]) <= 1
    assert found["beyond"] <= 0


def test_timeline(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/step/run.js').then(({ Run, timeline }) => {
        const run = (iterations) => Object.assign(Object.create(Run.prototype), {
            frames: iterations.map((iteration) => ({ iteration })), last: iterations.length - 1 });
        const both = [run([0, 1, 2, 3]), run([0, 1, 2, 4, 6, 9])];
        return { one: timeline(both.slice(0, 1), "iteration"), step: timeline(both, "iteration"),
                 share: timeline(both, "share"), none: timeline([], "share") };
    })""")
    assert found["one"] == [[0], [1], [2], [3]]
    assert found["step"] == [[0, 0], [1, 1], [2, 2], [3, 3], [3, 4], [3, 5]]  # at 0, 1, 2, 4, 6, 9: not at 3
    assert [pair[1] for pair in found["share"]] == [0, 1, 2, 3, 4, 5]
    assert found["share"][0] == [0, 0]
    assert found["share"][-1] == [3, 5]
    assert found["none"] == []


@pytest.mark.parametrize("solver", ["smo", "newton", "perceptron", "active_set"])
def test_no_condition_is_violated_at_the_end(modules: Any, solver: str) -> None:
    """``broken`` against the conditions of optimality, written out here for the points in the middle of the run too."""
    points = [[-0.7, 0.5, 0], [-0.5, -0.45, 0], [-0.15, 0.05, 0], [0.2, 0.45, 1], [0.3, -0.35, 1], [0.75, 0.2, 1]]
    asked = {"points": points, "kernel": {"name": "linear"}, "C": 10, "solver": solver, "tol": 1e-6}
    answer = trace(asked)
    broken = modules.evaluate(
        """([answer, asked]) => import('/static/js/step/run.js').then(({ Run }) => {
            const run = new Run(answer, asked);
            return run.frames.map((_, k) => asked.points.map((_, i) => run.broken(k, i)));
        })""",
        [answer, asked],
    )
    assert not any(broken[-1])
    assert any(broken[0])
    if solver not in ("smo", "active_set"):
        return
    y = np.array(answer["signs"])
    for frame, found in zip(answer["frames"], broken, strict=True):
        alpha, room = np.array(frame["alpha"]), np.array(frame["gradient"]) + y * frame["b"]
        wrong = np.where(alpha == 0, room < -1e-3, np.where(alpha == 10, room > 1e-3, np.abs(room) > 1e-3))
        assert found == wrong.tolist()


def test_between_two_frames(modules: Any) -> None:
    """f is linear in the coefficients: half way between them it is the mean of both, on grids of any two sizes."""
    values = modules.evaluate("""Promise.all([import('/static/js/step/run.js'), import('/static/js/grid.js')]).then(
        ([{ between }, { valueAt }]) => {
            const view = { x0: -1, x1: 1, y0: -1, y1: 1 };
            const make = (n, f) => ({ view, nx: n, ny: n, values: Float32Array.from({ length: n * n }, (_, k) =>
                f(-1 + (2 * (k % n)) / (n - 1), -1 + (2 * Math.floor(k / n)) / (n - 1))) });
            const mean = between(make(7, (x, y) => x + 1), make(11, (x, y) => 3 * y - x), 0.5);
            return [[0.2, 0.4], [-1, -1], [0.8, -0.2]].map(([x, y]) => valueAt(mean, x, y));
        })""")
    assert values == pytest.approx([(0.2 + 1 + 1.2 - 0.2) / 2, (0 - 2) / 2, (1.8 - 1.4) / 2], abs=1e-5)


def test_logarithmic_axis(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/step/curves.js').then(({ decades, span }) => ({
        decades: decades(0.5, 2000, 9), few: decades(1e-8, 1e4, 4), span: span([0, null, 1e-30, 5, 200]),
        flat: span([3, 3]) }))""")
    assert found["decades"] == [3, 2, 1, 0]
    assert len(found["few"]) <= 4
    low, high = found["span"]
    assert low < 200 / 1e8
    assert 200 < high < 2000
    assert found["flat"][0] < 3 / 2
    assert found["flat"][1] > 3 * 2


# ---- points ---------------------------------------------------------------------------------------------------------


def test_points_are_moved_added_and_taken_back(step: Step) -> None:
    before = step.state["points"]
    step.click(0.5, 0.02)  # with the tool "move" a press on free ground does nothing
    assert step.state["points"] == before
    step.press("2")
    step.click(0.9, 0.9)
    step.at_step(0)
    after = step.state["points"]
    assert after[:-1] == before
    assert after[-1][2] == 1
    assert after[-1][0] > 0.5 > -0.5 > after[-1][1]
    step.press("Control+z")
    assert step.state["points"] == before
    step.press("e")
    x, y, _ = before[0]
    box = step.panel.locator(".plot canvas").first.bounding_box()
    unit = min(box["width"], box["height"]) / 2
    step.click(0.5 + x * unit / box["width"], 0.5 - y * unit / box["height"])
    assert step.state["points"] == before[1:]
    step.press("m")


def test_empty_plane_says_what_to_do(step: Step) -> None:
    step.panel.get_by_role("button", name="Clear").click()
    hint = step.panel.locator(".hint").first
    expect(hint).to_contain_text("choose an example")
    expect(step.panel.get_by_role("button", name=re.compile("^Play"))).to_be_disabled()
    step.click(0.3, 0.5)  # clearing has chosen class 1
    expect(hint).to_contain_text("All points are of class 1")
    step.press("2")
    step.click(0.7, 0.5)
    expect(hint).to_be_hidden()
    step.at_step(0)


def test_points_of_classify(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "classify"))
    page.locator("[data-example=three]").click()
    page.locator("#panel-classify").get_by_text("smallest margin").wait_for()
    step = Step(page)
    step.panel.get_by_role("button", name="From Classify").click()
    expect(page.locator("#toast")).to_contain_text("of classes 1 and 2: this tab shows two")
    assert len(step.state["points"]) == 28
    step.at_step(0)


# ---- manners --------------------------------------------------------------------------------------------------------


def test_errors_stand_where_they_belong(step: Step, watch: SimpleNamespace) -> None:
    step.choose("Beside it", "pegasos")
    step.at_step(0, pane=1)
    step.type("C", "inf")
    expect(step.panel.locator(".hint").nth(1)).to_contain_text("needs a finite C")
    expect(step.panel.locator(".field.wrong .error")).to_contain_text("needs a finite C")
    step.type("C", "10")
    expect(step.panel.locator(".field.wrong")).to_have_count(0)
    step.at_step(0, pane=1)
    excused(watch, "400")  # the browser notes refusals by itself


def test_keys_of_other_controls_stay_theirs(step: Step) -> None:
    slider = step.panel.get_by_label("C", exact=True)
    before = step.state["C"]
    slider.focus()
    step.page.keyboard.press("ArrowRight")
    expect(step.place()).to_have_text(re.compile("^step 0"))
    assert step.state["C"] > before
    step.panel.get_by_label("Step of the run").focus()
    step.page.keyboard.press("ArrowRight")
    step.at_step(1)


def test_link_holds_the_step(step: Step, opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    step.choose("Beside it", "barrier")
    step.at_step(0, pane=1)
    for _ in range(4):
        step.press("ArrowRight")
    step.at_step(4)
    until(step.page, lambda: step.state["at"] == 4)
    other = opened(lab.link + written_link(step.page))
    expect(other.locator("#panel-step .place").nth(0)).to_have_text(re.compile("^step 4 "))
    expect(other.locator("#panel-step .place").nth(1)).to_have_text(re.compile("^step 4 "))


@pytest.mark.parametrize(
    "state",
    [
        {"points": "no", "solver": "<b>", "at": -3, "speed": 1e9, "sync": 4, "seed": 0.5},
        {"points": [[0, 0, 0], [1, 1, 7], [None, 2, 1], [0.5, 0.5, 1]], "C": -1, "view": 3, "second": {}, "at": 1e30},
    ],
    ids=["all wrong", "half wrong"],
)
def test_links_of_strangers(step: Step, state: dict[str, Any]) -> None:
    step.go(state)
    step.at_step(0)
    step.press("ArrowRight")
    step.at_step(1)
    assert step.state["solver"] == "smo"
    assert step.state["C"] > 0
    assert {point[2] for point in step.state["points"]} == {0, 1}


def test_web_page_of_a_run(step: Step, opened: Callable[..., Any], tmp_path: Path) -> None:
    step.choose("Example", "six")
    step.choose("Beside it", "pegasos")
    step.at_step(0, of=3)
    step.at_step(0, pane=1)
    with step.page.expect_download() as download:
        step.panel.get_by_role("button", name="Web page").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "maxmargin-smo-pegasos.html"
    player = step.page.context.new_page()
    player.set_viewport_size({"width": 1280, "height": 720})
    complaints: list[str] = []
    player.on("console", lambda message: complaints.append(message.text))
    player.on("pageerror", lambda error: complaints.append(str(error)))
    player.goto(file.as_uri())
    player.get_by_label("One step on").click()
    expect(player.locator(".sentence").first).to_have_text(step.run()["frames"][1]["note"])
    expect(player.locator(".solver")).to_have_text(["SMO", "Pegasos"])
    player.evaluate("document.activeElement.blur()")
    player.keyboard.press("End")
    expect(player.locator(".place").first).to_have_text(re.compile("^step 3 of 3"))
    assert player.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [
        1280,
        720,
    ]
    until(player, lambda: class_colour(player, ".plot canvas", 0, -0.95, 0.0)[2] > 150)  # class 1 is blue, on the left
    assert class_colour(player, ".plot canvas", 0, 0.95, 0.0)[0] > 150  # class 2 is orange
    assert complaints == []
    player.close()


def class_colour(page: Any, selector: str, k: int, x: float, y: float) -> list[int]:
    """The colour at a place of a plane that shows -1 to 1, less white: what the shading adds."""
    red, green, blue = page.evaluate(
        """([selector, k, x, y]) => {
            const canvas = document.querySelectorAll(selector)[k];
            const g = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
            g.drawImage(canvas, 0, 0);
            const unit = Math.min(canvas.width, canvas.height) / 2;
            const [px, py] = [canvas.width / 2 + x * unit, canvas.height / 2 - y * unit];
            return [...g.getImageData(px, py, 1, 1).data].slice(0, 3);
        }""",
        [selector, k, x, y],
    )
    return [255 if red > blue + 20 else 0, green, 255 if blue > red + 20 else 0]


def test_film_is_a_slide_with_charts_and_caption(step: Step, browser: Any) -> None:
    step.choose("Example", "six")
    step.at_step(0, of=3)
    step.choose("Speed", "2")
    with step.page.expect_download() as download:
        step.panel.get_by_role("button", name="Film").click()
    plane, charts, caption = [80, 70, 1000, 860], [1200, 100, 700, 820], [0, 940, 1900, 80]
    film = decoded(browser, Path(download.value.path()).read_bytes(), [0.1, 0.3, 0.95], [plane, charts, caption])
    assert (film["width"], film["height"]) == (1920, 1080)
    assert film["seconds"] == pytest.approx(3 / 2 + 1.5, abs=0.1)  # three steps, and the last picture is held
    for picture in film["pictures"]:
        assert [area["colours"] > 3 for area in picture] == [True] * 3
    assert len({picture[0]["mean"] for picture in film["pictures"]}) == 3  # of steps 0, 1 and 3
    expect(step.panel.get_by_role("button", name="Film")).to_have_text("Film")
    step.at_step(3, of=3)


def test_film_has_the_colours_of_the_page(modules: Any, browser: Any) -> None:
    """A player is told how the encoder wrote them, so that none is guessed; encoders of browsers differ."""
    found, space = modules.evaluate("""async () => {
        const { createFilm } = await import('/static/js/film.js');
        let space;
        const Encoder = VideoEncoder;
        globalThis.VideoEncoder = class extends Encoder {
            constructor({ output, error }) {
                super({ error, output: (chunk, about) => {
                    space ??= about?.decoderConfig?.colorSpace?.toJSON?.() ?? about?.decoderConfig?.colorSpace;
                    output(chunk, about);
                } });
            }
        };
        const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 160 });
        const g = canvas.getContext("2d");
        for (const [k, colour] of ["#161c23", "#d55e00"].entries()) {
            g.fillStyle = colour;
            g.fillRect(160 * k, 0, 160, 160);
        }
        const made = new Promise((done) => (URL.createObjectURL = (blob) => (done(blob), "#")));
        const film = await createFilm(canvas);
        await film.add(100);
        await film.save("colours");
        const bytes = new Uint8Array(await (await made).arrayBuffer());
        return [Array.from(bytes), space];
    }""")
    text = bytes(found)[:600]
    (picture,) = decoded(browser, bytes(found), [0.0], [[20, 20, 120, 120], [180, 20, 120, 120]])["pictures"]
    for area, colour in zip(picture, ((0x16, 0x1C, 0x23), (0xD5, 0x5E, 0x00)), strict=True):
        assert area["rgb"] == pytest.approx(colour, abs=5)
    # Colour, and in it matrix, range, transfer and primaries (Matroska's elements 55B0 to 55BB)
    assert text.count(b"\x55\xb0") == 1
    assert {"matrix", "transfer", "primaries"} <= space.keys()
    standards = {"bt709": 1, "smpte170m": 6, "iec61966-2-1": 13}
    for element, value in (
        (b"\x55\xb1", standards[space["matrix"]]),
        (b"\x55\xb9", 2 if space["fullRange"] else 1),
        (b"\x55\xba", standards[space["transfer"]]),
        (b"\x55\xbb", standards[space["primaries"]]),
    ):
        assert text.split(element)[1][8] == value


def test_film_that_is_stopped_holds_what_there_is(step: Step, browser: Any) -> None:
    step.choose("Example", "mixed")
    step.choose("Speed", "0.5")
    with step.page.expect_download() as download:
        step.panel.get_by_role("button", name="Film").click()
        until(step.page, lambda: not step.place().inner_text().startswith("step 0 "))
        step.panel.get_by_role("button", name="Stop filming").click()
    film = decoded(browser, Path(download.value.path()).read_bytes(), [0.0], [[80, 70, 1000, 860]])
    assert 2.0 <= film["seconds"] < 44


def test_picture_is_saved(step: Step) -> None:
    with step.page.expect_download() as download:
        step.page.get_by_role("button", name="Share").click()
        step.page.get_by_role("button", name="Save picture (PNG)").click()
    assert download.value.suggested_filename == "maxmargin-step.png"
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_everything_has_a_name(step: Step) -> None:
    assert step.nameless() == []


def test_phone(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "step"), **PHONE, device_scale_factor=2)
    step = Step(page)
    page.evaluate("window.shifts = 0")
    step.panel.get_by_label("One step on (→)").tap()
    step.at_step(1)
    idle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("window.shifts") < 0.01
    bar = step.panel.locator(".transport").bounding_box()
    assert bar["y"] + bar["height"] <= 845  # in reach, without scrolling


def test_a_saved_picture_names_kernel_and_C(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    state = {"example": "mixed", "solver": "smo", "kernel": {"name": "rbf", "gamma": 2}, "C": 5}
    page = opened(link(lab, "step", state))
    expect(page.locator("#panel-step .place").first).to_contain_text("step 0 of")
    page.evaluate("""() => {
        window.texts = [];
        const { prototype } = CanvasRenderingContext2D;
        const { fillText } = prototype;
        prototype.fillText = function (text, ...place) {
            window.texts.push(text);
            fillText.call(this, text, ...place);
        };
    }""")
    page.get_by_role("button", name="Share").click()
    with page.expect_download():
        page.get_by_role("button", name="Save picture (PNG)").click()
    assert "Gaussian (RBF) kernel, σ = 0.5, C = 5" in page.evaluate("texts")
