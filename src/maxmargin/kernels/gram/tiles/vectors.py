"""SIMD vectors for Numba: LLVM vector types and the few operations the tiles need.

Numba compiles scalar loops; LLVM turns many of them into vector code, but not a register tile of products with an
exponential at its end, nor a minimum that remembers its place. Those are written here in LLVM's own terms, once, for
any vector width: the width and the number of registers are read off the processor that Numba compiles for.

    2^t  =  2^round(t) * p(t - round(t)),   p the polynomial of least relative error on [-1/2, 1/2] with p(0) = 1;

adding 1.5 * 2^23 (2^52 in double) leaves round(t) in the low bits of the sum, from where it is shifted into the
exponent's place.
"""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config

I32, I64 = ir.IntType(32), ir.IntType(64)


def _register_bits() -> tuple[int, int]:
    """Width of a vector register in bits, and how many there are."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return 128, 32
    if config.CPU_NAME:  # set by the user: trust the name
        wide = any(
            tag in config.CPU_NAME for tag in ("avx512", "icelake", "cascadelake", "sapphire", "znver4", "znver5")
        )
    else:
        wide = bool(llvm.get_host_cpu_features().get("avx512f", False))
    return (512, 32) if wide else (256, 16)


BITS, REGISTERS = _register_bits()
# A tile of ROWS x VECTORS accumulators, with VECTORS more registers for the columns and one for the row's entry.
ROWS, VECTORS = (6, 4) if REGISTERS == 32 else (6, 2)


def int64(value: int) -> Any:
    return ir.Constant(I64, value)


def pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The data pointer of a Numba array."""
    return cgutils.create_struct_proxy(kind)(context, builder, value).data


class Vector:
    """The vector type of one register for float32 or float64, and its operations."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype).type
        bits = np.dtype(dtype).itemsize * 8
        self.bytes = bits // 8
        self.lanes = BITS // bits
        self.scalar = ir.FloatType() if bits == 32 else ir.DoubleType()
        self.integer = ir.IntType(bits)
        self.type = ir.VectorType(self.scalar, self.lanes)
        self.integers = ir.VectorType(self.integer, self.lanes)
        self.name = f"v{self.lanes}f{bits}"
        self.integer_name = f"v{self.lanes}i{bits}"
        self.mantissa = 23 if bits == 32 else 52
        self.smallest = (
            -100.0 if bits == 32 else -1000.0
        )  # as good as zero, and sums of it are no slow subnormal numbers
        self.coarse = 1e-6 if bits == 32 else 1e-15  # relative size of what rounding may leave of a difference
        self.polynomial = _exp2_polynomial(6 if bits == 32 else 12)

    def constant(self, value: float) -> Any:
        return ir.Constant(self.type, [float(self.dtype(value))] * self.lanes)

    def integer_constant(self, value: int) -> Any:
        return ir.Constant(self.integers, [value] * self.lanes)

    def splat(self, builder: Any, value: Any) -> Any:
        """A scalar in every lane."""
        empty = ir.Constant(self.type, ir.Undefined)
        first = builder.insert_element(empty, value, ir.Constant(I32, 0))
        return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes))

    def load(self, builder: Any, base: Any, at: Any) -> Any:
        place = builder.bitcast(builder.gep(base, [at]), self.type.as_pointer())
        return builder.load(place, align=self.bytes)

    def store(self, builder: Any, value: Any, base: Any, at: Any) -> None:
        builder.store(value, builder.bitcast(builder.gep(base, [at]), self.type.as_pointer()), align=self.bytes)

    def _intrinsic(self, builder: Any, name: str, arguments: list[Any], flags: tuple[str, ...] = ()) -> Any:
        signature = ir.FunctionType(self.type, [self.type] * len(arguments))
        function = cgutils.get_or_insert_function(builder.module, signature, f"llvm.{name}.{self.name}")
        return builder.call(function, arguments, fastmath=flags)

    def fma(self, builder: Any, a: Any, b: Any, c: Any) -> Any:
        return self._intrinsic(builder, "fma", [a, b, c])

    def absolute(self, builder: Any, a: Any) -> Any:
        return self._intrinsic(builder, "fabs", [a])

    def minimum(self, builder: Any, a: Any, b: Any) -> Any:
        return self._intrinsic(builder, "minnum", [a, b], ("nnan", "nsz"))

    def maximum(self, builder: Any, a: Any, b: Any) -> Any:
        return self._intrinsic(builder, "maxnum", [a, b], ("nnan", "nsz"))

    def exp2(self, builder: Any, t: Any) -> Any:
        """2^t for t in the range of normal numbers; t outside is cut to it."""
        magic = self.constant(1.5 * 2.0**self.mantissa)
        t = self.maximum(builder, self.minimum(builder, t, self.constant(-self.smallest)), self.constant(self.smallest))
        shifted = builder.fadd(t, magic)
        rest = builder.fsub(t, builder.fsub(shifted, magic))
        value = self.constant(self.polynomial[-1])
        for coefficient in self.polynomial[-2::-1]:
            value = self.fma(builder, value, rest, self.constant(coefficient))
        exponent = builder.shl(builder.bitcast(shifted, self.integers), self.integer_constant(self.mantissa))
        return builder.bitcast(builder.add(builder.bitcast(value, self.integers), exponent), self.type)

    def reduce(self, builder: Any, operation: str, value: Any) -> Any:
        """``fmin``, ``fmax`` of the lanes."""
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(self.scalar, [self.type]), f"llvm.vector.reduce.{operation}.{self.name}"
        )
        return builder.call(function, [value], fastmath=("nnan", "nsz"))


def _exp2_polynomial(degree: int) -> list[float]:
    """Coefficients of p, the constant term (exactly 1) first: least squares of the relative error, Chebyshev nodes."""
    r = np.cos((np.arange(400) + 0.5) * np.pi / 400) / 2
    weight = np.exp2(-r)
    powers = r[:, None] ** np.arange(1, degree + 1) * weight[:, None]
    return [1.0, *map(float, np.linalg.lstsq(powers, 1.0 - weight, rcond=None)[0])]


_VECTORS = {types.float32: Vector(np.float32), types.float64: Vector(np.float64)}


def vector_of(array_type: Any) -> Vector:
    """The vector for a Numba array type's elements."""
    return _VECTORS[array_type.dtype]


def panel_width(dtype: Any) -> int:
    """Columns in a packed panel."""
    return VECTORS * BITS // (np.dtype(dtype).itemsize * 8)
