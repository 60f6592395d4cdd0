"""Kernel ridge regression with alpha chosen by leave-one-out, for all alphas from one eigendecomposition.

For fixed alpha the fitted values are linear in the targets, f = Hy, and leaving row i out changes its residual r_i by a
known factor: the error of the fit without row i is

    e_i = y_i - f_(-i)(x_i) = r_i / (1 - H_ii).

In the scaled coordinates of ``ridge_system``, with A = V diag(l) V' and the intercept's direction q taken out of V,

    I - H = V diag(g) V',   g_k = alpha / (l_k + alpha),   r = V diag(g) V'y,   1 - H_ii = sum_k g_k V_ik^2,

which costs O(n^2) per alpha. The linear kernel with few columns needs only the d eigenvectors of A = ZZ' (Z the scaled
and centred points) whose eigenvalue is not zero: I - H = I - qq' - V diag(1 - g) V'.

Equal rows with equal targets count as one, with the sum of their weights, and are left out together: a row that has a
copy in the training set would not be left out at all.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.metrics import check_scoring

from maxmargin.kernel_methods.base import SKLEARN_ENTRIES
from maxmargin.kernel_methods.ridge.kernel_ridge import RidgeMethod
from maxmargin.kernel_methods.ridge.ridge_system import RidgeSystem
from maxmargin.kernels import Precomputed
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.decompositions import svd
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, check_flag, check_memory, check_number
from maxmargin.svm.kernel_input import expansion_of

DEFAULT_ALPHAS = np.logspace(-6, 2, 17)  # times the mean of k(x, x)
CHUNK_MAX_ROWS = 512  # whose errors are computed at a time


@documented(SKLEARN_ENTRIES)
@parameters
class KernelRidgeCV(RidgeMethod):
    """Kernel ridge regression with alpha chosen by leave-one-out cross-validation.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=None
        The values to try, > 0; None tries 17 values from 1e-6 to 100 times the mean of k(x, x).
    {kernel, gamma, degree, coef0, kernel_params}
    fit_intercept : bool, default=False
        Whether to fit an unpenalised intercept b.
    scoring : str, callable or None, default=None
        Score of the leave-one-out predictions: one of scikit-learn's scorers, where higher is better; None is the
        negative mean squared error.
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``.
    {n_jobs}

    Attributes
    ----------
    alpha_ : float
        The best alpha, with which the model is fitted.
    best_score_ : float
        Its score.
    alphas_, scores_ : arrays of shape (n_alphas,)
        The values that were tried and their scores.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With ``store_cv_results=True``: squared leave-one-out errors or, with ``scoring``, the leave-one-out
        predictions. NaN for samples of weight zero.
    dual_coef_, intercept_, X_fit_, kernel_, n_features_in_
        As in :class:`KernelRidge`.

    Notes
    -----
    Equal samples with equal targets are left out together, so that a weight of two and a repetition choose the same
    alpha. With a precomputed kernel, or points that are not vectors, rows are not compared.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, (60, 1))
    >>> y = np.sin(x).ravel() + 0.1 * rng.standard_normal(60)
    >>> model = KernelRidgeCV(alphas=[1e-3, 1e-1, 10.0, 1e3], kernel="rbf", gamma=1.0).fit(x, y)
    >>> model.alpha_
    0.1
    """

    alphas: Any = None
    _: KW_ONLY
    scoring: Any = None
    store_cv_results: bool = False

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose alpha, and fit the function to the training data with it.

        {X_train, y_outputs, sample_weight -> self}
        """
        check_flag("fit_intercept", self.fit_intercept)
        check_flag("store_cv_results", self.store_cv_results)
        alphas = self._check_grid()
        X, Y, weights = self._checked(X, y, sample_weight)
        code = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
        merge = X.dtype != object and not isinstance(self.kernel_, Precomputed)
        rows = canonical_rows(X, code, weights, merge=merge)
        at = rows.representative
        if len(at) < 2:
            raise ValueError(
                f"Leave-one-out needs 2 distinct samples; got n_samples = {X.shape[0]}, {len(at)} distinct."
            )
        if alphas is None:
            alphas = DEFAULT_ALPHAS * (self._mean_size(at) or 1.0)
        system = None if self._is_narrow(len(at)) else self._large_system(at, rows.weight)
        if system is None:
            errors = self._narrow_errors(Y[at], at, rows.weight, alphas)
        else:
            values, V = system.decompose()
            errors = leave_one_out_errors(V, alphas / (values[:, None] + alphas), Y[at], system.s)
        used = np.flatnonzero(rows.member_of >= 0)
        errors = errors[rows.member_of[used]]  # of every input row that has weight
        self.alphas_ = alphas
        self.scores_ = self._scores(Y[used], errors, weights[used], sample_weight is not None)
        best = int(np.argmax(self.scores_))
        self.alpha_, self.best_score_ = float(alphas[best]), float(self.scores_[best])
        self._alphas = np.full(Y.shape[1], self.alpha_)
        if system is None:
            self._fit_linear(Y)
        else:
            merged, intercept = system.dual(Y[at], self.alpha_)
            system.warn(self.alpha_)
            coefficients = merged[rows.member_of] * rows.share(weights)[:, None]
            self._publish(coefficients, intercept, expansion_of(self.kernel_, self.X_fit_, coefficients, intercept))
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results:
            kept = np.full((len(Y), *errors.shape[1:]), np.nan)
            kept[used] = errors**2 if self.scoring is None else Y[used][:, :, None] - errors
            self.cv_results_ = kept[:, 0] if self._single else kept
        return self

    def _check_grid(self) -> Array | None:
        if self.alphas is None:
            return None
        if np.ndim(self.alphas) != 1 or len(self.alphas) == 0:
            raise ValueError(f"alphas must be a list of numbers > 0; got alphas={self.alphas!r}.")
        return np.array([check_number(f"alphas[{i}]", value, above=0) for i, value in enumerate(self.alphas)])

    def _mean_size(self, at: Array) -> float:
        """The mean of k(x, x)."""
        if isinstance(self.kernel_, Precomputed):
            return float(np.abs(self.X_fit_.diagonal()[at]).mean())
        return float(np.abs(self.kernel_.self_similarity(self.X_fit_[at])).mean())

    def _large_system(self, at: Array, weights: Array) -> RidgeSystem:
        """The linear system of these rows, if its eigenvectors fit into memory."""
        check_memory(
            24.0 * len(at) ** 2, f"The eigenvectors of a kernel matrix of {len(at):,} rows", "use fewer samples."
        )
        return self._system_of(at, weights)

    def _narrow_errors(self, Y: Array, at: Array, weights: Array, alphas: Array) -> Array:
        """Leave-one-out errors of the linear kernel, from the singular vectors of Z."""
        X, s = self.X_fit_[at], np.sqrt(weights)
        X = (X.toarray() if sp.issparse(X) else X).astype(np.float64, copy=False)
        q = s / np.sqrt(weights.sum()) if self.fit_intercept else np.zeros(len(s))
        with single_threaded_blas():
            Z, target = (s[:, None] * part for part in (X, Y))
            Z, target = (part - q[:, None] * (q @ part) for part in (Z, target))
            V, values, _ = svd(Z)
        shrunk = -(values[:, None] ** 2) / (values[:, None] ** 2 + alphas)  # g - 1
        return leave_one_out_errors(V, shrunk, Y, s, rest=target, left=1.0 - q[:, None] ** 2)

    def _scores(self, Y: Array, errors: Array, weights: Array, weighted: bool) -> Array:
        """The score of each alpha; one that is no number counts as the worst."""
        if self.scoring is None:
            scores = -np.einsum("i,ita->a", weights, errors**2) / (weights.sum() * Y.shape[1])
        else:
            scorer = check_scoring(_Given(), scoring=self.scoring)
            extra = {"sample_weight": weights} if weighted else {}
            predicted = np.moveaxis(Y[:, :, None] - errors, 2, 0)
            if self._single:
                Y, predicted = Y[:, 0], predicted[:, :, 0]
            scores = np.array([scorer(_Given(), values, Y, **extra) for values in predicted])
        return np.where(np.isnan(scores), -np.inf, scores)


