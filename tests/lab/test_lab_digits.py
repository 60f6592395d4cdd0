"""The Digits tab: the renderer against its definition, pictures good and bad, and the model behind it."""

from __future__ import annotations

import base64
import io
import itertools
import json
import math
import struct
import sys
import zlib

import arc_digits
import handwriting
import numpy as np
import pen_paths
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from maxmargin import SVC
from maxmargin.digits.pictures import load_picture
from maxmargin.lab import drawn_digits
from maxmargin.lab.drawings import FIELD_PIXELS, LINE_RADIUS, pixels, rendered
from maxmargin.lab.drawn_digits import digit_weights, digits, script
from maxmargin.lab.jobs import Run
from maxmargin.lab.pen import written, written_digits
from maxmargin.lab.requests import RequestError

CIRCLE = [[0.5 + 0.3 * math.sin(t), 0.5 - 0.42 * math.cos(t)] for t in np.linspace(0, 2 * math.pi, 40)]
DRAWINGS = {
    0: [CIRCLE],
    1: [[[0.4, 0.25], [0.55, 0.1], [0.55, 0.9]]],
    2: [[[0.25, 0.3], [0.35, 0.12], [0.6, 0.1], [0.72, 0.28], [0.6, 0.5], [0.25, 0.88], [0.75, 0.88]]],
    4: [[[0.6, 0.9], [0.6, 0.1], [0.2, 0.62], [0.8, 0.62]]],
    5: [[[0.7, 0.1], [0.32, 0.1], [0.3, 0.45], [0.55, 0.4], [0.72, 0.58], [0.68, 0.82], [0.45, 0.9], [0.26, 0.84]]],
    7: [[[0.25, 0.12], [0.75, 0.12], [0.45, 0.9]]],
}


def data_url(image, kind="PNG", **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode()}"


def drawn(strokes, dark=True, size=200):
    """A picture of a drawing, dark on light or the reverse."""
    ink = rendered([np.array(stroke) for stroke in strokes])
    ink = np.pad(ink, 24)
    values = 255 * (1 - ink if dark else ink)
    return Image.fromarray(values.astype(np.uint8)).resize((size, size))


