"""Out-of-fold decision values of a linear model, by one Newton step per fold or, for few rows of many columns, by the
dual.

The Newton step. At the optimum w = sum_i beta_i x_i. Without the rows of a fold F the same w has the gradient

    g_F = sum_{i in F} beta_i x~_i,                    x~ = (x, 1) where there is an intercept,

and the model of the other rows is, by one Newton step from there,

    w_F = w - H_F^-1 g_F,           H_F = P + sum_{i not in F} h_i x~_i x~_i',

with P the identity, without the free intercept's entry, and h_i the curvature of row i's loss. For the squared hinge
that is 2 c_i inside the margin, and the step is exact as long as no row crosses it. The hinge has its curvature in one
point, which many rows cross; spread over the band of half a margin to either side, h_i = c_i there, it counts these.
(The same step for one row is the leave-one-out formula of least squares.)

If most rows lie on the margin, the model hardly depends on its columns, and a fold does not change it: the step is
noise, and is not taken if it would change the values by more than they differ among themselves.

One pass over the rows gives the matrices of all folds, which costs about one or two steps of a solver, and needs a
d x d system: for more columns, coordinate descent refits each fold from the model of all rows. If the fit is stopped
before a row's model is reached, its value is NaN.

The dual. With few rows per column, classes are nearly separable, and leaving out a row moves the others across the
margin, where one Newton step is inaccurate. But then K = X X' is small, and the dual of the linear problem,

    minimise  1/2 a'(K + D) a - y'a     subject to  0 <= y_i a_i <= c_i  (hinge, D = 0)   or  0 <= y_i a_i
                                                                             (squared hinge, D_ii = 1 / (2 c_i)),

with sum a_i = 0 where the intercept is free, is solved fold by fold from a = y alpha like that of a kernel model
(:mod:`maxmargin.svm.calibration.matrix_folds`). An intercept that is penalised adds its square to K. One matrix serves
all folds of all classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from maxmargin.problems.design import Design
from maxmargin.problems.joint import JointProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.interior_point import Barrier
from maxmargin.solvers.registry import linear_fallback
from maxmargin.solvers.run import Start
from maxmargin.svm.calibration.folds import FOLD_TOL, held_out_and_rest
from maxmargin.svm.calibration.matrix_folds import FOLD_OF_PADDING, SlotProblem, padded
from maxmargin.svm.linear.crammer_singer import solve_joint

SYSTEM_MAX_COLUMNS = 1500  # columns up to which the d x d system is solved
REFIT_TOL = 0.01  # relative duality gap of refitted models
HINGE_BAND = 0.5  # the hinge's curvature is spread over so much of a margin to either side
MATRIX_MAX_ROWS = 2048  # up to here K is stored: 32 MB
ROWS_PER_COLUMN = 50  # from here on a Newton step is accurate enough
STEPS_PER_ROW = 4  # pair steps that a fold may take
ZERO_MULTIPLIER = 1e-7  # part of its bound at which a multiplier of an interior point counts as zero


def linear_values(problem: PrimalProblem, start: Start, folds: Array, control: Control) -> Array:
    """Decision values of a binary linear model for every row, each from a model without its fold; ``start`` is its
    solution. Rows of fold -1 are in every model and get the value of the model of all rows."""
    kinked = problem.hard_margin or problem.form != "linear"
    if start.beta is None or kinked or problem.n_features > SYSTEM_MAX_COLUMNS:
        return _refitted(problem, start, folds, control)
    values = problem.design.times(start.w) + start.b
    margins = problem.y * values
    if problem.squared:
        h = np.where(margins < 1.0, 2.0 * problem.weight, 0.0)
    else:
        h = np.where(np.abs(margins - 1.0) < HINGE_BAND, problem.weight / (2.0 * HINGE_BAND), 0.0)
    free, none = problem.intercept == "free", problem.intercept == "none"
    shift = problem.design.mean() if free and not problem.design.sparse else None
    constant = None if none else 1.0 if free else problem.scaling
    parts = []
    for k in range(int(folds.max(initial=-1)) + 1):
        rows = np.flatnonzero(folds == k)
        design = Design(problem.X[rows], shift=shift, constant=constant, threads=problem.threads)
        curved = np.flatnonzero(h[rows] > 0)
        bent = Design(design.X[curved], shift=shift, constant=constant, threads=problem.threads)
        parts.append((rows, design, bent.gram(h[rows[curved]]) if len(curved) else np.zeros((design.d, design.d))))
    total = sum(gram for _, _, gram in parts) + _kept(problem, folds, h, shift, constant)
    penalty = np.ones(len(total))
    if free:
        penalty[-1] = 1e-9 * (1.0 + float(total[-1, -1]))  # keeps the intercept if it has no curvature
    most = float(np.std(values))
    for rows, design, gram in parts:
        if control.stop() is not None:
            values[rows] = np.nan
            continue
        H = total - gram
        H[np.arange(len(H)), np.arange(len(H))] += penalty
        step = scipy.linalg.solve(H, design.transposed(start.beta[rows]), assume_a="pos", check_finite=False)
        moves = design.times(step)
        if float(np.sqrt(np.mean(moves**2))) <= most:
            values[rows] -= moves
    return values


def _kept(problem: PrimalProblem, folds: Array, h: Array, shift: Array | None, constant: float | None) -> Array:
    """The curvature of the rows that are in every model."""
    rows = np.flatnonzero((folds < 0) & (h > 0))
    d = problem.n_features + (constant is not None)
    if len(rows) == 0:
        return np.zeros((d, d))
    return Design(problem.X[rows], shift=shift, constant=constant).gram(h[rows])


def _refitted(problem: PrimalProblem, start: Start, folds: Array, control: Control) -> Array:
    """Models refitted fold by fold; a fold's rows get the weight zero, which leaves them out without a copy of X."""
    solver = linear_fallback() if problem.form == "linear" and not problem.hard_margin else Barrier()
    values = problem.design.times(start.w) + start.b
    for rows, rest in held_out_and_rest(folds, values, control):
        kept = np.zeros(problem.n_rows, bool)
        kept[rest] = True
        fold = replace(problem, weight=np.where(kept, problem.weight, 0.0))
        begin = Start(start.w, start.b, None if start.beta is None else np.where(kept, start.beta, 0.0))
        found = solver.solve_linear(fold, tol=REFIT_TOL, control=control, start=begin, random_state=0)
        values[rows] = problem.X[rows] @ found.w + found.b
    return values


