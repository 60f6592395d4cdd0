"""One-class support vector machine: the region where the data is."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from maxmargin.kernels import Kernel
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import check_number, check_weights, warn
from maxmargin.svm.kernel.context import InputRows, WarmStart, prepare
from maxmargin.svm.kernel.estimator import KernelSVM
from maxmargin.svm.kernel.formulations import Formulation, OneClass
from maxmargin.svm.kernel.updating import UpdateMixin
from maxmargin.svm.models.region import RegionMixin
from maxmargin.svm.report import report_fit


@documented()
@parameters
class OneClassSVM(RegionMixin, UpdateMixin, KernelSVM):
    """One-class support vector machine for outlier and novelty detection.

    Finds a small region in feature space that contains all but a fraction ``nu`` of the training points.

    Parameters
    ----------
    {kernel, degree, gamma, coef0, tol}
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training points outside the region and a lower bound on the
        fraction of support vectors.
    {shrinking, cache_size, verbose, max_iter, solver, n_jobs, max_seconds, warm_start}

    Attributes
    ----------
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (1, n_support)
        alpha of each support vector.
    {coef_, intercept_, n_iter_, fit_status_, kernel_, report_, history_}
    offset_ : float
        ``decision_function = score_samples - offset_``; equals ``-intercept_[0]``.

    Notes
    -----
    A point exactly on the boundary counts as inside, so identical training points are all inliers.

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.2).fit([[0.0], [0.1], [0.2], [0.3], [0.15]])
    >>> model.predict([[0.15], [9.0]])
    array([ 1, -1])
    """

    _: KW_ONLY
    nu: float = 0.5

    _kind: ClassVar[str] = "one_class"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("nu", self.nu, above=0, most=1)

    def _formulation(self) -> OneClass:
        return OneClass(float(self.nu))

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the region to the training points.

        {X_train, y_ignored, sample_weight -> self}
        """
        self._check_parameters()
        kernel, X, _ = self._kernel_and_points(X)
        rows = InputRows(X, np.zeros(X.shape[0]), check_weights(sample_weight, X.shape[0]))
        return self._fit_rows(rows, self._formulation(), kernel, self._last_fit if self.warm_start else None)

    def _updated(self, rows: InputRows, start: WarmStart) -> Any:
        return self._fit_rows(rows, self._formulation(), self._kernel(), start)

    def _fit_rows(self, rows: InputRows, formulation: Formulation, kernel: Kernel, start: WarmStart | None) -> Any:
        """The fit over validated points and weights."""
        context = prepare(self, rows, kernel)
        if context.n == 1 and rows.X.shape[0] > 1:
            warn("All training points are identical: every point like them is an inlier, any other an outlier.")
        with context.control.catching_interrupts():
            (model,), outcome = self._fit_functions(context, [formulation], [context.target], start)
            self._training_rows = rows if self.warm_start else None
            self.offset_ = -self.intercept_
            inside, member_of = model.f >= model.rho, context.rows.member_of
            self.fit_status_ = int(not outcome.status.converged)
            report_fit(
                self,
                context,
                outcome,
                context.X,
                model="OneClassSVM",
                parameters=lambda: formulation.describe(0.0),
                training_error=lambda: float(np.mean(~inside[member_of[member_of >= 0]])),
                error_name="training points outside",
            )
        return self
