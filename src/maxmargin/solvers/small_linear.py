"""A small dense linear problem, solved in one compiled call (``native/small_linear``).

The methods are those of :mod:`maxmargin.solvers.newton` (squared losses) and of the d x d system of
:mod:`maxmargin.solvers.interior_point` (the others): on problems of a millisecond what those cost is Python between
their passes. A problem on which the call does not reach the tolerance is left to them.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _native
from maxmargin.problems.design import linear_rows
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import PrimalCertificate, certify_rows
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History, Record
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import LinearSolution

SMALL_MAX_PRODUCTS = 5_000_000  # n d^2 of one second moment: the call takes a few hundredths of a second
SMALL_MAX_ITERATIONS = 100  # ten to thirty are usual


def is_small(problem: PrimalProblem) -> bool:
    """Whether the compiled call takes the problem: dense, more rows than columns, all weights positive and finite."""
    n, d = problem.X.shape
    return bool(
        d < n
        and n * d * d <= SMALL_MAX_PRODUCTS
        and not problem.design.sparse
        and problem.total == 0
        and problem.form == "linear"
        and problem.weight.min() > 0
        and not problem.hard_margin
    )


def solve_small(
    problem: PrimalProblem, tol: float, control: Control
) -> tuple[LinearSolution, PrimalCertificate] | None:
    """The solution and its certificate, computed apart; None where the relative gap of the latter is above ``tol``."""
    limit = min(control.max_iter, SMALL_MAX_ITERATIONS) if control.max_iter >= 0 else SMALL_MAX_ITERATIONS
    X = np.ascontiguousarray(problem.X, np.float64)
    n, d = X.shape
    w, f, beta, records = np.empty(d), np.empty(n), np.empty(n), np.empty((limit + 1, 4))
    begin = 0.0 if problem.loss.classifies else float(problem.y @ problem.weight / problem.weight.sum())
    b, _, _, n_iter, count = _native.solve_small_linear(
        X, problem.y, *problem.sides, problem.epsilon, problem.squared, problem.free, problem.constant, begin,
        problem.centre, tol, limit, w, f, beta, records,
    )  # fmt: skip
    if not (math.isfinite(b) and np.isfinite(w).all()):
        return None
    if not problem.squared:  # the call itself has found the best intercept of a squared loss
        b = problem.best_intercept(f, b)
    certificate, f = certify_rows(problem, linear_rows(X), w, b, beta)
    if not certificate.relative_gap <= tol:
        return None
    records = records[:count].copy()
    if control.callback is not None or control.watchers:
        for iteration, (primal, dual, norm, support) in enumerate(records.tolist()):
            gap = problem.relative_gap(primal, dual)
            control.report(iteration, gap, int(support), primal=primal, dual=dual, norm=norm)
    seconds = control.seconds
    history = History.deferred(lambda: _history(records, seconds))
    return LinearSolution(w, b, certificate.beta, Status.OPTIMAL, n_iter, history, f=f), certificate


def _history(records: Array, seconds: float) -> History:
    return History(
        Record(0, k, primal, dual, primal - dual, 2.0 / norm if norm > 0 else math.inf, support, seconds)
        for k, (primal, dual, norm, support) in enumerate(records.tolist())
    )
