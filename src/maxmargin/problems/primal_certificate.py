"""The certificate of a linear model, from the definitions in :mod:`maxmargin.problems.primal`.

It does not depend on how (w, b) was computed. With residuals r_i = y_i - w'x_i - b and feasible multipliers beta, the
conditions of optimality are

    w = sum_i beta_i x_i, clipped to its bounds                   stationarity in w
    sum_i beta_i = t (free) or b / s^2 (penalised)                stationarity in b
    beta_i = step_i(beta_i)                                       complementarity,

where step_i takes beta_i to the minimum of the dual's terms in it, with their slope -r_i held fixed and a curvature of
1 / t_i: clip(soft(beta_i + t_i r_i, t_i eps), lower_i, upper_i), t_i being the size of the row's box (2 c_i for squared
losses, the largest multiplier where slack is forbidden).

``violation`` is the largest residual of all, each as a share: |w - sum beta_i x_i| of sqrt(2 objective), which |w|
cannot exceed; that of b of the sum of |beta_i|; and |step_i(beta_i) - beta_i| of t_i and of the size of a residual (one
for labels, the targets' mean distance from their mean else). The last is how far a residual is from where it should be,
or the share of its box that the multiplier would have to move, whichever is less.

Multipliers are clipped to their boxes, and their sum repaired, before they are used. If a method has none,
or poor ones, multipliers are derived from w: the derivative of a squared loss, or of another loss with its kinks
smoothed. The width of smoothing, and a common factor, maximise the dual objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import Array

KINK_WIDTHS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)  # tried, as parts of the residuals' mean distance from their kinks
ONE_CALL_MAX_ENTRIES = 4_000_000  # of X: some hundredths of a second
SUGGEST_MIN_GAP = 1e-3  # relative gap up to which given multipliers are good enough: suggestions rarely reach it


@dataclass(frozen=True)
class PrimalCertificate(Certificate):
    """What can be reported of (w, b) without trusting its solver.

    Besides the fields of :class:`~maxmargin.problems.certificate.Certificate`:

    beta: the feasible multipliers that ``dual`` is the objective of
    support: the support vectors: rows whose multiplier is not zero after a step. (Methods that only come close to the
        optimum leave every multiplier a little beside zero.)
    certified_gap: the duality gap as a part of the larger objective, or of what that cannot be told from zero by
    """

    beta: Array
    support: Array
    certified_gap: float

    @property
    def relative_gap(self) -> float:
        return self.certified_gap


def certify(
    problem: PrimalProblem,
    w: Array,
    b: float,
    beta: Array | None = None,
    f: Array | None = None,
    *,
    made: bool = False,
    suggest: bool = True,
) -> PrimalCertificate:
    """The certificate of (w, b), with the better of the given multipliers and those derived from w.

    For a hard margin, w is scaled until the closest row has a margin of one; the objective is infinite if a row is
    misclassified, and ``primal_infeasibility`` is the violation of the margin by (w, b) itself. ``f`` is X w, if known;
    ``made``: whether w was computed from ``beta``; ``suggest=False`` uses the given multipliers only, for runs that
    have to end at once.
    """
    w = np.ascontiguousarray(w, np.float64)
    if beta is not None and _in_one_call(problem):
        certificate, _ = certify_rows(problem, problem.design.compiled, w, b, beta)
        if certificate.dual >= 0.0 and (not suggest or certificate.relative_gap <= SUGGEST_MIN_GAP):
            return certificate
    f = problem.design.times(w) if f is None else np.ascontiguousarray(f, np.float64)
    infeasibility = 0.0
    scaled_w, scaled_b, scaled = w, b, f
    if problem.hard_margin:
        hard = np.isinf(problem.weight)
        infeasibility = max(0.0, float(np.max((1.0 - problem.y * (f + b))[hard], initial=0.0)))
        scaled_w, scaled_b, scaled = scaled_to_margin(problem, w, b, f)
    primal = problem.primal(scaled_w, scaled_b, scaled)
    chosen, v, dual = _best_multipliers(
        problem, primal, scaled, scaled_b, beta, w if made else None, suggest or beta is None
    )
    r = problem.y - scaled - scaled_b
    target = np.empty(len(r))
    hard_step = float(np.abs(chosen).max(initial=0.0)) or 1.0
    problem.rows.after_step(r, chosen, hard_step, target)
    size = np.where(np.isfinite(problem.weight), np.maximum(*problem.sides), hard_step)
    size = np.where(size > 0, (2.0 if problem.squared else 1.0) * size, 1.0)
    in_w, in_b = float(np.linalg.norm(scaled_w - problem.weights_of(v))), _of_intercept(problem, scaled_b, chosen)
    objective = math.sqrt(2.0 * max(abs(primal), abs(dual))) if math.isfinite(primal) else 0.0
    objective = objective or float(np.linalg.norm(scaled_w))
    shares = (in_w / objective if objective > 0 else 0.0, in_b / (float(np.abs(chosen).sum()) or 1.0))
    outside = np.maximum(chosen - problem.upper, problem.lower - chosen)
    return PrimalCertificate(
        primal=primal,
        dual=dual,
        violation=max(float((np.abs(target - chosen) / size).max(initial=0.0)) / problem.unit, *shares),
        stationarity=max(in_w, in_b),
        dual_infeasibility=max(0.0, float(outside.max(initial=0.0))),
        primal_infeasibility=infeasibility,
        complementarity=_complementarity(problem, r, chosen),
        norm=float(np.linalg.norm(w)),
        beta=chosen,
        support=target != 0.0,
        certified_gap=problem.relative_gap(primal, dual),
    )


def certify_rows(problem: PrimalProblem, rows: Any, w: Array, b: float, beta: Array) -> tuple[PrimalCertificate, Array]:
    """:func:`certify` for finite weights and given multipliers, in one compiled call from the definitions; and
    f = X w. ``rows`` are those of X, in their compiled form."""
    n = problem.n_rows
    chosen, f, support = np.array(beta, np.float64), np.empty(n), np.empty(n, bool)
    primal, dual, moved, in_w, in_b, size, complementarity, norm = _native.certify_linear(
        rows, problem.y, *problem.sides, problem.epsilon, problem.squared, problem.free, problem.constant,
        problem.centre, w, b, chosen, f, support,
    )  # fmt: skip
    objective = math.sqrt(2.0 * max(abs(primal), abs(dual))) or norm or 1.0
    certificate = PrimalCertificate(
        primal=primal,
        dual=dual,
        violation=max(moved / problem.unit, in_w / objective, in_b / (size or 1.0)),
        stationarity=max(in_w, in_b),
        dual_infeasibility=0.0,
        primal_infeasibility=0.0,
        complementarity=complementarity,
        norm=norm,
        beta=chosen,
        support=support,
        certified_gap=problem.relative_gap(primal, dual),
    )
    return certificate, f


def _in_one_call(problem: PrimalProblem) -> bool:
    """Whether one compiled call certifies the problem within some hundredths of a second, on X as it is in memory."""
    sparse = problem.design.sparse
    by_rows = problem.X.format == "csr" if sparse else problem.X.flags.c_contiguous
    few = (problem.X.nnz if sparse else problem.X.size) <= ONE_CALL_MAX_ENTRIES
    return by_rows and few and problem.form == "linear" and problem.total == 0 and not problem.hard_margin


def scaled_to_margin(problem: PrimalProblem, w: Array, b: float, f: Array) -> tuple[Array, float, Array]:
    """The same direction, scaled until the closest row without slack has a margin of one, where that is possible."""
    if not problem.hard_margin:
        return w, b, f
    hard = np.isinf(problem.weight)
    smallest = float((problem.y * (f + b))[hard].min())
    if smallest <= 0 or (smallest >= 1 and not hard.all()):
        return w, b, f
    return w / smallest, b / smallest, f / smallest


def _of_intercept(problem: PrimalProblem, b: float, beta: Array) -> float:
    """The residual of the derivative with respect to b (or b / s)."""
    if problem.intercept == "none":
        return 0.0
    total = float(beta.sum())
    return abs(total - problem.total) if problem.free else abs(b / problem.scaling - problem.scaling * total)


def _complementarity(problem: PrimalProblem, r: Array, beta: Array) -> float:
    """The largest product of a multiplier and the slack of its constraint: |beta_i| times how far the residual is short
    of its side of the tube, and what is left of the box times how far the residual is outside."""
    eps = problem.epsilon
    short = np.where(beta > 0, eps - r, np.where(beta < 0, eps + r, 0.0)) + problem.ridge * np.abs(beta)
    if problem.squared:
        return float((np.abs(beta) * np.abs(short)).max(initial=0.0))
    upper, lower = (np.where(np.isfinite(bound), bound, beta) for bound in (problem.upper, problem.lower))
    left = np.maximum(r - eps, 0.0) * (upper - beta) + np.maximum(-r - eps, 0.0) * (beta - lower)
    return float(max((np.abs(beta) * np.maximum(short, 0.0)).max(initial=0.0), left.max(initial=0.0)))


def _best_multipliers(
    problem: PrimalProblem, primal: float, f: Array, b: float, given: Array | None, made: Array | None, suggest: bool
) -> tuple[Array, Array, float]:
    """Multipliers, v of them and their dual objective; what w suggests is tried where the given ones leave a gap."""
    best = problem.initial_multipliers()
    best_v = problem.row_combination(best) if best.any() else np.zeros(problem.n_features)
    value = problem.dual(best, best_v)
    if given is not None:
        beta = problem.feasible(np.asarray(given, np.float64))
        v = made if made is not None and np.array_equal(beta, given) else problem.row_combination(beta)
        if problem.dual(beta, v) > value:
            best, best_v, value = beta, v, problem.dual(beta, v)
    if not suggest or not math.isfinite(primal) or problem.relative_gap(primal, value) <= SUGGEST_MIN_GAP:
        return best, best_v, value
    for beta in _suggested(problem, problem.y - f - b):
        beta = problem.feasible(beta)
        v = problem.row_combination(beta)
        if problem.total == 0:
            beta, v = _shrunk(problem, beta, v)
        if problem.dual(beta, v) > value:
            best, best_v, value = beta, v, problem.dual(beta, v)
    return best, best_v, value


def _suggested(problem: PrimalProblem, r: Array) -> list[Array]:
    above, below = (np.where(np.isfinite(side), side, 0.0) for side in problem.sides)
    up, down = r - problem.epsilon, -r - problem.epsilon
    if problem.squared:
        return [2.0 * (above * np.maximum(0.0, up) - below * np.maximum(0.0, down))]
    typical = float(np.mean(np.minimum(np.abs(up), np.abs(down))))
    tiny = 1e-12 * (1.0 + float(np.max(np.abs(r), initial=0.0)))
    return [
        above * np.clip(0.5 + up / kink, 0.0, 1.0) - below * np.clip(0.5 + down / kink, 0.0, 1.0)
        for kink in (max(2 * width * typical, tiny) for width in KINK_WIDTHS)
    ]


def _shrunk(problem: PrimalProblem, beta: Array, v: Array) -> tuple[Array, Array]:
    """t beta with the t in [0, 1] (or above, where there are no boxes) that is best: the dual is a parabola in t, but
    for bounds of w."""
    curvature = 2.0 * problem.dual_penalty(v, problem.penalised_intercept(beta)) + float((problem.ridge * beta) @ beta)
    slope = float((problem.y - problem.centre) @ beta) - problem.epsilon * float(np.abs(beta).sum())
    t = slope / curvature if curvature > 0 else 1.0
    t = max(0.0, t if problem.squared else min(1.0, t))
    return t * beta, t * v