def linear_joint_values(
    X: Points, problem: JointProblem, scores: Array, constant: float, folds: Array, control: Control, threads: int
) -> Array:
    """Scores of the joint linear model, shape (n, k), each from a model refitted without the row's fold; ``scores``
    are those of the model of all rows."""
    scores = scores.copy()
    for held, rest in held_out_and_rest(folds, scores, control):
        fold = JointProblem(problem.label[rest], problem.bound[rest], problem.n_classes)
        found = solve_joint(X[rest], fold, constant, tol=REFIT_TOL, control=control, threads=threads)
        scores[held] = X[held] @ found.coef.T + found.intercept
    return scores


def suits(problem: PrimalProblem) -> bool:
    """Whether a problem has few rows, few rows per column, and no bounds on coefficients."""
    n, d = problem.X.shape
    return problem.form == "linear" and n <= MATRIX_MAX_ROWS and n < ROWS_PER_COLUMN * d


class LinearMatrix:
    """K of the rows of a linear problem, and its folds; the other binary problems of a fit differ from ``problem`` in
    their signs and bounds only."""

    def __init__(self, problem: PrimalProblem) -> None:
        n = len(problem.y)
        self.free = problem.intercept == "free"
        size = padded(n + (not self.free))
        # A Gram matrix of dense rows, which are few. Centring does not change the free intercept.
        X = problem.X.toarray() if problem.design.sparse else np.asarray(problem.X)
        X = X.astype(np.float64)
        if self.free:
            X -= X.mean(axis=0)
        self.K = np.zeros((size, size + 16))
        with single_threaded_blas():
            self.K[:n, :n] = X @ np.ascontiguousarray(X.T)
        if problem.intercept == "penalised":
            self.K[:n, :n] += problem.scaling**2
        self.diagonal = self.K[np.arange(n), np.arange(n)].copy()

    def values(self, problem: PrimalProblem, start: Start, folds: Array, control: Control) -> Array:
        """Decision values of every row, each from a model without its fold; see :func:`linear_values`."""
        assert start.beta is not None
        n, size, count = len(problem.y), len(self.K), int(folds.max(initial=-1)) + 1
        y, every = problem.y, np.arange(n)
        own = problem.design.times(start.w) + start.b
        alpha = np.where(np.abs(start.beta) > ZERO_MULTIPLIER * problem.weight, np.abs(start.beta), 0.0)
        spread = 1.0 / (2.0 * problem.weight) if problem.squared else np.zeros(n)
        bound = np.full(n, np.inf) if problem.squared else problem.weight
        self.K[every, every] = self.diagonal + spread
        a, lower, upper, diagonal = np.zeros((4, size))
        a[:n] = y * alpha if problem.squared else y * np.minimum(alpha, bound)
        lower[:n], upper[:n] = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
        diagonal[:n] = self.K[every, every]
        of_slot = np.full(size, FOLD_OF_PADDING)
        of_slot[:n] = folds
        if not self.free:
            lower[n], upper[n], of_slot[n] = -np.inf, np.inf, -1
        gradient, totals = np.zeros(size), np.zeros((count, int(self.free)))
        gradient[:n] = self.K[:n, :n] @ a[:n] - y
        ends = np.zeros(1, np.int64), np.array([size])
        slots = SlotProblem(self.K, diagonal, a, lower, upper, of_slot, *ends, totals)
        values = own.copy()
        for k in range(count):
            held = np.flatnonzero(folds == k)
            if control.stop() is not None:
                values[held] = np.nan
                continue
            _, g, offsets = slots.without(k, gradient, FOLD_TOL, STEPS_PER_ROW * n, control)
            values[held] = g[held] + y[held] - offsets.sum()
        return values
