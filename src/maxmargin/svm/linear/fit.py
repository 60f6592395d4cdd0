"""One linear fit, whatever it fits: prepare -> pose -> solve and certify -> calibrate -> publish -> report.

An estimator checks its parameters and targets, and poses its problems; everything else is here, as functions over
values: :class:`FitContext` contains the input of a fit, :class:`Fitted` its outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin.kernels import Linear
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import LINEAR_WORDS, Control, Status
from maxmargin.runtime.random_state import LARGEST_SEED, draw_seed
from maxmargin.runtime.text_report import tolerance_text
from maxmargin.runtime.threads import effective_threads, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.registry import SOLVERS, choose_linear_solver, first_passes, lanes_serve, linear_fallback
from maxmargin.svm.linear.binary_models import (
    LinearOutcome,
    SolvedProblem,
    WarmStart,
    collect_outcome,
    continue_stalled,
    solve_at_once,
    solve_by_epochs,
    solve_certified,
    solve_side_by_side,
)
from maxmargin.svm.linear.rows import TrainingRows
from maxmargin.svm.report import FitReport, SolverUsed, report_fit, without_rounding

Fittable = TypeVar("Fittable", bound=Any)

ONE_THREAD_MAX_ROWS = 1000  # up to which threads cost more than they bring
LANES_MIN_CLASSES = 3
EPOCHS_MIN_ENTRIES = 50_000  # of X: for fewer, interior points in one compiled call take a millisecond or two
DEFERRED_REPORT_MAX_ROWS = 20_000  # a report that is not read yet keeps several numbers per row


@dataclass(frozen=True)
class FitContext:
    """The rows and options of a fit."""

    rows: TrainingRows
    control: Control
    threads: int
    tol: float
    solver: Any
    learns: str | None  # "primal" or "dual", by the parameter ``dual``; None means either
    seed: int  # of the rows' order
    last: WarmStart | None  # of the fit to start from
    # input_shape, dtype: of the points given
    input_shape: tuple[int, int]
    dtype: Any
    kernel: Linear = Linear()  # noqa: RUF009 (no state)


@dataclass(frozen=True)
class Fitted:
    """The outcome of a fit, and the model of each problem (None: constant)."""

    outcome: LinearOutcome
    models: Sequence[SolvedProblem | None] = ()


def prepare(
    estimator: Any, X: Points, target: Array, weights: Array, merge: Callable[..., TrainingRows], control: Control
) -> FitContext:
    """The rows of a fit and its options; ``merge`` makes the rows."""
    dual = getattr(estimator, "dual", "auto")
    drawn = draw_seed(estimator)
    return FitContext(
        rows=merge(X, target, weights, keys=bool(estimator.warm_start)),
        control=control,
        threads=effective_threads(estimator.n_jobs) if X.shape[0] > ONE_THREAD_MAX_ROWS else 1,
        tol=float(estimator.tol),
        solver=estimator.solver,
        learns=None if isinstance(dual, str) else ("dual" if dual else "primal"),
        seed=0 if estimator.random_state is None else drawn,
        last=getattr(estimator, "_last_fit", None) if estimator.warm_start else None,
        input_shape=(int(X.shape[0]), int(X.shape[1])),
        dtype=X.dtype,
    )


def solve_problems(
    context: FitContext,
    problems: Sequence[PrimalProblem],
    constant: Sequence[float] = (0.0,),
    lanes: tuple[Array, Array] | None = None,
) -> Fitted:
    """Solve and certify all problems of a fit, which are on the same rows. ``constant`` is the decision of each problem
    that has one side only, 0 for those that are to be solved; ``lanes``, where the problems are one-vs-rest, the bound
    of a row in all problems but its own, and the factors of each problem's own rows."""
    rows, control, tol = context.rows, context.control, context.tol
    models: list[SolvedProblem | None] = [None] * len(problems)
    left = [k for k, value in enumerate(constant) if value == 0.0]

    def fitted(solver: str, reason: str) -> Fitted:
        used, known = SolverUsed(solver, reason), np.array(constant, np.float64)
        return Fitted(collect_outcome(models, used, known, rows.X.shape[1], len(rows.weight)), models)

    if not left:
        return fitted("none", "only one class has weight, so there is nothing to solve")
    solver, reason = choose_linear_solver(context.solver, problems[left[0]], context.learns)
    automatic = isinstance(context.solver, str) and context.solver == "auto"
    if automatic and context.last is None:
        for k in left:
            if rows.X.size < EPOCHS_MIN_ENTRIES or not first_passes(problems[k], solver):
                models[k] = solve_at_once(problems[k], solver, tol, control)
        left = [k for k in left if models[k] is None]
        if not left:
            return fitted(solver.name, reason)
    if sp.issparse(rows.X) and rows.X.format == "csc" and not solver.reads_columns:
        X = rows.X.tocsr()
        problems = [replace(problem, X=X) for problem in problems]
    starts = [None] * len(problems) if context.last is None else context.last.starts(rows, problems)
    # One fixed seed, or the user's; every class has its own, so that the threads do not matter, and all targets of a
    # regression the same, so that each is solved as if it were alone.
    rng = np.random.RandomState(context.seed)
    seeds = rng.randint(LARGEST_SEED, size=len(problems) if lanes is not None else 1).tolist() * len(problems)
    with control.catching_interrupts(), single_threaded_blas():
        if lanes is not None and len(left) >= LANES_MIN_CLASSES and lanes_serve(solver, problems[left[0]]):
            bound, own = lanes
            together = solve_side_by_side(
                [problems[k] for k in left],
                bound,
                own[left],
                tol=tol,
                control=control,
                starts=[starts[k] for k in left],
                seeds=[seeds[k] for k in left],
                threads=context.threads,
            )
            for k, model in zip(left, together, strict=True):
                models[k] = model
            return fitted(solver.name, f"{reason}; {len(left)} classes side by side")

        def work(t: int) -> None:
            k, one = left[t], control if len(problems) == 1 else control.of_one()
            problem, start, seed = problems[k], starts[k], seeds[k]
            passes = first_passes(problem, solver) if automatic and start is None else 0.0
            if passes > 0.0:
                found = solve_by_epochs(problem, passes, tol=tol, control=one, seed=seed)
                by_epochs[k] = isinstance(found, SolvedProblem)
                if isinstance(found, SolvedProblem):
                    models[k] = found
                    return
                models[k] = solve_at_once(problem, solver, tol, one)
                if models[k] is not None:
                    return
                start = found if solver.learns == "primal" else None
            model = solve_certified(problem, solver, tol=tol, control=one, start=start, seed=seed)
            models[k] = continue_stalled(model, tol=tol, control=one, seed=seed) if automatic else model

        by_epochs = [False] * len(problems)
        run_tiles(work, len(left), context.threads)
    if all(by_epochs[k] for k in left):
        return fitted(linear_fallback().name, "few passes over the rows: row by row")
    return fitted(solver.name, reason)


