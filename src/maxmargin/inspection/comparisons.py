"""All solvers of one linear problem: how long they take, and how close they come."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.runtime.history import History
from maxmargin.runtime.text_report import TextReport, pandas
from maxmargin.runtime.validation import Array, check_choice, check_points, check_targets
from maxmargin.solvers import solvers_for
from maxmargin.solvers.base import MARGIN_LOSSES
from maxmargin.svm.linear.classification import LinearSVC

HEAD = ("solver", "status", "iterations", "seconds", "objective", "relative gap", "KKT violation", "distance of w")


@dataclass(frozen=True)
class SolverResult:
    """How one solver fared.

    Attributes
    ----------
    name : str
    status : str
        ``"optimal"``, ``"max_iter"``, ``"deadline"``, ...
    seconds : float
        Of the fit, certificate included; what compiling takes is not counted.
    n_iter : int
        Iterations, or epochs; the sum over the binary problems.
    objective, dual, relative_gap, kkt_violation : float
        From the certificate, which is computed apart from the solver; sums, or the worst, over the binary problems.
    distance : float
        |w - w_reference| / |w_reference|.
    coef, intercept : array
    history : History
    """

    name: str
    status: str
    seconds: float
    n_iter: int
    objective: float
    dual: float
    relative_gap: float
    kkt_violation: float
    distance: float
    coef: Array
    intercept: Array
    history: History

    def _cells(self) -> list[str]:
        return [
            self.name,
            self.status,
            f"{self.n_iter:,}",
            f"{self.seconds:.3g}",
            f"{self.objective:.9g}",
            f"{self.relative_gap:.1e}",
            f"{self.kkt_violation:.1e}",
            f"{self.distance:.1e}",
        ]


@dataclass(frozen=True)
class SolverComparison(TextReport):
    """What :func:`compare_solvers` found; prints as a table. ``comparison["barrier"]`` is one solver's result.

    Attributes
    ----------
    results : tuple of SolverResult
    reference : str
        The solver with the smallest certified gap, whose w the others are measured against.
    refused : dict
        Solvers that do not take this problem, and why.
    problem : str
        The problem in words.
    """

    _left_columns: ClassVar[int] = 2

    results: tuple[SolverResult, ...]
    reference: str
    refused: dict[str, str]
    problem: str

    def __getitem__(self, name: str) -> SolverResult:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(f"{name!r} is not among {', '.join(result.name for result in self.results)}")

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SolverResult]:
        return iter(self.results)

    @property
    def histories(self) -> dict[str, History]:
        """The history of each solver."""
        return {result.name: result.history for result in self.results}

    def _notes(self) -> list[str]:
        notes = [f"w is measured against that of {self.reference}, whose gap is the smallest"]
        return notes + [f"{name} was not run: {reason}" for name, reason in self.refused.items()]

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        return [(self.problem, [list(HEAD), *(result._cells() for result in self.results)])]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, one row a solver.

        Returns
        -------
        pandas.DataFrame
        """
        pd = pandas()
        left_out = {"name", "coef", "intercept", "history"}
        columns = [name for name in SolverResult.__dataclass_fields__ if name not in left_out]
        table = {name: [getattr(result, name) for result in self.results] for name in columns}
        return pd.DataFrame(table, index=pd.Index([result.name for result in self.results], name="solver"))


