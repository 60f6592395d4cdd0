"""The intercept that is best for given decision values, exactly.

With w fixed and f_i = w'x_i, the loss is a convex function of b alone whose pieces meet where y_i (f_i + b) = 1, that
is at b = t_i = y_i - f_i. A row with y_i = +1 is inside its margin for b < t_i, one with y_i = -1 for b > t_i. So the
slope of the loss in b is

    hinge           - sum {c_i : y_i = +1, t_i > b}  + sum {c_i : y_i = -1, t_i < b}
    squared hinge   the same sums of 2 c_i |t_i - b|,

which grows with b: sort the t_i, and look for where it changes its sign. The hinge may be flat there; then the
middle of the flat part is taken. A row exactly at its margin may carry any multiplier between 0 and c_i, and at the
best b there are multipliers with sum y_i alpha_i = 0: the derivative of the loss with respect to b.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.runtime.validation import Array

STEPS = 60  # of Newton's method; five are usual


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _by_newton(f: Array, y: Array, c: Array) -> float:
    """The best b for the squared hinge, by Newton's method inside a bracket, on a slope that is piecewise linear and
    grows: exact once the rows inside their margins stay the same. NaN where that does not happen, or where no row is
    inside."""
    b, low, high = 0.0, -np.inf, np.inf
    for _ in range(STEPS):
        slope = curvature = 0.0
        for i in range(len(f)):
            slack = 1.0 - y[i] * (f[i] + b)
            if slack > 0.0:
                slope -= c[i] * y[i] * slack
                curvature += c[i]
        if not curvature > 0.0:
            return np.nan
        step = slope / curvature
        if abs(step) <= 1e-15 * (1.0 + abs(b)):
            return b - step
        if slope > 0.0:
            high = b
        else:
            low = b
        b -= step
        if not low < b < high:
            b = 0.5 * (low + high)
    return np.nan


def best_intercept(f: Array, y: Array, bound: Array, loss: str = "hinge") -> float:
    """The b that minimises sum c_i loss(y_i (f_i + b)).

    Parameters
    ----------
    f : array
        Decision values without the intercept.
    y : array
        Labels -1 and +1.
    bound : array
        Finite c_i >= 0.
    loss : {"hinge", "squared_hinge"}

    Returns
    -------
    float
        With one class only, the nearest b without loss; the middle of the best ones where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.intercept import best_intercept
    >>> best_intercept(np.array([-3.0, -2.0, 4.0]), np.array([-1.0, -1.0, 1.0]), np.ones(3))
    -1.0
    """
    if loss == "squared_hinge":
        b = _by_newton(f, y, bound)
        if np.isfinite(b):
            return float(b)
    used = bound > 0
    t, positive, c = (y - f)[used], y[used] > 0, bound[used]
    if len(t) == 0:
        return 0.0
    if positive.all():
        return float(t.max())
    if not positive.any():
        return float(t.min())
    order = np.argsort(t, kind="stable")
    t, positive, c = t[order], positive[order], c[order]
    if loss == "squared_hinge":
        return _root(t, positive, c)
    # Slope just right of t_k: minus the positive ones still ahead, plus the negative ones passed.
    up = np.cumsum(np.where(positive, 0.0, c))
    ahead = np.where(positive, c, 0.0)
    down = ahead.sum() - np.cumsum(ahead)
    slope = up - down
    flat = 1e-14 * (up[-1] + ahead.sum())
    first = int(np.argmax(slope >= -flat))  # the last slope is positive: all negative ones are passed
    if slope[first] > flat or first + 1 == len(t):
        return float(t[first])
    last = first + int(np.argmax(slope[first:] > flat))
    return float((t[first] + t[last]) / 2)


def _root(t: Array, positive: Array, c: Array) -> float:
    """Where sum c_i |t_i - b| over the negative rows passed equals that over the positive rows ahead."""
    centre = float(t[len(t) // 2])
    t = t - centre
    up, up_t = np.cumsum(np.where(positive, 0.0, c)), np.cumsum(np.where(positive, 0.0, c * t))
    ahead, ahead_t = np.where(positive, c, 0.0), np.where(positive, c * t, 0.0)
    down, down_t = ahead.sum() - np.cumsum(ahead), ahead_t.sum() - np.cumsum(ahead_t)
    slope = (up * t - up_t) - (down_t - down * t)  # at b = t_k
    flat = 1e-13 * c.sum() * (t[-1] - t[0])
    first = int(np.argmax(slope >= -flat))
    if slope[first] > flat and first > 0:  # linear from t_{first-1} to t_first: (up + down) b - (up_t + down_t)
        return centre + float((up_t[first - 1] + down_t[first - 1]) / (up[first - 1] + down[first - 1]))
    last = int(np.flatnonzero(slope <= flat)[-1])
    return centre + float((t[first] + t[last]) / 2)


def balanced(alpha: Array, room: Array, y: Array) -> Array:
    """Multipliers with sum y_i alpha_i = 0, by raising those that have ``room``: rows on their margin."""
    missing = -float(y @ alpha)
    side = np.where(y * missing > 0, room, 0.0)
    total = float(side.sum())
    return alpha if total <= 0 else alpha + side * min(1.0, abs(missing) / total)
