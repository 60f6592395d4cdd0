"""The layout of a working set for pair steps.

The variables of W stand in slots, the groups one after the other, each padded to whole vectors:

    group 0: v v v v v v . .   group 1: v v v v . . . .

The compiled steps then see a group as a run of full vectors. They work on K of the slots' rows, with the signs of their
variables, and on gradients g less the middle of their group: only differences matter, and float32 keeps small ones
better. A slot may rise (``rise`` is 0) or not (``rise`` is PAIR_BARRIER), and fall alike; padding can do neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._native import PAIR_BARRIER
from maxmargin.kernels.gram.tiled import padded_slots
from maxmargin.runtime.validation import Array


@dataclass(frozen=True)
class Slots:
    """Where the variables of a working set stand."""

    variable: Array  # int: of each slot; padding repeats one, so that it has kernel values
    real: Array  # int: the slots that are no padding
    # begin, end: of each group
    begin: Array
    end: Array
    zero_slot: int | None  # the slot that stands for a known offset

    @classmethod
    def of(cls, W: Array, group: Array, n_groups: int, zero_slot: bool) -> Slots:
        """The slots of the variables W."""
        parts, starts, at = [], [], 0
        for k in range(n_groups):
            mine = W[group[W] == k] if n_groups > 1 else W
            length = padded_slots(len(mine) + zero_slot)
            parts.append(np.concatenate((mine, np.full(length - len(mine), -1))) if length > len(mine) else mine)
            starts.append(at)
            at += length
        variable = np.concatenate(parts) if n_groups > 1 else parts[0]
        real = np.flatnonzero(variable >= 0)
        begin = np.array(starts)
        padded = np.where(variable >= 0, variable, variable[real[-1]])
        return cls(padded, real, begin, np.append(begin[1:], at), len(W) if zero_slot else None)

    def box(self, a: Array, lower: Array, upper: Array, dtype: Any) -> tuple[Array, Array, Array, Array, Array]:
        """The values and bounds of all variables at their slots; and which slots may rise and fall, as sums."""
        v, real = self.variable[self.real], self.real
        x, low, high = np.zeros((3, len(self.variable)))
        rise: Array = np.full(len(x), PAIR_BARRIER, dtype)
        fall = -rise
        x[real], low[real], high[real] = a[v], lower[v], upper[v]
        rise[real[x[real] < high[real]]] = 0
        fall[real[x[real] > low[real]]] = 0
        return x, low, high, rise, fall
