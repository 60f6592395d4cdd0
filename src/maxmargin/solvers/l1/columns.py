"""X by columns: slopes, and descent by one-dimensional Newton steps, CDN (Yuan, Chang, Hsieh & Lin 2010).

CDN moves one weight at a time and keeps the slacks 1 - m_i of all rows up to date. Along w_j the losses have

    slope      -p_j = -2 sum_i c_i y_i x_ij max(0, 1 - m_i)
    curvature   h_j =  2 sum_i c_i x_ij^2  over the rows inside their margins,

and the minimum of  -p_j t + 1/2 h_j t^2 + |w_j + t|  is t = soft(h_j w_j + p_j) / h_j - w_j. Rows enter and leave their
margins on the way, so the step is halved until it lowers the objective by a part of the predicted decrease. A step
costs as much as reading a column, so the columns have to lie one after the other: CSC, or a dense array in Fortran's
order. The loop is ``l1_descend`` of native/columns.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.problems.design import Design, csr_rows, linear_rows, same_index_type
from maxmargin.problems.l1 import L1Problem
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import halt_on, run_tiles
from maxmargin.runtime.validation import Array, Points

CALL_MAX_ENTRIES = 500_000  # of X that a thread reads at a time
SQUARED_ROWS = 4096  # of a dense X that are squared at a time


class Columns:
    """The columns of X, those of a dense one minus ``shift``.

    A sparse X is read through its CSC form, a dense one through its rows.
    """

    def __init__(self, problem: L1Problem, shift: Array | None, control: Control) -> None:
        self.problem, self.shift, self.control = problem, shift, control
        self.design = Design(problem.X, shift=shift, threads=problem.threads, stop=control.stop)

    @cached_property
    def _columns(self) -> Any:
        """The columns of a sparse X as rows."""
        X = self.problem.by_columns
        return csr_rows(*same_index_type(X), X.data, X.shape[0])

    def slopes(self, v: Array, alive: Array) -> Array:
        """x_j'v of the columns that are alive; those of a sparse X that are not have 0."""
        if not self.design.sparse:
            return self.design.transposed(v)
        X = self.problem.by_columns
        which, out = np.flatnonzero(alive), np.zeros(X.shape[1])
        entries = np.cumsum(np.diff(X.indptr)[which])
        cuts = np.searchsorted(entries, np.arange(CALL_MAX_ENTRIES, entries[-1] if len(which) else 0, CALL_MAX_ENTRIES))
        blocks, columns, v = np.split(which, cuts), self._columns, np.ascontiguousarray(v)

        def work(k: int) -> None:
            halt_on(self.control.stop)
            some = np.empty(len(blocks[k]))
            _native.rows_times_some(columns, v, blocks[k], some)
            out[blocks[k]] = some

        run_tiles(work, len(blocks), self.problem.threads)
        return out

    def squares(self) -> Array:
        """sum_i 2 c_i x_ij^2 of every column."""
        X, weight = self.problem.X, 2.0 * self.problem.weight
        out = np.zeros(X.shape[1])
        if self.design.sparse:
            _native.rows_squares(self._columns, 0, len(out), out, weight)
            return out
        for first in range(0, X.shape[0], SQUARED_ROWS):
            part = X[first : first + SQUARED_ROWS] - (0.0 if self.shift is None else self.shift)
            out += weight[first : first + SQUARED_ROWS] @ np.square(part, dtype=np.float64)
        return out

    def chosen(self, columns: Array) -> Points:
        """Some columns, by rows; X itself if they are all."""
        if len(columns) == self.problem.n_features:
            return self.problem.X
        if self.design.sparse:
            return self.problem.by_columns[:, columns].tocsr()
        return np.ascontiguousarray(self.problem.X[:, columns])


def columns_of(X: Points) -> Any:
    """The columns of X as the rows of compiled loops."""
    if sp.issparse(X):
        X = X.tocsc()
        return csr_rows(*same_index_type(X), X.data, X.shape[0])
    return linear_rows(X.T)