@pytest.mark.parametrize("digit", sorted(DRAWINGS))
def test_drawings_are_read(digit):
    answer = digits({"strokes": DRAWINGS[digit]})
    assert answer["label"] == digit == int(np.argmax(answer["scores"])) == int(np.argmax(answer["votes"]))
    assert sum(answer["votes"]) == 45
    seen = np.array(answer["seen"])
    assert seen.shape == (8, 8)
    assert seen.dtype.kind == "i"
    assert seen.min() >= 0
    assert 8 <= seen.max() <= 16
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("digit", sorted(DRAWINGS))
def test_size_and_place_do_not_matter(digit):
    small = [[[0.05 + 0.1 * x, 0.8 + 0.1 * y] for x, y in stroke] for stroke in DRAWINGS[digit]]
    assert digits({"strokes": small})["seen"] == digits({"strokes": DRAWINGS[digit]})["seen"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("dark", [True, False], ids=["dark", "light"])
def test_pictures_are_read(kind, dark):
    image = drawn(DRAWINGS[2], dark)
    answer = digits({"image": data_url(image, kind)})
    assert answer["label"] == 2
    if kind == "PNG":
        assert answer["seen"] == np.rint(load_picture(image)).astype(int).tolist()


def test_the_model_is_that_of_the_library():
    X, y = load_digits(return_X_y=True)
    model = SVC(kernel="rbf", gamma=0.001, C=3, multiclass="ovr").fit(X, y)
    request = {"strokes": DRAWINGS[5], "classifier": {"kernel": "rbf", "gamma": 0.001, "C": 3, "multiclass": "ovr"}}
    answer = digits(request)
    row = np.array(answer["seen"]).reshape(1, -1)
    assert answer["scores"] == pytest.approx(model.decision_function(row)[0].tolist(), abs=1e-2)
    assert answer["votes"] is None
    for one in answer["support"]:
        assert one["image"] == X[one["index"]].reshape(8, 8).astype(int).tolist()
        assert one["label"] == y[one["index"]]
    shares = [one["share"] for one in answer["support"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1


def test_a_model_is_trained_once(monkeypatch):
    request = {"strokes": DRAWINGS[1], "classifier": {"kernel": "linear", "C": 0.02}}
    digits(request)
    monkeypatch.setattr(SVC, "fit", lambda *_: pytest.fail("trained again"))
    assert digits(request)["label"] == 1


def test_only_some_models_are_kept(monkeypatch):
    monkeypatch.setattr(drawn_digits, "_models", {})
    monkeypatch.setattr(drawn_digits, "KEPT_MAX_MODELS", 2)
    for C in (0.01, 0.02, 0.03):
        digits({"strokes": DRAWINGS[1], "classifier": {"kernel": "linear", "C": C}})
    assert len(drawn_digits._models) == 2


def test_ink_is_the_distance_from_the_line():
    """Every pixel of a bent stroke against a slow search along it."""
    stroke = np.array([[0.1, 0.2], [0.7, 0.5], [0.3, 0.9]])
    ink = rendered([stroke])
    low, high = stroke.min(axis=0), stroke.max(axis=0)
    scale = (FIELD_PIXELS - 2 * (LINE_RADIUS + 2)) / (high - low).max()
    corners = (stroke - (low + high) / 2) * scale + FIELD_PIXELS / 2
    line = np.concatenate([a + np.linspace(0, 1, 2001)[:, None] * (b - a) for a, b in itertools.pairwise(corners)])
    for row, column in np.random.default_rng(0).integers(0, FIELD_PIXELS, (300, 2)):
        distance = np.sqrt(((line - [column + 0.5, row + 0.5]) ** 2).sum(axis=1).min())
        assert ink[row, column] == pytest.approx(np.clip(LINE_RADIUS + 0.5 - distance, 0, 1), abs=0.05)


def test_weights_are_those_of_ten_linear_models():
    X, y = load_digits(return_X_y=True)
    weights = np.array(digit_weights({"C": 0.01})["weights"])
    model = SVC(kernel="linear", C=0.01, multiclass="ovr", tol=1e-6).fit(X, y)
    assert weights.reshape(10, 64) == pytest.approx(model.coef_, abs=5e-3)


def test_the_script_reproduces_the_digit(capsys):
    state = {"strokes": DRAWINGS[7], "classifier": {"kernel": "poly", "degree": 2, "C": 1}}
    names = {}
    exec(script(state), names)
    assert names["label"] == digits(state)["label"] == 7
    assert "This looks like 7" in capsys.readouterr().out


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"strokes": []},
        {"strokes": [[], []]},
        {"strokes": None},
        {"strokes": [[[0.5, 0.5]]]},
        {"strokes": [[[0.5, 0.5]] * 50]},
    ],
    ids=lambda value: str(value)[:50],
)
def test_an_empty_drawing(request_):
    with pytest.raises(RequestError, match="Draw a digit first") as caught:
        digits(request_)
    assert caught.value.field == "strokes"


@pytest.mark.parametrize(
    "strokes",
    [
        "abc",
        3,
        [1, 2],
        [[1, 2]],
        [[[0, 0, 0], [1, 1, 1]]],
        [[["a", 0]]],
        [[[math.nan, 0], [1, 1]]],
        [[]] * 200,
        [[[0, 0]] * 20_000],
    ],
    ids=["text", "number", "numbers", "no places", "three", "letters", "nan", "many", "long"],
)
def test_wrong_strokes(strokes):
    with pytest.raises(RequestError) as caught:
        digits({"strokes": strokes})
    assert caught.value.field == "strokes"


