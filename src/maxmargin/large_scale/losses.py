"""The losses of approximate machines as one family: with the hinge of a slack s,

    h(s) = max(0, s)   or, squared,   max(0, s)^2,

a classifier pays h(1 - y f) for a decision value f, and a regression pays h(y - f - epsilon) + h(f - y - epsilon), the
tube; squared and with epsilon = 0 that is (y - f)^2. Newton's method wants two derivatives. The hinge has a kink,
h(s) = max a s over 0 <= a <= 1, and is rounded there by a parabola of a width d around a centre a0:

    h_d(s) = max a s - d/2 (a - a0)^2,    so that   h_d'(s) = a = clip(a0 + s/d, 0, 1)   and   h_d''(s) = 1/d or 0.

a is a feasible multiplier of the problem with the kink, which it misses by h(s) + h*(a) - a s >= 0 (Fenchel), not zero
only where 0 < a < 1. With a0 = 1/2 that is at most d/16, and the sum over the rows falls with d^2. If a0 is the
multiplier of an earlier round, it goes to zero without a narrow parabola: the method of multipliers. Of the two hinges
of a tube one has the centre max(0, a0), the other max(0, -a0).

With the multiplier a of a row that costs c times its loss, c L has the derivative g = -c y a (classifier) or -c a
(tube), and there the conjugate

    (c L)*(g) = -c a + q                      classifier
                -c a y + c epsilon |a| + q    tube,                q = c a^2 / 4 for squared losses, else 0.

Scaling g by t scales the first part by t and q by t^2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numba
import numpy as np

from maxmargin.runtime.validation import Array, check_choice

HINGES = ("hinge", "squared_hinge")
TUBES = ("epsilon_insensitive", "squared_epsilon_insensitive", "squares")


NO_CENTRE = np.empty((0, 0))  # stands for 1/2 everywhere


@numba.njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _hinge(s: float, squared: bool, width: float, centre: float) -> tuple[float, float, float]:
    """h_d(s) and its two derivatives."""
    if squared:
        return (s * s, 2.0 * s, 2.0) if s > 0.0 else (0.0, 0.0, 0.0)
    if s >= (1.0 - centre) * width:
        return s - 0.5 * width * (1.0 - centre) ** 2, 1.0, 0.0
    if s <= -centre * width:
        return -0.5 * width * centre * centre, 0.0, 0.0
    return centre * s + 0.5 * s * s / width, centre + s / width, 1.0 / width


@numba.njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _both(
    f: float, y: float, tube: bool, squared: bool, epsilon: float, width: float, up: float, down: float
) -> tuple[float, float, float]:
    """The smooth loss with the centres of its two hinges, its multiplier a, and its second derivative by f."""
    if not tube:
        return _hinge(1.0 - y * f, squared, width, up)
    if squared and epsilon == 0.0:  # both sides are one parabola, at its bottom too
        return (y - f) * (y - f), 2.0 * (y - f), 2.0
    above, a, upward = _hinge(y - f - epsilon, squared, width, up)
    below, z, downward = _hinge(f - y - epsilon, squared, width, down)
    return above + below, a - z, upward + downward


@numba.njit(cache=True, nogil=True, inline="always")
def _centres(centre: Array, i: int, k: int) -> tuple[float, float]:
    if centre.shape[0] == 0:
        return 0.5, 0.5
    return max(0.0, centre[i, k]), max(0.0, -centre[i, k])


@numba.njit(cache=True, nogil=True, inline="always", error_model="numpy")
def _kinked(f: float, y: float, tube: bool, squared: bool, epsilon: float) -> float:
    """The true loss."""
    s = max(0.0, abs(y - f) - epsilon) if tube else max(0.0, 1.0 - y * f)
    return s * s if squared else s


@numba.njit(cache=True, nogil=True, error_model="numpy")
def first_order(
    F: Array,
    y: Array,
    c: Array,
    centre: Array,
    tube: bool,
    squared: bool,
    epsilon: float,
    width: float,
    g: Array,
    sums: Array,
) -> int:
    """g = the derivatives of c L_d at F; ``sums`` grows by the sums over the rows, one line each: the true loss, the
    smooth one, of the rows with g > 0 and then of those with g < 0 sum g and the two parts of the conjugate, and last
    the prices and the second derivatives. The number of rows with a first derivative is returned."""
    support = 0
    for i in range(F.shape[0]):
        used = False
        for k in range(F.shape[1]):
            up, down = _centres(centre, i, k)
            smooth, a, bend = _both(F[i, k], y[i, k], tube, squared, epsilon, width, up, down)
            sums[0, k] += c[i, k] * _kinked(F[i, k], y[i, k], tube, squared, epsilon)
            sums[1, k] += c[i, k] * smooth
            sums[8, k] += c[i, k]
            sums[9, k] += c[i, k] * bend
            weighted = c[i, k] * a
            g[i, k] = -weighted if tube else -weighted * y[i, k]
            if g[i, k] != 0.0:
                used = True
                side = 2 if g[i, k] > 0.0 else 5
                sums[side, k] += g[i, k]
                sums[side + 1, k] += epsilon * abs(weighted) - weighted * y[i, k] if tube else -weighted
                if squared:
                    sums[side + 2, k] += 0.25 * weighted * a
        support += used
    return support


@numba.njit(cache=True, nogil=True, error_model="numpy")
def second_order(
    F: Array, y: Array, c: Array, centre: Array, tube: bool, squared: bool, epsilon: float, width: float, D: Array
) -> None:
    """D = the second derivatives of c L_d at F."""
    for i in range(F.shape[0]):
        for k in range(F.shape[1]):
            up, down = _centres(centre, i, k)
            D[i, k] = c[i, k] * _both(F[i, k], y[i, k], tube, squared, epsilon, width, up, down)[2]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def multipliers(
    F: Array, y: Array, centre: Array, tube: bool, squared: bool, epsilon: float, width: float, out: Array
) -> None:
    """out = a at F."""
    for i in range(F.shape[0]):
        for k in range(F.shape[1]):
            up, down = _centres(centre, i, k)
            out[i, k] = _both(F[i, k], y[i, k], tube, squared, epsilon, width, up, down)[1]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def along_line(
    F: Array,
    G: Array,
    y: Array,
    c: Array,
    centre: Array,
    tube: bool,
    squared: bool,
    epsilon: float,
    width: float,
    steps: Array,
    values: Array,
    slopes: Array,
) -> None:
    """values[q, k] += sum c L_d(F + t G) and slopes += its derivative with respect to t, for t = steps[q, k]."""
    for i in range(F.shape[0]):
        for k in range(F.shape[1]):
            up, down = _centres(centre, i, k)
            for q in range(steps.shape[0]):
                f = F[i, k] + steps[q, k] * G[i, k]
                value, a, _ = _both(f, y[i, k], tube, squared, epsilon, width, up, down)
                values[q, k] += c[i, k] * value
                slopes[q, k] -= c[i, k] * a * G[i, k] * (1.0 if tube else y[i, k])


@dataclass(frozen=True)
class Loss:
    """A loss of the family, rounded at its kink.

    Attributes
    ----------
    tube : bool
        Whether the slack is that of a tube around y, rather than 1 - y f.
    squared : bool
    epsilon : float
        Half the width of the tube.
    width : float
        d of the parabola; squared losses need none.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale.losses import Loss
    >>> hinge = Loss(width=0.5)
    >>> f, y = np.array([-1.0, 1.0, 2.0]), np.ones(3)
    >>> hinge.value(f, y), hinge.derivative(f, y), hinge.curvature(f, y)
    (array([2., 0., 0.]), array([-1. , -0.5, -0. ]), array([0., 2., 0.]))
    """

    tube: bool = False
    squared: bool = False
    epsilon: float = 0.0
    width: float = 0.0

    @classmethod
    def named(cls, name: str, epsilon: float = 0.0) -> Loss:
        """The loss that an estimator calls by this name."""
        check_choice("loss", name, (*HINGES, *TUBES))
        return cls(name in TUBES, name.startswith("squared") or name == "squares", epsilon if name in TUBES else 0.0)

    @property
    def smooth(self) -> bool:
        """Whether it has no kink."""
        return self.squared

    @property
    def quadratic(self) -> bool:
        """Whether its second derivative is the same everywhere."""
        return self.tube and self.squared and self.epsilon == 0.0

    @property
    def numbers(self) -> tuple[bool, bool, float, float]:
        """What the compiled loops take."""
        return self.tube, self.squared, self.epsilon, self.width

    def rounded(self, width: float) -> Loss:
        """The same loss with another parabola."""
        return replace(self, width=width)

    def value(self, f: Array, y: Array) -> Array:
        """The true loss."""
        s = np.maximum(0.0, np.abs(y - f) - self.epsilon if self.tube else 1.0 - y * f)
        return s**2 if self.squared else s

    def smooth_value(self, f: Array, y: Array) -> Array:
        """The rounded loss, with centres of 1/2 as all below."""
        return np.array([_both(*pair, *self.numbers, 0.5, 0.5)[0] for pair in zip(f, y, strict=True)])

    def derivative(self, f: Array, y: Array) -> Array:
        """The derivative of the rounded loss with respect to f."""
        g = np.empty((len(f), 1))
        first_order(f[:, None], y[:, None], np.ones((len(f), 1)), NO_CENTRE, *self.numbers, g, np.zeros((10, 1)))
        return g[:, 0]

    def curvature(self, f: Array, y: Array) -> Array:
        """Its second derivative."""
        D = np.empty((len(f), 1))
        second_order(f[:, None], y[:, None], np.ones((len(f), 1)), NO_CENTRE, *self.numbers, D)
        return D[:, 0]

    def conjugate(self, g: Array, y: Array) -> Array:
        """L*(g) = sup_f g f - L(f) of the true loss; infinite where no line of slope g supports it."""
        a = -g if self.tube else -g * y
        value = self.epsilon * np.abs(a) - a * y if self.tube else -a
        value = value + 0.25 * a**2 if self.squared else value
        beyond = np.zeros(len(a), bool) if self.tube else a < 0
        return np.where(beyond | (False if self.squared else np.abs(a) > 1), np.inf, value)
