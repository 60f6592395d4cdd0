"""Which variables an active-set round should work on: compiled passes over all variables (``native/working_set``).

A group's sides are the smallest gradient among variables that may rise and the largest among those that may fall; their
difference is its violation, and its middle the best estimate of its offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class BoxVariables:
    """The variables of a dual problem: gradients, values, bounds, and the group of each."""

    g: Array
    a: Array
    lower: Array
    upper: Array
    group: Array
    n_groups: int
    # whether no equality ties the variables: the offset is known to be zero, so that zero is on both sides
    zero_offset: bool

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.g, self.a, self.lower, self.upper, self.group

    def sides(self, ids: Array) -> tuple[float, Array]:
        """Over the variables ids: the largest violation of a group, and the middle of each group's sides."""
        middle = np.empty(self.n_groups)
        return _native.group_sides(*self._arrays, ids, self.zero_offset, middle), middle

    def excess(self, ids: Array, middle: Array) -> Array:
        """How far each variable is on the wrong side of its group's middle; negative means safely right."""
        out = np.empty(len(ids))
        _native.side_excess(*self._arrays, ids, middle, out)
        return out

    def choose(self, ids: Array, previous: Array, size: int, middle: Array, start: int) -> Array:
        """The next working set: free variables of the last one, then of each side its worst violators, and others
        from all violators, beginning at ``start``."""
        W = np.empty(size + 2 * self.n_groups, np.int64)
        return W[: _native.choose_working_set(*self._arrays, ids, previous, size, middle, start, W)]
