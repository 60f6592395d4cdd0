"""Kernel values by definition: one pair after the other, in float64, apart from the arithmetic that solvers use.

Solvers take kernel values from matrix products and fused tiles (:mod:`maxmargin.kernels.gram`), which compute
|x - z|^2 as |x|^2 + |z|^2 - 2 x'z around a common centre. A certificate computed the same way would repeat the same
mistakes. :func:`kernel_values` therefore follows each kernel's formula with the sums of
:mod:`maxmargin.kernels.pair_sums`, and :class:`DefinedValues` adds up

    f_i = sum_j c_j k(x_i, x_j)

in pairs of pairs (NumPy's summation along a row), whose error grows with log n only.
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
from maxmargin.kernels.distance import RBF, Laplacian
from maxmargin.kernels.dot import Linear, Polynomial, Sigmoid
from maxmargin.kernels.feature_space import Normalized
from maxmargin.kernels.histogram import ChiSquared, HistogramIntersection
from maxmargin.kernels.other import Precomputed
from maxmargin.kernels.pair_sums import ABSOLUTE, CHI_SQUARED, MINIMUM, PRODUCT, SQUARED, pair_sums
from maxmargin.runtime.threads import run_tiles
from maxmargin.runtime.validation import Array, Points

STRIP_MAX_VALUES = 1 << 18  # kernel values held at a time by each thread: two megabytes


def kernel_values(kernel: Kernel, A: Points, B: Points) -> Array:
    """k(a_i, b_j) of a resolved kernel for all pairs, a new array.

    Kernels that are no formula of coordinates (functions of the user's, kernels of strings and sets, classes derived
    from ours) have their own ``matrix`` as their definition.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import RBF
    >>> from maxmargin.kernels.definition import kernel_values
    >>> X = np.array([[1e12, 0.0], [1e12, 1.0]])
    >>> kernel_values(RBF(gamma=1.0).resolve(X), X, X).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    rule = _RULES.get(type(kernel))
    return kernel.matrix(A, B) if rule is None else rule(kernel, A, B)


def has_formula(kernel: Kernel) -> bool:
    """Whether :func:`kernel_values` follows a formula of coordinates, not the kernel's own ``matrix``."""
    inside = getattr(kernel, "kernels", None) or [getattr(kernel, "kernel", None)]
    return type(kernel) in _RULES and all(part is None or has_formula(part) for part in inside)


def _decay(kind: int) -> Function[[Any, Points, Points], Array]:
    def values(kernel: Any, A: Points, B: Points) -> Array:
        K = pair_sums(A, B, kind)
        with np.errstate(over="ignore"):
            K *= -float(kernel.gamma)
        if kernel.gamma == 0:
            K[:] = 0.0  # also where the distance overflows
        return np.exp(K, out=K)

    return values


def _polynomial(kernel: Polynomial, A: Points, B: Points) -> Array:
    return _raised(float(kernel.gamma) * pair_sums(A, B, PRODUCT) + float(kernel.coef0), float(kernel.degree))


def _raised(base: Array, exponent: float) -> Array:
    return np.power(base if is_integer(exponent) else np.maximum(base, 0.0), exponent)


def _sum(kernel: Sum, A: Points, B: Points) -> Array:
    return np.sum([kernel_values(member, A, B) for member in kernel.kernels], axis=0)


def _product(kernel: Product, A: Points, B: Points) -> Array:
    return np.prod([kernel_values(member, A, B) for member in kernel.kernels], axis=0)


def _columns(kernel: Columns, A: Points, B: Points) -> Array:
    return kernel_values(kernel.kernel, kernel._select(A), kernel._select(B))


def _normalized(kernel: Normalized, A: Points, B: Points) -> Array:
    lengths = [np.sqrt(kernel.kernel.self_similarity(points)) for points in (A, B)]
    size = np.multiply.outer(*lengths)
    return np.divide(kernel_values(kernel.kernel, A, B), size, out=np.zeros_like(size), where=size > 0.0)


_RULES: dict[type, Function[[Any, Points, Points], Array]] = {
    RBF: _decay(SQUARED),
    Laplacian: _decay(ABSOLUTE),
    ChiSquared: _decay(CHI_SQUARED),
    HistogramIntersection: lambda kernel, A, B: pair_sums(A, B, MINIMUM),
    Linear: lambda kernel, A, B: pair_sums(A, B, PRODUCT),
    Polynomial: _polynomial,
    Sigmoid: lambda kernel, A, B: np.tanh(float(kernel.gamma) * pair_sums(A, B, PRODUCT) + float(kernel.coef0)),
    Sum: _sum,
    Product: _product,
    Scaled: lambda kernel, A, B: float(kernel.factor) * kernel_values(kernel.kernel, A, B),
    Power: lambda kernel, A, B: _raised(kernel_values(kernel.kernel, A, B), float(kernel.exponent)),
    Columns: _columns,
    Normalized: _normalized,
}


@dataclass(frozen=True)
class DefinedValues:
    """The fitted values f of a problem's rows, by definition.

    Attributes
    ----------
    kernel : Kernel
        Resolved; for ``Precomputed`` X is the kernel matrix itself.
    X : array, CSR matrix or array of objects
    at : array or None
        The rows of X that the problem's rows are; all by default.
    threads : int
    """

    kernel: Kernel
    X: Points
    at: Array | None = None
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
        """Terms in the sums of so many rows and columns; infinite where nobody knows what a kernel value costs."""
        if isinstance(self.kernel, Precomputed):
            return float(rows) * cols
        if not has_formula(self.kernel):
            return math.inf
        wide = 2 * self.X.nnz / max(1, self.X.shape[0]) if sp.issparse(self.X) else self.X.shape[1]
        return float(rows) * cols * max(1.0, wide)

    def longest(self, count: int) -> Array:
        """The rows of the largest coordinates, where rounding errors of other arithmetic would be largest."""
        if self.X.ndim == 1 or isinstance(self.kernel, Precomputed) or self.n <= count:
            return np.arange(min(self.n, count))
        if sp.issparse(self.X):
            sizes = np.asarray(abs(self.X).max(axis=1).todense()).ravel()
        else:
            sizes = np.maximum(self.X.max(axis=1), -self.X.min(axis=1))
        sizes = sizes if self.at is None else sizes[self.at]
        return np.argpartition(sizes, len(sizes) - count)[len(sizes) - count :]

    def product(self, cols: Array, coef: Array, rows: Array | None = None) -> Array:
        """f of the rows (all by default): K[rows, cols] @ coef; ``coef`` may have several columns."""
        rows = np.arange(self.n) if rows is None else rows
        at, columns = self._place(rows), self._place(cols)
        out = np.empty((len(rows), *coef.shape[1:]))
        right = None if isinstance(self.kernel, Precomputed) else self.X[columns]
        step = max(1, STRIP_MAX_VALUES // max(1, len(cols)))
        strips = range(0, len(rows), step)

        def work(t: int) -> None:
            part = slice(strips[t], min(strips[t] + step, len(rows)))
            if right is None:
                K = self.X[at[part]][:, columns]
                K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
            else:
                K = kernel_values(self.kernel, self.X[at[part]], right)
            if coef.ndim == 1:
                out[part] = (K * coef).sum(axis=1)
            else:
                for output in range(coef.shape[1]):
                    out[part, output] = (K * coef[:, output]).sum(axis=1)

        run_tiles(work, len(strips), self.threads)
        return out
