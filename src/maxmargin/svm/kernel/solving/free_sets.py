"""Newton's method for a dense box-constrained problem with one equality, by the sets of variables at their bounds.

    minimise 1/2 d'Q d + g'd    subject to  lower <= d <= upper  and  sum of d = total

With the sets of variables at their bounds fixed, the free ones solve a linear system. Free variables that leave the box
in its solution are put at that bound, variables at a bound whose gradient has the wrong sign are set free, and so on
until the sets repeat: a semismooth Newton method, which from a nearby solution takes a handful of systems where pair
steps would creep (Hintermueller, Ito & Kunisch 2002). It need not converge: a point no better than the start is
dropped.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array

MAX_SYSTEMS = 10
RIDGE = 1e-10  # relative to the mean of the diagonal: the rounding of kernel values


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
