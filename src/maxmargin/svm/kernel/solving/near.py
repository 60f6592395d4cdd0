"""From a solution of almost the same problem: only the change is solved for.

With a = a_0 + d and g = Q a_0 + p the problem is one in d with the same kernel matrix,

    minimise 1/2 d'Q d + g'd    subject to  lower - a_0 <= d <= upper - a_0  and sums of zero,

which starts at zero, so that kernel values are computed for the few variables that change and not for all support
vectors. Besides, only rows take part whose variables are free, or whose gradient is near the offset or beyond it; the
others are checked afterwards, and join where they miss the conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.verification import certified_status, verified
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers import Solution
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving import batch
from maxmargin.svm.kernel.solving.batch import KernelValues, Posed
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, Subproblem

KINDS = ("c_svc", "eps_svr", "one_class")  # one equality over all variables
NEAR_MIN_ROWS = 1_000  # below, the general way takes a few milliseconds
NEAR_MAX_VARIABLES = 4_000  # that take part: with more, working sets over all rows are faster
NEAR_OFFSET = 0.1  # of the margin (1, epsilon or rho): gradients this near to the offset take part at once
MAX_ROUNDS = 6  # in which rows join; from a start that is near, two or three
INNER_TOL, ROUND_TOL = 0.5, 0.75  # shares of tol for a round and for its rows together; rounding has the rest

ValuesFor: TypeAlias = Callable[[Posed], tuple[KernelValues | None, Array | None]]


def solve_near(
    context: FitContext, sub: Subproblem, values_for: ValuesFor, gram: Gram, control: Control
) -> tuple[BinaryModel, int] | None:
    """The problem solved from ``sub.start``, and the kernel values that this took besides those of ``gram``; None where
    that is not the way: another kind of problem or kernel, or a start that is not near. ``values_for`` gives the kernel
    values of a batch, and which of their rows the canonical rows are (None: the same ones)."""
    problem, n, evaluations = sub.problem, sub.problem.n_rows, 0
    if sub.start is None or problem.kind not in KINDS or n < NEAR_MIN_ROWS:
        return None
    if not problem.fit_intercept or not np.isfinite(problem.bound).all() or control.max_iter >= 0:
        return None
    a, goal = problem.feasible(sub.start), context.tol * problem.tol_scale
    coef = problem.coefficients(a)
    used = np.flatnonzero(coef)
    f, steps = gram.product(used, coef[used], single=True), 0
    for count in range(MAX_ROUNDS):
        gradient = problem.gradient(f, a)
        rise, fall = (float(side[0]) for side in optimality.sides(problem, a, gradient))
        if fall - rise <= (goal if count == 0 else ROUND_TOL * goal):  # a start at the solution stays there
            break
        rows = _moving_rows(problem, a, gradient)
        change = _change(problem, rows, a, gradient)
        if change.n_variables > NEAR_MAX_VARIABLES:
            return None
        posed = batch.one_problem(change)
        if posed is None or control.stop() is not None:
            return None
        values, places = values_for(posed)
        if values is None or not batch.suits(posed, values, context.budget):
            return None
        at = sub.rows[rows]
        solved = batch.solve_posed(
            posed,
            values,
            tol=INNER_TOL * context.tol,
            control=control,
            budget=context.budget,
            threads=context.threads,
            index=at if places is None else places[at],
        )
        steps, evaluations = steps + int(solved.steps[0]), evaluations + int(solved.evaluations[0])
        if solved.status[0] != batch.OPTIMAL:
            return None
        a[_variables(problem, rows)] += solved.a
        a = problem.at_bounds(a)
        moved = change.coefficients(solved.a)
        changed = np.flatnonzero(moved)
        f = f + gram.product(rows[changed], moved[changed], single=True)
    f = verified(problem, a, f, context.defined_values(sub.rows))
    offset = optimality.offsets(problem, a, problem.gradient(f, a))
    certificate = optimality.certify(problem, a, f, offset)
    status = certified_status(Status.OPTIMAL, certificate, float(np.abs(a).sum()), goal)
    if not status.converged:
        return None
    solution = Solution(a, f, status, steps, fresh=True)
    model = BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.seen)
    return model, evaluations


def _moving_rows(problem: DualProblem, a: Array, gradient: Array) -> Array:
    """Rows with a variable that is free, misses the conditions or nearly does."""
    may_rise, may_fall = a < problem.upper, a > problem.lower
    free = may_rise & may_fall
    rise, fall = (float(side[0]) for side in optimality.sides(problem, a, gradient))
    offset = float(np.median(gradient[free])) if free.any() else 0.5 * (rise + fall)  # new rows move the sides far
    size = {"c_svc": 1.0, "eps_svr": problem.epsilon, "one_class": abs(offset)}[problem.kind]
    near = NEAR_OFFSET * size
    moving = free | (may_rise & (gradient < offset + near)) | (may_fall & (gradient > offset - near))
    chosen = np.zeros(problem.n_rows, bool)
    chosen[problem.row[moving]] = True
    return np.flatnonzero(chosen)


def _variables(problem: DualProblem, rows: Array) -> Array:
    """The variables of some rows, one set after the other."""
    return np.concatenate([rows + k * problem.n_rows for k in range(problem.n_variables // problem.n_rows)])


def _change(problem: DualProblem, rows: Array, a: Array, gradient: Array) -> DualProblem:
    """The problem of the change of some rows' variables."""
    at = _variables(problem, rows)
    return replace(
        problem,
        target=problem.target[rows],
        bound=problem.bound[rows],
        row=np.tile(np.arange(len(rows)), len(at) // len(rows)),
        sign=problem.sign[at],
        linear=gradient[at],
        lower=problem.lower[at] - a[at],
        upper=problem.upper[at] - a[at],
        group=problem.group[at],
        totals=np.zeros_like(problem.totals),
    )
