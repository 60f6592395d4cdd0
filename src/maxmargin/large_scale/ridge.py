"""Kernel ridge regression on landmarks, for millions of rows: ``NystroemRidge``."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from sklearn.base import MultiOutputMixin

from maxmargin.large_scale.parameter_docs import LANDMARK_ENTRIES
from maxmargin.large_scale.regression import LandmarkRegressor
from maxmargin.problems.losses import Loss, make_loss
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, Points, check_number, check_outputs


@documented(LANDMARK_ENTRIES)
@parameters
class NystroemRidge(MultiOutputMixin, LandmarkRegressor):
    """Kernel ridge regression for up to millions of rows.

    Minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha |f|^2 over the functions f(x) = sum_j B_j k(x, z_j) of m landmarks
    z_j. Time and memory grow with n m; the linear system is solved by conjugate gradients, preconditioned by a sample
    of the rows (Rudi, Carratino & Rosasco 2017). With all rows as landmarks it is :class:`~maxmargin.KernelRidge`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty |f|^2, > 0.
    {kernel, gamma, degree, coef0, n_components, landmarks, fit_intercept}
    tol : float, default=1e-5
        Stop when the relative duality gap of each target is at most this.
    {cache_size, max_iter, max_seconds, random_state, n_jobs, verbose}

    Attributes
    ----------
    coefficients_ : array of shape (n_components_, n_targets)
        B.
    intercept_ : array of shape (n_targets,)
    {landmarks_, landmark_indices_, n_components_, n_iter_, kernel_, report_, history_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    maxmargin.KernelRidge : The exact one.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale import NystroemRidge
    >>> x = np.linspace(0.0, 6.0, 5000)[:, None]
    >>> model = NystroemRidge(alpha=1e-3, n_components=20).fit(x, np.sin(x).ravel())
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    alpha: float = 1.0
    _: KW_ONLY
    tol: float = 1e-5

    _has_margin = False

    @property
    def _objective_unit(self) -> float:  # type: ignore[override]
        return 2.0 * float(self.alpha)

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, above=0, remedy="For next to no penalty give a small number, like 1e-8.")
        self._check_options()

    def _loss(self) -> Loss:
        return make_loss("squared")

    def _loss_weight(self) -> float:
        return 0.5 / float(self.alpha)

    def _summary(self) -> tuple[str, str]:
        return self._named(), f"alpha = {self.alpha:g}, squared loss"

    def _training_values(self, X: Any, y: Any) -> tuple[Points, Array]:
        X = self._training_points(X)
        Y, self._single = check_outputs(y, X.shape[0])
        return X, Y
