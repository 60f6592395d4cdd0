"""The linear estimator that chooses C by cross-validation: ``LinearSVCCV``.

Every fold follows its own path of C, from the smallest to the largest; each estimator starts from the last one's
solution. Folds run side by side.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.model_selection.base import Setting
from maxmargin.model_selection.estimators import CS, ClassifierSearch
from maxmargin.model_selection.grid import Variant, axis
from maxmargin.model_selection.jobs import Answer, EstimatorJob, check_two_classes
from maxmargin.runtime.validation import Points
from maxmargin.svm import LinearSVC


class LinearJob(EstimatorJob):
    """One fold along C. Linear models are small, so scorers are given the fitted models themselves."""

    def __init__(self, setting: Setting, fold: Any, cells: Any, names: Any) -> None:
        self.fold, self.cells, self.control, self.target = fold, cells, setting.control, setting.target
        self.K, self.X, self.names = None, setting.points, names
        self.rows = np.flatnonzero(fold.weight)
        check_two_classes(setting.classes[np.unique(setting.codes[self.rows])])
        self.estimator = clone(setting.estimator).set_params(warm_start=True, n_jobs=1, verbose=False)
        self.found: list[Answer] = []

    def _scored_model(self, test: Points) -> Any:
        model = copy.copy(self.estimator)
        model._last_fit = None
        if self.names is not None:
            model.feature_names_in_ = self.names
        return model


class LinearSVCCV(ClassifierSearch):
    """Linear support vector classification with C chosen by cross-validation.

    The scores are those of ``GridSearchCV`` around :class:`LinearSVC`; every C starts from the solution of the next
    smaller one.

    Parameters
    ----------
    Cs : list of float or Range, default=None
        Values of C to try; None tries 0.01, 0.1, ..., 1000.
    cv, scoring, refit, refine, n_jobs, max_seconds, verbose
        As in :class:`SVCCV`.
    penalty, loss, dual, tol, multi_class, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, \
solver
        As in :class:`LinearSVC`.

    Attributes
    ----------
    C_ : float
        The best C.
    best_estimator_ : LinearSVC
    coef_, intercept_ : arrays
        Of ``best_estimator_``.
    best_params_, best_score_, best_index_, cv_results_, error_reasons_, status_, n_splits_, scorer_, refit_time_, \
classes_, n_features_in_
        As in :class:`SVCCV`.

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

    def __init__(
        self,
        *,
        Cs: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        refine: int = False,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        dual: Any = "auto",
        tol: float = 1e-4,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        max_iter: int = 1000,
        solver: Any = "auto",
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.refine = refine
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.verbose = verbose

    def _estimator(self) -> LinearSVC:
        return LinearSVC(**self._shared(LinearSVC))

    def _axes(self) -> dict[str, list[Any]]:
        return {"C": list(CS) if self.Cs is None else axis("Cs", self.Cs, above=0, infinite=True)}

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> LinearJob:
        return LinearJob(setting, fold, cells, getattr(self, "feature_names_in_", None))

    def _kernel_parameters(self, variant: Variant) -> dict[str, Any]:
        return {}

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row a estimator."""
        return self._best("coef_").coef_

    @property
    def intercept_(self) -> Any:
        """The intercept of each estimator."""
        return self._best("intercept_").intercept_
