"""Digits as hands write them: strokes through a few places, with each place, slant, size and line a little wrong.

The judge of the lab's Digits tab, drawn without looking at its training images; nothing is trained on these.
"""

from __future__ import annotations

import numpy as np

Stroke = list[list[float]]

# Ways to write each digit: strokes of places that a smooth line passes through; a place given twice is a corner.
WAYS: dict[int, list[list[list[tuple[float, float]]]]] = {
    0: [
        [[(0.5, 0.05), (0.2, 0.25), (0.15, 0.6), (0.4, 0.95), (0.75, 0.75), (0.8, 0.35), (0.5, 0.05)]],
        [[(0.6, 0.08), (0.35, 0.12), (0.2, 0.5), (0.38, 0.92), (0.68, 0.85), (0.8, 0.45), (0.62, 0.1), (0.48, 0.12)]],
    ],
    1: [
        [[(0.5, 0.05), (0.5, 0.5), (0.5, 0.95)]],
        [[(0.3, 0.28), (0.52, 0.05), (0.52, 0.05), (0.52, 0.5), (0.52, 0.95)]],
    ],
    2: [
        [[(0.22, 0.28), (0.4, 0.06), (0.72, 0.2), (0.6, 0.52), (0.2, 0.93), (0.2, 0.93), (0.5, 0.93), (0.8, 0.92)]],
        [[(0.2, 0.2), (0.5, 0.05), (0.75, 0.25), (0.5, 0.62), (0.25, 0.92), (0.22, 0.78), (0.45, 0.8), (0.82, 0.92)]],
    ],
    3: [
        [
            [
                (0.22, 0.14),
                (0.55, 0.05),
                (0.72, 0.25),
                (0.42, 0.46),
                (0.42, 0.46),
                (0.78, 0.68),
                (0.55, 0.95),
                (0.2, 0.86),
            ]
        ],
        [
            [
                (0.2, 0.08),
                (0.75, 0.08),
                (0.75, 0.08),
                (0.45, 0.42),
                (0.45, 0.42),
                (0.8, 0.66),
                (0.52, 0.95),
                (0.18, 0.84),
            ]
        ],
    ],
    4: [
        [[(0.58, 0.05), (0.2, 0.6), (0.2, 0.6), (0.85, 0.6)], [(0.62, 0.35), (0.6, 0.95)]],
        [[(0.22, 0.08), (0.2, 0.5), (0.2, 0.5), (0.78, 0.48)], [(0.72, 0.06), (0.7, 0.95)]],
        [[(0.6, 0.95), (0.62, 0.05), (0.62, 0.05), (0.15, 0.62), (0.15, 0.62), (0.85, 0.62)]],
    ],
    5: [
        [
            [
                (0.75, 0.07),
                (0.28, 0.07),
                (0.28, 0.07),
                (0.25, 0.45),
                (0.25, 0.45),
                (0.68, 0.46),
                (0.68, 0.88),
                (0.2, 0.9),
            ]
        ],
        [[(0.3, 0.07), (0.27, 0.44), (0.27, 0.44), (0.66, 0.5), (0.62, 0.9), (0.2, 0.88)], [(0.3, 0.07), (0.75, 0.08)]],
    ],
    6: [
        [[(0.66, 0.06), (0.32, 0.35), (0.22, 0.72), (0.48, 0.95), (0.74, 0.74), (0.5, 0.54), (0.26, 0.7)]],
        [[(0.45, 0.05), (0.25, 0.45), (0.28, 0.88), (0.62, 0.92), (0.72, 0.64), (0.45, 0.55), (0.25, 0.72)]],
    ],
    7: [
        [[(0.2, 0.08), (0.78, 0.08), (0.78, 0.08), (0.55, 0.5), (0.42, 0.95)]],
        [[(0.2, 0.08), (0.78, 0.08), (0.78, 0.08), (0.52, 0.5), (0.4, 0.95)], [(0.32, 0.5), (0.72, 0.5)]],
    ],
    8: [
        [[(0.7, 0.18), (0.45, 0.05), (0.28, 0.24), (0.7, 0.68), (0.5, 0.95), (0.26, 0.72), (0.66, 0.34), (0.7, 0.16)]],
        [
            [(0.5, 0.05), (0.28, 0.26), (0.5, 0.46), (0.72, 0.26), (0.5, 0.05)],
            [(0.5, 0.46), (0.22, 0.7), (0.5, 0.95), (0.78, 0.7), (0.5, 0.46)],
        ],
    ],
    9: [
        [[(0.72, 0.26), (0.5, 0.06), (0.26, 0.26), (0.45, 0.5), (0.72, 0.28), (0.72, 0.28), (0.7, 0.6), (0.66, 0.95)]],
        [[(0.7, 0.22), (0.45, 0.06), (0.26, 0.3), (0.5, 0.48), (0.72, 0.24), (0.7, 0.65), (0.52, 0.94), (0.28, 0.9)]],
    ],
}


def smooth(places: np.ndarray, each: int = 9) -> np.ndarray:
    """A Catmull-Rom curve through the places; it stops and turns where one is given twice."""
    corners = np.flatnonzero((np.diff(places, axis=0) == 0).all(axis=1)) + 1
    pieces = []
    for part in np.split(places, corners):
        padded = np.vstack([2 * part[0] - part[1], part, 2 * part[-1] - part[-2]]) if len(part) > 1 else part
        for k in range(len(part) - 1):
            p, q, r, s = padded[k : k + 4]
            t = np.linspace(0, 1, each)[:, None]
            pieces.append(
                0.5 * (2 * q + (r - p) * t + (2 * p - 5 * q + 4 * r - s) * t**2 + (3 * q - p - 3 * r + s) * t**3)
            )
    return np.vstack(pieces)


def written(digit: int, random: np.random.Generator) -> list[Stroke]:
    """Strokes of one digit in the unit square, y downwards."""
    ways = WAYS[digit]
    angle, slant = random.normal(0, 0.1), random.normal(0.05, 0.18)
    size, aspect = random.uniform(0.4, 0.9), random.uniform(0.6, 1.3)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shape = turn @ np.array([[aspect, -slant], [0, 1]]) * size
    strokes = []
    for places in ways[random.integers(len(ways))]:
        given = np.array(places)
        moved = given + random.normal(0, 0.03, given.shape)
        again = (np.diff(given, axis=0) == 0).all(axis=1)
        moved[1:][again] = moved[:-1][again]  # corners stay corners
        line = smooth(moved) + random.normal(0, 0.004, (1, 2))
        strokes.append(((line - 0.5) @ shape.T + 0.5 + random.normal(0, 0.002, line.shape)).clip(0, 1).tolist())
    return strokes