def compare_solvers(
    X: Any,
    y: Any,
    *,
    C: float = 1.0,
    loss: str = "hinge",
    solvers: Iterable[Any] | Mapping[str, Any] | None = None,
    tol: float = 1e-4,
    max_seconds: float | None = 10.0,
    max_iter: int = 1000,
    sample_weight: Any = None,
    random_state: Any = None,
    **parameters: Any,
) -> SolverComparison:
    """Solve one linear problem with several solvers and compare them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Class labels; with more than two classes there is one binary problem per class.
    C : float, default=1.0
        Penalty of slack, > 0.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss of the margin, as in :class:`~maxmargin.LinearSVC`.
    solvers : names, solver objects, or a mapping of names to them; optional
        All by default. Solver objects may have options: ``{"large batches": Pegasos(batch_size=100)}``.
    tol : float, default=1e-4
        Relative duality gap at which a solver may stop.
    max_seconds : float or None, default=10
        For each solver.
    max_iter : int, default=1000
        For each solver.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; None means that all are one.
    random_state : int, RandomState or None, default=None
        Seed of stochastic solvers.
    **parameters
        Any other parameter of :class:`~maxmargin.svm.LinearSVC`.

    Returns
    -------
    SolverComparison
        One result per solver. Solvers that do not accept the problem are skipped, with the reason.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from maxmargin import compare_solvers
    >>> X, y = make_blobs(60, centers=2, cluster_std=3.0, random_state=0)
    >>> found = compare_solvers(X, y, solvers=["barrier", "smo"], tol=1e-6)
    >>> print(found)
    60 rows, 2 columns, 2 classes: C = 1, hinge loss, free intercept
    solver   status   iterations  seconds  objective  relative gap  KKT violation  distance of w
    barrier  optimal ...
    smo      optimal ...
    w is measured against that of ..., whose gap is the smallest
    >>> found["smo"].relative_gap < 1e-6
    True
    """
    X = check_points(X)
    y = check_targets(y, X.shape[0])
    common = {"C": C, "loss": loss, "tol": tol, "max_seconds": max_seconds, "max_iter": max_iter, **parameters}
    models: dict[str, LinearSVC] = {}
    refused: dict[str, str] = {}
    for name, solver in _named(solvers).items():
        try:
            models[name] = _timed(LinearSVC(solver=solver, random_state=random_state, **common), X, y, sample_weight)
        except ImportError as error:
            refused[name] = str(error)
        except ValueError as error:
            if "cannot solve this problem" not in str(error):
                raise
            refused[name] = str(error).split("cannot solve this problem: ", 1)[1]
    if not models:
        raise ValueError("None of the solvers takes this problem: " + " ".join(f"{k}: {v}" for k, v in refused.items()))
    best = min(models, key=lambda name: (models[name].report_.relative_gap, models[name].report_.primal_objective))
    reference = models[best]
    results = tuple(_result(name, model, reference.coef_) for name, model in models.items())
    shape = f"{X.shape[0]:,} rows, {X.shape[1]:,} columns, {len(reference.classes_)} classes"
    return SolverComparison(results, best, refused, f"{shape}: {reference.report_.parameters}")


def _named(solvers: Any) -> dict[str, Any]:
    """The solvers with the names they have in the table."""
    if solvers is None:
        return {name: name for name in solvers_for("linear", MARGIN_LOSSES)}
    if isinstance(solvers, str):
        solvers = [solvers]
    if isinstance(solvers, Mapping):
        return dict(solvers)
    named: dict[str, Any] = {}
    for solver in solvers:
        names = ["auto", *solvers_for("linear", MARGIN_LOSSES)]
        named[check_choice("solvers", solver, names) if isinstance(solver, str) else repr(solver)] = solver
    return named


def _timed(model: LinearSVC, X: Any, y: Array, sample_weight: Any) -> LinearSVC:
    """The model fitted; a few rows of each class go first, so that what is compiled once is not timed."""
    few = np.concatenate([np.flatnonzero(y == label)[:3] for label in np.unique(y)])
    quick: dict[str, Any] = {"max_iter": 2, "verbose": 0, "max_seconds": None}
    if math.isinf(model.C):
        quick["C"] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        LinearSVC(**{**model.get_params(deep=False), **quick}).fit(X[few], y[few])
        return model.fit(X, y, sample_weight)


def _result(name: str, model: LinearSVC, w: Array) -> SolverResult:
    report = model.report_
    size = float(np.linalg.norm(w)) or 1.0
    return SolverResult(
        name=name,
        status=report.status.name.lower(),
        seconds=report.seconds,
        n_iter=report.n_iter,
        objective=report.primal_objective,
        dual=report.dual_objective,
        relative_gap=report.relative_gap,
        kkt_violation=report.kkt_violation,
        distance=float(np.linalg.norm(model.coef_ - w)) / size,
        coef=model.coef_,
        intercept=model.intercept_,
        history=model.history_,
    )
