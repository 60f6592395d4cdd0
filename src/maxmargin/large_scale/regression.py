"""Support vector regression on landmarks, for millions of rows: ``NystroemSVR``."""

from __future__ import annotations

import abc
import math
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from maxmargin.large_scale.estimator import LandmarkEstimator
from maxmargin.large_scale.parameter_docs import LANDMARK_ENTRIES
from maxmargin.large_scale.rows.targets import Regression, Targets
from maxmargin.large_scale.training import Problem
from maxmargin.problems.losses import Loss, make_loss
from maxmargin.runtime.control import Control
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_number, check_outputs, check_targets

TUBE_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@documented(LANDMARK_ENTRIES)
class LandmarkRegressor(RegressorMixin, LandmarkEstimator):
    """What regressions on landmarks share: real targets of one or several outputs."""

    _single = True
    _error_name = "root mean squared training error"

    @abc.abstractmethod
    def _loss_weight(self) -> float:
        """The weight of the loss of a row of weight one, where the penalty is 1/2 |f|^2."""

    def _pose(self, mean: Array, spread: float) -> Problem:
        """The problem of targets with these means and, at most, this standard deviation."""
        if not math.isfinite(spread):
            raise ValueError("The targets are so large that their squares overflow: divide y by a constant.")
        scale = spread if spread > 0 else max(1.0, float(np.abs(mean).max()))
        first_b = mean if self.fit_intercept else np.zeros(len(mean))
        return Problem(Regression(self._loss_weight()), self._loss(), scale, first_b)

    def _training_values(self, X: Any, y: Any) -> tuple[Points, Array]:
        """Validated points, and targets of shape (n, outputs)."""
        X, y = self._training_points(X, y, supervised=True, numeric=True)
        return X, y.astype(np.float64)[:, None]

    @all_or_nothing
    def fit_stream(self, source: Any, *, target: Any = None) -> Self:
        """Fit the model to rows in batches, from a file or an iterable.

        The solver reads the rows several times. They are kept in memory if they fit into ``cache_size``, otherwise in a
        temporary file, which is removed at the end.

        {source, target -> self}

        Examples
        --------
        >>> import numpy as np
        >>> from maxmargin.large_scale import NystroemSVR
        >>> x = np.linspace(0.0, 6.0, 90)[:, None]
        >>> model = NystroemSVR().fit_stream((x[i::3], np.sin(x[i::3, 0])) for i in range(3))
        >>> model.score(x, np.sin(x[:, 0])) > 0.9
        True
        """
        self._single = True
        return self._fit_stream(source, target)

    def _joined(self, parts: list[Array]) -> Array:
        y = np.concatenate(parts)
        return check_targets(y, len(y), numeric=True)[:, None]

    def _fit_targets(self, X: Points, y: Array, weights: Array, control: Control, source: str = "") -> None:
        share = weights / weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = share @ y
            spread = float(np.sqrt(share @ ((y - mean) ** 2)).max())
        self._fit_rows(X, y, weights, self._pose(mean, spread), control, source)

    def _set_function(self, coefficients: Array, intercept: Array) -> None:
        self.coefficients_, self.intercept_ = coefficients, intercept

    def _named(self) -> str:
        outputs = len(self.intercept_)
        return f"{type(self).__name__}, approximate" + (f", {outputs} targets" if outputs > 1 else "")

    def predict(self, X: Any) -> Array:
        """Values at new points.

        {X_new -> outputs}
        """
        X = self._new_points(X)
        values = self._expand(self._expansion, X)
        return values[:, 0] if self._single else values

    def _exact_targets(self, y: Any, values: Array, weights: Array) -> tuple[Array, Targets]:
        Y = np.asarray(y, dtype=np.float64).reshape(values.shape)
        at, targets = Regression(self._loss_weight()).targets(Y, weights)
        return values[at], targets


@documented(LANDMARK_ENTRIES)
@parameters
class NystroemSVR(LandmarkRegressor):
    """Support vector regression with a kernel, for up to millions of rows.

    Minimises 1/2 |f|^2 + C sum_i loss(|y_i - f(x_i) - b| - epsilon) over the functions f(x) = sum_j B_j k(x, z_j) of m
    landmarks z_j. Time and memory grow with n m. With all rows as landmarks it is the exact problem.

    Parameters
    ----------
    C : float, default=1.0
        Weight of errors outside the tube, > 0: the smaller, the stronger the regularisation.
    epsilon : float, default=0.1
        Half the width of the tube inside which errors cost nothing.
    {kernel, gamma, degree, coef0, n_components, landmarks}
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        max(0, r) or max(0, r)^2 of r = |y - f(x) - b| - epsilon.
    {fit_intercept, tol, cache_size, max_iter, max_seconds, random_state, n_jobs, verbose}

    Attributes
    ----------
    coefficients_ : array of shape (n_components_, 1)
        B.
    intercept_ : array of shape (1,)
        b.
    {landmarks_, landmark_indices_, n_components_, n_iter_, kernel_, report_, history_}
    {n_features_in_, feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale import NystroemSVR
    >>> x = np.linspace(0.0, 6.0, 5000)[:, None]
    >>> model = NystroemSVR(C=10.0, epsilon=0.01, n_components=20).fit(x, np.sin(x).ravel())
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.02)
    True
    """

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"

    def _check_parameters(self) -> None:
        check_number("C", self.C, above=0, remedy="For a tube without exceptions use SVR(C=inf).")
        check_number("epsilon", self.epsilon, least=0)
        check_choice("loss", self.loss, TUBE_LOSSES)
        self._check_options()

    def _loss(self) -> Loss:
        return make_loss(self.loss, epsilon=float(self.epsilon))

    def _loss_weight(self) -> float:
        return float(self.C)

    def _summary(self) -> tuple[str, str]:
        return self._named(), f"C = {self.C:g}, epsilon = {self.epsilon:g}, {self.loss.replace('_', ' ')} loss"


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
        b of each target.
    {landmarks_, landmark_indices_, n_components_, n_iter_, kernel_, report_, history_}
    {n_features_in_, feature_names_in_}

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
