"""Digits that a program writes as a hand does with a mouse, beside scikit-learn's 1,797, whose writers were few.

Each digit has some ways to be written. A way is strokes, apart by "|"; a stroke is places on a grid of ten by ten, x
and then y downwards, that a smooth line passes through, and a place given twice is a corner. Every time it is written
the places are a little wrong, and the digit is turned, slanted, stretched and bent.
"""

from __future__ import annotations

import threading
from functools import cache

import numpy as np

from maxmargin.lab.drawings import of_strokes
from maxmargin.runtime.validation import Array

GRID_STEPS = 9.0  # steps of the grid in the unit square
JITTER_STEPS = 0.45  # of a place, in steps: standard deviation
POINTS_BETWEEN = 4  # points of the line from one place to the next
WAYS = {
    0: (
        "50 22 14 17 49 77 84 72 50",
        "60 31 14 28 59 86 83 61 40",
        "50 71 84 77 49 17 14 30 60",
        "70 41 14 27 59 87 84 62 60 50",
        "50 20 14 17 29 69 88 84 61 50",
        "30 12 07 39 79 97 82 40",
        "60 40 12 27 69 86 73 41 30",
        "50 31 34 37 59 67 64 61 50",
        "60 41 34 37 49 68 75 72 60 40",
        "40 32 35 48 59 67 64 51 40",
        "70 50 41 34 38 49 58 64 52 30",
        "60 41 34 37 49 58 64 51 30",
        "71 42 26 29 49 67 64 61 40",
        "70 60 41 34 37 49 58 64 52 30",
        "70 50 42 46 49 58 55 52 30",
        "80 51 43 47 59 68 64 52 41",
    ),
    1: (
        "50 55 59",
        "33 50 50 55 59",
        "24 60 60 54 49",
        "22 42 50 50 55 59 | 29 79",
        "61 55 39",
        "41 50 50 54 59 | 39 69",
        "14 60 60 55 49",
        "13 32 60 60 65 59",
        "23 50 50 54 49 | 19 49 89",
        "12 40 40 44 49 49 09 89",
        "60 62 55 49 | 29 79",
        "41 50 50 55 59",
        "31 50 50 54 59",
        "32 51 50 50 55 49",
        "42 60 60 55 49",
        "30 50 50 55 59",
        "22 50 50 55 59",
        "23 60 60 55 49",
        "32 50 50 55 59 | 28 79",
    ),
    2: (
        "12 30 61 73 46 19 19 59 89",
        "22 41 60 72 55 19 19 39 58 88",
        "13 20 60 72 64 37 19 28 58 89",
        "11 81 81 46 19 19 89",
        "22 50 72 64 36 18 18 27 48 69 88",
        "20 60 82 65 38 09 09 49 99",
        "12 40 71 73 55 28 28 68 88",
        "23 31 60 72 55 37 18 27 36 57 79 99",
        "12 30 60 72 64 46 27 18 29 38 36 57 88",
        "21 50 71 54 37 28 17 26 57 88",
        "22 31 51 62 64 47 39 28 37 56 85",
        "21 40 61 64 57 38 27 37 58 87",
        "11 30 51 63 55 48 29 18 37 67 96",
        "12 31 62 64 46 38 49 47 66 85",
        "13 31 61 63 46 28 09 27 58 89 97",
    ),
    3: (
        "11 40 71 63 44 44 74 87 59 18",
        "10 80 80 44 44 75 87 59 18",
        "22 50 72 54 34 34 74 77 49 18",
        "11 50 82 64 44 35 45 75 88 59 19",
        "20 60 72 64 44 44 64 86 69 29 18",
        "12 40 70 72 54 54 76 68 39 17",
        "10 70 70 43 43 74 77 59 29 18",
        "21 50 71 63 44 64 76 68 39 09",
        "20 50 62 44 24 54 76 58 18",
        "12 31 60 72 53 44 54 85 87 59 19 17",
    ),
    4: (
        "30 15 15 85 | 62 59",
        "20 15 15 75 | 70 79",
        "60 06 06 86 | 60 69",
        "59 50 50 05 05 85",
        "50 16 16 96 | 63 59",
        "31 13 25 55 64 | 70 64 59",
        "20 14 14 74 70 | 70 79",
        "50 05 05 75 | 63 69",
        "41 15 26 85 | 71 49",
        "20 14 44 73 | 70 65 59",
        "30 16 55 83 | 71 59",
        "40 15 34 73 80 | 80 69",
        "70 16 16 97 | 70 49",
        "50 26 26 76 | 51 59",
        "40 35 35 75 | 63 59",
    ),
    5: (
        "70 20 20 14 14 54 76 69 29 18",
        "20 14 14 54 77 59 18 | 20 80",
        "71 31 31 14 44 74 77 59 19",
        "80 30 30 24 24 63 86 68 39 08",
        "60 31 23 34 64 76 69 29 18",
        "20 24 24 54 66 58 29 | 20 70",
        "70 10 10 14 14 43 74 77 59 18",
        "90 40 40 23 44 65 67 49 19",
        "81 30 23 44 64 66 58 19",
        "40 24 54 66 58 29 18 | 40 91",
    ),
    6: (
        "60 32 15 18 49 77 75 54 26 17",
        "40 22 16 28 59 77 65 35 17",
        "70 41 14 17 39 69 87 75 45 17",
        "50 23 16 28 58 76 54 26",
        "81 60 32 15 17 39 78 76 55 26",
        "30 24 17 39 69 77 65 35 27",
        "61 40 22 16 19 59 78 65 44 15",
        "50 12 06 29 69 77 65 36 27",
        "30 14 17 39 58 66 55 26 28",
        "82 61 30 13 07 39 78 66 45 17",
        "81 50 13 06 28 59 87 75 45 17",
        "71 40 13 16 38 68 76 55 26",
        "50 44 38 49 68 66 56 37",
        "30 34 38 49 68 66 45 36",
        "40 43 36 38 59 77 56 37",
        "50 45 48 59 68 57 47",
    ),
    7: (
        "10 80 80 55 49",
        "10 80 80 54 39 | 24 74",
        "12 10 10 80 80 55 49",
        "20 80 80 64 56 59",
        "11 40 71 80 80 45 29",
        "12 10 10 80 80 54 49 | 34 74",
        "20 70 70 64 49 | 35 75",
        "11 31 61 80 80 63 56 59",
        "10 70 70 39",
        "13 11 40 60 80 64 49",
        "12 20 71 80 56 49 | 35 66",
        "20 50 80 80 66 38",
    ),
    8: (
        "71 40 21 23 54 76 78 49 28 26 54 73 71",
        "50 21 33 54 73 71 50 | 54 26 28 59 78 76 54",
        "50 20 22 54 77 59 27 25 54 82 70 50",
        "80 40 12 33 65 78 59 28 36 63 81",
        "54 21 40 70 73 54 15 18 49 79 86 54",
        "54 26 29 69 77 54 32 41 61 72 54",
        "61 30 12 24 64 87 69 29 17 35 64 72 61",
        "40 12 34 64 72 40 | 44 16 28 59 87 64 44",
        "72 50 21 33 65 77 49 17 35 63 82",
        "62 40 12 33 55 77 69 38 46 63 81 70 41",
        "20 60 83 54 25 17 39 69 76 54 32 20",
        "70 30 13 44 76 68 39 27 45 72 80",
        "81 50 21 43 66 58 37 46 73 81 60",
        "72 61 41 32 43 54 66 67 58 38 27 36 54",
        "71 50 31 33 54 67 58 38 27 36 54 63",
        "51 40 32 43 65 77 69 29 17 35 53 61 51",
        "61 50 41 43 65 87 69 29 17 35 53 62 61",
        "30 33 54 66 78 59 28 26 44 63 80",
        "20 22 44 66 78 49 28 26 44 72 81",
        "71 50 21 23 44 65 77 59 29 27 45 63",
        "62 50 31 33 65 77 69 39 18 26 44 72",
        "61 40 21 33 53 62 | 54 26 28 59 78 76 64",
        "71 41 22 34 64 83 | 54 25 18 49 78 76 55",
        "50 31 32 44 62 61 50 | 44 16 19 59 88 86 44",
        "80 50 22 34 65 77 59 28 36 54 82",
    ),
    9: (
        "72 50 21 24 55 73 71 71 75 79",
        "81 40 12 24 54 72 81 78 59 29",
        "72 40 21 34 64 72 72 66 49",
        "50 20 22 45 74 71 50 | 70 79",
        "71 50 12 14 45 73 71 71 77 59 28",
        "62 40 21 34 63 71 71 55 39",
        "81 50 21 13 35 74 82 82 77 59 19",
        "60 20 13 45 73 70 | 70 75 69",
        "82 50 22 34 63 81 81 76 58 29 08",
        "81 60 31 33 63 82 82 87 69 39 19",
        "71 50 22 34 64 72 72 67 49 19 09",
        "82 60 31 43 73 82 75 68 49 19",
        "61 40 31 43 72 81 67 49 09",
        "70 50 31 33 52 72 | 71 75 79",
        "71 40 21 33 53 72 | 72 75 69",
        "60 41 42 53 62 | 70 74 79",
        "71 41 22 43 72 71 75 79",
    ),
}

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


def written(digit: int, random: np.random.Generator) -> list[Array]:
    """Strokes of a digit, around the unit square, y downwards."""
    ways = WAYS[digit]
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
