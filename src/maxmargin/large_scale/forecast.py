"""Exact or approximate? Both estimators on samples of the rows, before a long fit."""

from __future__ import annotations

from typing import Any

from maxmargin.large_scale.classification import NystroemSVC
from maxmargin.large_scale.regression import NystroemSVR
from maxmargin.runtime.validation import check_points, check_targets, check_weights
from maxmargin.svm.kernel.forecast import Forecast, forecast

APPROXIMATIONS = {kind.__name__: kind for kind in (NystroemSVC, NystroemSVR)}
# with the same meaning in the exact and the approximate estimator; tolerances and limits differ
PROBLEM_PARAMETERS = (
    *("C", "epsilon", "kernel", "gamma", "degree", "coef0"),
    *("fit_intercept", "class_weight", "n_jobs"),
)


def forecast_approximation(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Forecast | None:
    """Estimate the cost of an exact fit and of its approximation from fits to samples of the rows.

    Parameters
    ----------
    estimator : SVC or SVR
        Not fitted; a copy of it is fitted to the samples.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Targets.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means that all are one.

    Returns
    -------
    Forecast or None
        ``seconds``, ``n_support``, ``megabytes`` and ``score`` of the exact fit, ``approximate_seconds`` and
        ``approximate_score`` of ``alternative``. None if the exact fit takes less than a minute.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.large_scale import forecast_approximation
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> forecast_approximation(SVC(), X, X[:, 0] > 0) is None  # 500 rows take no minute
    True
    """
    X = check_points(X)
    y = check_targets(y, X.shape[0])
    name = getattr(estimator, "_approximation", None)
    if name is None:
        raise ValueError(
            f"estimator={estimator!r} has no approximation: it takes SVC or SVR with a finite C "
            f"({', '.join(APPROXIMATIONS)} approximate them)."
        )
    kind = APPROXIMATIONS[name]
    known = kind().get_params()
    shared = {key: getattr(estimator, key) for key in PROBLEM_PARAMETERS if key in known and hasattr(estimator, key)}
    return forecast(estimator, X, y, check_weights(sample_weight, X.shape[0]), alternative=kind(**shared))
