"""One way from points to a certified model, for every estimator of this folder.

    prepare -> pose -> solve -> certify -> calibrate -> publish -> report

as functions over values: a :class:`~maxmargin.svm.kernel.training.TrainingSet`, a list of problems, a list of binary
models (or the columns of a batch). An estimator says which problems its fit consists of and what its targets mean.
:mod:`maxmargin.svm.kernel.solving` solves and certifies; the first and the last steps are here.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.callbacks import CallbackSupport
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.control import Control
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import (
    Array,
    Points,
    callers_level,
    check_choice,
    check_flag,
    check_memory,
    check_number,
    check_run_options,
    scaling_hint,
)
from maxmargin.solvers import solvers_for
from maxmargin.svm.compatibility import LibsvmAttributes
from maxmargin.svm.kernel.coefficients import Machine, divided, gather
from maxmargin.svm.kernel.outcome import FitOutcome
from maxmargin.svm.kernel.solving import Method, SolverUsed, Subproblem, solve_subproblems
from maxmargin.svm.kernel.training import TrainingSet
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.predictor import PredictorMixin
from maxmargin.svm.report import FitReport

SERIAL_MAX_ROWS = 1000  # rows up to which threads cost more than they bring
FORECAST_MIN_ROWS = 30_000  # rows from which a fit may take so long that its user should know beforehand
STORED_MATRIX_CHECK_BYTES = 5e5  # matrices up to this size are allocated without a check of the free memory


class KernelMachine(LibsvmAttributes, CallbackSupport, PredictorMixin, KernelInput):
    """The estimators' common part: shared parameters, the ends of the pipeline, and what every fit leaves behind."""

    def _check_shared(self) -> None:
        """The parameters all estimators have; each error names the parameter, its value and the remedy."""
        check_run_options(self)
        check_number("cache_size", self.cache_size, above=0)
        check_flag("shrinking", self.shrinking)
        check_choice("solver", self.solver, ["auto", *solvers_for("kernel")])

    @property
    def _approximation(self) -> str | None:
        """The name of the estimator that approximates the same problem; None if there is none."""
        return None

    def _method(self) -> Method:
        return Method(self.solver, float(self.tol), getattr(self, "classes_", None))

    def _forecast(self, X: Points, y: Array, weights: Array, measure: str) -> None:
        """Warn beforehand if the fit will take more than a minute."""
        if X.shape[0] >= FORECAST_MIN_ROWS and X.dtype != object and not self._is_precomputed():
            from maxmargin.svm.kernel.forecast import foretell

            foretell(self, X, y, weights, measure)

    def _prepare(self, X: Points, target: Array, weights: Array, pairs: bool = False) -> TrainingSet:
        """Canonical rows and the resolved kernel; ``pairs`` says that pairs of classes will be solved."""
        control = Control.of(self)
        threads = effective_threads(self.n_jobs) if X.shape[0] > SERIAL_MAX_ROWS or X.dtype == object else 1
        kernel, budget = self._kernel(), min(float(self.cache_size), 2**40) * 1e6
        precomputed = isinstance(kernel, Precomputed)
        if not precomputed:
            kernel.check_points(X)  # here, where an error can still name the user's rows
        rows = canonical_rows(X, target, weights, merge=not precomputed)
        at, points = rows.representative, X
        if not precomputed:
            points = computing_form(X[at])
            kernel = kernel.resolve(
                points, sample_weight=rows.weight, feature_names=getattr(self, "feature_names_in_", None)
            )
            if STORED_MATRIX_CHECK_BYTES < 8.0 * len(at) ** 2 <= budget:
                check_memory(
                    8.0 * len(at) ** 2,
                    f"A kernel matrix of {len(at):,} rows inside cache_size={self.cache_size:g} MB",
                    "lower cache_size.",
                )
        return TrainingSet(points, target[at], rows.weight, rows, kernel, control, threads, budget, pairs)

    # ------------------------------------------------------------ warm start

    def _starts(self, data: TrainingSet, posed: Sequence[tuple[Array, DualProblem]]) -> list[Array | None]:
        """Where to start: with ``warm_start``, at the last fit's variables, row by row wherever a row is known."""
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        if last is None or len(last.get("variables", ())) != len(posed):
            return [None] * len(posed)
        known, found = known_rows(last["identity"], identity_of(data))
        starts: list[Array | None] = []
        for (rows, problem), (kind, values) in zip(posed, last["variables"], strict=True):
            per_row = problem.n_variables // problem.n_rows
            if kind != (problem.kind, per_row):
                starts.append(None)
                continue
            start = np.zeros((per_row, len(rows)))
            start[:, found[rows]] = values[:, known[rows][found[rows]]]
            starts.append(problem.feasible(start.ravel()))
        return starts

    def _keep_variables(self, data: TrainingSet, models: Sequence[Machine]) -> None:
        """Keep the variables of this fit for a warm start of the next."""
        if not self.warm_start:
            self.__dict__.pop("_last_fit", None)
            return
        variables = []
        for model in models:
            per_row = model.problem.n_variables // model.problem.n_rows
            values = np.zeros((per_row, data.n))
            values[:, model.rows] = model.solution.a.reshape(per_row, -1)
            variables.append(((model.problem.kind, per_row), values))
        self._last_fit = {"identity": identity_of(data), "variables": variables}

    def _subproblems(self, data: TrainingSet, posed: Sequence[tuple[Array, DualProblem]]) -> list[Subproblem]:
        """The problems with their starts."""
        starts = self._starts(data, posed)
        return [Subproblem(rows, problem, start) for (rows, problem), start in zip(posed, starts, strict=True)]

    # ------------------------------------------------------------ a fit that is one problem over all rows

    def _fit_one(
        self, X: Points, data: TrainingSet, weights: Array, bounds: Array, problem: DualProblem
    ) -> tuple[Machine, SolverUsed]:
        """Solve it, and set what scikit-learn's estimators expose."""
        with data.control.catching_interrupts():
            posed = self._subproblems(data, [(np.arange(data.n), problem)])
            models, used_solver = solve_subproblems(data, self._method(), posed)
        self._keep_variables(data, models)
        used, coefficients, filled = gather(models, 1, [0], np.ones(1))
        self.intercept_ = np.array([models[0].intercept])
        listed = self._publish(X, data, used, coefficients, filled, self.intercept_, weights, bounds[:, None])
        self.dual_coef_ = sp.csr_matrix(listed.T) if self._sparse else listed.T.copy()
        self._n_support: Any = [len(self.support_)]
        self.n_iter_: Any = models[0].solution.n_iter
        return models[0], used_solver

    # ------------------------------------------------------------ publish

    def _publish(
        self,
        X: Points,
        data: TrainingSet,
        used: Array,
        coefficients: Array,
        filled: Array,
        intercept: Array,
        weights: Array,
        bounds: Array,
        order_by: Array | None = None,
    ) -> Array:
        """Set what scikit-learn's estimators expose and the fitted expansion.

        ``used`` are the canonical rows with a coefficient, ``coefficients`` is (used rows, problems), and ``filled``
        the part of its bound that each coefficient takes up; ``bounds`` are those of the input rows, in each problem's
        scale. Support vectors are listed by ``order_by`` (the class), then by index. Returns the coefficients of the
        listed support vectors, one row each."""
        if data.merged:
            support, per_input = divided(data, used, coefficients, filled, weights, bounds)
        else:
            support = data.rows.representative[used]
            order = np.argsort(support)
            support, per_input = support[order], coefficients[order]
        if order_by is not None:
            order = np.argsort(order_by[support], kind="stable")
            support, per_input = support[order], per_input[order]
        self._publish_support(X, data.kernel, support)
        if len(support) == len(used):  # no equal rows among them
            anchors = self._anchors(X, data, support)
            self._expansion = KernelExpansion(data.kernel, anchors, per_input, intercept)
        else:
            self._expansion = KernelExpansion(data.kernel, data.X[used], coefficients, intercept)
        return per_input

    def _publish_support(self, X: Points, kernel: Kernel, support: Array) -> None:
        """The attributes of the support vectors, given by their places among the input rows."""
        self.support_ = support.astype(np.int32)
        self.shape_fit_ = X.shape
        self.__dict__.pop("compression_report_", None)
        self.kernel_ = kernel
        self.support_vectors_ = np.empty((0, 0)) if isinstance(kernel, Precomputed) else X[support]
        self._gamma = getattr(kernel, "gamma", 0.0)
        self._sparse = sp.issparse(X)

    def _anchors(self, X: Points, data: TrainingSet, support: Array) -> Points:
        """The points of the expansion over these support vectors; call after ``_publish_support``."""
        if isinstance(data.kernel, Precomputed):
            return support
        if sp.issparse(data.X) or not sp.issparse(X):
            return self.support_vectors_
        vectors: Any = self.support_vectors_
        return vectors.toarray()

    # ------------------------------------------------------------ report

    def _finish(
        self,
        data: TrainingSet,
        outcome: FitOutcome,
        used: SolverUsed,
        *,
        fitted: str,
        parameters: str,
        training_error: Callable[[], float],
        error_name: str = "training error",
    ) -> None:
        """``report_``, ``history_``, ``fit_status_`` and the warning of a fit that did not converge. Report and history
        are made when they are read."""
        kernel, seconds, threads, dtype = data.kernel, data.control.seconds, data.threads, str(data.X.dtype)
        valid = kernel.psd or (None if type(kernel).__name__ in ("Callable", "Precomputed") else False)
        n_support, n_samples = len(self.support_), self.shape_fit_[0]
        n_features, tol = getattr(self, "n_features_in_", 0), self.tol

        def fields() -> dict[str, Any]:
            return {
                "machine": fitted,
                "solver": used.name,
                "solver_reason": used.reason,
                "kernel": kernel,
                "parameters": parameters,
                "status": outcome.status,
                "n_iter": int(outcome.n_iter.sum()),
                "kernel_evaluations": used.evaluations,
                "n_support": n_support,
                "n_samples": n_samples,
                "n_features": n_features,
                "margins": outcome.margins,
                "training_error": training_error(),
                "error_name": error_name,
                "kernel_valid": valid,
                "tol": tol,
                "seconds": seconds,
                "dtype": dtype,
                "threads": threads,
                **outcome.combined(),
            }

        self.report_ = FitReport.deferred(fields)
        self.history_ = History.deferred(outcome.history)
        self.fit_status_ = 0 if outcome.status.converged else 1
        if not outcome.status.converged:
            gap = "" if valid is False else f" and the relative duality gap {self.report_.relative_gap:.2e}"
            warnings.warn(
                f"{type(self).__name__} did not converge ({outcome.status.value}). The model is the best one so far: "
                f"its certified violation is {self.report_.kkt_violation:.2e} (tol={self.tol:g}){gap}."
                f"{scaling_hint(data.X, getattr(self, 'feature_names_in_', None))}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    # ------------------------------------------------------------ the fitted function

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


def known_rows(before: Array, now: Array) -> tuple[Array, Array]:
    """Of rows given by their numbers of :func:`identity_of`: where each was before, and whether it was there at all."""
    order = np.argsort(before, kind="stable")
    known = order[np.searchsorted(before, now, sorter=order).clip(max=len(order) - 1)]
    return known, before[known] == now


def identity_of(data: TrainingSet) -> Array:
    """Content and target of each canonical row in one number."""
    bits = np.ascontiguousarray(data.target, np.float64).view(np.uint64)
    return data.rows.key ^ (bits * np.uint64(0x9E3779B97F4A7C15))


def share_outside(inside: Array, member_of: Array) -> Callable[[], float]:
    """The share of input rows whose canonical row is not inside."""
    return lambda: float(np.mean(~inside[member_of[member_of >= 0]]))


def root_mean_square(residual: Array) -> Callable[[], float]:
    """The root of the mean of the squares."""
    return lambda: math.sqrt(float(np.mean(residual**2)))
