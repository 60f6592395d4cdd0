"""The base of landmark estimators: the steps of a fit, the fitted function and its report.

X, y ─ validation ─ kernel ─ [how many landmarks? auto.py] ─ training.py ─ expansion over the landmarks ─ report
batches ─ validation ─ rows/disk_buffer.py ─ the same
"""

from __future__ import annotations

import abc
import math
import os
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from maxmargin.data.batches import read_batches
from maxmargin.kernels import Precomputed
from maxmargin.large_scale.auto import FIRST_COMPONENTS, HOLD_OUT_MIN_ROWS, Search, held_out, search
from maxmargin.large_scale.features.kernel_error import KernelError
from maxmargin.large_scale.features.landmarks import check_landmark_columns, generator_of
from maxmargin.large_scale.parameter_docs import LANDMARK_ENTRIES
from maxmargin.large_scale.report import ApproximateReport, SolvedRows
from maxmargin.large_scale.rows.disk_buffer import DiskBuffer
from maxmargin.large_scale.rows.targets import Targets, row_keys
from maxmargin.large_scale.training import Problem, Rows, Trained, budget_of, kernel_error_of, rows_of, train
from maxmargin.problems.losses import Loss
from maxmargin.runtime.callbacks import CallbackSupport, with_callbacks
from maxmargin.runtime.control import Control, Status, check_run_options
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_flag,
    check_memory,
    check_new_points,
    check_number,
    check_training_points,
    check_weights,
)
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.predictor import PredictorMixin
from maxmargin.svm.report import SolverUsed, report_fit
from maxmargin.svm.streaming.batches import batch_weights, named, opened, passes

FACTOR_BYTES = 48.0  # that an entry of K_mm takes while it is factorised and used


@dataclass(frozen=True)
class Fitted:
    """The result of a fit."""

    trained: Trained
    error: KernelError | None
    found: Search | None  # of ``n_components="auto"``
    n_rows: int  # distinct rows that have weight
    # shape, dtype: of X
    shape: tuple[int, ...]
    dtype: str
    source: str  # of the rows, if not memory
    X: Points | None = None  # the rows, where they are in this process


def _check_unless_auto(name: str, value: Any, wanted: str, **bounds: Any) -> None:
    if not isinstance(value, str):
        check_number(name, value, **bounds)
    elif value != "auto":
        raise ValueError(f"{name} must be {wanted} or 'auto'; got {str(value)!r}.")


