"""Regions that contain most of the data: ``OneClassSVM`` and the ball of ``SVDD``."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.kernels import Kernel
from maxmargin.runtime.callbacks import with_callbacks
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_number, check_weights, warn
from maxmargin.svm.kernel.context import FitContext, InputRows, prepare
from maxmargin.svm.kernel.estimator import KernelSVM
from maxmargin.svm.kernel.formulations import BallDescription, Formulation, OneClass
from maxmargin.svm.kernel.solving.outcomes import KernelOutcome
from maxmargin.svm.kernel.updating import UpdateMixin
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.models.predictor import Predictor
from maxmargin.svm.models.region import RegionMixin
from maxmargin.svm.report import report_fit


@parameters
class KernelRegion(RegionMixin, KernelSVM):
    """What the two estimators share: ``nu``, and the report of a fit."""

    _: KW_ONLY
    nu: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("nu", self.nu, above=0, most=1)

    def _report_region(
        self, context: FitContext, formulation: Formulation, outcome: KernelOutcome, inside: Array
    ) -> Self:
        """The last step of a fit; ``inside`` marks the canonical rows in the region."""
        member_of = context.rows.member_of
        self.fit_status_ = int(not outcome.status.converged)
        report_fit(
            self,
            context,
            outcome,
            context.X,
            model=type(self).__name__,
            parameters=lambda: formulation.describe(0.0),
            training_error=lambda: float(np.mean(~inside[member_of[member_of >= 0]])),
            error_name="training points outside",
        )
        return self


@documented()
@parameters
class OneClassSVM(UpdateMixin, KernelRegion):
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

    _kind: ClassVar[str] = "one_class"

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

    def _updated(self, rows: InputRows, start: WarmStart | None) -> Any:
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
            return self._report_region(context, formulation, outcome, model.f >= model.rho)


@documented()
@parameters
class SVDD(KernelRegion):
    """Support vector data description: the smallest ball in feature space that contains most points.

    Minimises R^2 + C sum_i max(0, |phi(x_i) - c|^2 - R^2) over the centre c and the radius R. With a kernel for which
    k(x, x) is the same for all x (RBF, Laplacian, any normalised kernel) the region is that of :class:`OneClassSVM`
    with the same ``nu``; with other kernels, such as the linear one, it differs: a ball, not a halfspace.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: an upper bound on the fraction of training points outside the ball and a lower bound on the fraction
        of support vectors.
    C : float, default=None
        Penalty of points outside, as an alternative to ``nu``, which is then 1 / (C n). With ``C >= 1`` (also ``inf``)
        no point may lie outside.
    {kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, n_jobs, max_seconds}
    {warm_start}

    Attributes
    ----------
    radius_ : float
        R, in feature space.
    {support_, support_vectors_, n_support_}
    dual_coef_ : array of shape (1, n_support)
        Weight of each support vector in the centre c; they sum to one.
    intercept_ : array of shape (1,)
        (R^2 - |c|^2) / 2.
    offset_ : array of shape (1,)
        -R^2: ``decision_function = score_samples - offset_``.
    {n_iter_, fit_status_, kernel_, report_, history_}

    Notes
    -----
    ``report_`` and its duality gap refer to n nu / 2 times n nu R^2 + sum_i max(0, |phi(x_i) - c|^2 - R^2), which has
    the same solution. A point exactly on the sphere counts as inside.

    Examples
    --------
    >>> from maxmargin import SVDD
    >>> model = SVDD(kernel="linear", C=1.0).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> round(model.radius_, 6), model.coef_.round(6)
    (1.0, array([[1., 0.]]))
    >>> model.predict([[1.0, 0.9], [3.0, 0.0]])
    array([ 1, -1])
    >>> model.distance([[1.0, 2.0], [3.0, 0.0]]).round(6)
    array([2., 2.])
    """

    _: KW_ONLY
    C: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.C is not None:
            check_number("C", self.C, above=0, infinite=True)
        if self._is_precomputed():
            raise ValueError(
                "kernel='precomputed' does not contain k(x, x) of new points, which their distance from the centre "
                "needs. Give the kernel itself; where k(x, x) is the same for all points, use OneClassSVM."
            )

    def _share(self, weights: Array) -> float:
        """nu as given, or from C."""
        if self.C is None:
            return float(self.nu)
        total = float(weights.sum())
        if self.C * total < 1:
            raise ValueError(
                f"C={self.C:g} is less than 1 / {total:g}, one over the sum of the weights: then points outside cost "
                f"less than the ball, and R = 0 is optimal. Give C >= {1 / total:.4g}, or nu."
            )
        return 1.0 / (min(self.C, total / float(weights[weights > 0].min())) * total)

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the ball to the training points.

        {X, y_ignored, sample_weight -> self}
        """
        self._check_parameters()
        kernel, X, _ = self._kernel_and_points(X)
        weights = check_weights(sample_weight, X.shape[0])
        formulation = BallDescription(self._share(weights))
        context = prepare(self, InputRows(X, np.zeros(X.shape[0]), weights), kernel)
        with context.control.catching_interrupts():
            squared_norms = context.kernel.diagonal(context.X)
            (model,), outcome = self._fit_functions(
                context, [formulation], [squared_norms], self._last_fit if self.warm_start else None
            )
            total = float(model.problem.totals[0])
            norm = model.certificate.norm / total  # |c|
            inside = model.f + model.problem.linear >= model.rho
            square = max(0.0, norm**2 - 2 * model.rho / total)
            self.radius_, self.offset_ = math.sqrt(square), np.array([-square])
            return self._report_region(context, formulation, outcome, inside)

    def _decision(self, X: Points) -> Array:
        """R^2 - |phi(x) - c|^2."""
        return 2.0 * super()._decision(X) - self.kernel_.diagonal(X)[:, None]

    def distance(self, X: Any) -> Array:
        """Distance of new points from the centre, in feature space.

        {Parameters, X}

        Returns
        -------
        distance : array of shape (n_samples,)
        """
        return np.sqrt(np.maximum(-self.score_samples(X), 0.0))

    def compile_predictor(self) -> Predictor:
        """Refused: the compiled predictor has no term k(x, x)."""
        raise ValueError(
            "SVDD has no compiled predictor: its values need k(x, x). Where that is the same for all points, "
            "OneClassSVM with the same nu describes the same region, and has one."
        )
