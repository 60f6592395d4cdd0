"""Training and test error: of the points that were held out, and along C or gamma.

    error(value) = misclassified / points       for 25 values on a logarithmic scale

The curve of the training points falls as C grows or the Gaussians get narrower. That of held-out points falls and
rises: the model first learns the classes, then the noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.lab import requests
from maxmargin.lab.classify import SOFT_MARGIN_C, fitted, held_out_errors, parameters
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError

CURVE_VALUES = 25
CURVE_MAX_SECONDS = 4.0  # for all fits of a curve; the values beyond are left out
RANGES = {"C": (0.01, 1e4), "gamma": (0.01, 1000.0)}


def curve(request: dict[str, Any], control: Run) -> dict[str, Any]:
    """The answer to ``POST /api/curve``.

    request: ``points`` and ``test``, rows [x, y, class]; ``kernel``, ``C``, ``solver``, ``multiclass``; ``over``, "C"
        or "gamma"
    Returns ``over``; ``values``; ``train`` and ``test``, errors as shares of the points (None where none are held out).
    """
    X, y = requests.points(request)
    X_test, y_test = requests.points({"points": request.get("test", [])})
    settings = parameters(request, len(np.unique(y)))
    over = requests.choice(request, "over", RANGES, "C")
    if len(np.unique(y)) < 2:
        raise RequestError("The curve needs points of two classes.", "points")
    if over not in settings:
        raise RequestError(f"The {settings['kernel']} kernel has no {over}: choose another kernel.", "over")
    if math.isinf(settings["C"]):
        settings["C"] = SOFT_MARGIN_C
    values = np.geomspace(*RANGES[over], CURVE_VALUES).tolist()
    train: list[float] = []
    test: list[float] = []
    for value in values:
        control.check()
        left = CURVE_MAX_SECONDS - control.seconds
        if left <= 0:
            break
        model = fitted(X, y, {**settings, over: value, "tol": 1e-3}, left)
        train.append(held_out_errors(model, X, y)["errors"] / len(y))
        if len(y_test):
            test.append(held_out_errors(model, X_test, y_test)["errors"] / len(y_test))
    return {"over": over, "values": values[: len(train)], "train": train, "test": test or None}


def warm_up() -> None:
    """Draw one curve, so that all compiled code is loaded."""
    curve({"points": [[-1, 0, 0], [1, 0, 1]], "kernel": {"name": "linear"}}, Run())
