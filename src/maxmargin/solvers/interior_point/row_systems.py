"""Two forms of the Newton systems of :mod:`maxmargin.solvers.interior_point.path`.

They determine df = X delta' with delta = q + T (dlambda - df) and, with a free intercept, 1'delta = e.

d x d. w is a separate variable, with dw = X'(beta + delta) - w and df = X dw:

    M dw = X'beta - w + X'q + v (e - 1'q) / tau,        dlambda = (e - 1'q + v'dw) / tau,
    M = D + X'T X - v v'/tau,    v = X'T 1,    tau = 1'T 1,    D = I (more where coefficients have bounds: bound_rows).

The intercept's row centres the columns at their T-weighted means. M has no eigenvalue below one, whatever the columns
are: constant, repeated, or of very different sizes.

n x n, for fewer rows than columns. With K = X X' and S = T^1/2,

    delta = S (I + S K S)^-1 S^-1 (q + T dlambda),    df = K delta.

With a free intercept delta cannot move along 1, so K may be replaced by K + k 1 1', with dlambda + k e for dlambda.

Dense columns are centred at m for a free intercept. As 1'beta = t, X'beta is then (X - 1 m')'beta + t m.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.interior_point.path import THETA, DenseRows, Pass, Right
from maxmargin.solvers.run import Run, Start, own_intercept, start_of_columns

SINGLE_MIN_GAP = 1e-2  # relative gap above which X'T X in single precision suffices for a direction,
SINGLE_ROUNDING, SINGLE_MAX_LOSS = 6e-8, 0.1  # unless its rounding (of its largest entry) is not small beside one,
SINGLE_MIN_COLUMNS = 32  # or if it is cheap
NORMAL_MATRIX_RIDGE = 1e-15  # of the normal matrix, relative to its diagonal
DIAGONAL_SHIFTS = (0.0, 1e-14, 1e-12, 1e-10)  # of the largest entry, added to the diagonal of the n x n matrix


class NormalSystem:
    """The d x d form."""

    def __init__(self, problem: PrimalProblem, control: Control) -> None:
        self.problem, self.design = problem, problem.solver_design(control.stop)
        d, n = self.design.d, problem.n_rows
        self._check_size()
        self.w, self.f = np.zeros(d), np.zeros(n)
        self.diagonal = np.ones(d)  # D of the system
        if problem.total:
            self.w = self._of(self.design.transposed(problem.initial_multipliers()))
            self.f = self.design.times(self.w)
        self.predicted, self.df = np.empty(n), np.empty(n)
        self.single, self.refined, self.expected = self.design.columns >= SINGLE_MIN_COLUMNS, False, np.inf

    def _check_size(self) -> None:
        d = self.design.d
        check_memory(12 * 8.0 * d * d, f"solver='barrier' with {d:,} columns", "use solver='coordinate_descent'.")

    def _of(self, sums: Array) -> Array:
        """X'beta from the sums of the shifted columns."""
        shift = self.design.shift
        return sums if shift is None or not self.problem.total else sums + self.problem.total * shift

    def start_at(self, start: Start) -> float:
        """Start at another w; returns lambda there."""
        self.w, b, self.f[:] = start_of_columns(self.problem, self.design, start)
        return -b

    def begin(self, beta: Array) -> None:
        """w need not be X'beta: the first step corrects that."""

    def _moments(self, work: Pass, V: Array) -> Array:
        """The pass over the rows; X'V, and X'T X for :meth:`factor`."""
        design, single, k = self.design, self.single, self.design.columns

        def both(rows: slice, G: Array, S: Array) -> None:
            work(rows)
            design.tile_gram(rows, V[THETA, rows], G, single=single)
            design.tile_sums(rows, V[:, rows], S)

        self.moments, S = design.summed(both, (k, k), (k + 1, 4), wide=True)
        if single and float(np.diagonal(self.moments).max(initial=0.0)) * SINGLE_ROUNDING > SINGLE_MAX_LOSS:
            self.single = False
            return self._moments(work, V)
        return S

    def gather(self, work: Pass, V: Array) -> Right:
        design, S = self.design, self._moments(work, V)
        self.border, right, up, down = design.with_constant(S).T
        self.tau, total, self.total_up, self.total_down = (float(value) for value in S[-1])
        self.up, self.down = up, down
        self.sums = self._of(up + down)
        self.rest = self._rest()
        # X'beta - w shrinks with every step, unless columns of very different sizes lose its digits.
        left = float(np.abs(self.rest).max(initial=0.0))
        self.refined |= left > 2 * self.expected + 1e-10 * float(np.abs(self.w).max(initial=0.0))
        return right, total

    def _rest(self) -> Array:
        """The residual of stationarity in w."""
        return self.sums - self.w

    def evaluate(self, run: Run, n_iter: int, beta: Array, offset: float) -> Status | None:
        """Evaluate the present point."""
        problem, d = self.problem, self.problem.n_features
        b = own_intercept(problem, self.design, self.w, -offset)
        if problem.total:
            beta, scales = problem.feasible(beta), (1.0, 1.0)
            sums = self._of(self.design.transposed(beta))
        else:
            scales = problem.balance(self.total_up, self.total_down)
            sums = scales[0] * self.up + scales[1] * self.down
        moved = (-offset if problem.free else 0.0) - b
        status = run.evaluate(n_iter, self.w[:d], b, self.f + moved, beta, sums[:d], scales=scales)
        self.single = self.single and run.gap > SINGLE_MIN_GAP
        return status

    def factor(self, T: Array) -> None:
        M = self.design.bordered(self.moments, self.border)
        if self.problem.free:
            M -= np.outer(self.border, self.border / self.tau)
        M[np.diag_indices_from(M)] += self.diagonal + NORMAL_MATRIX_RIDGE * np.diagonal(M)
        self.factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def _solved(self, right: Array, missing: float) -> tuple[Array, float]:
        if not self.problem.free:
            return cho_solve(self.factors, right, check_finite=False), 0.0
        dw = cho_solve(self.factors, right + self.border * (missing / self.tau), check_finite=False)
        return dw, (missing + float(self.border @ dw)) / self.tau

    def solve(self, right: Right, missing: float) -> float:
        self.dw, dlambda = self._solved(self.rest + right[0], missing - right[1])
        return dlambda

    def along(self, work: Pass, V: Array) -> tuple[Right, Right]:
        design = self.design

        def both(rows: slice, S: Array) -> None:
            design.tile_times(rows, self.dw, self.predicted[rows])
            work(rows)
            design.tile_sums(rows, V[:, rows], S)

        (S,) = design.summed(both, (design.columns + 1, 2))
        sums = design.with_constant(S)
        return (sums[:, 0], float(S[-1, 0])), (sums[:, 1], float(S[-1, 1]))

    def to(self, work: Pass) -> None:
        def both(rows: slice) -> None:
            self.design.tile_times(rows, self.dw, self.df[rows])
            work(rows)

        self.design.each(both)

    def refine(self, changes: Array, missing: float) -> float | None:
        if not self.refined:
            return None
        left = self.rest + self.design.transposed(changes) - self.dw
        more, dlambda = self._solved(left, missing - float(changes.sum()))
        self.dw = self.dw + more
        return dlambda

    def advance(self, step: float, beta: Array) -> None:
        self.expected = (1.0 - step) * float(np.abs(self.rest).max(initial=0.0))
        self.w = self.w + step * self.dw


