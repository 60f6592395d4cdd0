"""The barrier method on the d x d system of the primal.

The dual of the linear machine, in the signs of :mod:`maxmargin.problems` (a_i = y_i alpha_i), has the matrix
Q = X X' + R, where R is diagonal: 1 / 2c_i for the squared hinge, else 0. A Newton step of
:mod:`maxmargin.solvers.interior_point` asks for

    (X X' + R + D) da - 1 dlambda = r,    1'da = e.

Keep w as a variable of its own, with dw = X'(a + da) - w, and eliminate da = Theta (r + 1 dlambda - X dw) with
Theta = (R + D)^-1. The intercept's row is eliminated next, which centres the columns at their Theta-weighted means:

    M dw = X'a - w + X'Theta r + v (e - 1'Theta r) / tau,        dlambda = (e - 1'Theta r + v'dw) / tau,
    M = I + X'Theta X - v v'/tau,    v = X'Theta 1,    tau = 1'Theta 1.

M has no eigenvalue below one, whatever the columns are: constant, repeated, or of very different sizes. It costs one
pass over the rows and d^3, so this is the form for few columns. With fewer rows than columns X X' takes its place
(:class:`~maxmargin.solvers.barrier.DenseSystem`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin._control import Control, Status
from maxmargin._parallel import single_threaded_blas
from maxmargin._validation import Array, check_memory
from maxmargin.linear.base import LinearSolution, Run, Start
from maxmargin.linear.problem import LinearProblem
from maxmargin.linear.products import Design, Halted
from maxmargin.solvers.barrier import DenseSystem
from maxmargin.solvers.interior_point import Iterate, iterates

ROUNDING = 1e-15  # of the normal matrix, relative to its diagonal
DIVERGED = 1e-14  # |w|^2 in units of (sum alpha)^2 mean |x|^2: multipliers grow and w does not, so nothing separates

Look = tuple[Array, float, Array, Array, Array]  # what Run.visit wants to know: w, b, X w, alpha, w of alpha


def design_of(machine: LinearProblem, control: Control) -> Design:
    """X as both forms need it: dense columns centred for a free intercept, a constant column for a penalised one."""
    free = machine.intercept == "free"
    return Design(
        machine.X,
        shift=machine.design.mean() if free and not machine.design.sparse else None,
        constant=machine.scaling if machine.intercept == "penalised" else None,
        threads=machine.threads,
        poll=control.stop,
    )


def _intercept(machine: LinearProblem, design: Design, w: Array, offset: Array) -> float:
    """b from the constant column's weight, or from the multiplier of the equality."""
    if machine.intercept == "penalised":
        return machine.scaling * float(w[-1])
    if machine.intercept == "none":
        return 0.0
    return -float(offset[0]) - (float(design.shift @ w) if design.shift is not None else 0.0)


class NormalSystem:
    """The d x d form."""

    def __init__(self, machine: LinearProblem, control: Control) -> None:
        self.machine, self.design = machine, design_of(machine, control)
        self.free = machine.intercept == "free"
        d = self.design.d
        check_memory(12 * 8.0 * d * d, f"solver='barrier' with {d:,} columns", "use solver='coordinate_descent'.")
        self.w, self.f = np.zeros(d), np.zeros(machine.n_rows)  # w and X w
        self.refined, self.expected = False, np.inf

    def look(self, here: Iterate, alpha: Array) -> Look:
        self.sums = self.design.transposed(here.a)
        left = float(np.abs(self.sums - self.w).max())
        # X'a - w shrinks with every step. Where it does not, columns of very different sizes have cost its digits.
        self.refined |= left > 2 * self.expected + 1e-10 * float(np.abs(self.w).max())
        a = self.machine.y * alpha
        sums = self.sums if np.array_equal(a, here.a) else self.design.transposed(a)
        d, b = self.machine.n_features, _intercept(self.machine, self.design, self.w, here.offset)
        f = self.f - (float(here.offset[0]) if self.free else 0.0) - b
        return self.w[:d], b, f, alpha, sums[:d]

    def value(self, a: Array) -> Array:
        return self.f + self.machine.ridge * a

    def factor(self, D: Array) -> None:
        self.theta = 1.0 / (D + self.machine.ridge)
        M = self.design.gram(self.theta)
        if self.free:
            self.v, self.tau = self.design.transposed(self.theta), float(self.theta.sum())
            M -= np.outer(self.v, self.v / self.tau)
        M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
        self.factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, r: Array, e: Array) -> tuple[Array, Array, Any]:
        rest = self.sums - self.w
        da, doffset, dw, df = self._solve(r, e, rest)
        if self.refined:
            left = rest + self.design.transposed(da) - dw
            more = self._solve(np.zeros_like(r), e - da.sum() if self.free else e, left)
            da, doffset, dw, df = da + more[0], doffset + more[1], dw + more[2], df + more[3]
        return da, doffset, (dw, df)

    def _solve(self, r: Array, e: Array, rest: Array) -> tuple[Array, Array, Array, Array]:
        weighted = self.theta * r
        right = rest + self.design.transposed(weighted)
        if not self.free:
            dw = cho_solve(self.factors, right, check_finite=False)
            df = self.design.times(dw)
            return self.theta * (r - df), e, dw, df
        missing = float(e[0]) - float(weighted.sum())
        dw = cho_solve(self.factors, right + self.v * (missing / self.tau), check_finite=False)
        df = self.design.times(dw)
        doffset = (missing + float(self.v @ dw)) / self.tau
        return self.theta * (r + doffset - df), np.array([doffset]), dw, df

    def advance(self, step: float, change: Any) -> None:
        dw, df = change
        self.expected = (1.0 - step) * float(np.abs(self.sums - self.w).max())
        self.w, self.f = self.w + step * dw, self.f + step * df


