"""The lab's tab "Lift" in a real browser: its geometry against the equations of the planes, and its manners."""

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
from lab_browser import PHONE, Tab, decoded, excused, expect, link, painted, until, written_link

from maxmargin.lab.lifting import lift, mapped

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES

VIEW = {"x0": -1.2, "x1": 1.2, "y0": -1.0, "y1": 1.0}
POINTS = [
    [0.1, 0.0, 0], [-0.2, 0.2, 0], [0.0, -0.3, 0], [0.25, 0.1, 0],
    [0.8, 0.1, 1], [-0.7, 0.3, 1], [0.1, 0.75, 1], [0.2, -0.8, 1], [-0.6, -0.5, 1],
]  # fmt: skip


class Lift(Tab):
    id = "lift"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        page.locator("#tab-lift").click()
        self.panel.get_by_label("Example").wait_for()
        self.space = self.panel.locator("canvas.space")
        expect(self.panel.locator(".sentences p").first).to_be_visible()

    def says(self, text: str) -> None:
        expect(self.panel.locator(".sentences")).to_contain_text(text)

    @property
    def picture(self) -> list[int]:
        """The pixels of the space, thinned."""
        return self.page.evaluate("""() => {
            const canvas = document.querySelector("canvas.space");
            const g = new OffscreenCanvas(60, 60).getContext("2d", { willReadFrequently: true });
            g.drawImage(canvas, 0, 0, 60, 60);
            return [...g.getImageData(0, 0, 60, 60).data];
        }""")


@pytest.fixture(scope="module")
def shared(opening: Callable[..., Any], lab: SimpleNamespace) -> Lift:
    return Lift(opening(link(lab, "lift"), reduced_motion="reduce"))


@pytest.fixture
def lifted(shared: Lift, quiet: None) -> Lift:
    """The tab as it begins; one page for all tests that need no more."""
    shared.go({})
    shared.says("a circle around")
    return shared


# ---- geometry -------------------------------------------------------------------------------------------------------

SCENE = """([answer, points, view]) => import('/static/js/lift/scene.js').then(({ Scene }) => {
    const scene = new Scene(answer, points.map(([x, y, c]) => ({ x, y, c })), view);
    const { ranges, points: placed, curves, outlines, planes, sheet, ground } = scene;
    return { ranges, placed, curves, outlines, planes, nodes: sheet.nodes, cells: sheet.cells.length, ground };
})"""


def scene(modules: Any, which: str) -> tuple[dict[str, Any], dict[str, Any]]:
    answer = lift({"points": POINTS, "map": which, "C": 10, "gamma": 2, "view": VIEW, "grid": [81, 81]})
    return answer, modules.evaluate(SCENE, [answer, POINTS, VIEW])


def back(found: dict[str, Any], place: list[float]) -> np.ndarray:
    """From the cube to the lifted space."""
    return np.array([low + (p + 1) / 2 * (high - low) for p, (low, high) in zip(place, found["ranges"], strict=True)])


@pytest.mark.parametrize("which", ["radial", "bump", "quadratic"])
def test_planes_and_curves_lie_where_f_says(modules: Any, which: str) -> None:
    answer, found = scene(modules, which)
    w, b = np.array(answer["plane"]["normal"]), answer["plane"]["offset"]
    size = float(np.linalg.norm(w))
    Z = mapped(which, np.array(POINTS)[:, :2], 2.0)
    for z, place in zip(Z, found["placed"], strict=True):
        assert back(found, place["lifted"]) == pytest.approx(z, abs=1e-4)
    for level in (-1, 0, 1):
        corners = found["outlines"][str(level)]
        assert len(corners) >= 3
        for corner in [*corners, *(p for piece in found["planes"][str(level)] for p in piece)]:
            assert np.abs(corner).max() < 1 + 1e-6
            assert w @ back(found, corner) + b == pytest.approx(level, abs=1e-3 * size)
    pieces = found["curves"]["0"]
    assert len(pieces) > 40
    for ends in pieces:
        for end in ends:
            assert abs(w @ back(found, end["lifted"]) + b) < 0.002 * size  # between the nodes of a net too
            assert end["flat"][2] == found["ground"]


