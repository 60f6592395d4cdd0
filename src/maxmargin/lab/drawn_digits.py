"""A digit drawn on the page, or a picture of one, and what a model takes it for.

A drawing is strokes, lists of points in the unit square with y downwards. Their size and place do not matter, so they
are first scaled to fill the field. A pixel's ink is how much of it a line of radius r covers, by its distance from the
segments of the stroke:

    ink(p) = clip(r + 1/2 - distance(p, segments), 0, 1)       distances in pixels

From there on a drawing is treated as any picture (:mod:`maxmargin.digits.pictures`): sheared, stretched, brought to the
usual stroke width, and its ink counted in 8 x 8 blocks, 0 to 16, as in scikit-learn's digits, which the model learns
from. With ``copies`` it also learns from each of them rotated by 10 degrees, sheared by 0.2 and scaled by a tenth:
hands differ so. (Shifted ones add nothing, because every drawing is centred.)

How sure it is comes from a second model, of two thirds of the digits. On the other third, and on its copies, it is
counted how often the answer is right, against the lead of the first digit over the second:

    P(right) = 1 / (1 + exp(-(slope lead + offset)))         "not sure" below SURE
"""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin import SVC, InseparableError
from maxmargin.digits.pictures import LARGEST_SIDE, _normalised, load_picture
from maxmargin.inspection.explanations import explain
from maxmargin.invariances import rotations, scalings, shears
from maxmargin.lab import requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces.answers import listed, short
from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.maps import SigmoidMap, fit_sigmoid
from maxmargin.svm.models.multiclass import pairs, votes_with_confidence

SIDE = 128  # pixels of the field that strokes are drawn in
RADIUS = 5.0  # of the line, in pixels
MOST_STROKES, MOST_PLACES = 100, 10_000
DOT = 0.02  # of the canvas: less than this is no digit
MOST_BYTES = 24_000_000
MOST_PIXELS = 50_000_000
FORMATS = ("PNG", "JPEG", "WEBP")
TOP = 8  # support vectors that are shown
KEPT_MAX_MODELS = 12  # models in memory
TRAINING_SECONDS = 15.0
KERNELS = ("linear", "poly", "rbf", "laplacian", "intersection")
EMPTY = "Draw a digit first."
N_DIGITS = 1797  # of scikit-learn
# how hands differ: of the amounts tried on drawn digits these read most
TRANSFORMS = [*rotations((8, 8), (-10, 10)), *scalings((8, 8), (0.9, 1.1)), *shears((8, 8), (-0.2, 0.2))]

SURE = 0.8  # the least probability of an answer without doubt

_models: dict[tuple[Any, ...], tuple[SVC, SigmoidMap]] = {}