class RowSystem(DenseSystem):
    """The n x n form."""

    def __init__(self, machine: LinearProblem, control: Control) -> None:
        self.machine, self.design = machine, design_of(machine, control)
        n = machine.n_rows
        check_memory(5 * 8.0 * n * n, f"solver='barrier' with {n:,} rows", "use solver='coordinate_descent'.")
        K = self.design.row_gram()
        K[np.diag_indices_from(K)] += machine.ridge
        super().__init__(machine.boxes, K)

    def look(self, here: Iterate, alpha: Array) -> Look:
        w = self.design.transposed(self.machine.y * alpha)
        b = _intercept(self.machine, self.design, w, here.offset)
        w = w[: self.machine.n_features]
        return w, b, self.machine.design.times(w), alpha, w


@dataclass(frozen=True)
class Barrier:
    """Interior points: twenty to thirty iterations to any accuracy, whatever C and the scale of the columns.

    Memory grows with the square of the number of columns, or of rows if they are fewer.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.linear import Barrier
    >>> machine = LinearSVC(loss="hinge", solver=Barrier(), tol=1e-8).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> machine.report_.relative_gap < 1e-8
    True
    """

    name: ClassVar[str] = "barrier"
    learns: ClassVar[str] = "both"

    def refuses(self, problem: LinearProblem) -> str | None:
        return None

    def solve(
        self,
        problem: LinearProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """A start that is optimal is returned; interior points gain nothing from any other."""
        used = np.flatnonzero(problem.bound > 0)
        with single_threaded_blas():
            if len(used) < problem.n_rows:  # a row without a price has no room for its multiplier
                return self._on(used, problem, tol=tol, control=control, start=start)
            return self._solve(problem, tol, control, start)

    def _solve(self, problem: LinearProblem, tol: float, control: Control, start: Start | None) -> LinearSolution:
        run = Run(problem, tol, control)
        n_iter, status = 0, run.begin(start)
        if status is not None:
            return run.solution(status, n_iter)
        try:
            form = NormalSystem if problem.n_features <= problem.n_rows else RowSystem
            system = form(problem, control)
            squares = float(system.design.squared_norms().mean()) or 1.0
            unit = np.where(np.isfinite(problem.bound), problem.bound, 1.0 / squares)
            for here in iterates(problem.boxes, system, unit):
                n_iter = here.iteration
                w, b, f, alpha, w_alpha = system.look(here, problem.feasible(problem.y * here.a))
                status = run.visit(n_iter, w, b, f, alpha, w_alpha)
                if status is None and problem.hard_margin and not np.isfinite(run.primal):
                    grown = float(alpha.sum()) ** 2 * squares
                    status = Status.INSEPARABLE if float(w_alpha @ w_alpha) < DIVERGED * grown else None
                if status is not None:
                    break
        except Halted:
            status = control.stop()
        return run.solution(status or Status.STALLED, n_iter)

    def _on(self, used: Array, problem: LinearProblem, *, start: Start | None, **how: Any) -> LinearSolution:
        inner = replace(problem, X=problem.X[used], y=problem.y[used], bound=problem.bound[used])
        if start is not None and start.alpha is not None:
            start = replace(start, alpha=start.alpha[used])
        solution = self._solve(inner, start=start, **how)
        if solution.alpha is None:
            return solution
        alpha = np.zeros(problem.n_rows)
        alpha[used] = solution.alpha
        return replace(solution, alpha=alpha)