def test_surface_of_a_gaussian_model(modules: Any) -> None:
    answer, found = scene(modules, "rbf_surface")
    low, high = answer["box"][2]
    for place, f in zip(found["placed"], answer["f"], strict=True):
        assert back(found, place["lifted"])[2] == pytest.approx(f, abs=1e-4)
    for level in (-1, 0, 1):
        for ends in found["curves"][str(level)]:
            assert back(found, ends[0]["lifted"])[2] == pytest.approx(level, abs=0.05)
    heights = [back(found, node["lifted"])[2] for node in found["nodes"]]
    assert min(heights) == pytest.approx(low, abs=0.05 * (high - low))
    assert max(heights) == pytest.approx(high, abs=0.05 * (high - low))
    assert back(found, [0, 0, found["ground"]])[2] == pytest.approx(0, abs=1e-6)  # flat is f = 0


def test_numbers_of_two_axes_keep_apart_at_their_corner(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/lift/axes.js').then(async ({ paintAxes }) => {
        const { Camera } = await import('/static/js/lift/camera.js');
        const numbers = [];
        const fillText = (...given) => numbers.push(given);
        const g = { measureText: () => ({ width: 10 }), strokeText() {}, fillText };
        const camera = new Camera();
        camera.fit(375, 375);
        const names = ["x", "y", "z"];
        const range = [-1.04, 1.04];
        const given = { flat: names, lifted: names, ranges: [range, range, range], flatRanges: [range, range, range] };
        paintAxes(g, camera.look(), { muted: "", plane: "", ink: "" }, 15, { ...given, floor: -1, width: 375, t: 1 });
        return numbers.filter(([text]) => Number.isFinite(Number(text.replace("−", "-"))));
    })""")
    assert len(found) >= 4  # of the six, without those at two corners
    for k, (_, *place) in enumerate(found):
        for _, *other in found[:k]:
            assert abs(place[0] - other[0]) > 20 or abs(place[1] - other[1]) > 13


def test_polar_net_is_torn_at_the_jump(modules: Any) -> None:
    answer, found = scene(modules, "polar")
    assert len(answer["axes"]) == 2
    assert found["cells"] < 24 * 24  # some cells have both ends of the angle
    assert found["cells"] > 24 * 24 - 40
    assert all(place["lifted"][2] == found["ground"] for place in found["placed"])
    for ends in found["curves"]["0"]:
        assert math.dist(ends[0]["lifted"], ends[1]["lifted"]) < 0.5


def test_eye(modules: Any) -> None:
    """The projection without the nearness is a rotation; what is nearer is larger; from above x and y are a map."""
    found = modules.evaluate("""import('/static/js/lift/camera.js').then(({ Camera }) => {
        const camera = new Camera();
        camera.fit(330, 350);
        const flat = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((p) => {
            const at = camera.look()(p);
            const unit = camera.unit * at.scale;
            return [(at.x - 165) / unit, (175 - at.y) / unit, at.near];
        });
        camera.turn(0, -9);
        const low = camera.elevation;
        camera.turn(0, 9);
        camera.azimuth = 0;
        const [right, up] = [camera.look()([1, 0, 0]), camera.look()([0, 1, 0])];
        const near = [camera.look()([0, 0, 1]).scale, camera.look()([0, 0, -1]).scale];
        return { flat, low, high: camera.elevation, right, up, near };
    })""")
    R = np.array(found["flat"])
    assert pytest.approx(np.eye(3), abs=1e-12) == R @ R.T
    assert 0 < found["low"] < 0.2
    assert found["high"] == pytest.approx(math.pi / 2)
    assert found["right"]["x"] > 165
    assert found["right"]["y"] == pytest.approx(175)
    assert found["up"]["x"] == pytest.approx(165)
    assert found["up"]["y"] < 175
    assert found["near"][0] > 1 > found["near"][1]


def area(polygon: list[list[float]]) -> float:
    P = np.array(polygon)
    return 0.5 * float(np.linalg.norm(sum(np.cross(P[k - 1] - P[0], P[k] - P[0]) for k in range(len(P)))))


def test_pieces_make_up_the_whole(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/lift/polygons.js').then(({ inCube, shatter }) => {
        const slanted = [[-0.9, -0.8, -0.58], [0.9, -0.7, -0.17], [0.8, 0.9, 0.61], [-0.7, 0.6, 0.16]];
        const wide = [[-3, -3, 0.5], [3, -3, 0.5], [3, 3, 0.5], [-3, 3, 0.5]];
        const above = wide.map(([x, y]) => [x, y, 2]);
        return { slanted, pieces: shatter(slanted, 0.2), inside: inCube(wide), none: inCube(above) };
    })""")
    assert len(found["pieces"]) > 60
    assert sum(area(piece) for piece in found["pieces"]) == pytest.approx(area(found["slanted"]), rel=1e-9)
    assert all(np.ptp(np.array(piece), axis=0).max() <= 0.2 + 1e-12 for piece in found["pieces"])
    assert area(found["inside"]) == pytest.approx(4)
    assert found["none"] == []