def publish(
    estimator: Any,
    context: FitContext,
    fitted: Fitted,
    X: Points,
    *,
    model: str,
    parameters: str,
    training_error: Callable[[], float],
    error_name: str = "training error",
) -> None:
    """The last step of a fit: the state of a warm start, the iterations, and the report. ``training_error`` is
    computed from values of the fit, not from the estimator."""
    outcome, member_of = fitted.outcome, context.rows.member_of
    estimator._last_fit = WarmStart.of(context.rows, fitted.models) if estimator.warm_start else None
    estimator.n_iter_ = int(outcome.n_iter.max())
    report_fit(
        estimator,
        context,
        with_advice(outcome),
        X,
        model=model,
        parameters=lambda: parameters,
        training_error=training_error,
        error_name=error_name,
        n_support=lambda: int(np.count_nonzero(outcome.support[member_of[member_of >= 0]])),
        kind=LinearReport,
    )
    if context.input_shape[0] > DEFERRED_REPORT_MAX_ROWS:
        estimator.report_.status  # noqa: B018 (computes all fields)


def with_advice(outcome: LinearOutcome) -> LinearOutcome:
    """With the advice to use another solver, where one of many iterations was stopped at their limit."""
    solver = SOLVERS.get(outcome.solver.name)
    slow = solver is not None and "linear" in solver.accepts and not solver.few_iterations
    if outcome.status is not Status.MAX_ITER or not slow:
        return outcome
    advice = f"{outcome.advice or outcome.status.value}; solver='barrier' takes a few dozen iterations"
    return replace(outcome, advice=advice)


def fit_path(estimator: Fittable, Cs: Any, data: tuple[Any, Any, Any], carried: Sequence[str]) -> list[Fittable]:
    """Clones of ``estimator`` fitted to X, y and weights for several values of C, in their order. Each is fitted with
    the attributes ``carried`` of the one with the next smaller C, from which a warm start begins."""
    values = [float(C) for C in np.atleast_1d(np.asarray(Cs, dtype=np.float64))]
    if not values:
        raise ValueError("Cs is empty: give at least one value of C.")
    models: dict[float, Fittable] = {}
    state: dict[str, Any] = {}
    for C in sorted(set(values)):
        model: Any = clone(estimator).set_params(C=C, warm_start=True)
        vars(model).update(state)
        models[C] = model.fit(*data)
        state = {name: getattr(model, name) for name in carried}
        model.warm_start = estimator.warm_start
    return [models[C] for C in values]


class LinearReport(FitReport):
    """A report whose tolerance is a relative duality gap, and which has no kernel values.

    Its attributes are those of :class:`~maxmargin.svm.report.FitReport`; ``kkt_violation`` is the largest residual of
    the conditions in :mod:`maxmargin.problems.primal_certificate`, each as a share.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> print(LinearSVC(loss="hinge").fit([[-1.0], [1.0]], ["left", "right"]).report_)
    model            LinearSVC, 2 classes
    parameters       C = 1, hinge loss, free intercept
    solver           barrier (the primal has 1 unknown (columns), the dual 2 (rows): a 1 x 1 system per iteration)
    status           optimal within the tolerance
    ...
    """

    scikit_learn_words: ClassVar[str] = LINEAR_WORDS

    def distance_from_optimum(self) -> str:
        return f"certified relative duality gap is {self.relative_gap:.2e} (tol={self.tol:g})"

    def _lines(self) -> list[tuple[str, str]]:
        lines = dict(super()._lines())
        del lines["kernel"], lines["kernel evaluations"]
        lines["duality gap"] = (
            f"{without_rounding(self.duality_gap):.3g} (relative {without_rounding(self.relative_gap):.1e}, "
            f"tolerance {tolerance_text(self.tol)})"
        )
        lines["KKT violation"] = f"{self.kkt_violation:.2e}"
        return list(lines.items())