@documented(LANDMARK_ENTRIES)
@parameters
class LandmarkEstimator(CallbackSupport, PredictorMixin, KernelInput, abc.ABC):
    """Base class. A subclass poses the problem and interprets the fitted function."""

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    n_components: Any = 1000
    landmarks: Any = "uniform"
    fit_intercept: bool = True
    tol: float = 1e-3
    cache_size: Any = "auto"
    max_iter: int = 200
    max_seconds: float | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: Any = False

    _objective_unit = 1.0  # what objectives are multiplied by in the report
    _error_name = "training error"
    _has_margin = True  # whether margin and support vectors mean something

    @abc.abstractmethod
    def _check_parameters(self) -> None:
        """Refuse invalid parameters."""

    @abc.abstractmethod
    def _loss(self) -> Loss:
        """The loss of a row."""

    @abc.abstractmethod
    def _set_function(self, coefficients: Array, intercept: Array) -> None:
        """Set the attributes of the fitted function; arrays of shapes (m, outputs) and (outputs,)."""

    @abc.abstractmethod
    def _training_values(self, X: Any, y: Any) -> tuple[Points, Array]:
        """Validated points and targets."""

    @abc.abstractmethod
    def _joined(self, parts: list[Array]) -> Array:
        """The validated targets of all batches."""

    @abc.abstractmethod
    def _fit_targets(
        self, X: Points, y: Array, weights: Array, control: Control, source: str = "", *options: Any
    ) -> None:
        """Pose the problem of these targets, and fit."""

    @abc.abstractmethod
    def _exact_targets(self, y: Any, values: Array, weights: Array) -> tuple[Array, Targets]:
        """The values of the fitted outputs on the rows that have weight, and their targets."""

    @abc.abstractmethod
    def _summary(self) -> tuple[str, str]:
        """The model and its parameters, for the report."""

    def _check_options(self) -> None:
        given = {**self.get_params(deep=False), "warm_start": False}
        if isinstance(self.random_state, np.random.Generator):
            given["random_state"] = None
        check_run_options(SimpleNamespace(**given))
        check_flag("fit_intercept", self.fit_intercept)
        _check_unless_auto("n_components", self.n_components, "an integer >= 1", least=1, integer=True)
        _check_unless_auto("cache_size", self.cache_size, "a number of megabytes", least=0, infinite=True)

    # ---- fitting

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training data.

        {Parameters, X_train}
        y : array-like of shape (n_samples,)
            Class labels, or target values; for NystroemRidge also of shape (n_samples, n_targets).
        {sample_weight}

        {Returns, self}
        """
        self._check_parameters()
        control = Control.of(self)
        X, y = self._training_values(X, y)
        self._fit_targets(X, y, check_weights(sample_weight, X.shape[0]), control)
        return self

    def _fit_stream(self, source: Any, target: Any, *options: Any) -> Self:
        """Fit to batches; ``options`` go to ``_fit_targets``."""
        self._check_parameters()
        control = Control.of(self)
        with DiskBuffer(budget_of(self.cache_size)) as buffer:
            y, weights, origin = self._gather(source, target, buffer)
            self._fit_targets(buffer.points(), y, check_weights(weights, len(y)), control, origin, *options)
        return self

    def exact_objective(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective that the fitted function has in the exact problem of these rows, in float64.

        The function is one of the exact problem too, and |f|^2 = B'K_mm B is its norm there. On the training rows this
        is ``report_.primal_objective``, up to rounding: an upper bound of the exact optimum.

        {Parameters, X_new}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        {sample_weight}

        Returns
        -------
        float
            Summed over the binary problems of one-vs-rest, or over targets.
        """
        values = self._expand(self._expansion, self._new_points(X))
        learnt, targets = self._exact_targets(y, values, check_weights(sample_weight, len(values)))
        y, weights = targets.tile(slice(None))
        losses = self._loss().value(y, learnt, weights)
        return self._objective_unit * (0.5 * float(self._squares.sum()) + float(losses.sum()))

    def _fit_rows(
        self, X: Points, y: Array, weights: Array, problem: Problem, control: Control, source: str = ""
    ) -> None:
        """Train on all rows, and publish what was found."""
        check_landmark_columns(self)
        used = np.flatnonzero(weights > 0)
        everything = len(used) == len(weights)
        self.kernel_ = self._resolved(X if everything else X[used], weights[used])
        rng = generator_of(0 if self.random_state is None else self.random_state)
        rows = rows_of(X, row_keys(y), weights, merge=not isinstance(self.kernel_, Precomputed))
        found: Search | None = None
        with control.catching_interrupts(), single_threaded_blas():
            m = self._size(rows)
            if self.n_components == "auto" and isinstance(self.landmarks, str):
                found = self._search(X, y, rows, problem, rng, control)
                m = found.n_components
            trained = train(self, X, y, rows, problem, m, rng, control)
            unfinished = all(math.isinf(certificate.primal) for certificate in trained.solution.certificates)
            if unfinished and trained.solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt("Not one pass over the rows was finished: there is no model yet.")
            error = kernel_error_of(self.kernel_, X, rows, trained, rng)
        shape = (X.shape[0], X.shape[1] if X.ndim == 2 else 0)
        self._publish(Fitted(trained, error, found, rows.X.shape[0], shape, str(X.dtype), source, X), control)

    def _size(self, rows: Rows) -> int:
        """The requested number of landmarks, at most one per row; an error if their kernel matrix does not fit into
        memory."""
        m = min(FIRST_COMPONENTS if self.n_components == "auto" else int(self.n_components), rows.X.shape[0])
        check_memory(FACTOR_BYTES * m**2, f"n_components={m:,}", "take fewer.")
        return m

    def _search(
        self, X: Points, y: Array, rows: Rows, problem: Problem, rng: np.random.Generator, control: Control
    ) -> Search:
        """The search for the number of landmarks."""
        n = rows.X.shape[0]
        if n < HOLD_OUT_MIN_ROWS:
            return Search(n, (), f"all {n:,} rows are landmarks, too few to hold some out")
        learnt, held_out_rows = held_out(n, rng)
        part = Rows(rows.X[learnt], rows.at[learnt], rows.weights[learnt])
        X_held_out, weights = rows.X[held_out_rows], rows.weights[held_out_rows]

        def attempt(m: int) -> tuple[Array, float]:
            trained = train(self, X, y, part, problem, m, np.random.default_rng(m), control)
            function = KernelExpansion(self.kernel_, trained.landmarks.points, trained.coefficients, trained.solution.b)
            values = function.decision(X_held_out, self._threads(len(held_out_rows)))
            return problem.task.score(y[rows.at[held_out_rows]], weights, values)

        most = math.sqrt(budget_of("auto") / FACTOR_BYTES)
        found = search(attempt, len(learnt), control=control, most=most, weights=weights)
        if found.n_components < len(learnt):
            return found
        return replace(found, n_components=n, ended=f"all {n:,} rows are landmarks")

    def _publish(self, fitted: Fitted, control: Control) -> None:
        """The fitted attributes, the report and the convergence warning."""
        trained, found = fitted.trained, fitted.found
        solution, oracle, rank = trained.solution, trained.oracle, trained.factor.rank
        self.landmarks_, self.landmark_indices_ = trained.landmarks.points, trained.landmarks.indices
        m = self.n_components_ = len(trained.landmarks)
        self.n_iter_ = solution.n_iter
        self._squares = np.array([c.norm**2 for c in solution.certificates])
        self._set_function(trained.coefficients, solution.b)
        self._expansion = KernelExpansion(self.kernel_, self.landmarks_, self.coefficients_, self.intercept_)
        missed_by, count = oracle.training_error()
        stopped = solution.status in (Status.DEADLINE, Status.INTERRUPTED)  # then no pass with the final function
        error = math.nan if stopped else missed_by / max(1, count)
        chosen_by = self.landmarks if isinstance(self.landmarks, str) else "given"
        if m == fitted.n_rows and isinstance(self.landmarks, str):
            chosen_by = "all distinct rows: nothing is approximated"
        exact, unit = solution.method == "exact", self._objective_unit
        reason = "conjugate gradients, preconditioned by a sample of the rows"
        evaluations = (1.0 if trained.stored else oracle.passes) * fitted.n_rows * m
        solved = SolvedRows(
            kernel=self.kernel_,
            control=control,
            threads=oracle.threads,
            input_shape=fitted.shape,
            dtype=fitted.dtype,
            status=solution.status,
            solver=SolverUsed(
                f"newton, {solution.method}",
                f"a {rank:,} x {rank:,} system per step" if exact else reason,
                int(evaluations) + m**2,
            ),
            n_iter=solution.n_iter,
            certificates=[replace(c, primal=unit * c.primal, dual=unit * c.dual) for c in solution.certificates],
            history=solution.history,
            has_margin=self._has_margin,
        )
        model, parameters = self._summary()
        parameters += f", {'free' if self.fit_intercept else 'no'} intercept"
        report_fit(
            self,
            solved,
            solved,
            fitted.X,
            model=model,
            parameters=lambda: parameters,
            training_error=lambda: math.sqrt(error) if self._error_name.startswith("root") else error,
            error_name=self._error_name,
            n_support=lambda: solution.support if self._has_margin else 0,
            kind=ApproximateReport,
            n_landmarks=m,
            rank=rank,
            landmarks=chosen_by,
            stored=trained.stored,
            source=fitted.source,
            passes=oracle.passes,
            products=solution.products,
            kernel_error=fitted.error,
            trials=() if found is None else found.trials,
            trials_ended="" if found is None else found.ended,
        )

    # ---- streams

    def _batches(self, source: Any, target: Any) -> tuple[Iterator[Any], str]:
        """The batches of a source, and its description."""
        if isinstance(source, (str, os.PathLike)):
            return iter(read_batches(source, target=target)), f"read from {os.fspath(source)}"
        if target is not None:
            raise ValueError("target names a column of a file; batches bring their own y.")
        return passes(source, 1)(), "from a stream"

    def _gather(self, source: Any, target: Any, buffer: DiskBuffer) -> tuple[Array, Array, str]:
        """Put all batches into the buffer; return targets, weights and a description of the source."""
        targets, weights, width = [], [], 0
        batches, origin = self._batches(source, target)
        for i, batch in enumerate(batches):
            with named(f"batch {i + 1}"):
                X, y, weight = opened(batch)
                if y is None:
                    raise ValueError("there are no targets: y is None.")
                X = check_training_points(self, X) if i == 0 else check_new_points(self, X)
                width = X.shape[1] if i == 0 else width
                if X.shape[1] != width:
                    raise ValueError(f"X has {X.shape[1]} columns, and the batches before it {width}.")
                if np.shape(y) != X.shape[:1]:
                    raise ValueError(f"X has {X.shape[0]} samples and y has the shape {np.shape(y)}.")
                weights.append(batch_weights(weight, X.shape[0]))
            buffer.add(X)
            targets.append(np.array(y))  # a stream may fill the same array again
        if not targets:
            raise ValueError("The source has no batches: give at least one (X, y).")
        kept = "buffered in a temporary file" if buffer.on_disk else "held in memory"
        if self.kernel == "precomputed" and buffer.n != width:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. The batches have {buffer.n:,} rows and {width:,} columns "
                "in all: give k(X, X) of the training points, some of its rows at a time."
            )
        count = "1 batch" if len(targets) == 1 else f"{len(targets):,} batches"
        return self._joined(targets), np.concatenate(weights), f"{origin}, {count}, {kept}"
