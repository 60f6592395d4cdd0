"""Batch sub-gradient descent, with any kernel.

The objective  P(w) = min over b of  1/2 |w|^2 + C sum_i max(0, 1 - y_i (w'x_i + b))  has the sub-gradient
w - sum_i s_i y_i x_i, where the s_i between 0 and C are large where slack is, and sum_i s_i y_i = 0. A step of length
eta against it is

    w <- (1 - eta) w + eta sum_i s_i y_i x_i,       in the coefficients:  a <- (1 - eta) a + eta s y.

Such s are those with the most slack, sum_i s_i (1 - y_i f_i), under both conditions: sort each class by its slack, and
take pairs, one point of each class, for as long as the slacks of a pair add up to more than zero. (The dual knows
this as the method of Frank & Wolfe 1956.) With eta = 1/t the a are averages of feasible points, and come with a gap.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, number
from maxmargin.runtime.validation import Array


def steps(lesson: Lesson, most: int) -> Iterator[Step]:
    """At most so many steps with all points."""
    K, y, n = lesson.K, lesson.y, lesson.n
    a, f = np.zeros(n), np.zeros(n)
    yield Step(a, f, "w = 0. Each step looks at all points.")
    for t in range(1, most + 1):
        s = lesson.C * slackest(f, y)
        # y's is the direction of a'Ka - y'a that promises most: what it promises bounds what is left to gain.
        promised = float((y - f) @ (y * s - a))
        if promised <= 1e-9 * (1.0 + abs(float(y @ a))):
            return
        eta = 1.0 / t
        a += eta * (y * s - a)
        f = K @ a
        inside = int(np.count_nonzero(s))
        yield Step(
            a,
            f,
            f"Step {t}: {inside} of {n} points pull, with {number(lesson.C)} each, and w moves by {number(eta)} of the "
            f"way from where it is to their sum. At most {number(promised)} of the objective was left to gain.",
            chosen=tuple(np.flatnonzero(s).tolist()),
            length=eta,
        )


def slackest(f: Array, y: Array) -> Array:
    """1 for the points that pull, 0 for the others: as many of either class."""
    slack, s = 1.0 - y * f, np.zeros(len(y))
    up, down = (
        side[np.argsort(-slack[side], kind="stable")] for side in (np.flatnonzero(y > 0), np.flatnonzero(y < 0))
    )
    pairs = min(len(up), len(down))
    k = np.count_nonzero(slack[up[:pairs]] + slack[down[:pairs]] > 0)  # the sums fall along the list
    s[up[:k]] = s[down[:k]] = 1.0
    return s