# ---- the tab --------------------------------------------------------------------------------------------------------


def test_sentences_are_the_servers(lifted: Lift) -> None:
    lifted.says("In the input space this is a circle around")
    asked = {key: lifted.state[key] for key in ("points", "map", "gamma", "C")}
    radius = re.search(r"radius [\d.]+", lift(asked)["comment"][1])
    assert radius
    lifted.says(radius[0])


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        ("bump", "the outline of the hill"),
        ("quadratic", "an ellipse around the origin"),
        ("rbf_surface", "a hill or a hollow of width"),
        ("polar", "In the lifted space the line"),
    ],
)
def test_every_map(lifted: Lift, which: str, sentence: str) -> None:
    before = lifted.picture
    lifted.panel.get_by_label("Map").select_option(which)
    lifted.says(sentence)
    until(lifted.page, lambda: lifted.picture != before)
    sigma = lifted.panel.get_by_label("Sigma σ", exact=True)
    assert sigma.is_visible() == (which in ("bump", "rbf_surface"))


def test_lift_and_flatten(lifted: Lift) -> None:
    slider = lifted.panel.get_by_label("From flat to lifted")
    assert slider.input_value() == "100"
    high = lifted.picture
    lifted.panel.get_by_role("button", name="Flatten").click()
    assert slider.input_value() == "0"  # at once: less motion is asked for
    painted(lifted.page)
    flat = lifted.picture
    assert flat != high
    assert lifted.state["lifted"] == 0
    lifted.page.evaluate("document.activeElement.blur()")
    lifted.page.keyboard.press("Space")
    assert slider.input_value() == "100"
    slider.fill("40")
    painted(lifted.page)
    assert lifted.picture not in (flat, high)
    assert lifted.state["lifted"] == 0.4