class RowGramSystem(DenseRows):
    """The n x n form."""

    def __init__(self, problem: PrimalProblem, control: Control) -> None:
        self.problem, self.design = problem, problem.solver_design(control.stop)
        n = problem.n_rows
        check_memory(5 * 8.0 * n * n, f"solver='barrier' with {n:,} rows", "use solver='coordinate_descent'.")
        self.K = self.design.row_gram()
        self.level = float(np.trace(self.K)) / n if problem.free else 0.0
        self.K += self.level
        self.fixed, self.f = np.zeros(n), np.zeros(n)
        if problem.total and self.design.shift is not None:
            self.fixed = self.design.times(problem.total * self.design.shift)
        if problem.total:
            self.advance(1.0, problem.initial_multipliers())
        self.every = slice(0, n)

    def _weights(self, beta: Array) -> Array:
        w = self.design.transposed(beta)
        shift = self.design.shift
        return w if shift is None or not self.problem.total else w + self.problem.total * shift

    def begin(self, beta: Array) -> None:
        self.advance(1.0, beta)

    def evaluate(self, run: Run, n_iter: int, beta: Array, offset: float) -> Status | None:
        """Evaluate the present point."""
        problem, d = self.problem, self.problem.n_features
        beta = problem.feasible(beta)
        w = self._weights(beta)
        b = own_intercept(problem, self.design, w, -offset if problem.free else 0.0)
        return run.evaluate(n_iter, w[:d], b, problem.design.times(w[:d]), beta, w[:d])

    def factor(self, T: Array) -> None:
        self.S = np.sqrt(T)
        M = self.S[:, None] * self.K * self.S
        M[np.diag_indices_from(M)] += 1.0
        for push in DIAGONAL_SHIFTS:  # shifts eigenvalues that rounding made negative
            try:
                M[np.diag_indices_from(M)] += push * float(np.abs(M).max())
                self.factors = cho_factor(M, lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                if push == DIAGONAL_SHIFTS[-1]:
                    raise
        self.tied = self._inverse(T) if self.problem.free else T

    def _inverse(self, q: Array) -> Array:
        return self.S * cho_solve(self.factors, q / self.S, check_finite=False)

    def solve(self, right: Right, missing: float) -> float:
        delta, dlambda = self._inverse(right[0]), 0.0
        if self.problem.free:
            dlambda = (missing - float(delta.sum())) / float(self.tied.sum())
            delta = delta + dlambda * self.tied
        moved = self.level * float(delta.sum())
        self.df = self.K @ delta - moved
        return dlambda - moved

    def advance(self, step: float, beta: Array) -> None:
        self.f[:] = self.fixed + self.K @ beta - self.level * float(beta.sum())
