"""Kernel ridge regression: the function f(x) = sum_i c_i k(x_i, x) + b that minimises

    sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2.

The linear system behind it is in ``ridge_system``. K is stored once, and factorised where it stands; values at new
points are summed in tiles, without a kernel matrix. The linear kernel with few columns needs no K at all: it is ridge
regression, f(x) = v'x + b, and where the derivative of the sum above vanishes, v = sum_i c_i x_i with

    c_i = w_i (y_i - f(x_i)) / alpha.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from maxmargin.kernel_methods.base import SKLEARN_ENTRIES, SklearnKernelMethod
from maxmargin.kernel_methods.ridge.least_squares import ridge_weights
from maxmargin.kernel_methods.ridge.ridge_system import RidgeSystem
from maxmargin.kernels import Linear, Precomputed
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import abandonable, single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_flag,
    check_memory,
    check_number,
    check_outputs,
    check_weights,
)
from maxmargin.svm.kernel_input import check_finite, expansion_of
from maxmargin.svm.models.expansion import KernelExpansion


@documented(SKLEARN_ENTRIES)
@parameters
class RidgeMethod(MultiOutputMixin, RegressorMixin, SklearnKernelMethod):
    """What kernel ridge regression with a given alpha and with a chosen one share: all but ``fit``."""

    _: KW_ONLY
    fit_intercept: bool = False

    def predict(self, X: Any) -> Array:
        """Values at new points.

        {X_new -> outputs}
        """
        values = self._values(X)
        return values.ravel() if self._single else values

    def blend_weights(self, X: Any) -> Array:
        """Weights of the training targets in each prediction: the matrix B with ``predict(X) = B @ y``.

        The linear system is factorised again for this, in the time of a fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples_fit)
            Points, as for ``predict``.

        Returns
        -------
        B : array of shape (n_samples, n_samples_fit)
            Or, if ``alpha`` differs between targets, (n_targets, n_samples, n_samples_fit).
        """
        X = self._new_points(X)
        n = self.X_fit_.shape[0]
        used = np.flatnonzero(self._weights)
        check_memory(16.0 * X.shape[0] * n, f"Blending weights of {X.shape[0]:,} rows", "use fewer rows at a time.")
        if isinstance(self.kernel_, Precomputed):
            values = (X.toarray() if sp.issparse(X) else X).astype(np.float64)[:, used]
        else:
            with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
                values = check_finite(self.kernel_.matrix(X, self.X_fit_[used]))
        system = self._system()
        alphas, which = np.unique(np.asarray(self._alphas), return_inverse=True)
        blends = []
        for alpha in alphas:
            B = np.zeros((X.shape[0], n))
            B[:, used] = system.blend(values, float(alpha))
            blends.append(B)
        if len(blends) == 1:
            return blends[0]
        return np.stack([blends[i] for i in which])

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Points, Array, Array]:
        """Training points, targets and weights; sets ``X_fit_`` and ``kernel_``."""
        self._threads(0)  # refuses a bad n_jobs
        points = self._training_points(X)
        Y, self._single = check_outputs(y, points.shape[0])
        self._weights = check_weights(sample_weight, points.shape[0])
        used = np.flatnonzero(self._weights)
        self.kernel_ = self._resolved(points[used], self._weights[used])
        self.X_fit_ = points if isinstance(self.kernel_, Precomputed) else points.copy()  # the user may change X
        return points, Y, self._weights

    def _system(self) -> RidgeSystem:
        """The linear system of the training rows that have weight."""
        used = np.flatnonzero(self._weights)
        return self._system_of(used, self._weights[used])

    def _is_narrow(self, rows: int) -> bool:
        """Whether ridge regression on the columns is cheaper than K, in memory and time."""
        return isinstance(self.kernel_, Linear) and 4 * self.X_fit_.shape[1] <= rows

    def _fit_linear(self, Y: Array) -> None:
        """The linear kernel without K."""
        used = np.flatnonzero(self._weights)
        coefficients = np.zeros(Y.shape)
        products = float(self.X_fit_.shape[0]) * self.X_fit_.shape[1] ** 2
        found = abandonable(lambda: _by_alpha(self._linear, Y[used], self._alphas), products)
        coefficients[used], intercept, slopes = found
        self._publish(coefficients, intercept, KernelExpansion(self.kernel_, np.eye(len(slopes)), slopes, intercept))

    def _linear(self, Y: Array, alpha: float) -> tuple[Array, Array, Array]:
        """c, b and v of the linear kernel, from the columns of the training rows that have weight. v is kept, since
        sum_i c_i x_i has fewer digits."""
        used = np.flatnonzero(self._weights)
        X, weights = self.X_fit_[used], self._weights[used]
        X = (X.toarray() if sp.issparse(X) else X).astype(np.float64, copy=False)
        share = weights / weights.sum() if self.fit_intercept else np.zeros(len(used))
        root = np.sqrt(weights)[:, None]
        with single_threaded_blas():
            x_mean, y_mean = share @ X, share @ Y
            centred = X - x_mean
            slopes = ridge_weights(root * centred, root * (Y - y_mean), alpha)[0]
            residual = Y - y_mean - centred @ slopes
            return weights[:, None] * residual / alpha, y_mean - x_mean @ slopes, slopes

    def _system_of(self, rows: Array, weights: Array) -> RidgeSystem:
        check_memory(
            8.0 * len(rows) ** 2,
            f"The kernel matrix of {len(rows):,} samples",
            "use fewer samples, or SVR, which does not store it.",
        )
        threads = self._threads(len(rows))
        if isinstance(self.kernel_, Precomputed):
            K = self.X_fit_.toarray() if sp.issparse(self.X_fit_) else self.X_fit_
            K = K[np.ix_(rows, rows)].astype(np.float64, copy=False)
        else:
            every = np.arange(len(rows))
            K = make_gram(self.kernel_, computing_form(self.X_fit_[rows]), threads=threads).block(every, every)
        return RidgeSystem(K, weights, bool(self.fit_intercept), threads)

    def _publish(self, coefficients: Array, intercept: Array, expansion: KernelExpansion) -> None:
        """Set what a user sees, and the fitted function."""
        self._expansion = expansion
        self.dual_coef_ = coefficients.ravel() if self._single else coefficients
        self.intercept_: Any = float(intercept[0]) if self._single else intercept


@documented(SKLEARN_ENTRIES)
@parameters
class KernelRidge(RidgeMethod):
    """Kernel ridge regression.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Weight of the penalty |f|^2, >= 0: one for all targets, or one per target. 0 interpolates the data if K is
        nonsingular.
    {kernel, gamma, degree, coef0, kernel_params}
    fit_intercept : bool, default=False
        Whether to fit an unpenalised intercept b. Without it, predictions shrink towards zero, unless the kernel
        includes a constant.
    {n_jobs}

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        The coefficients c.
    intercept_ : float or array of shape (n_targets,)
        The constant b; 0 without ``fit_intercept``.
    {X_fit_, kernel_, n_features_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelRidge
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1.0).fit(x, np.sin(x).ravel())
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    >>> B = model.blend_weights([[1.0]])  # the prediction as a blend of the 50 targets
    >>> B.shape, bool(np.isclose(B @ np.sin(x).ravel(), model.predict([[1.0]]))[0])
    ((1, 50), True)
    """

    alpha: Any = 1.0

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function to training data.

        {X_train, y_outputs, sample_weight -> self}
        """
        check_flag("fit_intercept", self.fit_intercept)
        X, Y, weights = self._checked(X, y, sample_weight)
        self._alphas = _check_alphas(self.alpha, Y.shape[1])
        used = np.flatnonzero(weights)
        if self._is_narrow(len(used)) and self._alphas.min() > 0:
            self._fit_linear(Y)
            return self
        system = self._system()
        coefficients = np.zeros(Y.shape)
        coefficients[used], intercept = _by_alpha(system.dual, Y[used], self._alphas)
        for alpha in np.unique(self._alphas):
            system.warn(float(alpha))
        self._publish(coefficients, intercept, expansion_of(self.kernel_, self.X_fit_, coefficients, intercept))
        return self


def _check_alphas(alpha: Any, n_targets: int) -> Array:
    """The penalty of each target."""
    if np.ndim(alpha) == 0:
        return np.full(n_targets, check_number("alpha", alpha, least=0))
    alphas = [check_number(f"alpha[{i}]", value, least=0) for i, value in enumerate(alpha)]
    if len(alphas) not in (1, n_targets):
        raise ValueError(f"alpha has {len(alphas)} values and y has {n_targets} targets: give one, or one for each.")
    return np.broadcast_to(np.array(alphas), n_targets).copy()


def _by_alpha(solve: Any, Y: Array, alphas: Array) -> tuple[Array, ...]:
    """``solve(targets, alpha)`` for the targets of each alpha, put together again: whatever it returns has a column, or
    a number, for each target."""
    groups = [np.flatnonzero(alphas == alpha) for alpha in np.unique(alphas)]
    parts = [solve(Y[:, of], float(alphas[of[0]])) for of in groups]
    back = np.argsort(np.concatenate(groups))
    return tuple(np.concatenate(part, axis=-1)[..., back] for part in zip(*parts, strict=True))
