"""The fused tile: kernel values of a few rows with a panel of columns, used or stored without a detour.

A tile holds ROWS x (VECTORS * lanes) sums in registers,

    s_ij = u_i + v_j + sum_k a_ik b_jk        or, for the Laplacian,   s_ij = sum_k |a_ik - b_jk|,

then applies the kernel's function to them and either adds up coefficient * value along the row (*pricing*: no value
ever reaches memory) or stores the values. Points come scaled, so that the function is one of

    EXP2    min(1, 2^s)          RBF: a = sqrt(2 gamma log2(e)) x, u = v = -|a|^2 / 2
    POWER   s^degree             polynomial and linear: a = sqrt(gamma) x, u = coef0
    TANH    1 - 2 / (1 + 2^s)    sigmoid: a = sqrt(2 gamma log2(e)) x, u = 2 log2(e) coef0
    DECAY   2^-s                 Laplacian: a = gamma log2(e) x

Rows are dense (ROWS at a time) or CSR (one at a time). :mod:`maxmargin.kernels.gram.tiles.reference` says the same in
NumPy.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from maxmargin.kernels.gram.tiles.vectors import ROWS, VECTORS, Vector, int64, pointer, vector_of

EXP2, POWER, TANH, DECAY = 0, 1, 2, 3
CHUNK = 32 * ROWS  # rows that stay in the cache while the panels pass by
FLUSH = 8  # panels added up in single precision before the sum goes to float64


def _finish(V: Vector, builder: Any, sums: list[Any], kind: Any, degree: Any) -> None:
    """Replace the sums (in stack slots) by the kernel's values."""

    def apply(function: Any) -> None:
        for slot in sums:
            builder.store(function(builder.load(slot)), slot)

    with builder.if_then(builder.icmp_signed("==", kind, int64(EXP2))):
        apply(lambda s: V.exp2(builder, V.minimum(builder, s, V.constant(0.0))))
    with builder.if_then(builder.icmp_signed("==", kind, int64(DECAY))):
        apply(lambda s: V.exp2(builder, builder.fsub(V.constant(0.0), s)))
    with builder.if_then(builder.icmp_signed("==", kind, int64(TANH))):

        def tanh(s: Any) -> Any:
            one = V.constant(1.0)
            return builder.fsub(one, builder.fdiv(V.constant(2.0), builder.fadd(one, V.exp2(builder, s))))

        apply(tanh)
    with builder.if_then(builder.icmp_signed("==", kind, int64(POWER))):
        for slot in sums:
            base = builder.load(slot)
            with cgutils.for_range(builder, builder.sub(degree, int64(1))):
                builder.store(builder.fmul(builder.load(slot), base), slot)


def _sums(V: Vector, builder: Any, rows: int) -> list[list[Any]]:
    return [[cgutils.alloca_once(builder, V.type) for _ in range(VECTORS)] for _ in range(rows)]


def _begin(V: Vector, builder: Any, sums: list[list[Any]], u: Any, u_at: Any, v: Any, v_at: Any) -> None:
    """s_ij = u_i + v_j."""
    right = [V.load(builder, v, builder.add(v_at, int64(k * V.lanes))) for k in range(VECTORS)]
    for r, row in enumerate(sums):
        left = V.splat(builder, builder.load(builder.gep(u, [builder.add(u_at, int64(r))])))
        for k, slot in enumerate(row):
            builder.store(builder.fadd(left, right[k]), slot)


def _weigh(V: Vector, builder: Any, sums: list[list[Any]], coef: Any, coef_at: Any, out: Any, out_at: Any) -> None:
    """out[r, lanes] += value * coefficient, one vector of partial sums a row."""
    weights = [V.load(builder, coef, builder.add(coef_at, int64(k * V.lanes))) for k in range(VECTORS)]
    for r, row in enumerate(sums):
        at = builder.add(out_at, int64(r * V.lanes))
        total = V.load(builder, out, at)
        for k, slot in enumerate(row):
            total = V.fma(builder, builder.load(slot), weights[k], total)
        V.store(builder, total, out, at)


