"""What the estimators on landmarks share: parameters, the way of a fit, the fitted function and its account.

X, y ─ validation ─ kernel ─ [how many landmarks? auto.py] ─ training.py ─ expansion over the landmarks ─ report
batches ─ validation ─ spool.py ─ the same
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.data.batches import read_batches
from maxmargin.kernels import Precomputed
from maxmargin.large_scale.auto import FEWEST, FIRST, Search, held_out, search
from maxmargin.large_scale.features.kernel_error import KernelError
from maxmargin.large_scale.features.landmarks import check_landmark_columns, generator_of
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.report import ApproximateReport
from maxmargin.large_scale.rows.disk_buffer import Spool
from maxmargin.large_scale.rows.targets import Targets
from maxmargin.large_scale.training import Rows, Trained, budget_of, missed, rows_of, train
from maxmargin.problems.optimality import Certificate
from maxmargin.runtime.batches import batch_weights, named, opened, passes
from maxmargin.runtime.callbacks import CallbackSupport
from maxmargin.runtime.control import Control, Status, print_note
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import (
    Array,
    Points,
    callers_level,
    check_flag,
    check_memory,
    check_new_points,
    check_number,
    check_run_options,
    check_training_points,
    scaling_hint,
)
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.predictor import PredictorMixin
from maxmargin.svm.report import combine

HEAVY = 48.0  # bytes an entry of K_mm takes while it is factorised and used


@dataclass(frozen=True)
class Problem:
    """What is to be learnt from some of the rows.

    Attributes
    ----------
    targets : Targets
    loss : Loss
    scale : float
        Typical size of the targets.
    first_b : array of shape (outputs,)
        Where the intercept may begin.
    """

    targets: Targets
    loss: Loss
    scale: float
    first_b: Array


@dataclass(frozen=True)
class Fitted:
    """What a fit has to tell besides the function."""

    rows: Rows
    trained: Trained
    error: KernelError | None
    found: Search | None
    control: Control
    source: str


def _check_unless_auto(name: str, value: Any, wanted: str, **bounds: Any) -> None:
    if not isinstance(value, str):
        check_number(name, value, **bounds)
    elif value != "auto":
        raise ValueError(f"{name} must be {wanted} or 'auto'; got {str(value)!r}.")


class LandmarkMachine(CallbackSupport, PredictorMixin, KernelInput):
    """The base of the estimators. An author says what the problem of some rows is (``make``, given to ``_fit_rows``),
    and how rows that are held out are judged (``judge``)."""

    _unit = 1.0  # what objectives are multiplied by in the report

    def _check_options(self) -> None:
        given = {**self.get_params(deep=False), "warm_start": False}
        if isinstance(self.random_state, np.random.Generator):
            given["random_state"] = None
        check_run_options(SimpleNamespace(**given))
        check_flag("fit_intercept", self.fit_intercept)
        _check_unless_auto("n_components", self.n_components, "an integer >= 1", least=1, integer=True)
        _check_unless_auto("cache_size", self.cache_size, "a number of megabytes", least=0, infinite=True)

    # ---- fitting

    def _fit_rows(
        self,
        X: Points,
        target: Array,
        weights: Array,
        make: Callable[[Array, Array], Problem],
        judge: Callable[[Array, Array], tuple[Array, float]],
        control: Control,
        source: str = "",
    ) -> Fitted:
        """Train on all rows. ``make(at, weights)`` is the problem of the rows at these places, and
        ``judge(at, values)`` gives the losses and the score of decision values there. Sets all that does not depend on
        the kind of machine, except the report (:meth:`_account`)."""
        check_landmark_columns(self)
        used = np.flatnonzero(weights > 0)
        everything = len(used) == len(weights)
        self.kernel_ = self._resolved(X if everything else X[used], weights[used])
        rng = generator_of(0 if self.random_state is None else self.random_state)
        rows = rows_of(X, target, weights, merge=not isinstance(self.kernel_, Precomputed))
        found: Search | None = None
        with control.catching_interrupts(), single_threaded_blas():
            m = self._size(rows)
            if self.n_components == "auto" and isinstance(self.landmarks, str):
                found = self._search(X, rows, make, judge, rng, control)
                m = found.n_components
            trained = self._train(X, rows, make(rows.at, rows.weights), m, rng, control)
            unseen = all(math.isinf(certificate.primal) for certificate in trained.solution.certificates)
            if unseen and trained.solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt("Not one pass over the rows was finished: there is no model yet.")
            error = missed(self.kernel_, X, rows, trained, rng)
        self.landmarks_, self.landmark_indices_ = trained.landmarks.points, trained.landmarks.indices
        self.n_components_ = len(trained.landmarks)
        self.n_iter_, self.history_ = trained.solution.n_iter, trained.solution.history
        self._squares = np.array([c.norm**2 for c in trained.solution.certificates])
        return Fitted(rows, trained, error, found, control, source)

    def _size(self, rows: Rows) -> int:
        """Landmarks asked for, as far as there are rows; an error if their kernel matrix does not fit into memory."""
        n = rows.X.shape[0]
        m = min(FIRST if self.n_components == "auto" else int(self.n_components), n)
        check_memory(HEAVY * m**2, f"n_components={m:,}", "take fewer.")
        return m

    def _train(
        self, X: Points, rows: Rows, problem: Problem, m: int, rng: np.random.Generator, control: Control
    ) -> Trained:
        return train(
            self.kernel_,
            X,
            rows,
            problem.targets,
            problem.loss,
            n_components=m,
            landmarks=self.landmarks,
            rng=rng,
            intercept=bool(self.fit_intercept),
            tol=float(self.tol),
            control=control,
            threads=self._threads(rows.X.shape[0]),
            cache_size=self.cache_size,
            scale=problem.scale,
            first_b=problem.first_b,
            note=print_note if self.verbose else None,
        )

    def _search(
        self,
        X: Points,
        rows: Rows,
        make: Callable[[Array, Array], Problem],
        judge: Callable[[Array, Array], tuple[Array, float]],
        rng: np.random.Generator,
        control: Control,
    ) -> Search:
        """How many landmarks are worth it."""
        n = rows.X.shape[0]
        if n < FEWEST:
            return Search(n, (), f"all {n:,} rows are landmarks, too few to hold some out")
        learnt, apart = held_out(n, rng)
        part = Rows(rows.X[learnt], rows.at[learnt], rows.weights[learnt])
        looked_at = rows.X[apart]
        problem = make(part.at, part.weights)

        def attempt(m: int) -> tuple[Array, float]:
            trained = self._train(X, part, problem, m, np.random.default_rng(m), control)
            function = self._function(trained)
            values = function.decision(looked_at, self._threads(len(apart)))
            return judge(rows.at[apart], values)

        most = math.sqrt(budget_of("auto") / HEAVY)
        found = search(attempt, len(learnt), control=control, most=most, weights=rows.weights[apart])
        if found.n_components < len(learnt):
            return found
        return replace(found, n_components=n, ended=f"all {n:,} rows are landmarks")

    def _function(self, trained: Trained) -> KernelExpansion:
        return KernelExpansion(self.kernel_, trained.landmarks.points, trained.coefficients, trained.solution.b)

    def _account(self, X: Points, fitted: Fitted, machine: str, parameters: str, error_name: str) -> None:
        """The report, and the warning if there is one to give."""
        trained, rows, found = fitted.trained, fitted.rows, fitted.found
        solution = trained.solution
        missed_by, count = trained.rounds.training_error()
        root = error_name.startswith("root")
        stopped = solution.status in (Status.DEADLINE, Status.INTERRUPTED)  # then no pass with the final function
        error = math.nan if stopped else missed_by / max(1, count)
        exhausted = self.n_components_ == rows.X.shape[0] and isinstance(self.landmarks, str)
        way = "all distinct rows: nothing is approximated" if exhausted else self._how()
        scaled = [self._in_units(c) for c in solution.certificates]
        values = rows.X.shape[0] * self.n_components_
        share = 1.0 if trained.stored else trained.rounds.passes
        self.report_ = ApproximateReport(
            machine=machine,
            solver=f"newton, {solution.method}",
            solver_reason=(
                f"a {trained.factor.rank:,} x {trained.factor.rank:,} system a step"
                if solution.method == "exact"
                else "conjugate gradients, preconditioned by a sample of the rows"
            ),
            kernel=self.kernel_,
            parameters=parameters,
            status=solution.status,
            n_iter=solution.n_iter,
            kernel_evaluations=int(share * values) + self.n_components_**2,
            n_support=solution.support,
            n_samples=X.shape[0],
            n_features=X.shape[1] if X.ndim == 2 else 0,
            margins=np.array([2.0 / c.norm if c.norm > 0 else math.inf for c in solution.certificates]),
            training_error=math.sqrt(error) if root else error,
            error_name=error_name,
            kernel_valid=True,
            tol=float(self.tol),
            seconds=fitted.control.seconds,
            dtype=str(X.dtype),
            threads=trained.rounds.threads,
            n_landmarks=self.n_components_,
            rank=trained.factor.rank,
            landmarks=way,
            stored=trained.stored,
            source=fitted.source,
            passes=trained.rounds.passes,
            products=solution.products,
            kernel_error=fitted.error,
            trials=() if found is None else found.trials,
            trials_ended="" if found is None else found.ended,
            **combine(scaled),
        )
        if not solution.status.converged:
            self._warn(X, max(certificate.relative_gap for certificate in solution.certificates))

    def _intercept_in_words(self) -> str:
        return "free intercept" if self.fit_intercept else "no intercept"

    def _how(self) -> str:
        return self.landmarks if isinstance(self.landmarks, str) else "given"

    def _in_units(self, certificate: Certificate) -> Certificate:
        return replace(certificate, primal=self._unit * certificate.primal, dual=self._unit * certificate.dual)

    def _warn(self, X: Points, gap: float) -> None:
        report, several = self.report_, len(self._squares) > 1
        warnings.warn(
            f"{type(self).__name__} did not converge ({report.status.value}). The model is the best one so far: its "
            f"{'largest ' * several}certified relative duality gap is {gap:.2e} (tol={self.tol:g})."
            f"{scaling_hint(X, getattr(self, 'feature_names_in_', None))}",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )

    # ---- streams

    def _batches(self, source: Any, target: Any) -> tuple[Iterator[Any], str]:
        """The batches of a source, and what to call it."""
        if isinstance(source, (str, os.PathLike)):
            return iter(read_batches(source, target=target)), f"read from {os.fspath(source)}"
        if target is not None:
            raise ValueError("target names a column of a file; batches bring their own y.")
        return passes(source, 1)(), "from a stream"

    def _gather(self, source: Any, target: Any, spool: Spool) -> tuple[list[Array], list[Array], str]:
        """Put all batches into the spool; their targets and weights, and a word on where they came from."""
        targets, weights, width = [], [], 0
        batches, said = self._batches(source, target)
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
            spool.add(X)
            targets.append(np.array(y))  # a stream may fill the same array again
        if not targets:
            raise ValueError("The source has no batches: give at least one (X, y).")
        kept = "spooled to a temporary file" if spool.on_disk else "held in memory"
        if self.kernel == "precomputed" and spool.n != width:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. The batches have {spool.n:,} rows and {width:,} columns "
                "in all: hand in k(X, X) of the training points, some of its rows at a time."
            )
        count = "1 batch" if len(targets) == 1 else f"{len(targets):,} batches"
        return targets, weights, f"{said}, {count}, {kept}"
