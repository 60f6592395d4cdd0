"""A dense box-constrained problem with one equality from near its solution, by the sets of variables at their bounds.

    minimise 1/2 d'Q d + g'd    subject to  lower <= d <= upper  and  sum of d = total

With the sets of variables at their bounds fixed, the free ones solve a linear system. :func:`newton_point`: free
variables that leave the box in its solution are put at that bound, variables at a bound whose gradient has the wrong
sign are set free, and so on until the sets repeat: a semismooth Newton method, which from a nearby solution takes a
handful of systems where pair steps would creep (Hintermueller, Ito & Kunisch 2002). It need not converge: a point no
better than the start is dropped. :func:`active_set_point` changes one variable at a time, with a factor that changes
with the set; it converges, and is the faster way where few variables are free, as those of a kernel of low rank are.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin import _native
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array

MAX_SYSTEMS = 10
RIDGE = 1e-10  # relative to the mean of the diagonal: the rounding of kernel values

ACTIVE_SET_MAX_FREE = 250  # free variables up to which sets change one by one: beyond, each change costs too much
SET_CHANGES_PER_VARIABLE = 4
CALL_PRODUCTS = 3e7  # multiplications between two questions whether to stop, some 10 ms


def dense_point(problem: DualProblem, K: Array, start: Array, goal: float, control: Control) -> tuple[Array, float]:
    """A feasible point near the solution, at least as good as ``start``, and by how much it violates the conditions;
    K are the kernel values of the rows. All signs of the problem are 1, and one equality ties all variables."""
    free = int(np.count_nonzero((start > problem.lower) & (start < problem.upper)))
    if free > ACTIVE_SET_MAX_FREE:
        start = newton_point(problem, K, start)
    return active_set_point(problem, K, start, goal, control)


def active_set_point(
    problem: DualProblem, K: Array, start: Array, goal: float, control: Control
) -> tuple[Array, float]:
    """The same by steps to the first bound, each of which changes the set of free variables by one."""
    d, f, n = start.copy(), K @ problem.coefficients(start), problem.n_variables
    ridge = RIDGE * float(np.trace(K)) / len(K)
    free = max(ACTIVE_SET_MAX_FREE, int(np.count_nonzero((d > problem.lower) & (d < problem.upper))))
    at_once = max(1, int(CALL_PRODUCTS / (free * (free + len(K)))))
    left, violation = SET_CHANGES_PER_VARIABLE * n, np.inf
    while left > 0 and not violation <= goal and control.stop() is None:
        bounds = problem.linear, problem.lower, problem.upper
        steps, violation = _native.solve_active_set(K, problem.row, *bounds, d, f, goal, ridge, min(left, at_once), n)
        if steps < at_once:
            break
        left -= steps
    return d, violation


def newton_point(problem: DualProblem, K: Array, start: Array) -> Array:
    """A feasible point near the solution, at least as good as ``start``; K are the kernel values of the rows.

    All signs of the problem are 1, and one equality ties all variables."""
    row = problem.row

    def product(d: Array) -> Array:
        return np.asarray((K @ problem.coefficients(d))[row])

    total, lower, upper, g = float(problem.totals[0]), problem.lower, problem.upper, problem.linear
    d, visited = start, set()
    at_lower, at_upper = d <= lower, d >= upper
    for _ in range(MAX_SYSTEMS):
        free = np.flatnonzero(~(at_lower | at_upper))
        sets = at_lower.tobytes() + at_upper.tobytes()
        if len(free) == 0 or sets in visited:
            break
        visited.add(sets)
        fixed = np.where(at_lower, lower, np.where(at_upper, upper, 0.0))
        slope = g + product(fixed)
        solution = _on_free(K[np.ix_(row[free], row[free])], slope[free], total - float(fixed.sum()))
        if solution is None:
            break
        d, (d_free, offset) = fixed.copy(), solution
        d[free] = d_free
        gradient = g + product(d) - offset
        at_lower, at_upper = (
            np.where(at_lower, gradient > 0, ~at_upper & (d <= lower)),
            np.where(at_upper, gradient < 0, ~at_lower & (d >= upper)),
        )
    d = problem.balanced(d)
    values = [float(g @ point + 0.5 * point @ product(point)) for point in (d, start)]
    return d if values[0] < values[1] else start


def _on_free(Q: Array, slope: Array, total: float) -> tuple[Array, float] | None:
    """The minimiser over free variables of the given sum, and the equality's multiplier."""
    Q[np.diag_indices_from(Q)] += RIDGE * float(np.trace(Q)) / len(Q)
    try:
        factor = cho_factor(Q, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    solved = cho_solve(factor, np.column_stack((slope, np.ones(len(slope)))), check_finite=False)
    offset = (total + float(solved[:, 0].sum())) / float(solved[:, 1].sum())
    d = offset * solved[:, 1] - solved[:, 0]
    return (d, offset) if np.isfinite(d).all() else None
