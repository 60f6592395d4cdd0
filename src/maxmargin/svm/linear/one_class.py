"""One-class support vector machine without a kernel, for many rows: ``LinearOneClassSVM``."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from maxmargin.problems.primal import one_class_problem
from maxmargin.runtime.control import Control, check_run_options
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_new_points,
    check_number,
    check_training_points,
    check_weights,
    warn,
)
from maxmargin.solvers.base import REGRESSION_LOSSES
from maxmargin.solvers.registry import check_linear_solver
from maxmargin.svm.linear.fit import prepare, publish, solve_problems
from maxmargin.svm.linear.function import LinearFunction
from maxmargin.svm.linear.parameters import LINEAR
from maxmargin.svm.linear.rows import regression_rows
from maxmargin.svm.models.region import RegionMixin


@documented(LINEAR)
@parameters
class LinearOneClassSVM(RegionMixin, LinearFunction, Estimator):
    """Linear one-class support vector machine for outlier detection.

    Solves the same problem as ``OneClassSVM(kernel="linear")``, for any number of rows. Combine it with a feature map
    such as :class:`~maxmargin.Nystroem` for regions of other shapes.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training points outside the region and a lower bound on the
        fraction of support vectors.
    {tol, max_iter, random_state, verbose}
    solver : str or solver object, default="auto"
        ``"barrier"`` or ``"coordinate_descent"``, or a solver object with options. ``"auto"`` chooses by the shape of
        X; ``report_`` states which, and why.
    {n_jobs, max_seconds, warm_start}

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        w.
    intercept_ : array of shape (1,)
        -rho.
    offset_ : array of shape (1,)
        rho: ``decision_function = score_samples - offset_``.
    n_iter_ : int
        Number of iterations.
    {n_features_in_, feature_names_in_, report_, history_}

    Notes
    -----
    A point exactly on the boundary counts as inside. If every halfspace with enough points contains the origin, the
    model is constant: w and rho are zero, every point is inside, and a warning is issued.

    Examples
    --------
    >>> from maxmargin import LinearOneClassSVM
    >>> model = LinearOneClassSVM(nu=0.25).fit([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    >>> model.predict([[2.0, 2.0], [0.1, 0.1]])
    array([ 1, -1])
    """

    _: KW_ONLY
    nu: float = 0.5
    tol: float = 1e-4
    max_iter: int = 1000
    random_state: Any = None
    verbose: Any = 0
    solver: Any = "auto"
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearOneClassSVM:
        """Fit the halfspace to the training points.

        {X, y_ignored, sample_weight -> self}
        """
        check_run_options(self)
        check_number("nu", self.nu, above=0, most=1)
        check_linear_solver(self.solver, REGRESSION_LOSSES)
        X = check_training_points(self, X)
        weights = check_weights(sample_weight, X.shape[0])
        context = prepare(self, X, np.zeros(X.shape[0]), weights, regression_rows, Control.of(self))
        rows = context.rows
        problem = one_class_problem(rows.X, rows.weight, float(self.nu), context.threads)
        fitted = solve_problems(context, [problem])
        outcome = fitted.outcome
        self.coef_, self.intercept_ = outcome.coef, outcome.intercept
        self.offset_ = -self.intercept_
        inside = self._values(rows.X)[:, 0] >= 0
        outside = float(np.mean(~inside[rows.member_of[rows.member_of >= 0]]))
        publish(
            self,
            context,
            fitted,
            X,
            model=type(self).__name__,
            parameters=f"nu = {self.nu:g}",
            training_error=lambda: outside,
            error_name="training points outside",
        )
        if outcome.status.converged and not self.coef_.any():
            warn(
                f"No halfspace without the origin holds a share 1 - nu = {1 - self.nu:g} of the points, and w = 0 is "
                "optimal: every point is an inlier. Lower nu, do not centre X, or map it "
                "(maxmargin.kernel_methods.feature_maps)."
            )
        return self

    def _new_points(self, X: Any) -> Points:
        return check_new_points(self, X)

    def _decision(self, X: Points) -> Array:
        return self._values(X)
