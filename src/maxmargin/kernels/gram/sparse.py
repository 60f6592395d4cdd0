"""K without its small entries, for kernel matrices that are nearly diagonal.

With a large gamma, and with many columns, most kernel values are small without being zero: they count together, but
hardly change while a solver works. :class:`SparseGram` is the symmetric matrix of all values above a threshold,
computed once and held in memory as far as it fits there; a solver can work on it as on any other operator, and correct
for the rest E = K - S once in a while (:mod:`maxmargin.solvers.active_set.nearly_diagonal`).

A sample decides whether K is such a matrix: most of its rows must be diagonally dominant (their values, without that on
the diagonal, sum up to less than it), and the values below the threshold must sum up to little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.local import LocalGram
from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.gram.tiled import CHUNK_ROWS, STRIP_COLUMNS, TiledGram, store_tiles
from maxmargin.runtime.threads import Scratch, Stop, halt_on, run_tiles
from maxmargin.runtime.validation import Array

SPARSE_MIN_ROWS = 4096  # below this, working sets hold most of K anyway
SAMPLED_ROWS, FIRST_SAMPLED_COLUMNS = 128, 1024
DOMINANT_MIN_SHARE = 0.5  # of the rows of K
NEGLECTED_SUM = 2e-3  # of the values of a row below the threshold, on average: one correction suffices
NEGLECTED_MAX_SUM = 0.05  # the same where memory allows no smaller threshold
EXPONENT_BIAS, EXPONENTS = 127, 256  # of float32
ENTRY_BYTES = 6  # of an entry and its mirror image
STORED_MAX_SHARE = 2 / 3  # of the budget; working sets take the rest


@dataclass(frozen=True)
class Strip:
    """Entries above the diagonal in some columns, from ``first``; see ``native/symmetric_entries``."""

    first: int
    last: int
    indptr: Array
    indices: Array
    data: Array

    @property
    def entries(self) -> tuple[Array, Array, Array, int]:
        return self.indptr, self.indices, self.data, self.first


class SparseGram(Gram):
    """A symmetric matrix with ones on its diagonal, and the entries of ``strips`` on both sides of it."""

    single_is_exact = False
    held = True

    def __init__(self, n: int, strips: list[Strip], threads: int, budget: float) -> None:
        self.n, self.strips, self.threads, self.budget = n, strips, threads, budget
        self.scratch = Scratch()

    def diagonal(self) -> Array:
        return np.ones(self.n)

    def block(self, rows: Array, cols: Array) -> Array:
        both = np.union1d(rows, cols)
        out = np.empty((len(both), len(both)), np.float32)
        self.fill(both, out)
        return out[np.ix_(np.searchsorted(both, rows), np.searchsorted(both, cols))].astype(np.float64)

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if coef.ndim > 1:
            return np.column_stack([self.product(cols, column, rows) for column in coef.T])
        x = np.bincount(cols, weights=coef, minlength=self.n)
        sums: list[Array] = [np.zeros(0)] * len(self.strips)  # each strip has its own: threads do not change a bit

        def work(t: int) -> None:
            strip = self.strips[-1 - t]  # the largest first
            sums[t] = np.zeros(strip.last)
            _native.symmetric_product(*strip.entries, x[: strip.last], sums[t])

        run_tiles(work, len(self.strips), self.threads)
        out = x
        for part in sums:
            out[: len(part)] += part
        return out if rows is None else out[rows]

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        n = len(rows)
        distinct, slot, inverse = np.unique(rows, return_index=True, return_inverse=True)
        values: Array = out[:n, :n] if out.dtype == np.float32 else np.empty((n, n), np.float32)
        values[...] = 0
        place = np.full(self.n, -1, np.int32)
        place[distinct] = slot

        def work(t: int) -> None:
            strip = self.strips[t]
            inside = distinct[: np.searchsorted(distinct, strip.last)]
            _native.symmetric_fill(*strip.entries, inside, place[: strip.last], values)

        run_tiles(work, len(self.strips), self.threads)
        values[slot, slot] = 1
        again = np.flatnonzero(slot[inverse] != np.arange(n))  # slots of rows that have one already
        values[again] = values[slot[inverse[again]]]
        values[:, again] = values[:, slot[inverse[again]]]
        if values.base is not out and out.dtype != np.float32:
            out[:n, :n] = values

    def subset(self, rows: Array) -> Gram:
        raise TypeError("a sparse kernel matrix has no subsets: take those of the operator that it was made from")


def large_entries(gram: Gram, stop: Stop | None = None) -> SparseGram | None:
    """The entries of K that matter, if it is nearly diagonal; None if not. ``stop`` may end the passes over K."""
    if not isinstance(gram, TiledGram) or isinstance(gram, LocalGram) or gram.held or gram.n < SPARSE_MIN_ROWS:
        return None
    if not gram.form.decays or gram.single_is_exact or gram.side.A is None or gram.side.far is not None:
        return None
    budget = STORED_MAX_SHARE * gram.budget
    threshold = _threshold(gram, budget, stop)
    if threshold is None:
        return None
    strips = [_strip(gram, first, threshold, stop) for first in range(0, gram.n, STRIP_COLUMNS)]
    return SparseGram(gram.n, strips, gram.threads, gram.budget - budget)


def _threshold(gram: TiledGram, budget: float, stop: Stop | None) -> float | None:
    """A power of 1/2 below which the values sum up to NEGLECTED_SUM, or the smallest above which they fit into
    ``budget`` bytes, judged by a sample of the rows; None if K is not nearly diagonal."""
    n = gram.n
    rows = np.arange(0, n, -(-n // SAMPLED_ROWS))
    columns = np.arange(0, n, -(-n // FIRST_SAMPLED_COLUMNS))
    sums, _, _ = _sampled(gram, rows, columns)
    if np.median(sums - np.isin(rows, columns)) * n / len(columns) > 1:  # in most problems this is enough to see it
        return None
    sums, counts, totals = np.zeros(len(rows)), np.zeros(EXPONENTS), np.zeros(EXPONENTS)
    for first in range(0, n, STRIP_COLUMNS):
        halt_on(stop)
        more = _sampled(gram, rows, np.arange(first, min(first + STRIP_COLUMNS, n)))
        sums, counts, totals = (held + new for held, new in zip((sums, counts, totals), more, strict=True))
    if np.mean(sums - 1 < 1) < DOMINANT_MIN_SHARE:
        return None
    size = np.cumsum(counts[::-1])[::-1] * (0.5 * ENTRY_BYTES * n / len(rows))  # of values from an exponent on
    neglected = np.concatenate(([0.0], np.cumsum(totals)[:-1])) / len(rows)  # those of smaller exponents
    fits, suffices = np.flatnonzero(size <= budget), np.flatnonzero(neglected <= NEGLECTED_SUM)
    exponent = max(fits[0], suffices[-1])
    return 2.0 ** float(exponent - EXPONENT_BIAS) if neglected[exponent] <= NEGLECTED_MAX_SUM else None


def _sampled(gram: TiledGram, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    """Of K[rows, columns]: the sums of its rows, and the number and the sum of its values by their exponents."""
    left, right = gram._rows(rows), gram._panels(columns)
    block: Array = gram.scratch.take("block", (len(rows), len(columns)), np.float32)
    store_tiles(left, right, gram.form, block, gram.threads)
    gram.evaluations += block.size
    exponents = (block.view(np.uint32) >> 23).ravel()
    counts = np.bincount(exponents, minlength=EXPONENTS)
    totals = np.bincount(exponents, weights=block.ravel(), minlength=EXPONENTS)
    return block.sum(axis=1, dtype=np.float64), counts, totals


def _strip(gram: TiledGram, first: int, threshold: float, stop: Stop | None) -> Strip:
    last = min(first + STRIP_COLUMNS, gram.n)
    pieces: list[tuple[Array, Array, Array]] = [(np.zeros(0, np.int64),) * 3] * -(-last // CHUNK_ROWS)

    def select(start: int, column: int, block: Array) -> None:
        counts = np.empty(len(block), np.int64)
        indices: Array = gram.scratch.take("indices", (block.size,), np.uint16)
        data: Array = gram.scratch.take("data", (block.size,), np.float32)
        count = _native.select_entries(block, start - column, threshold, counts, indices, data)
        pieces[start // CHUNK_ROWS] = counts, indices[:count] + np.uint16(column - first), data[:count].copy()

    gram.upper_strip(first, select, stop)
    counts, indices, data = (np.concatenate(part) for part in zip(*pieces, strict=True))
    return Strip(first, last, np.concatenate(([0], np.cumsum(counts))), indices, data)
