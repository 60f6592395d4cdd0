"""The KKT conditions, both objectives and their gap, from the definitions.

They do not depend on how a solution was found. Given a problem, its variables a and the values f = K @ coefficients,
this file evaluates the conditions in :mod:`maxmargin.problems.dual` term by term.

A solver may return f computed with float32 kernel values. :func:`audited` computes it in float64 again: all
of it for small problems; for large ones the rows that decide the violation, after the
error of the solver's values has been estimated on a sample (if it is too large, all rows are computed again).
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.dual import DualProblem, PrimalScalars
from maxmargin.runtime.validation import Array

ALL_ROWS_MAX_VALUES = 500_000  # kernel values up to which all rows are computed again: some milliseconds
SAMPLED_ROWS = 64  # rows of a larger problem whose values are checked
UNFINISHED_ERROR = 0.01  # an error of f, relative to the violation, that is allowed where no solver finished


def _scanned(problem: DualProblem, a: Array, gradient: Array) -> Array:
    """Per group, and for variables without an equality at the end: the smallest gradient among variables that may
    rise, the largest among those that may fall, the sum of the free variables' gradients, their number, and the sum of
    the variables."""
    out = np.empty((5, len(problem.totals) + 1))
    _native.scan_conditions(gradient, a, problem.lower, problem.upper, problem.group, out)
    return out


def sides(problem: DualProblem, a: Array, gradient: Array) -> tuple[Array, Array]:
    """Per group: the smallest gradient among variables that may rise, the largest among those that may fall.

    Variables without an equality form one more group at the end, whose offset is known to be zero.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> rise, fall = optimality.sides(problem, a, problem.gradient(f, a))
    >>> rise[0], fall[0]
    (np.float64(0.0), np.float64(0.0))
    """
    rise, fall, *_ = _scanned(problem, a, gradient)
    return rise, fall


def violation(problem: DualProblem, a: Array, gradient: Array) -> float:
    """m(a) - M(a), the largest over the groups; 0 when no pair of variables violates.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> optimality.violation(problem, a, problem.gradient(f, a))
    0.0
    >>> optimality.violation(problem, 0 * a, problem.gradient(0 * f, 0 * a))
    2.0
    """
    rise, fall = sides(problem, a, gradient)
    return float(max(0.0, np.max(fall - rise)))


def offsets(problem: DualProblem, a: Array, gradient: Array) -> Array:
    """The multiplier of each group's equality: the mean gradient of its free variables.

    Without free variables any value between the two sides is a multiplier, and the middle is taken. One-class takes the
    smallest value of a point that is not at its bound.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> optimality.offsets(problem, a, problem.gradient(f, a))  # minus the intercept
    array([0.])
    """
    return _offsets(problem, _scanned(problem, a, gradient))


def _offsets(problem: DualProblem, scanned: Array) -> Array:
    """:func:`offsets` from what a scan of the variables found."""
    rise, fall, free_sum, n_free, _ = scanned
    out = np.zeros(len(problem.totals))
    if problem.kind == "one_class":
        # The largest rho that leaves all points below their bound inside: at most nu of all are then outside, exactly.
        # (All points at their bounds, nu = 1: the smallest that leaves the innermost one inside.)
        end = rise[0] if math.isfinite(rise[0]) else fall[0]
        out[0] = end - 1e-12 * abs(end)
        return out
    for g in range(len(out)):
        if n_free[g] > 0:
            out[g] = free_sum[g] / n_free[g]
        else:
            ends = [end for end in (rise[g], fall[g]) if math.isfinite(end)]
            out[g] = sum(ends) / len(ends) if ends else 0.0
    return out


def audited(problem: DualProblem, a: Array, f: Array, gram: Gram, *, finished: bool = True) -> Array:
    """K @ coefficients in float64 for the rows that matter, given the solver's values ``f``.

    If the solver did not finish, the violation is large, and it is enough that the error on a sample is small compared
    with it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Linear
    >>> from maxmargin.kernels.gram.operator import KernelGram
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> gram = KernelGram(Linear(), np.array([[1.0], [-1.0]]))
    >>> optimality.audited(problem, np.array([0.5, -0.5]), np.zeros(2), gram)
    array([ 1., -1.])
    """
    coef = problem.coefficients(a)
    used = np.flatnonzero(coef)
    n = problem.n_rows
    if len(used) == 0:
        return np.zeros(n)
    if n * len(used) <= ALL_ROWS_MAX_VALUES:
        return gram.product(used, coef[used])
    gradient = problem.gradient(f, a)
    rise, fall = sides(problem, a, gradient)
    where = np.where(problem.group < 0, len(problem.totals), problem.group)
    spread = max(0.0, float(np.max(fall - rise)))
    sample = np.arange(0, n, max(1, n // SAMPLED_ROWS))
    f, done, reach = f.copy(), np.zeros(n, bool), 0.05 * spread
    if not finished:
        exact = gram.product(used, coef[used], sample)
        if float(np.max(np.abs(exact - f[sample]))) <= UNFINISHED_ERROR * spread:
            f[sample] = exact
            return f
    while True:
        decides = (a < problem.upper) & (gradient < rise[where] + reach)
        decides |= (a > problem.lower) & (gradient > fall[where] - reach)
        wanted = np.zeros(n, bool)
        wanted[problem.row[decides]] = True
        wanted[sample] = True
        rows = np.flatnonzero(wanted & ~done)
        exact = gram.product(used, coef[used], rows)
        error = float(np.max(np.abs(exact - f[rows]), initial=0.0))
        f[rows] = exact
        done[rows] = True
        if 4 * error <= reach or done.all():
            return f
        if not error <= 0.01 * (1.0 + spread):
            return gram.product(used, coef[used])
        reach = 8 * error


def _losses(problem: DualProblem, f: Array, scalars: PrimalScalars) -> float:
    """The primal objective without 1/2 |w|^2; points with an infinite C have no slack."""
    b, rho, epsilon = scalars
    y, c = problem.target, problem.bound
    if math.isinf(c.max()):
        c = np.where(np.isinf(c), 0.0, c)
    if problem.kind == "c_svc":
        return float(np.dot(c, np.maximum(0.0, 1.0 - y * (f + b))))
    if problem.kind == "nu_svc":
        return float(np.dot(c, np.maximum(0.0, rho - y * (f + b))) - problem.nu * rho * c.sum())
    if problem.kind == "one_class":
        return float(np.dot(c, np.maximum(0.0, rho - f - problem.linear)) - problem.nu * rho * c.sum())
    if problem.kind == "quantile":
        residual = y - f - b
        return float(np.sum(np.where(residual > 0, problem.upper, problem.lower) * residual))
    tube = float(np.dot(c, np.maximum(0.0, np.abs(y - f - b) - epsilon)))
    return tube + (problem.nu * epsilon * float(c.sum()) if problem.kind == "nu_svr" else 0.0)


def certify(problem: DualProblem, a: Array, f: Array, offset: Array) -> Certificate:
    """The certificate of the variables ``a`` with ``f = K @ coefficients`` and the groups' multipliers.

    Where C is infinite no slack is allowed. For classifiers the primal objective is then that of the same
    direction, scaled until the closest such point has a margin of one (infinite if one is on the wrong side). For
    regression it is infinite unless such points are inside the tube; ``primal_infeasibility`` is the largest distance
    outside.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> optimality.certify(problem, a, f, np.array([0.0])).gap
    0.0
    """
    gradient = problem.gradient(f, a)
    return _certified(problem, a, f, gradient, _scanned(problem, a, gradient), offset)


def _certified(problem: DualProblem, a: Array, f: Array, gradient: Array, scanned: Array, offset: Array) -> Certificate:
    """:func:`certify` with the gradient and what a scan of the variables found."""
    own = float(np.dot(problem.coefficients(a), f))
    norm2 = max(0.0, own)
    scalars = problem.scalars(offset)
    b = scalars.intercept
    infeasibility, stretch = 0.0, 1.0
    some_hard = math.isinf(problem.bound.max())
    hard = np.isinf(problem.bound) if some_hard else None
    if some_hard and problem.kind == "c_svc":
        smallest = float(np.min(problem.target[hard] * (f[hard] + b)))
        infeasibility = max(0.0, 1.0 - smallest)
        stretch = 1.0 / min(1.0, smallest) if smallest > 0 else math.inf
    elif some_hard:
        infeasibility = max(0.0, float(np.max(np.abs(problem.target - f - b)[hard])) - scalars.epsilon)
        stretch = 1.0 if infeasibility <= 1e-9 * float(np.max(np.abs(problem.target), initial=1.0)) else math.inf
    if math.isfinite(stretch):
        if stretch != 1.0:
            scalars = scalars._replace(intercept=stretch * b)
        primal = 0.5 * norm2 * stretch**2 + _losses(problem, f if stretch == 1.0 else stretch * f, scalars)
    else:
        primal = math.inf
    rise, fall, _, _, sums = scanned
    product, outside = _native.slackness(gradient, a, problem.lower, problem.upper, problem.group, offset)
    return Certificate(
        primal=primal,
        dual=-(0.5 * own + float(np.dot(problem.linear, a))),
        violation=math.inf if math.isnan(own) else float(max(0.0, np.max(fall - rise))),  # NaN is no proof
        stationarity=float(np.max(np.abs(sums[:-1] - problem.totals), initial=0.0)),
        dual_infeasibility=outside,
        primal_infeasibility=infeasibility,
        complementarity=product,
        norm=math.sqrt(norm2),
    )


def best_certificate(problem: DualProblem, a: Array, f: Array) -> Certificate:
    """The certificate with the best multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc, optimality
    >>> problem = c_svc(np.array([1.0, -1.0]), np.full(2, 10.0))
    >>> a, f = np.array([0.5, -0.5]), np.array([1.0, -1.0])  # the optimum of two points, 1 and -1, and K @ a
    >>> optimality.best_certificate(problem, 0.5 * a, 0.5 * f).gap
    9.75
    """
    gradient = problem.gradient(f, a)
    scanned = _scanned(problem, a, gradient)
    return _certified(problem, a, f, gradient, scanned, _offsets(problem, scanned))
