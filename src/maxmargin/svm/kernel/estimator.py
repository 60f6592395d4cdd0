"""What the estimators of this folder share. A fit is a sequence of functions over values:

    prepare      validated points -> canonical rows and their kernel          context
    pose         targets -> problems                                          formulations, classes
    solve        problems -> solutions, in one compiled call or one by one    solving, batch
    certify      solutions -> certificates, in float64 from the definition    solving
    calibrate    out-of-fold decision values -> probabilities                 calibrating
    publish      coefficients of the input rows, the fitted function          publishing
    report       report, history, warning                                     svm/report

An estimator says which formulation its problems have and what its targets mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Linear
from maxmargin.runtime.callbacks import CallbackSupport
from maxmargin.runtime.control import check_run_options
from maxmargin.runtime.validation import Array, Points, check_choice, check_flag, check_number
from maxmargin.solvers import solvers_for
from maxmargin.svm.compatibility import LibsvmAttributes
from maxmargin.svm.kernel.context import FitContext
from maxmargin.svm.kernel.formulations import Formulation
from maxmargin.svm.kernel.publishing import CoefficientTable, publish
from maxmargin.svm.kernel.solving.each import solve_subproblems
from maxmargin.svm.kernel.solving.outcomes import BinaryModel, KernelOutcome, SolvedProblems, Subproblem
from maxmargin.svm.kernel.warm_start import WarmStart
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.known_values import KnownValues
from maxmargin.svm.models.predictor import PredictorMixin


class FittedFunction(NamedTuple):
    """A fit that is one problem over all rows: the solved problem, and what to report."""

    model: BinaryModel
    outcome: KernelOutcome


class KernelSVM(LibsvmAttributes, CallbackSupport, PredictorMixin, KernelInput):
    """The estimators' common part: the last step of a fit, and the fitted function."""

    _last_fit: WarmStart | None = None

    def _check_parameters(self) -> None:
        """The parameters all estimators have; each error names the parameter, its value and the remedy."""
        check_run_options(self)
        check_number("cache_size", self.cache_size, above=0)
        check_flag("shrinking", self.shrinking)
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            check_choice("solver", self.solver, ["auto", *solvers_for("kernel")])

    @property
    def _approximation(self) -> str | None:
        """The name of the estimator that approximates the same problem; None if there is none."""
        return None

    def _fit_function(self, context: FitContext, formulation: Formulation) -> FittedFunction:
        """A fit that is one problem over all rows: pose, solve and publish."""
        posed = [Subproblem(np.arange(context.n), formulation.problem(context.target, context.weight))]
        if self.warm_start and self._last_fit is not None:
            posed = self._last_fit.starts(context, posed)
        models, used = solve_subproblems(context, posed)
        solved = SolvedProblems.of_models(models, used, np.ones(1))
        if context.centre is not None:
            solved = solved.with_zero_sums()
        filled = bounds = None
        if context.merged:
            filled = (np.abs(solved.coefficient) / solved.bound)[None, :]
            bounds = formulation.bounds(context.given.weight)[None, :]
        publish(self, context, CoefficientTable(solved.coefficient[None, :], filled, bounds), solved.intercept)
        self._last_fit = WarmStart.of(context, models) if self.warm_start else None
        self.n_iter_: Any = models[0].solution.n_iter
        return FittedFunction(models[0], solved.outcome)

    # ------------------------------------------------------------ warm starts between estimators

    def last_solution(self) -> WarmStart | None:
        """The variables of the last fit with ``warm_start``, for :meth:`start_from` of another estimator."""
        return self._last_fit

    def start_from(self, solution: WarmStart | None) -> None:
        """Let the next fit with ``warm_start`` start from the variables of another estimator's fit."""
        self._last_fit = solution

    # ------------------------------------------------------------ the fitted function

    def _new_points(self, X: Any) -> Points:
        """Validated new points; a model of a search knows the held-out ones only."""
        function = getattr(self, "_expansion", None)
        return function.checked(X) if isinstance(function, KnownValues) else super()._new_points(X)

    def _decision(self, X: Points) -> Array:
        """Values of all binary models on validated points, shape (n, models)."""
        return self._expand(self._expansion, X)

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel only; one row per binary model."""
        fitted = getattr(self, "kernel_", None)
        if fitted is None or not isinstance(fitted, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel, after fit")
        weights = self._expansion.weights
        weights.flags.writeable = False  # a computed value: a change would be lost
        if not self._sparse:
            return weights
        sparse = sp.csr_matrix(weights)
        sparse.data.flags.writeable = False
        return sparse

    @property
    def n_support_(self) -> Array:
        """Number of support vectors: of each class, or in all."""
        return np.array(self._n_support, dtype=np.int32)
