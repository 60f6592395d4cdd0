"""Kernel values that the binary problems of one-vs-one share.

Every pair of classes needs K of both classes with themselves, which their other pairs need too, and K of one with the
other, which is theirs alone. So the first are computed once and held, and the second lives while its pair is solved.
"""

from __future__ import annotations

import copy

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.sides import Panels, Side
from maxmargin.kernels.gram.tiled import TiledGram, padded_slots, store_tiles
from maxmargin.runtime.threads import Scratch, Stop
from maxmargin.runtime.validation import Array

DOUBLE_MAX_ROWS = 1024  # rows of a pair of classes up to which shared values are held in float64


class HeldGram(TiledGram):
    """Tiles whose values are held in memory, in blocks of two sets of rows: the first ``cut``, and the rest.

    Values are float32, and those in float64 are still computed by tiles; or they are float64 in the first place.

    plain: the operator whose values are held
    first, last, cross: K of the first rows, of the last rows, and of the first with the last
    """

    held = True

    def __init__(self, plain: TiledGram, first: Array, last: Array, cross: Array) -> None:
        self._share(plain)
        self.plain, self.threads = plain, 1
        self.first, self.last, self.cross, self.cut = first, last, cross, len(first)
        self.double = first.dtype == np.float64
        self.single_is_exact = self.single_is_exact or self.double

    def product(
        self, cols: Array, coef: Array, rows: Array | None = None, *, single: bool = False, stop: Stop | None = None
    ) -> Array:
        if coef.ndim > 1 or not (self.double or (single and not self.single_is_exact)):
            return super().product(cols, coef, rows, single=single, stop=stop)
        low = cols < self.cut
        a, b = cols[low], cols[~low] - self.cut
        x, y = coef[low], coef[~low]
        out = np.zeros(self.n)  # K is symmetric: where columns are meant, rows are read, for they are contiguous
        _native.add_rows(self.first, a, x, out[: self.cut])
        _native.add_columns(self.cross, b, y, out[: self.cut])
        _native.add_rows(self.cross, a, x, out[self.cut :])
        _native.add_rows(self.last, b, y, out[self.cut :])
        return out if rows is None else out[rows]

    def subset(self, rows: Array) -> TiledGram:
        """Plain tiles: the values that are held belong to other rows."""
        plain = copy.copy(self.plain)
        plain._share(self)
        return plain.subset(rows)

    def stored(self) -> tuple[Array, Array]:
        if not self.double:
            return super().stored()
        m, every = self.cut, np.arange(self.n)
        stored: Array = self.scratch.take("stored", (self.n, padded_slots(self.n) + 16), np.float64)
        out = stored[:, : self.n]
        out[:m, :m], out[m:, m:], out[:m, m:], stored[:, self.n :] = self.first, self.last, self.cross, 0.0
        _native.transpose(self.cross, out[m:, :m])
        return stored, every

    def fill(self, rows: Array, out: Array, *, stop: Stop | None = None) -> None:
        if out.dtype != self.first.dtype:
            super().fill(rows, out, stop=stop)
            return
        m, n = int(np.searchsorted(rows, self.cut)), len(rows)
        if not (np.all(rows[:m] < self.cut) and np.all(rows[m:] >= self.cut)):
            order = np.argsort(rows, kind="stable")  # rows of both sets, mixed: gather them sorted, and put them back
            back = np.empty(n, int)
            back[order] = np.arange(n)
            sorted_out = np.empty((n, n), out.dtype)
            self.fill(rows[order], sorted_out, stop=stop)
            out[:n, :n] = sorted_out[np.ix_(back, back)]
            return
        a, b = rows[:m], rows[m:] - self.cut
        _native.gather(self.first, a, a, out[:m, :m])
        _native.gather(self.last, b, b, out[m:n, m:n])
        _native.gather(self.cross, a, b, out[:m, m:n])
        _native.transpose(out[:m, m:n], out[m:n, :m])


class ClassBlocks:
    """Kernel values that the binary problems of one-vs-one share: K of each class with itself, computed once.

    Small classes are held in float64, so that their problems need no correction; large ones in float32.

    codes: class of each row, -1 for rows that take no part
    """

    def __init__(self, gram: TiledGram, codes: Array, n_classes: int) -> None:
        self.gram = gram
        self.members = [np.flatnonzero(codes == k) for k in range(n_classes)]
        sizes = sorted(len(rows) for rows in self.members)
        self.double = sum(sizes[-2:]) <= DOUBLE_MAX_ROWS or gram.single_is_exact
        self._sides: dict[int, tuple[Side, Panels]] = {}
        self.own = [self._block(k, k, None) for k in range(n_classes)]
        gram.evaluations += sum(n * n for n in sizes)

    @staticmethod
    def bytes_needed(codes: Array, threads: int) -> float:
        """For the shared blocks, and for the blocks of the pairs under way."""
        sizes = np.sort(np.bincount(codes).astype(np.float64))[::-1]
        return 4.0 * (np.sum(sizes**2) + threads * sizes[0] * sizes[min(1, len(sizes) - 1)])

    def _double(self, k: int) -> tuple[Side, Panels]:
        """A small class as rows and as columns of float64 tiles: kept, for it meets many others."""
        if k not in self._sides:
            gram, rows = self.gram, self.members[k]
            side = Side.of(gram.X, gram.form, gram.shift, np.float64, rows)
            self._sides[k] = side, side.panels(np.arange(len(rows)), gram.form)
        return self._sides[k]

    def _block(self, i: int, j: int, scratch: Scratch | None) -> Array:
        """K of class i with class j, in new memory or in a thread's scratch memory."""
        if self.double:
            left, right = self._double(i)[0], self._double(j)[1]
        else:
            gram = self.gram
            left = gram.side.part(self.members[i], gram.scratch)
            right = gram.side.panels(self.members[j], gram.form, gram.scratch)
        shape, dtype = (left.n, right.n), np.float64 if self.double else np.float32
        out: Array = np.empty(shape, dtype) if scratch is None else scratch.take("cross", shape, dtype)
        store_tiles(left, right, self.gram.form, out, self.gram.threads)
        return out

    def pair(self, i: int, j: int) -> HeldGram:
        """The operator of two classes' rows, one class after the other. Its cross block lives in the thread's scratch
        memory: one pair a thread at a time."""
        a, b = self.members[i], self.members[j]
        plain = self.gram.subset(np.concatenate((a, b)))
        gram = HeldGram(plain, self.own[i], self.own[j], self._block(i, j, self.gram.scratch))
        gram.evaluations += len(a) * len(b)
        return gram
