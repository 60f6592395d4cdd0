"""Kernel values by definition: one pair after the other, in float64, apart from the arithmetic that solvers use.

Solvers take kernel values from matrix products and fused tiles (:mod:`maxmargin.kernels.gram`), which compute
|x - z|^2 as |x|^2 + |z|^2 - 2 x'z around a common centre. A certificate computed the same way would repeat the same
mistakes. :func:`kernel_values` therefore follows each kernel's formula with the sums of
:mod:`maxmargin.kernels.pair_sums`, and :class:`DefinedValues` adds up

    f_i = sum_j c_j k(x_i, x_j)

in pairs of pairs (NumPy's summation along a row), whose error grows with log n only. The linear kernel's f is summed
with twice the digits (:mod:`maxmargin.kernels.linear_sums`).
"""

from __future__ import annotations

import math
from collections.abc import Callable as Function
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import is_integer
from maxmargin.kernels.algebra import Power, Product, Scaled, Sum
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.columns import Columns
from maxmargin.kernels.distance import RBF, Laplacian, Matern, RationalQuadratic, Stationary
from maxmargin.kernels.dot import Linear, Polynomial, Sigmoid
from maxmargin.kernels.feature_space import Normalized
from maxmargin.kernels.histogram import ChiSquared, HistogramIntersection
from maxmargin.kernels.linear_sums import linear_values
from maxmargin.kernels.other import Precomputed
from maxmargin.kernels.pair_sums import ABSOLUTE, CHI_SQUARED, MINIMUM, PRODUCT, SQUARED, pair_sums
from maxmargin.runtime.threads import run_strips
from maxmargin.runtime.validation import Array, Points

CHUNK_MAX_VALUES = 1 << 16  # kernel values held at a time by each thread: half a megabyte stays in its cache
CHUNK_MIN_ROWS = 16  # the columns' points are copied for each strip, which costs as much as some rows
# A stored entry of a sparse row costs as much as ten coordinates of a dense one (a9a: 14 of 123 stored, 47 ns a pair
# sparse and 14 dense), so that rows at least so full are verified as dense ones, if the copy is not too large.
DENSE_MAX_COLUMNS_PER_ENTRY = 12
DENSE_MAX_VALUES = 8_000_000
# Coordinates of dense support vectors up to which the linear kernel's sums take twice the digits: a tenth of a second,
# for which Ctrl-C waits. A coordinate takes as long as some thirty terms of sums over pairs.
LINEAR_MAX_VALUES = 6_000_000
LINEAR_TERMS_PER_VALUE = 30


@dataclass(frozen=True)
class Pairs:
    """Every one of some rows of A with every one of some rows of B; all rows by default."""

    A: Points
    B: Points
    rows: Array | None = None
    cols: Array | None = None

    @property
    def left(self) -> Points:
        return self.A if self.rows is None else self.A[self.rows]

    @property
    def right(self) -> Points:
        return self.B if self.cols is None else self.B[self.cols]

    def sums(self, kind: int) -> Array:
        return pair_sums(self.A, self.B, kind, rows=self.rows, cols=self.cols)


def kernel_values(kernel: Kernel, A: Points, B: Points) -> Array:
    """k(a_i, b_j) of a resolved kernel for all pairs, a new array.

    Kernels that are no formula of coordinates (functions of the user's, kernels of strings and sets, classes derived
    from ours) have their own ``matrix`` as their definition.
    """
    return _values(kernel, Pairs(A, B))


def _values(kernel: Kernel, pairs: Pairs) -> Array:
    rule = _RULES.get(type(kernel))
    return kernel.matrix(pairs.left, pairs.right) if rule is None else rule(kernel, pairs)


def has_formula(kernel: Kernel) -> bool:
    """Whether :func:`kernel_values` follows a formula of coordinates, not the kernel's own ``matrix``."""
    inside = getattr(kernel, "kernels", None) or [getattr(kernel, "kernel", None)]
    return type(kernel) in _RULES and all(part is None or has_formula(part) for part in inside)


def _decay(kind: int) -> Function[[Any, Pairs], Array]:
    def values(kernel: Any, pairs: Pairs) -> Array:
        K = pairs.sums(kind)
        with np.errstate(over="ignore", invalid="ignore"):
            K *= -float(kernel.gamma)
        if kernel.gamma == 0:
            K[:] = 0.0  # also where the distance overflows
        return np.exp(K, out=K)

    return values


def _stationary(kernel: Stationary, pairs: Pairs) -> Array:
    return kernel._profile(float(kernel.gamma) * pairs.sums(SQUARED))


def _polynomial(kernel: Polynomial, pairs: Pairs) -> Array:
    return _raised(float(kernel.gamma) * pairs.sums(PRODUCT) + float(kernel.coef0), float(kernel.degree))


def _raised(base: Array, exponent: float) -> Array:
    return np.power(base if is_integer(exponent) else np.maximum(base, 0.0), exponent)


def _sum(kernel: Sum, pairs: Pairs) -> Array:
    return np.sum([_values(member, pairs) for member in kernel.kernels], axis=0)


def _product(kernel: Product, pairs: Pairs) -> Array:
    return np.prod([_values(member, pairs) for member in kernel.kernels], axis=0)


def _columns(kernel: Columns, pairs: Pairs) -> Array:
    return kernel_values(kernel.kernel, kernel._select(pairs.left), kernel._select(pairs.right))


