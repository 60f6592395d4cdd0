"""A primal-dual interior-point method for every kernel problem (Mehrotra 1992; Ferris & Munson 2003 for SVMs).

    minimise  1/2 a'Qa + p'a    subject to  lower <= a <= upper,  the sum of a over group g = t_g        (G a = t)

With multipliers z (lower bounds), x (upper bounds) and lambda (groups) the conditions of optimality are

    Q a + p - G'lambda - z + x = 0,    G a = t,    (a - lower) z = 0,    (upper - a) x = 0,    z, x >= 0.

The method keeps all inequalities strict, replaces the two products' zeros by mu > 0 (these are the conditions of
minimising the objective minus mu times the logarithms of the rooms: the barrier), and takes Newton steps while mu falls
to zero. With the rooms A = a - lower and B = upper - a, a step solves

    (Q + D) da - G'dlambda = r,    G da = t - G a,    D = z/A + x/B,
    r = -(Q a + p - G'lambda) + (mu - cA)/A - (mu - cB)/B.

First with mu = 0 and no corrections cA, cB: the predictor. How far that step gets tells how small mu can be made,
mu <- mu (mu_predicted / mu)^3, and its products of changes, cA = dA dz and cB = dB dx, correct for what Newton's method
leaves out: the second solve, with the same factors. How to factor Q + D is the business of a :class:`System`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array

INSIDE = 0.995  # part of the way to the nearest bound that a step may go
CENTRED = 1e-3  # no product of a room and its multiplier falls below this part of their mean,
BACK = 30  # or the step is shortened, at most so many times
LIMIT = 200  # iterations; twenty or thirty are usual
PATIENCE = 3  # successive steps that lead nowhere before the method gives up
SHORT = 1e-6  # a step that leads nowhere


class System(Protocol):
    """The matrix Q, and Newton systems with it."""

    def value(self, a: Array) -> Array:
        """Q a, as far as the system knows it: it may keep a product of its own, which ``solve`` brings closer."""
        ...

    def factor(self, D: Array) -> None:
        """Prepare for solving with Q + D; LinAlgError if that is not positive definite."""
        ...

    def solve(self, r: Array, e: Array) -> tuple[Array, Array, Any]:
        """da and dlambda with (Q + D) da - G'dlambda = r, G da = e; and what ``advance`` needs to know of them."""
        ...

    def advance(self, step: float, change: Any) -> None:
        """This part of the last step was taken."""
        ...


@dataclass(frozen=True)
class Iterate:
    """A point strictly inside the bounds.

    Attributes
    ----------
    a : array
    offset : array
        lambda, one entry a group.
    below, above : array
        The rooms A and B; infinite where there is no bound.
    at_lower, at_upper : array
        The bounds' multipliers z and x; zero where there is no bound.
    size : float
        What multipliers are measured by: the slopes of the objective at the start.
    iteration : int
    step : float
        Length of the step that led here.
    """

    a: Array
    offset: Array
    below: Array
    above: Array
    at_lower: Array
    at_upper: Array
    size: float
    iteration: int = 0
    step: float = 1.0

    @property
    def mu(self) -> float:
        """Mean product of a room and its multiplier."""
        return _products(self.below, self.at_lower, self.above, self.at_upper)[0]


def _products(A: Array, z: Array, B: Array, x: Array) -> tuple[float, float]:
    """Mean and smallest product of a room and its multiplier."""
    total, count, least = 0.0, 0, np.inf
    for room, multiplier in ((A, z), (B, x)):
        bounded = np.isfinite(room)
        products = room[bounded] * multiplier[bounded]
        total, count = total + float(products.sum()), count + len(products)
        least = min(least, float(products.min(initial=np.inf)))
    return total / max(1, count), least


def iterates(problem: DualProblem, system: System, unit: float | Array) -> Iterator[Iterate]:
    """The points of the method, for as long as it makes progress; whoever asks for the next one decides when to stop.

    All bounds must leave room and one of them be 0, as in every problem of :mod:`maxmargin.problems.dual`; ``unit`` is
    the size that variables without a bound are expected to have."""
    here: Iterate | None = _first(problem, system, unit)
    waited = 0
    for _ in range(LIMIT):
        if here is None or waited > PATIENCE:
            return
        yield here
        waited = waited + 1 if here.step <= SHORT else 0
        here = _next(problem, system, here)


