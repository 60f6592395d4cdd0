"""Kernels as ONNX operators: the matrix k(x_i, b_j) of rows that come later with points that are known.

    Linear         x'b
    Polynomial     (gamma x'b + c)^p
    Sigmoid        tanh(gamma x'b + c)
    RBF            exp(-gamma max(0, |x - s|^2 + |b - s|^2 - 2 (x - s)'(b - s)))
    Laplacian      exp(-gamma sum_k |x_k - b_k|)
    ChiSquared     exp(-gamma sum_k (x_k - b_k)^2 / (x_k + b_k)),  0/0 = 0
    Intersection   sum_k min(x_k, b_k)

and sums, products, multiples and powers of these, kernels of some columns, normalised and centred kernels. The shift s
is the mean of the training points, as in :class:`~maxmargin.kernels.RBF`: without it, points far from the origin would
lose the digits of their distances. Where points are too far from that mean as well, |x - b|^2 is a sum of squared
differences instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.io._container import ModelFileError
from maxmargin.io._onnx_graph import Graph
from maxmargin.kernels import (
    RBF,
    Centered,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Power,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from maxmargin.kernels._arrays import is_integer
from maxmargin.kernels.feature_space import _ROUNDING
from maxmargin.runtime.validation import Array

EXPANDED_MAX_EXPONENT = 1e3  # gamma |b - s|^2 up to which the expanded distance errs by less than 1e-12 in the exponent
DISTANCE_MAX = 1e150  # its square is a number; a point farther than that has similarity zero to all


def dense(points: Any) -> Array:
    """Points as a float64 array."""
    return (points.toarray() if sp.issparse(points) else points).astype(np.float64, copy=False)


def kernel_matrix(graph: Graph, kernel: Kernel, X: str, B: Array) -> str:
    """The name of the matrix k(x_i, b_j), of a resolved kernel."""
    return _found(_MATRIX, kernel)(graph, kernel, X, B)


def kernel_product(graph: Graph, kernel: Any, X: str, B: Array, C: Array) -> str:
    """The name of k(X, B) C. It is linear in k, and a factor of k goes into C."""
    if type(kernel) is Linear:
        return graph.add("MatMul", X, B.T @ C)
    if type(kernel) is Scaled:
        return kernel_product(graph, kernel.kernel, X, B, float(kernel.factor) * C)
    if type(kernel) is Sum:
        parts = [kernel_product(graph, member, X, B, C) for member in kernel.kernels]
        return graph.add("Sum", *parts)
    if type(kernel) is Columns:
        return kernel_product(graph, kernel.kernel, _chosen(graph, kernel, X), B[:, kernel.indices_], C)
    if type(kernel) is Normalized:
        product = kernel_product(graph, kernel.kernel, X, B, kernel._inverse_lengths(B)[:, None] * C)
        return graph.add("Mul", product, _inverse_lengths(graph, kernel, X))
    return graph.add("MatMul", kernel_matrix(graph, kernel, X, B), C)


def self_similarity(graph: Graph, kernel: Kernel, X: str) -> str:
    """The name of the column k(x_i, x_i); of one number where all are equal."""
    return _found(_DIAGONAL, kernel)(graph, kernel, X)


def _found(table: dict[type, Callable[..., str]], kernel: Kernel) -> Callable[..., str]:
    if type(kernel) not in table:
        known = ", ".join(sorted(kind.__name__ for kind in _MATRIX))
        raise ModelFileError(
            f"The kernel {type(kernel).__name__} cannot be exported to ONNX. Kernels that can be are {known}."
        )
    return table[type(kernel)]


# Of the inner product


def _inner(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return graph.add("MatMul", X, B.T)


def _squares(graph: Graph, kernel: Any, X: str) -> str:
    return graph.row_sums(graph.add("Mul", X, X))


def _power(graph: Graph, base: str, exponent: float) -> str:
    if not is_integer(exponent):
        base = graph.add("Max", base, 0.0)  # negative by rounding only
    return graph.add("Pow", base, float(exponent))


def _affine(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return graph.add("Add", _inner(graph, kernel, X, float(kernel.gamma) * B), float(kernel.coef0))


def _affine_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return graph.add("Add", graph.add("Mul", _squares(graph, kernel, X), float(kernel.gamma)), float(kernel.coef0))


def _polynomial(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return _power(graph, _affine(graph, kernel, X, B), kernel.degree)


def _polynomial_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return _power(graph, _affine_diagonal(graph, kernel, X), kernel.degree)


def _sigmoid(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return graph.add("Tanh", _affine(graph, kernel, X, B))


def _sigmoid_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return graph.add("Tanh", _affine_diagonal(graph, kernel, X))


# Of a distance, and of histograms


def _rbf(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    centred = B if kernel.shift_ is None else B - kernel.shift_
    with np.errstate(over="ignore"):
        longest = float(kernel.gamma) * float(np.einsum("ij,ij->i", centred, centred).max(initial=0.0))
    if not longest <= EXPANDED_MAX_EXPONENT:
        D = graph.sum_over_columns(X, B, _squared_distance)
        return graph.add("Exp", graph.add("Mul", D, -float(kernel.gamma)))
    if kernel.shift_ is not None:
        X, B = graph.add("Sub", X, kernel.shift_), centred
    X = graph.add("Clip", X, -DISTANCE_MAX, DISTANCE_MAX)
    D = graph.add("Add", graph.add("MatMul", X, -2.0 * B.T), _squares(graph, kernel, X))
    D = graph.add("Max", graph.add("Add", D, np.einsum("ij,ij->i", B, B)), 0.0)
    return graph.add("Exp", graph.add("Mul", D, -float(kernel.gamma)))


def _decaying(term: Callable[[Graph, str, str], str]) -> Callable[..., str]:
    def matrix(graph: Graph, kernel: Any, X: str, B: Array) -> str:
        return graph.add("Exp", graph.add("Mul", graph.sum_over_columns(X, B, term), -float(kernel.gamma)))

    return matrix


def _squared_distance(body: Graph, a: str, b: str) -> str:
    difference = body.add("Sub", a, b)
    return body.add("Mul", difference, difference)


def _distance(body: Graph, a: str, b: str) -> str:
    return body.add("Abs", body.add("Sub", a, b))


def _chi_squared(body: Graph, a: str, b: str) -> str:
    total, difference = body.add("Add", a, b), body.add("Sub", a, b)
    share = body.add("Div", body.add("Mul", difference, difference), total)
    return body.add("Where", body.add("Equal", total, 0.0), 0.0, share)


def _intersection(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return graph.sum_over_columns(X, B, lambda body, a, b: body.add("Min", a, b))


def _ones(graph: Graph, kernel: Any, X: str) -> str:
    return graph.constant(np.ones((1, 1)))


# Out of other kernels


def _joined(operator: str) -> tuple[Callable[..., str], Callable[..., str]]:
    def matrix(graph: Graph, kernel: Any, X: str, B: Array) -> str:
        total = kernel_matrix(graph, kernel.kernels[0], X, B)
        for member in kernel.kernels[1:]:
            total = graph.add(operator, total, kernel_matrix(graph, member, X, B))
        return total

    def diagonal(graph: Graph, kernel: Any, X: str) -> str:
        total = self_similarity(graph, kernel.kernels[0], X)
        for member in kernel.kernels[1:]:
            total = graph.add(operator, total, self_similarity(graph, member, X))
        return total

    return matrix, diagonal


def _scaled(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    if _is_inner(kernel.kernel):
        return kernel_matrix(graph, kernel.kernel, X, float(kernel.factor) * B)
    return graph.add("Mul", kernel_matrix(graph, kernel.kernel, X, B), float(kernel.factor))


def _is_inner(kernel: Any) -> bool:
    """Whether this is an inner product, of some columns or multiplied by a number, and so linear in B."""
    return type(kernel) is Linear or (type(kernel) in (Columns, Scaled) and _is_inner(kernel.kernel))


def _scaled_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return graph.add("Mul", self_similarity(graph, kernel.kernel, X), float(kernel.factor))


def _powered(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return _power(graph, kernel_matrix(graph, kernel.kernel, X, B), kernel.exponent)


def _powered_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return _power(graph, self_similarity(graph, kernel.kernel, X), kernel.exponent)


def _columns(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    return kernel_matrix(graph, kernel.kernel, _chosen(graph, kernel, X), B[:, kernel.indices_])


def _columns_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return self_similarity(graph, kernel.kernel, _chosen(graph, kernel, X))


def _chosen(graph: Graph, kernel: Any, X: str) -> str:
    return graph.add("Gather", X, kernel.indices_, axis=1)


# Moved in their feature space


def _lengths(graph: Graph, kernel: Any, X: str) -> tuple[str, str]:
    """|phi(x)|, and whether it is above zero."""
    lengths = graph.add("Sqrt", graph.add("Max", self_similarity(graph, kernel.kernel, X), 0.0))
    return lengths, graph.add("Greater", lengths, 0.0)


def _inverse_lengths(graph: Graph, kernel: Any, X: str) -> str:
    lengths, positive = _lengths(graph, kernel, X)
    return graph.add("Where", positive, graph.add("Div", 1.0, lengths), 0.0)


def _normalized(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    K = graph.add("Mul", kernel_matrix(graph, kernel.kernel, X, B), _inverse_lengths(graph, kernel, X))
    return graph.add("Mul", K, kernel._inverse_lengths(B))


def _normalized_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    return graph.add("Where", _lengths(graph, kernel, X)[1], 1.0, 0.0)


def _mean_similarity(graph: Graph, kernel: Any, X: str) -> str:
    """mu(x) = sum_i w_i k(x, x_i)."""
    return kernel_product(graph, kernel.kernel, X, dense(kernel.reference_), kernel.weights_[:, None])


def _centered(graph: Graph, kernel: Any, X: str, B: Array) -> str:
    K = graph.add("Sub", kernel_matrix(graph, kernel.kernel, X, B), _mean_similarity(graph, kernel, X))
    return graph.add("Add", graph.add("Sub", K, kernel._means(B)), kernel.grand_mean_)


def _centered_diagonal(graph: Graph, kernel: Any, X: str) -> str:
    k, mu = self_similarity(graph, kernel.kernel, X), _mean_similarity(graph, kernel, X)
    twice = graph.add("Add", mu, mu)
    distance = graph.add("Add", graph.add("Sub", k, twice), kernel.grand_mean_)
    scale = graph.add("Add", graph.add("Add", graph.add("Abs", k), graph.add("Abs", twice)), abs(kernel.grand_mean_))
    rounding = graph.add("LessOrEqual", graph.add("Abs", distance), graph.add("Mul", scale, _ROUNDING))
    return graph.add("Where", rounding, 0.0, distance)


_TABLE: dict[type, tuple[Callable[..., str], Callable[..., str]]] = {
    Linear: (_inner, _squares),
    Polynomial: (_polynomial, _polynomial_diagonal),
    Sigmoid: (_sigmoid, _sigmoid_diagonal),
    RBF: (_rbf, _ones),
    Laplacian: (_decaying(_distance), _ones),
    ChiSquared: (_decaying(_chi_squared), _ones),
    HistogramIntersection: (_intersection, lambda graph, kernel, X: graph.row_sums(X)),
    Sum: _joined("Add"),
    Product: _joined("Mul"),
    Scaled: (_scaled, _scaled_diagonal),
    Power: (_powered, _powered_diagonal),
    Columns: (_columns, _columns_diagonal),
    Normalized: (_normalized, _normalized_diagonal),
    Centered: (_centered, _centered_diagonal),
}
_MATRIX = {kind: matrix for kind, (matrix, _) in _TABLE.items()}
_DIAGONAL = {kind: diagonal for kind, (_, diagonal) in _TABLE.items()}
