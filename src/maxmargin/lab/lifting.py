"""Points lifted into a space in which a plane separates what no line does.

    quadratic     (x, y) -> (x^2, sqrt2 x y, y^2)        planes there are conics around the origin here
    radial        (x, y) -> (x, y, x^2 + y^2)            planes there are circles here (and lines)
    bump          (x, y) -> (x, y, exp(-gamma r^2))      the same circles, seen on a hill
    polar         (x, y) -> (r, theta)                   a line there is a spiral, a circle or a ray here
    rbf_surface   f(x, y) of a model with the Gaussian kernel as a height: its space has infinitely many dimensions,
                  and the height is what can be seen of it

In the lifted space z = Phi(x) a linear model finds w'z + b with the margin 2 / |w|; in the plane the same function is
f(x, y) = w'Phi(x, y) + b, whose zero is the curve between the classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin import SVC, InseparableError
from maxmargin.kernel_methods.feature_maps import PolarMap, PolynomialMap, RadialMap
from maxmargin.lab import requests
from maxmargin.lab.jobs import Run
from maxmargin.lab.requests import RequestError
from maxmargin.lab.traces import two_classes
from maxmargin.lab.traces.answers import UNFINISHED, encoded, grid_points, listed, seconds, short
from maxmargin.runtime.validation import Array

LIFT_MAX_POINTS = 2_000
PLANE_SIDE_POINTS = 25  # points of the lifted plane along a side
BOX_PAD_SHARE = 0.08  # of the box of the lifted points, on either side of them

AXES: dict[str, list[str]] = {
    "quadratic": ["x²", "√2 x y", "y²"],
    "radial": ["x", "y", "(x² + y²)"],
    "bump": ["x", "y", "exp(−γ r²)"],
    "polar": ["r", "θ"],
    "rbf_surface": ["x", "y", "f(x, y)"],
}


def lift(request: Mapping[str, Any], control: Run | None = None) -> dict[str, Any]:
    """Points under a map, and the plane that separates them there.

    request: ``points`` of two classes; ``map``, one of ``AXES`` (``radial`` with ``"height": "bump"`` is ``bump``);
        ``C``; ``gamma`` of the bump and of the Gaussian kernel; ``view`` and ``grid``
    Returns ``coordinates`` of the points (two or three each), their ``axes`` and the ``box`` that holds them;
        ``values``, f on the grid of the plane (zero is the curve, -1 and +1 the margins); ``sheet``, the input space
        lifted, ``sheet_grid`` points of it; ``plane``: ``normal``, ``offset``, ``margin``, and ``corners``, the
        polygons at f = 0, -1 and +1 inside the box; ``f`` and ``support`` of the points; ``comment``, sentences.
    """
    control = control or Run()
    X, y = two_classes(request, LIFT_MAX_POINTS, "This tab")
    which = requests.choice(request, "map", AXES, "quadratic")
    if which == "radial" and requests.choice(request, "height", ("squared", "bump"), "squared") == "bump":
        which = "bump"
    C, gamma = requests.penalty(request), requests.number(request, "gamma", 1.0, least=1e-9, most=1e9)
    xs, ys = requests.view(request)
    Z = X if which == "rbf_surface" else mapped(which, X, gamma)
    settings: dict[str, Any] = {"kernel": "rbf", "gamma": gamma} if which == "rbf_surface" else {"kernel": "linear"}
    model = _fitted(Z, y, {**settings, "C": C, "tol": 1e-6}, which, control)
    G = grid_points(xs, ys)
    values = model.decision_function(G if which == "rbf_surface" else mapped(which, G, gamma))
    f = model.decision_function(Z)
    errors = int(np.count_nonzero(y * f <= 0))
    answer: dict[str, Any] = {
        "map": which,
        "axes": AXES[which],
        "values": encoded(values),
        "grid": [len(xs), len(ys)],
        "f": listed(f),
        "support": model.support_.tolist(),
        "errors": errors,
        "margin": short(model.report_.margin),
    }
    if which == "rbf_surface":
        answer |= {"coordinates": listed(np.column_stack((X, f))), "box": _box(G, values, f), "plane": None}
    else:
        w, b = model.coef_[0], float(model.intercept_[0])
        box = _padded(Z)
        sheet_grid = grid_points(*(np.linspace(side[0], side[-1], PLANE_SIDE_POINTS) for side in (xs, ys)))
        norm = float(np.linalg.norm(w))
        answer |= {
            "coordinates": listed(Z),
            "box": listed(box.T),
            "sheet": encoded(mapped(which, sheet_grid, gamma)),
            "sheet_grid": [PLANE_SIDE_POINTS, PLANE_SIDE_POINTS],
            "plane": {
                "normal": listed(w),
                "offset": short(b),
                "margin": short(2 / norm) if norm > 0 else None,
                "corners": {str(level): listed(_corners(w, b - level, box)) for level in (-1, 0, 1)},
            },
        }
    answer["comment"] = _comment(which, model, gamma, errors, len(y))
    if not model.report_.converged:
        answer["comment"].append(UNFINISHED)
    return answer


def mapped(which: str, X: Array, gamma: float) -> Array:
    """The points under a map."""
    if which == "quadratic":
        return PolynomialMap(degree=2).fit_transform(X)
    if which == "radial":
        return RadialMap().fit_transform(X)
    if which == "polar":
        return PolarMap().fit_transform(X)
    with np.errstate(over="ignore", under="ignore"):
        return np.column_stack((X, np.exp(-gamma * np.sum(X**2, axis=1))))


def _fitted(Z: Array, y: Array, settings: dict[str, Any], which: str, control: Run) -> SVC:
    try:
        return SVC(**settings, max_seconds=seconds(control)).fit(Z, y)
    except InseparableError as error:
        where = "with this kernel" if which == "rbf_surface" else "in the lifted space"
        raise RequestError(
            f"C = inf allows no errors, and even {where} the classes cannot be separated: use a finite C, or another "
            "map.",
            "C",
        ) from error
    except (ValueError, ArithmeticError) as error:
        raise RequestError(" ".join(str(error).split()), "points") from error


def _padded(Z: Array) -> Array:
    """Smallest and largest coordinate of the points, shape (2, d), with some room around them."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    room = BOX_PAD_SHARE * np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    return np.array([low - room, high + room])


