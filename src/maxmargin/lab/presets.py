"""Data sets to begin with, and what can be chosen. All are drawn with fixed seeds: everybody sees the same points."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import __version__
from maxmargin.lab import requests
from maxmargin.problems.dual import c_svc
from maxmargin.runtime.validation import Array
from maxmargin.solvers import SOLVERS

# what the page shows of a kernel: its name in words, its formula, and sensible ends of sliders
KERNEL_WORDS = {
    "linear": ("Linear", "x'z"),
    "poly": ("Polynomial", "(gamma x'z + coef0)^degree"),
    "rbf": ("Gaussian (RBF)", "exp(-gamma |x - z|^2)"),
    "laplacian": ("Laplacian", "exp(-gamma |x - z|_1)"),
    "sigmoid": ("Sigmoid", "tanh(gamma x'z + coef0)"),
}
SLIDERS = {
    "gamma": {"least": 0.01, "most": 100.0, "default": 1.0, "scale": "log"},
    "degree": {"least": 1, "most": 10, "default": 3, "scale": "linear", "step": 1},
    "coef0": {"least": -2.0, "most": 5.0, "default": 1.0, "scale": "linear"},
}
MULTICLASS_WORDS = {
    "ovo": "one-vs-one, votes",
    "ovr": "one-vs-rest, highest score",
    "crammer_singer": "jointly (Crammer–Singer)",
}
TOURS = ("margin", "kernels", "solvers")
UNIT_VIEW = {"x0": -1.0, "x1": 1.0, "y0": -1.0, "y1": 1.0}


def options() -> dict[str, Any]:
    """What can be chosen, from the registries of the library."""
    kernels = []
    for name in requests.PLANE_KERNELS:
        title, formula = KERNEL_WORDS[name]
        sliders = {parameter: SLIDERS[parameter] for parameter in requests.parameters_of(name)}
        kernels.append({"name": name, "title": title, "formula": formula, "parameters": sliders})
    classifier = c_svc(np.array([-1.0, 1.0]), np.ones(2))
    solvers = [solver for solver in SOLVERS.values() if "kernel" in solver.accepts and not solver.refuses(classifier)]
    return {
        "kernels": kernels,
        "solvers": [
            {"name": "auto", "title": "automatic"},
            *({"name": solver.name, "title": _short(solver.title or solver.name)} for solver in solvers),
        ],
        "multiclass": [{"name": name, "title": MULTICLASS_WORDS[name]} for name in requests.MULTICLASS],
        "C": {"least": 1e-3, "most": 1e6, "default": 10.0, "scale": "log", "infinite": "inf"},
        "limits": {"points": requests.MAX_POINTS, "classes": requests.MAX_CLASSES, "grid": requests.GRID_MAX_CELLS},
        "version": __version__,
    }


def _short(title: str) -> str:
    """A solver's title as far as the page's control is wide: without what it does, and by whom."""
    return re.split(r": | \(", title)[0].removeprefix("textbook ")


def presets() -> list[dict[str, Any]]:
    """The data sets: id, title, a sentence on what to look at, points, kernel, C and view."""
    listed = json.loads((Path(__file__).parent / "presets.json").read_text(encoding="utf-8"))
    return [{**preset, "points": _rounded(POINTS[preset["id"]]()), "view": UNIT_VIEW} for preset in listed]


def tours() -> list[dict[str, Any]]:
    """The guided tours of the lab: what ``static/tours`` holds, in the order of a course."""
    folder = Path(__file__).parent / "static" / "tours"
    return [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in TOURS]


def _rounded(data: Array) -> list[list[float]]:
    return [[x, y, int(k)] for x, y, k in data.round(3).tolist()]


def _labelled(*clouds: Array) -> Array:
    """The clouds below each other, each with its number as the third column."""
    return np.vstack([np.column_stack([cloud, np.full(len(cloud), k)]) for k, cloud in enumerate(clouds)])


def _separable() -> Array:
    random = np.random.default_rng(1)
    cloud, shift = random.normal(0, 0.16, (40, 2)), np.array([0.42, 0.3])
    return _labelled(cloud[:20] - shift, cloud[20:] + shift)


def _outlier() -> Array:
    return np.vstack([_separable(), [0.12, 0.06, 0.0]])


def _overlapping() -> Array:
    cloud, shift = np.random.default_rng(2).normal(0, 0.26, (80, 2)), np.array([0.25, 0.1])
    return _labelled(cloud[:40] - shift, cloud[40:] + shift)


def _xor() -> Array:
    random = np.random.default_rng(3)
    corner = random.uniform(0.15, 0.85, (40, 2))
    signs = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]).repeat(10, axis=0)
    return _labelled((corner * signs)[:20], (corner * signs)[20:])


def _circles() -> Array:
    random = np.random.default_rng(4)
    angle, wobble = random.uniform(0, 2 * np.pi, 70), random.normal(0, 0.06, 70)
    radius = np.where(np.arange(70) < 30, 0.3, 0.75) + wobble
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return _labelled(ring[:30], ring[30:])


def _moons() -> Array:
    random = np.random.default_rng(5)
    angle, wobble = np.linspace(0, np.pi, 40), random.normal(0, 0.09, (80, 2))
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    shapes = np.vstack([arc - [0.5, 0.25], [0.5, 0.25] - arc]) * 0.55
    return _labelled((shapes + wobble)[:40], (shapes + wobble)[40:])


def _spirals() -> Array:
    random = np.random.default_rng(6)
    turn = np.linspace(0.5, 3.5 * np.pi, 60)
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) * (0.9 / turn[-1])
    wobble = random.normal(0, 0.015, (120, 2))
    return _labelled(arm + wobble[:60], -arm + wobble[60:])


def _lecture() -> Array:
    """A cloud that is surrounded from three sides, with a gap that no line can use."""
    random = np.random.default_rng(7)
    inner = random.normal(0, 1, (18, 2)) * [0.2, 0.14] + [0.1, 0.05]
    angle = np.linspace(-0.35 * np.pi, 1.15 * np.pi, 26)
    outer = np.column_stack([0.72 * np.cos(angle), 0.6 * np.sin(angle)]) + random.normal(0, 0.06, (26, 2))
    return _labelled(outer, inner)


def _clouds(classes: int, each: int, width: float, seed: int) -> Array:
    random = np.random.default_rng(seed)
    angle = 2 * np.pi * (np.arange(classes) / classes + 0.25)
    centres = 0.58 * np.column_stack([np.cos(angle), np.sin(angle)])
    return _labelled(*(centre + random.normal(0, width, (each, 2)) for centre in centres))


# the points of each data set that ``presets.json`` describes
POINTS: dict[str, Callable[[], Array]] = {
    "separable": _separable,
    "outlier": _outlier,
    "overlapping": _overlapping,
    "xor": _xor,
    "circles": _circles,
    "moons": _moons,
    "spirals": _spirals,
    "gaussian": _lecture,
    "three": lambda: _clouds(3, 14, 0.2, 5),
    "six": lambda: _clouds(6, 12, 0.14, 6),
}
