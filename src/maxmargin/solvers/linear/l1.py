"""The linear machine with few weights, as data, and its certificate.

    minimise  |w|_1 + |b / s| + sum_i c_i max(0, 1 - m_i)^2,     m_i = y_i (w'x_i + b)

The term in b is there for a penalised intercept (as LIBLINEAR has it: a constant column s beside the others) and absent
for a free one. |w|_1 has a corner wherever a weight is zero, and most weights stay in theirs. The dual is

    maximise    sum_i alpha_i - sum_i alpha_i^2 / 4 c_i
    subject to  alpha_i >= 0,   |p_j| <= 1 for every column j,   p = sum_i alpha_i y_i x_i,
                |s sum_i y_i alpha_i| <= 1 (penalised), or sum_i y_i alpha_i = 0 (free).

At the optimum alpha_i = 2 c_i max(0, 1 - m_i), p_j = sign(w_j) where w_j is not zero, and |p_j| <= 1 where it is: p_j
is how fast the losses fall as w_j grows, and the penalty charges one for it.

Near the optimum, the multipliers that w suggests are nearly feasible. The sums of both classes are made equal if the
intercept is free, and then all are scaled until the largest |p_j| is at most one: so every w has a duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import steps_of, support_of
from maxmargin.solvers.linear.certificate import LinearCertificate
from maxmargin.solvers.linear.problem import LinearProblem


@dataclass(frozen=True)
class L1Problem(LinearProblem):
    """One binary machine with the penalty |w|_1; see the module's text for the mathematics.

    Besides the fields of :class:`~maxmargin.solvers.linear.problem.LinearProblem`, with the squared hinge for the loss:

    Attributes
    ----------
    csc : CSC matrix, optional
        A sparse X by columns, where it is known: machines on the same points share it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.l1 import L1Problem
    >>> problem = L1Problem(np.array([[-2.0, 0.1], [2.0, 0.3]]), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> float(problem.primal(np.array([0.5, 0.0]), 0.0))
    0.5
    >>> round(problem.dual(problem.feasible(np.array([3.0, 9.0]))), 3)
    0.497
    """

    loss: str = "squared_hinge"
    csc: Any = None

    @cached_property
    def by_columns(self) -> Any:
        """A sparse X in CSC form; None if X is dense."""
        return self.X.tocsc() if self.csc is None and sp.issparse(self.X) else self.csc

    def penalty(self, w: Array, b: float) -> float:
        """|w|_1, and |b / s| if the intercept is penalised."""
        return float(np.abs(w).sum()) + (abs(b / self.scaling) if self.intercept == "penalised" else 0.0)

    def dual(self, alpha: Array, w: Array | None = None) -> float:
        """The dual objective of feasible multipliers; ``w``, which is p, does not enter."""
        return float(alpha.sum()) - 0.5 * float(self.ridge @ alpha**2)

    def suggested(self, margins: Array) -> Array:
        """2 c_i max(0, 1 - m_i), with equal sides if the intercept is free."""
        return self.balanced(2.0 * self.bound * np.maximum(0.0, 1.0 - margins))

    def balanced(self, alpha: Array) -> Array:
        """The multipliers of the heavier side shrunk to the sum of the lighter, if the intercept is free."""
        if self.intercept != "free":
            return alpha
        up, down = (float(alpha[side].sum()) for side in (self.y > 0, self.y < 0))
        less = min(up, down)
        return alpha * np.where(self.y > 0, less / (up or 1.0), less / (down or 1.0))

    def scale(self, alpha: Array, p: Array) -> float:
        """The t for which t alpha is feasible and its dual objective, a parabola in t, is largest."""
        steepest = float(np.abs(p).max(initial=0.0))
        if self.intercept == "penalised":
            steepest = max(steepest, abs(self.scaling * float(self.y @ alpha)))
        curvature = float(self.ridge @ alpha**2)
        best = float(alpha.sum()) / curvature if curvature > 0 else 1.0
        return min(best, 1.0 / steepest) if steepest > 0 else best

    def feasible(self, alpha: Array) -> Array:
        """Feasible multipliers near alpha: balanced, then scaled."""
        alpha = self.balanced(np.where(self.bound > 0, np.maximum(alpha, 0.0), 0.0))
        return self.scale(alpha, self.w_of(alpha)) * alpha


def certify_l1(problem: L1Problem, w: Array, b: float, alpha: Array | None = None) -> LinearCertificate:
    """The certificate of (w, b), with the better of the multipliers given and those that w suggests.

    The conditions of a weight are |w_j - soft(w_j + u p_j, u)| = 0 for any u > 0, soft(z, u) = sign(z) max(0, |z| - u).
    ``violation`` has them as a share of u, the objective, which no weight can exceed; those of the rows are as in
    :mod:`maxmargin.solvers.linear.certificate`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.l1 import L1Problem, certify_l1
    >>> problem = L1Problem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
    >>> certificate = certify_l1(problem, np.array([0.75]), 0.0)
    >>> certificate.primal, certificate.gap, certificate.violation
    (0.875, 0.0, 0.0)
    """
    w = np.asarray(w, np.float64)
    margins = problem.margins(w, b)
    primal = problem.primal(w, b, margins)
    chosen = problem.feasible(problem.suggested(margins))
    if alpha is not None:
        given = problem.feasible(np.asarray(alpha, np.float64))
        chosen = max(chosen, given, key=problem.dual)
    p, total = problem.w_of(chosen), float(problem.y @ chosen)
    unit, weights, slopes = primal or 1.0, w, p
    if problem.intercept == "penalised":
        weights, slopes = np.append(w, b / problem.scaling), np.append(p, problem.scaling * total)
    z = weights + unit * slopes
    off = np.abs(weights - np.sign(z) * np.maximum(0.0, np.abs(z) - unit)) / unit
    in_b = abs(total) if problem.intercept == "free" else 0.0
    g = margins - 1.0 + problem.ridge * chosen
    t = np.where(problem.upper > 0, steps_of(problem, chosen), 1.0)
    moved = np.abs(np.clip(chosen - t * g, 0.0, problem.upper) - chosen) / t
    in_w = float(off.max(initial=0.0))
    return LinearCertificate(
        primal=primal,
        dual=problem.dual(chosen),
        violation=max(float(moved.max(initial=0.0)), in_w, in_b / (float(chosen.sum()) or 1.0)),
        stationarity=max(in_w, in_b),
        dual_infeasibility=max(0.0, float(np.max(-chosen, initial=0.0)), float(np.abs(slopes).max(initial=0.0)) - 1.0),
        primal_infeasibility=0.0,
        complementarity=float(max(np.max(np.maximum(g, 0) * chosen), np.max(np.abs(weights) - weights * slopes))),
        norm=float(np.linalg.norm(w)),
        alpha=chosen,
        support=support_of(problem, margins, chosen),
    )
