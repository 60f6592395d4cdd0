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

from maxmargin.problems.losses import Loss


@dataclass(frozen=True)
class SmoothedLoss:
    """A loss, smoothed at its kink."""

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
    def native(self) -> tuple[bool, bool, float, float]:
        """What compiled loops take: whether it is a tube, whether it is squared, epsilon and d."""
        return not self.loss.classifies, self.loss.squared, float(self.loss.epsilon), float(self.width)

    def with_width(self, width: float) -> SmoothedLoss:
        """The same loss with another parabola."""
        return replace(self, width=width)
