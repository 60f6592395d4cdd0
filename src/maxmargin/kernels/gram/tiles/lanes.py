"""Sparse rows against many weight vectors at once: one cache line of weights a feature, one vector lane a problem.

    lane_dot    out[l]     =  sum_p data[p] W[indices[p], l]
    lane_add    W[j, l]   +=  data[p] change[l],   j = indices[p],   for all p

W has 16 columns of float32 or 8 of float64. An entry of the row costs one line of memory for all lanes, where a problem
at a time would cost a line for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from maxmargin.kernels.gram.tiles.vectors import I32, I64, int64, pointer

LINE = 64  # bytes


def lane_count(dtype: Any) -> int:
    """Problems side by side."""
    return int(LINE // np.dtype(dtype).itemsize)


class _Line:
    """A cache line as one vector; LLVM splits it where registers are shorter."""

    def __init__(self, kind):
        bits = kind.dtype.bitwidth
        self.lanes, self.bytes = LINE * 8 // bits, bits // 8
        self.scalar = ir.FloatType() if bits == 32 else ir.DoubleType()
        self.type = ir.VectorType(self.scalar, self.lanes)
        self.name = f"v{self.lanes}f{bits}"

    def place(self, builder, base, at):
        return builder.bitcast(builder.gep(base, [at]), self.type.as_pointer())

    def splat(self, builder, value):
        empty = ir.Constant(self.type, ir.Undefined)
        first = builder.insert_element(empty, value, ir.Constant(I32, 0))
        return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def fma(self, builder, a, b, c):
        signature = ir.FunctionType(self.type, [self.type] * 3)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, signature, f"llvm.fma.{self.name}"), [a, b, c]
        )

    def entry(self, builder, kind, data, at):
        """data[at] in every lane, brought to the precision of the weights."""
        value = builder.load(builder.gep(data, [at]))
        if kind.dtype.bitwidth > self.bytes * 8:
            value = builder.fptrunc(value, self.scalar)
        elif kind.dtype.bitwidth < self.bytes * 8:
            value = builder.fpext(value, self.scalar)
        return self.splat(builder, value)


def _row_of(builder, indices, at, lanes):
    """Where in W the line of indices[at] begins."""
    j = builder.load(builder.gep(indices, [at]))
    if j.type.width < 64:
        j = builder.sext(j, I64)
    return builder.mul(j, int64(lanes))


@intrinsic
def lane_dot(typing, indices, data, start, stop, W, out):
    """W is flat; four running sums hide the latency of memory."""

    def body(context, builder, signature, arguments):
        line = _Line(W)
        at_indices, at_data, at_W, at_out = (
            pointer(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 4, 5)
        )
        sums = [cgutils.alloca_once(builder, line.type) for _ in range(4)]
        for part in sums:
            builder.store(ir.Constant(line.type, [0.0] * line.lanes), part)

        def add(p, part):
            weights = line.place(builder, at_W, _row_of(builder, at_indices, p, line.lanes))
            value = line.entry(builder, data, at_data, p)
            total = line.fma(builder, value, builder.load(weights, align=line.bytes), builder.load(part))
            builder.store(total, part)

        begin, end = arguments[2], arguments[3]
        whole = builder.add(begin, builder.and_(builder.sub(end, begin), int64(-4)))
        with cgutils.for_range_slice(builder, begin, whole, int64(4)) as (p, _):
            for k in range(4):
                add(builder.add(p, int64(k)), sums[k])
        with cgutils.for_range_slice(builder, whole, end, int64(1)) as (p, _):
            add(p, sums[0])
        left, right = (builder.fadd(builder.load(sums[k]), builder.load(sums[k + 1])) for k in (0, 2))
        builder.store(builder.fadd(left, right), line.place(builder, at_out, int64(0)), align=line.bytes)
        return context.get_dummy_value()

    return types.void(indices, data, types.int64, types.int64, W, out), body


@intrinsic
def lane_add(typing, indices, data, start, stop, W, change):
    def body(context, builder, signature, arguments):
        line = _Line(W)
        at_indices, at_data, at_W, at_change = (
            pointer(context, builder, signature.args[k], arguments[k]) for k in (0, 1, 4, 5)
        )
        step = builder.load(line.place(builder, at_change, int64(0)), align=line.bytes)
        with cgutils.for_range_slice(builder, arguments[2], arguments[3], int64(1)) as (p, _):
            weights = line.place(builder, at_W, _row_of(builder, at_indices, p, line.lanes))
            value = line.entry(builder, data, at_data, p)
            builder.store(
                line.fma(builder, value, step, builder.load(weights, align=line.bytes)), weights, align=line.bytes
            )
        return context.get_dummy_value()

    return types.void(indices, data, types.int64, types.int64, W, change), body
