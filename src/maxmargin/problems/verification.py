"""Verification of a certificate: fitted values by definition, and the rule that decides a status.

A certificate is computed from f = K @ coefficients. A solver's f comes from fast kernel arithmetic, whose errors would
enter the certificate. :func:`verified` computes f by definition
(:mod:`maxmargin.kernels.definition`): on all rows of small problems; on large ones for a sample of the rows, for the
rows of the largest coordinates, and for every row whose gradient could decide the violation. With e the largest error
found so far, the latter are the rows whose gradient is within 4 e of its group's extremes (2 e, once e is known from
more than the sample),

    min {g_v : a_v < upper_v}    and    max {g_v : a_v > lower_v},

and the search goes on until there is none left that was not computed. Where the solver's values are seen to err by more
than a little, they are refined first, by the solver's arithmetic in double precision: that takes less time than the
definition on all rows.

:func:`certified_status` then decides the status: whatever a solver reports, a solution is optimal exactly when its
verified certificate meets tol.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.kernels.definition import DefinedValues
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.joint import JointProblem, joint_gradient, joint_violations
from maxmargin.problems.optimality import UNFINISHED_ERROR, sides, violation
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array

ALL_ROWS_MAX_TERMS = 2_000_000  # terms of kernel sums (rows x support vectors x columns) up to which no row is left out
SAMPLED_ROWS = 24  # canonical order is random, so these are a random sample
LONGEST_ROWS = 4
STOPPED_MAX_TERMS = 50_000_000  # of the sums after a request to stop: a twentieth of a second
STOPPED_MIN_ROWS = 2
SAMPLE_REACH = 4.0  # times the largest error of a sample that other rows are taken to err at most, and
ALL_ROWS_REACH = 2.0  # times the largest error of all rows that could decide
REFINED_ERROR = 0.001  # an error of f (times 1 + violation) beyond which the solver's f is refined
ALL_ROWS_ERROR = 0.01  # an error of f (times 1 + violation) beyond which the solver's f is discarded
EQUALITY_TOLERANCE = 1e-8  # residual of an equality constraint, relative to the sum of its variables' sizes


def verified(
    problem: DualProblem,
    a: Array,
    f: Array,
    values: DefinedValues,
    *,
    refine: Callable[[Array], Array] | None = None,
    stopped: bool = False,
) -> Array:
    """f by definition wherever that decides the certificate, given the solver's ``f``, which ``refine`` makes more
    precise where it has to be. Of a run that was ``stopped``, a few rows that show f to err by much less than the
    violation and 1, the margin, are enough."""
    coef = problem.coefficients(a)
    used = np.flatnonzero(coef)
    n = problem.n_rows
    if len(used) == 0:
        return np.zeros(n)
    weights = coef[used]
    if values.cost(n, len(used)) <= ALL_ROWS_MAX_TERMS:
        return values.product(used, weights)
    f, done, error = f.copy(), np.zeros(n, bool), 0.0
    group = np.where(problem.group < 0, len(problem.totals), problem.group)
    may_rise, may_fall = a < problem.upper, a > problem.lower
    if stopped:
        some = int(np.clip(STOPPED_MAX_TERMS / values.cost(1, len(used)), STOPPED_MIN_ROWS, SAMPLED_ROWS))
        rows = np.arange(0, n, max(1, n // some))
        exact = values.product(used, weights, rows)
        rise, fall = sides(problem, a, problem.gradient(f, a))
        if np.max(np.abs(exact - f[rows])) <= UNFINISHED_ERROR * (1.0 + float(np.max(fall - rise))):
            f[rows] = exact
            return f
    wanted = _first_rows(n, values)
    while wanted.any():
        rows = np.flatnonzero(wanted)
        exact = values.product(used, weights, rows)
        error = max(error, float(np.max(np.abs(exact - f[rows]))))
        if refine is not None and not error <= REFINED_ERROR * (1.0 + violation(problem, a, problem.gradient(f, a))):
            f = refine(f)
            error = float(np.max(np.abs(exact - f[rows])))
        refine = None  # later, it would take away values that are known by definition
        f[rows], done[rows] = exact, True
        gradient = problem.gradient(f, a)
        rise, fall = sides(problem, a, gradient)
        spread = max(0.0, float(np.max(fall - rise)))
        if not error <= ALL_ROWS_ERROR * (1.0 + spread):
            wanted = ~done
            continue
        reach = (SAMPLE_REACH if done.sum() <= len(rows) else ALL_ROWS_REACH) * error
        decides = may_rise & (gradient <= rise[group] + reach)
        decides |= may_fall & (gradient >= fall[group] - reach)
        wanted = np.zeros(n, bool)
        wanted[problem.row[decides]] = True
        wanted &= ~done
    return f


def _first_rows(n: int, values: DefinedValues) -> Array:
    """Rows by which the error of the solver's values is estimated."""
    first = np.zeros(n, bool)
    first[:: max(1, n // SAMPLED_ROWS)] = True
    first[values.longest(LONGEST_ROWS)] = True
    return first


def verified_joint(problem: JointProblem, A: Array, F: Array, values: DefinedValues) -> Array:
    """The same for the joint multiclass problem, whose F = K @ A has one column per class."""
    used = np.flatnonzero(A.any(axis=1))
    n = problem.n_rows
    if len(used) == 0:
        return np.zeros_like(F)
    if values.cost(n, len(used)) <= ALL_ROWS_MAX_TERMS:
        return values.product(used, A[used])
    F, done, error = F.copy(), np.zeros(n, bool), 0.0
    wanted = _first_rows(n, values)
    while wanted.any():
        rows = np.flatnonzero(wanted)
        exact = values.product(used, A[used], rows)
        error = max(error, float(np.max(np.abs(exact - F[rows]))))
        F[rows], done[rows] = exact, True
        violations = joint_violations(problem, A, joint_gradient(problem, F))
        worst = float(violations.max())
        near = np.isnan(violations) | (violations >= worst - 4.0 * error)
        wanted = ~done if not error <= ALL_ROWS_ERROR * (1.0 + worst) else near & ~done
    return F


def certified_status(status: Status, certificate: Certificate, size: float, goal: float) -> Status:
    """How a solver ended, by the verified certificate. ``size`` is the sum of the variables' sizes, ``goal`` the
    violation that was to be reached. A run that was stopped from outside stays stopped."""
    met = certificate.violation <= goal and certificate.stationarity <= EQUALITY_TOLERANCE * size
    if met and status in (Status.STALLED, Status.MAX_ITER):
        return Status.OPTIMAL
    if not met and status is Status.OPTIMAL:
        return Status.STALLED
    return status
