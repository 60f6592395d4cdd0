"""The linear classifier with few weights, as data, and its certificate.

    minimise  |w|_1 + |b / s| + sum_i c_i max(0, 1 - m_i)^2,     m_i = y_i (w'x_i + b)

The term in b is there for a penalised intercept (as LIBLINEAR has it: a constant column s beside the others) and absent
for a free one. |w|_1 has a corner wherever a weight is zero, and most weights stay in theirs. The dual is

    maximise    sum_i alpha_i - sum_i alpha_i^2 / 4 c_i
    subject to  alpha_i >= 0,   |p_j| <= 1 for every column j,   p = sum_i alpha_i y_i x_i,
                |s sum_i y_i alpha_i| <= 1 (penalised), or sum_i y_i alpha_i = 0 (free).

At the optimum alpha_i = 2 c_i max(0, 1 - m_i), p_j = sign(w_j) where w_j is not zero, and |p_j| <= 1 where it is: p_j
is how fast the losses fall as w_j grows, and the penalty charges one for it.

Near the optimum, the multipliers that w suggests are nearly feasible. The sums of both classes are made equal if the
intercept is free, and then all are scaled until the largest |p_j| is at most one: so every w has a duality gap. As in
:mod:`maxmargin.problems.primal`, a row's multiplier in the code is beta_i = y_i alpha_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.losses import Loss, SquaredHinge
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import PrimalCertificate
from maxmargin.runtime.validation import Array

INFEASIBILITY_MAX = 1e-9  # of multipliers that count as feasible
RESCALE_MAX_TIMES = 10  # three at most were needed, in sums of terms of 1e9


@dataclass(frozen=True)
class L1Problem(PrimalProblem):
    """One binary problem with the penalty |w|_1; see the module's text for the mathematics.

    Besides the fields of :class:`~maxmargin.problems.primal.PrimalProblem`, with the squared hinge for the loss:

    csc: a sparse X by columns, where it is known: problems on the same points share it
    """

    form: ClassVar[str] = "l1"

    loss: Loss = SquaredHinge()  # noqa: RUF009 (frozen, without fields)
    csc: Any = None

    @cached_property
    def by_columns(self) -> Any:
        """A sparse X in CSC form; None if X is dense."""
        return self.X.tocsc() if self.csc is None and sp.issparse(self.X) else self.csc

    def penalty(self, w: Array, b: float) -> float:
        """|w|_1, and |b / s| if the intercept is penalised."""
        return float(np.abs(w).sum()) + (abs(b / self.scaling) if self.intercept == "penalised" else 0.0)

    def dual_penalty(self, v: Array, b: float) -> float:
        """|w|_1 has no part in the dual's objective: it is a constraint there."""
        return 0.0

    def dual(self, beta: Array, v: Array | None = None) -> float:
        """The dual objective of feasible multipliers; ``v``, which is p, does not enter."""
        return float(self.y @ beta) - 0.5 * float(self.ridge @ beta**2)

    def suggested(self, f: Array, b: float) -> Array:
        """The derivatives of the losses at the values f + b, with equal sides if the intercept is free."""
        beta = np.empty(self.n_rows)
        self.rows.derivative(f, b, beta, None)
        return self.balanced(beta)

    def balanced(self, beta: Array) -> Array:
        """The multipliers of the heavier side shrunk to the sum of the lighter, if the intercept is free."""
        scales = self.balance(float(beta[beta > 0].sum()), float(beta[beta < 0].sum()))
        return beta if scales == (1.0, 1.0) else beta * np.where(beta > 0, *scales)

    def balance(self, up: float, down: float) -> tuple[float, float]:
        """As in the base class; one side alone has nothing to be balanced by and becomes zero."""
        if self.free and (up == 0) != (down == 0):
            return 0.0, 0.0
        return super().balance(up, down)

    def scale(self, beta: Array, p: Array) -> float:
        """The t for which t beta is feasible and its dual objective, a parabola in t, is largest."""
        steepest = self._steepest(beta, p)
        curvature = float(self.ridge @ beta**2)
        best = float(self.y @ beta) / curvature if curvature > 0 else 1.0
        return min(best, 1.0 / steepest) if steepest > 0 else best

    def _steepest(self, beta: Array, p: Array) -> float:
        """The largest side of a constraint that is to be at most one."""
        steepest = float(np.abs(p).max(initial=0.0))
        return max(steepest, abs(self.scaling * float(beta.sum()))) if self.intercept == "penalised" else steepest

    def feasible(self, beta: Array) -> Array:
        """Feasible multipliers near beta: inside their boxes, balanced, then scaled."""
        beta = self.balanced(np.clip(beta, self.lower, self.upper))
        beta = self.scale(beta, self.row_combination(beta)) * beta
        for _ in range(RESCALE_MAX_TIMES):  # sums of large terms are rounded anew with every scale
            steepest = self._steepest(beta, self.row_combination(beta))
            if steepest <= 1.0 + INFEASIBILITY_MAX:
                break
            beta = beta / steepest
        return beta


def certify_l1(problem: L1Problem, w: Array, b: float, beta: Array | None = None) -> PrimalCertificate:
    """The certificate of (w, b), with the better of the multipliers given and those that w suggests.

    The conditions of a weight are |w_j - soft(w_j + u p_j, u)| = 0 for any u > 0, soft(z, u) = sign(z) max(0, |z| - u).
    ``violation`` has them as a share of u, the objective, which no weight can exceed; those of the rows are as in
    :mod:`maxmargin.problems.primal_certificate`.
    """
    w = np.asarray(w, np.float64)
    f = problem.design.times(w)
    primal = problem.primal(w, b, f)
    chosen = problem.feasible(problem.suggested(f, b))
    if beta is not None:
        given = problem.feasible(np.asarray(beta, np.float64))
        chosen = max(chosen, given, key=problem.dual)
    p, total = problem.row_combination(chosen), float(chosen.sum())
    unit, weights, slopes = primal or 1.0, w, p
    if problem.intercept == "penalised":
        weights, slopes = np.append(w, b / problem.scaling), np.append(p, problem.scaling * total)
    z = weights + unit * slopes
    off = np.abs(weights - np.sign(z) * np.maximum(0.0, np.abs(z) - unit)) / unit
    in_b = abs(total) if problem.free else 0.0
    r, target = problem.y - f - b, np.empty(problem.n_rows)
    problem.rows.after_step(r, chosen, 1.0, target)
    size = np.where(problem.weight > 0, 2.0 * problem.weight, 1.0)
    in_w, alpha = float(off.max(initial=0.0)), problem.y * chosen
    g = problem.ridge * alpha - problem.y * r
    moved = float((np.abs(target - chosen) / size).max(initial=0.0))
    dual = problem.dual(chosen)
    return PrimalCertificate(
        primal=primal,
        dual=dual,
        violation=max(moved, in_w, in_b / (float(np.abs(chosen).sum()) or 1.0)),
        stationarity=max(in_w, in_b),
        dual_infeasibility=max(0.0, float(np.max(-alpha, initial=0.0)), float(np.abs(slopes).max(initial=0.0)) - 1.0),
        primal_infeasibility=0.0,
        complementarity=float(max(np.max(np.maximum(g, 0) * alpha), np.max(np.abs(weights) - weights * slopes))),
        norm=float(np.linalg.norm(w)),
        beta=chosen,
        support=target != 0.0,
        certified_gap=problem.relative_gap(primal, dual),
    )
