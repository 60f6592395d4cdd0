"""The intercept that is best for given values of a linear regression, exactly.

With w fixed and r_i = y_i - w'x_i, a row is above its tube for b < r_i - eps and below it for b > r_i + eps. The
objective is convex in b; with prices u_i and l_i its slope is

    epsilon insensitive    t - sum {u_i : r_i - eps > b} + sum {l_i : r_i + eps < b}
    squared                t - sum 2 u_i max(0, r_i - eps - b) + sum 2 l_i max(0, b - r_i - eps),

which grows with b. The first is constant between the 2n ends of the tubes: sort them and look for where it changes its
sign. It may be zero on a whole interval, whose middle is taken. The second is piecewise linear; its root is found by
Newton's method inside a bracket, exactly, once the pieces at both sides are known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numba
import numpy as np

from maxmargin.runtime.validation import Array

FLAT = 1e-14  # of all prices: a slope that is zero
MANY = 5000  # ends from which on they are not all sorted
SAMPLE = 1000
SEARCH = 100  # looks at the slope of the squared loss


def best_tube_intercept(
    r: Array, eps: float, above: Array, below: Array, squared: bool = False, total: float = 0.0
) -> float:
    """The b that minimises t b + sum u_i loss(r_i - b - eps) + l_i loss(b - r_i - eps).

    Parameters
    ----------
    r : array
        Targets minus values without the intercept.
    eps : float
    above, below : array
        The prices u_i and l_i.
    squared : bool
    total : float
        t.

    Returns
    -------
    float
        The middle of the best ones where there are several, the nearest of them where they have no end.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.regression_intercept import best_tube_intercept
    >>> best_tube_intercept(np.array([1.0, 2.0, 30.0]), 0.0, np.ones(3), np.ones(3))
    2.0
    """
    if squared:
        return _root(r, eps, above, below, total)
    ends = np.concatenate(((r - eps)[above > 0], (r + eps)[below > 0]))
    price = np.concatenate((above[above > 0], below[below > 0]))
    # Every end that b passes raises the slope by its price.
    goal, flat = float(above.sum()) - total, FLAT * float(price.sum())
    if goal <= flat:  # flat from the first end down
        return float(ends.min())
    before = 0.0
    if len(ends) > MANY:
        ends, price, before = _near(ends, price, goal, flat)
    order = np.argsort(ends, kind="stable")
    ends, slope = ends[order], before + np.cumsum(price[order]) - goal
    first = int(np.argmax(slope >= -flat)) if slope[-1] >= -flat else len(ends) - 1
    if slope[first] > flat or first + 1 == len(ends):
        return float(ends[first])
    later = slope[first:] > flat
    last = first + int(np.argmax(later)) if later.any() else first
    return float((ends[first] + ends[last]) / 2)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _passed(ends: Array, price: Array, b: float) -> float:
    """The prices of the ends up to b; a sum that may be formed in any order, and so by vector instructions."""
    total = 0.0
    for i in range(len(ends)):
        total += price[i] if ends[i] <= b else 0.0
    return total


def _near(ends: Array, price: Array, goal: float, flat: float) -> tuple[Array, Array, float]:
    """The ends around those where the prices passed reach the goal, and the prices passed before them: sorting the ends
    takes longer than finding the place among a sample."""
    sample = np.sort(ends[:: len(ends) // SAMPLE])

    def passed(b: float) -> float:
        return float(_passed(ends, price, b))

    first = bisect_left(sample, goal - 2 * flat, key=passed) - 1
    last = bisect_right(sample, goal + 2 * flat, key=passed)
    bottom = float(sample[first]) if first >= 0 else -np.inf
    inside = (ends > bottom) & (ends <= (sample[last] if last < len(sample) else np.inf))
    return ends[inside], price[inside], passed(bottom)


@numba.njit(cache=True, nogil=True)
def _squared_slope(r: Array, eps: float, above: Array, below: Array, b: float) -> tuple[float, float]:
    """Half the slope of the losses at b, and half its derivative."""
    slope, curvature = 0.0, 0.0
    for i in range(len(r)):
        out = r[i] - b
        if out > eps:
            slope -= above[i] * (out - eps)
            curvature += above[i]
        elif out < -eps:
            slope -= below[i] * (out + eps)
            curvature += below[i]
    return slope, curvature


def _root(r: Array, eps: float, above: Array, below: Array, total: float) -> float:
    low, high = float(r.min() - eps), float(r.max() + eps)
    b = float(np.average(r, weights=above + below))
    for _ in range(SEARCH):
        slope, curvature = _squared_slope(r, eps, above, below, b)
        slope += 0.5 * total
        if curvature == 0.0:  # all rows are inside: the middle of where they are
            return float((r.max() - eps + r.min() + eps) / 2)
        low, high = (low, b) if slope > 0 else (b, high)
        new = b - slope / curvature
        if new == b or slope == 0.0:
            return b
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - b) <= 1e-15 * max(abs(low), abs(high)):
            return new
        b = new
    return b
