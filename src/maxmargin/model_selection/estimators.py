"""Estimators with built-in cross-validation that share computations.

``SVCCV``, ``SVRCV`` and ``NuSVCCV`` give the scores of ``GridSearchCV`` around ``SVC``, ``SVR`` and ``NuSVC``; the
refit model is the estimator itself, with its report and its certificate.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from maxmargin.model_selection.base import GridSearch
from maxmargin.model_selection.grid import C_AXIS, EPSILON_AXIS, Axis
from maxmargin.model_selection.held_jobs import TubeJob
from maxmargin.model_selection.jobs import (
    CLASSES_MAX_ROUNDING,
    TUBE_MAX_ROUNDING,
    EstimatorJob,
    Job,
    PathJob,
    Setting,
    precise,
)
from maxmargin.model_selection.parameter_docs import SEARCH_ENTRIES
from maxmargin.model_selection.partition import search_in_cells
from maxmargin.model_selection.results import ScoreByScorer
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array
from maxmargin.svm import SVC, SVR, NuSVC


@parameters
class KernelSearch(GridSearch):
    """A search over kernels."""

    _: KW_ONLY
    gammas: Any = None
    kernel: Any = "rbf"
    kernel_params: Any = None
    degree: float = 3
    coef0: float = 0.0
    tol: float = 1e-3
    max_iter: int = -1
    solver: str = "auto"
    cache_size: float = 1000


@documented(SEARCH_ENTRIES)
class ClassifierSearch(ScoreByScorer, ClassifierMixin):
    """What the classifiers' searches share."""

    _best: Any
    _classifies = True

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points, by the best model.

        {Parameters, X_new}

        Returns
        -------
        decision : array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
        """
        return self._best("decision_function").decision_function(X)


@parameters
class KernelClassifierSearch(ClassifierSearch, KernelSearch):
    """The parameters of ``SVC`` and ``NuSVC`` that are not searched."""

    _: KW_ONLY
    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    multiclass: str = "ovo"
    fit_intercept: bool = True


@documented(SEARCH_ENTRIES)
@parameters
class SVCCV(KernelClassifierSearch):
    """Support vector classification with C and the kernel chosen by cross-validation.

    The scores are those of ``GridSearchCV`` around :class:`SVC`, but kernel values are computed once for all folds and
    all C, and every C starts from the solution of the next smaller one.

    {Parameters, Cs, gammas, kernel, kernel_params, cv, scoring, refit, refine}
    cells : int or None, default=None
        Approximation for large data: divide the input space into cells of at most this many rows, and search in each
        cell separately. A point is predicted by the model of its cell. For hundreds of thousands of rows; 2000 is a
        good size.
    {degree, coef0}
    tol, class_weight, max_iter, decision_function_shape, break_ties, random_state, multiclass, solver, fit_intercept
        As in :class:`SVC`.
    {cache_size, n_jobs, max_seconds, verbose}

    Attributes
    ----------
    {best_params_, C_, gamma_, best_estimator_, cv_results_, error_reasons_, status_, n_splits_}

    Notes
    -----
    With ``cells`` each cell has its own hyperparameters. ``best_params_`` has the best mean score over the cells with
    at least two classes, weighted by their rows; ``best_score_`` is the mean of the cells' best scores;
    ``best_estimator_`` contains the models of the cells, each with its certificate. There is no certificate for the
    combined model.

    Data-dependent kernel parameters (``gamma="scale"``) are computed once, from all of X. With
    ``sample_weight``, models and scores are weighted; a scorer without weights gets the samples of nonzero weight.

    The first Ctrl-C ends the search: the attributes contain the scores so far, there is no refit, and
    ``KeyboardInterrupt`` is raised; inside ``with maxmargin.interrupts("keep"):`` the best cell so far is refit, and
    ``fit`` returns. Before the first score, or at a second Ctrl-C, the search is left unchanged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.model_selection import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0]).fit(X, y)
    >>> search.best_params_
    {'C': 1.0, 'gamma': 0.1}
    >>> round(search.best_score_, 2)
    0.98
    >>> search.best_estimator_.report_.status.converged
    True
    """

    _: KW_ONLY
    Cs: Any = None
    cells: int | None = None

    _searched = SVC
    _axes = (C_AXIS,)

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Score every candidate of the grid, and fit the best model to all data; in each cell, if there are any.

        {X_train, y, sample_weight, groups -> self}
        """
        if self.cells is None:
            return super().fit(X, y, sample_weight, groups)
        search_in_cells(self, X, y, sample_weight, groups)
        return self

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Job:
        finite = all(math.isfinite(cell.hyperparameters["C"]) for _, cell in cells)
        plain = self.solver == "auto" and self.multiclass in ("ovo", "ovr") and self.fit_intercept and finite
        held = K is not None and plain and precise(K, CLASSES_MAX_ROUNDING * self.tol)
        return (PathJob if held else EstimatorJob)(setting, kernel, K, fold, cells)


