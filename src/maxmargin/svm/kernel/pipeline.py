"""One way from points to a certified machine, for every estimator of this folder.

    check -> merge equal rows -> resolve the kernel -> operator -> problems -> solve -> certify -> report

An estimator says which problems its fit consists of and what its targets mean; the rest is here.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin.kernels import Linear, Precomputed
from maxmargin.kernels.gram.operator import Gram, computing_form, precomputed_gram
from maxmargin.kernels.gram.tiled import make_gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.verification import settled, verified
from maxmargin.runtime.callbacks import CallbackSupport
from maxmargin.runtime.canonical_rows import canonical_rows
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import effective_threads, run_tiles, single_threaded_blas
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
from maxmargin.solvers import SOLVERS, Solution, Solver, choose_solver
from maxmargin.svm.kernel.coefficients import Machine, divided, gather
from maxmargin.svm.kernel.hard_margin import solve_hard_margin
from maxmargin.svm.kernel.training import ABREAST, TrainingSet
from maxmargin.svm.kernel_input import KernelInput
from maxmargin.svm.models.expansion import KernelExpansion
from maxmargin.svm.models.predictor import PredictorMixin
from maxmargin.svm.report import FitReport, combine

SMALL = 1000  # rows up to which threads cost more than they bring
LARGE = 30_000  # rows from which a fit may take so long that its user should know
REPEATS = 3  # times a solver is resumed because the certificate, computed from scratch, was not met


class KernelMachine(CallbackSupport, PredictorMixin, KernelInput):
    """The estimators' common part: shared parameters, the pipeline, and what every fit leaves behind."""

    def _check_shared(self) -> None:
        """The parameters all estimators have; each error names the parameter, its value and the remedy."""
        check_run_options(self)
        check_number("cache_size", self.cache_size, above=0)
        check_flag("shrinking", self.shrinking)
        check_choice("solver", self.solver, ["auto", *SOLVERS])

    @property
    def _approximation(self) -> str | None:
        """The name of the estimator that approximates the same problem; None if there is none."""
        return None

    def _foretell(self, X: Points, y: Array, weights: Array, measure: str) -> None:
        """Say it beforehand if the fit will take more than a minute."""
        if X.shape[0] >= LARGE and X.dtype != object and not self._is_precomputed():
            from maxmargin.svm.kernel.forecast import foretell

            foretell(self, X, y, weights, measure)

    def _prepare(self, X: Points, target: Array, weights: Array, pairs: bool = False) -> TrainingSet:
        """Canonical rows, the resolved kernel and its operator; ``pairs`` says that pairs of classes will be solved."""
        control = Control.of(self)
        threads = effective_threads(self.n_jobs) if X.shape[0] > SMALL or X.dtype == object else 1
        kernel = self._kernel()
        precomputed = isinstance(kernel, Precomputed)
        if not precomputed:
            kernel.check_points(X)  # here, where an error can still name the user's rows
        rows = canonical_rows(X, target, weights, merge=not precomputed)
        at = rows.representative
        if precomputed:
            points = X
            gram: Gram = precomputed_gram(X, at)
        else:
            points = computing_form(X[at])
            kernel = kernel.resolve(
                points, sample_weight=rows.weight, feature_names=getattr(self, "feature_names_in_", None)
            )
            budget = min(float(self.cache_size), 2**40) * 1e6
            stored = 8.0 * len(at) ** 2
            if 5e5 < stored <= budget:
                check_memory(
                    stored,
                    f"A kernel matrix of {len(at):,} rows inside cache_size={self.cache_size:g} MB",
                    "lower cache_size.",
                )
            gram = make_gram(kernel, points, threads=threads, budget=budget, pairs=pairs)
        gram.budget = min(float(self.cache_size), 2**40) * 1e6
        return TrainingSet(points, target[at], rows.weight, rows, kernel, gram, control, threads)

    def _solve(
        self,
        data: TrainingSet,
        problems: Sequence[tuple[Array, DualProblem]],
        gram_of: Callable[[int], Gram] | None = None,
    ) -> list[Machine]:
        """Solve and certify every problem, several at a time; ``gram_of`` gives the operator of a problem's rows."""
        starts = self._starts(data, problems)
        machines: list[Any] = [None] * len(problems)
        self._solver_name, self._solver_reason = "none", "only one class has weight, so there is nothing to solve"
        if problems:
            chosen, self._solver_reason = choose_solver(self.solver, problems[0][1])
            self._solver_name = chosen.name

        def work(t: int) -> None:
            rows, problem = problems[t]
            stopped = data.control.stop()
            if stopped is not None and starts[t] is None and not (problem.hard_margin or problem.totals.any()):
                machines[t] = _untouched(rows, problem, stopped)
                return
            if gram_of is not None:
                gram = gram_of(t)
            else:
                gram = data.gram if len(rows) == data.gram.n else data.gram.subset(rows)
            gram.budget = share
            machines[t] = self._solve_one(data, rows, problem, chosen, gram, starts[t])
            evaluations[t] = 0 if gram is data.gram else gram.evaluations

        memory = data.gram.budget
        share = memory / min(ABREAST, max(1, len(problems)))
        evaluations = [0] * len(problems)
        rows_each = np.mean([len(rows) for rows, _ in problems]) if problems else 0
        run_tiles(work, len(problems), min(ABREAST, data.threads) if rows_each > SMALL / 2 else 1)
        data.gram.budget = memory
        self._evaluations = data.gram.evaluations + sum(evaluations)
        return machines

    def _solve_one(
        self, data: TrainingSet, rows: Array, problem: DualProblem, solver: Solver, gram: Gram, start: Array | None
    ) -> Machine:
        """Solve one problem; a certificate that misses tol sends the solver on, with half the tol it had."""
        n_iter, tol, goal = 0, float(self.tol), self.tol * problem.tol_scale
        control = data.control.of_one()
        values = data.defined_values(rows)
        for attempt in range(REPEATS):
            if problem.hard_margin:
                own, classes = replace(data, control=control), getattr(self, "classes_", None)
                solution = solve_hard_margin(solver, problem, gram, tol, own, rows, start, classes)
            else:
                solution = solver.solve(problem, gram, tol=tol, control=control, start=start)
            n_iter += solution.n_iter
            f, a = solution.f, solution.a
            if not solution.fresh:
                f = optimality.audited(problem, a, f, gram, finished=solution.status.converged)
            f = verified(problem, a, f, values)
            offset = optimality.offsets(problem, a, problem.gradient(f, a))
            certificate = optimality.certify(problem, a, f, offset)
            status = settled(solution.status, certificate, float(np.abs(a).sum()), goal)
            if status is solution.status or status.converged or attempt == REPEATS - 1:
                break
            start, tol = a, 0.5 * tol
        solution = replace(solution, n_iter=n_iter, status=status)
        return Machine(rows, problem, solution, certificate, f, *problem.intercept(offset), control.seen)

    def _scale(self, machine: Machine) -> float:
        """Factor from the dual's variables to decision values with margin one."""
        return 1.0

    def _starts(self, data: TrainingSet, problems: Sequence[tuple[Array, DualProblem]]) -> list[Array | None]:
        """Where to start: with ``warm_start``, at the last fit's variables, row by row wherever a row is known."""
        last = getattr(self, "_last_fit", None) if self.warm_start else None
        if last is None or len(last.get("variables", ())) != len(problems):
            return [None] * len(problems)
        known, found = known_rows(last["identity"], identity_of(data))
        starts: list[Array | None] = []
        for (rows, problem), (kind, values) in zip(problems, last["variables"], strict=True):
            per_row = problem.n_variables // problem.n_rows
            if kind != (problem.kind, per_row):
                starts.append(None)
                continue
            start = np.zeros((per_row, len(rows)))
            start[:, found[rows]] = values[:, known[rows][found[rows]]]
            starts.append(problem.feasible(start.ravel()))
        return starts

    def _remember(self, data: TrainingSet, machines: Sequence[Machine]) -> None:
        """Keep the variables of this fit for a warm start of the next."""
        if not self.warm_start:
            self.__dict__.pop("_last_fit", None)
            return
        variables = []
        for machine in machines:
            per_row = machine.problem.n_variables // machine.problem.n_rows
            values = np.zeros((per_row, data.gram.n))
            values[:, machine.rows] = machine.solution.a.reshape(per_row, -1)
            variables.append(((machine.problem.kind, per_row), values))
        self._last_fit = {"identity": identity_of(data), "variables": variables}

    def _fit_one(self, X: Points, data: TrainingSet, weights: Array, bounds: Array, problem: DualProblem) -> Machine:
        """A fit that is one problem over all rows: solve it, and set what scikit-learn's estimators expose."""
        with data.control.catching_interrupts(), single_threaded_blas():
            machines = self._solve(data, [(np.arange(data.gram.n), problem)])
        self._remember(data, machines)
        used, coefficients, filled = gather(machines, 1, [0], np.ones(1))
        self.intercept_ = np.array([machines[0].intercept])
        listed = self._publish(X, data, used, coefficients, filled, self.intercept_, weights, bounds[:, None])
        self.dual_coef_ = sp.csr_matrix(listed.T) if self._sparse else listed.T.copy()
        self._n_support: Any = [len(self.support_)]
        self.n_iter_: Any = machines[0].solution.n_iter
        return machines[0]

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

        ``used`` are the canonical rows with a coefficient, ``coefficients`` is (used rows, machines), and ``filled``
        the part of its bound that each coefficient takes up; ``bounds`` are those of the input rows, in each machine's
        scale. Support vectors are listed by ``order_by`` (the class), then by index. Returns the coefficients of the
        listed support vectors, one row each."""
        support, per_input = divided(data, used, coefficients, filled, weights, bounds)
        if order_by is not None:
            order = np.argsort(order_by[support], kind="stable")
            support, per_input = support[order], per_input[order]
        self.support_ = support.astype(np.int32)
        self.shape_fit_ = X.shape
        self.__dict__.pop("compression_report_", None)
        self.kernel_ = data.kernel
        precomputed = isinstance(data.kernel, Precomputed)
        if precomputed:
            self.support_vectors_ = np.empty((0, 0))
            anchors: Points = support
            self._expansion = KernelExpansion(data.kernel, anchors, per_input, intercept)
        else:
            self.support_vectors_ = X[support]
            if len(support) == len(used):  # no equal rows among them
                anchors = self.support_vectors_ if sp.issparse(data.X) or not sp.issparse(X) else X[support].toarray()
                self._expansion = KernelExpansion(data.kernel, anchors, per_input, intercept)
            else:
                self._expansion = KernelExpansion(data.kernel, data.X[used], coefficients, intercept)
        self._gamma = getattr(data.kernel, "gamma", 0.0)
        self._sparse = sp.issparse(X)
        return per_input

    def _finish(
        self,
        data: TrainingSet,
        machines: Sequence[Machine],
        *,
        machine: str,
        parameters: str,
        training_error: float,
        error_name: str = "training error",
    ) -> None:
        """The report, ``fit_status_`` and the warning of a fit that did not converge."""
        statuses = [m.solution.status for m in machines]
        status = next((s for s in statuses if not s.converged), Status.OPTIMAL)
        psd = data.kernel.psd
        valid = psd or (None if type(data.kernel).__name__ in ("Callable", "Precomputed") else False)
        self.report_ = FitReport(
            machine=machine,
            solver=self._solver_name,
            solver_reason=self._solver_reason,
            kernel=data.kernel,
            parameters=parameters,
            status=status,
            n_iter=sum(m.solution.n_iter for m in machines),
            kernel_evaluations=self._evaluations,
            n_support=len(self.support_),
            n_samples=self.shape_fit_[0],
            n_features=getattr(self, "n_features_in_", 0),
            margins=np.array([_margin(m.certificate.norm * self._scale(m)) for m in machines]),
            training_error=training_error,
            error_name=error_name,
            kernel_valid=valid,
            tol=self.tol,
            seconds=data.control.seconds,
            dtype=str(data.X.dtype),
            threads=data.threads,
            **combine([m.certificate for m in machines]),
        )
        self.history_ = self._history(machines)
        self.fit_status_ = 0 if status.converged else 1
        if not status.converged:
            gap = "" if valid is False else f" and the relative duality gap {self.report_.relative_gap:.2e}"
            warnings.warn(
                f"{type(self).__name__} did not converge ({status.value}). The model is the best one so far: its "
                f"certified violation is {self.report_.kkt_violation:.2e} (tol={self.tol:g}){gap}."
                f"{scaling_hint(data.X, getattr(self, 'feature_names_in_', None))}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    def _history(self, machines: Sequence[Machine]) -> History:
        """What the solvers saw of each machine, and its certificate as the last record."""
        history = History()
        for k, machine in enumerate(machines):
            scale = self._scale(machine)
            for seen in machine.seen:
                history.append(
                    machine=k,
                    iteration=seen.iteration,
                    objective=seen.primal,
                    dual=seen.dual,
                    margin=_margin(scale * seen.norm),
                    n_support=seen.n_support,
                    seconds=seen.seconds,
                )
            last = machine.certificate
            history.append(
                machine=k,
                iteration=machine.solution.n_iter,
                objective=last.primal,
                dual=last.dual,
                margin=_margin(scale * last.norm),
                n_support=int(np.count_nonzero(machine.solution.a)),
                seconds=machine.seen[-1].seconds if machine.seen else 0.0,
            )
        return history

    def _decision(self, X: Points) -> Array:
        """Values of all machines on validated points, shape (n, machines)."""
        return self._expand(self._expansion, X)

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel only; one row a machine."""
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


def _margin(norm: float) -> float:
    return 2.0 / norm if norm > 0 else math.inf if norm == 0 else math.nan


def _untouched(rows: Array, problem: DualProblem, status: Status) -> Machine:
    """The machine of a problem that a stopped fit did not come to: all variables are zero, and so is f."""
    a, f = problem.start(), np.zeros(problem.n_rows)
    offset = optimality.offsets(problem, a, problem.gradient(f, a))
    certificate = optimality.certify(problem, a, f, offset)
    return Machine(rows, problem, Solution(a, f, status, 0), certificate, f, *problem.intercept(offset))


def known_rows(before: Array, now: Array) -> tuple[Array, Array]:
    """Of rows given by their numbers of :func:`identity_of`: where each was before, and whether it was there at all."""
    order = np.argsort(before, kind="stable")
    known = order[np.searchsorted(before, now, sorter=order).clip(max=len(order) - 1)]
    return known, before[known] == now


def identity_of(data: TrainingSet) -> Array:
    """Content and target of each canonical row in one number."""
    bits = np.ascontiguousarray(data.target, np.float64).view(np.uint64)
    return data.rows.key ^ (bits * np.uint64(0x9E3779B97F4A7C15))
