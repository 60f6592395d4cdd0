"""The linear estimator that chooses C by cross-validation: ``LinearSVCCV``.

Every fold follows its own path of C, from the smallest to the largest; each fit starts from the last one's solution.
Folds run side by side.
"""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY
from typing import Any

from sklearn.base import clone

from maxmargin.model_selection.base import GridSearch
from maxmargin.model_selection.estimators import ClassifierSearch
from maxmargin.model_selection.grid import C_AXIS, Variant
from maxmargin.model_selection.jobs import EstimatorJob, Setting
from maxmargin.model_selection.parameter_docs import SEARCH_ENTRIES
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Points
from maxmargin.svm import LinearSVC


class LinearJob(EstimatorJob):
    """One fold along C. Linear models are small, so scorers are given the fitted models themselves."""

    def __init__(self, *args: Any, names: Any) -> None:
        super().__init__(*args)
        self.names = names

    def _clone(self) -> Any:
        return clone(self.estimator).set_params(warm_start=True, n_jobs=1, verbose=False)

    def _scored_model(self, test: Points) -> Any:
        model = copy.copy(self.estimator)
        model._last_fit = None
        if self.names is not None:
            model.feature_names_in_ = self.names
        return model


@documented(SEARCH_ENTRIES)
@parameters
class LinearSVCCV(ClassifierSearch, GridSearch):
    """Linear support vector classification with C chosen by cross-validation.

    The scores are those of ``GridSearchCV`` around :class:`LinearSVC`; every C starts from the solution of the next
    smaller one.

    {Parameters, Cs, cv, scoring, refit, refine}
    penalty, loss, dual, tol, multi_class, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, \
solver
        As in :class:`LinearSVC`.
    {n_jobs, max_seconds, verbose}

    Attributes
    ----------
    {best_params_, C_, best_estimator_}
    coef_, intercept_ : arrays
        Of ``best_estimator_``.
    {cv_results_, error_reasons_, status_, n_splits_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.model_selection import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LinearSVCCV(Cs=[0.001, 0.1, 10.0]).fit(X, y)
    >>> search.C_, search.best_score_ > 0.9
    (10.0, True)
    """

    kernel, gammas, kernel_params, degree, coef0 = "linear", None, None, 3, 0.0
    cache_size = 0.0  # no kernel values are held

    _: KW_ONLY
    Cs: Any = None
    penalty: str = "l2"
    loss: str = "squared_hinge"
    dual: Any = "auto"
    tol: float = 1e-4
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    class_weight: Any = None
    random_state: Any = None
    max_iter: int = 1000
    solver: Any = "auto"

    _searched = LinearSVC
    _axes = (C_AXIS,)

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> LinearJob:
        return LinearJob(setting, kernel, K, fold, cells, names=getattr(self, "feature_names_in_", None))

    def _kernel_parameters(self, variant: Variant) -> dict[str, Any]:
        return {}

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per binary model."""
        return self._best("coef_").coef_

    @property
    def intercept_(self) -> Any:
        """The intercept of each binary model."""
        return self._best("intercept_").intercept_
