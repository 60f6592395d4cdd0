"""Support vector regression: ``SVR`` (a tube of given width) and ``NuSVR`` (a tube that nu decides).

Several targets are several problems over the same kernel values. Rows that are equal in X and in all targets are one
row of every problem; where no two rows of X are equal the functions have the bits of a fit for each target alone.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.kernels import Kernel
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.canonical_rows import target_codes
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_flag, check_number, check_weights
from maxmargin.svm.kernel import forecast
from maxmargin.svm.kernel.context import InputRows, prepare
from maxmargin.svm.kernel.estimator import KernelSVM
from maxmargin.svm.kernel.formulations import EpsilonRegression, Formulation, NuRegression
from maxmargin.svm.kernel.solving.outcomes import BinaryModel
from maxmargin.svm.kernel.updating import UpdateMixin
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.report import report_fit


@documented()
@parameters
class KernelRegressor(RegressorMixin, KernelSVM, abc.ABC):
    """What regressors share; they differ in their formulations."""

    _error_name: ClassVar[str] = "root mean squared training error"
    _several_targets: ClassVar[bool] = True  # whether y may have several columns

    _: KW_ONLY
    fit_intercept: bool = True

    @abc.abstractmethod
    def _formulations(self) -> list[Formulation]:
        """How the problems of one target are posed; their parameters are checked."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_targets
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("fit_intercept", self.fit_intercept)
        check_number("C", self.C, above=0, infinite=True, remedy="Without a penalty on errors the data have no effect.")

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model to training data.

        {X_train, y_outputs, sample_weight -> self}
        """
        self._check_parameters()
        formulations = self._formulations()
        kernel, X, target = self._kernel_and_points(X, y, supervised=True, numeric=True, several=self._several_targets)
        rows = InputRows(X, target.astype(np.float64), check_weights(sample_weight, X.shape[0]))
        return self._fit_rows(rows, formulations, kernel, self._last_fit if self.warm_start else None)

    def _updated(self, rows: InputRows, start: WarmStart | None) -> Any:
        return self._fit_rows(rows, self._formulations(), self._kernel(), start)

    def _fit_rows(self, rows: InputRows, own: list[Formulation], kernel: Kernel, start: WarmStart | None) -> Any:
        """The fit over validated points, targets and weights; ``own`` are the formulations of one target."""
        X, target, weights = rows.X, rows.target, rows.weight
        Y = target[:, None] if target.ndim == 1 else target
        if Y.shape[1] > 1:  # one number for each list of targets, by which equal rows are merged
            target = target_codes(Y)
        formulations, targets = own * Y.shape[1], np.repeat(Y.T, len(own), axis=0)
        if X.shape[0] >= forecast.FORECAST_MIN_ROWS:
            forecast.announce_long_fit(self, X, target if Y.shape[1] == 1 else Y, weights, "R squared")
        context = prepare(self, InputRows(X, target, weights), kernel, zero_sums=self.fit_intercept)
        with context.control.catching_interrupts():
            targets, member_of = targets[:, context.rows.representative], context.rows.member_of

            def residual() -> Array:
                """f - y of the input rows, one line per function."""
                fitted = np.array([model.f + model.intercept for model in models])
                return (fitted - targets)[:, member_of[member_of >= 0]]

            models, outcome = self._fit_functions(context, formulations, list(targets), start)
            self._training_rows = rows if self.warm_start else None
            self._set_fitted(models)
            self.fit_status_ = int(not outcome.status.converged)
            report_fit(
                self,
                context,
                outcome,
                context.X,
                model=type(self).__name__,
                parameters=lambda: _described(formulations, models),
                training_error=lambda: self._training_error(residual()),
                error_name=self._error_name,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Values at new points.

        {X -> outputs}
        """
        values = self._decision(self._new_points(X))
        return values[:, 0] if values.shape[1] == 1 else values

    def _set_fitted(self, models: Sequence[BinaryModel]) -> None:
        """Set the attributes of the formulation."""

    def _training_error(self, residual: Array) -> float:
        """The line of the report about f - y; one per function."""
        return math.sqrt(float(np.mean(residual**2)))


def _described(formulations: Sequence[Formulation], models: Sequence[BinaryModel]) -> str:
    """The hyperparameters of all functions, each text once."""
    texts = (own.describe(model.epsilon) for own, model in zip(formulations, models, strict=True))
    return "; ".join(dict.fromkeys(texts))


@documented()
@parameters
class SVR(UpdateMixin, KernelRegressor):
    """Epsilon-support vector regression.

    Parameters
    ----------
    {kernel, degree, gamma, coef0, tol}
    C : float, default=1.0
        Penalty of an error outside the tube, > 0; with ``inf`` every point must lie inside it.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    {shrinking, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs, max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (n_targets, n_support)
        alpha - alpha* of each support vector.
    {coef_, intercept_, n_iter_, fit_status_, kernel_, report_, history_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=10, epsilon=0.01).fit(x, np.sin(x).ravel())
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.02)
    True
    """

    _: KW_ONLY
    C: float = 1.0
    epsilon: float = 0.1

    @property
    def _approximation(self) -> str | None:
        return None if math.isinf(self.C) else "NystroemSVR"

    _kind: ClassVar[str] = "eps_svr"

    def _formulations(self) -> list[Formulation]:
        check_number("epsilon", self.epsilon, least=0)
        return [EpsilonRegression(self.C, float(self.epsilon), self.fit_intercept)]


@documented()
@parameters
class NuSVR(UpdateMixin, KernelRegressor):
    """nu-support vector regression, where ``nu`` controls the width of the tube.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of points outside the tube and a lower bound on the fraction of
        support vectors.
    C : float, default=1.0
        Penalty of an error outside the tube.
    {kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs}
    {max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (n_targets, n_support)
        alpha - alpha* of each support vector.
    {coef_, intercept_, n_iter_, fit_status_, kernel_, report_, history_}
    epsilon_ : float or array of shape (n_targets,)
        Half the width of the fitted tube.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVR
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> model = NuSVR(nu=0.2, C=10).fit(x, np.sin(x).ravel())
    >>> bool(model.epsilon_ < 0.1)
    True
    """

    _: KW_ONLY
    nu: float = 0.5
    C: float = 1.0

    _kind: ClassVar[str] = "nu_svr"

    def _set_fitted(self, models: Sequence[BinaryModel]) -> None:
        widths = np.array([model.epsilon for model in models])
        self.epsilon_ = float(widths[0]) if len(widths) == 1 else widths

    def _formulations(self) -> list[Formulation]:
        check_number("nu", self.nu, above=0, most=1)
        check_number("C", self.C, above=0, remedy="nu is a share of a finite C.")
        return [NuRegression(self.C, float(self.nu), self.fit_intercept)]
