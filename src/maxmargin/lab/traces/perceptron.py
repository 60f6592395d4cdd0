"""The perceptron (Rosenblatt 1958), with any kernel.

It goes through the points in their order and adds every one that is on the wrong side:

    if y_i (f(x_i) + b) <= 0:      a_i <- a_i + y_i,      b <- b + y_i,      so that  f(x) = sum_i a_i k(x_i, x).

alpha_i = |a_i| counts the mistakes made on point i. If the classes can be separated there is an end to them, after at
most (R / gamma)^2 mistakes (Novikoff 1962); it ends with some separating line, not with the one of the widest margin.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, number, point

MAX_POINTS_PASSED = 200_000


def steps(lesson: Lesson) -> Iterator[Step]:
    """A step for every mistake, and a last one that says how it ended."""
    K, y, n = lesson.K, lesson.y, lesson.n
    a, f, b = np.zeros(n), np.zeros(n), 0.0
    mistakes, since, i = 0, 0, 0
    yield Step(
        a,
        f,
        "w = 0 and b = 0: every point counts as a mistake until the perceptron has learnt something.",
        b=b,
        more={"mistakes": 0},
    )
    for _ in range(MAX_POINTS_PASSED):
        margin = float(y[i] * (f[i] + b))
        since += 1
        if margin <= 0:
            a[i] += y[i]
            f += y[i] * K[i]
            b += float(y[i])
            mistakes, since = mistakes + 1, 0
            times = "once" if abs(a[i]) == 1 else f"{number(abs(a[i]))} times"
            yield Step(
                a,
                f,
                f"Mistake {mistakes:,}: {point(i)} is on the wrong side (y f = {number(margin)}), so it is added to w "
                f"with its sign. So far it has been added {times}.",
                chosen=(i,),
                length=1.0,
                b=b,
                more={"mistakes": mistakes},
            )
        if since == n:
            made = f"{mistakes:,} mistake{'' if mistakes == 1 else 's'}"
            text = f"A whole pass without a mistake: after {made} the perceptron separates the classes."
            yield Step(a, f, text, b=b, more={"mistakes": mistakes, "separated": True})
            return
        i = (i + 1) % n
