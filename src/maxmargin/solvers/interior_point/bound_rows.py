"""Bounds of w in the interior-point path: rows of the problem without slack.

That w_j >= low_j is asked of the row e_j with the target low_j, whose multiplier a >= 0 has no upper bound; that
w_j <= high_j of the same row with a <= 0. These rows stand behind those of the problem. Their values are coefficients
of w, the intercept is no part of them, and their part of the d x d system is diagonal:

    M = D + X'T X - v v'/tau,        D = I + E'T E (of the bounds).

A coefficient whose two bounds are equal has no slack and needs no multiplier: an entry of D that dwarfs all others
keeps it where it is.

With more columns than rows, M dw = g + v missing/tau is solved through n x n numbers: dw = D^-1 (g + X's), where s, the
part of the multipliers' change that follows from that of the values, is S s = dlambda - X D^-1 g with

    S = T^-1 + X D^-1 X',        1's = missing (free intercept).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.problems.bounded import BoundedProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, Points, check_memory
from maxmargin.solvers.interior_point.path import NEGATIVE, POSITIVE, RIGHT, THETA, Pass, PathStart, Right
from maxmargin.solvers.interior_point.row_systems import NormalSystem
from maxmargin.solvers.run import Run, own_intercept

FIXED_DIAGONAL = 1e300  # the entry of D of a coefficient that must not move


class BoundedSystem(NormalSystem):
    """The d x d form, for more rows than columns."""

    problem: BoundedProblem

    def __init__(self, problem: BoundedProblem, control: Control) -> None:
        super().__init__(problem, control)
        self.single = False
        self.unmoved = np.flatnonzero(problem.low == problem.high)
        apart = problem.low < problem.high
        self.from_below, self.from_above = apart & np.isfinite(problem.low), apart & np.isfinite(problem.high)
        self.column = np.concatenate([np.flatnonzero(self.from_below), np.flatnonzero(self.from_above)])
        n, total = problem.n_rows, problem.n_rows + len(self.column)
        self.bounds = slice(n, total)
        self.w[: problem.n_features] = problem.weights_of(self.w[: problem.n_features])
        self.f, self.predicted, self.df = np.empty(total), np.empty(total), np.empty(total)
        self.f[:n], self.f[n:] = self.design.times(self.w), self.w[self.column]

    def extended(self, start: PathStart) -> PathStart:
        """The start of the problem's rows, and of those of the bounds behind them."""
        problem, many, sides = self.problem, len(self.column), len(start.a)  # two variables state a bound twice
        low = np.arange(many) < int(self.from_below.sum())
        target = np.concatenate([problem.low[self.from_below], problem.high[self.from_above]])
        # What the slopes of the losses would have to be held by, where that has the bound's sign, and a typical size.
        slopes = np.empty(problem.n_rows)
        problem.rows.derivative(start.f, -start.offset, slopes, None)
        lacks = (self.w - self.design.transposed(slopes))[self.column]
        unit = float(np.abs(lacks).sum()) / max(1, many) or 1.0
        a = np.where(low, np.maximum(lacks, 0.0) + unit, np.minimum(lacks, 0.0) - unit) / sides

        def joined(rows: Array, bounds: Array) -> Array:
            return np.concatenate([rows, np.broadcast_to(bounds, (sides, many))], axis=1)

        return replace(
            start,
            lower=joined(start.lower, np.where(low, 0.0, -np.inf)),
            upper=joined(start.upper, np.where(low, np.inf, 0.0)),
            p=joined(start.p, -target),
            a=joined(start.a, a),
            ridge=np.concatenate([start.ridge, np.zeros(many)]),
            f=np.concatenate([start.f, self.w[self.column] + start.offset]),
        )

    def _sums(self, values: Array) -> Array:
        """E' values, of the rows of the bounds."""
        return np.bincount(self.column, weights=values, minlength=self.design.d)

    def gather(self, work: Pass, V: Array) -> Right:
        work(self.bounds)
        self.diagonal = 1.0 + self._sums(V[THETA, self.bounds])
        self.diagonal[self.unmoved] = FIXED_DIAGONAL
        self.by_bounds = self._sums(V[POSITIVE, self.bounds] + V[NEGATIVE, self.bounds])
        right, total = super().gather(work, V)
        return right + self._sums(V[RIGHT, self.bounds]), total

    def _rest(self) -> Array:
        rest = self.sums + self.by_bounds - self.w
        rest[self.unmoved] = 0.0
        return rest

    def along(self, work: Pass, V: Array) -> tuple[Right, Right]:
        self.predicted[self.bounds] = self.dw[self.column]
        work(self.bounds)
        fixed, slope = super().along(work, V)
        of_fixed, of_slope = (self._sums(values) for values in V[:, self.bounds])
        return (fixed[0] + of_fixed, fixed[1]), (slope[0] + of_slope, slope[1])

    def to(self, work: Pass) -> None:
        self.df[self.bounds] = self.dw[self.column]
        work(self.bounds)
        super().to(work)

    def refine(self, changes: Array, missing: float) -> float | None:
        if not self.refined:
            return None
        own = changes[: self.problem.n_rows]
        left = self.rest + self.design.transposed(own) + self._sums(changes[self.bounds]) - self.dw
        left[self.unmoved] = 0.0
        more, dlambda = self._solved(left, missing - float(own.sum()))
        self.dw = self.dw + more
        return dlambda

    def evaluate(self, run: Run, n_iter: int, beta: Array, offset: float) -> Status | None:
        """Show the present point to the run, with coefficients exactly at the bounds that their multipliers hold them
        to."""
        problem, d, beta = self.problem, self.problem.n_features, beta[: self.problem.n_rows]
        scales = problem.balance(self.total_up, self.total_down)
        v = (scales[0] * self.up + scales[1] * self.down)[:d]
        held = (v <= problem.low) | (v >= problem.high)
        w = problem.weights_of(np.where(held, v, self.w[:d]))
        f = problem.design.times(w)
        b = own_intercept(problem, self.design, self.w, -offset) if problem.intercept == "penalised" else 0.0
        return run.evaluate(n_iter, w, problem.best_intercept(f, b), f, beta, v, scales=scales, own=True)


