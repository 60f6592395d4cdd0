"""The active-set method on the dual: guess which alpha are at their bounds, and solve for the others.

    minimise 1/2 a'Ka - y'a,    sum a_i = 0,    a_i between 0 and y_i C

With F the free variables and all others held at a bound, what is left is linear algebra: with the gradient g = Ka - y,

    K_FF d - lambda = -g_F,     sum d_i = 0.

a moves along d. If a variable reaches a bound on the way, it stops there and leaves F. If none does, a is optimal among
those with these bounds, lambda is the multiplier of the sum (b = -lambda), and a held variable whose gradient is on
the wrong side of lambda enters F: the one that is furthest off. If there is none, a is optimal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, moved, number, point, solved
from maxmargin.runtime.validation import Array

RIDGE_SHARE = 1e-11  # of the mean diagonal: points on one line in feature space leave K_FF singular


def steps(lesson: Lesson) -> Iterator[Step]:
    """A step for every variable that is set free or reaches a bound."""
    K, y, lower, upper = lesson.K, lesson.y, lesson.dual.lower, lesson.dual.upper
    a, free = np.zeros(lesson.n), np.zeros(lesson.n, bool)
    yield Step(a, K @ a, "All α are 0, and all are held there.", more={"free": []})
    while True:
        g = K @ a - y
        F = np.flatnonzero(free)
        d, offset = direction(K, g, F) if len(F) else (np.empty(0), np.nan)
        at_minimum = len(F) == 0 or float(np.abs(K[np.ix_(F, F)] @ d).max()) <= 0.1 * lesson.tol
        if at_minimum:
            entering, worst = _violators(a, g, lower, upper, free, offset)
            if worst <= lesson.tol:
                return
            free[entering] = True
            names = " and ".join(point(i) for i in entering)
            text = (
                f"With these bounds nothing is left to gain. {names.capitalize()} violated the conditions most, by "
                f"{number(worst)}, and may move from now on."
            )
            yield Step(a, g + y, text, chosen=tuple(entering), length=0.0, more={"free": np.flatnonzero(free).tolist()})
            continue
        t, stopped = _blocked(a[F], d, lower[F], upper[F])
        before = a[F].copy()
        a[F] = np.clip(a[F] + t * d, lower[F], upper[F])
        if stopped is None:
            text = f"All {len(F)} free α moved at once, to the best point with the others held."
            chosen: tuple[int, ...] = tuple(F.tolist())
        else:
            i = int(F[stopped])
            a[i] = upper[i] if d[stopped] > 0 else lower[i]
            free[i] = False
            text = (
                f"The {len(F)} free α moved {100 * t:.0f} % of the way to their best point, where {point(i)} met its "
                f"bound: {moved(i, before[stopped], a[i], lesson.C)}. It is held there."
            )
            chosen = (i,)
        yield Step(a, K @ a, text, chosen=chosen, length=t, more={"free": np.flatnonzero(free).tolist()})


def direction(K: Array, g: Array, F: Array) -> tuple[Array, float]:
    """d and lambda of the free variables."""
    m = len(F)
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = K[np.ix_(F, F)]
    size = float(np.trace(system)) / m or 1.0
    system[np.arange(m), np.arange(m)] += RIDGE_SHARE * size
    system[:m, m] = system[m, :m] = -size  # the border has the size of the matrix, or its digits are lost
    found = solved(system, np.append(-g[F], 0.0))
    return found[:m], float(found[m]) * size


def _violators(a: Array, g: Array, lower: Array, upper: Array, free: Array, offset: float) -> tuple[list[int], float]:
    """Which held variables should move, and by how much their conditions are violated. Without a free variable there
    is no offset: the worst pair then."""
    rises, falls = ~free & (a < upper), ~free & (a > lower)
    low, high = np.where(rises, g, np.inf), np.where(falls, g, -np.inf)
    i, j = int(np.argmin(low)), int(np.argmax(high))
    if np.isnan(offset):
        return [i, j], float(high[j] - low[i])
    up, down = float(offset - low[i]), float(high[j] - offset)
    return ([i], up) if up >= down else ([j], down)


def _blocked(a: Array, d: Array, lower: Array, upper: Array) -> tuple[float, int | None]:
    """How much of the step d the bounds allow, and the variable that stops it."""
    room = np.where(d > 0, upper - a, a - lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(np.abs(d) > 0, room / np.abs(d), np.inf)
    k = int(np.argmin(part))
    return (max(0.0, float(part[k])), k) if part[k] < 1 else (1.0, None)
