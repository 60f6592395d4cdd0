"""Digits that a program writes as a hand does with a mouse, beside scikit-learn's 1,797, whose writers were few.

Each digit has some ways to be written, those of ``digit_ways.txt``, one per line after the digit. A way is strokes,
apart by "|"; a stroke is places on a grid of ten by ten, x and then y downwards, that a smooth line passes through, and
a place given twice is a corner. Every time it is written the places are a little wrong, and the digit is turned,
slanted, stretched and bent.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

import numpy as np

from maxmargin.lab.drawings import of_strokes
from maxmargin.runtime.validation import Array

GRID_STEPS = 9.0  # steps of the grid in the unit square
JITTER_STEPS = 0.45  # of a place, in steps: standard deviation
POINTS_BETWEEN = 4  # points of the line from one place to the next

_writing = threading.Lock()


def written_digits(n: int = 1500, seed: int = 0) -> tuple[Array, Array]:
    """Images of written digits, n rows of 8 x 8 numbers, and their labels 0, 1, ..., 9, 0, 1, ..."""
    with _writing:  # the page's first question waits for what the server prepares, and does not do it again
        return _written_digits(n, seed)


@cache
def _written_digits(n: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    labels = np.arange(n) % 10
    images = np.array([of_strokes(written(int(digit), random)).ravel() for digit in labels], np.float64)
    for array in (images, labels):
        array.flags.writeable = False  # every caller gets the same ones
    return images, labels


@cache
def _ways() -> list[list[str]]:
    """The ways of each digit."""
    ways: list[list[str]] = [[] for _ in range(10)]
    for line in (Path(__file__).parent / "digit_ways.txt").read_text("ascii").splitlines():
        digit, _, way = line.partition("  ")
        ways[int(digit)].append(way)
    return ways


def written(digit: int, random: np.random.Generator) -> list[Array]:
    """Strokes of a digit, around the unit square, y downwards."""
    ways = _ways()[digit]
    way = ways[random.integers(len(ways))]
    slant, aspect, angle = random.normal(0.1, 0.2), random.uniform(0.65, 1.4), random.normal(0.0, 0.08)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shape = turn @ np.array([[aspect, -slant], [0.0, 1.0]])
    bend = random.normal(0.0, 0.12, (3, 2))
    strokes = []
    for stroke in way.split("|"):
        given = np.array([[int(x), int(y)] for x, y in map(tuple, stroke.split())], np.float64)
        places = given + random.normal(0.0, JITTER_STEPS, given.shape)
        again = (np.diff(given, axis=0) == 0).all(axis=1)
        places[1:][again] = places[:-1][again]  # corners stay corners
        x, y = (line := smooth(places) / GRID_STEPS - 0.5).T
        strokes.append((line + np.column_stack([y * y, x * y, x * x]) @ bend) @ shape.T + 0.5)
    return strokes


def smooth(places: Array) -> Array:
    """A Catmull-Rom curve through places; it stops and turns where one is given twice."""
    t = np.linspace(0.0, 1.0, POINTS_BETWEEN)[:, None]
    corners = np.flatnonzero((np.diff(places, axis=0) == 0).all(axis=1)) + 1
    pieces = []
    for part in np.split(places, corners):
        padded = np.vstack([2 * part[0] - part[1], part, 2 * part[-1] - part[-2]])
        p, q, r, s = (padded[k : len(padded) - 3 + k, None] for k in range(4))
        curve = 2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t**2 + (3 * q - p - 3 * r + s) * t**3
        pieces.append(0.5 * curve.reshape(-1, 2))
    return np.vstack(pieces)
