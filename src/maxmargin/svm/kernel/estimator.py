"""What the estimators of this folder share. A fit is a sequence of functions over values:

    prepare      validated points -> canonical rows and their kernel          context
    pose         targets -> problems                                          formulations, classes
    solve        problems -> solutions, in one compiled call or one by one    solving, batch
    certify      solutions -> certificates, in float64 from the definition    solving
    calibrate    out-of-fold decision values -> probabilities                 calibrating
    publish      coefficients of the input rows, the fitted function          publishing
    report       report, history, warning                                     svm/report

An estimator defines the formulation of its problems and the meaning of its targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Linear
from maxmargin.runtime.callbacks import CallbackSupport
from maxmargin.runtime.control import check_run_options
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.validation import Array, Points, check_choice, check_flag, check_number
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


class FittedFunctions(NamedTuple):
    """A fit of functions of all rows: the solved problem of each, and what to report."""

    models: Sequence[BinaryModel]
    outcome: KernelOutcome


@parameters
class KernelSVM(LibsvmAttributes, CallbackSupport, PredictorMixin, KernelInput):
    """The estimators' common part: parameters, the last step of a fit, and the fitted function."""

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: float = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    solver: str = "auto"
    n_jobs: int | None = None
    max_seconds: float | None = None
    warm_start: bool = False

    _last_fit = cast("WarmStart | None", None)  # no parameter

    def _check_parameters(self) -> None:
        """The parameters all estimators have; each error names the parameter, its value and the remedy."""
        check_run_options(self)
        check_number("cache_size", self.cache_size, above=0)
        check_flag("shrinking", self.shrinking)
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            from maxmargin.solvers.registry import solvers_for

            check_choice("solver", self.solver, ["auto", *solvers_for("kernel")])

    @property
    def _approximation(self) -> str | None:
        """The name of the estimator that approximates the same problem; None if there is none."""
        return None

    def _fit_functions(
        self,
        context: FitContext,
        formulations: Sequence[Formulation],
        targets: Sequence[Array],
        start: WarmStart | None,
    ) -> FittedFunctions:
        """A fit of functions of all rows, each a problem with its formulation and targets: pose, solve and publish."""
        rows, each = np.arange(context.n), list(zip(formulations, targets, strict=True))
        posed = [Subproblem(rows, formulation.problem(target, context.weight)) for formulation, target in each]
        if start is not None:
            posed = start.starts(context, posed)
        models, used = solve_subproblems(context, posed)
        scale = np.array([own.scale(model) for own, model in zip(formulations, models, strict=True)])
        solved = SolvedProblems.of_models(models, used, scale)
        if context.centre is not None:
            solved = solved.with_zero_sums()
        filled = bounds = None
        values = solved.coefficient.reshape(len(models), -1)
        if context.merged:
            lines, of_input = list(zip(formulations, values, strict=True)), context.rows.member_of
            filled = np.array([np.abs(c) / formulation.limits(context.weight, c) for formulation, c in lines])
            bounds = np.array([formulation.limits(context.given.weight, c[of_input]) for formulation, c in lines])
            bounds *= scale[:, None]
        publish(self, context, CoefficientTable(values * scale[:, None], filled, bounds), solved.intercept * scale)
        self._last_fit = WarmStart.of(context, models) if self.warm_start else None
        counts = solved.outcome.n_iter
        self.n_iter_: Any = int(counts[0]) if len(models) == 1 else counts.astype(np.int32)
        return FittedFunctions(models, solved.outcome)

    def __getstate__(self) -> Any:
        """Without the training rows, which a fit with ``warm_start`` keeps for ``learn`` and ``forget``."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training_rows"}

    # ------------------------------------------------------------ warm starts between estimators

    def last_solution(self) -> WarmStart | None:
        """The variables of the last fit with ``warm_start``, for :meth:`start_from` of another estimator."""
        return self._last_fit

    def start_from(self, solution: WarmStart | None) -> None:
        """Make the next fit with ``warm_start`` start from the variables of another estimator's fit."""
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
