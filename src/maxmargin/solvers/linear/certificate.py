"""Is it optimal? The certificate of a linear machine, from the definitions in :mod:`maxmargin.solvers.linear.problem`.

Nothing here knows how (w, b) was found. With margins m_i = y_i (w'x_i + b) and feasible multipliers alpha, the
conditions of optimality are

    w = sum_i alpha_i y_i x_i                                     stationarity in w
    sum_i y_i alpha_i = 0 (free) or b / s^2 (penalised)           stationarity in b
    g_i = m_i - 1 + alpha_i / 2c_i  (the last term for the squared hinge only):
    g_i >= 0 where alpha_i < its bound,  g_i <= 0 where alpha_i > 0             slack and complementarity.

``violation`` is the largest residual of all, each as a share: |w - sum alpha_i y_i x_i| of sqrt(2 objective), which |w|
cannot exceed; that of b of the sum of the multipliers; and |alpha_i - clip(alpha_i - t_i g_i)| of t_i, the size of the
row's box (2 c_i for the squared hinge, the largest multiplier where slack is forbidden). The last is the distance of a
margin from where it should be, or the share of its box that the multiplier would have to move, whichever is less.

Multipliers are clipped to their boxes, and repaired to sum y_i alpha_i = 0, before anything is said of them. Where a
method has none, or poor ones, w itself suggests some: with the hinge, alpha_i = c_i inside the margin and 0 outside,
and on the margin a value between; with the squared hinge alpha_i = 2 c_i max(0, 1 - m_i). How wide "on the margin" is
taken, and by which factor all are shrunk, is chosen by the dual objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import steps_of, stretched, support_of
from maxmargin.solvers.linear.problem import LinearProblem

WIDTHS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)  # parts of the rows' mean distance from the margin


@dataclass(frozen=True)
class LinearCertificate(Certificate):
    """What can be said of (w, b) without trusting its solver.

    Besides the fields of :class:`~maxmargin.problems.optimality.Certificate`:

    Attributes
    ----------
    alpha : array
        The feasible multipliers that ``dual`` is the objective of.
    support : array of bool
        The support vectors.
    """

    alpha: Array
    support: Array


def certify(
    problem: LinearProblem,
    w: Array,
    b: float,
    alpha: Array | None = None,
    f: Array | None = None,
    *,
    made: bool = False,
) -> LinearCertificate:
    """The certificate of (w, b), with the better of the multipliers given and those that w suggests.

    A hard margin is judged by the same direction, scaled until the closest row has a margin of one; it is infinite if
    one is on the wrong side, and ``primal_infeasibility`` says by how much rows are inside as (w, b) stands. ``f`` is
    X w where it is known; ``made`` says that w was computed from ``alpha``, as where many machines are made together.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear import LinearProblem, certify
    >>> problem = LinearProblem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> certify(problem, np.array([1.0]), 0.0, np.array([0.5, 0.5])).gap
    0.0
    """
    w = np.asarray(w, np.float64)
    margins = problem.margins(w, b) if f is None else problem.y * (f + b)
    hard = np.isinf(problem.bound)
    infeasibility = max(0.0, float(np.max(1.0 - margins[hard], initial=0.0)))
    scaled_w, scaled_b, scaled = stretched(problem, w, b, margins)
    primal = problem.primal(scaled_w, scaled_b, scaled)
    chosen, w_alpha, dual = _best_multipliers(problem, scaled_w, scaled_b, scaled, alpha, w if made else None)
    g = scaled - 1.0 + problem.ridge * chosen
    t = np.where(problem.upper > 0, steps_of(problem, chosen), 1.0)
    moved = np.abs(np.clip(chosen - t * g, 0.0, problem.upper) - chosen) / t
    in_w, in_b = float(np.linalg.norm(scaled_w - w_alpha)), _of_intercept(problem, scaled_b, chosen)
    size = math.sqrt(2.0 * primal) if math.isfinite(primal) else float(np.linalg.norm(scaled_w))
    shares = (in_w / size if size > 0 else 0.0, in_b / (float(chosen.sum()) or 1.0))
    room = np.where(np.isfinite(problem.upper), problem.upper - chosen, 0.0)
    return LinearCertificate(
        primal=primal,
        dual=dual,
        violation=max(float(moved.max(initial=0.0)), *shares),
        stationarity=max(in_w, in_b),
        dual_infeasibility=float(max(0.0, np.max(-chosen, initial=0.0), np.max(chosen - problem.upper, initial=0.0))),
        primal_infeasibility=infeasibility,
        complementarity=float(max(np.max(np.maximum(g, 0) * chosen), np.max(np.maximum(-g, 0) * room))),
        norm=float(np.linalg.norm(w)),
        alpha=chosen,
        support=support_of(problem, scaled, chosen),
    )


def _of_intercept(problem: LinearProblem, b: float, alpha: Array) -> float:
    """The residual of the derivative with respect to b (or b / s)."""
    if problem.intercept == "none":
        return 0.0
    total = float(problem.y @ alpha)
    return abs(total) if problem.intercept == "free" else abs(b / problem.scaling - problem.scaling * total)


def _best_multipliers(
    problem: LinearProblem, w: Array, b: float, margins: Array, given: Array | None, made: Array | None
) -> tuple[Array, Array, float]:
    """Multipliers, their w and their dual objective; what w suggests is looked at where the given ones leave a gap."""
    best, best_w, value = np.zeros(problem.n_rows), np.zeros(problem.n_features), 0.0
    if given is not None:
        alpha = problem.feasible(np.asarray(given, np.float64))
        w_alpha = made if made is not None and np.array_equal(alpha, given) else problem.w_of(alpha)
        if problem.dual(alpha, w_alpha) > value:
            best, best_w, value = alpha, w_alpha, problem.dual(alpha, w_alpha)
    primal = problem.primal(w, b, margins)
    if not math.isfinite(primal) or primal - value <= 1e-3 * primal:
        return best, best_w, value
    for alpha in _suggested(problem, margins):
        alpha = problem.feasible(alpha)
        w_alpha = problem.w_of(alpha)
        alpha, w_alpha = _shrunk(problem, alpha, w_alpha)
        if problem.dual(alpha, w_alpha) > value:
            best, best_w, value = alpha, w_alpha, problem.dual(alpha, w_alpha)
    return best, best_w, value


def _suggested(problem: LinearProblem, margins: Array) -> list[Array]:
    slack = 1.0 - margins
    price = np.where(np.isfinite(problem.bound), problem.bound, 0.0)
    if problem.squared:
        return [2.0 * price * np.maximum(0.0, slack)]
    typical = float(np.mean(np.abs(slack)))
    tiny = 1e-12 * (1.0 + float(np.max(np.abs(margins), initial=0.0)))
    return [price * np.clip(0.5 + slack / max(2 * width * typical, tiny), 0.0, 1.0) for width in WIDTHS]


def _shrunk(problem: LinearProblem, alpha: Array, w: Array) -> tuple[Array, Array]:
    """t alpha with the t in [0, 1] (or above, where there are no boxes) that is best: the dual is a parabola in t."""
    curvature = 2.0 * problem.penalty(w, problem.b_of(alpha)) + float(problem.ridge @ alpha**2)
    t = float(alpha.sum()) / curvature if curvature > 0 else 1.0
    t = t if problem.squared else min(1.0, t)
    return t * alpha, t * w
