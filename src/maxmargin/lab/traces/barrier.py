"""The barrier method: along the central path to the solution, by the production solver's own iterates.

:mod:`maxmargin.solvers.interior_point.path` states it. All alpha stay strictly between 0 and C; the conditions of
optimality ask for products (room to a bound) x (its multiplier) = 0, the method has them equal mu > 0, and lets mu fall
to zero. An interior point is never at a bound, so at the end the bounds are read off and the rest is solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.lab.traces.lesson import Lesson, Step, number
from maxmargin.problems import optimality
from maxmargin.solvers.interior_point.kernel_system import DenseSystem, guesses, iterates


def steps(lesson: Lesson) -> Iterator[Step]:
    """The iterates, and then the point at the path's end."""
    problem, K = lesson.dual, lesson.K
    unit = 1.0 / (float(np.abs(np.diagonal(K)).mean()) or 1.0)
    before = np.nan
    for here in iterates(problem, DenseSystem(problem, K), unit):
        mu = here.mu
        b = problem.scalars(here.offset).intercept
        if here.iteration == 0:
            text = f"The start: every α well inside its bounds, with μ = {number(mu)}."
        else:
            text = (
                f"Newton step {here.iteration} toward the central path went {100 * here.step:.0f} % of its length. μ, "
                f"by which every condition of optimality is still missed, fell from {number(before)} to {number(mu)}."
            )
        yield Step(here.a, K @ here.a, text, length=here.step, b=b, more={"mu": mu})
        before = mu
        for guess in guesses(problem, K, here):
            a = problem.feasible(guess)
            f = K @ a
            if optimality.violation(problem, a, problem.gradient(f, a)) <= min(lesson.tol, 1e-6):
                at_zero, at_C = int(np.sum(a == 0)), int(np.sum(np.abs(a) == lesson.C))
                text = (
                    f"Now it is clear where the path ends: {at_zero} α are 0 and {at_C} are C, and the "
                    f"{lesson.n - at_zero - at_C} others follow from one linear system."
                )
                yield Step(a, f, text, more={"mu": 0.0})
                return
