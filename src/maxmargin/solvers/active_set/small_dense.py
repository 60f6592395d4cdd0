"""A small problem with stored kernel values, solved in one compiled call (``native/small_dense``).

Fits of a few hundred rows are over in microseconds; what they cost is the way in and out of compiled code. Here all of
it is one call: Q is gathered, pair steps run on all variables in double precision, f = K @ coefficients is computed
anew from the result, and if rounding has left a violation above the goal, the pair steps go on from there. A problem
that makes no progress is left to the solver that knows more.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.solution import Solution

MAX_STEPS_PER_VARIABLE = 20  # a problem that needs more is left to another solver


def solve_small_dense(
    problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None
) -> tuple[Solution, bool]:
    """The solution of a small problem whose kernel values are stored in float64, and whether it is one: if not, it is
    where another solver should go on."""
    a = problem.start() if start is None else problem.feasible(start)
    f = np.empty(problem.n_rows)
    if not _reported(problem, gram, a, control):
        return Solution(a, f, Status.INTERRUPTED, 0), False
    K, at = gram.stored()
    one_sided = problem.kind in ("c_svc", "one_class", "quantile")
    in_place = one_sided and problem.fit_intercept and np.array_equal(at, np.arange(gram.n))
    limit = MAX_STEPS_PER_VARIABLE * problem.n_variables
    if control.max_iter >= 0:
        limit = min(limit, control.max_iter)
    goal = tol * problem.tol_scale
    steps, violation = _native.solve_small_dense(
        K,
        at,
        problem.row,
        problem.sign,
        problem.linear,
        problem.lower,
        problem.upper,
        problem.group,
        len(problem.totals),
        in_place,
        a,
        f,
        goal,
        limit,
    )
    control.report(steps, violation, int(np.count_nonzero(a)))
    return Solution(a, f, Status.OPTIMAL, steps, fresh=True), violation <= goal


def _reported(problem: DualProblem, gram: Gram, a: Array, control: Control) -> bool:
    """Report where the run begins, if there is a callback; whether it should begin."""
    if control.callback is not None:
        coef = problem.coefficients(a)
        gradient = problem.gradient(gram.product(np.arange(gram.n), coef), a)
        control.report(0, optimality.violation(problem, a, gradient), int(np.count_nonzero(a)))
    return control.stop() is None
