"""One linear regression of a fit: its rows, solving and certifying it, its memory and its report."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from maxmargin.kernels import Linear
from maxmargin.runtime.canonical_rows import row_hashes
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import effective_threads, single_threaded_blas
from maxmargin.runtime.validation import Array, Points, callers_level, scaling_hint
from maxmargin.solvers.linear.base import LinearSolution, Start
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_certificate import RegressionCertificate, certify_regression
from maxmargin.solvers.linear.regression_run import RegressionSolver
from maxmargin.svm.linear.binary_models import TrainingRows, training_rows
from maxmargin.svm.linear.report import LinearReport
from maxmargin.svm.report import combine

SMALL = 100_000  # entries of X up to which equal rows are merged, and sorted by content
REPEATS = 3  # times a solver is resumed because its certificate, computed apart, was not met
FEW = 1000  # rows up to which threads cost more than they bring


def regression_rows(X: Points, y: Array, weights: Array, *, keys: bool) -> tuple[TrainingRows, Array]:
    """The rows that have weight, and their targets. Small data are in canonical form
    (:func:`~maxmargin.svm.linear.binary_models.training_rows`), their targets told apart by their bits; sorting larger
    ones would take as long as solving."""
    if (X.nnz if sp.issparse(X) else X.size) <= SMALL:
        rows = training_rows(X, (y + 0.0).view(np.int64), weights, keys=keys)
        return rows, rows.target.view(np.float64)
    at = np.flatnonzero(weights > 0)
    if len(at) < len(weights):
        X, y = X[at], y[at]
    member_of = np.full(len(weights), -1)
    member_of[at] = np.arange(len(at))
    key = row_hashes(X) ^ row_hashes(y[:, None]) if keys else np.zeros(0, np.uint64)
    return TrainingRows(X, y, weights[at], member_of, key), y


@dataclass(frozen=True)
class RegressionMachine:
    """A problem and what came of it."""

    problem: RegressionProblem
    solution: LinearSolution
    certificate: RegressionCertificate
    solver: str
    reason: str


def solve_regression(
    problem: RegressionProblem,
    solver: RegressionSolver,
    reason: str,
    *,
    tol: float,
    control: Control,
    start: Start | None,
    random_state: Any,
) -> RegressionMachine:
    """Solve until the certificate says that the relative gap is at most ``tol``, or the solver gives up. Without a
    random state the seed is fixed."""
    seed = check_random_state(0 if random_state is None else random_state).randint(2**31 - 1)
    n_iter, goal = 0, tol
    with control.catching_interrupts(), single_threaded_blas():
        for _ in range(REPEATS):
            solution = solver.solve(problem, tol=goal, control=control, start=start, random_state=seed)
            n_iter += solution.n_iter
            certificate = certify_regression(problem, solution.w, solution.b, solution.alpha)
            met = certificate.relative_gap <= tol
            if met or solution.status is not Status.OPTIMAL:
                break
            start, goal = Start(solution.w, solution.b, solution.alpha), 0.1 * goal
    status = Status.OPTIMAL if met else Status.STALLED if solution.status is Status.OPTIMAL else solution.status
    solution = replace(solution, status=status, n_iter=n_iter)
    return RegressionMachine(problem, solution, certificate, solver.name, reason)


def threads_of(estimator: Any, n_rows: int) -> int:
    """Threads for so many rows."""
    return effective_threads(estimator.n_jobs) if n_rows > FEW else 1


@dataclass(frozen=True)
class RegressionMemory:
    """What a warm start of the next fit needs: w, b, and multipliers in units of their row's price, by row."""

    key: Array
    w: Array
    b: float
    filled: Array

    @classmethod
    def of(cls, rows: TrainingRows, machine: RegressionMachine) -> RegressionMemory:
        """The memory of a fit."""
        filled = machine.certificate.beta / machine.problem.above
        return cls(rows.key, machine.solution.w, machine.solution.b, filled)

    def start(self, rows: TrainingRows, problem: RegressionProblem) -> Start | None:
        """Where to start, if the columns are the same: multipliers wherever a row is known."""
        if len(self.w) != problem.n_features:
            return None
        order = np.argsort(self.key, kind="stable")
        at = order[np.searchsorted(self.key, rows.key, sorter=order).clip(max=len(order) - 1)]
        return Start(self.w, self.b, np.where(self.key[at] == rows.key, self.filled[at] * problem.above, 0.0))


def report_of(
    estimator: Any,
    machine: RegressionMachine,
    rows: TrainingRows,
    X: Points,
    control: Control,
    *,
    parameters: str,
    training_error: float,
    error_name: str,
) -> LinearReport:
    """The account of a fit."""
    certificate, at = machine.certificate, rows.member_of[rows.member_of >= 0]
    fields: dict[str, Any] = {**combine([certificate]), "relative_gap": certificate.relative_gap}
    return LinearReport(
        machine=type(estimator).__name__,
        solver=machine.solver,
        solver_reason=machine.reason,
        kernel=Linear(),
        parameters=parameters,
        status=machine.solution.status,
        n_iter=machine.solution.n_iter,
        kernel_evaluations=0,
        n_support=int(np.count_nonzero(certificate.support[at])),
        n_samples=X.shape[0],
        n_features=X.shape[1],
        margins=np.array([2.0 / certificate.norm if certificate.norm > 0 else np.inf]),
        training_error=training_error,
        error_name=error_name,
        kernel_valid=True,
        tol=float(estimator.tol),
        seconds=control.seconds,
        dtype=str(X.dtype),
        threads=machine.problem.threads,
        **fields,
    )


def warn_unless_converged(estimator: Any, X: Points) -> None:
    """Say how far the model can be from the optimum, and what to do."""
    report = estimator.report_
    if report.converged:
        return
    advice = report.status.value
    if report.status is Status.MAX_ITER and report.solver != "barrier":
        advice += "; solver='barrier' takes a few dozen iterations"
    warnings.warn(
        f"{type(estimator).__name__} did not converge ({advice}). The model is the best one so far: its certified "
        f"relative duality gap is {report.relative_gap:.2e} (tol={estimator.tol:g})."
        f"{scaling_hint(X, getattr(estimator, 'feature_names_in_', None))}",
        ConvergenceWarning,
        stacklevel=callers_level(),
    )
