"""From a solution of almost the same problem: only the change is solved for.

With a = a_0 + d and g = Q a_0 + p the problem is one in d with the same kernel matrix,

    minimise 1/2 d'Q d + g'd    subject to  lower - a_0 <= d <= upper - a_0  and a given sum,

which starts at zero, so that kernel values are computed for the few variables that change and not for all support
vectors; the sum is what a_0 lacks where rows have left. Besides, only rows take part whose variables are free, or whose
gradient is near the offset or beyond it; the others are checked afterwards, and join where they miss the conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.verification import EQUALITY_TOLERANCE, certified_status, verified
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.solution import Solution
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving import batch
from maxmargin.svm.kernel.solving.batch import KernelValues, Posed
from maxmargin.svm.kernel.solving.free_sets import FreeSet, bytes_needed, free_set_point
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, Subproblem
from maxmargin.svm.models.expansion import KernelExpansion

KINDS = ("c_svc", "eps_svr", "one_class")  # one equality over all variables
MOVING_MAX_ROWS = 1_500  # of a round, unless more are free: all their kernel values are a few milliseconds' work
JOINING_MAX_ROWS = 500  # of a round, besides the free ones
MANY_FREE_ROWS = 300  # with so many, pair steps creep and take some to bounds that they must leave again
# Pair steps after which sets of free variables take over, where few are free and where many are.
STEPS_PER_ROW = (1.0, 0.5)
NEAR_OFFSET = 0.1  # of the margin (1, epsilon or rho): gradients this near to the offset take part at once
MAX_ROUNDS = 10  # in which rows join; from a start that is near, two or three
INNER_TOL, ROUND_TOL = 0.5, 0.75  # shares of tol for a round and for its rows together; rounding has the rest

ValuesFor: TypeAlias = Callable[[Posed], tuple[KernelValues | None, Array | None]]


def solve_near(
    context: FitContext, sub: Subproblem, values_for: ValuesFor, gram: Gram, control: Control
) -> tuple[BinaryModel, int] | None:
    """The problem solved from ``sub.start``, and the kernel values that this took besides those of ``gram``; None where
    that is not the way: another kind of problem or kernel, or a start that is not near. ``values_for`` gives the kernel
    values of a batch, and which of their rows the canonical rows are (None: the same ones)."""
    problem, evaluations = sub.problem, 0
    if sub.start is None or problem.kind not in KINDS:
        return None
    if not problem.fit_intercept or not np.isfinite(problem.bound).all() or control.max_iter >= 0:
        return None
    goal, steps = context.tol * problem.tol_scale, 0
    a, f = _start(context, sub, gram)
    known: FreeSet | None = None
    for count in range(MAX_ROUNDS):
        gradient, missing = problem.gradient(f, a), float(problem.totals[0] - a.sum())
        rise, fall = (float(side[0]) for side in optimality.sides(problem, a, gradient))
        balanced = abs(missing) <= EQUALITY_TOLERANCE * float(np.abs(a).sum())
        share = ROUND_TOL if count else 1.0  # a start at the solution stays there
        if balanced and fall - rise <= share * goal:
            model = _certified(context, sub, a, f, steps, control)
            if model.solution.status.converged:
                return model, evaluations
            f = model.f.copy()  # float32 errs by too much here: the rows that decide go on from float64
            rows = _moving_rows(problem, a, problem.gradient(f, a))
            f[rows] = gram.product(*_terms(problem, a), rows)
            gradient = problem.gradient(f, a)
        free = problem.row[(a > problem.lower) & (a < problem.upper)]
        many = len(free) >= MANY_FREE_ROWS
        if many and not balanced and not count:  # what removed rows leave to do: which others move is seen after that
            rows = np.unique(free)
        else:
            rows = _moving_rows(problem, a, gradient)
        change, moving = _change(problem, rows, a, gradient, 0.0 if balanced else missing)
        posed = batch.one_problem(change)
        values, places = (None, None) if posed is None else values_for(posed)
        if posed is None or values is None or control.stop() is not None:
            return None
        if not batch.suits(posed, values, context.budget):
            return None
        at, begin = sub.rows[rows], change.balanced(np.zeros(change.n_variables))
        few = len(rows) <= MOVING_MAX_ROWS or (many and bytes_needed(len(rows), len(free)) <= context.budget)
        first = replace(control, max_iter=int(STEPS_PER_ROW[many] * len(rows))) if few else control
        options: dict[str, Any] = {"budget": context.budget, "threads": context.threads, "control": first}
        index = at if places is None else places[at]
        solved = batch.solve_posed(posed, values, start=begin, index=index, tol=INNER_TOL * context.tol, **options)
        step, taken, own = solved.a, int(solved.steps[0]), int(solved.evaluations[0])
        if solved.status[0] != batch.OPTIMAL:
            if not few or solved.status[0] not in (batch.MAX_STEPS, batch.CREEPS):
                return None
            K = gram.block(rows, rows)
            if not many:  # of many free variables, pair steps take some to bounds that they must leave again
                begin = step
            step, known, turns = free_set_point(change, K, begin, INNER_TOL * goal, control, moving, known)
            taken, own = taken + turns, own + K.size
        steps, evaluations = steps + taken, evaluations + own
        a[moving] += step
        a = problem.at_bounds(a)
        moved = change.coefficients(step)
        changed = np.flatnonzero(moved)
        f = f + gram.product(rows[changed], moved[changed], single=True)
    return None


def _certified(context: FitContext, sub: Subproblem, a: Array, f: Array, steps: int, control: Control) -> BinaryModel:
    """The model of these variables, with the status that its verified certificate gives it."""
    problem, goal = sub.problem, context.tol * sub.problem.tol_scale
    f = verified(problem, a, f, context.defined_values(sub.rows))
    offset = optimality.offsets(problem, a, problem.gradient(f, a))
    certificate = optimality.certify(problem, a, f, offset)
    status = certified_status(Status.OPTIMAL, certificate, float(np.abs(a).sum()), goal)
    solution = Solution(a, f, status, steps, fresh=True)
    return BinaryModel(sub.rows, problem, solution, certificate, f, *problem.scalars(offset), control.reports)


def _start(context: FitContext, sub: Subproblem, gram: Gram) -> tuple[Array, Array]:
    """Variables within their bounds, and their fitted values: those of the last fit where they are known, without the
    terms of coefficients that are not there any more. The sum of these variables may not be what it is to be."""
    problem, last = sub.problem, sub.last
    if last is None:
        assert sub.start is not None
        a = problem.feasible(sub.start)
        return a, gram.product(*_terms(problem, a), single=True)
    a = problem.at_bounds(np.clip(last.values, problem.lower, problem.upper))
    columns, cut = _terms(problem, a - last.values)
    new = np.ones(problem.n_rows, bool)
    new[last.known] = False
    f = np.zeros(problem.n_rows)
    f[last.known] = last.f
    rows, (used, coefficient) = np.flatnonzero(new), _terms(problem, last.values)
    if len(rows) and len(used):
        f[rows] = gram.product(used, coefficient, rows, single=True)
    if len(columns):
        f += gram.product(columns, cut, single=True)
    if len(last.coefficient):
        gone = KernelExpansion(context.kernel, last.points, last.coefficient[:, None], np.zeros(1))
        old = last.known
        f[old] -= gone.decision(context.X[sub.rows[old]], context.threads)[:, 0]
    return a, f


def _terms(problem: DualProblem, a: Array) -> tuple[Array, Array]:
    """The rows whose coefficients are not zero, and these."""
    coefficient = problem.coefficients(a)
    used = np.flatnonzero(coefficient)
    return used, coefficient[used]


def _moving_rows(problem: DualProblem, a: Array, gradient: Array) -> Array:
    """Rows with a variable that is free, misses the conditions or nearly does: the free ones and those that miss them
    most, if there are many."""
    may_rise, may_fall = a < problem.upper, a > problem.lower
    free = may_rise & may_fall
    rise, fall = (float(side[0]) for side in optimality.sides(problem, a, gradient))
    offset = float(np.median(gradient[free])) if free.any() else 0.5 * (rise + fall)  # new rows move the sides far
    size = {"c_svc": 1.0, "eps_svr": problem.epsilon, "one_class": abs(offset)}[problem.kind]
    beyond = np.maximum(np.where(may_rise, offset - gradient, -np.inf), np.where(may_fall, gradient - offset, -np.inf))
    score = np.where(free, np.inf, beyond).reshape(-1, problem.n_rows).max(axis=0)
    chosen = np.flatnonzero(score > -NEAR_OFFSET * size)
    most = max(int(np.count_nonzero(score == np.inf)) + JOINING_MAX_ROWS, MOVING_MAX_ROWS)
    if len(chosen) > most:
        chosen = np.sort(chosen[np.argpartition(-score[chosen], most - 1)[:most]])
    return chosen


def _change(problem: DualProblem, rows: Array, a: Array, gradient: Array, total: float) -> tuple[DualProblem, Array]:
    """The problem of the change of some rows' variables, whose sum is ``total``, and which variables these are."""
    part, at = problem.restricted(rows)
    lower, upper = part.lower - a[at], part.upper - a[at]
    totals = np.full_like(problem.totals, total)
    return replace(part, linear=gradient[at], lower=lower, upper=upper, totals=totals), at
