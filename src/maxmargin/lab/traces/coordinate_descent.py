"""Coordinate descent on the dual without intercept.

Without b the dual has no equality, only the box: minimise 1/2 a'Ka - y'a with a_i between 0 and y_i C. A single
variable can move. With the gradient g = Ka - y, the best step along variable i ends at

    clip(a_i - g_i / K_ii, lower_i, upper_i),

and the variable is taken whose step lowers the objective most, by -(g_i d_i + 1/2 K_ii d_i^2).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, moved, number, point


def steps(lesson: Lesson) -> Iterator[Step]:
    """All coefficients zero, and then a variable a step."""
    K, y, lower, upper = lesson.K, lesson.y, lesson.dual.lower, lesson.dual.upper
    curvature = np.maximum(np.diagonal(K), 1e-300)
    a, g = np.zeros(lesson.n), -y.copy()
    yield Step(a, g + y, "All α are 0. This model has no intercept, so each α can move on its own.")
    while True:
        highest = float(np.max(np.where(a > lower, g, 0.0), initial=0.0))
        lowest = float(np.min(np.where(a < upper, g, 0.0), initial=0.0))
        if highest - lowest <= lesson.tol:
            return
        aims = np.clip(a - g / curvature, lower, upper)
        d = aims - a
        gain = -d * (g + 0.5 * curvature * d)
        i = int(np.argmax(gain))
        if gain[i] <= 0:
            return
        before, slope = float(a[i]), float(g[i])
        a[i] = aims[i]
        g += d[i] * K[i]
        yield Step(
            a,
            g + y,
            f"Coordinate descent chose {point(i)}, whose α alone can gain most (slope {number(abs(slope))}): "
            f"{moved(i, before, a[i], lesson.C)}, and the dual objective rose by {number(gain[i])}.",
            chosen=(i,),
            length=float(d[i]),
        )
