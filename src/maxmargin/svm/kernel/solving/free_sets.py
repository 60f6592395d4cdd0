"""A dense box-constrained problem with one equality from near its solution, by the set of its free variables.

    minimise 1/2 d'Q d + g'd    subject to  lower <= d <= upper  and  sum of d = total

With the variables at their bounds fixed, the free ones solve a linear system. The compiled method
(``native/active_set``) keeps a factor of that system and changes it with the set. Where many are free, whole blocks of
variables leave their bounds or arrive there at once (Judice & Pires 1994); then, or where few are free, as those of a
kernel of low rank are, one at a time, which always ends. Either takes few changes where pair steps would creep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from maxmargin import _native
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array

RIDGE = 1e-10  # relative to the mean of the diagonal: the rounding of kernel values
BLOCKS_MIN_FREE = 150  # free variables from which blocks of them change: below, single changes cost less
BLOCK_TURNS = 20
CHANGES_PER_VARIABLE = 4
FACTORED_MIN_FREE = 64  # free variables from which LAPACK's factor is faster than one that grows
ROOM_MIN, ROOM_SHARE = 250, 0.5  # places of a factor for variables that will be free
CALL_PRODUCTS = 1e8  # multiplications between two questions whether to stop, a tenth of a second at most


@dataclass
class FreeSet:
    """Free variables, named by those of the whole problem, and the factor of their kernel values."""

    variables: Array
    R: Array


def free_set_point(
    problem: DualProblem, K: Array, start: Array, goal: float, control: Control, at: Array, known: FreeSet | None
) -> tuple[Array, FreeSet, int]:
    """A feasible point near the solution, at least as good as ``start``, its free variables, and the steps taken.

    K are the kernel values of the problem's rows; ``at`` names its variables in the whole problem, and ``known`` is
    what the last call came to, for the same kernel values of variables that are still here. All signs of the problem
    are 1, and one equality ties all variables."""
    d, f = start.copy(), K @ problem.coefficients(start)
    ridge = RIDGE * float(np.trace(K)) / len(K)
    free = np.flatnonzero((d > problem.lower) & (d < problem.upper))
    places = None if known is None or len(known.R) < len(free) else _places(known.variables, at)
    if places is None or known is None:
        R, places = _factor(K, problem.row[free], ridge), free
        if R is None:
            R, places = np.empty((_capacity(len(free)),) * 2), free[:0]
    else:
        R = known.R
    room = np.empty(len(R), np.int64)
    room[: len(places)] = places
    count, blocks = len(places), BLOCK_TURNS if len(free) >= BLOCKS_MIN_FREE else 0
    at_once = max(1, int(CALL_PRODUCTS / (len(R) * (len(R) + len(K)))))
    most = left = CHANGES_PER_VARIABLE * problem.n_variables
    violation = np.inf
    while left > 0 and not violation <= goal and control.stop() is None:
        bounds, some = (problem.linear, problem.lower, problem.upper), min(left, at_once)
        steps, count, violation = _native.solve_active_set(
            K, problem.row, *bounds, d, f, R, room, count, goal, ridge, some, blocks
        )
        left, blocks = left - steps, 0
        if steps < some:
            break
    return d, FreeSet(at[room[:count]], R), max(1, most - left)


def bytes_needed(rows: int, free: int) -> float:
    """Of the kernel values of these rows and the factor of so many free variables."""
    return 8.0 * (float(rows) ** 2 + float(_capacity(free)) ** 2)


def _capacity(free: int) -> int:
    return free + max(ROOM_MIN, int(ROOM_SHARE * free))


def _places(variables: Array, at: Array) -> Array | None:
    """Where variables of the whole problem stand in a part of it; None if one is not there."""
    order = np.argsort(at)
    found = np.minimum(np.searchsorted(at, variables, sorter=order), len(at) - 1)
    places: Array = order[found]
    return places if bool((at[places] == variables).all()) else None


def _factor(K: Array, rows: Array, ridge: float) -> Array | None:
    """R'R of the rows' kernel values, in an array with room for more; None if they are few or it is not possible."""
    m = len(rows)
    if m < FACTORED_MIN_FREE:
        return None
    Q = np.empty((m, m))
    _native.gather(K, rows, rows, Q)
    Q[np.diag_indices_from(Q)] += ridge
    try:
        L = cholesky(Q.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    R = np.empty((_capacity(m),) * 2)
    R[:m, :m] = L.T
    return R
