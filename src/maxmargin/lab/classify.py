"""Points clicked on the page, classified: the picture, every point's place in it, the comment window, the certificate.

    binary        f on the grid, one plane; f > 0 is the larger class number
    multiclass    the score of each class on the grid, one plane a class, and the winner of each cell
    inseparable   C = inf, and two weighted sums of points, one of each class, that are one point: no model exists (or
                  none was found in the time there is: ``proved`` is false). The picture is that of a soft margin
    one_class     one class and a ``nu``: the region that holds most of its points (``one_class``)
    empty         fewer than two classes: there is nothing to separate yet

A point of several classes takes part in several models. Its f is then the smallest y f of them:

    one-vs-one    over the pairs with its class            one-vs-rest   of the model of its class
    joint         its class's score less the best other    slack = max(0, 1 - f) in all three

While a point is dragged the request is ``live``: the fit begins at the multipliers of the page's last one and gets
``LIVE_MAX_SECONDS``, so that the picture follows the hand whatever C is. The fit at rest begins at zero, as in the
script.
"""

from __future__ import annotations

import base64
import math
import time
from typing import Any

import numpy as np

from maxmargin import SVC, InseparableError
from maxmargin.inspection.margins import margin_report
from maxmargin.lab import requests
from maxmargin.lab.comment import certificate, comment, hull_sentence, numbers, unfinished_sentence
from maxmargin.lab.jobs import Run
from maxmargin.lab.one_class import MIN_POINTS, region
from maxmargin.lab.requests import RequestError
from maxmargin.problems.separability import InseparabilityProof
from maxmargin.runtime.validation import Array
from maxmargin.solvers import SOLVERS
from maxmargin.svm.calibration.maps import SigmoidMap
from maxmargin.svm.models.multiclass import pairs, votes_with_confidence

TOL = 1e-5  # finer than the estimators' own, since people look closely
HARD_MARGIN_TIME_SHARE = 0.25  # of the time: the rest is for the soft margin that is shown if there is no hard one
LIVE_MAX_SECONDS = 0.3  # for a fit while the hand moves
LIVE_MANY_MAX_SECONDS = 0.1  # the same for many points: drawing them takes as long again
LIVE_MANY_MIN_POINTS = 1_000  # from which that limit holds
TEXTBOOK_MAX_POINTS = 500  # points that a program of another library gets, which hears of no cancelling
SOFT_MARGIN_C = 100.0  # the C of the model that is shown where there is none without errors


def parameters(request: dict[str, Any], classes: int = 2) -> dict[str, Any]:
    """What a request says about the model, as parameters of ``SVC`` for so many classes."""
    found = {**requests.kernel(request), "C": requests.penalty(request), "tol": TOL}
    solver = requests.solver(request)
    multiclass = requests.choice(request, "multiclass", requests.MULTICLASS, "ovo")
    if classes > 2 and multiclass == "ovo":
        found["break_ties"] = True  # so that the winner of a cell has the highest score
    if classes > 2 and multiclass != "ovo":
        found["multiclass"] = multiclass
    if solver != "auto" and found.get("multiclass") != "crammer_singer":  # the joint model has its own
        found["solver"] = solver
    return found


def classify(request: dict[str, Any], control: Run) -> dict[str, Any]:
    """The answer to ``POST /api/classify``.

    request: ``points``, ``kernel``, ``C``, ``solver``, ``multiclass``, ``view``, ``grid``, ``live``; ``test``, points
        that are only predicted; ``nu``, for points of one class; ``probability``, whether a sigmoid for P(class) is
        fitted
    Returns as described at the top, ready for JSON.
    """
    started = time.perf_counter()
    X, y = requests.points(request)
    classes = len(np.unique(y))
    settings, axes = parameters(request, classes), requests.view(request)
    live = requests.flag(request, "live", False)
    held = requests.points({"points": request.get("test", [])})
    if classes == 2 and not live and requests.flag(request, "probability", False) and not math.isinf(settings["C"]):
        settings["calibration"] = "sigmoid"
    if classes == 1 and "nu" in request and len(y) >= MIN_POINTS:
        return region(X, y, request, axes, LIVE_MAX_SECONDS if live else control.seconds_left)
    if classes < 2:
        return {"kind": "empty", "sentence": _invitation(y), "points": [], "comment": [], "seconds": 0.0}
    solver = SOLVERS.get(settings.get("solver", "auto"))
    if solver is not None and not solver.interruptible and len(y) > TEXTBOOK_MAX_POINTS:
        raise RequestError(
            f"The textbook program holds a dense matrix and cannot be stopped, so it gets at most "
            f"{TEXTBOOK_MAX_POINTS} points here; these are {len(y):,}. Choose another solver.",
            "solver",
        )
    try:
        answer = _answer(X, y, settings, axes, control, live, held)
    except (ValueError, MemoryError, ImportError) as error:  # what the library refuses, in its words
        raise RequestError(" ".join(str(error).split())) from error
    except ArithmeticError as error:
        raise RequestError("The kernel's values are too extreme to compute with: lower gamma or coef0.") from error
    answer["seconds"] = time.perf_counter() - started
    return answer