def _put(V: Vector, builder: Any, sums: list[list[Any]], out: Any, out_at: Any, stride: Any) -> None:
    """out[r, columns] = value."""
    for r, row in enumerate(sums):
        at = builder.add(out_at, builder.mul(stride, int64(r)))
        for k, slot in enumerate(row):
            V.store(builder, builder.load(slot), out, builder.add(at, int64(k * V.lanes)))


def _dense_body(context: Any, builder: Any, signature: Any, arguments: Any, keep: bool) -> Any:
    place = [
        pointer(context, builder, t, x) if isinstance(t, types.Array) else x
        for t, x in zip(signature.args, arguments, strict=True)
    ]
    V = vector_of(signature.args[0])
    A, a_at, a_stride, u, u_at, P, p_at, v, v_at, d, kind, degree, coef, out, out_at, stride = place
    sums = _sums(V, builder, ROWS)
    _begin(V, builder, sums, u, u_at, v, v_at)
    rows = [builder.gep(A, [builder.add(a_at, builder.mul(a_stride, int64(r)))]) for r in range(ROWS)]
    step = int64(V.lanes * VECTORS)

    def accumulate(combine: Any) -> None:
        with cgutils.for_range(builder, d) as loop:
            base = builder.add(p_at, builder.mul(loop.index, step))
            columns = [V.load(builder, P, builder.add(base, int64(k * V.lanes))) for k in range(VECTORS)]
            for r in range(ROWS):
                entry = V.splat(builder, builder.load(builder.gep(rows[r], [loop.index])))
                for k in range(VECTORS):
                    builder.store(combine(entry, columns[k], builder.load(sums[r][k])), sums[r][k])

    with builder.if_else(builder.icmp_signed("==", kind, int64(DECAY))) as (manhattan, inner):
        with manhattan:
            accumulate(lambda a, b, s: builder.fadd(s, V.absolute(builder, builder.fsub(a, b))))
        with inner:
            accumulate(lambda a, b, s: V.fma(builder, a, b, s))
    _finish(V, builder, [slot for row in sums for slot in row], kind, degree)
    if keep:
        _put(V, builder, sums, out, out_at, stride)
    else:
        _weigh(V, builder, sums, coef, v_at, out, out_at)
    return context.get_dummy_value()


def _csr_body(context: Any, builder: Any, signature: Any, arguments: Any, keep: bool) -> Any:
    place = [
        pointer(context, builder, t, x) if isinstance(t, types.Array) else x
        for t, x in zip(signature.args, arguments, strict=True)
    ]
    indices, data, first, last, u, u_at, P, p_at, v, v_at, kind, degree, coef, out, out_at = place
    V = vector_of(signature.args[1])
    sums = _sums(V, builder, 1)
    _begin(V, builder, sums, u, u_at, v, v_at)
    step = int64(V.lanes * VECTORS)
    with cgutils.for_range_slice(builder, first, last, int64(1)) as (entry_at, _):
        column = builder.load(builder.gep(indices, [entry_at]))
        base = builder.add(p_at, builder.mul(builder.sext(column, step.type), step))
        entry = V.splat(builder, builder.load(builder.gep(data, [entry_at])))
        for k, slot in enumerate(sums[0]):
            panel = V.load(builder, P, builder.add(base, int64(k * V.lanes)))
            builder.store(V.fma(builder, entry, panel, builder.load(slot)), slot)
    _finish(V, builder, sums[0], kind, degree)
    if keep:
        _put(V, builder, sums, out, out_at, int64(0))
    else:
        _weigh(V, builder, sums, coef, v_at, out, out_at)
    return context.get_dummy_value()


@intrinsic
def _dense_weigh(typing, A, a_at, a_stride, u, u_at, P, p_at, v, v_at, d, kind, degree, coef, out, out_at, stride):
    i = types.int64
    signature = types.void(A, i, i, u, i, P, i, v, i, i, i, i, coef, out, i, i)
    return signature, lambda c, b, s, a: _dense_body(c, b, s, a, keep=False)


