"""One kernel on one fold, on held kernel values: regression tubes along C, one-class regions along nu.

TubeJob     epsilon-SVR, one part per epsilon     the next C starts on the ray of the last solution (``path.py``)
RegionJob   one-class SVM                         the next nu starts at (nu_new / nu) a, made feasible
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np

from maxmargin import problems
from maxmargin.model_selection.jobs import CellResult, EstimatorJob, Job, held_out_model
from maxmargin.model_selection.store import MaskedGram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.registry import choose_solver
from maxmargin.solvers.solution import Solution
from maxmargin.svm.models.expansion import KernelExpansion


class HeldJob(Job):
    """Dual problems of one kernel, each started from the solution of the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert self.K is not None
        self.gram = MaskedGram(self.K, self.rows, self.setting.scratch)
        self.weight = self.fold.weight[self.rows]

    @abstractmethod
    def _series(self, t: int) -> list[int]:
        """The cells of part t in the order in which they are solved."""

    @abstractmethod
    def _problem(self, parameters: dict[str, Any]) -> DualProblem:
        """The problem of these hyperparameters."""

    @abstractmethod
    def _start(self, problem: DualProblem, last: dict[str, Any], new: dict[str, Any], solution: Solution) -> Array:
        """Where to start, from the solution for the last hyperparameters."""

    @abstractmethod
    def _publish(self, c: int, coefficients: Array, intercept: float, seconds: float, converged: bool) -> None:
        """Keep what was found for cell c."""

    def part(self, t: int) -> None:
        solution: Solution | None = None
        last: dict[str, Any] = {}
        for c in self._series(t):
            began, new = time.perf_counter(), self.cells[c][1].hyperparameters
            control = self.control.silent(max_iter=self.estimator.max_iter)
            problem = self._problem(new)
            start = None if solution is None else self._start(problem, last, new, solution)
            solver = choose_solver(self.estimator.solver, problem)[0]
            solution = solver.solve(problem, self.gram, tol=self.estimator.tol, control=control, start=start)
            if solution.status in (Status.DEADLINE, Status.INTERRUPTED):
                return
            offsets = optimality.offsets(problem, solution.a, problem.gradient(solution.f, solution.a))
            self._publish(
                c,
                problem.coefficients(solution.a),
                problem.scalars(offsets).intercept,
                time.perf_counter() - began,
                solution.status.converged,
            )
            last = new

    def _values(self, coefficients: Array, intercept: float) -> Array:
        """The decision values of the samples left out, one column."""
        used = np.flatnonzero(coefficients)
        return (self.gram.everywhere(used, coefficients[used])[self.fold.place] + intercept)[:, None]


class TubeJob(HeldJob):
    """Epsilon-SVR along C, one part per epsilon."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert self.setting.target is not None
        self.target = self.setting.target[self.rows]
        self.widths = sorted({cell.hyperparameters["epsilon"] for _, cell in self.cells})
        self.parts = len(self.widths)

    def _series(self, t: int) -> list[int]:
        return [c for c, (_, cell) in enumerate(self.cells) if cell.hyperparameters["epsilon"] == self.widths[t]]

    def _problem(self, parameters: dict[str, Any]) -> DualProblem:
        bounds, intercept = float(parameters["C"]) * self.weight, self.estimator.fit_intercept
        return problems.eps_svr(self.target, bounds, float(parameters["epsilon"]), fit_intercept=intercept)

    def _start(self, problem: DualProblem, last: dict[str, Any], new: dict[str, Any], solution: Solution) -> Array:
        curvature = float(problem.coefficients(solution.a) @ solution.f)
        theta = -float(problem.linear @ solution.a) / curvature if curvature > 0 else 1.0
        return min(max(theta, 1.0), new["C"] / last["C"]) * solution.a

    def _publish(self, c: int, coefficients: Array, intercept: float, seconds: float, converged: bool) -> None:
        values = self._values(coefficients, intercept)
        model = held_out_model(self.estimator, self.fold.points, values, intercept_=np.array([intercept]))
        self.found[c] = CellResult(model, seconds, converged)


class RegionJob(HeldJob):
    """One-class models along nu. Where a scorer measures the volume of a region, the values of its reference points
    are computed for all nu in one pass over their kernel values."""

    def __init__(self, *args: Any, reference: Points | None) -> None:
        super().__init__(*args)
        self.reference = reference
        self.coefficients, self.rho = np.zeros((len(self.rows), len(self.cells))), np.zeros(len(self.cells))
        self.solved: dict[int, tuple[Array, float, bool]] = {}  # cell -> decision values, seconds, converged

    def _series(self, t: int) -> list[int]:
        return sorted(range(len(self.cells)), key=lambda c: float(self.cells[c][1].hyperparameters["nu"]))

    def _problem(self, parameters: dict[str, Any]) -> DualProblem:
        return problems.one_class(self.weight, float(parameters["nu"]))

    def _start(self, problem: DualProblem, last: dict[str, Any], new: dict[str, Any], solution: Solution) -> Array:
        return problem.feasible(new["nu"] / last["nu"] * solution.a)

    def _publish(self, c: int, coefficients: Array, intercept: float, seconds: float, converged: bool) -> None:
        self.coefficients[:, c], self.rho[c] = coefficients, -intercept
        self.solved[c] = self._values(coefficients, intercept), seconds, converged

    def results(self) -> list[CellResult]:
        done = np.array(sorted(self.solved), dtype=int)
        around = np.zeros((0, len(done)))
        if self.reference is not None and len(done):
            used = np.flatnonzero(self.coefficients[:, done].any(axis=1))
            coefficients, points = self.coefficients[np.ix_(used, done)], self.setting.points[self.rows[used]]
            around = KernelExpansion(self.kernel, points, coefficients, -self.rho[done]).decision(self.reference)
        for place, c in enumerate(done.tolist()):
            values, seconds, converged = self.solved[c]
            also = None if self.reference is None else (self.reference, around[:, place, None])
            nu, rho = float(self.cells[c][1].hyperparameters["nu"]), self.rho[[c]]
            model = held_out_model(self.estimator, self.fold.points, values, also, nu=nu, offset_=rho, intercept_=-rho)
            self.found[c] = CellResult(model, seconds, converged)
        return super().results()


class RegionEstimatorJob(EstimatorJob):
    """One-class models by the estimator's own ``fit``."""

    def __init__(self, *args: Any, reference: Points | None) -> None:
        super().__init__(*args)
        self.reference = reference

    def _scored_model(self, test: Points) -> Any:
        also = None if self.reference is None else (self.reference, self.estimator._decision(self.reference))
        return held_out_model(self.estimator, self.fold.points, self.estimator._decision(test), also)
