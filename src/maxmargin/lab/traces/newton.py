"""Newton's method for the squared hinge, with any kernel (Mangasarian 2002; Chapelle 2007).

    minimise  1/2 |w|^2 + C sum_i max(0, 1 - y_i (f_i + b))^2,       f = K a

is quadratic for as long as the same points S are inside their margins. The minimum of this piece has a_i = 0 outside S,
and

    K_SS a_S + a_S / (2C) + b = y_S,     sum a_i = 0.

A step goes toward it, as far as the objective falls: along the way the slope is continuous and grows, and its zero is
found by halving. When S does not change any more the minimum of the piece is the minimum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, solved
from maxmargin.runtime.validation import Array

MAX_HALVINGS = 60


def steps(lesson: Lesson) -> Iterator[Step]:
    """Newton steps until the points inside their margins stay the same."""
    K, y, C, n = lesson.K, lesson.y, lesson.C, lesson.n
    a, f, b = np.zeros(n), np.zeros(n), 0.0
    yield Step(a, f, "w = 0 and b = 0: every point is inside its margin.", b=b)
    S, length = np.ones(n, bool), 0.0
    while True:
        new, new_b = minimum_of_piece(K, y, C, S)
        new_f = K @ new
        length = _length(lesson, a, f, b, new - a, new_f - f, new_b - b)
        if length <= 0:
            return
        a, f, b = a + length * (new - a), f + length * (new_f - f), b + length * (new_b - b)
        before, S = S, y * (f + b) < 1
        changed = np.flatnonzero(before != S)
        yield Step(
            a,
            f,
            f"Newton's step solved for the {int(before.sum())} points inside their margins and went {100 * length:.0f} "
            f"% of the way there; {len(changed)} points crossed their margins"
            + (f", and {int(S.sum())} are inside now." if len(changed) else ": this is the minimum."),
            chosen=tuple(changed.tolist()),
            length=length,
            b=b,
            more={"inside": int(S.sum())},
        )
        if length == 1.0 and len(changed) == 0:
            return


def minimum_of_piece(K: Array, y: Array, C: float, S: Array) -> tuple[Array, float]:
    """The coefficients and the intercept that are best while S stays inside its margins."""
    F = np.flatnonzero(S)
    m = len(F)
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = K[np.ix_(F, F)]
    system[np.arange(m), np.arange(m)] += 1.0 / (2.0 * C)
    system[m, m] = 0.0
    found = solved(system, np.append(y[F], 0.0))
    a = np.zeros(len(y))
    a[F] = found[:m]
    return a, float(found[m])


def _length(lesson: Lesson, a: Array, f: Array, b: float, da: Array, df: Array, db: float) -> float:
    """The t at which the objective of a + t da is least, 1 if that is beyond it."""
    y, C = lesson.y, lesson.C
    first, second, move = float(a @ df), float(da @ df), y * (df + db)

    def slope(t: float) -> float:
        slack = np.maximum(0.0, 1.0 - y * (f + b) - t * move)
        return first + t * second - 2 * C * float(slack @ move)

    scale = 1e-13 * (abs(first) + abs(second) + 2 * C * float(np.abs(move).sum()))
    if slope(1.0) <= scale:
        return 1.0
    if slope(0.0) >= -scale:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(MAX_HALVINGS):
        t = (low + high) / 2
        low, high = (t, high) if slope(t) < 0 else (low, t)
    return (low + high) / 2
