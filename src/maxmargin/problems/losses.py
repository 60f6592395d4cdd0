"""Losses of linear models: a loss is one class, and one line of ``LOSSES``.

Every loss here is piecewise linear or quadratic in the residual r = y - f of a row of weight c,

    loss(r) = u phi(r - epsilon) + l phi(-r - epsilon),      phi(z) = max(0, z) or max(0, z)^2,

and a class only defines its weights u (above the tube, y > f) and l (below), and which phi:

    hinge                          y = +1: u = c, l = 0;  y = -1: u = 0, l = c      (c max(0, 1 - y f))
    epsilon insensitive            u = l = c
    pinball (quantile q)           u = q c, l = (1 - q) c                           (Koenker & Bassett 1978)
    squared hinge, squared epsilon insensitive, squared     the same with phi(z) = max(0, z)^2

The coefficient of the row in w = sum_i beta_i x_i is beta = d loss / d r. The conjugate, in it, is

    loss*(beta) = epsilon |beta| + rho beta^2 / 2   for  -l <= beta <= u,   else infinite

with rho = 0; a squared loss has rho = 1 / 2c and, on a side that has weight, no bound. rho is one number per row: a
side of a squared loss has the weight c, or none. An infinite weight forbids residuals on its side: the hard margin.
"""

from __future__ import annotations

import abc
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array

FLAT_SLOPE = 1e-14  # of all weights: a slope in b that counts as zero
SORT_MAX_ENDS = 5000  # ends of tubes up to which all are sorted; beyond, a sample is faster
SAMPLED_ENDS = 1000
INTERCEPT_FIRST_STEP, INTERCEPT_STEP_GROWTH = 1e-3, 8.0  # of the search for the penalised intercept of other losses
NEWTON_MAX_STEPS = 100  # of the search for the intercept of a squared loss; usually five


class Survey(NamedTuple):
    """Sums over the rows at the values f + b and the multipliers beta; ``up``: positive multipliers, ``down``:
    negative."""

    # losses, support: the sum of the losses, and the number of support vectors
    losses: float
    support: float
    # linear_up, linear_down: sum (y_i - centre) beta_i - epsilon |beta_i|
    linear_up: float
    linear_down: float
    # square_up, square_down: sum rho_i beta_i^2 / 2
    square_up: float
    square_down: float
    # total_up, total_down: sum beta_i
    total_up: float
    total_down: float

    def dual(self, plus: float = 1.0, minus: float = 1.0) -> float:
        """The losses' part of the dual objective, with the two sides of the multipliers scaled."""
        linear = plus * self.linear_up + minus * self.linear_down
        return linear - plus**2 * self.square_up - minus**2 * self.square_down

    def total(self, plus: float = 1.0, minus: float = 1.0) -> float:
        """The sum of the multipliers, scaled alike."""
        return plus * self.total_up + minus * self.total_down


@dataclass(frozen=True)
class Loss(abc.ABC):
    """One loss; the module's docstring has the mathematics.

    Attributes
    ----------
    name : str
    squared : bool
        phi(z) = max(0, z)^2 instead of max(0, z).
    classifies : bool
        Whether the targets are labels -1 and +1.
    epsilon : float
        Half the width of the tube in which there is no loss.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.losses import Hinge
    >>> y, f, c = np.array([1.0, -1.0]), np.array([0.2, -3.0]), np.array([1.0, 1.0])
    >>> Hinge().value(y, f, c), Hinge().derivative(y, f, c)
    (array([0.8, 0. ]), array([1., 0.]))
    """

    name: ClassVar[str]
    squared: ClassVar[bool] = False
    classifies: ClassVar[bool] = False

    @property
    def epsilon(self) -> float:
        return 0.0

    @abc.abstractmethod
    def sides(self, y: Array, weight: Array) -> tuple[Array, Array]:
        """u and l of rows with these targets and weights."""

    def value(self, y: Array, f: Array, weight: Array) -> Array:
        """The loss of every row."""
        above, below = self.sides(y, weight)
        up, down = np.maximum(0.0, y - f - self.epsilon), np.maximum(0.0, f - y - self.epsilon)
        power = 2 if self.squared else 1
        with np.errstate(invalid="ignore"):
            sides = (np.where(out > 0, side * out**power, 0.0) for side, out in ((above, up), (below, down)))
            return np.where(weight > 0, sum(sides), 0.0)

    def derivative(self, y: Array, f: Array, weight: Array) -> Array:
        """beta of every row: minus the derivative with respect to f; at a kink the one nearest to zero."""
        above, below = self.sides(y, weight)
        up, down = np.maximum(0.0, y - f - self.epsilon), np.maximum(0.0, f - y - self.epsilon)
        if self.squared:
            return 2.0 * (above * up - below * down)
        return np.where(up > 0, above, 0.0) - np.where(down > 0, below, 0.0)

    def ridge(self, weight: Array) -> Array:
        """rho of the conjugate."""
        if not self.squared:
            return np.zeros(len(weight))
        soft = (weight > 0) & np.isfinite(weight)
        return np.where(soft, 0.5 / np.where(soft, weight, 1.0), 0.0)

    def box(self, y: Array, weight: Array) -> tuple[Array, Array]:
        """The smallest and the largest beta of every row."""
        above, below = self.sides(y, weight)
        if self.squared:
            above, below = np.where(above > 0, math.inf, 0.0), np.where(below > 0, math.inf, 0.0)
        return -below, above

    def best_intercept(self, r: Array, y: Array, weight: Array, total: float = 0.0) -> float:
        """The b that minimises  total b + sum_i loss_i(r_i - b), r being the targets minus the values without b.

        If several are best, the middle of them; if their interval is unbounded, its end."""
        return best_intercept(r, *self.sides(y, weight), self.epsilon, squared=self.squared, total=total)

    def best_penalised_intercept(self, r: Array, y: Array, weight: Array, penalty: float, start: float) -> float:
        """The b that minimises  penalty b^2 / 2 + sum_i loss_i(r_i - b), found from one near it."""
        sides = self.sides(y, weight)
        if self.squared:
            return _squared_intercept(r, *sides, self.epsilon, 0.0, penalty, start)
        return _penalised_intercept(r, *sides, self.epsilon, penalty, start)


