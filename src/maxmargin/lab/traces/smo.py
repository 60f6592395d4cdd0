"""SMO, one pair at a time (Platt 1998), chosen by second-order information (Fan, Chen & Lin 2005).

The dual in a_i = y_i alpha_i is  minimise 1/2 a'Ka - y'a  with sum a_i = 0 and a_i between 0 and y_i C. The sum allows
no single variable to move: a_i += d, a_j -= d is the smallest step. With the gradient g = Ka - y,

    i = argmin { g_u : a_u < upper_u }                                the variable that most wants to rise,
    j = argmax { (g_u - g_i)^2 / (K_ii + K_uu - 2 K_iu) : a_u > lower_u, g_u > g_i }      the best partner,
    d = (g_j - g_i) / (K_ii + K_jj - 2 K_ij), cut at the bounds.

The violation is the largest g that may fall minus the smallest that may rise; at most tol means optimal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, moved, number, point


def steps(lesson: Lesson) -> Iterator[Step]:
    """All coefficients zero, and then a pair a step."""
    K, y, lower, upper = lesson.K, lesson.y, lesson.dual.lower, lesson.dual.upper
    diagonal = np.diagonal(K)
    size = np.abs(diagonal) + np.abs(diagonal)[:, None]
    # Below rounding the curvature is unknown: a larger one only shortens the step.
    curvature = np.maximum(diagonal + diagonal[:, None] - 2.0 * K, 1e-15 * size + 1e-300)
    a, g = np.zeros(lesson.n), -y.copy()
    yield Step(a, g + y, "All α are 0: the model knows nothing yet, and f is the same everywhere.")
    while True:
        i = int(np.where(a < upper, g, np.inf).argmin())
        difference = np.where(a > lower, g - g[i], 0.0)
        worst = float(difference.max())
        if worst <= lesson.tol:
            return
        j = int((np.maximum(difference, 0.0) ** 2 / curvature[i]).argmax())
        before_i, before_j = float(a[i]), float(a[j])
        room_i, room_j = float(upper[i] - a[i]), float(a[j] - lower[j])
        d = min(float(difference[j] / curvature[i, j]), room_i, room_j)
        a[i] = upper[i] if d == room_i else a[i] + d
        a[j] = lower[j] if d == room_j else a[j] - d
        g += d * (K[i] - K[j])
        yield Step(
            a,
            g + y,
            f"SMO chose points {i + 1} and {j + 1}: the objective gains most per unit at {point(i)}, and {point(j)} is "
            f"the best partner. The largest violation was {number(worst)}. Now {moved(i, before_i, a[i], lesson.C)}, "
            f"and {moved(j, before_j, a[j], lesson.C)}.",
            chosen=(i, j),
            length=d,
        )
