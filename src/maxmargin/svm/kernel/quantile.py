"""Quantile regression with kernels: ``QuantileSVR``."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import d2_pinball_score

from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array, check_flag, check_number, check_targets, check_weights, shown
from maxmargin.svm.kernel.formulations import Formulation, QuantileRegression
from maxmargin.svm.kernel.regression import KernelRegressor
from maxmargin.svm.models.predictor import Predictor


@documented()
@parameters
class QuantileSVR(KernelRegressor):
    """Support vector quantile regression.

    Minimises, for each quantile q,

        1/2 |w|^2 + C sum_i [ q max(0, y_i - f(x_i)) + (1 - q) max(0, f(x_i) - y_i) ],

    the pinball loss. With an intercept, at the optimum, at most a fraction q of the training targets lie below f, and
    at most 1 - q above.

    Parameters
    ----------
    quantiles : float or list of float, default=0.5
        Between 0 and 1, both excluded. 0.5 is the median.
    C : float, default=1.0
        Penalty of the errors, > 0.
    non_crossing : bool, default=False
        Whether to sort the predicted quantiles of each point. Each q has its own function, and two of them may cross
        where data are scarce. After sorting, the k-th smallest value belongs to the k-th smallest q; on average over
        the quantiles this never moves them away from the true quantiles.
    {kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, fit_intercept, n_jobs}
    {max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (n_quantiles, n_support)
        Coefficients of the support vectors in each function, from -(1 - q) C to q C.
    quantiles_ : array of shape (n_quantiles,)
        The quantiles, in the order of the columns of ``predict``.
    {coef_, intercept_, n_iter_, fit_status_, kernel_, report_, history_}

    Notes
    -----
    All quantiles share their kernel values. For a linear model on many rows use ``LinearSVR(loss="pinball",
    quantile=0.9)``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import QuantileSVR
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, (200, 1))
    >>> y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(200)
    >>> model = QuantileSVR(quantiles=[0.1, 0.5, 0.9], C=10, non_crossing=True).fit(x, y)
    >>> model.predict([[1.0], [2.0]]).shape
    (2, 3)
    >>> [f"{np.mean(y <= column):.1f}" for column in model.predict(x).T]
    ['0.1', '0.5', '0.9']
    """

    _: KW_ONLY
    quantiles: Any = 0.5
    C: float = 1.0
    non_crossing: bool = False

    _error_name: ClassVar[str] = "mean pinball loss in training"
    _several_targets: ClassVar[bool] = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=0, remedy="A quantile leaves points on either side of f: C must be finite.")
        check_flag("non_crossing", self.non_crossing)

    def _training_error(self, residual: Array) -> float:
        q = self.quantiles_[:, None]
        return float(np.mean(np.maximum(-q * residual, (1.0 - q) * residual)))

    def _formulations(self) -> list[Formulation]:
        self.quantiles_ = np.array(check_quantiles(self.quantiles))
        return [QuantileRegression(float(self.C), q, self.fit_intercept) for q in self.quantiles_.tolist()]

    def predict(self, X: Any) -> Array:
        """Quantiles at new points.

        {Parameters, X}

        Returns
        -------
        values : array of shape (n_samples,) or (n_samples, n_quantiles)
            One column per quantile, in the order of ``quantiles``, if that is a list.
        """
        values = self._decision(self._new_points(X))
        if self.non_crossing:
            values = np.sort(values, axis=1)[:, np.argsort(np.argsort(self.quantiles_))]
        return values[:, 0] if np.ndim(self.quantiles) == 0 else values

    def compile_predictor(self) -> Predictor:
        """Compile the fitted model into a fast function of one or several rows, without validation.

        Returns
        -------
        predictor : Predictor
            As ``compile_predictor`` of the other estimators; a model with ``non_crossing=True`` is refused.
        """
        if self.non_crossing:
            raise ValueError("non_crossing=True sorts predictions, which a compiled predictor cannot. Use predict.")
        return super().compile_predictor()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the pinball loss that the model explains, averaged over the quantiles.

        One minus the ratio of its loss to that of the best constant: 1 for a perfect prediction, 0 for a constant
        quantile (:func:`sklearn.metrics.d2_pinball_score`).

        {X, y, sample_weight -> score}
        """
        values = self.predict(X)
        y = check_targets(y, len(values), numeric=True)
        weights = None if sample_weight is None else check_weights(sample_weight, len(y))
        columns = values.reshape(len(y), -1).T
        each = zip(self.quantiles_.tolist(), columns, strict=True)
        return float(np.mean([d2_pinball_score(y, f, alpha=q, sample_weight=weights) for q, f in each]))


def check_quantiles(quantiles: Any) -> list[float]:
    """The quantiles as a list, each between 0 and 1."""
    if np.ndim(quantiles) > 1 or np.size(quantiles) == 0 or isinstance(quantiles, (str, bytes)):
        raise ValueError(
            f"quantiles must be a number between 0 and 1 or a list of them; got quantiles={shown(quantiles)}. "
            "For the median give 0.5."
        )
    each = [quantiles] if np.ndim(quantiles) == 0 else list(quantiles)
    levels = [float(check_number("quantiles", q, above=0, below=1)) for q in each]
    if len(set(levels)) < len(levels):
        raise ValueError(f"quantiles={shown(quantiles)} names a quantile twice. Give each of them once.")
    return levels
