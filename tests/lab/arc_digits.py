"""Digits out of arcs of ellipses and straight lines, in 46 styles: a second judge of the lab's Digits tab.

Nothing is trained on these. The plane is bent a little, and the hand trembles along its strokes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def arc(x, y, width, height, start, end, n=24):
    """Of an ellipse with these half axes, from one angle to another, in degrees; 0 is right, 90 below."""
    t = np.radians(np.linspace(start, end, n))
    return np.column_stack([x + width * np.cos(t), y + height * np.sin(t)])


def line(*places, n=10):
    """Through places, with n points from each to the next."""
    given = np.array(places, float)
    parts = [a + np.linspace(0, 1, n + 1)[1:, None] * (b - a) for a, b in pairwise(given)]
    return np.vstack([given[:1], *parts])


def joined(*parts):
    return np.vstack(parts)


def styles(random):
    """Strokes of each digit in each style, in the unit square, y downwards."""
    u = random.uniform
    w = u(0.16, 0.3)  # half the width of a zero
    return {
        0: {
            "oval": [arc(0.5, 0.5, w, 0.42, -90 + u(-30, 30), -90 - 360 + u(-20, 20))],
            "wide": [arc(0.5, 0.5, u(0.28, 0.38), 0.4, -80, 290)],
            "cw": [arc(0.5, 0.5, w, 0.42, -110, 250)],
            "open": [arc(0.5, 0.5, w, 0.42, -60, -60 - u(320, 345))],
            "overlap": [arc(0.5, 0.5, w, 0.42, -100, -100 - u(375, 410))],
        },
        1: {
            "bar": [line([0.5, 0.08], [0.5 + u(-0.05, 0.03), 0.92])],
            "serif": [line([0.5 - u(0.12, 0.25), u(0.2, 0.33)], [0.52, 0.07], [0.52, 0.93])],
            "foot": [line([0.36, 0.24], [0.52, 0.07], [0.52, 0.92]), line([0.32, 0.92], [0.72, 0.92])],
            "slanted": [line([0.6, 0.07], [0.42, 0.93])],
        },
        2: {
            "plain": [joined(arc(0.48, 0.3, 0.23, 0.22, -170, 20), line([0.7, 0.4], [0.25, 0.9], [0.77, 0.9]))],
            "round": [
                joined(
                    arc(0.47, 0.3, 0.22, 0.21, -150, 50),
                    line([0.6, 0.48], [0.24, 0.9]),
                    line([0.24, 0.9], [0.5, 0.87], [0.8, 0.9]),
                )
            ],
            "loop": [
                joined(
                    arc(0.47, 0.28, 0.22, 0.2, -160, 30),
                    line([0.64, 0.42], [0.36, 0.78]),
                    arc(0.31, 0.82, 0.08, 0.07, 20, 330, 14),
                    line([0.4, 0.79], [0.58, 0.9], [0.78, 0.86]),
                )
            ],
            "z": [line([0.25, 0.14], [0.72, 0.14], [0.26, 0.88], [0.76, 0.88])],
            "neck": [joined(arc(0.48, 0.26, 0.2, 0.18, -190, 40), line([0.62, 0.4], [0.3, 0.86], [0.74, 0.88]))],
        },
        3: {
            "round": [joined(arc(0.46, 0.29, 0.22, 0.2, -150, 80), arc(0.46, 0.7, 0.26, 0.22, -80, 150))],
            "flat": [joined(line([0.24, 0.1], [0.72, 0.1], [0.46, 0.42]), arc(0.46, 0.67, 0.25, 0.25, -85, 150))],
            "loop": [
                joined(
                    arc(0.45, 0.28, 0.2, 0.18, -160, 70),
                    arc(0.44, 0.47, 0.05, 0.04, 90, -200, 8),
                    arc(0.46, 0.71, 0.25, 0.22, -70, 145),
                )
            ],
            "wide": [
                joined(
                    arc(0.45, 0.3, 0.27, 0.22, -140, 60),
                    line([0.56, 0.48], [0.42, 0.49]),
                    arc(0.45, 0.71, 0.3, 0.22, -70, 160),
                )
            ],
        },
        4: {
            "open": [line([0.3, 0.1], [0.24, 0.55], [0.8, 0.55]), line([0.66, 0.25], [0.64, 0.93])],
            "tall": [line([0.26, 0.08], [0.22, 0.5], [0.76, 0.5]), line([0.72, 0.08], [0.7, 0.94])],
            "closed": [line([0.62, 0.93], [0.62, 0.08], [0.18, 0.65], [0.84, 0.65])],
            "closed2": [line([0.6, 0.07], [0.2, 0.63], [0.82, 0.63]), line([0.6, 0.07], [0.6, 0.93])],
            "curved": [
                joined(
                    line([0.3, 0.12], [0.26, 0.35]),
                    arc(0.46, 0.4, 0.2, 0.14, 180, 20),
                ),
                line([0.7, 0.12], [0.64, 0.93]),
            ],
        },
        5: {
            "two": [
                joined(line([0.32, 0.1], [0.29, 0.44]), arc(0.45, 0.66, 0.25, 0.25, -130, 140)),
                line([0.32, 0.1], [0.74, 0.1]),
            ],
            "one": [joined(line([0.74, 0.1], [0.3, 0.1], [0.28, 0.45]), arc(0.45, 0.66, 0.25, 0.25, -125, 145))],
            "s": [
                joined(
                    arc(0.55, 0.25, 0.2, 0.16, -50, -180),
                    line([0.35, 0.25], [0.35, 0.42]),
                    arc(0.46, 0.66, 0.24, 0.24, -110, 140),
                )
            ],
            "sharp": [
                joined(
                    line([0.72, 0.12], [0.32, 0.12], [0.3, 0.42], [0.55, 0.42]), arc(0.5, 0.65, 0.22, 0.23, -60, 140)
                )
            ],
        },
        6: {
            "curl": [joined(line([0.64, 0.08], [0.42, 0.3]), arc(0.47, 0.66, 0.22, 0.25, -150, -500))],
            "straight": [joined(line([0.44, 0.06], [0.27, 0.6]), arc(0.48, 0.68, 0.22, 0.22, 190, -170))],
            "c": [joined(arc(0.56, 0.46, 0.3, 0.4, -60, -200), arc(0.48, 0.7, 0.21, 0.2, 160, -190))],
            "small": [joined(arc(0.62, 0.5, 0.36, 0.42, -80, -210), arc(0.45, 0.76, 0.17, 0.15, 150, -200))],
        },
        7: {
            "plain": [line([0.22, 0.1], [0.76, 0.1], [0.42, 0.93])],
            "bar": [line([0.22, 0.1], [0.76, 0.1], [0.44, 0.93]), line([0.32, 0.5], [0.7, 0.48])],
            "hook": [line([0.22, 0.24], [0.24, 0.1], [0.76, 0.1], [0.46, 0.93])],
            "curved": [joined(line([0.22, 0.12], [0.75, 0.11]), arc(0.95, 0.95, 0.5, 0.85, -115, -178))],
            "hookbar": [line([0.22, 0.22], [0.24, 0.1], [0.76, 0.1], [0.46, 0.93]), line([0.36, 0.52], [0.72, 0.5])],
        },
        8: {
            "s": [
                joined(
                    arc(0.5, 0.28, 0.2, 0.19, -20, -270),
                    arc(0.5, 0.7, 0.24, 0.22, -90, 270),
                    arc(0.5, 0.28, 0.2, 0.19, 90, -20),
                )
            ],
            "two": [arc(0.5, 0.28, u(0.16, 0.22), 0.19, -90, 270), arc(0.5, 0.7, u(0.2, 0.27), 0.23, -90, 270)],
            "cross": [
                joined(
                    line([0.7, 0.2]),
                    arc(0.5, 0.24, 0.19, 0.16, -10, -190),
                    line([0.32, 0.3], [0.5, 0.47], [0.68, 0.62]),
                    arc(0.5, 0.74, 0.2, 0.18, -30, 210),
                    line([0.32, 0.64], [0.5, 0.47], [0.7, 0.24]),
                )
            ],
            "upward": [joined(arc(0.5, 0.7, 0.23, 0.22, -90, -450), arc(0.5, 0.29, 0.19, 0.19, 90, 450))],
        },
        9: {
            "straight": [joined(arc(0.48, 0.3, 0.21, 0.21, -10, -370), line([0.69, 0.3], [0.67, 0.93]))],
            "curved": [joined(arc(0.48, 0.3, 0.21, 0.21, -10, -365), arc(0.42, 0.5, 0.28, 0.42, -25, 110))],
            "diag": [joined(arc(0.48, 0.3, 0.21, 0.2, -20, -370), line([0.69, 0.32], [0.5, 0.93]))],
            "circlefirst": [arc(0.47, 0.3, 0.2, 0.2, -90, -450), line([0.67, 0.12], [0.66, 0.93])],
            "g": [
                joined(
                    arc(0.48, 0.28, 0.2, 0.19, -10, -370),
                    line([0.68, 0.3], [0.68, 0.75]),
                    arc(0.48, 0.75, 0.2, 0.17, 0, 150),
                )
            ],
        },
    }


def drawn(digit, style, random):
    """Strokes as lists of places, as the page sends them."""
    angle, slant = random.normal(0, 0.07), random.normal(0.08, 0.13)
    size, aspect = random.uniform(0.45, 0.95), random.uniform(0.7, 1.25)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shape = turn @ np.array([[aspect, -slant], [0, 1]]) * size
    waves, shift = random.normal(0, 0.013, (4, 4, 2)), random.uniform(-0.05, 0.05, 2)
    strokes = []
    for stroke in styles(random)[digit][style]:
        x, y = stroke[:, :1], stroke[:, 1:]
        bent = sum(waves[i, j] * np.sin(np.pi * (i * x + j * y) + i + 2 * j) for i in range(4) for j in range(4))
        tremor = np.cumsum(random.normal(0, 0.0025, stroke.shape), axis=0)
        places = (stroke + bent + tremor + random.normal(0, 0.012, 2) - 0.5) @ shape.T + 0.5 + shift
        strokes.append((places + random.normal(0, 0.0015, places.shape)).clip(0, 1).round(3).tolist())
    return strokes


def written(digit, random):
    """Strokes of one digit, in a style drawn at random."""
    names = list(styles(random)[digit])
    return drawn(digit, names[random.integers(len(names))], random)