@documented(SEARCH_ENTRIES)
@parameters
class NuSVCCV(KernelClassifierSearch):
    """nu-support vector classification with nu and the kernel chosen by cross-validation.

    Parameters
    ----------
    nus : list of float, default=None
        Values of nu to try, in (0, 1]; None tries 0.05, 0.1, 0.2, 0.3, 0.5. A value that is infeasible in a fold is
        marked as failed.
    {gammas, kernel, kernel_params, cv, scoring, refit, refine, degree, coef0}
    tol, class_weight, max_iter, decision_function_shape, break_ties, random_state, multiclass, solver, fit_intercept
        As in :class:`NuSVC`.
    {cache_size, n_jobs, max_seconds, verbose}

    Attributes
    ----------
    {best_params_, nu_, gamma_, best_estimator_, cv_results_, error_reasons_, status_, n_splits_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.model_selection import NuSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = NuSVCCV(nus=[0.05, 0.1, 0.5], gammas=[0.1, 1.0]).fit(X, y)
    >>> search.best_score_ > 0.95
    True
    """

    _: KW_ONLY
    nus: Any = None

    _searched = NuSVC
    _axes = (Axis("nu", "nus", (0.05, 0.1, 0.2, 0.3, 0.5), {"above": 0, "most": 1}),)

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Job:
        return EstimatorJob(setting, kernel, K, fold, cells)


@documented(SEARCH_ENTRIES)
@parameters
class SVRCV(ScoreByScorer, RegressorMixin, KernelSearch):
    """Support vector regression with C, epsilon and the kernel chosen by cross-validation.

    {Parameters, Cs}
    epsilons : list of float or Range, default=(0.1,)
        Values of epsilon to try, >= 0.
    {gammas, kernel, kernel_params, cv, scoring, refit, refine, degree, coef0}
    tol, max_iter, solver, fit_intercept
        As in :class:`SVR`.
    {cache_size, n_jobs, max_seconds, verbose}

    Attributes
    ----------
    {best_params_, C_, gamma_, best_estimator_, cv_results_, error_reasons_, status_}
    n_splits_, scorer_, refit_time_, n_features_in_
        As in ``GridSearchCV``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model_selection import SVRCV
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> search = SVRCV(Cs=[0.1, 10.0], epsilons=[0.01, 0.5], gammas=[0.01, 1.0], cv=3).fit(x, np.sin(x).ravel())
    >>> search.best_params_["epsilon"], search.best_params_["gamma"]
    (0.01, 1.0)
    """

    _: KW_ONLY
    Cs: Any = None
    epsilons: Any = (0.1,)
    fit_intercept: bool = True

    _searched = SVR
    _axes = (C_AXIS, EPSILON_AXIS)

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Job:
        finite = all(math.isfinite(cell.hyperparameters["C"]) for _, cell in cells)
        plain = self.solver == "auto" and finite and np.count_nonzero(fold.weight) > 0
        held = K is not None and plain and precise(K, TUBE_MAX_ROUNDING * self.tol)
        return (TubeJob if held else EstimatorJob)(setting, kernel, K, fold, cells)
