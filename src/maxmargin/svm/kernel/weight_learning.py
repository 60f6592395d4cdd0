"""Learning the weights of kernels: solve the problems of a fit for one vector of weights after the other.

The matrices of all kernels are held in memory. Each evaluation solves every problem with K(d), from where the last one
ended, and takes its bounds from the definitions: primal objectives from f = K(d) beta in float64, S from each matrix.
Multipliers that are not accurate enough for the gap are improved at the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import daxpy

from maxmargin import _native
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.kernel_weights import Cuts
from maxmargin.problems.optimality import best_certificate
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers.active_set import ActiveSet

INNER_SHARE = 0.25  # of the gap allowed in all that the problems themselves may leave
SMALLEST_TOL = 1e-12  # of the problems, which float64 does not reach


@dataclass(frozen=True)
class WeightedProblem:
    """One problem of a fit: which rows it has, and its dual."""

    rows: Array
    problem: DualProblem


@dataclass(frozen=True)
class LearntWeights:
    """The weights, and what certifies them."""

    weights: Array
    upper: float
    lower: float
    relative_gap: float
    n_iter: int
    status: Status


def learn_weights(
    problems: Sequence[WeightedProblem], matrices: Sequence[Array], norm: int, *, tol: float, control: Control
) -> LearntWeights:
    """Weights whose relative gap is at most ``tol``, or the best until the run is to stop."""
    cuts, evaluation = Cuts(norm, len(matrices)), _Evaluation(problems, matrices, tol, control)
    d, n_iter, status = cuts.first(), 0, control.stop()
    limit = control.max_iter if control.max_iter >= 0 else np.inf
    with single_threaded_blas():
        while True:
            evaluation.at(d, INNER_SHARE * tol)
            cuts.add(d, evaluation.primal, evaluation.linear, evaluation.S)
            n_iter += 1
            control.report(n_iter, cuts.relative_gap, evaluation.n_support, primal=cuts.upper, dual=cuts.lower)
            if cuts.relative_gap <= tol:
                status = Status.OPTIMAL
                break
            status = control.stop() or (Status.MAX_ITER if n_iter >= limit else None)
            if status is not None:
                break
            before, d = d, cuts.next_weights(d, evaluation.S)
            if np.array_equal(before, d):
                status = Status.STALLED
                break
    return LearntWeights(cuts.best, cuts.upper, cuts.lower, cuts.relative_gap, n_iter, status)


class _Evaluation:
    """The problems at one vector of weights, and the multipliers that the next starts from."""

    def __init__(
        self, problems: Sequence[WeightedProblem], matrices: Sequence[Array], tol: float, control: Control
    ) -> None:
        self.problems, self.matrices, self.tol, self.control = problems, matrices, tol, control
        self.a: list[Array | None] = [None] * len(problems)
        self.K = np.empty(matrices[0].shape)

    def at(self, d: Array, share: float) -> None:
        """Solve for these weights, until the problems' own gap is at most this share of their objective."""
        self.K.fill(0.0)
        for weight, matrix in zip(d, self.matrices, strict=True):
            if weight:
                daxpy(matrix.ravel(), self.K.ravel(), a=weight)  # in place, without an array for weight * matrix
        while True:
            self._solve()
            dual = self.linear - 0.5 * float(d @ self.S)
            accurate = self.primal - dual <= share * abs(self.primal) or self.tol < SMALLEST_TOL
            if accurate or self.control.stop() is not None:
                return
            self.tol *= 0.1

    def _solve(self) -> None:
        solver = ActiveSet()
        gram = StoredGram(self.K)
        B = np.zeros((len(self.K), len(self.problems)))
        linear = 0.0
        for p, own in enumerate(self.problems):
            part = gram.subset(own.rows)
            silent = replace(self.control.of_one(), max_iter=-1, callback=None, watchers=())
            solution = solver.solve(own.problem, part, tol=self.tol, control=silent, start=self.a[p])
            self.a[p] = a = own.problem.feasible(solution.a)
            B[own.rows, p] = own.problem.coefficients(a)
            linear -= float(own.problem.linear @ a)
        self.linear = linear
        used = np.flatnonzero(B.any(axis=1))
        self.S = np.array([_quadratic(matrix, B, used) for matrix in self.matrices])
        F = self.K @ B if B.shape[1] != 1 else gram.product(used, B[used, 0])[:, None]
        self.primal = sum(
            best_certificate(own.problem, a, F[own.rows, p]).primal
            for p, (own, a) in enumerate(zip(self.problems, self.a, strict=True))
            if a is not None
        )
        self.n_support = len(used)


def _quadratic(K: Array, B: Array, used: Array) -> float:
    """The sum of beta'K beta over the columns of B, whose rows but the ``used`` are zero."""
    part = np.empty((len(used), len(used)))
    _native.gather(K, used, used, part)
    return float(np.vdot(B[used], part @ B[used]))
