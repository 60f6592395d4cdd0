"""Models that choose their own parameters by cross-validation, with all work shared that can be.

``SVCCV``, ``SVRCV`` and ``NuSVCCV`` give the scores of ``GridSearchCV`` around ``SVC``, ``SVR`` and ``NuSVC``; the
refit model is the estimator itself, with its report and its certificate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from maxmargin.model_selection.base import GridSearch, Setting
from maxmargin.model_selection.grid import axis
from maxmargin.model_selection.jobs import (
    CLASSES_MAX_ROUNDING,
    TUBE_MAX_ROUNDING,
    EstimatorJob,
    PathJob,
    TubeJob,
    check_two_classes,
    precise,
)
from maxmargin.model_selection.scoring import ScoreByScorer
from maxmargin.runtime.validation import Array
from maxmargin.svm import SVC, SVR, NuSVC

CS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]


def estimator_job(setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> EstimatorJob:
    """The job that leaves everything to the estimator itself."""
    at = setting
    if len(at.classes):
        check_two_classes(at.classes[np.unique(at.codes[fold.weight > 0])])
    return EstimatorJob(at.estimator, kernel, at.points, K, at.target, fold, cells, at.control)


class ClassifierSearch(ScoreByScorer, ClassifierMixin, GridSearch):
    """What the classifiers' searches share."""

    _classifies = True

    def decision_function(self, X: Any) -> Array:
        """Decision values of new points, by the best model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        decision : array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
        """
        return self._best("decision_function").decision_function(X)


class SVCCV(ClassifierSearch):
    """Support vector classification with C and the kernel chosen by cross-validation.

    The scores are those of ``GridSearchCV`` around :class:`SVC`, but kernel values are computed once for all folds and
    all C, and every C starts from the solution of the next smaller one.

    Parameters
    ----------
    Cs : list of float or Range, default=None
        Values of C to try; None tries 0.01, 0.1, ..., 1000.
    gammas : list of float, "scale" or "auto", or Range, default=None
        Values of the kernel's gamma. None tries 0.01, 0.1, ..., 100 times "scale", if a kernel given by name has one.
    kernel : str, Kernel, callable or a list of them, default="rbf"
        As in :class:`SVC`; of a list, every one is tried.
    kernel_params : dict of lists, default=None
        Values for other parameters of the kernel, such as ``{"degree": [2, 3], "coef0": [0, 1]}``.
    cv : int, splitter or list of splits, default=None
        scikit-learn's; None means 5 stratified folds.
    scoring : str, callable or None, default=None
        One of scikit-learn's scorers, higher being better; None is the accuracy.
    refit : bool, default=True
        Whether to fit ``best_estimator_`` to all data.
    refine : bool or int, default=False
        After the grid, search a finer one around its best cell; a number says how often.
    degree, coef0 : float, default=3, 0.0
        Parameters of a kernel given by name that are not searched.
    tol, class_weight, max_iter, decision_function_shape, break_ties, random_state, multiclass, solver, fit_intercept
        As in :class:`SVC`.
    cache_size : float, default=1000
        Megabytes for kernel values. Where those of all rows do not fit, every estimator computes its own.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    max_seconds : float or None, default=None
        Stop searching after this time and take the best cell so far. The refit may take a tenth of it more.
    verbose : bool, default=False
        Print progress on standard error.

    Attributes
    ----------
    best_params_, best_score_, best_index_ : dict, float, int
        The best cell, its mean score and its place in ``cv_results_``.
    C_, gamma_ : float
        Its C, and its kernel's gamma as a number, if it has one.
    best_estimator_ : SVC
        Fitted to all data; its ``report_`` has the certificate. Only with ``refit``.
    cv_results_ : dict of arrays
        As that of ``GridSearchCV``, with a column ``reason`` for cells without a score.
    error_reasons_ : dict
        Cell -> split -> why there is no score.
    status_ : str
        ``"complete"``, or how the search ended early.
    n_splits_, scorer_, refit_time_, classes_, n_features_in_
        As in ``GridSearchCV``.

    Notes
    -----
    A kernel that looks at the data (``gamma="scale"``) looks once, at all of X. With ``sample_weight`` models and
    scores are weighted; a scorer that knows no weights is given the samples whose weight is not zero.

    The first Ctrl-C ends the search: what has been scored so far is in its attributes, there is no refit, and
    ``KeyboardInterrupt`` is raised; inside ``with maxmargin.interrupts("keep"):`` the best cell so far is refit, and
    ``fit`` returns. Before there is any score, and at the second Ctrl-C, the search is left as it was.

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

    def __init__(
        self,
        *,
        Cs: Any = None,
        gammas: Any = None,
        kernel: Any = "rbf",
        kernel_params: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        refine: int = False,
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: Any = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multiclass: str = "ovo",
        solver: str = "auto",
        fit_intercept: bool = True,
        cache_size: float = 1000,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.refine = refine
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multiclass = multiclass
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.verbose = verbose

    def _estimator(self) -> SVC:
        return SVC(**self._shared(SVC))

    def _axes(self) -> dict[str, list[Any]]:
        return {"C": list(CS) if self.Cs is None else axis("Cs", self.Cs, above=0, infinite=True)}

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Any:
        finite = all(math.isfinite(cell.hyperparameters["C"]) for _, cell in cells)
        plain = self.solver == "auto" and self.multiclass != "crammer_singer" and self.fit_intercept and finite
        if K is None or not plain or not precise(K, CLASSES_MAX_ROUNDING * self.tol):
            return estimator_job(setting, kernel, K, fold, cells)
        at = setting
        return PathJob(at.estimator, K, at.codes, at.classes, fold, cells, at.control, at.scratch)


class NuSVCCV(ClassifierSearch):
    """nu-support vector classification with nu and the kernel chosen by cross-validation.

    Parameters
    ----------
    nus : list of float, default=None
        Values of nu to try, in (0, 1]; None tries 0.05, 0.1, 0.2, 0.3, 0.5. One that a fold's classes do not allow is
        marked as failed.
    gammas, kernel, kernel_params, cv, scoring, refit, refine, degree, coef0, tol, class_weight, max_iter, \
