"""A digit drawn on the page, or a picture of one, and what a model takes it for.

The model learns from scikit-learn's 1,797 digits of 8 x 8 numbers. With ``copies`` it also learns from each of them
rotated by 10 degrees, sheared by 0.2 and scaled by a tenth: hands differ so. (Shifted ones add nothing, because every
drawing is centred.) With ``pen`` it also learns from digits that a program wrote
(:mod:`maxmargin.lab.pen`): those of scikit-learn were written on paper, by few people.

How sure it is comes from a second model, of two thirds of the digits. On the other third, and on its copies, it is
counted how often the answer is right, against the lead of the first digit over the second:

    P(right) = 1 / (1 + exp(-(slope lead + offset)))         "not sure" below SURE_MIN_PROBABILITY

A classifier has no answer for what is no digit: a letter gets one of ten labels, often with a large lead. So a drawing
is "not sure" too if it is farther from every digit than 99 of 100 digits are from the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from maxmargin import SVC, InseparableError
from maxmargin.inspection.explanations import explain
from maxmargin.invariances import rotations, scalings, shears
from maxmargin.lab import requests
from maxmargin.lab.drawings import pixels
from maxmargin.lab.jobs import Run
from maxmargin.lab.pen import written_digits
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces.answers import listed, short
from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.maps import SigmoidMap, fit_sigmoid
from maxmargin.svm.models.multiclass import pairs, votes_with_confidence

SHOWN_MAX_VECTORS = 8  # support vectors that are shown
KEPT_MAX_MODELS = 12  # models in memory
TRAINING_SECONDS = 15.0
KERNELS = ("linear", "poly", "rbf", "laplacian", "intersection")
N_DIGITS = 1797  # of scikit-learn
# how hands differ: of the amounts tried on drawn digits these read most
TRANSFORMS = [*rotations((8, 8), (-10, 10)), *scalings((8, 8), (0.9, 1.1)), *shears((8, 8), (-0.2, 0.2))]

SURE_MIN_PROBABILITY = 0.8  # the least probability of an answer without doubt
FAMILIAR_SHARE = 0.99  # of held-out digits that are as near to the others as a drawing must be

_models: dict[tuple[Any, ...], tuple[SVC, SigmoidMap]] = {}


def digits(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """Say which digit a drawing or picture shows, and why.

    request: ``strokes`` [[[x, y], ...], ...] in the unit square, y downwards, or ``image``, a data URL of a PNG, JPEG
        or WebP picture; ``classifier`` with ``kernel``, ``C``, ``gamma``, ``multiclass``, ``copies``, ``pen``
    Returns ``seen``, the 8 x 8 whole numbers that the model sees; ``label``; ``scores``, one a digit; ``votes`` of
        one-vs-one, one a digit (None with other schemes); ``probability`` that the label is right, ``familiar`` if the
        drawing resembles a digit, ``sure`` if both let no doubt; ``support``, the support vectors that decided it:
        ``index`` of the digit, ``copy`` (how it was changed, or None), ``label``, ``image``, ``contribution`` and
        ``share``; ``comment``, sentences.
    """
    control = control or Run()
    seen = pixels(request)
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
    familiar = is_familiar(row)
    one = explain(model, row, top=SHOWN_MAX_VECTORS)[0]
    return {
        "seen": seen.tolist(),
        "label": label,
        "scores": listed(scores),
        "votes": None if votes is None else votes.tolist(),
        "probability": short(probability),
        "familiar": familiar,
        "sure": familiar and probability >= SURE_MIN_PROBABILITY,
        "support": [
            {
                **_origin(int(one.index[k]), settings),
                "label": int(one.label[k]) if one.label is not None else None,
                "image": one.vectors[k].reshape(8, 8).round().astype(int).tolist(),
                "contribution": short(float(one.contribution[k])),
                "share": short(float(one.share[k])),
            }
            for k in range(len(one.index))
        ],
        "comment": _comment(label, scores, votes, one, model, probability, familiar),
    }


def digit_weights(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """The weights of ten linear models, one for each digit against the rest, as pictures.

    request: ``C``
    Returns ``weights``, ten times 8 x 8 numbers: positive where ink speaks for the digit; ``sentence``.
    """
    settings = {"kernel": "linear", "C": requests.penalty(request, 0.01), "multiclass": "ovr"}
    model, _ = _trained(settings, control or Run())
    return {
        "weights": listed(model.coef_.reshape(10, 8, 8), 4),
        "sentence": "Ink where a weight is positive speaks for the digit, ink where it is negative against it.",
    }


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
    more = {name: True for name in ("copies", "pen") if requests.flag(asked, name, False)}
    return {**found, "C": requests.penalty(asked), "multiclass": multiclass, **more}


def _images(settings: dict[str, Any], every_third: bool | None = None) -> tuple[Array, Array]:
    """What these settings learn from: the digits, after them all of them changed in each way, then the written ones;
    of each kind all rows, every third, or (False) the others."""
    from sklearn.datasets import load_digits

    def part(X: Array, y: Array) -> tuple[Array, Array]:
        rows = np.ones(len(y), bool) if every_third is None else (np.arange(len(y)) % 3 == 0) == every_third
        return X[rows], y[rows]

    X, y = part(*load_digits(return_X_y=True))
    parts = [(X, y)]
    if settings.get("copies"):
        parts += [(change(X), y) for change in TRANSFORMS]
    if settings.get("pen"):
        parts.append(part(*written_digits()))
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def _origin(row: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Of a training row: the number of its digit, and how that was changed (None if it was not; "pen": written)."""
    kind, index = divmod(row, N_DIGITS)
    if kind > (len(TRANSFORMS) if settings.get("copies") else 0):
        return {"index": row - (1 + len(TRANSFORMS) * bool(settings.get("copies"))) * N_DIGITS, "copy": "pen"}
    return {"index": index, "copy": TRANSFORMS[kind - 1].name if kind else None}


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
    decision = model.decision_function(X)
    right = _scores(decision, settings).argmax(axis=1) == y
    return fit_sigmoid(_leads(decision, settings), right, np.ones(len(y)))


