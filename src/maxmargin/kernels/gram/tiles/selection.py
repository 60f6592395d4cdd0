"""The two passes of a pair step over a working set, in vector code.

    move     g += d (K_i - K_j);  and the place of the smallest g + rise
    partner  the place of the largest (g + fall - g_i)^2 / (K_ii + K_uu - 2 K_iu) among those above g_i, and the largest
             g + fall

``rise`` is 0 where a variable may rise and +BIG where not, ``fall`` is 0 where it may fall and -BIG where not: masks
that cost one addition. Ranges are multiples of two vectors long; padding has both masks set.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from maxmargin.kernels.gram.tiles.vectors import BITS, I32, I64, Vector, int64, pointer, vector_of

UNIT = 2 * BITS // 32  # float32 variables in the two vectors that a pass takes at a time (float64 has half of it)
BIG = np.float32(1e30)


class _Best:
    """The best value so far and its place, lane by lane, in two independent chains."""

    def __init__(self, V: Vector, builder: Any, worst: float, better: str, start: Any) -> None:
        self.V, self.better = V, better
        self.values = [cgutils.alloca_once(builder, V.type) for _ in range(2)]
        self.places = [cgutils.alloca_once(builder, V.integers) for _ in range(2)]
        self.here = cgutils.alloca_once(builder, V.integers)
        first = builder.trunc(start, I32) if V.integer == I32 else start
        empty = ir.Constant(V.integers, ir.Undefined)
        spread = builder.shuffle_vector(
            builder.insert_element(empty, first, ir.Constant(I32, 0)),
            empty,
            ir.Constant(ir.VectorType(I32, V.lanes), [0] * V.lanes),
        )
        places = ir.Constant(V.integers, list(range(V.lanes)))
        builder.store(builder.add(places, spread), self.here)
        for chain in range(2):
            builder.store(V.constant(worst), self.values[chain])
            builder.store(builder.load(self.here), self.places[chain])

    def see(self, builder: Any, value: Any, chain: int) -> None:
        V = self.V
        here, old = builder.load(self.here), builder.load(self.values[chain])
        wins = builder.fcmp_ordered(self.better, value, old)
        builder.store(builder.select(wins, value, old), self.values[chain])
        builder.store(builder.select(wins, here, builder.load(self.places[chain])), self.places[chain])
        builder.store(builder.add(here, V.integer_constant(V.lanes)), self.here)

    def place(self, builder: Any) -> Any:
        """The first place of the best value."""
        V = self.V
        a, b = (builder.load(value) for value in self.values)
        at_a, at_b = (builder.load(place) for place in self.places)
        wins = builder.fcmp_ordered(self.better, b, a)
        value, at = builder.select(wins, b, a), builder.select(wins, at_b, at_a)
        best = V.splat(builder, V.reduce(builder, "fmin" if self.better == "<" else "fmax", value))
        at = builder.select(builder.fcmp_ordered("==", value, best), at, V.integer_constant(2**31 - 1))
        smallest = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(V.integer, [V.integers]), f"llvm.vector.reduce.smin.{V.integer_name}"
        )
        found = builder.call(smallest, [at])
        return builder.sext(found, I64) if V.integer == I32 else found


def _pairs_of_vectors(V: Vector, builder: Any, start: Any, stop: Any, body: Any) -> None:
    with cgutils.for_range_slice(builder, start, stop, int64(2 * V.lanes)) as (t, _):
        for chain in range(2):
            body(builder.add(t, int64(chain * V.lanes)), chain)


@intrinsic
def _move(typing, g, K, i_at, j_at, d, rise, start, stop):
    def body(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        g, K, rise = (pointer(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 5))
        _, _, i_at, j_at, d, _, start, stop = arguments
        V = vector_of(signature.args[0])
        step = V.splat(builder, d)
        lowest = _Best(V, builder, 3e38, "<", start)

        def pass_(t: Any, chain: int) -> None:
            row_i = V.load(builder, K, builder.add(i_at, t))
            row_j = V.load(builder, K, builder.add(j_at, t))
            value = V.fma(builder, step, builder.fsub(row_i, row_j), V.load(builder, g, t))
            V.store(builder, value, g, t)
            lowest.see(builder, builder.fadd(value, V.load(builder, rise, t)), chain)

        _pairs_of_vectors(V, builder, start, stop, pass_)
        return lowest.place(builder)

    i = types.int64
    return i(g, K, i, i, g.dtype, rise, i, i), body


@intrinsic
def _partner(typing, g, fall, K, i_at, diagonal, g_i, k_ii, start, stop, out):
    def body(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = (pointer(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 2, 4, 9))
        g, fall, K, diagonal, out = at
        _, _, _, i_at, _, g_i, k_ii, start, stop, _ = arguments
        V = vector_of(signature.args[0])
        low, own = V.splat(builder, g_i), V.splat(builder, k_ii)
        best = _Best(V, builder, -1.0, ">", start)
        highest = [cgutils.alloca_once(builder, V.type) for _ in range(2)]
        for slot in highest:
            builder.store(V.constant(-3e38), slot)

        def pass_(t: Any, chain: int) -> None:
            value = builder.fadd(V.load(builder, g, t), V.load(builder, fall, t))
            builder.store(V.maximum(builder, value, builder.load(highest[chain])), highest[chain])
            above = V.maximum(builder, builder.fsub(value, low), V.constant(0.0))
            size = builder.fadd(own, V.load(builder, diagonal, t))
            curvature = V.fma(builder, V.constant(-2.0), V.load(builder, K, builder.add(i_at, t)), size)
            curvature = V.maximum(builder, curvature, V.fma(builder, size, V.constant(V.coarse), V.constant(1e-30)))
            best.see(builder, builder.fdiv(builder.fmul(above, above), curvature), chain)

        _pairs_of_vectors(V, builder, start, stop, pass_)
        top = V.maximum(builder, *(builder.load(slot) for slot in highest))
        builder.store(V.reduce(builder, "fmax", top), out)
        return best.place(builder)

    i = types.int64
    return i(g, fall, K, i, diagonal, g.dtype, g.dtype, i, i, out), body


@numba.njit(cache=True, nogil=True)
def solve_pairs(K, g, a, lower, upper, rise, fall, diagonal, starts, stops, goal, max_steps):
    """Second-order SMO on the matrix K of a working set whose groups are the ranges starts..stops.

    K, g, rise, fall and diagonal are float32 or float64, and padded; a, lower and upper are float64. Below ``coarse``,
    relative to its two diagonal entries, a curvature is rounding: a larger one only shortens the step. Returns the
    steps taken."""
    number = g.dtype.type
    coarse = 1e-6 if g.itemsize == 4 else 1e-15
    flat, wide = K.reshape(-1), K.shape[1]
    n_groups = len(starts)
    out = np.empty(1, g.dtype)
    i, j, d = 0, 0, number(0)
    for step in range(max_steps + 1):
        best_i, best_j, worst, low = 0, 0, number(-1), number(0)
        for k in range(n_groups):
            u = _move(g, flat, i * wide, j * wide, d, rise, starts[k], stops[k])
            lowest = g[u] + rise[u]
            v = _partner(g, fall, flat, u * wide, diagonal, lowest, diagonal[u], starts[k], stops[k], out)
            if out[0] - lowest > worst:
                best_i, best_j, worst, low = u, v, out[0] - lowest, lowest
        if worst <= goal or step == max_steps:
            return step
        i, j = best_i, best_j
        gain = np.float64(g[j]) + fall[j] - low
        if not gain > 0:
            return step
        size = np.float64(diagonal[i]) + diagonal[j]
        move = gain / max(size - 2.0 * K[i, j], coarse * abs(size) + 1e-30)
        room_up, room_down = upper[i] - a[i], a[j] - lower[j]
        move = min(move, min(room_up, room_down))
        if not move > 0:
            return step
        # Within rounding of a bound means at it: a variable that only seems free would decide the intercept.
        a[i] = upper[i] if room_up - move <= 1e-14 * (abs(a[i]) + move) else a[i] + move
        a[j] = lower[j] if room_down - move <= 1e-14 * (abs(a[j]) + move) else a[j] - move
        rise[i] = BIG if a[i] >= upper[i] else number(0)
        fall[i] = number(0)
        fall[j] = -BIG if a[j] <= lower[j] else number(0)
        rise[j] = number(0)
        d = number(move)
    return max_steps