def _normalized(kernel: Normalized, pairs: Pairs) -> Array:
    lengths = [np.sqrt(kernel.kernel.self_similarity(points)) for points in (pairs.left, pairs.right)]
    size = np.multiply.outer(*lengths)
    return np.divide(_values(kernel.kernel, pairs), size, out=np.zeros_like(size), where=size > 0.0)


_RULES: dict[type, Function[[Any, Pairs], Array]] = {
    RBF: _decay(SQUARED),
    Laplacian: _decay(ABSOLUTE),
    Matern: _stationary,
    RationalQuadratic: _stationary,
    ChiSquared: _decay(CHI_SQUARED),
    HistogramIntersection: lambda kernel, pairs: pairs.sums(MINIMUM),
    Linear: lambda kernel, pairs: pairs.sums(PRODUCT),
    Polynomial: _polynomial,
    Sigmoid: lambda kernel, pairs: np.tanh(float(kernel.gamma) * pairs.sums(PRODUCT) + float(kernel.coef0)),
    Sum: _sum,
    Product: _product,
    Scaled: lambda kernel, pairs: float(kernel.factor) * _values(kernel.kernel, pairs),
    Power: lambda kernel, pairs: _raised(_values(kernel.kernel, pairs), float(kernel.exponent)),
    Columns: _columns,
    Normalized: _normalized,
}


@dataclass(frozen=True)
class DefinedValues:
    """The fitted values f of a problem's rows, by definition."""

    kernel: Kernel  # resolved; for ``Precomputed`` X is the kernel matrix itself
    X: Points  # array, CSR matrix or array of objects
    at: Array | None = None  # the rows of X that the problem's rows are; all by default
    threads: int = 1

    @property
    def n(self) -> int:
        return int(self.X.shape[0]) if self.at is None else len(self.at)

    def _place(self, rows: Array) -> Array:
        return rows if self.at is None else self.at[rows]

    def subset(self, rows: Array) -> DefinedValues:
        """The same for some of the rows."""
        return DefinedValues(self.kernel, self.X, self._place(rows), self.threads)

    def cost(self, rows: int, cols: int) -> float:
        """Terms in the sums of so many rows and columns; infinite if the cost of a kernel value is not known."""
        if isinstance(self.kernel, Precomputed):
            return float(rows) * cols
        if not has_formula(self.kernel):
            return math.inf
        wide = 2 * self.X.nnz / max(1, self.X.shape[0]) if sp.issparse(self.X) else self.X.shape[1]
        pairs = float(rows) * cols * max(1.0, wide)
        return LINEAR_TERMS_PER_VALUE * float(rows + cols) * wide if self._sums_coordinates(cols) else pairs

    def _sums_coordinates(self, cols: int) -> bool:
        """Whether f is x'w with w = sum c_j x_j, not a sum of kernel values."""
        return type(self.kernel) is Linear and not sp.issparse(self.X) and cols * self.X.shape[1] <= LINEAR_MAX_VALUES

    def longest(self, count: int) -> Array:
        """The rows of the largest coordinates, where rounding errors of other arithmetic would be largest."""
        if self.X.ndim == 1 or isinstance(self.kernel, Precomputed) or self.n <= count:
            return np.arange(min(self.n, count))
        if sp.issparse(self.X):
            sizes = np.asarray(abs(self.X).max(axis=1).todense()).ravel()
            sizes = sizes if self.at is None else sizes[self.at]
        else:
            sizes = np.empty(self.n)
            step = max(1, CHUNK_MAX_VALUES // self.X.shape[1])
            for start in range(0, self.n, step):
                part = slice(start, start + step)
                points = self.X[part if self.at is None else self.at[part]]
                sizes[part] = np.maximum(points.max(axis=1), -points.min(axis=1))
        return np.argpartition(sizes, len(sizes) - count)[len(sizes) - count :]

    def _cheaper_dense(self, cols: int) -> bool:
        """Whether sums over sparse rows are faster with dense copies of them."""
        rows, width = self.X.shape
        full_enough = width * rows <= DENSE_MAX_COLUMNS_PER_ENTRY * self.X.nnz
        return full_enough and cols * width <= DENSE_MAX_VALUES and has_formula(self.kernel)

    def product(self, cols: Array, coef: Array, rows: Array | None = None) -> Array:
        """f of the rows (all by default): K[rows, cols] @ coef; ``coef`` may have several columns."""
        at = np.arange(self.n) if rows is None else rows
        at, columns = self._place(at), self._place(cols)
        if self._sums_coordinates(len(columns)):
            return linear_values(self.X, columns, coef, at)
        out = np.empty((len(at), *coef.shape[1:]))
        if sp.issparse(self.X):  # columns are gathered once; dense ones where they are read
            B, places = self.X[:, columns] if isinstance(self.kernel, Precomputed) else self.X[columns], None
        else:
            B, places = self.X, columns
        dense = places is None and self._cheaper_dense(len(columns))
        if dense:
            B = B.toarray()
        step = max(CHUNK_MIN_ROWS, CHUNK_MAX_VALUES // max(1, len(cols)))

        def work(part: slice) -> None:
            if isinstance(self.kernel, Precomputed):
                K = B[at[part]] if places is None else B[at[part][:, None], places]
                K = np.array(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
            else:
                A, mine = (self.X[at[part]].toarray(), None) if dense else (self.X, at[part])
                K = _values(self.kernel, Pairs(A, B, mine, places))
            if coef.ndim == 1:
                K *= coef
                out[part] = K.sum(axis=1)
            else:
                for output in range(coef.shape[1]):
                    out[part, output] = (K * coef[:, output]).sum(axis=1)

        run_strips(work, len(at), step, self.threads)
        return out
