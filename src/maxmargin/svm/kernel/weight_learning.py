"""Learning the weights of kernels: solve the problems of a fit for one vector of weights after the other.

Half of each symmetric matrix is held in memory. Each evaluation solves every problem with K(d), from where the last one
ended, and takes its bounds from the definitions: primal objectives from f = K(d) beta in float64, S from each matrix.
Multipliers that are not accurate enough for the gap are improved at the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.kernels.gram.matrices import HalfMatrix, squared_norms, weighted_sum
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.kernel_weights import Cuts
from maxmargin.problems.optimality import best_certificate
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import run_tiles, single_threaded_blas
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
class _Solved:
    """A problem at one vector of weights: its rows with beta != 0, the linear part of the dual, and the primal."""

    rows: Array
    beta: Array
    linear: float
    primal: float


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
    problems: Sequence[WeightedProblem],
    matrices: Sequence[HalfMatrix],
    norm: int,
    *,
    tol: float,
    control: Control,
    threads: int = 1,
) -> LearntWeights:
    """Weights whose relative gap is at most ``tol``, or the best until the run is to stop."""
    cuts, evaluation = Cuts(norm, len(matrices)), _Evaluation(problems, matrices, tol, control, threads)
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
        self,
        problems: Sequence[WeightedProblem],
        matrices: Sequence[HalfMatrix],
        tol: float,
        control: Control,
        threads: int,
    ) -> None:
        self.problems, self.matrices, self.tol, self.control = problems, matrices, tol, control
        self.threads = threads
        self.a: list[Array | None] = [None] * len(problems)
        n_rows = matrices[0].strips[0].shape[1]
        self.K = np.empty((n_rows, n_rows))

    def at(self, d: Array, share: float) -> None:
        """Solve for these weights, until the problems' own gap is at most this share of their objective."""
        weighted_sum(d, self.matrices, self.K, self.threads)
        while True:
            self._solve()
            dual = self.linear - 0.5 * float(d @ self.S)
            accurate = self.primal - dual <= share * abs(self.primal) or self.tol < SMALLEST_TOL
            if accurate or self.control.stop() is not None:
                return
            self.tol *= 0.1

    def _solve(self) -> None:
        solved: list[_Solved | None] = [None] * len(self.problems)

        def solve(p: int) -> None:
            solved[p] = self._solve_one(p)

        run_tiles(solve, len(solved), self.threads)
        done = [each for each in solved if each is not None]
        self.linear, self.primal = sum(each.linear for each in done), sum(each.primal for each in done)
        self.n_support = len(set().union(*(each.rows.tolist() for each in done)))
        B = np.zeros((len(self.K), len(done)))
        for p, each in enumerate(done):
            B[each.rows, p] = each.beta
        self.S = squared_norms(self.matrices, B, self.threads)

    def _solve_one(self, p: int) -> _Solved:
        rows, problem = self.problems[p].rows, self.problems[p].problem
        gram = StoredGram(self.K).subset(rows)
        silent = self.control.silent(max_iter=-1)
        solution = ActiveSet().solve(problem, gram, tol=self.tol, control=silent, start=self.a[p])
        self.a[p] = a = problem.feasible(solution.a)
        beta = problem.coefficients(a)
        used = np.flatnonzero(beta)
        same = solution.fresh and np.array_equal(a, solution.a)
        f = solution.f if same else gram.product(used, beta[used])
        primal = best_certificate(problem, a, f).primal
        return _Solved(rows[used], beta[used], -float(problem.linear @ a), primal)
