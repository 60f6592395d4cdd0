"""Hinges over rows that are held: what can be spared.

Along a direction, with slack s_i = 1 - y_i f_i, the loss and its slope are sums without a branch, which vector
instructions form: of s^2 and s with s = max(0, s_i) for the squared hinge, and of a s_i - d/2 (a - a0)^2 and a with
a = clip(a0 + s_i / d, 0, 1) for the rounded one (:mod:`maxmargin.large_scale.losses`).

Second derivatives of the squared hinge are 2 c_i on the set S of rows with s_i > 0, and 0 elsewhere. From step to step
ever fewer rows enter or leave S, so their matrix is kept up to date,

    H  +=  sum over those that entered of 2 c_i (x_i, 1)(x_i, 1)'  -  the same over those that left,

and formed anew only where many have changed.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from maxmargin.large_scale.losses import NO_CENTRE, Loss
from maxmargin.large_scale.rows.local import LocalRounds
from maxmargin.runtime.validation import Array

MANY = 0.3  # changed rows, in parts of S, from which on the matrix is formed anew
KEPT = 2**26  # bytes of matrices that are kept


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _along_squared(F: Array, G: Array, y: Array, c: Array, steps: Array, values: Array, slopes: Array) -> None:
    """values[q, k] += sum c max(0, s)^2 and slopes += its derivative, at F + t G for t = steps[q, k]."""
    for k in range(F.shape[1]):
        for q in range(steps.shape[0]):
            t, value, slope = steps[q, k], 0.0, 0.0
            for i in range(F.shape[0]):
                u = y[i, k] * G[i, k]
                s = max(0.0, 1.0 - y[i, k] * F[i, k] - t * u)
                value += c[i, k] * s * s
                slope += c[i, k] * s * u
            values[q, k] += value
            slopes[q, k] -= 2.0 * slope


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _along_rounded(
    F: Array, G: Array, y: Array, c: Array, centre: Array, width: float, steps: Array, values: Array, slopes: Array
) -> None:
    """The same of the hinge that is rounded by a parabola of this width."""
    for k in range(F.shape[1]):
        for q in range(steps.shape[0]):
            t, value, slope = steps[q, k], 0.0, 0.0
            for i in range(F.shape[0]):
                u = y[i, k] * G[i, k]
                s = 1.0 - y[i, k] * F[i, k] - t * u
                a = min(1.0, max(0.0, centre[i, k] + s / width))
                away = a - centre[i, k]
                value += c[i, k] * (a * s - 0.5 * width * away * away)
                slope += c[i, k] * a * u
            values[q, k] += value
            slopes[q, k] -= slope


@numba.njit(cache=True, nogil=True)
def _changes(F: Array, y: Array, c: Array, output: int, inside: Array, change: Array) -> tuple[int, int]:
    """change = the second derivatives of an output's rows less those of the rows ``inside``, which are brought up to
    date; how many have changed, and how many are inside."""
    changed, count = 0, 0
    for i in range(F.shape[0]):
        now = y[i, output] * F[i, output] < 1.0 and c[i, output] > 0.0
        change[i] = 0.0
        if now != inside[i]:
            change[i] = 2.0 * c[i, output] if now else -2.0 * c[i, output]
            inside[i] = now
            changed += 1
        count += now
    return changed, count


class HingeRounds(LocalRounds):
    """:class:`~maxmargin.large_scale.rows.local.LocalRounds` for hinges and the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale.losses import NO_CENTRE, Loss
    >>> from maxmargin.large_scale.rows.tiles import MatrixRows
    >>> from maxmargin.large_scale.rows.targets import Labels
    >>> from maxmargin.large_scale.dask.hinges import HingeRounds
    >>> targets = Labels.one_vs_rest(np.array([0, 1, 1]), np.ones(3), 1.0, np.ones(2))
    >>> rounds = HingeRounds(MatrixRows(np.array([[-1.0], [0.5], [3.0]])), targets)
    >>> sums = rounds.evaluate(np.array([[1.0]]), np.zeros(1), Loss.named("squared_hinge"))
    >>> rounds.curvature([0])[0]  # of the second row, the only one inside its margin
    array([[0.5, 1. ],
           [1. , 2. ]])
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.inside = np.zeros((self.outputs, self.n), bool)
        self.kept: dict[int, Array] = {}
        self._cached: dict[int, tuple[Array, Array]] = {}

    def _targets(self, t: int) -> tuple[Array, Array, Array]:
        """Those of one output are small beside the rows themselves, and held."""
        if self.outputs > 1:
            return super()._targets(t)
        if t not in self._cached:
            self._cached[t] = super()._targets(t)[:2]
        return *self._cached[t], NO_CENTRE if self.centre is None else self.centre[self._place(t)]

    def _matrix(self, output: int, T: Array | None = None) -> Array:
        if T is not None or not self.loss.squared or 8 * self.outputs * (self.columns + 1) ** 2 > KEPT:
            return super()._matrix(output, T)
        change, inside = np.empty(self.n), self.inside[output]
        changed, count = 0, 0
        for t in range(len(self.tiles)):
            y, c, _ = self._targets(t)
            at = self._place(t)
            more = _changes(self.F[at], y, c, output, inside[at], change[at])
            changed, count = changed + more[0], count + more[1]
        if output not in self.kept or changed > MANY * count:
            self.kept[output] = super()._matrix(output)
        else:
            self.kept[output] = self.kept[output] + self._difference(change)
        return self.kept[output]

    def _difference(self, change: Array) -> Array:
        """sum_i change_i (x_i, 1)(x_i, 1)'."""
        m = self.columns

        def work(t: int, square: Array, border: Array) -> None:
            d = change[self._place(t)]
            keep = np.flatnonzero(d)
            if len(keep) == 0:
                return
            d = d[keep]
            X = self.rows.tile(self.tiles[t], keep, self.scratch)
            scaled = self._scaled(X, np.sqrt(np.abs(d))[:, None])
            inside, outside = scaled[d > 0], scaled[d < 0]
            square += inside.T @ inside
            square -= outside.T @ outside
            border[:m] += X.T @ d
            border[m] += d.sum()

        return self._bordered(work, m)

    def along(self, steps: Array, loss: Loss) -> tuple[Array, Array]:
        assert self.G is not None
        G, steps = self.G, np.ascontiguousarray(steps, dtype=np.float64)

        def work(t: int, values: Array, slopes: Array) -> None:
            y, c, centre = self._targets(t)
            at = self._place(t)
            if loss.squared:
                _along_squared(self.F[at], G[at], y, c, steps, values, slopes)
                return
            centre = np.full(y.shape, 0.5) if len(centre) == 0 else centre
            _along_rounded(self.F[at], G[at], y, c, centre, loss.width, steps, values, slopes)

        values, slopes = self._summed(work, steps.shape, steps.shape, kernel=False)
        return values, slopes

    def part(self, stride: int) -> HingeRounds:
        return HingeRounds(self.rows, self.targets, threads=self.threads, poll=self.poll, stride=self.stride * stride)
