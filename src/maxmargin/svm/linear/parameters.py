"""The parameters of linear estimators: their documentation, which values they take, and which go together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.runtime.control import check_run_options
from maxmargin.runtime.parameter_docs import entries
from maxmargin.runtime.validation import check_choice, check_flag, check_number, shown
from maxmargin.solvers.base import MARGIN_LOSSES
from maxmargin.solvers.registry import check_linear_solver
from maxmargin.svm.linear.coef_bounds import check_what_bounds_need


def check_linear_parameters(estimator: Any) -> None:
    """Check the parameters of LinearSVC; errors name the remedy."""
    check_choice("penalty", estimator.penalty, ["l2", "l1"])
    check_choice("loss", estimator.loss, MARGIN_LOSSES)
    check_run_options(estimator)
    check_number("C", estimator.C, above=0, infinite=True, remedy="Without a penalty on slack the data have no effect.")
    check_choice("multi_class", estimator.multi_class, ["ovr", "crammer_singer"])
    check_dual_and_intercept(estimator)
    check_what_bounds_need(estimator)
    _check_solver(estimator)
    if estimator.penalty == "l1":
        _check_l1(estimator)


def check_dual_and_intercept(estimator: Any) -> None:
    """The parameters that classification and regression share."""
    if not isinstance(estimator.dual, (bool, np.bool_)) and estimator.dual != "auto":
        raise ValueError(f"dual must be True, False or 'auto'; got dual={shown(estimator.dual)}.")
    check_flag("fit_intercept", estimator.fit_intercept)
    if estimator.intercept_scaling is not None:
        check_number("intercept_scaling", estimator.intercept_scaling, above=0, remedy="None leaves it unpenalised.")


def intercept_of(estimator: Any) -> tuple[str, float]:
    """The kind of intercept, and its scale."""
    if not estimator.fit_intercept:
        return "none", 1.0
    scaling = estimator.intercept_scaling
    return ("free", 1.0) if scaling is None else ("penalised", float(scaling))


def describe_intercept(kind: str, scaling: float) -> str:
    """The intercept in words, for reports."""
    return (
        f"intercept penalised (s = {scaling:g})" if kind == "penalised" else f"{kind} intercept".replace("none", "no")
    )


def _check_solver(estimator: Any) -> None:
    solver = estimator.solver
    check_linear_solver(solver, MARGIN_LOSSES)
    if estimator.multi_class == "crammer_singer" and solver != "auto":
        raise ValueError("multi_class='crammer_singer' is one joint problem with its own solver: use solver='auto'.")


def _check_l1(estimator: Any) -> None:
    """The options that an L1 penalty allows, which has its own solver."""
    remedies = {
        "loss='squared_hinge'": estimator.loss == "squared_hinge",
        "dual='auto' or False": estimator.dual is not True,
        "multi_class='ovr'": estimator.multi_class == "ovr",
        "a finite C": not math.isinf(estimator.C),
        "solver='auto'": estimator.solver == "auto" or "l1" in getattr(estimator.solver, "accepts", ()),
        "calibration=None (CalibratedClassifierCV gives probabilities)": estimator.calibration is None,
    }
    for remedy, fine in remedies.items():
        if not fine:
            raise ValueError(
                f"Unsupported set of arguments: penalty='l1', loss={estimator.loss!r}, dual={estimator.dual!r}. "
                f"penalty='l1' needs {remedy}: it is solved by columns, for the squared hinge."
            )


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
