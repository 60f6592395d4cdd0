"""X by columns: slopes, and descent by one-dimensional Newton steps, CDN (Yuan, Chang, Hsieh & Lin 2010).

CDN moves one weight at a time and keeps the slacks 1 - m_i of all rows up to date. Along w_j the losses have

    slope      -p_j = -2 sum_i c_i y_i x_ij max(0, 1 - m_i)
    curvature   h_j =  2 sum_i c_i x_ij^2  over the rows inside their margins,

and the minimum of  -p_j t + 1/2 h_j t^2 + |w_j + t|  is t = soft(h_j w_j + p_j) / h_j - w_j. Rows enter and leave their
margins on the way, so the step is halved until it lowers the objective by a part of what was promised. A step costs
as much as reading a column, so the columns have to lie one after the other: CSC, or a dense array in Fortran's order.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.linear.l1 import L1Problem
from maxmargin.solvers.linear.products import Design, Halted

BLOCK = 500_000  # entries of X that a thread reads at a time
STRIP = 4096  # rows of a dense X that are squared at a time
PROMISE = 0.01  # part of the promised decrease that a step must bring
HALVINGS = 30
SMALLEST = 1e-12  # curvature, relative to that of all rows, below which a column has none


@numba.njit(cache=True, nogil=True)
def _slopes(indptr: Array, indices: Array, data: Array, v: Array, which: Array, out: Array) -> None:
    """x_j'v of some columns."""
    for j in which:
        total = 0.0
        for place in range(indptr[j], indptr[j + 1]):
            total += data[place] * v[indices[place]]
        out[j] = total


@numba.njit(cache=True, nogil=True)
def _squares(indptr: Array, indices: Array, data: Array, v: Array, out: Array) -> None:
    for j in range(len(out)):
        for place in range(indptr[j], indptr[j + 1]):
            out[j] += data[place] * data[place] * v[indices[place]]


class Columns:
    """The columns of X, those of a dense one minus ``shift``.

    A sparse X is read through its CSC form, a dense one through its rows.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from maxmargin.runtime.control import Control
    >>> from maxmargin.solvers.linear.l1 import L1Problem
    >>> from maxmargin.solvers.linear.l1_columns import Columns
    >>> X = sp.csr_matrix([[1.0, 2.0], [3.0, 4.0]])
    >>> columns = Columns(L1Problem(X, np.array([-1.0, 1.0]), np.ones(2)), None, Control())
    >>> columns.slopes(np.array([1.0, 10.0]), np.array([False, True]))
    array([ 0., 42.])
    """

    def __init__(self, problem: L1Problem, shift: Array | None, control: Control) -> None:
        self.problem, self.shift, self.control = problem, shift, control
        self.design = Design(problem.X, shift=shift, threads=problem.threads, poll=control.stop)

    def slopes(self, v: Array, alive: Array) -> Array:
        """x_j'v of the columns that are alive; those of a sparse X that are not have 0."""
        if not self.design.sparse:
            return self.design.transposed(v)
        X = self.problem.by_columns
        which, out = np.flatnonzero(alive), np.zeros(X.shape[1])
        entries = np.cumsum(np.diff(X.indptr)[which])
        cuts = np.searchsorted(entries, np.arange(BLOCK, entries[-1] if len(which) else 0, BLOCK))
        blocks = np.split(which, cuts)

        def work(k: int) -> None:
            if self.control.stop() is not None:
                raise Halted
            _slopes(X.indptr, X.indices, X.data, v, blocks[k], out)

        run_tiles(work, len(blocks), self.problem.threads)
        return out

    def squares(self) -> Array:
        """sum_i 2 c_i x_ij^2 of every column."""
        X, price = self.problem.X, 2.0 * self.problem.bound
        out = np.zeros(X.shape[1])
        if self.design.sparse:
            X = self.problem.by_columns
            _squares(X.indptr, X.indices, X.data, price, out)
            return out
        for first in range(0, X.shape[0], STRIP):
            part = X[first : first + STRIP] - (0.0 if self.shift is None else self.shift)
            out += price[first : first + STRIP] @ np.square(part, dtype=np.float64)
        return out

    def chosen(self, columns: Array) -> Points:
        """Some columns, by rows; X itself if they are all."""
        if len(columns) == self.problem.n_features:
            return self.problem.X
        if self.design.sparse:
            return self.problem.by_columns[:, columns].tocsr()
        return np.ascontiguousarray(self.problem.X[:, columns])


def columns_of(X: Points) -> Any:
    """(whether CSC, column pointers, row indices, values): what the compiled loops read.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.l1_columns import columns_of
    >>> columns_of(np.array([[1.0, 2.0], [3.0, 4.0]]))[-1]
    array([1., 3., 2., 4.])
    """
    if sp.issparse(X):
        X = X.tocsc()
        return True, X.indptr.astype(np.int64), X.indices, X.data
    return False, np.arange(X.shape[1] + 1, dtype=np.int64) * X.shape[0], np.zeros(1, np.int32), X.ravel(order="F")


@numba.njit(cache=True, nogil=True, inline="always")
def _row(sparse: bool, indices: Array, first: int, place: int) -> int:
    return indices[place] if sparse else place - first


@numba.njit(cache=True, nogil=True)
def descend(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    order: Array,
    y: Array,
    c: Array,
    w: Array,
    slack: Array,
) -> float:
    """One pass over the columns in ``order``; w and the slacks follow. Returns the largest change of a slope p_j,
    in units of the penalty."""
    largest = 0.0
    for j in order:
        first, last = indptr[j], indptr[j + 1]
        p, curvature, whole = 0.0, 0.0, 0.0
        for place in range(first, last):
            i = _row(sparse, indices, first, place)
            square = 2.0 * c[i] * data[place] * data[place]
            whole += square
            if slack[i] > 0:
                p += 2.0 * c[i] * y[i] * data[place] * slack[i]
                curvature += square
        curvature = max(curvature, SMALLEST * whole)
        if curvature <= 0.0:
            continue
        z = curvature * w[j] + p
        step = np.sign(z) * max(0.0, abs(z) - 1.0) / curvature - w[j]
        if step == 0.0:
            continue
        promise = -p * step + abs(w[j] + step) - abs(w[j])
        for _ in range(HALVINGS):
            change = abs(w[j] + step) - abs(w[j])
            for place in range(first, last):
                i = _row(sparse, indices, first, place)
                new = slack[i] - step * y[i] * data[place]
                change += c[i] * (max(0.0, new) ** 2 - max(0.0, slack[i]) ** 2)
            if change <= PROMISE * promise:
                for place in range(first, last):
                    i = _row(sparse, indices, first, place)
                    slack[i] -= step * y[i] * data[place]
                w[j] += step
                largest = max(largest, abs(step) * curvature)
                break
            step *= 0.5
            promise *= 0.5
    return largest
