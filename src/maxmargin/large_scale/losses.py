"""The losses of approximate estimators as one family: with the hinge of a slack s,

    h(s) = max(0, s)   or, squared,   max(0, s)^2,

a classifier has the loss h(1 - y f) at a decision value f, and a regression h(y - f - epsilon) + h(f - y - epsilon),
the tube; squared and with epsilon = 0 that is (y - f)^2. Newton's method wants two derivatives. The hinge has a kink,
h(s) = max a s over 0 <= a <= 1, and is rounded there by a parabola of a width d around a centre a0:

    h_d(s) = max a s - d/2 (a - a0)^2,    so that   h_d'(s) = a = clip(a0 + s/d, 0, 1)   and   h_d''(s) = 1/d or 0.

a is a feasible multiplier of the problem with the kink, which it misses by h(s) + h*(a) - a s >= 0 (Fenchel), not zero
only where 0 < a < 1. With a0 = 1/2 that is at most d/16, and the sum over the rows falls with d^2. If a0 is the
multiplier of an earlier iterate, it goes to zero without a narrow parabola: the method of multipliers. Of the two
hinges of a tube one has the centre max(0, a0), the other max(0, -a0).

With the multiplier a of a row of weight c, c L has the derivative g = -c y a (classifier) or -c a (tube), and there
the conjugate

    (c L)*(g) = -c a + q                      classifier
                -c a y + c epsilon |a| + q    tube,                q = c a^2 / 4 for squared losses, else 0.

Scaling g by t scales the first part by t and q by t^2. Sums over rows are formed in ``native/smoothed_losses``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array, check_choice

HINGES = ("hinge", "squared_hinge")
TUBES = ("epsilon_insensitive", "squared_epsilon_insensitive", "squares")
LOSS_SUMS = _native.LOSS_SUMS  # lines of the sums that ``Loss.first_order`` adds up


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
    def _parameters(self) -> tuple[bool, bool, float, float]:
        return self.tube, self.squared, float(self.epsilon), float(self.width)

    def rounded(self, width: float) -> Loss:
        """The same loss with another parabola."""
        return replace(self, width=width)

    # ---- rows of several outputs: F, targets y, weights c and centres of shape (rows, outputs), C-contiguous float64;
    # without centres they are all 1/2

    def first_order(self, F: Array, y: Array, c: Array, centre: Array | None, g: Array, sums: Array) -> int:
        """g = the derivatives of c L_d at F. ``sums`` grows by the sums over the rows, one line each: the true loss,
        the smooth one, of the rows with g > 0 and then of those with g < 0 sum g and the two parts of the conjugate,
        and last the weights and the second derivatives. Returns the number of rows with a first derivative."""
        return _native.loss_first_order(self._parameters, F, y, c, centre, g, sums)

    def second_order(self, F: Array, y: Array, c: Array, centre: Array | None, D: Array) -> None:
        """D = the second derivatives of c L_d at F."""
        _native.loss_second_order(self._parameters, F, y, c, centre, D)

    def multipliers(self, F: Array, y: Array, centre: Array | None, a: Array) -> None:
        """a at F."""
        _native.loss_multipliers(self._parameters, F, y, centre, a)

    def along_line(
        self,
        F: Array,
        G: Array,
        y: Array,
        c: Array,
        centre: Array | None,
        steps: Array,
        values: Array,
        slopes: Array,
    ) -> None:
        """values[q, k] += sum c L_d(F + t G) and slopes += its derivative with respect to t, for t = steps[q, k]."""
        _native.loss_along_line(self._parameters, F, G, y, c, centre, steps, values, slopes)

    def evaluate_rows(
        self,
        K: Array,
        B: Array | None,
        b: float,
        F: Array,
        y: Array,
        c: Array,
        centre: Array | None,
        g: Array,
        sums: Array,
        gradient: Array,
    ) -> int:
        """One output in one pass over the rows: F = K B + b, if B is given, then :meth:`first_order`; gradient[0] grows
        by K'g of the rows with g > 0, and the last one by that of the others. K is float32 or float64, and padding may
        lie between its rows (``native/stored_rows``)."""
        return _native.evaluate_rows(K, B, b, self._parameters, F, y, c, centre, g, sums, gradient)

    # ---- one output, row by row

    def value(self, f: Array, y: Array) -> Array:
        """The true loss."""
        s = np.maximum(0.0, np.abs(y - f) - self.epsilon if self.tube else 1.0 - y * f)
        return s**2 if self.squared else s

    def smooth_value(self, f: Array, y: Array) -> Array:
        """The rounded loss, with centres of 1/2 as all below."""
        if self.squared:
            return self.value(f, y)
        slacks = (y - f - self.epsilon, f - y - self.epsilon) if self.tube else (1.0 - y * f,)
        multipliers = [np.clip(0.5 + s / self.width, 0.0, 1.0) for s in slacks]
        parts = [a * s - 0.5 * self.width * (a - 0.5) ** 2 for a, s in zip(multipliers, slacks, strict=True)]
        return np.sum(parts, axis=0)

    def derivative(self, f: Array, y: Array) -> Array:
        """The derivative of the rounded loss with respect to f."""
        g = np.empty((len(f), 1))
        self.first_order(_column(f), _column(y), np.ones((len(f), 1)), None, g, np.zeros((LOSS_SUMS, 1)))
        return g[:, 0]

    def curvature(self, f: Array, y: Array) -> Array:
        """Its second derivative."""
        D = np.empty((len(f), 1))
        self.second_order(_column(f), _column(y), np.ones((len(f), 1)), None, D)
        return D[:, 0]

    def conjugate(self, g: Array, y: Array) -> Array:
        """L*(g) = sup_f g f - L(f) of the true loss; infinite where no line of slope g supports it."""
        a = -g if self.tube else -g * y
        value = self.epsilon * np.abs(a) - a * y if self.tube else -a
        value = value + 0.25 * a**2 if self.squared else value
        beyond = np.zeros(len(a), bool) if self.tube else a < 0
        return np.where(beyond | (False if self.squared else np.abs(a) > 1), np.inf, value)


def _column(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float64)[:, None]
