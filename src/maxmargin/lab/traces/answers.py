"""Numbers on their way to the page: as short as a picture allows, and never one that JSON has not."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from maxmargin.lab.jobs import Run
from maxmargin.runtime.validation import Array

ANSWER_MAX_SECONDS = 2.0  # for a fit of these tabs: points on a canvas take milliseconds
UNFINISHED = "The solver was stopped before it had converged: bring the points nearer to 0, or lower C."


def significant(values: Array, digits: int = 6) -> Array:
    """Values rounded to so many digits, each by its own size."""
    values = np.asarray(values, np.float64)
    size = np.abs(values)
    with np.errstate(all="ignore"):
        place = digits - 1 - np.floor(np.log10(np.where((size > 0) & np.isfinite(size), size, 1.0)))
        place = np.clip(place, -308, 300)
        factor = 10.0 ** np.abs(place)
        rounded = np.where(place >= 0, np.rint(values * factor) / factor, np.rint(values / factor) * factor)
    return np.where(np.isfinite(rounded), rounded, values) + 0.0


def listed(values: Any, digits: int = 6) -> list[Any]:
    """An array as nested lists for JSON; nan and inf are None."""
    rounded = significant(np.asarray(values, np.float64), digits)
    if np.isfinite(rounded).all():
        return list(rounded.tolist())
    holes = rounded.astype(object)
    holes[~np.isfinite(rounded)] = None
    return list(holes.tolist())


def short(value: float | None, digits: int = 7) -> float | None:
    """One number for JSON; None for what is none."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def encoded(values: Array) -> str:
    """float32, little endian, row by row, in base64."""
    largest = float(np.finfo(np.float32).max)
    finite = np.nan_to_num(np.asarray(values, np.float64), nan=0.0, posinf=largest, neginf=-largest)
    return base64.b64encode(np.clip(finite, -largest, largest).astype("<f4").tobytes()).decode()


def grid_points(xs: Array, ys: Array) -> Array:
    """The points of a grid, shape (len(ys) * len(xs), 2): along x first."""
    return np.column_stack((np.tile(xs, len(ys)), np.repeat(ys, len(xs))))


def seconds(control: Run) -> float:
    """What a fit may take: what is left to the request, and not too much of it."""
    left = control.seconds_left
    return ANSWER_MAX_SECONDS if left is None else min(ANSWER_MAX_SECONDS, left)
