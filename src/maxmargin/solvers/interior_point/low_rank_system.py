"""Interior points for the linear kernel of few columns, K = X X': d x d systems, whatever the number of rows.

The Newton systems of :mod:`maxmargin.solvers.interior_point.kernel_system`, (Q + D) da - G'dlambda = r with Q = E K E',
lose the digits of small columns next to large ones in K. Here w is kept as a variable of its own, as in
:mod:`maxmargin.solvers.interior_point.row_systems`, with f = E X w - G'lambda and the residual X'E'a - w. With
Theta = D^-1, q = Theta r, T = E'Theta E (diagonal), V = X'E'Theta G' and tau = G Theta G' (diagonal),

    S dw = X'E'a - w + X'E'q + V tau^-1 (e - G q),        dlambda = tau^-1 (e - G q + V'dw),
    S = I + X'T X - V tau^-1 V',                          da = q + Theta (G'dlambda - E X dw).

The last term of S centres the columns of each group at their weighted means. S has no eigenvalue below one, and its
Cholesky factor does not depend on the scales of the columns.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array
from maxmargin.solvers.interior_point.kernel_system import DenseSystem, RowProducts
from maxmargin.solvers.interior_point.path import NEGATIVE, POSITIVE, Pass, Right

DIAGONAL_ROUNDING = 1e-15  # of S, relative to its diagonal


class LowRankSystem(DenseSystem):
    """Newton systems by a Cholesky factor of size d x d; ``f`` is E X w less the offsets of the variables' groups."""

    def __init__(self, problem: DualProblem, K: RowProducts) -> None:
        super().__init__(problem, K)
        self.X, self.w = K.X, np.zeros(K.rank)

    def _sums(self, a: Array) -> Array:
        """X'E'a."""
        return np.asarray(self.problem.coefficients(a) @ self.X)

    def _values(self, w: Array) -> Array:
        """E X w."""
        return np.asarray(self.problem.sign * (self.X @ w)[self.problem.row])

    def begin(self, beta: Array) -> None:
        self.w = self._sums(beta)
        super().begin(beta)

    def gather(self, work: Pass, V: Array) -> Right:
        self.rest = self._sums(V[POSITIVE] + V[NEGATIVE]) - self.w
        return super().gather(work, V)

    def factor(self, T: Array) -> None:
        self.tau = self.G @ T
        self.border = np.array([self._sums(T * g) for g in self.G]).reshape(len(self.G), len(self.w)).T
        of_rows = np.bincount(self.problem.row, weights=T, minlength=self.problem.n_rows)
        scaled = np.sqrt(of_rows)[:, None] * self.X
        S = dsyrk(1.0, scaled.T, lower=1)  # the factor needs the lower triangle only
        S -= (self.border / self.tau) @ self.border.T
        S[np.diag_indices_from(S)] += 1.0 + DIAGONAL_ROUNDING * np.diagonal(S)
        self.factors = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)

    def _solved(self, right: Array, missing: Array) -> tuple[Array, Array]:
        """dw and dlambda."""
        dw = cho_solve(self.factors, right + self.border @ (missing / self.tau), check_finite=False)
        return dw, (missing + dw @ self.border) / self.tau

    def _move(self, dw: Array, doffset: Array) -> float:
        """Set the direction. The offsets are part of f: the path's own lambda stays zero."""
        self.dw, self.doffset = dw, doffset
        self.df = self._values(dw) - self._of_groups(doffset)
        return 0.0

    def direction(self, q: Array, missing: Array) -> tuple[Array, Array]:
        return self._solved(self.rest + self._sums(q), missing - self.G @ q)

    def solve(self, right: Right, missing: float) -> float:
        return self._move(*self.direction(right[0], self.missing))

    def refine(self, changes: Array, missing: float) -> float | None:
        """Solve again for what rounding has left of the residual."""
        left = self.rest + self._sums(changes) - self.dw
        dw, doffset = self._solved(left, self.missing - self.G @ changes)
        return self._move(self.dw + dw, self.doffset + doffset)

    def advance(self, step: float, beta: Array) -> None:
        if step:
            self.offset, self.w = self.offset + step * self.doffset, self.w + step * self.dw
        self.f[:] = self._values(self.w) - self._of_groups(self.offset)
