"""One-class support vector machine: the region where the data is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin import problems
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import callers_level, check_number, check_weights
from maxmargin.svm.kernel.outcome import FitOutcome
from maxmargin.svm.kernel.pipeline import KernelMachine, share_outside
from maxmargin.svm.kernel.region import RegionMixin


class OneClassSVM(RegionMixin, KernelMachine):
    """The smallest region, in feature space, that holds all but a share ``nu`` of the training points.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol
        As in :class:`~maxmargin.SVC`.
    nu : float, default=0.5
        In (0, 1]: bounds the share of training points outside the region from above, that of support vectors from
        below.
    shrinking, cache_size, verbose, max_iter, solver, n_jobs, max_seconds, warm_start
        As in :class:`~maxmargin.SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, kernel_, report_
        As in :class:`~maxmargin.SVC`.
    offset_ : float
        ``decision_function = score_samples - offset_``; equals ``-intercept_[0]``.

    Notes
    -----
    A point exactly on the boundary counts as inside, so identical training points are all inliers.

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> machine = OneClassSVM(gamma=1.0, nu=0.2).fit([[0.0], [0.1], [0.2], [0.3], [0.15]])
    >>> machine.predict([[0.15], [9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        n_jobs: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs
        self.max_seconds = max_seconds
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        self._check_shared()
        check_number("nu", self.nu, above=0, most=1)

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the region of the training points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training points; with ``kernel="precomputed"`` their kernel matrix.
        y : ignored
            For scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of two is the same as giving the sample twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        X = self._training_points(X)
        weights = check_weights(sample_weight, X.shape[0])
        data = self._prepare(X, np.zeros(X.shape[0]), weights)
        if data.n == 1 and X.shape[0] > 1:
            warnings.warn(
                "All training points are identical: every point like them is an inlier, any other an outlier.",
                UserWarning,
                stacklevel=callers_level(),
            )
        problem = problems.one_class(data.weight, float(self.nu))
        model, used_solver = self._fit_one(X, data, weights, weights, problem)
        self.offset_ = -self.intercept_
        self._finish(
            data,
            FitOutcome.of_models([model], np.ones(1)),
            used_solver,
            fitted="OneClassSVM",
            parameters=f"nu = {self.nu:g}",
            training_error=share_outside(model.f >= model.third, data.rows.member_of),
            error_name="training points outside",
        )
        return self
