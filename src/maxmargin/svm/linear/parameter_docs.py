"""What the linear estimators share: the parameters that they document, and sparse points."""

from __future__ import annotations

from typing import Any

from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.parameter_docs import entries


class LinearEstimator(Estimator):
    """An estimator whose points may be sparse."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


LINEAR = entries(
    """
tol : float, default=1e-4
    Stop when the relative duality gap is at most this.
intercept_scaling : float or None, default=None
    None leaves the intercept unpenalised. A number s penalises it as scikit-learn does: the term 1/2 (b/s)^2 is added
    to the objective.
dual : "auto" or bool, default="auto"
    For compatibility: primal and dual have the same solution, and ``solver="auto"`` ignores this parameter. A solver
    given by name must match it.
verbose : int or bool, default=0
    Print progress on standard error.
random_state : int, RandomState or None, default=None
    Seed of stochastic solvers. None is a fixed seed: the fit is deterministic.
max_iter : int, default=1000
    Maximum number of iterations (epochs, for coordinate descent and stochastic methods); -1 for no limit.
warm_start : bool, default=False
    Start from the solution of the last fit. The barrier method gains only if the start is already optimal.
monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
    Constraint on the sign of each coefficient: 1 for increasing, -1 for decreasing, 0 for no constraint. A dict maps
    column names to signs. As in scikit-learn, with two classes the constraint refers to ``classes_[1]``, and more than
    two classes are refused.
coef_bounds : tuple, list or None, default=None
    Bounds on the coefficients: a tuple (lower, upper) of numbers or of arrays with one number per feature, or a list
    with one pair (low, high) per feature; None or infinity means no bound. They apply to every row of ``coef_``. Like
    ``monotonic_cst`` they are constraints of the problem, not a clipping of its solution: the solution is optimal among
    all coefficients within the bounds. Only ``solver="barrier"`` supports them; ``"auto"`` chooses it.
history_ : History
    Objectives, gap, 2 / |w|, support vectors and time at each iteration.
"""
)