@cache
def _digits_and_reach() -> tuple[Array, float]:
    """All images that there are to learn from, and the distance within which a digit has one of them: held-out digits
    are measured against the other two thirds."""
    everything = {"copies": True, "pen": True}
    held, _ = _images({"pen": True}, every_third=True)
    others, _ = _images(everything, every_third=False)
    return _images(everything)[0].astype(np.float32), float(np.quantile(_nearest(held, others), FAMILIAR_SHARE))


def _nearest(rows: Array, images: Array) -> Array:
    """The distance from each row to the nearest image."""
    squares = (rows**2).sum(axis=1)[:, None] - 2.0 * (rows @ images.T) + (images**2).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)).min(axis=1))


def is_familiar(row: Array) -> bool:
    """Whether an image, shape (1, 64), is as near to a digit as digits are to each other."""
    images, reach = _digits_and_reach()
    return bool(_nearest(row.astype(np.float32), images)[0] <= reach)


def _trained(settings: dict[str, Any], control: Run) -> tuple[SVC, SigmoidMap]:
    """The model of these settings, trained on all digits, once, and how sure it is."""
    key = tuple(sorted(settings.items()))
    if key in _models:
        return _models[key]
    left = control.seconds_left
    shape = "ovo" if settings["multiclass"] == "ovo" else "ovr"
    limit = TRAINING_SECONDS if left is None else min(TRAINING_SECONDS, left)
    parameters = {key: value for key, value in settings.items() if key not in ("copies", "pen")}

    def fitted(X: Array, y: Array) -> SVC:
        return SVC(**parameters, decision_function_shape=shape, max_seconds=limit).fit(X, y)

    try:
        model = fitted(*_images(settings))
        hard = {**settings, "copies": True}  # hands differ, whatever the model has learnt from
        sureness = _sureness(fitted(*_images(settings, every_third=False)), *_images(hard, every_third=True), settings)
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


def _comment(
    label: int, scores: Array, votes: Array | None, one: Any, model: SVC, probability: float, familiar: bool
) -> list[str]:
    order = [int(k) for k in np.argsort(-scores, kind="stable") if k != label]
    second = order[0]
    if familiar:
        sure = f"This looks like {label}" if probability >= SURE_MIN_PROBABILITY else f"Not sure: {label} or {second}?"
        first = f"{sure} ({min(99, int(100 * probability))} % of such answers are right)."
    else:
        first = f"Not sure: this is unlike all digits in the data. The model must choose one of ten and says {label}."
    lines = [f"{first} The runner-up is {second} (scores {scores[label]:.2f} and {scores[second]:.2f})."]
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
    digits({"strokes": [[[0.2, 0.1], [0.8, 0.1], [0.4, 0.9]]], "classifier": {"C": 5.0, "copies": True, "pen": True}})


def script(state: Mapping[str, Any]) -> str:
    """The same model on the same 8 x 8 numbers, as a Python script.

    state: as for :func:`digits`
    Returns source that leaves the digit in ``label``.
    """
    from maxmargin.lab.script import call, heading, literal

    seen = pixels(state)
    settings = _settings(state)
    copies, pen = settings.pop("copies", False), settings.pop("pen", False)
    fit = ["X, y = load_digits(return_X_y=True)"]
    if copies:
        fit += [
            "transforms = [*rotations((8, 8), (-10, 10)), *scalings((8, 8), (0.9, 1.1)), *shears((8, 8), (-0.2, 0.2))]",
            "X, y = np.vstack([X, *(change(X) for change in transforms)]), np.tile(y, 1 + len(transforms))",
        ]
    if pen:
        fit += ["X_pen, y_pen = written_digits()", "X, y = np.vstack([X, X_pen]), np.concatenate([y, y_pen])"]
    fit.append(f"model = {call('SVC', settings)}.fit(X, y)")
    lines = [
        *heading("A drawn digit"),
        "from sklearn.datasets import load_digits",
        "",
        "from maxmargin import SVC, explain",
        *(["from maxmargin.invariances import rotations, scalings, shears"] if copies else []),
        *(["from maxmargin.lab.pen import written_digits"] if pen else []),
        "",
        *literal("seen", seen, "0 paper, 16 ink", tuple(range(8))),
        *fit,
        "label = int(model.predict(seen.reshape(1, -1))[0])",
        'print("This looks like", label)',
        f"print(explain(model, seen.reshape(1, -1), top={SHOWN_MAX_VECTORS})[0])",
    ]
    return "\n".join(lines) + "\n"
