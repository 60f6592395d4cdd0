"""Decision values of a linear model's rows from models without them, by the dual: for few rows of many columns.

With few rows to each column, classes can nearly be separated, and a row that is left out moves the others across the
margin: one Newton step goes astray there. But then K = X X' is small, and the dual of the linear problem,

    minimise  1/2 a'(K + D) a - y'a     subject to  0 <= y_i a_i <= c_i  (hinge, D = 0)   or  0 <= y_i a_i
                                                                             (squared hinge, D_ii = 1 / (2 c_i)),

with sum a_i = 0 where the intercept is free, is solved fold by fold from a = y alpha like that of a kernel model
(:mod:`maxmargin.svm.calibration.matrix_folds`). An intercept that is penalised adds its square to K. One matrix serves
all folds of all classes.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import Start
from maxmargin.svm.calibration.folds import FOLD_TOL
from maxmargin.svm.calibration.matrix_folds import FOLD_OF_PADDING, SlotProblem, padded

MATRIX_MAX_ROWS = 2048  # up to here K is stored: 32 MB
ROWS_PER_COLUMN = 50  # from here on a Newton step is accurate enough
STEPS_PER_ROW = 4  # pair steps that a fold may take
ZERO_MULTIPLIER = 1e-7  # part of its bound at which a multiplier of an interior point counts as zero


def suits(problem: PrimalProblem) -> bool:
    """Whether a problem has few rows, and few for its columns, and these no bounds."""
    n, d = problem.X.shape
    return problem.form == "linear" and n <= MATRIX_MAX_ROWS and n < ROWS_PER_COLUMN * d


class LinearMatrix:
    """K of the rows of a linear problem, and its folds; the other binary problems of a fit differ from ``problem`` in
    their signs and bounds only."""

    def __init__(self, problem: PrimalProblem) -> None:
        n = len(problem.y)
        self.free = problem.intercept == "free"
        size = padded(n + (not self.free))
        # As a Gram matrix of dense rows, whatever they were: they are few. Centred rows leave the same free intercept.
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
        """Decision values of every row, each from a model without its fold; as
        :func:`maxmargin.svm.calibration.linear_folds.linear_values`, which knows more about them."""
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
