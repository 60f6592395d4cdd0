"""The barrier method for linear regression: two ways to solve its Newton systems.

:mod:`maxmargin.solvers.linear.regression_path` asks for df = X delta' with delta = q + T (dlambda - df) and, with a
free intercept, 1'delta = e.

d x d. w is kept as a variable of its own, with dw = X'(beta + delta) - w and df = X dw:

    M dw = X'beta - w + X'q + v (e - 1'q) / tau,        dlambda = (e - 1'q + v'dw) / tau,
    M = I + X'T X - v v'/tau,    v = X'T 1,    tau = 1'T 1.

The intercept's row centres the columns at their T-weighted means. M has no eigenvalue below one, whatever the columns.

n x n, for fewer rows than columns. With K = X X' and S = T^1/2,

    delta = S (I + S K S)^-1 S^-1 (q + T dlambda),    df = K delta.

A free intercept leaves K without curvature along 1, where delta cannot move anyway: K + k 1 1' takes its place, with
dlambda + k e for dlambda.

Where columns of very different sizes leave the n x n form without digits, the rows are rotated into n columns first.
Dense columns are centred at m for a free intercept. As 1'beta = t, X'beta is then (X - 1 m')'beta + t m.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.linear.base import LinearSolution, Start
from maxmargin.solvers.linear.products import Design, Halted
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_path import InteriorPath
from maxmargin.solvers.linear.regression_run import RegressionRun

ROUNDING = 1e-15  # of the normal matrix, relative to its diagonal
PUSHES = (0.0, 1e-14, 1e-12, 1e-10)  # of the largest entry, added to the diagonal of the n x n matrix
LIMIT = 200  # iterations; ten to thirty are usual


def centred_design(problem: RegressionProblem, control: Control) -> Design:
    """X as the solvers need it: dense columns centred for a free intercept, a constant column for a penalised one."""
    return Design(
        problem.X,
        shift=problem.shift,
        constant=problem.scaling if problem.intercept == "penalised" else None,
        threads=problem.threads,
        poll=control.stop,
    )


class _System:
    """What both forms share: X, and what becomes of w and b."""

    def __init__(self, problem: RegressionProblem, control: Control) -> None:
        self.problem, self.design = problem, centred_design(problem, control)
        self.free = problem.intercept == "free"

    def weights(self, beta: Array) -> Array:
        """X'beta, the constant column's included."""
        w = self.design.transposed(beta)
        return w if self.design.shift is None else w + self.problem.total * self.design.shift

    def of_columns(self, w: Array, offset: float, f: Array) -> tuple[Array, float, Array]:
        """w, b and X w in the problem's own columns."""
        inner = w[: self.problem.n_features]
        if self.problem.intercept == "penalised":
            b = self.problem.scaling * float(w[-1])
            return inner, b, f - b
        if not self.free:
            return inner, 0.0, f
        moved = 0.0 if self.design.shift is None else float(self.design.shift @ inner)
        return inner, -offset - moved, f + moved


class NormalForm(_System):
    """The d x d form."""

    def __init__(self, problem: RegressionProblem, control: Control, beta: Array) -> None:
        super().__init__(problem, control)
        d = self.design.d
        check_memory(12 * 8.0 * d * d, f"solver='barrier' with {d:,} columns", "use solver='coordinate_descent'.")
        self.w = self.weights(beta)
        self.f = self.design.times(self.w)
        self.sums = self.w

    def factor(self, T: Array) -> None:
        M = self.design.gram(T)
        if self.free:
            self.v, self.tau = self.design.transposed(T), float(T.sum())
            M -= np.outer(self.v, self.v / self.tau)
        M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
        self.factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, q: Array, missing: float) -> tuple[Array, float]:
        right = self.sums - self.w + self.design.transposed(q)
        dlambda = 0.0
        if self.free:
            missing -= float(q.sum())
            right += self.v * (missing / self.tau)
        self.dw = cho_solve(self.factors, right, check_finite=False)
        if self.free:
            dlambda = (missing + float(self.v @ self.dw)) / self.tau
        self.df = self.design.times(self.dw)
        return self.df, dlambda

    def advance(self, step: float, beta: Array) -> None:
        self.w, self.f = self.w + step * self.dw, self.f + step * self.df

    def look(self, beta: Array, offset: float, feasible: Array) -> tuple[Array, float, Array, Array, Array]:
        """What :meth:`RegressionRun.visit` wants to know. X'beta - w is zero but for rounding, which the next step
        takes back."""
        self.sums = self.weights(beta)
        w, b, f = self.of_columns(self.w, offset, self.f)
        own = self.sums if np.array_equal(beta, feasible) else self.weights(feasible)
        return w, b, f, feasible, own[: self.problem.n_features]


