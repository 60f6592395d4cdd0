"""The tab Digits in a real browser: drawing by pointer, finger and keyboard, pictures, links, the script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lab_browser
import numpy as np
import pytest
from lab_browser import PHONE, Tab, excused, expect, idle, link, written_link
from sklearn.datasets import load_digits

from maxmargin.lab.drawn_digits import TRANSFORMS, _images
from maxmargin.lab.pen import written_digits

image = pytest.importorskip("PIL.Image")

browser, lab, opening, opened, quiet, watch, modules = lab_browser.FIXTURES


class Digits(Tab):
    id = "digits"

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.note = self.panel.locator(".desk .note")
        self.hint = self.panel.get_by_text("Draw a digit here")

    def draw(self, *places: tuple[float, float], lift: bool = True) -> None:
        self.drag(*places, steps=4, lift=lift)

    def press(self, name: str) -> None:
        self.panel.get_by_role("button", name=name).click()

    def looks_like(self, digit: str) -> None:
        expect(self.panel.locator(".digit")).to_have_text(digit)

    def give(self, *, name: str = "digit.png", kind: str = "image/png", data: bytes) -> None:
        self.panel.locator("input[type=file]").set_input_files({"name": name, "mimeType": kind, "buffer": data})

    def column(self, name: str) -> list[float]:
        texts = self.panel.locator(f".scores ol .{name}").all_inner_texts()
        return [float(text.replace("−", "-")) for text in texts]


@pytest.fixture(scope="module")
def shared(opening: Callable[..., Any], lab: SimpleNamespace) -> Digits:
    page = opening(link(lab, "digits"), reduced_motion="reduce")  # examples are there at once
    idle(page)  # the model has learnt
    return Digits(page)


@pytest.fixture
def digits(shared: Digits, quiet: None) -> Digits:
    """An empty sheet; one page for all tests that need no more."""
    shared.go({"strokes": []})
    expect(shared.hint).to_be_visible()
    shared.looks_like("?")
    return shared


SEVEN = [(0.25, 0.15), (0.75, 0.15), (0.6, 0.5), (0.45, 0.88)]


def test_story(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    digits = Digits(opened(link(lab, "digits"), reduced_motion="reduce"))
    page = digits.page
    digits.looks_like("3")  # a first visit finds an example, which the first stroke replaces
    assert "strokes" not in digits.state
    expect(digits.hint).to_be_visible()
    expect(digits.panel.get_by_role("button", name="Undo stroke")).to_be_disabled()
    digits.draw(*SEVEN, lift=False)
    expect(digits.hint).to_be_hidden()
    digits.looks_like("7")  # while the pen is still down
    page.mouse.up()
    digits.draw((0.4, 0.52), (0.7, 0.5))
    assert len(digits.state["strokes"]) == 2
    digits.looks_like("7")
    digits.press("Undo stroke")
    assert len(digits.state["strokes"]) == 1
    page.keyboard.press("Control+z")
    assert len(digits.state["strokes"]) == 2
    digits.press("Clear")
    expect(digits.hint).to_be_visible()
    digits.looks_like("?")
    for _ in range(2):
        page.keyboard.press("Control+z")
    assert len(digits.state["strokes"]) == 1
    digits.looks_like("7")
    assert page.evaluate("window.shifts") < 0.01


def test_examples_are_recognised(digits: Digits) -> None:
    found = digits.page.evaluate(
        "import('/static/js/digits/samples.js').then(({ sample }) => Array.from({ length: 10 }, (_, k) => sample(k)))"
    )
    seen = []
    for _ in range(10):
        with digits.page.expect_response("**/api/digits") as response:
            digits.press("Example")
        strokes = json.loads(response.value.request.post_data)["strokes"]
        assert strokes in found
        digits.looks_like(str(response.value.json()["label"]))
        assert response.value.json()["label"] == found.index(strokes)
        seen.append(found.index(strokes))
    assert sorted(seen) == list(range(10))


def test_example_is_drawn_stroke_by_stroke(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    digits = Digits(opened(link(lab, "digits", {"strokes": []}), reduced_motion="no-preference"))
    digits.press("Example")
    expect(digits.panel.locator(".digit")).not_to_have_text("?")
    whole = digits.page.evaluate("import('/static/js/digits/samples.js').then(({ sample }) => sample(0))")
    expect(digits.page.locator("#undo")).to_be_enabled()
    assert digits.state["strokes"] == whole
    assert digits.page.get_by_role("button", name="Undo", exact=True).get_attribute("title") == "Undo: Example: 0"


def test_scores_votes_and_image_against_an_oracle(digits: Digits, watch: SimpleNamespace) -> None:
    """The 45 models of scikit-learn, which count each other's votes, on the numbers on the screen."""
    from sklearn.svm import SVC

    X, y = _images({"copies": True, "pen": True})
    slow = SVC(kernel="rbf", gamma=0.001, C=5.0, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    with digits.page.expect_response("**/api/digits") as response:
        digits.press("Example")
    answer = response.value.json()
    seen = np.array(answer["seen"])
    decision = slow.decision_function(seen.reshape(1, -1).astype(float))[0]
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    winners = [i if value > 0 else j for (i, j), value in zip(pairs, decision, strict=True)]
    digits.looks_like(str(slow.predict(seen.reshape(1, -1))[0]))
    assert digits.column("votes") == np.bincount(winners, minlength=10).tolist()
    assert digits.column("value") == pytest.approx(answer["scores"], rel=6e-3, abs=1e-3)
    # the large pixels: 16 is ink, 0 paper
    ink = digits.panel.locator(".looks canvas").evaluate(
        """(canvas) => Array.from({ length: 64 }, (_, k) => {
            const size = canvas.width / 8;
            const g = canvas.getContext("2d");
            return g.getImageData((k % 8) * size + 3, Math.floor(k / 8) * size + 3, 1, 1).data[0]; })"""
    )
    excused(watch, "willReadFrequently")  # the page itself reads no pixels
    paper, full = 255, int("1c", 16)
    assert ink == pytest.approx([paper + (full - paper) * value / 16 for value in seen.ravel()], abs=1.5)
    # the support vectors are training rows with their labels; those of the answer speak for it
    changes = {change.name: change for change in TRANSFORMS}
    for entry in answer["support"]:
        rows, labels = written_digits() if entry["copy"] == "pen" else (X, y)
        row = rows[[entry["index"]]]
        row = changes[entry["copy"]](row) if entry["copy"] in changes else row
        assert (row.round().reshape(8, 8) == entry["image"]).all()
        assert labels[entry["index"]] == entry["label"]
        assert (entry["contribution"] > 0) == (entry["label"] == answer["label"])
    words = digits.panel.locator(".thumb .words").all_inner_texts()
    assert [text.split()[0] for text in words] == [str(entry["label"]) for entry in answer["support"]]
    assert ["against" in text for text in words] == [entry["contribution"] < 0 for entry in answer["support"]]


def test_other_models(digits: Digits) -> None:
    digits.go({"strokes": [[[0.5, 0.1], [0.5, 0.9]]]})
    digits.looks_like("1")
    digits.panel.get_by_label("Classes").select_option("ovr")
    expect(digits.panel.locator(".scores .head .votes")).to_be_hidden()
    assert max(digits.column("value")) == digits.column("value")[1]
    digits.panel.get_by_label("Kernel").select_option("linear")
    expect(digits.panel.get_by_label("Sigma σ", exact=True)).to_be_hidden()
    digits.type("C", "0.01")
    assert digits.state["classifier"] == {
        "kernel": "linear",
        "C": 0.01,
        "multiclass": "ovr",
        "copies": True,
        "pen": True,
    }
    digits.looks_like("1")
    digits.type("C", "-1")
    expect(digits.panel.locator(".field.wrong .error")).to_have_text("C must be above 0.")


def test_keyboard(digits: Digits) -> None:
    digits.canvas.focus()
    for key in ("ArrowUp", "Space", *["Shift+ArrowDown"] * 9, "Space"):
        digits.page.keyboard.press(key)
    digits.looks_like("1")
    ((first, *_, last),) = digits.state["strokes"]
    assert first == [0.5, 0.18]
    assert last == [0.5, 0.9]
    digits.page.keyboard.press("Backspace")
    expect(digits.hint).to_be_visible()
    digits.page.keyboard.press("x")
    expect(digits.hint).to_be_hidden()
    digits.page.keyboard.press("c")
    expect(digits.hint).to_be_visible()


def test_a_dot_is_no_digit(digits: Digits, watch: SimpleNamespace) -> None:
    digits.click(0.5, 0.5)
    expect(digits.note).to_have_text("Draw a digit first. A dot is not enough.")
    digits.looks_like("?")
    excused(watch, "400")  # the browser tells of every refusal
    digits.draw((0.5, 0.1), (0.5, 0.9))
    expect(digits.note).to_have_text("")


# ---- pictures -------------------------------------------------------------------------------------------------------


def picture(pixels: Any, side: int = 240, kind: str = "PNG") -> bytes:
    """8 x 8 numbers, 16 is ink, as a file: dark on light."""
    from io import BytesIO

    shades = np.pad(255 - np.asarray(pixels) * 15, 2, constant_values=255).astype(np.uint8)
    file = BytesIO()
    image.fromarray(shades).resize((side, side), image.Resampling.BICUBIC).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("row", [0, 3, 25, 16])
def test_real_digits_as_pictures(digits: Digits, row: int) -> None:
    X, y = load_digits(return_X_y=True)
    digits.give(data=picture(X[row].reshape(8, 8)))
    digits.looks_like(str(y[row]))
    expect(digits.hint).to_be_hidden()
    assert digits.state["picture"].startswith("data:image/png;base64,")
    digits.draw((0.5, 0.1), (0.5, 0.9))  # a stroke begins a new sheet
    assert "picture" not in digits.state
    digits.page.keyboard.press("Control+z")
    digits.looks_like(str(y[row]))


# a file of these bytes, or of so many of them
GIVE = """([kind, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "digit.jpg", { type: "image/jpeg" }));
    const about = { bubbles: true, cancelable: true };
    const node = document.querySelector("#panel-digits .paper canvas");
    if (kind === "drop") node.dispatchEvent(new DragEvent("drop", { ...about, dataTransfer: data }));
    else node.dispatchEvent(new ClipboardEvent("paste", { ...about, clipboardData: data }));
}"""


def test_dropped_and_pasted_pictures(digits: Digits) -> None:
    X, y = load_digits(return_X_y=True)
    for kind, row in (("drop", 4), ("paste", 6)):
        digits.page.evaluate(GIVE, [kind, list(picture(X[row].reshape(8, 8), kind="JPEG"))])
        digits.looks_like(str(y[row]))


def test_large_file_is_reduced_first(digits: Digits) -> None:
    """Grain makes a file of more than 3 MB; what is sent is far below the server's limit."""
    from io import BytesIO

    X, y = load_digits(return_X_y=True)
    shades = np.asarray(image.open(BytesIO(picture(X[2].reshape(8, 8), 1300))).convert("RGB")).astype(int)
    shades = shades + np.random.default_rng(0).integers(-20, 20, shades.shape)
    file = BytesIO()
    image.fromarray(shades.clip(0, 255).astype(np.uint8)).save(file, "PNG", compress_level=1)
    assert len(file.getvalue()) > 3_000_000
    with digits.page.expect_request("**/api/digits") as found:
        digits.give(data=file.getvalue())
    assert len(found.value.post_data) < 4_000_000
    digits.looks_like(str(y[2]))
    state = digits.state
    assert len(json.dumps(state)) < 1000  # too long for a link
    digits.press("Clear")
    digits.page.keyboard.press("Control+z")
    digits.looks_like(str(y[2]))  # but not forgotten
    assert digits.state == state


def too_many_pixels() -> bytes:
    from io import BytesIO

    file = BytesIO()
    image.new("1", (10_000, 6_000)).save(file, "PNG")
    return file.getvalue()


def test_bad_pictures(digits: Digits, watch: SimpleNamespace) -> None:
    """Each gets its sentence in place, and the drawing stays."""
    digits.go({"strokes": [[[0.5, 0.1], [0.5, 0.9]]]})
    digits.looks_like("1")
    whole = picture(load_digits().images[0])
    for data, kind, sentence in (
        (too_many_pixels(), "image/png", "The picture has more than 50 megapixels: reduce it first."),
        (whole[: len(whole) // 2], "image/png", "The picture is damaged: save it again as PNG or JPEG."),
        (b"no picture at all", "image/png", "This file cannot be read as a picture: choose a PNG or JPEG file."),
        (b"no picture at all", "text/plain", "This file cannot be read as a picture: choose a PNG or JPEG file."),
        (b"", "image/png", "The file is empty: choose another one."),
    ):
        digits.give(data=data, kind=kind)
        expect(digits.note).to_have_text(sentence)
    digits.page.evaluate(GIVE, ["drop", 25_000_000])
    expect(digits.note).to_have_text("The picture has 25 MB, and 24 MB is the limit: reduce it first.")
    digits.looks_like("1")
    assert len(digits.state["strokes"]) == 1
    excused(watch, "400")  # the browser tells of every refusal


# ---- links, script, narrow screens ----------------------------------------------------------------------------------


def test_link_holds_the_drawing(digits: Digits, opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    digits.draw(*SEVEN)
    digits.looks_like("7")
    digits.panel.get_by_label("Kernel").select_option("intersection")
    state = digits.state
    digits.looks_like("7")
    other = Digits(opened(lab.link + written_link(digits.page)))
    assert other.state == state
    other.looks_like("7")
    assert other.panel.get_by_label("Kernel").input_value() == "intersection"


STRANGE = [
    {"strokes": [[[0.5, "x"], [2, 0], None], 7, []], "classifier": {"kernel": "<b>", "C": -1, "gamma": 1e99}},
    {"strokes": {}, "classifier": 3, "picture": "javascript:alert(1)"},
    {"picture": ["data:image/png;base64,AAAA"], "classifier": {"multiclass": "constructor", "degree": 2.5}},
]


@pytest.mark.parametrize("k", range(len(STRANGE)))
def test_strange_links(digits: Digits, k: int) -> None:
    digits.go(STRANGE[k])
    expect(digits.hint).to_be_visible()
    model = {"kernel": "rbf", "gamma": 0.001, "C": 5, "multiclass": "ovo", "copies": True, "pen": True}
    assert digits.state == {"strokes": [], "classifier": model}


def test_picture_that_was_too_long_for_its_link(digits: Digits) -> None:
    digits.go({"picture": "kept:elsewhere"})
    expect(digits.note).to_have_text("The picture was too large for the link: choose it again.")


def test_script_has_the_answer_of_the_screen(digits: Digits) -> None:
    with digits.page.expect_response("**/api/digits") as response:
        digits.press("Example")
    answer = response.value.json()
    digits.page.get_by_role("button", name="Share").click()
    digits.page.get_by_role("button", name="Python script").click()
    text = digits.page.locator("dialog pre").inner_text()
    digits.page.keyboard.press("Escape")
    ran: dict[str, Any] = {}
    exec(text, ran)
    assert ran["label"] == answer["label"]
    assert np.array_equal(ran["seen"], answer["seen"])
    digits.looks_like(str(ran["label"]))


def test_picture_is_saved(digits: Digits, tmp_path: Path) -> None:
    digits.draw(*SEVEN)
    digits.looks_like("7")
    with digits.page.expect_download() as found:
        digits.page.get_by_role("button", name="Share").click()
        digits.page.get_by_role("button", name="Save picture").click()
    with image.open(found.value.path()) as saved:
        left = np.asarray(saved.convert("L"))[40:680, 40:680]
    assert 0.03 < np.mean(left < 100) < 0.3  # the drawing


def test_finger_on_a_narrow_screen(opened: Callable[..., Any], lab: SimpleNamespace) -> None:
    digits = Digits(opened(link(lab, "digits"), **PHONE, reduced_motion="reduce"))
    touch = digits.page.context.new_cdp_session(digits.page)
    kinds = ["touchStart", *["touchMove"] * 8]
    for k, kind in enumerate(kinds):
        x, y = digits.at(0.5, 0.1 + 0.1 * k)
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    digits.looks_like("1")
    assert len(digits.state["strokes"]) == 1
    assert digits.page.evaluate("scrollY") == 0  # the finger draws, it does not scroll
    assert digits.page.evaluate("document.documentElement.scrollWidth") == 390
    expect(digits.panel.locator(".digit")).to_be_in_viewport()