def leave_one_out_errors(V: Array, g: Array, Y: Array, s: Array, rest: Any = 0.0, left: Any = 0.0) -> Array:
    """e_i of every row, target and alpha, shape (n, n_targets, n_alphas), from r = rest + V diag(g) V'y and
    1 - H_ii = left + sum_k g_k V_ik^2; ``g`` has one column per alpha."""
    errors = np.empty((len(s), Y.shape[1], g.shape[1]))
    rest, left = (np.broadcast_to(value, (len(s), width)) for value, width in ((rest, Y.shape[1]), (left, 1)))
    with single_threaded_blas(), np.errstate(divide="ignore", invalid="ignore"):
        coordinates = V.T @ (s[:, None] * Y)
        weighted = (coordinates[:, :, None] * g[:, None, :]).reshape(len(g), -1)
        for start in range(0, len(s), CHUNK_MAX_ROWS):
            rows = slice(start, start + CHUNK_MAX_ROWS)
            residual = rest[rows, :, None] + (V[rows] @ weighted).reshape(-1, *errors.shape[1:])
            errors[rows] = residual / ((left[rows] + (V[rows] ** 2) @ g) * s[rows, None])[:, None, :]
    return errors


class _Given(RegressorMixin, Estimator):
    """A model that returns given predictions, for scorers, which take an estimator."""

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def predict(self, X: Array) -> Array:
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True
