"""Linear models whose coefficients have bounds, as data.

    minimise  1/2 |w|^2 + 1/2 (b / s)^2 + sum_i loss_i(y_i - w'x_i - b)    subject to  low_j <= w_j <= high_j

The penalty is 1/2 |w|^2 inside the box and infinite outside. Its conjugate at v = sum_i beta_i x_i is a sum over
columns, each of which is largest at the number of its interval that is closest to v_j:

    max_w  v'w - 1/2 |w|^2  =  v'w(v) - 1/2 |w(v)|^2,        w(v)_j = min(max(v_j, low_j), high_j).

So the dual is that of :mod:`maxmargin.problems.primal` with this term in the place of 1/2 |v|^2. At the optimum
w = w(v), and v_j - w_j is the multiplier of the bound that w_j is at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class BoundedProblem(PrimalProblem):
    """One linear model with bounds; see the module's text for the mathematics.

    Besides the fields of :class:`~maxmargin.problems.primal.PrimalProblem`, with finite weights:

    low, high: (d,); bounds of the coefficients, low <= high; -inf and inf where there is none
    """

    form: ClassVar[str] = "bounded"

    low: Array = field(kw_only=True)
    high: Array = field(kw_only=True)

    def weights_of(self, v: Array) -> Array:
        return np.clip(v, self.low, self.high)

    def penalty(self, w: Array, b: float) -> float:
        """As in the base class; infinite outside of the bounds."""
        inside = bool((w >= self.low).all() and (w <= self.high).all())
        return super().penalty(w, b) if inside else math.inf

    def dual_penalty(self, v: Array, b: float) -> float:
        w = self.weights_of(v)
        return float(v @ w) - float(w @ w) + super().penalty(w, b)


def with_bounds(bounds: tuple[Array, Array] | None, *fields: Any) -> PrimalProblem:
    """One linear model, by the fields of :class:`~maxmargin.problems.primal.PrimalProblem`; ``bounds`` are those of the
    coefficients, where there are any."""
    return PrimalProblem(*fields) if bounds is None else BoundedProblem(*fields, low=bounds[0], high=bounds[1])
