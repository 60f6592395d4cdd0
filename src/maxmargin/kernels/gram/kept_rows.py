"""Rows of K that a solver has asked for, kept in memory.

Working sets ask for the same rows again and again, until their coefficients are right. Tiles of dense points compute a
value about as fast as memory delivers it; without tiles (sparse points of many columns, a user's function) it takes a
hundred times as long. :class:`KeptRows` keeps rows of K in float32, as many as the memory takes, and drops those that
were not used for the longest time.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.operator import Gram, KernelGram
from maxmargin.runtime.threads import Stop, halt_on, run_strips
from maxmargin.runtime.validation import Array, Points

KEPT_MAX_SHARE = 7 / 8  # of the memory for kernel values; working sets take the rest
KEPT_MIN_ROWS = 512  # fewer are dropped before they are asked for again
KEPT_MAX_VALUE = 1e15  # of k(x, x), and its inverse: so far float32 has digits to spare
COMPUTED_MAX_VALUES = 2_000_000  # between two calls of ``stop``
MIRRORED_ROWS = 256  # at a time, on a thread
SUMMED_COLUMNS = 2048  # of the rows that are added up, on a thread


def keeps_rows(gram: KernelGram, budget: float) -> bool:
    """Whether float32 has the range of the kernel's values, and enough rows fit into ``budget`` bytes."""
    if KEPT_MAX_SHARE * budget < 4.0 * gram.n * min(KEPT_MIN_ROWS, gram.n):
        return False
    sizes = gram.diagonal()
    least, most = float(sizes.min(initial=1.0)), float(sizes.max(initial=0.0))
    return least >= 0.0 and 1 / KEPT_MAX_VALUE <= most <= KEPT_MAX_VALUE


class KeptRows(Gram):
    """The operator ``base``, with rows of K in memory for products and working sets in single precision."""

    single_is_exact = False

    def __init__(self, base: KernelGram) -> None:
        self.base, self.n, self.threads, self.scratch = base, base.n, base.threads, base.scratch
        self.slot = np.full(self.n, -1)  # where a row is kept
        self.total = 0.0

    # ``budget`` is what a solver may use besides the rows.
    @property
    def budget(self) -> float:
        return self.total * (1 - KEPT_MAX_SHARE)

    @budget.setter
    def budget(self, total: float) -> None:
        if total == self.total:
            return
        self.total = self.base.budget = total
        self.slot[:] = -1
        self.capacity = min(self.n, int(KEPT_MAX_SHARE * total / (4.0 * max(1, self.n))))
        self.kept: Array = np.empty((0, self.n), np.float32)  # made by the first product
        self.owner = np.full(self.capacity, -1)
        self.last_use, self.uses = np.full(self.capacity, -1), 0

    @property
    def held(self) -> bool:  # type: ignore[override]
        """Whether all rows fit into memory."""
        return self.capacity >= self.n

    @property
    def evaluations(self) -> int:
        return self.base.evaluations

    @evaluations.setter
    def evaluations(self, count: int) -> None:
        self.base.evaluations = count

    def diagonal(self) -> Array:
        return self.base.diagonal()

    def block(self, rows: Array, cols: Array) -> Array:
        return self.base.block(rows, cols)

    def stored(self) -> tuple[Array, Array]:
        return self.base.stored()

    def linear_points(self) -> Points | None:
        return self.base.linear_points()

    def subset(self, rows: Array) -> Gram:
        part = KeptRows(self.base.subset(rows))
        part.budget = self.total
        return part

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if not single or coef.ndim > 1 or self.capacity < min(KEPT_MIN_ROWS, self.n):
            return self.base.product(cols, coef, rows, single=single, stop=stop)
        out = np.zeros(self.n)
        missing = self.slot[cols] < 0
        self._add(cols[~missing], coef[~missing], out)
        new, weights = cols[missing], coef[missing]
        size = self._rows_at_once()
        for start in range(0, len(new), size):
            part = slice(start, start + size)
            self._keep(new[part], stop)
            self._add(new[part], weights[part], out)
        return out if rows is None else out[rows]

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        if out.dtype != np.float32 or self.capacity < min(KEPT_MIN_ROWS, self.n):
            self.base.fill(rows, out, stop=stop)
            return
        n = len(rows)
        if self.held:
            new = np.unique(rows[self.slot[rows] < 0])
            for start in range(0, len(new), self._rows_at_once()):
                self._keep(new[start : start + self._rows_at_once()], stop)
        at = self.slot[rows]
        missing = np.flatnonzero(at < 0)
        if len(missing) == n:
            self.base.fill(rows, out, stop=stop)
            return

        def gather(part: slice) -> None:
            _native.gather(self.kept, np.maximum(at[part], 0), rows, out[part, :n])

        run_strips(gather, n, max(1, COMPUTED_MAX_VALUES // n), self.threads)
        self.last_use[at[at >= 0]] = self.uses = self.uses + 1
        if len(missing):
            values = self.base.block(rows[missing], rows)
            out[missing, :n] = values
            out[:n, missing] = values.T

    def _rows_at_once(self) -> int:
        return max(1, min(self.capacity, COMPUTED_MAX_VALUES // max(1, self.n)))

    def _add(self, rows: Array, coef: Array, out: Array) -> None:
        """out += K[:, rows] @ coef of rows that are kept."""
        at, x = self.slot[rows], np.ascontiguousarray(coef, np.float64)
        if len(at) == 0:
            return
        self.last_use[at] = self.uses = self.uses + 1
        run_strips(
            lambda part: _native.add_rows(self.kept[:, part], at, x, out[part]), self.n, SUMMED_COLUMNS, self.threads
        )

    def _keep(self, rows: Array, stop: Stop | None) -> None:
        """Compute these rows, none of which is kept, in place of those not used for the longest time. K is symmetric:
        what they have in common with rows that are kept is read from those."""
        halt_on(stop)
        if len(self.kept) < self.capacity:
            self.kept = np.empty((self.capacity, self.n), np.float32)
        places = np.argsort(self.last_use, kind="stable")[: len(rows)]  # those never used come first
        known = np.flatnonzero(self.slot >= 0)
        unknown = np.flatnonzero(self.slot < 0)
        m, cut = len(rows), len(unknown)
        values: Array = self.scratch.take("kept rows", (m, self.n), np.float32)
        self.base.single_block(rows, unknown, values[:, :cut])
        source = np.empty(self.n, np.int64)  # of each column, its place in ``values``
        source[unknown], source[known] = np.arange(cut), np.arange(cut, self.n)

        def mirror(part: slice) -> None:
            block: Array = np.empty((part.stop - part.start, m), np.float32)
            _native.gather(self.kept, self.slot[known[part]], rows, block)
            _native.transpose(block, values[:, cut + part.start : cut + part.stop])

        run_strips(mirror, len(known), MIRRORED_ROWS, self.threads)
        before = self.owner[places]
        self.slot[before[before >= 0]] = -1
        self.owner[places] = -1
        together = bool((np.diff(places) == 1).all())  # as long as there are places never used
        ordered: Array = self.kept[places[0] : places[0] + m] if together else np.empty((m, self.n), np.float32)

        def arrange(part: slice) -> None:
            _native.gather(values, np.arange(part.start, part.stop), source, ordered[part])

        run_strips(arrange, m, max(1, MIRRORED_ROWS // 4), self.threads)
        if not together:
            self.kept[places] = ordered
        self.owner[places], self.slot[rows] = rows, places
        self.last_use[places] = self.uses = self.uses + 1
