"""Losses for Newton's method: the kink of a hinge or a tube smoothed by a parabola.

With the hinge of a slack s,

    h(s) = max(0, s)   or, squared,   max(0, s)^2,

a classifier has the loss h(1 - y f) at a decision value f, and a regression h(y - f - epsilon) + h(f - y - epsilon),
the tube; squared and with epsilon = 0 that is (y - f)^2 (:mod:`maxmargin.problems.losses`). Newton's method needs two
derivatives. The hinge, h(s) = max a s over 0 <= a <= 1, has a kink, which is smoothed by a parabola of width d around a
centre a0:

    h_d(s) = max a s - d/2 (a - a0)^2,    so that   h_d'(s) = a = clip(a0 + s/d, 0, 1)   and   h_d''(s) = 1/d or 0.

a is a feasible multiplier of the problem with the kink. Its part of the gap is h(s) + h*(a) - a s >= 0 (Fenchel), which
is zero unless 0 < a < 1. With a0 = 1/2 that is at most d/16, and the sum over the rows falls with d^2. If a0 is the
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

from maxmargin import _native
from maxmargin.problems.losses import Loss
from maxmargin.runtime.validation import Array

LOSS_SUMS = _native.LOSS_SUMS  # lines of the sums that ``SmoothedLoss.first_order`` adds up


@dataclass(frozen=True)
class SmoothedLoss:
    """A loss, smoothed at its kink.

    F, targets y, weights c and centres are C-contiguous float64 arrays of shape (rows, outputs); without centres they
    are all 1/2."""

    loss: Loss  # a hinge or a tube, squared or not
    width: float = 0.0  # d of the parabola; squared losses need none

    @property
    def squared(self) -> bool:
        """Whether it is a squared loss, which has no kink."""
        return self.loss.squared

    @property
    def quadratic(self) -> bool:
        """Whether its second derivative is constant."""
        return self.loss.squared and not self.loss.classifies and self.loss.epsilon == 0.0

    @property
    def _parameters(self) -> tuple[bool, bool, float, float]:
        return not self.loss.classifies, self.loss.squared, float(self.loss.epsilon), float(self.width)

    def rounded(self, width: float) -> SmoothedLoss:
        """The same loss with another parabola."""
        return replace(self, width=width)

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
