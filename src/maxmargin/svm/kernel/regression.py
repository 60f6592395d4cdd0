"""Support vector regression: ``SVR`` (a tube of given width) and ``NuSVR`` (a tube that nu decides)."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin import problems
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_flag, check_number, check_weights
from maxmargin.svm.kernel.coefficients import Machine
from maxmargin.svm.kernel.outcome import FitOutcome
from maxmargin.svm.kernel.pipeline import KernelMachine, root_mean_square


class KernelRegressor(RegressorMixin, KernelMachine, abc.ABC):
    """What ``SVR`` and ``NuSVR`` share; they differ in the problem."""

    def _check_parameters(self) -> None:
        self._check_shared()
        check_flag("fit_intercept", self.fit_intercept)
        check_number("C", self.C, above=0, infinite=True, remedy="Without a price of errors nothing is learnt.")

    @abc.abstractmethod
    def _problem(self, y: Array, weight: Array) -> DualProblem:
        """The problem of these targets and weights."""

    @abc.abstractmethod
    def _parameters(self, machine: Machine) -> str:
        """C, nu, epsilon: what the machine has, in words."""

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the machine to training data.

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
        X, target = self._training_points(X, y, supervised=True, numeric=True)
        target = target.astype(np.float64)
        weights = check_weights(sample_weight, X.shape[0])
        self._forecast(X, target, weights, "R squared")
        data = self._prepare(X, target, weights)
        bounds = np.where(weights > 0, self.C, 0.0) if math.isinf(self.C) else self.C * weights
        model, used_solver = self._fit_one(X, data, weights, bounds, self._problem(data.target, data.weight))
        used = data.rows.member_of >= 0
        residual = (model.f + model.intercept)[data.rows.member_of[used]] - target[used]
        self._finish(
            data,
            FitOutcome.of_models([model], np.ones(1)),
            used_solver,
            fitted=type(self).__name__,
            parameters=self._parameters(model),
            training_error=root_mean_square(residual),
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


class SVR(KernelRegressor):
    """Epsilon-support vector regression.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol
        As in :class:`~maxmargin.SVC`.
    C : float, default=1.0
        Price of an error outside the tube, > 0; ``inf`` demands that every point lies inside it.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    shrinking, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs, max_seconds, warm_start
        As in :class:`~maxmargin.SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_, report_
        As in :class:`~maxmargin.SVC`; ``dual_coef_`` holds alpha - alpha*.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> machine = SVR(C=10, epsilon=0.01).fit(x, np.sin(x).ravel())
    >>> bool(abs(machine.predict([[1.0]])[0] - np.sin(1.0)) < 0.02)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("epsilon", self.epsilon, least=0)

    @property
    def _approximation(self) -> str | None:
        return None if math.isinf(self.C) else "NystroemSVR"

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.eps_svr(y, self.C * weight, float(self.epsilon), fit_intercept=self.fit_intercept)

    def _parameters(self, machine: Machine) -> str:
        return f"C = {self.C:g}, epsilon = {self.epsilon:g}"


class NuSVR(KernelRegressor):
    """nu-support vector regression: the tube is as wide as a share ``nu`` of the points demands.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: bounds the share of points outside the tube from above, that of support vectors from below.
    C : float, default=1.0
        Price of an error outside the tube.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs, \
max_seconds, warm_start
        As in :class:`~maxmargin.SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_, report_
        As in :class:`SVR`.
    epsilon_ : float
        Half the width of the tube that was found.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVR
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> machine = NuSVR(nu=0.2, C=10).fit(x, np.sin(x).ravel())
    >>> bool(machine.epsilon_ < 0.1)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("nu", self.nu, above=0, most=1)
        check_number("C", self.C, above=0, remedy="nu is a share of a finite C.")

    def _problem(self, y: Array, weight: Array) -> DualProblem:
        return problems.nu_svr(y, self.C * weight, float(self.nu), fit_intercept=self.fit_intercept)

    def _parameters(self, machine: Machine) -> str:
        self.epsilon_ = machine.third
        return f"C = {self.C:g}, nu = {self.nu:g} (epsilon = {machine.third:.4g})"