def _first(problem: DualProblem, system: System, unit: float | Array) -> Iterate:
    p = problem.linear
    a = _start(problem, unit)
    members = [problem.group == g for g in range(len(problem.totals))]
    offset = np.array([(p[mine].min() + p[mine].max()) / 2 for mine in members])
    slope = p - np.append(offset, 0.0)[problem.group]
    size = float(np.abs(slope).max(initial=0.0)) or float(np.abs(system.value(a)).max(initial=0.0)) or 1.0
    z = np.where(np.isfinite(problem.lower), np.maximum(slope, 0.0) + size, 0.0)
    x = np.where(np.isfinite(problem.upper), np.maximum(-slope, 0.0) + size, 0.0)
    A, B = a - problem.lower, problem.upper - a
    least = 0.1 * _products(A, z, B, x)[0]  # boxes of very different sizes would start far from the centre
    return Iterate(a, offset, A, B, np.maximum(z, least / A), np.maximum(x, least / B), size)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _next(problem: DualProblem, system: System, here: Iterate) -> Iterate | None:
    """The next point, or None where rounding leaves no direction to go."""
    A, B, z, x, mu = here.below, here.above, here.at_lower, here.at_upper, here.mu
    groups = len(problem.totals)
    base = np.append(here.offset, 0.0)[problem.group] - problem.linear - system.value(here.a)
    e = problem.totals - np.bincount(problem.group + 1, weights=here.a, minlength=groups + 1)[1:]
    try:
        system.factor(z / A + x / B)
        da, _, _ = system.solve(base, e)
        dz, dx = -z - z * da / A, -x + x * da / B
        step = min(1.0, _longest(A, da, z, dz, B, -da, x, dx))
        predicted, _ = _products(A + step * da, z + step * dz, B - step * da, x + step * dx)
        target = mu * min(1.0, max(0.0, predicted / mu)) ** 3
        # A corrected step that is blocked at once, or leads away, could do so for ever: Newton's own is taken instead.
        for to_A, to_B in ((target - da * dz, target + da * dx), (0.5 * mu, 0.5 * mu)):
            da, doffset, change = system.solve(base + to_A / A - to_B / B, e)
            dz, dx = (to_A - z * da) / A - z, (to_B + x * da) / B - x
            step = min(1.0, INSIDE * _longest(A, da, z, dz, B, -da, x, dx))
            for _ in range(BACK):
                reached, least = _products(A + step * da, z + step * dz, B - step * da, x + step * dx)
                if least >= CENTRED * reached:
                    break
                step *= 0.8
            if step >= 0.1 and reached < mu:
                break
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(step) and np.isfinite(da).all() and np.isfinite(doffset).all()):
        return None
    system.advance(step, change)
    # Each room is a number of its own: as the difference of a and its bound it would lose its digits.
    A, B = A + step * da, B - step * da
    return Iterate(
        a=np.where(A < B, problem.lower + A, problem.upper - B),
        offset=here.offset + step * doffset,
        below=A,
        above=B,
        at_lower=z + step * dz,
        at_upper=x + step * dx,
        size=here.size,
        iteration=here.iteration + 1,
        step=step,
    )


def _start(problem: DualProblem, unit: float | Array) -> Array:
    """Half of every box, or ``unit`` where there is none. In a group of both signs the side that is heavier is made as
    light as the other; one of a single sign is spread over its boxes."""
    sign = np.where(problem.upper > 0, 1.0, -1.0)
    box = np.where(sign > 0, problem.upper, -problem.lower)
    a = sign * np.where(np.isfinite(box), 0.5 * box, unit)
    for g, total in enumerate(problem.totals):
        up, down = (problem.group == g) & (sign > 0), (problem.group == g) & (sign < 0)
        if total != 0:
            members = up if total > 0 else down
            a[members] = float(total) / float(box[members].sum()) * box[members]
        else:
            high, low = float(a[up].sum()), -float(a[down].sum())
            a[up] *= min(1.0, low / high)
            a[down] *= min(1.0, high / low)
    return a


def _longest(A: Array, dA: Array, z: Array, dz: Array, B: Array, dB: Array, x: Array, dx: Array) -> float:
    """The longest step that keeps all values positive; NaN where a change is not a number."""
    blocked = 1e-300
    for value, change in ((A, dA), (z, dz), (B, dB), (x, dx)):
        ratio = np.divide(change, value, out=np.zeros_like(value), where=value > 0)
        blocked = max(blocked, -float(ratio.min(initial=0.0)))
    return 1.0 / blocked