def test_lifting_moves_unless_asked_not_to(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Lift(opened(link(lab, "lift"), width=900, height=480))
    slider = tab.panel.get_by_label("From flat to lifted")
    tab.panel.get_by_role("button", name="Flatten").click()
    until(tab.page, lambda: 0 < int(slider.input_value()) < 100)
    expect(slider).to_have_value("0")
    expect(tab.panel.get_by_role("button", name="Lift", exact=True)).to_be_visible()


def test_turns_until_it_is_touched(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    tab = Lift(opened(link(lab, "lift"), width=900, height=480))
    turn = tab.panel.get_by_role("button", name="Turn")
    expect(turn).to_have_attribute("aria-pressed", "true")
    before = tab.picture
    until(tab.page, lambda: tab.picture != before)
    box = tab.space.bounding_box()
    tab.page.mouse.move(box["x"] + 100, box["y"] + 100)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 180, box["y"] + 120, steps=4)
    tab.page.mouse.up()
    expect(turn).to_have_attribute("aria-pressed", "false")
    tab.page.mouse.move(5, 5)
    painted(tab.page)
    before = tab.picture
    painted(tab.page, 10)
    assert tab.picture == before
    turn.click()
    until(tab.page, lambda: tab.picture != before)


def test_stands_still_where_less_motion_is_asked_for(lifted: Lift) -> None:
    painted(lifted.page)
    before = lifted.picture
    painted(lifted.page, 10)
    assert lifted.picture == before
    lifted.panel.get_by_role("button", name="Turn").click()
    expect(lifted.page.locator("#toast")).to_contain_text("less motion")
    painted(lifted.page, 10)
    assert lifted.picture == before


def test_arrow_keys_turn(lifted: Lift) -> None:
    lifted.space.focus()
    lifted.page.keyboard.press("ArrowRight")
    azimuth, elevation, _ = lifted.state["eye"]
    lifted.page.keyboard.press("Shift+ArrowRight")
    lifted.page.keyboard.press("ArrowUp")
    turned, raised, _ = lifted.state["eye"]
    assert turned > azimuth
    assert raised > elevation
    for _ in range(30):
        lifted.page.keyboard.press("ArrowDown")
    assert lifted.state["eye"][1] > 0  # never below the floor


def test_points_are_dragged_and_taken_back(lifted: Lift) -> None:
    """An inner point is dragged out of the circle: the model is another one, and undo brings the old one back."""
    before = lifted.state["points"]
    plane = lifted.panel.locator(".beside canvas").bounding_box()
    unit = min(plane["width"], plane["height"]) / 2
    cx, cy = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    x, y, _ = before[0]
    lifted.page.mouse.move(cx + x * unit, cy - y * unit)
    lifted.page.mouse.down()
    lifted.page.mouse.move(cx + 0.9 * unit, cy + 0.9 * unit, steps=5)
    lifted.page.mouse.up()
    after = lifted.state["points"]
    assert [k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [0]
    assert after[0][:2] == pytest.approx([0.9, -0.9], abs=0.03)
    lifted.says("1 of 70 points are misclassified")
    lifted.page.keyboard.press("Control+z")
    lifted.says("all points are classified correctly")
    assert lifted.state["points"] == before


def test_hard_margin_that_does_not_exist(lifted: Lift, watch: SimpleNamespace) -> None:
    lifted.panel.get_by_label("Example").select_option("overlapping")
    lifted.says("misclassified")
    lifted.type("C", "inf")
    expect(lifted.panel.locator(".hint")).to_contain_text("cannot be separated")
    expect(lifted.panel.locator(".field.wrong .error")).to_contain_text("use a finite C")
    lifted.type("C", "1")
    expect(lifted.panel.locator(".hint")).to_be_hidden()
    expect(lifted.panel.locator(".field.wrong")).to_have_count(0)
    excused(watch, "400")  # the browser notes refusals by itself


def test_empty_space_says_what_to_do(lifted: Lift) -> None:
    lifted.panel.get_by_role("button", name="Clear").click()
    expect(lifted.panel.locator(".hint")).to_contain_text("choose an example")
    lifted.panel.get_by_label("Example").select_option("xor")
    lifted.says("a hyperbola around the origin")
    assert lifted.state["map"] == "quadratic"  # the map that the example is about


def test_links_of_strangers(lifted: Lift) -> None:
    strange = {
        "points": 3,
        "map": "<b>",
        "gamma": "x",
        "C": -1,
        "eye": [1, None, 2],
        "lifted": 7,
        "hidden": "all",
        "view": [],
    }
    lifted.go(strange)
    lifted.says("a circle around")
    state = lifted.state
    assert state["map"] == "radial"
    assert state["lifted"] == 1
    assert state["C"] > 0
    assert state["hidden"] == []


def test_link_holds_the_eye(lifted: Lift, opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    lifted.panel.get_by_label("Map").select_option("quadratic")
    lifted.says("an ellipse")
    lifted.space.focus()
    lifted.page.keyboard.press("ArrowUp")
    lifted.panel.get_by_label("margins, f = ±1").uncheck()
    state = lifted.state
    other = Lift(opened(lab.link + written_link(lifted.page)))
    other.says("an ellipse")
    other.panel.get_by_label("From flat to lifted").fill("50")
    kept = {**other.state, "lifted": 1}
    assert kept == state


def test_picture_and_script(lifted: Lift) -> None:
    page = lifted.page
    with page.expect_download() as download:
        page.get_by_role("button", name="Share").click()
        page.get_by_role("button", name="Save picture (PNG)").click()
    assert Path(download.value.path()).read_bytes()[:4] == b"\x89PNG"
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Python script").click()
    expect(page.get_by_label("Python script")).to_contain_text("RadialMap().fit_transform(X)")
    page.get_by_role("button", name="Close").click()


def test_everything_has_a_name(lifted: Lift) -> None:
    assert lifted.nameless() == []


def test_phone(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    page = opened(link(lab, "lift"), **PHONE, device_scale_factor=2)
    tab = Lift(page)
    page.evaluate("window.shifts = 0")
    tab.panel.get_by_label("Map").select_option("bump")
    tab.says("the outline of the hill")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("window.shifts") < 0.01
    bar = tab.panel.locator(".morph").bounding_box()
    assert bar["y"] + bar["height"] <= page.evaluate("window.innerHeight + window.scrollY") + 1


def test_the_corners_of_the_cube_stay_on_the_canvas(modules: Any) -> None:
    found = modules.evaluate("""import('/static/js/lift/camera.js').then(({ Camera }) => {
        const camera = new Camera();
        camera.fit(760, 620);
        const places = [];
        for (let azimuth = 0; azimuth < 6.3; azimuth += 0.1) {
            for (let elevation = 0.06; elevation < 1.57; elevation += 0.05) {
                Object.assign(camera, { azimuth, elevation });
                const look = camera.look();
                for (let k = 0; k < 8; k++) places.push(look([k & 1, (k >> 1) & 1, k >> 2].map((bit) => 2 * bit - 1)));
            }
        }
        return [places.map(({ x }) => x), places.map(({ y }) => y)].map((all) => [Math.min(...all), Math.max(...all)]);
    })""")
    (left, right), (top, bottom) = found
    assert left > 0
    assert right < 760
    assert top > 0
    assert bottom < 620


def test_film_of_the_lifting(opened: Callable[..., Any], lab: SimpleNamespace, browser: Any) -> None:
    """Flat, lifted, and one turn: the space, the plane beside it and the sentences, at the size of a slide."""
    tab = Lift(opened(link(lab, "lift")))
    with tab.page.expect_download(timeout=300_000) as download:
        tab.page.get_by_role("button", name="Share").click()
        tab.page.get_by_role("button", name="Film: lift and turn").click()
    assert download.value.suggested_filename == "maxmargin-lift-lifting.webm"
    areas = [[50, 50, 1000, 700], [1150, 50, 700, 700], [0, 880, 1900, 180]]
    film = decoded(browser, Path(download.value.path()).read_bytes(), [0.02, 0.4, 0.7], areas)
    assert (film["width"], film["height"]) == (1920, 1080)
    assert film["seconds"] == pytest.approx(1.5 + 36 * 0.04 + 72 * 0.08 + 1.5, abs=0.1)
    assert all(area["colours"] > 3 for picture in film["pictures"] for area in picture)
    assert len({picture[0]["mean"] for picture in film["pictures"]}) == 3  # the space moves
