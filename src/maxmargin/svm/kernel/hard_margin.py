"""The hard margin, C = inf: a machine without errors, or the proof that there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.kernels import Linear, Precomputed
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.separability import InseparabilityProof, decide, proof_of
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers import Solution, Solver
from maxmargin.solvers.hulls import InseparableError, nearest_points
from maxmargin.svm.kernel.training import TrainingSet

HUGE = 1e100  # no dual variable of a hard margin is as large in numbers that can be told apart


@np.errstate(over="ignore", invalid="ignore")  # with a kernel that is not positive the dual may have no maximum
def solve_hard_margin(
    solver: Solver,
    problem: DualProblem,
    gram: Gram,
    tol: float,
    data: TrainingSet,
    rows: Array,
    start: Array | None,
    classes: Array | None = None,
) -> Solution:
    """A hard margin: a first attempt; if that does not converge, look at whether the classes' hulls meet, and only
    go on when they do not. ``classes`` are the labels, for the proof to name."""
    control = data.control
    twins = None if isinstance(data.kernel, Precomputed) else _twins(problem, gram, data.rows.key[rows])
    if twins is not None:
        i, j = data.rows.representative[rows[list(twins)]]
        equal = np.zeros(problem.n_rows)
        equal[list(twins)] = 1.0 if problem.fit_intercept else 0.5
        raise InseparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: rows "
            f"{i} and {j} are identical and have different labels. Use a finite C.",
            _proof(problem, data, rows, equal, classes),
        )
    limit = 20_000 + 20 * problem.n_variables
    first = replace(control, max_iter=limit if control.max_iter < 0 else min(limit, control.max_iter))
    solution: Solution = solver.solve(problem, gram, tol=tol, control=first, start=start)
    if solution.status in (Status.OPTIMAL, Status.DEADLINE, Status.INTERRUPTED):
        return _bounded(solution)
    weights = _meeting_weights(problem, gram, data, rows)
    if weights is not None and control.stop() is None:
        proof = _proof(problem, data, rows, weights, classes)
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
    bounded = np.abs(solution.a).max() < HUGE
    return _bounded(solver.solve(problem, gram, tol=tol, control=control, start=solution.a) if bounded else solution)


def _bounded(solution: Solution) -> Solution:
    """The solution, if it is one."""
    if not np.abs(solution.a).max() < HUGE:
        raise InseparableError(
            "C=inf asks for a hard margin, but there is none with this kernel: its matrix is not positive "
            "semi-definite, and the dual grows without bound. Use a finite C, or a kernel that is positive "
            "semi-definite (validate_gram looks at a matrix)."
        )
    return solution


def _twins(problem: DualProblem, gram: Gram, keys: Array) -> tuple[int, int] | None:
    """Two rows with the same content and opposite labels, if there are any: no kernel tells them apart."""
    order = np.argsort(keys, kind="stable")
    same = np.flatnonzero((keys[order[1:]] == keys[order[:-1]]) & (np.diff(problem.target[order]) != 0))
    for t in same:
        i, j = int(order[t]), int(order[t + 1])
        K = gram.block(np.array([i, j]), np.array([i, j]))
        if K[0, 0] + K[1, 1] - 2 * K[0, 1] <= 1e-12 * (abs(K[0, 0]) + abs(K[1, 1])):
            return i, j
    return None


def _meeting_weights(problem: DualProblem, gram: Gram, data: TrainingSet, rows: Array) -> Array | None:
    """Weights of the rows whose combinations meet, or None where something separates, or nothing is known. For points
    that are their own features linear programming decides to the last digits; kernel values are squares and decide to
    half of them."""
    if not isinstance(data.kernel, Linear):
        control = replace(data.control.of_one(), max_iter=-1)
        hulls = nearest_points(problem.target, gram, control, problem.fit_intercept)
        return None if hulls.separable else hulls.weights
    try:
        found = decide(data.X[rows], problem.target, problem.fit_intercept)
    except ArithmeticError:
        return None
    weights = np.zeros(problem.n_rows)
    weights[found.rows] = found.weights
    return weights if found.w is None else None


def _proof(
    problem: DualProblem, data: TrainingSet, rows: Array, weights: Array, classes: Array | None
) -> InseparabilityProof:
    """The weights as a proof about the user's rows; of equal rows the first stands for all."""
    used = np.flatnonzero(weights)
    y, at = problem.target[used], data.rows.representative[rows[used]]
    precomputed = isinstance(data.kernel, Precomputed)
    linear = isinstance(data.kernel, Linear)

    def label(side: int) -> Any:
        codes = np.unique(data.target[rows[problem.target == side]])
        return classes[codes].tolist()[0] if classes is not None and len(codes) == 1 else None

    return proof_of(
        data.X if precomputed else data.X[rows],
        at if precomputed else used,
        weights[used],
        y,
        problem.fit_intercept,
        labels=(label(1), label(-1)),
        kernel=None if linear else data.kernel,
        names=at,
    )