def compare(request: dict[str, Any], control: Run) -> dict[str, Any]:
    """The answer to ``POST /api/compare``: as :func:`classify`, for the second of two models on the same points, which
    keeps its own multipliers."""
    if control.kept is not None:
        control.kept = control.kept.setdefault("compare", {})
    return classify(request, control)


def _answer(
    X: Array,
    y: Array,
    settings: dict[str, Any],
    axes: tuple[Array, Array],
    control: Run,
    live: bool,
    held: tuple[Array, Array],
) -> dict[str, Any]:
    limit = LIVE_MAX_SECONDS if len(y) < LIVE_MANY_MIN_POINTS else LIVE_MANY_MAX_SECONDS
    whole = min(limit, control.max_seconds or limit) if live else control.max_seconds

    def left() -> float | None:
        return None if whole is None else max(1e-3, whole - control.seconds)

    if not math.isinf(settings["C"]):
        return described(fitted(X, y, settings, left(), control.kept, live), X, y, axes, live, held)
    try:
        model = fitted(X, y, settings, None if whole is None else HARD_MARGIN_TIME_SHARE * whole)
    except InseparableError as error:
        proof = _proof(error.proof, X, settings)
    else:
        if model.report_.converged:
            return described(model, X, y, axes, live, held)
        proof = _no_proof(unfinished_sentence(model.report_, live), proved=False)
    soft = fitted(X, y, {**settings, "C": SOFT_MARGIN_C}, left(), control.kept, live)
    return {**described(soft, X, y, axes, live, held), "kind": "inseparable", "soft_C": SOFT_MARGIN_C, "proof": proof}


def fitted(
    X: Array,
    y: Array,
    settings: dict[str, Any],
    max_seconds: float | None,
    kept: dict[str, Any] | None = None,
    warm: bool = False,
) -> SVC:
    """The model of these parameters. ``kept`` gets its multipliers; a ``warm`` fit begins at those found there."""
    model = SVC(**settings, max_seconds=max_seconds, warm_start=kept is not None)
    if kept and warm and "multipliers" in kept:
        model.start_from(kept["multipliers"])
    model.fit(X, y)
    if kept is not None:
        kept["multipliers"] = model.last_solution()
    return model


def described(
    model: SVC,
    X: Array,
    y: Array,
    axes: tuple[Array, Array],
    live: bool = False,
    held: tuple[Array, Array] | None = None,
) -> dict[str, Any]:
    """The model as the page shows it; ``held`` are points, with their classes, that it did not learn from."""
    grid = np.column_stack([side.ravel() for side in np.meshgrid(*axes)])
    binary = len(model.classes_) == 2
    scores, winners, values = _scores(model, grid)
    predicted = _scores(model, X)[1]
    points = _two(model, X, y) if binary else _many(model, X, y)
    errors = int(np.count_nonzero(predicted != y))
    report = model.report_
    linear = model.kernel == "linear"
    votes = not binary and model._scheme == "ovo"
    test = held_out_errors(model, *held) if held is not None and len(held[1]) else None
    return {
        "kind": "binary" if binary else "multiclass",
        "classes": model.classes_.tolist(),
        "values": base64.b64encode(scores.astype("<f4").tobytes()).decode(),
        # votes jump from node to node; the page draws the borders from the models that cast them
        "pairs": base64.b64encode(values.T.astype("<f4").tobytes()).decode() if votes else None,
        "labels": base64.b64encode(winners.astype(np.uint8).tobytes()).decode(),
        "grid": [len(axes[0]), len(axes[1])],
        "points": _records(points, predicted, model.support_),
        "intercept": model.intercept_.tolist()[0] if binary else model.intercept_.tolist(),
        "coef": model.coef_.tolist() if linear else None,
        "margin": report.margin,
        "n_support": report.n_support,
        "test": test,
        "sigmoid": _sigmoid(model) if binary else None,
        "comment": comment(model, errors, len(y), live, test),
        "certificate": certificate(report),
        "report": numbers(model, errors, len(y)),
    }


def _sigmoid(model: SVC) -> list[float] | None:
    """Slope and offset of P(second class) = 1 / (1 + exp(-(slope f + offset))), by Platt's method on held-out folds."""
    learnt = getattr(model, "calibration_", None)
    if learnt is None or not isinstance(learnt.maps[0], SigmoidMap):
        return None
    return [float(learnt.maps[0].slope), float(learnt.maps[0].offset)]


def held_out_errors(model: SVC, X: Array, y: Array) -> dict[str, Any]:
    """The labels that a model gives to points that it did not learn from, and how many are wrong."""
    predicted = model.predict(X)
    return {"predicted": predicted.tolist(), "errors": int(np.count_nonzero(predicted != y)), "n": len(y)}


