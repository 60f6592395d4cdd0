"""Is it optimal? The certificate of a linear regression, from the definitions in
:mod:`maxmargin.solvers.linear.regression`.

Nothing here knows how (w, b) was found. With residuals r_i = y_i - w'x_i - b and feasible multipliers beta, the
conditions of optimality are

    w = sum_i beta_i x_i                                          stationarity in w
    sum_i beta_i = t (free) or b / s^2 (penalised)                stationarity in b
    beta_i = step_i(beta_i)                                       residual and multiplier belong together,

where step_i takes beta_i to the minimum of the dual's terms in it, with their slope -r_i held fixed and a curvature of
1 / t_i: clip(soft(beta_i + t_i r_i, t_i eps), -l_i, u_i). Inside the tube that is zero, above it u_i, below it -l_i.

``violation`` is the largest residual of all, each as a share: |w - sum beta_i x_i| of sqrt(2 objective), which |w|
cannot exceed; that of b of the sum of |beta_i|; and |step_i(beta_i) - beta_i| of t_i, the size of the row's box (2 u_i
for the squared loss), and of the targets' mean distance from their mean. The last is how far a residual is from
where it should be, or the share of its box that the multiplier would have to move, whichever is less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_run import after_step


@dataclass(frozen=True)
class RegressionCertificate(Certificate):
    """What can be said of (w, b) without trusting its solver.

    Besides the fields of :class:`~maxmargin.problems.optimality.Certificate`:

    Attributes
    ----------
    beta : array
        The feasible multipliers that ``dual`` is the objective of.
    support : array of bool
        The support vectors.
    judged : float
        The duality gap as a part of the larger objective, or of what that cannot be told from zero by.
    """

    beta: Array
    support: Array
    judged: float

    @property
    def relative_gap(self) -> float:
        return self.judged


def certify_regression(
    problem: RegressionProblem, w: Array, b: float, beta: Array | None = None
) -> RegressionCertificate:
    """The certificate of (w, b), with the multipliers given, made feasible, or without any with those to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.regression import RegressionProblem
    >>> from maxmargin.solvers.linear.regression_certificate import certify_regression
    >>> c = np.full(2, 10.0)
    >>> problem = RegressionProblem(np.array([[-1.0], [1.0]]), np.array([-3.0, 3.0]), c, c)
    >>> certify_regression(problem, np.array([3.0]), 0.0, np.array([-1.5, 1.5])).gap
    0.0
    """
    w = np.asarray(w, np.float64)
    f = problem.design.times(w)
    r = problem.y - f - b
    beta = problem.first() if beta is None else problem.feasible(np.asarray(beta, np.float64))
    w_beta = problem.w_of(beta)
    primal, dual = problem.primal(w, b, f), problem.dual(beta, w_beta)
    target, _ = after_step(problem, r, beta)
    box = (2.0 if problem.squared else 1.0) * np.maximum(problem.above, problem.below)
    moved = np.abs(target - beta) / box
    spread = float(np.abs(problem.y - problem.y.mean()).mean()) or float(np.abs(f).mean()) or 1.0
    total = float(beta.sum())
    in_b = {"free": abs(total - problem.total), "none": 0.0}.get(
        problem.intercept, abs(b / problem.scaling - problem.scaling * total)
    )
    in_w, size = float(np.linalg.norm(w - w_beta)), math.sqrt(2.0 * max(abs(primal), abs(dual)))
    shares = (in_w / size if size > 0 else 0.0, in_b / (float(np.abs(beta).sum()) or 1.0))
    outside = np.maximum(beta - problem.upper, problem.lower - beta)
    return RegressionCertificate(
        primal=primal,
        dual=dual,
        violation=max(float(moved.max()) / spread, *shares),
        stationarity=max(in_w, in_b),
        dual_infeasibility=max(0.0, float(outside.max())),
        primal_infeasibility=0.0,
        complementarity=_complementarity(problem, r, beta),
        norm=float(np.linalg.norm(w)),
        beta=beta,
        support=target != 0.0,
        judged=problem.relative(primal, dual),
    )


def _complementarity(problem: RegressionProblem, r: Array, beta: Array) -> float:
    """The largest product of a multiplier and the room of its constraint: |beta_i| times how far the residual is short
    of its side of the tube, and what is left of the box times how far the residual is outside."""
    eps = problem.epsilon
    short = np.where(beta > 0, eps - r, np.where(beta < 0, eps + r, 0.0)) + problem.ridge * np.abs(beta)
    products = np.abs(beta) * np.abs(short) if problem.squared else np.abs(beta) * np.maximum(short, 0.0)
    if problem.squared:
        return float(products.max())
    left = np.maximum(r - eps, 0.0) * (problem.upper - beta) + np.maximum(-r - eps, 0.0) * (beta - problem.lower)
    return float(max(products.max(), left.max()))
