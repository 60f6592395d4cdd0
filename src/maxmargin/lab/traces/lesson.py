"""What a solver is shown at work on, and what it shows.

A lesson is the soft-margin problem of :mod:`maxmargin.problems.dual` on a few points, with the whole kernel matrix at
hand:

    minimise  1/2 |w|^2 + C sum_i max(0, 1 - y_i (f_i + b)),      f = K a,   a_i = y_i alpha_i,   0 <= alpha_i <= C.

A solver is a generator of steps. A step holds the coefficients a and the values f = K a as they are after it, so that
everything else a picture needs (intercept, objectives, gap, violation) follows from it here, in one way for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem, c_svc
from maxmargin.problems.losses import Hinge, SquaredHinge
from maxmargin.runtime.validation import Array

# 50,000 steps are 337 frames: an answer of 2 MB for 300 points
FIRST_STEPS = 160
STRIDE_FRAMES = 16


@dataclass(frozen=True)
class Lesson:
    """The problem.

    X: (n, 2)
    y: (n,); -1 and +1
    K: (n, n)
    C: the penalty of slack; inf for a hard margin
    tol: the violation at which a solver may stop
    intercept: whether f has a constant b besides
    squared: whether slack costs its square, C sum_i max(0, 1 - y_i (f_i + b))^2
    seed: for solvers that draw points at random
    """

    X: Array
    y: Array
    K: Array
    C: float
    tol: float = 1e-3
    intercept: bool = True
    squared: bool = False
    seed: int = 0

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def dual(self) -> DualProblem:
        return c_svc(self.y, np.full(self.n, self.C), fit_intercept=self.intercept)

    @cached_property
    def penalties(self) -> Array:
        return np.full(self.n, self.C)


@dataclass(frozen=True)
class Step:
    """One step of a solver.

    a: (n,); y_i alpha_i after the step
    f: (n,); K a, without the intercept
    note: the step in plain words
    chosen: the points that the step is about
    length: how far it went, in the solver's own measure
    b: the intercept, where the solver has one of its own
    more: what only this solver knows, ready for JSON
    """

    a: Array
    f: Array
    note: str
    chosen: tuple[int, ...] = ()
    length: float | None = None
    b: float | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def copied(self) -> Step:
        return replace(self, a=self.a.copy(), f=self.f.copy())


def point(i: int) -> str:
    """How notes name a point: people count from one."""
    return f"point {i + 1}"


def number(value: float, digits: int = 3) -> str:
    """A number in a note, with a minus sign as everywhere on the page."""
    return f"{value:.{digits}g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def moved(i: int, before: float, after: float, C: float) -> str:
    """What a step did to the multiplier of one point, with as many digits as it takes to see it."""
    before, after = abs(before), abs(after)
    digits = next((k for k in range(3, 12) if number(before, k) != number(after, k)), None)
    end = ", its bound C" if after == C else ""
    if digits is None:
        return f"α of {point(i)} stayed at {number(after)}{end}"
    verb = "rose" if after > before else "fell"
    return f"α of {point(i)} {verb} from {number(before, digits)} to {number(after, digits)}{end}"


def solved(system: Array, right: Array) -> Array:
    """The solution of a linear system; of one that is singular to working precision, the least one of least squares."""
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        found = np.full(len(right), np.nan)
    return found if np.isfinite(found).all() else np.linalg.lstsq(system, right, rcond=None)[0]


@dataclass(frozen=True)
class Evaluation:
    """Where a step has led: the intercept, both objectives, and the largest violation of the conditions."""

    b: float
    primal: float
    dual: float
    violation: float


def evaluate(lesson: Lesson, step: Step) -> Evaluation:
    """What can be said of a step without trusting its solver.

    The primal objective is that of f with the solver's own intercept, or else with the best one. The dual objective is
    that of the coefficients, moved to the nearest feasible ones if need be: a bound from below in any case."""
    return _evaluate_squared(lesson, step) if lesson.squared else _evaluate_hinge(lesson, step)


def evaluate_perceptron(lesson: Lesson, step: Step) -> Evaluation:
    """Its own objective, sum_i max(0, -y_i (f_i + b)), which has no dual; its largest term is the violation."""
    b = step.b or 0.0
    losses = np.maximum(0.0, -lesson.y * (step.f + b))
    return Evaluation(b, float(losses.sum()), math.nan, float(losses.max()))


def _evaluate_hinge(lesson: Lesson, step: Step) -> Evaluation:
    problem, y = lesson.dual, lesson.y
    a, f = step.a, step.f
    feasible = problem.feasible(a)
    if not np.array_equal(feasible, a):
        f = lesson.K @ feasible
    gradient = problem.gradient(f, feasible)
    dual = -problem.objective(f, feasible)
    violation = optimality.violation(problem, feasible, gradient)
    if math.isinf(lesson.C):
        offset = optimality.offsets(problem, feasible, gradient)
        found = optimality.certify(problem, feasible, f, offset)
        return Evaluation(problem.scalars(offset).intercept, found.primal, dual, violation)
    b = step.b
    if b is None:
        b = Hinge().best_intercept(y - step.f, y, lesson.penalties) if lesson.intercept else 0.0
    norm2 = max(0.0, float(a @ step.f))
    slack = np.maximum(0.0, 1.0 - y * (step.f + b))
    return Evaluation(b, 0.5 * norm2 + lesson.C * float(slack.sum()), dual, violation)


def _evaluate_squared(lesson: Lesson, step: Step) -> Evaluation:
    """At the best b the multipliers alpha_i = 2 C slack_i have sum y_i alpha_i = 0, and are dual feasible."""
    y, C = lesson.y, lesson.C
    b = SquaredHinge().best_intercept(y - step.f, y, lesson.penalties)
    slack = np.maximum(0.0, 1.0 - y * (step.f + b))
    a = 2 * C * y * slack
    dual = float(y @ a) - 0.5 * float(a @ (lesson.K @ a)) - float(a @ a) / (4 * C)
    own = step.b if step.b is not None else b
    inside = np.maximum(0.0, 1.0 - y * (step.f + own))
    primal = 0.5 * max(0.0, float(step.a @ step.f)) + C * float(inside @ inside)
    # The gradient of the objective in function space: zero where every coefficient is what its slack asks for.
    return Evaluation(own, primal, dual, float(np.max(np.abs(step.a - 2 * C * y * inside), initial=0.0)) / (2 * C))


class Thinned:
    """The steps of a run that are shown: the first ``FIRST_STEPS`` all, then every 2nd, every 4th, ... of them, each
    stride for ``STRIDE_FRAMES`` frames; and the last one. So step n is frame n where people follow single steps, and
    two runs hold the same steps."""

    def __init__(self) -> None:
        self.count, self.due = 0, 0
        self.kept: list[tuple[int, Step]] = []
        self.last: Step | None = None

    def add(self, step: Step) -> None:
        if self.count == self.due:
            self.kept.append((self.count, step.copied()))
            self.due += 2 ** max(0, (len(self.kept) - FIRST_STEPS - 1) // STRIDE_FRAMES + 1)
        self.last = step
        self.count += 1

    def __iter__(self) -> Iterator[tuple[int, Step]]:
        yield from self.kept
        if self.last is not None and self.kept[-1][0] != self.count - 1:
            yield self.count - 1, self.last
