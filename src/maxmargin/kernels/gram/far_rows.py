"""Points so far from the common centre that tiles would lose the digits of their distances.

Tiles compute a squared distance as |a|^2 + |b|^2 - 2 a'b, which errs by about eps (|a|^2 + |b|^2), and an absolute one
from coordinates that were scaled, which errs by about eps (|a| + |b|). Let a point be *far* when its length L (the
exponent's part that it contributes; see :class:`~maxmargin.kernels.gram.tiled.Form`) exceeds a limit T. Then

    near, near    the error of the exponent is at most about 4 eps T;
    near, far     either L <= 16 T, and it is at most about 17 eps T; or the points are at least 3 sqrt(T) apart
                  (15 T for absolute distances), and the kernel value is 0 in float64;
    far, far      nothing is known: two far points may be close to each other, or equal.

So pairs of far points are computed from the differences of their coordinates, as the definition says, and points beyond
16 T do not enter the tiles at all. Ordinary data has no far points, outliers are few of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.kernels.pair_sums import ABSOLUTE, SQUARED, pair_sums
from maxmargin.runtime.validation import Array, Points

# T: exponents err by at most 1e-3 in single precision, which double precision corrects where it matters, and by 1e-11
# in double precision.
LENGTH_LIMIT = {np.float32: 2048.0, np.float64: 65536.0}
TILES_END_FACTOR = 16.0  # times T: where tiles end
OUT_OF_REACH = 1e30  # of an exponent: no sum in float32 brings it back
CHUNK_MAX_PAIRS = 1 << 20


@dataclass(frozen=True)
class FarRows:
    """The far points among some rows."""

    index: Array  # their places among the rows, ascending
    points: Points  # array or CSR matrix; the points themselves, as they came

    def part(self, rows: Array) -> FarRows | None:
        """The far points among some of the rows, by their places among those."""
        place = np.searchsorted(self.index, rows)
        place[place == len(self.index)] = 0
        found = np.flatnonzero(self.index[place] == rows)
        return FarRows(found, self.points[place[found]]) if len(found) else None

    def values(self, other: FarRows, root: float, squared: bool, out: Array) -> None:
        """out[i, j] = the kernel's values of these far points with those."""
        step = max(1, CHUNK_MAX_PAIRS // len(other.index))
        for start in range(0, len(self.index), step):
            rows = slice(start, start + step)
            block = self._block(rows, other, root, squared)
            out[np.ix_(self.index[rows], other.index)] = block

    def product(self, other: FarRows, coef: Array, root: float, squared: bool) -> Array:
        """The sum over the other far points of the kernel's values times their coefficients."""
        out = np.empty(len(self.index))
        step = max(1, CHUNK_MAX_PAIRS // len(other.index))
        for start in range(0, len(out), step):
            rows = slice(start, start + step)
            out[rows] = self._block(rows, other, root, squared) @ coef
        return out

    def _block(self, rows: slice, other: FarRows, root: float, squared: bool) -> Array:
        S = pair_sums(self.points[rows], other.points, SQUARED if squared else ABSOLUTE)
        with np.errstate(over="ignore"):
            S *= -0.5 * root * root if squared else -root
        return np.exp2(S, out=S)
