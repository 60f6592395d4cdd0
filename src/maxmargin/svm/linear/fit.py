"""The beginning and the end of every linear fit: its control and threads, its report, its warning."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from maxmargin.kernels import Linear
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import effective_threads, single_threaded_blas
from maxmargin.runtime.validation import Points, callers_level, scaling_hint
from maxmargin.solvers.registry import SOLVERS, choose_linear_solver
from maxmargin.svm.linear.binary_models import Memory, Outcome, gathered, solve_certified
from maxmargin.svm.linear.report import LinearReport
from maxmargin.svm.linear.rows import TrainingRows
from maxmargin.svm.report import combine

ONE_THREAD_MAX_ROWS = 1000  # up to which threads cost more than they bring


def threads_of(estimator: Any, n_rows: int) -> int:
    """Threads for so many rows."""
    return effective_threads(estimator.n_jobs) if n_rows > ONE_THREAD_MAX_ROWS else 1


def learns_of(estimator: Any) -> str | None:
    """What ``dual`` asks for."""
    return None if estimator.dual == "auto" else ("dual" if estimator.dual else "primal")


def fit_one(
    estimator: Any, rows: TrainingRows, problem: PrimalProblem, control: Control, learns: str | None = None
) -> tuple[tuple[str, str], Outcome]:
    """One problem solved with the estimator's options: the solver's name and why it was chosen, and what came of it.
    With ``warm_start`` it begins at the last solution, and leaves its own."""
    solver, reason = choose_linear_solver(estimator.solver, problem, learns)
    last: Memory | None = getattr(estimator, "_last_fit", None) if estimator.warm_start else None
    (start,) = [None] if last is None else last.starts(rows, [problem])
    # Without a random state the seed is fixed.
    seed = check_random_state(0 if estimator.random_state is None else estimator.random_state).randint(2**31 - 1)
    with control.catching_interrupts(), single_threaded_blas():
        model = solve_certified(problem, solver, tol=float(estimator.tol), control=control, start=start, seed=int(seed))
    estimator._last_fit = Memory.of(rows, [model]) if estimator.warm_start else None
    outcome = gathered([model], np.zeros(1), problem.n_features, problem.n_rows)
    return (solver.name, reason), outcome


def linear_report(
    estimator: Any,
    outcome: Outcome,
    rows: TrainingRows,
    X: Points,
    control: Control,
    *,
    title: str,
    solver: tuple[str, str],
    parameters: str,
    error: tuple[str, float],
    threads: int,
) -> LinearReport:
    """The account of a fit; ``error`` is the training error's name and value."""
    certificates = list(outcome.certificates)
    fields: dict[str, Any] = combine(certificates)
    if len(certificates) == 1:  # an objective that cannot be told from zero has a gap of its own measure
        fields["relative_gap"] = certificates[0].relative_gap
    return LinearReport(
        machine=title,
        solver=solver[0],
        solver_reason=solver[1],
        kernel=Linear(),
        parameters=parameters,
        status=outcome.status,
        n_iter=int(outcome.n_iter.sum()),
        kernel_evaluations=0,
        n_support=int(np.count_nonzero(outcome.support[rows.member_of[rows.member_of >= 0]])),
        n_samples=X.shape[0],
        n_features=X.shape[1],
        margins=np.array([2.0 / c.norm if c.norm > 0 else math.inf for c in certificates]),
        training_error=error[1],
        error_name=error[0],
        kernel_valid=True,
        tol=float(estimator.tol),
        seconds=control.seconds,
        dtype=str(X.dtype),
        threads=threads,
        **fields,
    )


def warn_unless_converged(estimator: Any, X: Points, advice: str = "") -> None:
    """Report how far the model can be from the optimum, and what to do."""
    report = estimator.report_
    if report.converged:
        return
    advice = advice or report.status.value
    solver = SOLVERS.get(report.solver)
    if (
        report.status is Status.MAX_ITER
        and solver is not None
        and "linear" in solver.accepts
        and not solver.few_iterations
    ):
        advice += "; solver='barrier' takes a few dozen iterations"
    warnings.warn(
        f"{type(estimator).__name__} did not converge ({advice}). The model is the best one so far: its certified "
        f"relative duality gap is {report.relative_gap:.2e} (tol={estimator.tol:g})."
        f"{scaling_hint(X, getattr(estimator, 'feature_names_in_', None))}",
        ConvergenceWarning,
        stacklevel=callers_level(),
    )