class WideBoundedSystem(BoundedSystem):
    """The n x n form, for fewer rows than columns."""

    def _check_size(self) -> None:
        n, d = self.problem.n_rows, self.design.d
        entries = 5.0 * n * n + (0.0 if self.design.sparse else 2.0 * n * d)
        check_memory(8.0 * entries, f"Bounds of the coefficients with {n:,} rows", "use fewer rows.")

    @cached_property
    def rows(self) -> Points:
        """X in float64, with its columns as the design has them."""
        X = self.design.X.astype(np.float64, copy=False)
        return X if self.design.shift is None else X - self.design.shift

    def _moments(self, work: Pass, V: Array) -> Array:
        def both(rows: slice, S: Array) -> None:
            work(rows)
            self.design.tile_sums(rows, V[:, rows], S)

        (S,) = self.design.summed(both, (self.design.columns + 1, 4))
        return S

    def factor(self, T: Array) -> None:
        T, design = T[: self.problem.n_rows], self.design
        inverse = 1.0 / self.diagonal[: design.columns]
        scaled = self.rows.multiply(inverse).tocsr() if design.sparse else self.rows * inverse
        K = (scaled @ self.rows.T).toarray() if design.sparse else scaled @ self.rows.T
        if design.constant is not None:
            K += design.constant**2
        self.root = np.sqrt(T)
        K *= self.root[:, None] * self.root
        K[np.diag_indices_from(K)] += 1.0
        self.factors = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        self.tied = self._inverse(np.ones(len(T))) if self.problem.free else self.root

    def _inverse(self, values: Array) -> Array:
        return self.root * cho_solve(self.factors, self.root * values, check_finite=False)

    def _solved(self, right: Array, missing: float) -> tuple[Array, float]:
        s, dlambda = -self._inverse(self.design.times(right / self.diagonal)), 0.0
        if self.problem.free:
            dlambda = (missing - float(s.sum())) / float(self.tied.sum())
            s = s + dlambda * self.tied
        return (right + self.design.transposed(s)) / self.diagonal, dlambda