def _scores(model: SVC, X: Array) -> tuple[Array, Array, Array]:
    """f of two classes, shape (1, n), or a score a class, shape (K, n); the label of each row, as ``predict`` gives it;
    and the values of all models, shape (n, models)."""
    values = model._decision(X)
    if len(model.classes_) == 2:
        return values.T, model.classes_[(values[:, 0] > 0).astype(int)], values
    scores = votes_with_confidence(values, model._present) if model._scheme == "ovo" else values
    return scores.T, model.classes_[scores.argmax(axis=1)], values


def _two(model: SVC, X: Array, y: Array) -> dict[str, Array]:
    report = margin_report(model, X, y)
    assert report.alpha is not None
    return {
        "f": report.decision,
        "alpha": report.alpha,
        "slack": report.slack,
        "distance": report.distance,
        "category": report.category,
    }


def _many(model: SVC, X: Array, y: Array) -> dict[str, Array]:
    """f of each point is its smallest functional margin; alpha the sum of its multipliers."""
    values, codes = model._decision(X), np.searchsorted(model.classes_, y)
    rows, n_classes = np.arange(len(y)), len(model.classes_)
    if model._scheme == "ovo":
        f = np.full(len(y), math.inf)
        for column, (i, j) in enumerate(pairs(n_classes)):
            for own, sign in ((i, 1.0), (j, -1.0)):
                f = np.where(codes == own, np.minimum(f, sign * values[:, column]), f)
    elif model._scheme == "ovr":
        f = values[rows, codes]
    else:
        others = values.copy()
        others[rows, codes] = -math.inf
        f = values[rows, codes] - others.max(axis=1)
    alpha = np.zeros(len(y))
    dual = np.abs(model.dual_coef_)
    of_model = dual if model._scheme != "crammer_singer" else dual / 2  # a row of the joint dual sums to zero
    alpha[model.support_] = of_model.sum(axis=0)
    on, tol = np.abs(f - 1.0), model.tol
    category = np.select([on <= tol, f > 1.0, f >= 0.0], ["on", "outside", "inside"], "misclassified")
    nowhere = np.full(len(y), math.nan)
    return {"f": f, "alpha": alpha, "slack": np.maximum(0.0, 1.0 - f), "distance": nowhere, "category": category}


def _records(points: dict[str, Array], predicted: Array, support: Array) -> list[dict[str, Any]]:
    """One object a point, of plain values: JSON is faster with them."""
    is_support = np.zeros(len(predicted), bool)
    is_support[support] = True
    columns = {name: _finite(column) for name, column in points.items()}
    columns |= {"support": is_support.tolist(), "predicted": predicted.tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _finite(column: Array) -> list[Any]:
    values = column.tolist()
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return values
    return [value if math.isfinite(value) else None for value in values]


def _proof(proof: InseparabilityProof | None, X: Array, settings: dict[str, Any]) -> dict[str, Any]:
    """Two sums that are one point; ``meet`` is that point, where it is one of the plane."""
    if proof is None:
        return _no_proof(hull_sentence(None, settings["kernel"]), proved=True)

    def terms(rows: Array, weights: Array) -> list[list[float]]:
        return [[*X[row].tolist(), float(weight)] for row, weight in zip(rows, weights, strict=True)]

    return {
        "a": terms(proof.rows_positive, proof.weights_positive),
        "b": terms(proof.rows_negative, proof.weights_negative),
        "classes": [proof.positive, proof.negative],
        "meet": None if proof.point is None else proof.point.tolist(),
        "residual": proof.residual,
        "proved": True,
        "sentence": hull_sentence(proof, settings["kernel"]),
    }


def _no_proof(sentence: str, proved: bool) -> dict[str, Any]:
    return {"a": [], "b": [], "meet": None, "proved": proved, "sentence": sentence}


def _invitation(y: Array) -> str:
    if len(y) == 0:
        return "Click to place a few points of one class, then choose another class and place some of it."
    return f"All points are of class {y[0] + 1}: choose another class and place a point of it."


def warm_up() -> None:
    """Fit one small problem of every kernel and scheme, so that all compiled code is loaded."""
    points = [[0, 0, 0], [1, 0.2, 0], [0.1, 1, 1], [1.2, 1, 1], [0.6, 0.5, 0]]
    three = [*points, [2, 2, 2], [2, 1.5, 2]]
    for name in requests.PLANE_KERNELS:
        classify({"points": points, "kernel": {"name": name}, "grid": [8, 8]}, Run())
    for multiclass in requests.MULTICLASS:
        classify({"points": three, "multiclass": multiclass, "grid": [8, 8]}, Run())
    classify({"points": points, "kernel": {"name": "linear"}, "C": "inf", "grid": [8, 8]}, Run())
