"""The binary problems of a classifier: one for two classes, one per class for more.

In one-vs-rest the weight of a class applies only in its own problem, where it is positive, as in LIBLINEAR. Problems
with one side only have a constant decision and need no solver.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.problems.bounded import with_bounds
from maxmargin.problems.l1 import L1Problem
from maxmargin.problems.losses import make_loss
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.separability import InseparableError, decide, proof_of
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.linear.rows import TrainingRows
from maxmargin.svm.models.multiclass import one_vs_rest


def bound_of(C: float, weight: Array) -> Array:
    """c_i of rows of these weights."""
    return np.where(weight > 0, math.inf, 0.0) if math.isinf(C) else C * weight


def pose_one_vs_rest(
    rows: TrainingRows,
    class_weight: Array,
    *,
    C: float,
    loss: str,
    penalty: str,
    intercept: tuple[str, float],
    threads: int,
    bounds: tuple[Array, Array] | None,
) -> tuple[list[PrimalProblem], list[float]]:
    """The problems, and for each the sign of its only side; 0 where there are two, or where the coefficients have
    bounds, among which zero need not be."""
    problems: list[PrimalProblem] = []
    constant = []
    l1, several, row_loss = penalty == "l1", len(class_weight) > 2, make_loss(loss)
    columns = rows.X.tocsc() if l1 and sp.issparse(rows.X) else None
    for k, task in enumerate(one_vs_rest(rows.target, len(class_weight))):
        positive = task.y > 0
        bound = bound_of(C, rows.weight * np.where(positive, class_weight[k], 1.0) if several else rows.weight)
        common = (rows.X, task.y, bound, row_loss, *intercept, threads)
        problems.append(L1Problem(*common, csc=columns) if l1 else with_bounds(bounds, *common))
        used = bound > 0
        sides = float((positive & used).any()), float((~positive & used).any())
        constant.append(sides[0] - sides[1] if bounds is None else 0.0)
    return problems, constant


def check_separable(X: Points, y: Array, used: Array, fit_intercept: bool, labels: tuple[Any, Any]) -> None:
    """Raise :class:`~maxmargin.solvers.hulls.InseparableError`, with the proof, if no hyperplane separates the rows
    ``used`` with y = +1 from those with y = -1; ``labels`` are those of the two sides, the positive one first."""
    try:
        found = decide(X[used], y[used], fit_intercept)
    except ArithmeticError:  # not decidable in float64
        return
    if found.w is not None:
        return
    rows = used[found.rows]
    proof = proof_of(X, rows, found.weights, y[rows], fit_intercept, labels=labels)
    reason, remedy = "their convex hulls meet", "Use a finite C."
    if not fit_intercept:
        reason = "by a hyperplane through the origin: positive combinations of the two are equal"
        remedy = "Use a finite C, or fit_intercept=True."
    raise InseparableError(
        f"C=inf asks for a hard margin, but the classes cannot be separated{':' if fit_intercept else ''} {reason}, up "
        f"to {proof.residual:.1e} of the data's size (this error's `proof` has the combinations). {remedy}",
        proof,
    )
