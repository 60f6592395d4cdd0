"""Which variables an active-set round should work on: passes over all variables, compiled.

A group's sides are the smallest gradient among variables that may rise and the largest among those that may fall; their
difference is its violation, and its middle the best guess of its offset.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.runtime.validation import Array

KEEP = 0.85  # at most this part of W are free variables of the last round
WORST = 0.02  # this part of each side are its worst violators; the rest are drawn from all of them


@numba.njit(cache=True, nogil=True)
def sides(g: Array, a: Array, lower: Array, upper: Array, group: Array, ids: Array, lone: bool, middle: Array) -> float:
    """Over the variables ids: the largest violation of a group, and the middle of each group's sides: the smallest g
    that may rise and the largest that may fall. A lone group's offset is zero, so that zero is on both sides."""
    rise = np.full(len(middle), 0.0 if lone else np.inf)
    fall = np.full(len(middle), 0.0 if lone else -np.inf)
    for v in ids:
        k = group[v]
        if a[v] < upper[v]:
            rise[k] = min(rise[k], g[v])
        if a[v] > lower[v]:
            fall[k] = max(fall[k], g[v])
    violation = 0.0
    for k in range(len(middle)):
        violation = max(violation, fall[k] - rise[k])
        if np.isfinite(rise[k]) and np.isfinite(fall[k]):
            middle[k] = 0.5 * (rise[k] + fall[k])
        else:
            middle[k] = rise[k] if np.isfinite(rise[k]) else (fall[k] if np.isfinite(fall[k]) else 0.0)
    return violation


@numba.njit(cache=True, nogil=True)
def excess(g: Array, a: Array, lower: Array, upper: Array, group: Array, ids: Array, middle: Array) -> Array:
    """How far each variable is on the wrong side of its group's middle; negative means safely right."""
    out = np.empty(len(ids))
    for t in range(len(ids)):
        v = ids[t]
        x = -np.inf
        if a[v] < upper[v]:
            x = middle[group[v]] - g[v]
        if a[v] > lower[v]:
            x = max(x, g[v] - middle[group[v]])
        out[t] = x
    return out


@numba.njit(cache=True, nogil=True)
def _smallest(values: Array, k: int) -> float:
    """The k-th smallest value, counted from 0, by Hoare's selection (1961); ``values`` are reordered. NumPy's partition
    does the same, but takes Numba seconds to compile."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@numba.njit(cache=True, nogil=True)
def choose(
    g: Array,
    a: Array,
    lower: Array,
    upper: Array,
    group: Array,
    ids: Array,
    previous: Array,
    taken: Array,
    size: int,
    middle: Array,
    start: int,
) -> Array:
    """The next working set: free variables of the last one, then each side's worst and random violators.

    Equal values at the threshold of the worst come after smaller ones: they must not crowd out the worst pair."""
    n_groups = len(middle)
    W = np.empty(size + 2 * n_groups, np.int64)
    count = 0
    for v in previous:
        if count < KEEP * size and lower[v] < a[v] < upper[v]:
            W[count] = v
            taken[v] = True
            count += 1
    key = np.empty(len(ids))
    at = np.empty(len(ids), np.int64)
    sides = 2 * n_groups
    for k in range(n_groups):
        for side in range(2):
            quota = max(1, (size - count) // sides)
            sides -= 1
            m = violators = 0
            limit = middle[k] if side == 0 else -middle[k]
            for v in ids:
                if taken[v] or group[v] != k:
                    continue
                if side == 0 and a[v] < upper[v]:
                    key[m] = g[v]
                elif side == 1 and a[v] > lower[v]:
                    key[m] = -g[v]
                else:
                    continue
                at[m] = v
                violators += key[m] < limit
                m += 1
            crowded = violators > quota
            worst = min(quota, max(16, int(WORST * quota))) if crowded else quota
            threshold = _smallest(key[:m].copy(), worst - 1) if m > worst else np.inf
            got = 0
            for equal in range(2):
                for t in range(m):
                    if got < worst and (key[t] == threshold if equal else key[t] < threshold):
                        W[count] = at[t]
                        taken[at[t]] = True
                        count += 1
                        got += 1
            if crowded:
                for s in range(m):
                    t = (s + start) % m
                    if got < quota and key[t] < limit and not taken[at[t]]:
                        W[count] = at[t]
                        taken[at[t]] = True
                        count += 1
                        got += 1
    for t in range(count):
        taken[W[t]] = False
    return W[:count]