decision_function_shape, break_ties, random_state, solver, fit_intercept, cache_size, n_jobs, max_seconds, verbose
        As in :class:`SVCCV`.
    multiclass : {"ovo", "ovr"}, default="ovo"
        As in :class:`NuSVC`.

    Attributes
    ----------
    nu_ : float
        The best nu.
    best_params_, best_score_, best_index_, gamma_, best_estimator_, cv_results_, error_reasons_, status_, n_splits_, \
scorer_, refit_time_, classes_, n_features_in_
        As in :class:`SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.model_selection import NuSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = NuSVCCV(nus=[0.05, 0.1, 0.5], gammas=[0.1, 1.0]).fit(X, y)
    >>> search.best_score_ > 0.95
    True
    """

    def __init__(
        self,
        *,
        nus: Any = None,
        gammas: Any = None,
        kernel: Any = "rbf",
        kernel_params: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        refine: int = False,
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: Any = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multiclass: str = "ovo",
        solver: str = "auto",
        fit_intercept: bool = True,
        cache_size: float = 1000,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.nus = nus
        self.gammas = gammas
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.refine = refine
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multiclass = multiclass
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.verbose = verbose

    def _estimator(self) -> NuSVC:
        return NuSVC(**self._shared(NuSVC))

    def _axes(self) -> dict[str, list[Any]]:
        return {"nu": [0.05, 0.1, 0.2, 0.3, 0.5] if self.nus is None else axis("nus", self.nus, above=0, most=1)}

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Any:
        return estimator_job(setting, kernel, K, fold, cells)


class SVRCV(ScoreByScorer, RegressorMixin, GridSearch):
    """Support vector regression with C, epsilon and the kernel chosen by cross-validation.

    Parameters
    ----------
    Cs : list of float or Range, default=None
        Values of C to try; None tries 0.01, 0.1, ..., 1000.
    epsilons : list of float or Range, default=(0.1,)
        Values of epsilon to try, >= 0.
    gammas, kernel, kernel_params, refit, refine, degree, coef0, tol, max_iter, solver, fit_intercept, cache_size, \
n_jobs, max_seconds, verbose
        As in :class:`SVCCV`.
    cv : int, splitter or list of splits, default=None
        scikit-learn's; None means 5 folds.
    scoring : str, callable or None, default=None
        One of scikit-learn's scorers, higher being better; None is R^2.

    Attributes
    ----------
    C_, epsilon_, gamma_ : float
        The best C and epsilon, and the best kernel's gamma as a number, if it has one.
    best_estimator_ : SVR
    best_params_, best_score_, best_index_, cv_results_, error_reasons_, status_, n_splits_, scorer_, refit_time_, \
n_features_in_
        As in :class:`SVCCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model_selection import SVRCV
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> search = SVRCV(Cs=[0.1, 10.0], epsilons=[0.01, 0.5], gammas=[0.01, 1.0], cv=3).fit(x, np.sin(x).ravel())
    >>> search.best_params_["epsilon"], search.best_params_["gamma"]
    (0.01, 1.0)
    """

    def __init__(
        self,
        *,
        Cs: Any = None,
        epsilons: Any = (0.1,),
        gammas: Any = None,
        kernel: Any = "rbf",
        kernel_params: Any = None,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        refine: int = False,
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        solver: str = "auto",
        fit_intercept: bool = True,
        cache_size: float = 1000,
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.epsilons = epsilons
        self.gammas = gammas
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.refine = refine
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.verbose = verbose

    def _estimator(self) -> SVR:
        return SVR(**self._shared(SVR))

    def _axes(self) -> dict[str, list[Any]]:
        return {
            "C": list(CS) if self.Cs is None else axis("Cs", self.Cs, above=0, infinite=True),
            "epsilon": axis("epsilons", self.epsilons, least=0),
        }

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Any:
        finite = all(math.isfinite(cell.hyperparameters["C"]) for _, cell in cells)
        plain = self.solver == "auto" and finite and np.count_nonzero(fold.weight) > 0
        if K is None or not plain or not precise(K, TUBE_MAX_ROUNDING * self.tol):
            return estimator_job(setting, kernel, K, fold, cells)
        assert setting.target is not None
        return TubeJob(setting.estimator, K, setting.target, fold, cells, setting.control, setting.scratch)