@dataclass(frozen=True)
class Hinge(Loss):
    """c max(0, 1 - y f) of labels y = -1 or +1."""

    name: ClassVar[str] = "hinge"
    classifies: ClassVar[bool] = True

    def sides(self, y: Array, weight: Array) -> tuple[Array, Array]:
        return np.where(y > 0, weight, 0.0), np.where(y > 0, 0.0, weight)


@dataclass(frozen=True)
class SquaredHinge(Hinge):
    """c max(0, 1 - y f)^2."""

    name: ClassVar[str] = "squared_hinge"
    squared: ClassVar[bool] = True


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """c max(0, |y - f| - epsilon)."""

    name: ClassVar[str] = "epsilon_insensitive"
    epsilon: float = 0.0

    def sides(self, y: Array, weight: Array) -> tuple[Array, Array]:
        return weight, weight


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """c max(0, |y - f| - epsilon)^2."""

    name: ClassVar[str] = "squared_epsilon_insensitive"
    squared: ClassVar[bool] = True


@dataclass(frozen=True)
class Squared(SquaredEpsilonInsensitive):
    """c (y - f)^2: ridge regression."""

    name: ClassVar[str] = "squared"


@dataclass(frozen=True)
class Pinball(Loss):
    """c q (y - f) above, c (1 - q) (f - y) below: f estimates the quantile q of y. q = 1 has loss above only."""

    name: ClassVar[str] = "pinball"
    quantile: float = 0.5

    def sides(self, y: Array, weight: Array) -> tuple[Array, Array]:
        return self.quantile * weight, (1.0 - self.quantile) * weight


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Hinge, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive, Squared, Pinball)
}


def make_loss(name: str, **options: Any) -> Loss:
    """A loss by its name, with the options of its class.

    Examples
    --------
    >>> from maxmargin.problems.losses import make_loss
    >>> make_loss("pinball", quantile=0.9)
    Pinball(quantile=0.9)
    """
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got loss={name!r}.")
    return LOSSES[name](**options)


