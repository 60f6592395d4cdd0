"""One row for several machines at a time: products with their weights, and steps along it.

A row is (x, at): its entries and their columns, of which a dense row has none. Weights are flat, U[j m + c] that of
column j in machine c of m. Columns are made unsigned, for else a check is compiled that counts negative ones from the
end. A step along x changes u, and z besides, which :mod:`maxmargin.svm.streaming.learner` has for its averages.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.runtime.validation import Array


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def row_size(x: Array) -> tuple[float, float]:
    """|x|^2 and the number of entries that are not zero: sums in any order, and so by vector instructions."""
    square, entries = 0.0, 0.0
    for p in range(len(x)):
        square += np.float64(x[p]) * np.float64(x[p])
        entries += 1.0 if x[p] != 0.0 else 0.0
    return square, entries


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def row_dot(sparse: bool, x: Array, at: Array, u: Array) -> float:
    """x'u."""
    value = 0.0
    if sparse:
        for p in range(len(x)):
            value += np.float64(x[p]) * u[np.uint64(at[p])]
    else:
        for j in range(len(x)):
            value += np.float64(x[j]) * u[j]
    return value


@numba.njit(cache=True, nogil=True)
def row_values(sparse: bool, x: Array, at: Array, m: int, U: Array, values: Array) -> None:
    """x'u of every machine into ``values``."""
    values[:] = 0.0
    for p in range(len(x)):
        entry = np.float64(x[p])
        if entry == 0.0:
            continue
        j = np.uint64(m) * (np.uint64(at[p]) if sparse else np.uint64(p))
        for c in range(len(values)):
            values[c] += entry * U[j + np.uint64(c)]


@numba.njit(cache=True, nogil=True)
def row_add(sparse: bool, x: Array, at: Array, step: float, later: float, u: Array, z: Array) -> None:
    """u += step x and z += later x."""
    if sparse:
        for p in range(len(x)):
            j = np.uint64(at[p])
            u[j] += step * x[p]
            z[j] += later * x[p]
    else:
        for p in range(len(x)):
            u[p] += step * x[p]
            z[p] += later * x[p]


@numba.njit(cache=True, nogil=True)
def row_add_all(
    sparse: bool, x: Array, at: Array, m: int, which: Array, move: Array, late: float, U: Array, Z: Array
) -> None:
    """The same for the machines ``which``, with a step each."""
    for p in range(len(x)):
        entry = np.float64(x[p])
        if entry == 0.0:
            continue
        j = np.uint64(m) * (np.uint64(at[p]) if sparse else np.uint64(p))
        for h in range(len(which)):
            step, place = move[h] * entry, j + which[h]
            U[place] += step
            Z[place] += late * step
