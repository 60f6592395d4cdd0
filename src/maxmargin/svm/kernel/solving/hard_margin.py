"""The hard margin, C = inf: a model without errors, or the proof that there is none.

A regression with C = inf demands |y_i - f(x_i) - b| <= epsilon of every point. Of any such f, and any s with
sum_i s_i = 0 and sum_i |s_i| = 1, it is true that

    s'y - epsilon  <=  sum_i s_i (f(x_i) + b)  =  <f, sum_i s_i phi(x_i)>  <=  |f| sqrt(s'K s),

so that s'K s = 0 with s'y > epsilon proves that there is none. The dual then grows along such an s without bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.kernels import Linear, Precomputed
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.separability import InseparabilityProof, InseparableError, decide, proof_of
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import KernelSolver
from maxmargin.solvers.blocks import MIN_STEPS
from maxmargin.solvers.hulls import nearest_points
from maxmargin.solvers.solution import Solution
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.solving.outcomes import Subproblem

PROOF_MAX_ROWS = 5_000  # support vectors whose kernel matrix a proof may take
LARGEST_VARIABLE = 1e100  # no dual variable of a hard margin is as large in numbers that differ in float64
EMPTY_TUBE_SQUARE = 1e-12  # s'K s, relative to the largest k(x, x): f would have to grow a million times its size
EMPTY_TUBE_EXCESS = 1e-9  # s'y - epsilon, relative to the targets: more than rounding
FIRST_ATTEMPT_STEPS, FIRST_ATTEMPT_STEPS_PER_VARIABLE = 20_000, 20  # separable classes need fewer


@np.errstate(over="ignore", invalid="ignore")  # with a kernel that is not positive the dual may have no maximum
def solve_hard_margin(
    context: FitContext, sub: Subproblem, solver: KernelSolver, gram: Gram, tol: float, control: Control
) -> Solution:
    """A hard margin: a first attempt; if that does not converge, check whether the classes' hulls meet, and only go on
    when they do not."""
    problem = sub.problem
    precomputed = isinstance(context.kernel, Precomputed)
    duplicates = None if precomputed else _contradictory_rows(problem, gram, context.rows.key[sub.rows])
    if duplicates is not None:
        i, j = context.rows.representative[sub.rows[list(duplicates)]]
        equal = np.zeros(problem.n_rows)
        equal[list(duplicates)] = 1.0 if problem.fit_intercept else 0.5
        raise InseparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: rows "
            f"{i} and {j} are identical and have different labels. Use a finite C.",
            _proof(context, sub, equal),
        )
    limit = FIRST_ATTEMPT_STEPS + FIRST_ATTEMPT_STEPS_PER_VARIABLE * problem.n_variables
    first = replace(control, max_iter=limit if control.max_iter < 0 else min(limit, control.max_iter))
    solution: Solution = solver.solve(problem, gram, tol=tol, control=first, start=sub.start)
    if solution.status in (Status.OPTIMAL, Status.DEADLINE, Status.INTERRUPTED):
        return _bounded(solution)
    weights = _meeting_weights(context, sub, gram, control)
    if weights is not None and control.stop() is None:
        proof = _proof(context, sub, weights)
        reason = "with this kernel: their convex hulls in feature space meet"
        remedy = "Use a finite C, or another kernel."
        if not problem.fit_intercept:
            reason = "by a hyperplane through the origin of feature space: positive combinations of the two are equal"
            remedy = "Use a finite C, fit_intercept=True, or another kernel."
        raise InseparableError(
            f"C=inf asks for a hard margin, but the classes cannot be separated {reason}, up to {proof.residual:.1e} "
            f"of the data's size (this error's `proof` has the combinations). {remedy}",
            proof,
        )
    bounded = np.abs(solution.a).max() < LARGEST_VARIABLE
    return _bounded(solver.solve(problem, gram, tol=tol, control=control, start=solution.a) if bounded else solution)


@np.errstate(over="ignore", invalid="ignore")  # the dual of an empty tube has no maximum
def solve_hard_tube(sub: Subproblem, solver: KernelSolver, gram: Gram, tol: float, control: Control) -> Solution:
    """A regression with all points inside the tube: in longer and longer attempts, until one has converged or proves
    that there is no such function."""
    problem, start, n_iter = sub.problem, sub.start, 0
    limit = FIRST_ATTEMPT_STEPS + FIRST_ATTEMPT_STEPS_PER_VARIABLE * problem.n_variables
    most = control.max_iter if control.max_iter >= 0 else max(MIN_STEPS, 100 * problem.n_variables)
    while True:
        last = most <= n_iter + limit
        attempt = replace(control, max_iter=most - n_iter if last else limit)
        solution = solver.solve(problem, gram, tol=tol, control=attempt, start=start)
        n_iter += solution.n_iter
        if solution.status in (Status.OPTIMAL, Status.DEADLINE, Status.INTERRUPTED):
            return replace(solution, n_iter=n_iter)
        _refuse_empty_tube(problem, solution, gram)
        if last or solution.status is not Status.MAX_ITER:
            return replace(solution, n_iter=n_iter)
        start, limit = solution.a, 4 * limit


def _refuse_empty_tube(problem: DualProblem, solution: Solution, gram: Gram) -> None:
    """Raise an error if the variables, divided by their size, prove that no function stays inside the tube."""
    coef = problem.coefficients(solution.a)
    size = float(np.abs(coef).sum())
    if not 0 < size < LARGEST_VARIABLE:
        return
    s = coef / size
    used = np.flatnonzero(s)
    square = (
        float(s[used] @ gram.block(used, used).astype(np.float64) @ s[used]) if len(used) <= PROOF_MAX_ROWS else np.inf
    )
    excess = float(s @ problem.target) - problem.epsilon
    scale = float(np.abs(problem.target).max()) + problem.epsilon
    if excess > EMPTY_TUBE_EXCESS * scale and square <= EMPTY_TUBE_SQUARE * float(gram.diagonal().max()):
        raise ValueError(
            f"C=inf demands that every point lies inside the tube, but no function of this kernel comes closer than "
            f"{problem.epsilon + excess:.3g} to all targets (epsilon={problem.epsilon:g}). Use a finite C, a larger "
            "epsilon, or another kernel."
        )


def _bounded(solution: Solution) -> Solution:
    """The solution, if it is one."""
    if not np.abs(solution.a).max() < LARGEST_VARIABLE:
        raise InseparableError(
            "C=inf asks for a hard margin, but there is none with this kernel: its matrix is not positive "
            "semi-definite, and the dual grows without bound. Use a finite C, or a kernel that is positive "
            "semi-definite (validate_gram checks a matrix)."
        )
    return solution


def _contradictory_rows(problem: DualProblem, gram: Gram, keys: Array) -> tuple[int, int] | None:
    """Two rows with the same content and opposite labels, if there are any: no kernel separates them."""
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero((keys[order[1:]] == keys[order[:-1]]) & (np.diff(problem.target[order]) != 0))
    for t in same:
        i, j = int(order[t]), int(order[t + 1])
        K = gram.block(np.array([i, j]), np.array([i, j]))
        if K[0, 0] + K[1, 1] - 2 * K[0, 1] <= 1e-12 * (abs(K[0, 0]) + abs(K[1, 1])):
            return i, j
    return None


def _meeting_weights(context: FitContext, sub: Subproblem, gram: Gram, control: Control) -> Array | None:
    """Weights of the rows whose combinations meet, or None where something separates, or nothing is known. For points
    that are their own features linear programming decides to the last digits; kernel values are squares and decide to
    half of them."""
    problem = sub.problem
    if not isinstance(context.kernel, Linear):
        unlimited = replace(control.of_one(), max_iter=-1)
        hulls = nearest_points(problem.target, gram, unlimited, problem.fit_intercept)
        return None if hulls.separable else hulls.weights
    try:
        found = decide(context.X[sub.rows], problem.target, problem.fit_intercept)
    except ArithmeticError:
        return None
    weights = np.zeros(problem.n_rows)
    weights[found.rows] = found.weights
    return weights if found.w is None else None


def _proof(context: FitContext, sub: Subproblem, weights: Array) -> InseparabilityProof:
    """The weights as a proof about the user's rows; of equal rows the first stands for all."""
    used = np.flatnonzero(weights)
    y, at = sub.problem.target[used], context.rows.representative[sub.rows[used]]
    precomputed, classes = isinstance(context.kernel, Precomputed), context.classes

    def label(side: int) -> Any:
        codes = np.unique(context.target[sub.rows[sub.problem.target == side]])
        return classes[codes].tolist()[0] if classes is not None and len(codes) == 1 else None

    return proof_of(
        context.X if precomputed else context.X[sub.rows],
        at if precomputed else used,
        weights[used],
        y,
        sub.problem.fit_intercept,
        labels=(label(1), label(-1)),
        kernel=None if isinstance(context.kernel, Linear) else context.kernel,
        names=at,
    )
