"""The hard margin, C = inf, where a solver did not reach it: is there one at all?"""

from __future__ import annotations

from typing import Any

from maxmargin.problems.separability import InseparableError, decide, proof_of
from maxmargin.runtime.validation import Array, Points


def check_separable(X: Points, y: Array, used: Array, fit_intercept: bool, labels: tuple[Any, Any]) -> None:
    """Raise :class:`~maxmargin.InseparableError`, with the proof, if no hyperplane separates the rows
    ``used`` with y = +1 from those with y = -1; ``labels`` are those of the two sides, the positive one first."""
    try:
        found = decide(X[used], y[used], fit_intercept)
    except ArithmeticError:  # so close that float64 cannot tell
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
