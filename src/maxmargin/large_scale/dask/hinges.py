"""Hinges over rows that are held: second derivatives are kept up to date.

Second derivatives of the squared hinge are 2 c_i on the set S of rows with s_i > 0, and 0 elsewhere. From step to step
ever fewer rows enter or leave S, so their matrix is kept up to date,

    H  +=  sum over those that entered of 2 c_i (x_i, 1)(x_i, 1)'  -  the same over those that left,

and formed anew only where many have changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.runtime.validation import Array

ANEW_SHARE = 0.3  # changed rows, as a share of S, from which the matrix is formed anew
KEPT_MAX_BYTES = 2**26  # of matrices


class HingeOracle(LocalOracle):
    """:class:`~maxmargin.large_scale.rows.local.LocalOracle` for hinges and the columns of X."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.inside = np.zeros((self.outputs, self.n), bool)
        self.kept: dict[int, Array] = {}
        self._cached: dict[int, tuple[Array, Array]] = {}

    def _targets(self, t: int) -> tuple[Array, Array, Array | None]:
        """Those of one output are small beside the rows themselves, and held."""
        if self.outputs > 1:
            return super()._targets(t)
        if t not in self._cached:
            self._cached[t] = super()._targets(t)[:2]
        return *self._cached[t], None if self.centre is None else self.centre[self._place(t)]

    def _matrix(self, output: int, T: Array | None = None) -> Array:
        if T is not None or not self.loss.squared or 8 * self.outputs * (self.columns + 1) ** 2 > KEPT_MAX_BYTES:
            return super()._matrix(output, T)
        change, inside = np.empty(self.n), self.inside[output]
        changed, count = 0, 0
        for t in range(len(self.tiles)):
            y, c, _ = self._targets(t)
            at = self._place(t)
            more = _native.hinge_changes(self.F[at], y, c, output, inside[at], change[at])
            changed, count = changed + more[0], count + more[1]
        if output not in self.kept or changed > ANEW_SHARE * count:
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

    def part(self, stride: int) -> HingeOracle:
        return HingeOracle(self.rows, self.targets, threads=self.threads, poll=self.poll, stride=self.stride * stride)
