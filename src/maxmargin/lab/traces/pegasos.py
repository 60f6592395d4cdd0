"""Pegasos (Shalev-Shwartz, Singer, Srebro & Cotter 2011): stochastic sub-gradient descent, with any kernel.

The objective  1/2 |w|^2 + C sum_i hinge_i  is the mean over i of  1/2 |w|^2 + N C hinge_i. So step t draws one point i
at random and, with eta = 1/t, goes against the sub-gradient of that one term:

    w <- (1 - eta) w  +  eta N C y_i x_i  if y_i (w'x_i + b) < 1.

With w = sum_i a_i Phi(x_i) the same is said of the coefficients: all shrink by 1 - 1/t, and a_i += N C y_i / t. The
intercept is stepped like the weight of a constant column, by at most C, but does not shrink; after each N steps it is
set to its best value. The steps jump about; the average with weights t (Lacoste-Julien, Schmidt & Bach 2012) settles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, number, point
from maxmargin.problems.losses import Hinge
from maxmargin.runtime.validation import Array


def steps(lesson: Lesson, most: int) -> Iterator[Step]:
    """``most`` steps, and then their average."""
    K, y, n, C = lesson.K, lesson.y, lesson.n, lesson.C
    drawn = np.random.default_rng(lesson.seed).integers(n, size=most)
    a, f, b = np.zeros(n), np.zeros(n), 0.0
    mean: tuple[Array, Array] = (np.zeros(n), np.zeros(n))
    yield Step(a, f, "w = 0. Each step draws one point at random and uses no other.", b=b)
    for t, i in enumerate(drawn.tolist(), start=1):
        margin, eta = float(y[i] * (f[i] + b)), 1.0 / t
        a *= 1.0 - eta
        f *= 1.0 - eta
        text = f"Step {t} drew {point(i)}, with y f = {number(margin)}: "
        where = "on the wrong side" if margin < 0 else "inside the margin"
        if margin < 1:
            push = eta * n * C * y[i]
            a[i] += push
            f += push * K[i]
            b += float(y[i]) * min(eta * n * C, C)
            text += f"{where}, so w shrinks by 1/{t} and is pulled toward it by {number(abs(push))}."
        else:
            text += f"outside the margin, so w only shrinks by 1/{t}."
        if t % n == 0:
            b = Hinge().best_intercept(y - f, y, lesson.penalties)
        weight = 2.0 / (t + 1)  # of step t in the average with weights 1, 2, ..., t
        for total, new in zip(mean, (a, f), strict=True):
            total += weight * (new - total)
        yield Step(a, f, text, chosen=(i,), length=eta, b=b)
    text = (
        f"The average of all {most:,} steps, later ones weighted more: it is much closer to the solution than they are."
    )
    yield Step(*mean, text, more={"average": True})
