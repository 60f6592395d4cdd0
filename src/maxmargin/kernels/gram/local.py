"""Kernel values of points that are out of each other's reach, left out.

An RBF kernel with a large gamma is zero between most points. Rows are divided into cells, each with its bounding box.
If the boxes of two cells are so far apart that no kernel value between them exceeds 2^-60, far below the rounding of
sums in float64, none of these values is computed. Each cell is then multiplied with the few cells near it.

Cells come from a tree of axis-parallel cuts: through the widest gap of a column where there is one that kernels hardly
reach across (columns of zeros and ones have such gaps), otherwise at the median of the column of largest variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from maxmargin import _native
from maxmargin.kernels.gram.sides import Panels, Side
from maxmargin.kernels.gram.tiled import CHUNK_ROWS, TiledGram, store_tiles
from maxmargin.runtime.threads import Stop, halt_on, run_tiles, single_threaded_blas
from maxmargin.runtime.validation import Array

ZERO_EXPONENT = 60.0  # a kernel value below 2 to the minus this counts as zero
GAP_EXPONENT = 15.0  # the same for values across a gap that is cut through
CELL_MAX_ROWS = 4096  # beyond this a cell without gaps is halved
CELLS_MAX = 1024
LOCAL_MIN_ROWS = 8192  # below this, all values cost less than the search for those that are zero
NEAR_MAX_SHARE = 0.5  # of pairs of rows, above which nothing is left out
SAMPLED_PAIR_ROWS = 256
SAMPLED_CUT_ROWS = 2048
PIECE_ROWS = 10 * CHUNK_ROWS  # rows of a cell that one thread takes at a time


@dataclass(frozen=True)
class Cells:
    """Rows divided into cells."""

    label: Array  # int16, the cell of each row
    near: Array  # bool of shape (cells, cells): whether kernel values between two cells are computed

    def share(self) -> float:
        """Of all pairs of rows, those in cells near each other."""
        sizes = np.bincount(self.label, minlength=len(self.near)) / len(self.label)
        return float(sizes @ self.near @ sizes)


def mostly_out_of_reach(A: Array) -> bool:
    """Whether most pairs of rows of A, scaled for tiles, have no kernel value: judged by a sample."""
    part = A[:: max(1, len(A) // SAMPLED_PAIR_ROWS)].astype(np.float64)
    lengths = np.einsum("ij,ij->i", part, part)
    with single_threaded_blas():  # a second thread takes longer to start than the product
        squared = lengths[:, None] + lengths - 2.0 * (part @ part.T)
    return bool(np.mean(squared > 2 * ZERO_EXPONENT) > 1 - NEAR_MAX_SHARE)


def divide(A: Array) -> Cells:
    """Cells of the rows of A, scaled for tiles: a kernel value is 2 to the minus half the squared distance."""
    label = np.empty(len(A), np.int16)
    low: list[Array] = []
    high: list[Array] = []
    waiting = [np.arange(len(A))]
    while waiting:
        rows = waiting.pop()
        above = _cut(A, rows) if len(low) + len(waiting) < CELLS_MAX - 1 else None
        if above is None:
            label[rows] = len(low)
            part = A[rows]
            low.append(part.min(axis=0))
            high.append(part.max(axis=0))
        else:
            waiting += [rows[above], rows[~above]]
    L, H = np.array(low, np.float64), np.array(high, np.float64)
    near = np.empty((len(L), len(L)), bool)
    for c in range(len(L)):
        apart = np.maximum(np.maximum(L - H[c], L[c] - H), 0.0)
        near[c] = np.einsum("ij,ij->i", apart, apart) <= 2 * ZERO_EXPONENT
    return Cells(label, near)


def _cut(A: Array, rows: Array) -> Array | None:
    """Which of the rows are above a cut; None where none is worth it."""
    part = A[rows[:: max(1, len(rows) // SAMPLED_CUT_ROWS)]]
    middle = 0.5 * (part.min(axis=0) + part.max(axis=0))
    upper = part > middle
    bottom = np.where(upper, -np.inf, part).max(axis=0)
    top = np.where(upper, part, np.inf).min(axis=0)
    gap = np.where(np.isfinite(top), top - bottom, 0.0)
    column = int(np.argmax(gap))
    if gap[column] ** 2 >= 2 * GAP_EXPONENT:
        above = A[rows, column] > 0.5 * (top[column] + bottom[column])
    elif len(rows) > CELL_MAX_ROWS:
        column = int(np.argmax(part.var(axis=0)))
        above = A[rows, column] > np.median(part[:, column])
    else:
        return None
    return above if above.any() and not above.all() else None


class LocalGram(TiledGram):
    """Tiles of near cells only.

    plain: the operator whose values are meant
    cells: its rows, divided
    """

    def __init__(self, plain: TiledGram, cells: Cells) -> None:
        self._share(plain)
        self.cells = cells
        self._sorted: tuple[Array, Side] | None = None  # all rows, cell by cell: which they are, and their side

    def subset(self, rows: Array) -> TiledGram:
        part = super().subset(rows)
        assert isinstance(part, LocalGram)
        part.cells, part._sorted = Cells(self.cells.label[rows], self.cells.near), None
        return part

    def parts(self) -> list[Array]:
        _, part_of_cell = connected_components(csr_matrix(self.cells.near), directed=False)
        label = part_of_cell[self.cells.label]
        return [np.flatnonzero(label == part) for part in np.unique(label)]

    def arranged(self, rows: Array) -> Array:
        return np.argsort(self.cells.label[rows], kind="stable")

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if coef.ndim > 1:
            return super().product(cols, coef, rows, single=single, stop=stop)
        order = self.arranged(cols)
        cols = cols[order]
        left_rows = self._all_sorted()[0] if rows is None else rows[self.arranged(rows)]
        if single:
            left = self._all_sorted()[1] if rows is None else self._rows(left_rows)
            right = self._panels(cols)
        else:
            right = self._double_panels(cols)
            left = self._double(left_rows)
        A = left.A
        assert A is not None  # only dense rows are divided
        weights: Array = np.zeros(len(right.v), right.v.dtype)
        weights[: right.n] = coef[order]
        sums = np.zeros(left.n)
        width = right.P.shape[2]
        pieces = self._pieces(left_rows, cols, width)

        def work(t: int) -> None:
            halt_on(stop)
            start, end, runs = pieces[t]
            for p, q in runs:
                lanes = slice(p * width, q * width)
                columns = right.P[p:q], right.v[lanes], weights[lanes], self.form.kind, self.form.degree, sums
                _native.kernel_matvec_dense(A, left.u, *columns, start, end)

        run_tiles(work, len(pieces), self.threads)
        self.evaluations += sum((end - start) * (q - p) * width for start, end, runs in pieces for p, q in runs)
        out = np.empty(left.n)
        out[left_rows if rows is None else self.arranged(rows)] = sums
        return out

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        left, right = self._tiles(rows, rows, out.dtype == np.float64)
        width = right.P.shape[2]
        pieces = self._pieces(rows, rows, width)
        n = len(rows)

        def work(t: int) -> None:
            halt_on(stop)
            start, end, runs = pieces[t]
            strip, filled = left.strip(start, end), 0
            for p, q in [*runs, (-(-n // width), 0)]:
                out[start:end, filled : min(p * width, n)] = 0
                filled = min(q * width, n)
                if q > p:
                    part = Panels(right.P[p:q], right.v[p * width : q * width], filled - p * width)
                    store_tiles(strip, part, self.form, out[start:end, p * width :], 1)

        run_tiles(work, len(pieces), self.threads)
        self.evaluations += sum((end - start) * (q - p) * width for start, end, runs in pieces for p, q in runs)

    def _all_sorted(self) -> tuple[Array, Side]:
        if self._sorted is None:
            rows = self.arranged(np.arange(self.n))
            self._sorted = rows, self._all().part(rows)
        return self._sorted

    def _pieces(self, rows: Array, cols: Array, width: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
        """Rows start to stop of one cell, and the runs of panels that hold the columns near it."""
        label = self.cells.label[rows]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(rows)]))
        holds = np.zeros((len(self.cells.near), -(-len(cols) // width)), bool)
        holds[self.cells.label[cols], np.arange(len(cols)) // width] = True
        pieces = []
        for start, stop in pairwise(starts):
            if start == stop:
                continue
            wanted = holds[self.cells.near[label[start]]].any(axis=0)
            ends = np.flatnonzero(np.diff(np.concatenate(([0], wanted.view(np.int8), [0]))))
            runs = list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))
            pieces += [(a, min(a + PIECE_ROWS, int(stop)), runs) for a in range(int(start), int(stop), PIECE_ROWS)]
        return pieces


def without_zeros(plain: TiledGram) -> TiledGram:
    """The operator that leaves out values which are zero, where these are most; otherwise the one given."""
    A = plain.side.A
    if plain.n < LOCAL_MIN_ROWS or not plain.form.norms or A is None or plain.side.far is not None:
        return plain
    if plain.single_is_exact or not mostly_out_of_reach(A):
        return plain
    cells = divide(A)
    return LocalGram(plain, cells) if cells.share() <= NEAR_MAX_SHARE else plain
