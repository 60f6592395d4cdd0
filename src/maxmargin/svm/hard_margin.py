"""The hard margin, C = inf: a machine without errors, or the proof that there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin._control import Status
from maxmargin._validation import Array
from maxmargin.gram import Gram
from maxmargin.kernels import Precomputed
from maxmargin.problems import DualProblem
from maxmargin.solvers import Solution, Solver
from maxmargin.solvers.hulls import Hulls, InseparableError, nearest_points
from maxmargin.svm.training import TrainingSet


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


def solve_hard_margin(
    solver: Solver, problem: DualProblem, gram: Gram, tol: float, data: TrainingSet, rows: Array, start: Array | None
) -> Solution:
    """A hard margin: a first attempt; if that does not converge, look at whether the classes' hulls meet, and only
    go on when they do not."""
    control = data.control
    twins = None if isinstance(data.kernel, Precomputed) else _twins(problem, gram, data.rows.key[rows])
    if twins is not None:
        weights = np.zeros(problem.n_rows)
        weights[list(twins)] = 1.0
        at = data.rows.representative[rows]
        raise InseparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: rows "
            f"{at[twins[0]]} and {at[twins[1]]} are identical and have different labels. Use a finite C.",
            Hulls(False, 0.0, weights),
            at,
        )
    limit = 20_000 + 20 * problem.n_variables
    first = replace(control, max_iter=limit if control.max_iter < 0 else min(limit, control.max_iter))
    solution: Solution = solver.solve(problem, gram, tol=tol, control=first, start=start)
    if solution.status in (Status.OPTIMAL, Status.DEADLINE, Status.INTERRUPTED):
        return solution
    if problem.fit_intercept:
        hulls = nearest_points(problem.target, gram, replace(control, max_iter=-1))
        if not hulls.separable and control.stop() is None:
            raise InseparableError(
                "C=inf asks for a hard margin, but the classes cannot be separated with this kernel: their convex "
                f"hulls in feature space meet (distance {hulls.distance:.1e}). Use a finite C, or another kernel.",
                hulls,
                data.rows.representative[rows],
            )
    solution = solver.solve(problem, gram, tol=tol, control=control, start=solution.a)
    if not problem.fit_intercept and not solution.status.converged and np.min(problem.target * solution.f) <= 0:
        raise InseparableError(
            "C=inf asks for a hard margin, but no hyperplane through the origin was found that separates the classes "
            "with this kernel. Use a finite C, fit_intercept=True, or another kernel."
        )
    return solution
