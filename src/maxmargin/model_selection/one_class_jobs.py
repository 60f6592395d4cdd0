"""One kernel on one fold, for the one-class estimator: regions for all nu.

    minimise 1/2 a'Ka    subject to  sum a = nu sum w,  0 <= a_i <= w_i

The next larger nu starts at (nu_new / nu) a, clipped to the bounds and with its sum repaired. Where a scorer asks for
the volume of a region, the values of its reference points are computed for all nu in one pass over their kernel values.

    RegionJob             on held kernel values
    RegionEstimatorJob      by the estimator's own ``fit``
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin import problems
from maxmargin.kernels import Kernel
from maxmargin.model_selection.folds import Fold
from maxmargin.model_selection.grid import Cell
from maxmargin.model_selection.jobs import Answer, EstimatorJob, held_out_model, why
from maxmargin.model_selection.store import MaskedGram
from maxmargin.problems import optimality
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Scratch
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers import ActiveSet
from maxmargin.svm.models.expansion import KernelExpansion


class RegionJob:
    """One-class models along nu.

    Parameters
    ----------
    estimator : OneClassSVM
        Whose other parameters hold.
    kernel : Kernel
        Resolved.
    X : array or CSR matrix
        The canonical rows.
    K : array
        Their held kernel values.
    fold : Fold
    cells : list of (int, Cell)
    reference : array, CSR matrix or None
        Points whose values a scorer will ask for.
    """

    parts = 1

    def __init__(
        self,
        estimator: Any,
        kernel: Kernel,
        X: Points,
        K: Array,
        fold: Fold,
        cells: Sequence[tuple[int, Cell]],
        control: Control,
        scratch: Scratch,
        reference: Points | None,
    ) -> None:
        self.estimator, self.kernel, self.X, self.fold, self.cells = estimator, kernel, X, fold, cells
        self.control, self.reference = control, reference
        self.rows = np.flatnonzero(fold.weight)
        if len(self.rows) == 0:
            raise ValueError("no sample of the training part has a weight")
        self.gram = MaskedGram(K, self.rows, scratch)
        shape = (len(self.rows), len(cells))
        self.coefficients, self.rho = np.zeros(shape), np.zeros(len(cells))
        self.values = np.zeros((len(fold.place), len(cells)))
        self.seconds, self.converged = np.full(len(cells), math.nan), np.zeros(len(cells), bool)

    def part(self, t: int) -> None:
        a, last = None, math.nan
        weight = self.fold.weight[self.rows]
        for c in sorted(range(len(self.cells)), key=lambda c: self.cells[c][1].hyperparameters["nu"]):
            began = time.perf_counter()
            nu, control = float(self.cells[c][1].hyperparameters["nu"]), self.control.of_one()
            control.max_iter, control.callback, control.watchers = self.estimator.max_iter, None, ()
            problem = problems.one_class(weight, nu)
            start = None if a is None else problem.feasible(nu / last * a)
            solution = ActiveSet().solve(problem, self.gram, tol=self.estimator.tol, control=control, start=start)
            if solution.status in (Status.DEADLINE, Status.INTERRUPTED):
                return
            a, last = solution.a, nu
            self.rho[c] = optimality.offsets(problem, a, problem.gradient(solution.f, a))[0]
            used = np.flatnonzero(a)
            self.coefficients[used, c] = a[used]
            self.values[:, c] = self.gram.everywhere(used, a[used])[self.fold.place] - self.rho[c]
            self.seconds[c], self.converged[c] = time.perf_counter() - began, solution.status.converged

    def answers(self) -> list[Answer]:
        done = np.flatnonzero(~np.isnan(self.seconds))
        known = [Answer(reason=why(self.control))] * len(self.cells)
        around = np.zeros((0, len(done)))
        if self.reference is not None and len(done):
            used = np.flatnonzero(self.coefficients[:, done].any(axis=1))
            coefficients = self.coefficients[np.ix_(used, done)]
            expansion = KernelExpansion(self.kernel, self.X[self.rows[used]], coefficients, -self.rho[done])
            around = expansion.decision(self.reference)
        for place, c in enumerate(done.tolist()):
            also = None if self.reference is None else (self.reference, around[:, place, None])
            nu, rho = float(self.cells[c][1].hyperparameters["nu"]), self.rho[[c]]
            model = held_out_model(
                self.estimator, self.fold.points, self.values[:, c, None], also, nu=nu, offset_=rho, intercept_=-rho
            )
            known[c] = Answer(model, float(self.seconds[c]), bool(self.converged[c]))
        return known


class RegionEstimatorJob(EstimatorJob):
    """Any one-class estimator by its own ``fit``; the last argument is that of :class:`RegionJob`."""

    def __init__(self, *args: Any, reference: Points | None) -> None:
        super().__init__(*args)
        self.reference = reference

    def _scored_model(self, test: Points) -> Any:
        if self.reference is None:
            return super()._scored_model(test)
        around = self.estimator._decision(self.reference)
        return held_out_model(
            self.estimator, self.fold.points, self.estimator._decision(test), (self.reference, around)
        )