@intrinsic
def _dense_store(typing, A, a_at, a_stride, u, u_at, P, p_at, v, v_at, d, kind, degree, coef, out, out_at, stride):
    i = types.int64
    signature = types.void(A, i, i, u, i, P, i, v, i, i, i, i, coef, out, i, i)
    return signature, lambda c, b, s, a: _dense_body(c, b, s, a, keep=True)


@intrinsic
def _csr_weigh(typing, indices, data, first, last, u, u_at, P, p_at, v, v_at, kind, degree, coef, out, out_at):
    i = types.int64
    signature = types.void(indices, data, i, i, u, i, P, i, v, i, i, i, coef, out, i)
    return signature, lambda c, b, s, a: _csr_body(c, b, s, a, keep=False)


@intrinsic
def _csr_store(typing, indices, data, first, last, u, u_at, P, p_at, v, v_at, kind, degree, coef, out, out_at):
    i = types.int64
    signature = types.void(indices, data, i, i, u, i, P, i, v, i, i, i, coef, out, i)
    return signature, lambda c, b, s, a: _csr_body(c, b, s, a, keep=True)


@numba.njit(cache=True, nogil=True)
def _flush(partial, lanes, start, stop, out):
    """out[i] += sum of row i's partial sums, which become zero."""
    for i in range(start, stop):
        total = 0.0
        for t in range((i - start) * lanes, (i - start + 1) * lanes):
            total += partial[t]
            partial[t] = 0
        out[i] += total


@numba.njit(cache=True, nogil=True)
def price_dense(A, u, P, v, coef, kind, degree, out, start, stop):
    """out[start:stop] += k(A[start:stop], P) @ coef; A has whole tiles of rows, and start begins one."""
    panels, d, width = P.shape
    lanes = width // VECTORS
    stride = A.shape[1]
    left, right = A.reshape(-1), P.reshape(-1)
    partial = np.zeros(CHUNK * lanes, A.dtype)
    for i0 in range(start, stop, CHUNK):
        i1 = min(i0 + CHUNK, stop)
        for p0 in range(0, panels, FLUSH):
            for p in range(p0, min(p0 + FLUSH, panels)):
                for i in range(i0, i1, ROWS):
                    _dense_weigh(
                        left,
                        i * stride,
                        stride,
                        u,
                        i,
                        right,
                        p * d * width,
                        v,
                        p * width,
                        d,
                        kind,
                        degree,
                        coef,
                        partial,
                        (i - i0) * lanes,
                        0,
                    )
            _flush(partial, lanes, i0, i1, out)


@numba.njit(cache=True, nogil=True)
def store_dense(A, u, P, v, kind, degree, out, start, stop):
    """out[start:stop] = k(A[start:stop], P); out has P's padded columns and A's padded rows."""
    panels, d, width = P.shape
    stride, wide = A.shape[1], out.shape[1]
    left, right, flat = A.reshape(-1), P.reshape(-1), out.reshape(-1)
    for i0 in range(start, stop, CHUNK):
        for p in range(panels):
            for i in range(i0, min(i0 + CHUNK, stop), ROWS):
                _dense_store(
                    left,
                    i * stride,
                    stride,
                    u,
                    i,
                    right,
                    p * d * width,
                    v,
                    p * width,
                    d,
                    kind,
                    degree,
                    v,
                    flat,
                    i * wide + p * width,
                    wide,
                )


@numba.njit(cache=True, nogil=True)
def price_csr(indptr, indices, data, rows, u, P, v, coef, kind, degree, out, start, stop):
    """out[t] += k(row rows[t], P) @ coef for t in start..stop."""
    panels, d, width = P.shape
    lanes = width // VECTORS
    right = P.reshape(-1)
    partial = np.zeros(CHUNK * lanes, data.dtype)
    for t0 in range(start, stop, CHUNK):
        t1 = min(t0 + CHUNK, stop)
        for p0 in range(0, panels, FLUSH):
            for p in range(p0, min(p0 + FLUSH, panels)):
                for t in range(t0, t1):
                    r = rows[t]
                    _csr_weigh(
                        indices,
                        data,
                        indptr[r],
                        indptr[r + 1],
                        u,
                        r,
                        right,
                        p * d * width,
                        v,
                        p * width,
                        kind,
                        degree,
                        coef,
                        partial,
                        (t - t0) * lanes,
                    )
            _flush(partial, lanes, t0, t1, out)


