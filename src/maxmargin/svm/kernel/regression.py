"""Support vector regression: ``SVR`` (a tube of given width) and ``NuSVR`` (a tube that nu decides)."""

from __future__ import annotations

import abc
import math
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_flag, check_number, check_weights
from maxmargin.svm.kernel import forecast
from maxmargin.svm.kernel.context import InputRows, prepare
from maxmargin.svm.kernel.estimator import KernelSVM
from maxmargin.svm.kernel.formulations import EpsilonRegression, Formulation, NuRegression
from maxmargin.svm.report import report_fit


class KernelRegressor(RegressorMixin, KernelSVM, abc.ABC):
    """What ``SVR`` and ``NuSVR`` share; they differ in their formulation."""

    @abc.abstractmethod
    def _formulation(self) -> Formulation:
        """How the problem is posed; its parameters are checked."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("fit_intercept", self.fit_intercept)
        check_number("C", self.C, above=0, infinite=True, remedy="Without a penalty of errors nothing is learnt.")

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training points; with ``kernel="precomputed"`` the kernel matrix of the training points.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of two is the same as giving the sample twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        formulation = self._formulation()
        kernel, X, target = self._kernel_and_points(X, y, supervised=True, numeric=True)
        target = target.astype(np.float64)
        weights = check_weights(sample_weight, X.shape[0])
        if X.shape[0] >= forecast.FORECAST_MIN_ROWS:
            forecast.announce_long_fit(self, X, target, weights, "R squared")
        context = prepare(self, InputRows(X, target, weights), kernel, zero_sums=self.fit_intercept)
        with context.control.catching_interrupts():
            model, outcome = self._fit_function(context, formulation)
            epsilon, member_of = model.epsilon, context.rows.member_of
            if isinstance(formulation, NuRegression):
                self.epsilon_ = epsilon
            residual = (model.f + model.intercept)[member_of[member_of >= 0]] - target[member_of >= 0]
            self.fit_status_ = int(not outcome.status.converged)
            report_fit(
                self,
                context,
                outcome,
                context.X,
                model=type(self).__name__,
                parameters=lambda: formulation.describe(epsilon),
                training_error=lambda: math.sqrt(float(np.mean(residual**2))),
                error_name="root mean squared training error",
            )
        return self

    def predict(self, X: Any) -> Array:
        """Values at new points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        values : array of shape (n_samples,)
        """
        return self._decision(self._new_points(X)).ravel()


@documented()
@parameters
class SVR(KernelRegressor):
    """Epsilon-support vector regression.

    Parameters
    ----------
    {kernel, degree, gamma, coef0, tol}
    C : float, default=1.0
        Penalty of an error outside the tube, > 0; ``inf`` demands that every point lies inside it.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    {shrinking, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs, max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (1, n_support)
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
    kernel: Any = "rbf"
    degree: float = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    C: float = 1.0
    epsilon: float = 0.1
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    solver: str = "auto"
    fit_intercept: bool = True
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False

    @property
    def _approximation(self) -> str | None:
        return None if math.isinf(self.C) else "NystroemSVR"

    def _formulation(self) -> EpsilonRegression:
        check_number("epsilon", self.epsilon, least=0)
        return EpsilonRegression(self.C, float(self.epsilon), self.fit_intercept)


@documented()
@parameters
class NuSVR(KernelRegressor):
    """nu-support vector regression: the tube is as wide as a share ``nu`` of the points demands.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: bounds the share of points outside the tube from above, that of support vectors from below.
    C : float, default=1.0
        Penalty of an error outside the tube.
    {kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs}
    {max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (1, n_support)
        alpha - alpha* of each support vector.
    {coef_, intercept_, n_iter_, fit_status_, kernel_, report_, history_}
    epsilon_ : float
        Half the width of the tube that was found.

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
    kernel: Any = "rbf"
    degree: float = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    solver: str = "auto"
    fit_intercept: bool = True
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False

    def _formulation(self) -> NuRegression:
        check_number("nu", self.nu, above=0, most=1)
        check_number("C", self.C, above=0, remedy="nu is a share of a finite C.")
        return NuRegression(self.C, float(self.nu), self.fit_intercept)