def digits(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """Say which digit a drawing or picture shows, and why.

    Parameters
    ----------
    request : mapping
        ``strokes`` [[[x, y], ...], ...] in the unit square, y downwards, or ``image``, a data URL of a PNG, JPEG or
        WebP picture; ``classifier`` with ``kernel``, ``C``, ``gamma``, ``multiclass``, ``copies``.
    control : Run, optional

    Returns
    -------
    dict
        ``seen``, the 8 x 8 whole numbers that the model sees; ``label``; ``scores``, one a digit; ``votes`` of
        one-vs-one, one a digit (None with other schemes); ``probability`` that the label is right, ``sure``;
        ``support``, the support vectors that decided it: ``index`` of the digit, ``copy`` (how it was changed, or
        None), ``label``, ``image``, ``contribution`` and ``share``; ``comment``, sentences.

    Examples
    --------
    >>> from maxmargin.lab.drawn_digits import digits
    >>> answer = digits({"strokes": [[[0.5, 0.1], [0.5, 0.9]]]})
    >>> answer["label"], answer["votes"][1], answer["seen"][3]
    (1, 9, [0, 0, 3, 16, 16, 3, 0, 0])
    """
    control = control or Run()
    seen = np.rint(_image(request)).astype(int)
    settings = _settings(request)
    model, sureness = _trained(settings, control)
    row = seen.reshape(1, -1).astype(np.float64)
    decision = model.decision_function(row)
    label = int(model.predict(row)[0])
    votes = None
    if settings["multiclass"] == "ovo":
        first, second = np.array(pairs(10)).T
        votes = np.bincount(np.where(decision[0] > 0, first, second), minlength=10)
    scores = _scores(decision, settings)[0]
    probability = float(sureness(_leads(decision, settings))[0])
    one = explain(model, row, top=TOP)[0]
    return {
        "seen": seen.tolist(),
        "label": label,
        "scores": listed(scores),
        "votes": None if votes is None else votes.tolist(),
        "probability": short(probability),
        "sure": probability >= SURE,
        "support": [
            {
                "index": int(one.index[k]) % N_DIGITS,
                "copy": None if one.index[k] < N_DIGITS else TRANSFORMS[int(one.index[k]) // N_DIGITS - 1].name,
                "label": int(one.label[k]) if one.label is not None else None,
                "image": one.vectors[k].reshape(8, 8).round().astype(int).tolist(),
                "contribution": short(float(one.contribution[k])),
                "share": short(float(one.share[k])),
            }
            for k in range(len(one.index))
        ],
        "comment": _comment(label, scores, votes, one, model, probability),
    }


def digit_weights(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """The weights of ten linear models, one for each digit against the rest, as pictures.

    Parameters
    ----------
    request : mapping
        ``C``.
    control : Run, optional

    Returns
    -------
    dict
        ``weights``, ten times 8 x 8 numbers: positive where ink speaks for the digit; ``sentence``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.lab.drawn_digits import digit_weights
    >>> np.shape(digit_weights({"C": 0.01})["weights"])
    (10, 8, 8)
    """
    settings = {"kernel": "linear", "C": requests.penalty(request, 0.01), "multiclass": "ovr"}
    model, _ = _trained(settings, control or Run())
    return {
        "weights": listed(model.coef_.reshape(10, 8, 8), 4),
        "sentence": "Ink where a weight is positive speaks for the digit, ink where it is negative against it.",
    }


def rendered(strokes: list[Array]) -> Array:
    """Strokes as ink between 0 and 1 in a field of SIDE x SIDE pixels, which they fill.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.lab.drawn_digits import rendered
    >>> ink = rendered([np.array([[0.2, 0.2], [0.2, 0.4]])])
    >>> ink.shape, ink[64].round(1)[57:71].tolist()
    ((128, 128), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    """
    every = np.concatenate(strokes)
    low, high = every.min(axis=0), every.max(axis=0)
    room = RADIUS + 2.0
    scale = (SIDE - 2 * room) / max(float((high - low).max()), 1e-9)
    middle = (low + high) / 2
    ink = np.zeros((SIDE, SIDE))
    for stroke in strokes:
        places = (stroke - middle) * scale + SIDE / 2
        for p, q in pairwise(places) if len(places) > 1 else [(places[0], places[0])]:
            _draw(ink, p, q)
    return ink


def _draw(ink: Array, p: Array, q: Array) -> None:
    """A segment from p to q; pixel (row, column) has its centre at x = column + 1/2, y = row + 1/2."""
    reach = RADIUS + 1.0
    x0, y0 = np.maximum(0, np.floor(np.minimum(p, q) - reach)).astype(int)
    x1, y1 = np.minimum(SIDE, np.ceil(np.maximum(p, q) + reach)).astype(int)
    x, y = np.arange(x0, x1) + 0.5 - p[0], (np.arange(y0, y1) + 0.5 - p[1])[:, None]
    along = q - p
    length2 = float(along @ along)
    t = np.clip((x * along[0] + y * along[1]) / length2, 0.0, 1.0) if length2 > 0 else 0.0
    distance = np.hypot(x - t * along[0], y - t * along[1])
    part = ink[y0:y1, x0:x1]
    np.maximum(part, np.clip(RADIUS + 0.5 - distance, 0.0, 1.0), out=part)


def _image(request: Mapping[str, Any]) -> Array:
    if request.get("image") is not None:
        return _of_picture(request["image"])
    strokes = _strokes(request.get("strokes"))
    every = np.concatenate(strokes) if strokes else np.zeros((0, 2))
    if len(every) == 0 or float(np.ptp(every, axis=0).max()) < DOT:
        raise RequestError(EMPTY if len(every) == 0 else f"{EMPTY} A dot is not enough.", "strokes")
    ink = rendered(strokes)
    return np.asarray(_normalised(ink, ink > 0.5))


def _strokes(given: Any) -> list[Array]:
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > MOST_STROKES or not all(isinstance(one, list) for one in given):
        raise RequestError(f"strokes must be a list of at most {MOST_STROKES} lists of places.", "strokes")
    if sum(map(len, given)) > MOST_PLACES:
        raise RequestError(f"The drawing has more than {MOST_PLACES:,} places: draw it with fewer.", "strokes")
    return [requests.rows({"strokes": one}, "strokes", 2, "x and y").clip(-1.0, 2.0) for one in given if one]


def _of_picture(given: Any) -> Array:
    """What the model sees of a data URL."""
    head, comma, body = given.partition(",") if isinstance(given, str) else ("", "", "")
    if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
        raise RequestError("image must be a PNG or JPEG picture as a data URL, data:image/png;base64,...", "image")
    if len(body) > MOST_BYTES * 4 / 3:
        raise RequestError(f"The picture has more than {MOST_BYTES / 1e6:.0f} MB: reduce it first.", "image")
    try:
        data = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError("The picture did not arrive whole: choose the file again.", "image") from error
    image = _opened(data)
    try:
        return load_picture(image)
    except ValueError as error:
        reason = str(error).removeprefix("picture: ")
        raise RequestError(f"{reason[:1].upper()}{reason[1:]}.", "image") from error


def _opened(data: bytes) -> Any:
    """The picture, decoded only after its header has told its size."""
    try:
        from PIL import Image
    except ImportError as error:
        raise RequestError(
            'Pictures need Pillow, which is not installed: pip install "maxmargin[images]". Drawing works without it.',
            "image",
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = image.size
    except Image.DecompressionBombError as error:
        raise RequestError(_too_large(), "image") from error
    except Exception as error:  # a decoder meets a strange file with errors of every kind
        raise RequestError("This is no picture that can be read: give a PNG or JPEG file.", "image") from error
    if width * height > MOST_PIXELS:
        raise RequestError(_too_large(), "image")
    try:
        image.draft(None, (LARGEST_SIDE, LARGEST_SIDE))
        image.load()
    except Exception as error:
        raise RequestError("The picture is damaged: save it again as PNG or JPEG.", "image") from error
    return image


def _too_large() -> str:
    return f"The picture has more than {MOST_PIXELS / 1e6:.0f} megapixels: reduce it first."


def _settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """The model's parameters: the kernel's as in the other tabs, with a gamma that suits 64 numbers 0 to 16."""
    asked = dict(requests.part(request, "classifier"))
    kernel = asked.get("kernel", "rbf")
    kernel = {"name": kernel} if isinstance(kernel, str) or kernel is None else dict(requests.part(asked, "kernel"))
    kernel["name"] = kernel.get("name") or "rbf"
    for name in ("gamma", "degree", "coef0"):
        if asked.get(name) is not None:
            kernel[name] = asked[name]
    if kernel.get("gamma") is None:
        kernel["gamma"] = "scale" if kernel["name"] == "poly" else 0.001
    found = requests.kernel({"kernel": kernel}, KERNELS)
    multiclass = requests.choice(asked, "multiclass", requests.MULTICLASS, "ovo")
    copies = {"copies": True} if requests.flag(asked, "copies", False) else {}
    return {**found, "C": requests.penalty(asked), "multiclass": multiclass, **copies}


def _with_copies(X: Array, y: Array) -> tuple[Array, Array]:
    """The images, and after them all of them changed in each way."""
    return np.vstack([X, *(change(X) for change in TRANSFORMS)]), np.tile(y, 1 + len(TRANSFORMS))


def _scores(decision: Array, settings: dict[str, Any]) -> Array:
    """One score a digit, shape (n, 10); the highest is the label."""
    return votes_with_confidence(decision, np.ones(10, bool)) if settings["multiclass"] == "ovo" else decision


def _leads(decision: Array, settings: dict[str, Any]) -> Array:
    """How far the first digit is ahead of the second: their duel's value, or the difference of their scores."""
    scores = _scores(decision, settings)
    second, first = np.argsort(scores, axis=1, kind="stable")[:, -2:].T
    rows = np.arange(len(scores))
    if settings["multiclass"] != "ovo":
        return np.asarray(scores[rows, first] - scores[rows, second])
    column = {pair: k for k, pair in enumerate(pairs(10))}
    duel = [column[min(p, q), max(p, q)] for p, q in zip(first.tolist(), second.tolist(), strict=True)]
    return np.asarray(np.where(first < second, 1.0, -1.0) * decision[rows, duel])


def _sureness(model: SVC, X: Array, y: Array, settings: dict[str, Any]) -> SigmoidMap:
    """P(right) by the lead, of a model that has not seen these digits."""
    X, y = _with_copies(X, y)
    decision = model.decision_function(X)
    right = _scores(decision, settings).argmax(axis=1) == y
    return fit_sigmoid(_leads(decision, settings), right, np.ones(len(y)))


def _trained(settings: dict[str, Any], control: Run) -> tuple[SVC, SigmoidMap]:
    """The model of these settings, trained on all 1,797 digits, once, and how sure it is."""
    key = tuple(sorted(settings.items()))
    if key in _models:
        return _models[key]
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    left = control.seconds_left
    shape = "ovo" if settings["multiclass"] == "ovo" else "ovr"
    limit = TRAINING_SECONDS if left is None else min(TRAINING_SECONDS, left)
    parameters = {key: value for key, value in settings.items() if key != "copies"}

    def fitted(rows: Array, labels: Array) -> SVC:
        given = _with_copies(rows, labels) if settings.get("copies") else (rows, labels)
        return SVC(**parameters, decision_function_shape=shape, max_seconds=limit).fit(*given)

    third = np.arange(len(y)) % 3 == 0
    try:
        model = fitted(X, y)
        sureness = _sureness(fitted(X[~third], y[~third]), X[third], y[third], settings)
    except InseparableError as error:
        raise RequestError(
            "C = inf allows no errors, and this kernel cannot avoid them: use a finite C.", "C"
        ) from error
    except (ValueError, ArithmeticError) as error:
        raise RequestError(" ".join(str(error).split()), "classifier") from error
    if model.report_.converged:
        while len(_models) >= KEPT_MAX_MODELS:
            _models.pop(next(iter(_models)), None)
        _models[key] = model, sureness
    return model, sureness


def _comment(label: int, scores: Array, votes: Array | None, one: Any, model: SVC, probability: float) -> list[str]:
    order = [int(k) for k in np.argsort(-scores, kind="stable") if k != label]
    second = order[0]
    sure = f"This looks like {label}" if probability >= SURE else f"Not sure: {label} or {second}?"
    lines = [
        f"{sure} ({min(99, int(100 * probability))} % of such answers are right). The runner-up is {second} (scores "
        f"{scores[label]:.2f} and {scores[second]:.2f})."
    ]
    if votes is not None:
        lines.append(f"{label} won {votes[label]} of its 9 duels with the other digits, {second} won {votes[second]}.")
    share = float(one.share.sum())
    n = int(one.n_rest) + len(one.index)
    lines.append(
        f"Shown are the {len(one.index)} support vectors that weigh most in {one.about}: {100 * share:.0f} % of the "
        f"weight of all {n:,}."
    )
    if not model.report_.converged:
        lines.append("The model was stopped before it had learnt everything: use a smaller C.")
    return lines


def warm_up() -> None:
    """Train the model that the page begins with, and let it read a drawing."""
    digits({"strokes": [[[0.2, 0.1], [0.8, 0.1], [0.4, 0.9]]], "classifier": {"C": 5.0, "copies": True}})


def script(state: Mapping[str, Any]) -> str:
    """The same model on the same 8 x 8 numbers, as a Python script.

    Parameters
    ----------
    state : mapping
        As for :func:`digits`.

    Returns
    -------
    str
        Source that leaves the digit in ``label``.

    Examples
    --------
    >>> from maxmargin.lab.drawn_digits import script
    >>> text = script({"strokes": [[[0.5, 0.1], [0.5, 0.9]]]})
    >>> print(text[text.index("model =") :])
    model = SVC(kernel="rbf", gamma=0.001, C=1.0, multiclass="ovo").fit(*load_digits(return_X_y=True))
    ...
    """
    from maxmargin.lab.script import call, heading, literal

    seen = np.rint(_image(state)).astype(int)
    settings = _settings(state)
    copies = settings.pop("copies", False)
    fit = [f"model = {call('SVC', settings)}.fit(*load_digits(return_X_y=True))"]
    if copies:
        fit = [
            "X, y = load_digits(return_X_y=True)",
            "transforms = [*rotations((8, 8), (-10, 10)), *scalings((8, 8), (0.9, 1.1)), *shears((8, 8), (-0.2, 0.2))]",
            "X, y = np.vstack([X, *(change(X) for change in transforms)]), np.tile(y, 1 + len(transforms))",
            f"model = {call('SVC', settings)}.fit(X, y)",
        ]
    lines = [
        *heading("A drawn digit"),
        "from sklearn.datasets import load_digits",
        "",
        "from maxmargin import SVC, explain",
        *(["from maxmargin.invariances import rotations, scalings, shears"] if copies else []),
        "",
        *literal("seen", seen, "0 paper, 16 ink", tuple(range(8))),
        *fit,
        "label = int(model.predict(seen.reshape(1, -1))[0])",
        'print("This looks like", label)',
        f"print(explain(model, seen.reshape(1, -1), top={TOP})[0])",
    ]
    return "\n".join(lines) + "\n"
