"""The one-class estimator that chooses nu and its kernel by cross-validation: ``OneClassSVMCV``."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from maxmargin.model_selection.estimators import KernelSearch
from maxmargin.model_selection.grid import BY_RATIO, Axis
from maxmargin.model_selection.held_jobs import RegionEstimatorJob, RegionJob
from maxmargin.model_selection.jobs import TUBE_MAX_ROUNDING, Job, Setting, precise
from maxmargin.model_selection.one_class_scores import BothSides, MassVolume, Rejection, reference_points
from maxmargin.model_selection.parameter_docs import SEARCH_ENTRIES
from maxmargin.model_selection.results import scorer_of
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_targets, shown
from maxmargin.svm import OneClassSVM

LABEL_FREE = ("mass_volume", "rejection")


@documented(SEARCH_ENTRIES)
@parameters
class OneClassSVMCV(OutlierMixin, KernelSearch):
    """One-class support vector machine with nu and the kernel chosen by cross-validation, with or without labels.

    Models are trained without labels. If some rows are known outliers, y marks them, and scores compare the predictions
    with y. Otherwise a good model contains the held-out rows in a small volume.

    Parameters
    ----------
    nus : list of float or Range, default=None
        Values of nu to try, in (0, 1]; None tries 0.01, 0.05, 0.1, 0.2, 0.5.
    {gammas, kernel, kernel_params, cv}
    scoring : str, callable or None, default=None
        One of scikit-learn's scorers, such as ``"roc_auc"``, ``"balanced_accuracy"`` or ``"f1"`` (of the inliers, which
        are +1), for labels; ``"mass_volume"`` or ``"rejection"``, which need none (see Notes); or a function
        ``scorer(estimator, X, y)``, without y if there is none. None is the balanced accuracy if y contains +1 and -1,
        or the labels in ``inliers``; otherwise, as in :class:`OneClassSVM`, y is ignored, and the score is
        ``"mass_volume"``. ``scorer_`` is the one used.
    inliers : label, list of labels or None, default=None
        Labels of y that mean inlier; all others mean outlier. None expects +1 for inliers and -1 for outliers.
    train_on : {"all", "inliers"}, default="all"
        Whether models learn from all rows of a training part, as they will where labels are unknown, or from its
        inliers only (novelty detection). ``best_estimator_`` learns from the same kind of rows.
    {refit, refine, degree, coef0}
    tol, max_iter, solver
        As in :class:`OneClassSVM`.
    random_state : int, RandomState or None, default=None
        Seed of the points that measure volumes; None is a fixed seed.
    {cache_size, n_jobs, max_seconds, verbose}

    Attributes
    ----------
    {best_params_, nu_, gamma_, best_estimator_}
    offset_ : array
        Of ``best_estimator_``.
    {cv_results_, error_reasons_, status_}
    n_splits_, scorer_, refit_time_, n_features_in_
        As in ``GridSearchCV``.

    Notes
    -----
    ``"mass_volume"`` is minus the area under the mass-volume curve for masses from 0.9 to 0.999: the volume around the
    data whose scores are at least as high as those of 90 % or more of the held-out rows (Goix 2016). It measures the
    ranking of points, so it selects the kernel well, but nu only as far as nu affects the ranking: without labels, data
    cannot tell how many outliers there are. Up to 8 columns the space is the bounding box of X; for more it is sampled
    by rows moved by random differences of rows. ``"rejection"`` is minus the difference between nu and the fraction of
    held-out rows that are rejected. It works with every kernel, including precomputed ones and kernels on objects, but
    prefers regions that are too large: use few gammas with it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model_selection import OneClassSVMCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(size=(190, 2)), rng.uniform(-6, 6, (10, 2))]
    >>> search = OneClassSVMCV(nus=[0.05, 0.2], gammas=[0.1, 100.0]).fit(X)
    >>> search.gamma_, search.scorer_
    (0.1, mass_volume)
    >>> search.predict([[0.0, 0.0], [5.0, -5.0]])
    array([ 1, -1])

    With labels, they are scored:

    >>> y = np.r_[np.full(190, 1), np.full(10, -1)]
    >>> OneClassSVMCV(nus=[0.05, 0.2], gammas=[0.1, 100.0], scoring="roc_auc").fit(X, y).best_score_ > 0.9
    True
    """

    _: KW_ONLY
    nus: Any = None
    inliers: Any = None
    train_on: str = "all"
    random_state: Any = None

    _searched = OneClassSVM
    _axes = (Axis("nu", "nus", (0.01, 0.05, 0.1, 0.2, 0.5), {"above": 0, "most": 1}),)
    _refined = (*BY_RATIO, "nu")
    fit_predict = all_or_nothing(OutlierMixin.fit_predict)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Score every cell of the grid, and fit the best model to all data.

        {Parameters, X_train}
        y : array-like of shape (n_samples,), default=None
            Which samples are inliers, for scores (and for ``train_on="inliers"``).
        {sample_weight, groups}

        {Returns, self}
        """
        return super().fit(X, y, sample_weight=sample_weight, groups=groups)

    def _estimator(self) -> Any:
        check_choice("train_on", self.train_on, ("all", "inliers"))
        return super()._estimator()

    def _read(self, X: Any, y: Any) -> tuple[Points, Array | None, Array]:
        X = self._training_points(X)
        y = self._sides(y, X.shape[0])
        return X, y, np.empty(0, np.int64) if y is None else (y > 0).astype(np.int64)

    def _sides(self, y: Any, n_samples: int) -> Array | None:
        """+1 for inliers and -1 for outliers; None if there are no labels, or they are to be ignored."""
        if isinstance(self.scoring, str) and self.scoring not in LABEL_FREE:
            scorer_of(self, self.scoring, LABEL_FREE)  # an unknown name is a worse mistake than missing labels
        compares = hasattr(self.scoring, "_score_func") or (
            isinstance(self.scoring, str) and self.scoring not in LABEL_FREE
        )
        asking = {"inliers": self.inliers is not None, "train_on": self.train_on == "inliers", "scoring": compares}
        asked = [f"{name}={getattr(self, name)!r}" for name, does in asking.items() if does]
        if y is None:
            if asked:
                raise ValueError(
                    f"{asked[0]} needs y, the labels of inliers and outliers. Without labels use scoring='mass_volume'."
                )
            return None
        y = check_targets(y, n_samples)
        if self.inliers is not None:
            named = [self.inliers] if isinstance(self.inliers, str) or np.ndim(self.inliers) == 0 else self.inliers
            known = np.isin(y, np.asarray(list(named)))
            if not known.any():
                raise ValueError(f"inliers={shown(self.inliers)}, but y has none of them: its labels are {_some(y)}.")
            return np.where(known, 1, -1)
        if np.isin(y, (1, -1)).all():
            return np.where(y == 1, 1, -1)
        if asked:
            raise ValueError(
                f"y must be +1 for inliers and -1 for outliers; got {_some(y)}. Name the labels of inliers, such as "
                f"inliers={np.unique(y)[0].item()!r}."
            )
        return y if callable(self.scoring) else None

    def _learnt(self, y: Array | None, weights: Array) -> Array:
        if self.train_on == "all" or y is None:
            return weights
        learnt = np.where(y > 0, weights, 0.0)
        if not learnt.any():
            raise ValueError(
                "train_on='inliers', but y has no inlier that has a weight: there is nothing to learn from."
            )
        return learnt

    def _scorer(self, points: Points, weight: Array, y: Array | None) -> Any:
        if self.scoring is None and y is not None and len(np.unique(y)) == 2:
            return BothSides()
        if self.scoring is not None and not (isinstance(self.scoring, str) and self.scoring in LABEL_FREE):
            return scorer_of(self, self.scoring, LABEL_FREE)
        if self.scoring == "rejection":
            return Rejection()
        if self._is_precomputed() or points.ndim < 2:
            raise ValueError(
                "scoring='mass_volume' measures volumes among vectors, which a precomputed kernel or a kernel of other "
                "things does not have. Give y with labels of inliers and outliers, a function, or scoring='rejection'."
            )
        return MassVolume(reference_points(points, weight, self.random_state))

    def _job(self, setting: Setting, kernel: Any, K: Any, fold: Any, cells: Any) -> Job:
        reference = getattr(self.scorer_, "reference", None)
        held = K is not None and self.solver == "auto" and precise(K, TUBE_MAX_ROUNDING * self.tol)
        setting = replace(setting, target=None)
        if held:
            return RegionJob(setting, kernel, K, fold, cells, reference=reference)
        return RegionEstimatorJob(setting, kernel, None, fold, cells, reference=reference)

    @property
    def offset_(self) -> Array:
        """``decision_function = score_samples - offset_``."""
        return self._best("offset_").offset_

    def decision_function(self, X: Any) -> Array:
        """Signed value of new points, by the best model: positive inside the region, negative outside.

        {X_new -> decision_value}
        """
        return self._best("decision_function").decision_function(X)

    def score_samples(self, X: Any) -> Array:
        """Unshifted values of new points: ``decision_function(X) + offset_``.

        {X_new -> scores}
        """
        return self._best("score_samples").score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The score of the best model on new points, by ``scorer_``.

        {Parameters, X_new}
        y : array-like of shape (n_samples,), default=None
            Which are inliers, as in ``fit``; only for scorers that compare with labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; None means that all are one.

        {Returns, score}
        """
        estimator, extra = self._best("score"), {} if sample_weight is None else {"sample_weight": sample_weight}
        if isinstance(self.scorer_, (MassVolume, Rejection)):
            return float(self.scorer_(estimator, X, **extra))
        sides = None if y is None else self._sides(y, len(y))
        if sides is None and not callable(self.scoring):
            raise ValueError(f"{self.scorer_!r} compares with labels: give y, +1 for inliers and -1 for outliers.")
        return float(self.scorer_(estimator, X, *(() if sides is None else (sides,)), **extra))


def _some(y: Array) -> str:
    """The labels there are, or the first of many."""
    labels = np.unique(y).tolist()
    return ", ".join(map(repr, labels[:6])) + (", ..." if len(labels) > 6 else "")