def _box(G: Array, values: Array, f: Array) -> list[Any]:
    """The view, and all heights in it and of the points."""
    heights = np.array([min(values.min(), f.min()), max(values.max(), f.max())])
    return listed([*zip(G.min(axis=0), G.max(axis=0), strict=True), heights])


def _corners(w: Array, b: float, box: Array) -> Array:
    """The part of the plane w'z + b = 0 inside a box, as the corners of a convex polygon in order; of a line in two
    dimensions, its ends. An edge of the box whose ends lie on both sides has one point of the plane on it."""
    d = len(w)
    bits = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    vertices = np.where(bits, box[1], box[0])
    side = vertices @ w + b
    found = []
    for i in range(2**d):
        for k in range(d):
            j = i | (1 << k)
            if j != i and (side[i] > 0) != (side[j] > 0):
                t = side[i] / (side[i] - side[j])
                found.append(vertices[i] + t * (vertices[j] - vertices[i]))
    if len(found) < 3:
        return np.array(found).reshape(-1, d)
    P = (np.array(found) - np.mean(found, axis=0)) / (box[1] - box[0])
    u, v = np.linalg.svd(P)[2][:2]  # two directions inside the plane
    return np.array(found)[np.argsort(np.arctan2(P @ v, P @ u))]


def _comment(which: str, model: SVC, gamma: float, errors: int, n: int) -> list[str]:
    """What there is to see, in sentences."""
    right = "all points are classified correctly" if errors == 0 else f"{errors} of {n} points are misclassified"
    count = len(model.support_)
    if which == "rbf_surface":
        return [
            "The height is f(x, y) = sum of alpha_i y_i k(x_i, x) + b: a hill or a hollow of width "
            f"{1 / math.sqrt(2 * gamma):.3g} on each of the {count} support vectors.",
            f"Where the surface crosses height 0 the classes meet; {right}.",
        ]
    w, b = model.coef_[0], float(model.intercept_[0])
    norm = float(np.linalg.norm(w))
    terms = " ".join(f"{_signed(value)} {name}" for value, name in zip(w, AXES[which], strict=True))
    terms = terms.removeprefix("+ ") if w[0] >= 0 else "−" + terms.removeprefix("− ")
    noun = "line" if which == "polar" else "plane"
    verb = "separates the classes" if errors == 0 else "is the best one for this C,"
    margin = f"with margin {2 / norm:.3g}" if norm > 0 else "without a direction: the classes lie on one point"
    return [
        f"In the lifted space the {noun} {terms} {_signed(b)} = 0 {verb} {margin}; {right}.",
        _back(which, w, b, gamma),
        f"{count} of {n} points are support vectors: on the margin, inside it, or on the wrong side.",
    ]