@numba.njit(cache=True, nogil=True)
def store_csr(indptr, indices, data, rows, u, P, v, kind, degree, out, start, stop):
    """out[t] = k(row rows[t], P) for t in start..stop."""
    panels, d, width = P.shape
    wide = out.shape[1]
    right, flat = P.reshape(-1), out.reshape(-1)
    for t0 in range(start, stop, CHUNK):
        for p in range(panels):
            for t in range(t0, min(t0 + CHUNK, stop)):
                r = rows[t]
                _csr_store(
                    indices,
                    data,
                    indptr[r],
                    indptr[r + 1],
                    u,
                    r,
                    right,
                    p * d * width,
                    v,
                    p * width,
                    kind,
                    degree,
                    v,
                    flat,
                    t * wide + p * width,
                )


@numba.njit(cache=True, nogil=True)
def pack_dense(A, v_all, at, P, v):
    """Column t of the panels is A[at[t]], its v that of the row."""
    width = P.shape[2]
    for t in range(len(at)):
        i, p, c = at[t], t // width, t % width
        v[t] = v_all[i]
        for k in range(A.shape[1]):
            P[p, k, c] = A[i, k]


@numba.njit(cache=True, nogil=True)
def pack_csr(indptr, indices, data, v_all, at, P, v):
    """The same from CSR rows; P is zero where the rows have no entries."""
    width = P.shape[2]
    for t in range(len(at)):
        i, p, c = at[t], t // width, t % width
        v[t] = v_all[i]
        for q in range(indptr[i], indptr[i + 1]):
            P[p, indices[q], c] = data[q]


@numba.njit(cache=True, nogil=True)
def gather(K, rows, cols, out):
    """out = K[rows, cols]."""
    for s in range(len(rows)):
        source, target = K[rows[s]], out[s]
        for t in range(len(cols)):
            target[t] = source[cols[t]]


@numba.njit(cache=True, nogil=True)
def gather_product(K, rows, cols, coef, out):
    """out = K[rows, cols] @ coef, in float64 and without a copy of the block."""
    for s in range(len(rows)):
        source = K[rows[s]]
        total = 0.0
        for t in range(len(cols)):
            total += coef[t] * source[cols[t]]
        out[s] = total


@numba.njit(cache=True, nogil=True)
def transpose(A, out):
    """out = A', in squares that stay in the cache."""
    for s0 in range(0, A.shape[0], 32):
        s1 = min(s0 + 32, A.shape[0])
        for t in range(A.shape[1]):
            target = out[t]
            for s in range(s0, s1):
                target[s] = A[s, t]


@numba.njit(cache=True, nogil=True)
def add_rows(K, rows, coef, out):
    """out += coef @ K[rows], four rows at a time, in float64."""
    n = len(out)
    m = len(rows) // 4 * 4
    for s in range(0, m, 4):
        a, b, c, d = K[rows[s]], K[rows[s + 1]], K[rows[s + 2]], K[rows[s + 3]]
        x, y, z, w = coef[s], coef[s + 1], coef[s + 2], coef[s + 3]
        for t in range(n):
            out[t] += x * a[t] + y * b[t] + z * c[t] + w * d[t]
    for s in range(m, len(rows)):
        a, x = K[rows[s]], coef[s]
        for t in range(n):
            out[t] += x * a[t]


@numba.njit(cache=True, nogil=True)
def add_columns(K, cols, coef, out):
    """out += K[:, cols] @ coef, in float64."""
    for i in range(len(out)):
        row = K[i]
        total = 0.0
        for t in range(len(cols)):
            total += coef[t] * row[cols[t]]
        out[i] += total
