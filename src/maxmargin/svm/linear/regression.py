"""Linear regression with a tube, for many rows or many columns: ``LinearSVR``."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from maxmargin.problems.bounded import with_bounds
from maxmargin.problems.design import Design
from maxmargin.problems.losses import LOSSES, Loss, make_loss
from maxmargin.runtime.canonical_rows import target_codes
from maxmargin.runtime.control import Control, check_run_options
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    check_choice,
    check_new_points,
    check_number,
    check_training,
    check_weights,
)
from maxmargin.solvers.base import REGRESSION_LOSSES
from maxmargin.solvers.registry import check_linear_solver
from maxmargin.svm.linear.coef_bounds import check_what_bounds_need, coefficient_bounds, has_bounds
from maxmargin.svm.linear.fit import prepare, publish, solve_problems
from maxmargin.svm.linear.parameters import LINEAR, check_dual_and_intercept, describe_intercept, intercept_of
from maxmargin.svm.linear.rows import regression_rows
from maxmargin.svm.models.predictor import PredictorMixin

SVR_LOSSES = tuple(name for name in REGRESSION_LOSSES if name != "squared")  # which is the squared tube of width zero
LOSS_OPTIONS = {"epsilon": 0.0, "quantile": 0.5}  # parameters that some losses have, and their defaults


def _has_option(loss: str, name: str) -> bool:
    return name in LOSSES[loss].__dataclass_fields__


@documented(LINEAR)
@parameters
class LinearSVR(PredictorMixin, MultiOutputMixin, RegressorMixin, Estimator):
    """Linear support vector regression, for many rows or many columns.

    Minimises 1/2 |w|^2 + C sum_i loss(|y_i - w'x_i - b| - epsilon).

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube inside which errors cost nothing.
    {tol}
    C : float, default=1.0
        Penalty of an error outside the tube, > 0.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "pinball"}, default="epsilon_insensitive"
        max(0, r) or max(0, r)^2 of r = |y - w'x - b| - epsilon. Squared with epsilon=0 it is ridge regression.
        ``"pinball"`` is quantile regression: q (y - f) where y is above f, (1 - q) (f - y) below; q is ``quantile``.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    {intercept_scaling, dual, verbose, random_state, max_iter}
    solver : str or solver object, default="auto"
        ``"barrier"``, ``"newton"`` (squared loss), ``"coordinate_descent"``, or a solver object with options, such as
        :class:`~maxmargin.solvers.CoordinateDescent`. ``"auto"`` chooses by the shape of X and the loss; ``report_``
        states which, and why.
    {n_jobs, max_seconds, warm_start}
    quantile : float, default=0.5
        q of the pinball loss, between 0 and 1, both excluded.
    {monotonic_cst, coef_bounds}

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : array of shape (n_targets,)
        b of each target.
    n_iter_ : int
        Number of iterations.
    {n_features_in_, feature_names_in_, report_, history_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVR
    >>> x = np.arange(10.0)[:, None]
    >>> y = 2 * x.ravel() + 1
    >>> y[3] = 100.0  # one target is wrong, and changes next to nothing
    >>> model = LinearSVR(C=10.0).fit(x, y)
    >>> bool(abs(model.predict([[20.0]])[0] - 41) < 0.1)
    True
    >>> model.report_.solver
    'barrier'
    """

    _: KW_ONLY
    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    dual: Any = "auto"
    verbose: Any = 0
    random_state: Any = None
    max_iter: int = 1000
    solver: Any = "auto"
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False
    quantile: float = 0.5
    monotonic_cst: Any = None
    coef_bounds: Any = None

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, least=0)
        check_run_options(self)
        check_number("C", self.C, above=0, remedy="SVR(kernel='linear', C=inf) has a tube without exceptions.")
        check_choice("loss", self.loss, SVR_LOSSES)
        check_number("quantile", self.quantile, above=0, below=1)
        for name, default in LOSS_OPTIONS.items():
            value = getattr(self, name)
            if value != default and not _has_option(self.loss, name):
                having = " or ".join(f"loss={loss!r}" for loss in SVR_LOSSES if _has_option(loss, name))
                raise ValueError(
                    f"loss={self.loss!r} has no {name}; got {name}={value:g}. Give {name}={default:g}, or use {having}."
                )
        check_dual_and_intercept(self)
        check_what_bounds_need(self)
        check_linear_solver(self.solver, SVR_LOSSES)

    def _loss(self) -> Loss:
        """The loss, with the options that it has."""
        options = {name: float(getattr(self, name)) for name in LOSS_OPTIONS if _has_option(self.loss, name)}
        return make_loss(self.loss, **options)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit the model to training data.

        {X, y_outputs, sample_weight -> self}
        """
        self._check_parameters()
        X, y = check_training(self, X, y, numeric=True, several=True)
        Y = y.astype(np.float64).reshape(X.shape[0], -1)
        target = Y[:, 0] if Y.shape[1] == 1 else target_codes(Y)
        weights = check_weights(sample_weight, X.shape[0])
        context = prepare(self, X, target, weights, regression_rows, Control.of(self))
        rows, loss = context.rows, self._loss()
        used = rows.member_of >= 0
        targets = np.empty((len(rows.weight), Y.shape[1]))
        targets[rows.member_of[used]] = Y[used]
        bounds = coefficient_bounds(self, rows.X.shape[1])
        common = (float(self.C) * rows.weight, loss, *intercept_of(self), context.threads)
        problems = [with_bounds(bounds, rows.X, np.ascontiguousarray(y), *common) for y in targets.T]
        fitted = solve_problems(context, problems, [0.0] * len(problems))
        outcome = fitted.outcome
        self.coef_, self.intercept_ = outcome.coef[0] if len(problems) == 1 else outcome.coef, outcome.intercept
        values = self._values(rows.X) if outcome.decision is None else outcome.decision

        def error() -> float:
            return math.sqrt(float(np.mean((Y[used] - values[rows.member_of[used]]) ** 2)))

        publish(
            self,
            context,
            fitted,
            X,
            model=type(self).__name__,
            parameters=self._parameters(),
            training_error=error,
            error_name="root mean squared training error",
        )
        return self

    def _parameters(self) -> str:
        with_b = describe_intercept(*intercept_of(self))
        own = ", ".join(f"{name} = {value:g}" for name, value in vars(self._loss()).items())
        bounds = ", bounded coefficients" if has_bounds(self) else ""
        return f"C = {self.C:g}, {own}, {self.loss.replace('_', ' ')} loss, {with_b}{bounds}"

    def _values(self, X: Any) -> Array:
        design = Design(X)
        if self.coef_.ndim == 1:
            return (design.times(self.coef_) + self.intercept_[0])[:, None]
        return np.column_stack([design.times(w) for w in self.coef_]) + self.intercept_

    def predict(self, X: Any) -> Array:
        """Values at new points.

        {X -> outputs}
        """
        values = self._values(check_new_points(self, X))
        return values if values.shape[1] > 1 else values[:, 0]