def _signed(value: float) -> str:
    """A term of a sum, with its sign apart."""
    return f"{'−' if value < 0 else '+'} {abs(value):.3g}"


def _back(which: str, w: Array, b: float, gamma: float) -> str:
    """The curve in the input space."""
    here = "In the input space this is"
    if not np.any(w):
        return f"{here} nothing: f is the same everywhere."
    if which == "quadratic":
        # w_1 x^2 + sqrt2 w_2 x y + w_3 y^2 = -b: the determinant of its form tells the kind of conic
        determinant = float(w[0] * w[2] - w[1] ** 2 / 2)
        small = 1e-9 * float(w @ w)
        kind = "an ellipse" if determinant > small else "a hyperbola" if determinant < -small else "a pair of lines"
        return f"{here} {kind} around the origin; in (x², √2 x y, y²) no plane gives another kind of curve."
    if which == "radial":
        if abs(w[2]) <= 1e-9 * float(np.linalg.norm(w)):
            return f"{here} a line: the height x² + y² was not needed."
        centre = -w[:2] / (2 * w[2])
        squared = float(centre @ centre - b / w[2])
        if squared <= 0:
            return f"{here} nothing: no circle, for the plane misses the lifted surface."
        x, y = (0.0 if abs(c) < 5e-4 else c for c in centre)
        return f"{here} a circle around ({x:.3g}, {y:.3g}), radius {math.sqrt(squared):.3g}."
    if which == "bump":
        return f"{here} the outline of the hill exp(−{gamma:.3g} r²) cut by the plane."
    if abs(w[1]) <= 1e-3 * abs(w[0]):
        return f"{here} nearly a circle around the origin, r = {-b / w[0]:.3g}."
    return f"{here} a piece of a spiral: r and θ change together along it. The angle jumps at θ = ±π, and so does f."


def warm_up() -> None:
    """Lift four points by every map, so that all compiled code is loaded."""
    points = [[0.1, 0.1, 0], [-0.1, 0.2, 0], [0.8, 0.3, 1], [-0.7, -0.6, 1]]
    for which in AXES:
        lift({"points": points, "map": which, "grid": [8, 8]})


def script(state: Mapping[str, Any]) -> str:
    """The lifted points and their plane as a Python script.

    state: as for :func:`lift`
    Returns source that leaves the lifted points in ``Z`` and the model in ``model``.
    """
    from maxmargin.lab.script import call, heading, literal

    X, _ = two_classes(state, LIFT_MAX_POINTS, "This tab")
    y = requests.points(state)[1]
    which = requests.choice(state, "map", AXES, "quadratic")
    if which == "radial" and state.get("height") == "bump":
        which = "bump"
    gamma = requests.number(state, "gamma", 1.0, least=1e-9, most=1e9)
    code = {
        "quadratic": "PolynomialMap(degree=2).fit_transform(X)  # x^2, sqrt2 x y, y^2",
        "radial": "RadialMap().fit_transform(X)  # x, y, x^2 + y^2",
        "bump": f"np.column_stack((X, np.exp(-{gamma!r} * np.sum(X**2, axis=1))))",
        "polar": "PolarMap().fit_transform(X)  # r, theta",
        "rbf_surface": "X",
    }[which]
    maps = {"quadratic": "PolynomialMap", "radial": "RadialMap", "polar": "PolarMap"}
    settings = {"kernel": "rbf", "gamma": gamma} if which == "rbf_surface" else {"kernel": "linear"}
    lines = [
        *heading("Lifted points"),
        "from maxmargin import SVC",
        *([f"from maxmargin.kernel_methods.feature_maps import {maps[which]}"] if which in maps else []),
        "",
        *literal("points", np.column_stack([X, y]), "x, y, class", (2,)),
        "X, y = points[:, :2], points[:, 2].astype(int)",
        "",
        f"Z = {code}",
        f"model = {call('SVC', {**settings, 'C': requests.penalty(state), 'tol': 1e-6})}.fit(Z, y)",
    ]
    if which != "rbf_surface":
        lines += [
            'print("plane: normal", model.coef_[0], "offset", model.intercept_[0])',
            'print("margin", 2 / np.linalg.norm(model.coef_[0]))',
        ]
    return "\n".join([*lines, 'print("f of the points", model.decision_function(Z))', "print(model.report_)"]) + "\n"