def _png_header(width, height):
    """A PNG that only claims to be so large."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    body = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body += chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(body).decode()}"


@pytest.mark.parametrize(("width", "height"), [(10_000, 6_000), (100_000, 100_000)], ids=lambda value: str(value)[:50])
def test_a_huge_picture_is_refused_before_it_is_decoded(width, height, monkeypatch):
    monkeypatch.setattr(Image.Image, "load", lambda *_: pytest.fail("decoded"))
    with pytest.raises(RequestError, match="megapixels"):
        digits({"image": _png_header(width, height)})


PICTURE = data_url(drawn(DRAWINGS[4]))
HALF = PICTURE[: len("data:image/png;base64,") + 4 * (len(PICTURE) // 8)]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (5, "data URL"),
        ("", "data URL"),
        ("https://example.org/4.png", "data URL"),
        ("data:text/html;base64,AAAA", "data URL"),
        ("data:image/png;base64,@@@", "incomplete"),
        ("data:image/png;base64,AAAA", "cannot be read as a picture"),
        (HALF, "damaged"),
        (_png_header(20, 20), "damaged"),
        (data_url(Image.new("RGB", (60, 60), "white")), "ink"),
        ("data:image/png;base64," + base64.b64encode(b"GIF89a" + bytes(60)).decode(), "cannot be read as a picture"),
    ],
    ids=["number", "empty", "address", "page", "letters", "noise", "half", "no data", "blank", "another format"],
)
def test_bad_pictures_get_a_sentence(image, words):
    with pytest.raises(RequestError, match=words) as caught:
        digits({"image": image})
    assert caught.value.field == "image"
    assert str(caught.value).endswith((".", "..."))


def test_drawing_needs_no_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert digits({"strokes": DRAWINGS[1]})["label"] == 1
    with pytest.raises(RequestError, match="Pillow"):
        digits({"image": PICTURE})


@pytest.mark.parametrize(
    ("classifier", "field"),
    [
        ({"kernel": "cubic"}, "kernel"),
        ({"kernel": {"name": 3}}, "kernel"),
        ({"C": 0}, "C"),
        ({"C": "inf", "kernel": "linear", "multiclass": "ovr"}, "C"),
        ({"gamma": -1}, "gamma"),
        ({"multiclass": "all"}, "multiclass"),
        ("svm", "classifier"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_wrong_models_name_the_field(classifier, field):
    with pytest.raises(RequestError) as caught:
        digits({"strokes": DRAWINGS[1], "classifier": classifier})
    assert caught.value.field == field


def test_warm_up_trains_the_model_that_the_page_begins_with(monkeypatch):
    monkeypatch.setattr(drawn_digits, "_models", {})
    drawn_digits.warm_up()
    digits({"strokes": DRAWINGS[1], "classifier": {**PAGE, "C": 5, "multiclass": "ovo"}})
    assert len(drawn_digits._models) == 1


PAGE = {"kernel": "rbf", "gamma": 0.001, "C": 5.0, "copies": True, "pen": True}  # what the page begins with


@pytest.mark.parametrize("judge", [handwriting, arc_digits, pen_paths], ids=lambda judge: judge.__name__)
def test_drawn_digits_are_read(judge):
    """Strokes that nothing was trained on: 97 of 100, 90 of each digit, more than the plain model; doubts at errors."""
    random = np.random.default_rng(0)
    labels = np.arange(1000) % 10
    drawings = [judge.written(int(k), random) for k in labels]
    seen = np.array([pixels({"strokes": strokes}).ravel() for strokes in drawings])
    asked = drawn_digits._settings({"classifier": PAGE})
    model, sureness = drawn_digits._trained(asked, Run())
    right = model.predict(seen) == labels
    assert right.mean() >= 0.97
    assert min(right[labels == digit].mean() for digit in range(10)) >= 0.9
    plain, _ = drawn_digits._trained(
        {key: value for key, value in asked.items() if key not in ("copies", "pen")}, Run()
    )
    assert right.mean() > np.mean(plain.predict(seen) == labels)
    sure = sureness(drawn_digits._leads(model.decision_function(seen), asked)) >= drawn_digits.SURE_MIN_PROBABILITY
    assert sure.mean() > 0.9
    assert right[sure].mean() > right[~sure].mean() + 0.1
    doubt = digits({"strokes": drawings[int(np.flatnonzero(~sure)[0])], "classifier": PAGE})
    assert doubt["comment"][0].startswith("Not sure: ")
    assert not doubt["sure"]
    assert doubt["probability"] < drawn_digits.SURE_MIN_PROBABILITY


LETTERS = {
    "X": [[[0.2, 0.1], [0.8, 0.9]], [[0.8, 0.1], [0.2, 0.9]]],
    "A": [[[0.1, 0.9], [0.5, 0.1], [0.9, 0.9]], [[0.3, 0.6], [0.7, 0.6]]],
    "W": [[[0.1, 0.1], [0.3, 0.9], [0.5, 0.3], [0.7, 0.9], [0.9, 0.1]]],
    "H": [[[0.2, 0.1], [0.2, 0.9]], [[0.8, 0.1], [0.8, 0.9]], [[0.2, 0.5], [0.8, 0.5]]],
}


@pytest.mark.parametrize("letter", sorted(LETTERS))
def test_what_is_no_digit_is_not_sure(letter):
    """The X has a lead over all other digits that would be right in 99 of 100 cases, were it a digit."""
    answer = digits({"strokes": LETTERS[letter], "classifier": PAGE})
    assert (answer["familiar"], answer["sure"]) == (False, False)
    assert answer["comment"][0].startswith("Not sure: this is unlike all digits")
    assert letter != "X" or answer["probability"] > drawn_digits.SURE_MIN_PROBABILITY


@pytest.mark.parametrize("judge", [handwriting, arc_digits, pen_paths], ids=lambda judge: judge.__name__)
def test_drawn_digits_are_familiar(judge):
    random = np.random.default_rng(1)
    rows = [pixels({"strokes": judge.written(k % 10, random)}).reshape(1, -1).astype(float) for k in range(300)]
    assert np.mean([drawn_digits.is_familiar(row) for row in rows]) > 0.97


def test_the_reach_is_that_of_the_digits_themselves():
    """Of held-out digits a hundredth is farther from the others, by a plain search of the nearest."""
    _, reach = drawn_digits._digits_and_reach()
    held, _ = drawn_digits._images({"pen": True}, every_third=True)
    others, _ = drawn_digits._images({"copies": True, "pen": True}, every_third=False)
    nearest = np.array([np.sqrt(((others - row) ** 2).sum(axis=1).min()) for row in held])
    assert 0.009 < np.mean(nearest > reach) < 0.011


@pytest.mark.parametrize("more", [{"copies": True}, {"pen": True}, {"copies": True, "pen": True}], ids=str)
def test_support_vectors_are_the_rows_that_they_are_said_to_be(more):
    X, _ = load_digits(return_X_y=True)
    names = {change.name: change for change in drawn_digits.TRANSFORMS}
    kinds = set()
    for strokes in DRAWINGS.values():
        for one in digits({"strokes": strokes, "classifier": {"C": 5.0, **more}})["support"]:
            kinds.add(one["copy"] if one["copy"] in (None, "pen") else "copy")
            k = one["index"]
            row = {None: X, "pen": written_digits()[0]}.get(one["copy"], X)[[k]]
            row = names[one["copy"]](row) if one["copy"] in names else row
            assert one["image"] == row.reshape(8, 8).round().astype(int).tolist()
            assert one["label"] == (k % 10 if one["copy"] == "pen" else load_digits().target[k])
    assert kinds - {None} == {"copy" if name == "copies" else name for name in more}


def test_the_script_learns_from_the_same_rows(capsys):
    state = {"strokes": DRAWINGS[5], "classifier": {"kernel": "linear", "C": 0.01, "copies": True, "pen": True}}
    names = {}
    exec(script(state), names)
    settings = drawn_digits._settings(state)
    X, y = drawn_digits._images(settings)
    assert np.array_equal(names["X"], X)
    assert np.array_equal(names["y"], y)
    assert names["label"] == digits(state)["label"]


def test_written_digits_are_the_same_each_time():
    X, y = written_digits(30, 1)
    random = np.random.default_rng(1)
    assert [
        pixels({"strokes": [s.tolist() for s in written(int(k), random)]}).ravel().tolist() for k in y
    ] == X.tolist()


def test_probability_is_the_share_of_right_answers():
    """The sigmoid of the second model, by its definition: the lead against being right, on digits it has not seen."""
    model, sureness = drawn_digits._trained(drawn_digits._settings({"classifier": PAGE}), Run())
    assert sureness.slope > 0
    leads = np.array([0.0, 1.0, 2.0])
    assert (np.diff(sureness(leads)) > 0).all()
    assert sureness(np.array([0.0]))[0] < drawn_digits.SURE_MIN_PROBABILITY < sureness(np.array([2.0]))[0]
    assert len(model.support_) > 500