class DualForm(_System):
    """The n x n form."""

    def __init__(self, problem: RegressionProblem, control: Control, beta: Array) -> None:
        super().__init__(problem, control)
        n = problem.n_rows
        check_memory(5 * 8.0 * n * n, f"solver='barrier' with {n:,} rows", "use solver='coordinate_descent'.")
        self.K = self.design.row_gram()
        self.level = float(np.trace(self.K)) / n if self.free else 0.0
        self.K += self.level
        self.f0 = np.zeros(n)
        if self.design.shift is not None:
            self.f0 = self.design.times(problem.total * self.design.shift)
        self.advance(1.0, beta)

    def factor(self, T: Array) -> None:
        self.S = np.sqrt(T)
        M = self.S[:, None] * self.K * self.S
        M[np.diag_indices_from(M)] += 1.0
        for push in PUSHES:  # rounding below zero is pushed up as far as needed
            try:
                M[np.diag_indices_from(M)] += push * float(np.abs(M).max())
                self.factors = cho_factor(M, lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                if push == PUSHES[-1]:
                    raise
        self.tied = self._inverse(T) if self.free else T

    def _inverse(self, q: Array) -> Array:
        return self.S * cho_solve(self.factors, q / self.S, check_finite=False)

    def solve(self, q: Array, missing: float) -> tuple[Array, float]:
        delta, dlambda = self._inverse(q), 0.0
        if self.free:
            dlambda = (missing - float(delta.sum())) / float(self.tied.sum())
            delta = delta + dlambda * self.tied
        moved = self.level * float(delta.sum())
        return self.K @ delta - moved, dlambda - moved

    def advance(self, step: float, beta: Array) -> None:
        self.f = self.f0 + self.K @ beta - self.level * float(beta.sum())

    def look(self, beta: Array, offset: float, feasible: Array) -> tuple[Array, float, Array, Array, Array]:
        w, b, _ = self.of_columns(self.weights(feasible), offset, self.f)
        return w, b, self.problem.design.times(w), feasible, w


@dataclass(frozen=True)
class TubeBarrier:
    """Interior points: ten to thirty iterations to any accuracy, whatever C, epsilon and the scale of the columns.

    Memory grows with the square of the number of columns, or of rows if they are fewer.

    Examples
    --------
    >>> from maxmargin.svm.linear.regression import LinearSVR
    >>> machine = LinearSVR(solver="barrier", tol=1e-8).fit([[0.0], [1.0], [3.0]], [0.0, 2.0, 5.0])
    >>> machine.report_.relative_gap < 1e-8
    True
    """

    name: ClassVar[str] = "barrier"
    learns: ClassVar[str] = "both"

    def refuses(self, problem: RegressionProblem) -> str | None:
        return None

    def solve(
        self,
        problem: RegressionProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """A start that is optimal is returned; interior points gain nothing from any other."""
        solution = self._solve(problem, tol, control, start)
        wide = problem.n_features > problem.n_rows and not problem.design.sparse
        if wide and solution.status is Status.STALLED:
            return self._rotated(problem, tol, control, solution)
        return solution

    def _solve(self, problem: RegressionProblem, tol: float, control: Control, start: Start | None) -> LinearSolution:
        run = RegressionRun(problem, tol, control)
        n_iter, status = 0, run.begin(start)
        if status is not None:
            return run.solution(status, n_iter)
        try:
            with single_threaded_blas():
                beta = problem.first()
                form = NormalForm if problem.n_features <= problem.n_rows else DualForm
                system = form(problem, control, beta)
                path = InteriorPath(problem, system, beta, -problem.settle(system.f, 0.0))
                while status is None and n_iter < LIMIT and path.advance():
                    n_iter += 1
                    status = run.visit(n_iter, *system.look(path.beta, path.offset, problem.feasible(path.beta)))
        except Halted:
            status = control.stop()
        return run.solution(status or Status.STALLED, n_iter)

    def _rotated(
        self, problem: RegressionProblem, tol: float, control: Control, stalled: LinearSolution
    ) -> LinearSolution:
        """The same machine in the n columns of L, where X = L Q' with orthonormal Q. Columns of very different sizes
        lose their digits in X X', but not there."""
        n, d = problem.X.shape
        check_memory(4 * 8.0 * n * d, f"{n:,} x {d:,} numbers in float64", "scale the columns of X.")
        X, moved = problem.X.astype(np.float64), np.zeros(d)
        if problem.shift is not None and problem.total == 0:
            moved = problem.shift
            X -= moved
        with single_threaded_blas():
            Q, R = qr(X.T, mode="economic", overwrite_a=True, check_finite=False)
        found = self._solve(replace(problem, X=np.ascontiguousarray(R.T)), tol, control, None)
        w = Q @ found.w
        b = problem.settle(problem.design.times(w), found.b - float(moved @ w))
        if problem.primal(w, b) > problem.primal(stalled.w, stalled.b):
            return stalled
        return replace(found, w=w, b=b, n_iter=stalled.n_iter + found.n_iter)