def best_intercept(
    r: Array, above: Array, below: Array, epsilon: float = 0.0, *, squared: bool = False, total: float = 0.0
) -> float:
    """The b that minimises  t b + sum_i u_i phi(r_i - b - eps) + l_i phi(b - r_i - eps).

    A row is above its tube for b < r_i - eps and below it for b > r_i + eps, so the slope in b,

        t - sum {u_i : r_i - eps > b} + sum {l_i : r_i + eps < b}      (squared: of 2 u_i times the distance),

    grows with b. The first is constant between the ends of the tubes: they are sorted to find the change of its sign;
    it may be zero on a whole interval, whose middle is taken. The second is piecewise linear; its root is found by
    Newton's method inside a bracket, exactly, once the rows on either side are known.
    """
    low, high = (r - epsilon)[above > 0], (r + epsilon)[below > 0]
    if len(low) + len(high) == 0:
        return 0.0
    if squared:
        # No row has a loss between the largest of ``low`` and the smallest of ``high``.
        bottom, top = float(low.max(initial=-np.inf)), float(high.min(initial=np.inf))
        if total == 0 and bottom <= top:
            if math.isfinite(bottom) and math.isfinite(top):
                return 0.5 * (bottom + top)
            return bottom if math.isfinite(bottom) else top
        start = float(np.average(r, weights=above + below))
        return _squared_intercept(r, above, below, epsilon, total, 0.0, start)
    ends, weight = np.concatenate((low, high)), np.concatenate((above[above > 0], below[below > 0]))
    # Every end that b passes raises the slope by its weight.
    goal, flat = float(above.sum()) - total, FLAT_SLOPE * float(weight.sum())
    if goal <= flat:  # flat from the first end down
        return float(ends.min())
    before = 0.0
    if len(ends) > SORT_MAX_ENDS:
        ends, weight, before = _ends_near(ends, weight, goal, flat)
    order = np.argsort(ends, kind="stable")
    ends, slope = ends[order], before + np.cumsum(weight[order]) - goal
    first = int(np.argmax(slope >= -flat)) if slope[-1] >= -flat else len(ends) - 1
    if slope[first] > flat or first + 1 == len(ends):
        return float(ends[first])
    later = slope[first:] > flat
    last = first + int(np.argmax(later)) if later.any() else first
    return float((ends[first] + ends[last]) / 2)


def _ends_near(ends: Array, weight: Array, goal: float, flat: float) -> tuple[Array, Array, float]:
    """The ends around those where the weights passed reach the goal, and the weights passed before them: sorting the
    ends takes longer than finding the place among a sample."""
    sample = np.sort(ends[:: len(ends) // SAMPLED_ENDS])

    def passed(b: float) -> float:
        return float(weight @ (ends <= b))

    first = bisect_left(sample, goal - 2 * flat, key=passed) - 1
    last = bisect_right(sample, goal + 2 * flat, key=passed)
    bottom = float(sample[first]) if first >= 0 else -np.inf
    inside = (ends > bottom) & (ends <= (sample[last] if last < len(sample) else np.inf))
    return ends[inside], weight[inside], passed(bottom)


def _penalised_intercept(r: Array, above: Array, below: Array, epsilon: float, penalty: float, start: float) -> float:
    """The slope of the objective, penalty b plus that of the losses, grows at least by ``penalty`` per unit of b: its
    change of sign is at most |slope| / penalty away. It is looked for near the start first, where it usually is: few
    ends of tubes lie in between then."""
    one, other = above > 0, below > 0
    ends, weight = np.concatenate((r[one] - epsilon, r[other] + epsilon)), np.concatenate((above[one], below[other]))
    goal = float(above.sum())

    def slope(b: float) -> float:
        return penalty * b + float(weight @ (ends <= b)) - goal

    at_start = slope(start)
    end, step = start - at_start / penalty, INTERCEPT_FIRST_STEP
    while step < abs(end - start):
        near = start + math.copysign(step, end - start)
        if (slope(near) >= 0.0) != (at_start >= 0.0):
            end = near
            break
        step *= INTERCEPT_STEP_GROWTH
    bottom, top = sorted((start, end))
    inside = np.flatnonzero((ends > bottom) & (ends <= top))
    inside = inside[np.argsort(ends[inside], kind="stable")]
    before = slope(bottom) - penalty * bottom
    passed = before + np.concatenate(([0.0], np.cumsum(weight[inside])))  # slope without the penalty's part
    later = np.append(ends[inside], top)
    k = int(np.argmax(penalty * later + passed >= 0.0))  # the slope where interval k ends is not negative any more
    low = bottom if k == 0 else float(later[k - 1])
    return float(np.clip(-passed[k] / penalty, low, later[k]))


def _squared_intercept(
    r: Array, above: Array, below: Array, epsilon: float, total: float, penalty: float, b: float
) -> float:
    losses = _native.RowLosses(r, above, below, epsilon, True)
    left, right = min(b, float(r.min() - epsilon)), max(b, float(r.max() + epsilon))
    if penalty > 0:
        left, right = min(left, 0.0), max(right, 0.0)
    for _ in range(NEWTON_MAX_STEPS):
        slope, curvature = losses.slope(r, None, b)
        slope, curvature = slope + total + penalty * b, curvature + penalty
        if curvature == 0.0:
            return b
        left, right = (left, b) if slope > 0 else (b, right)
        new = b - slope / curvature
        if new == b or slope == 0.0:
            return b
        new = new if left < new < right else 0.5 * (left + right)
        if abs(new - b) <= 1e-15 * max(abs(left), abs(right)):
            return new
        b = new
    return b
