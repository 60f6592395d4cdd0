"""How a fitted function changes with each feature of a point: the gradient of f(x) = sum_i c_i k(x_i, x) + b.

    Linear       dk/dx = x_i
    Polynomial   dk/dx = gamma p (gamma x'x_i + r)^(p-1) x_i
    Sigmoid      dk/dx = gamma (1 - k^2) x_i
    RBF, Matern (nu > 1/2), RationalQuadratic
                 dk/dx = 2 gamma k'(s) (x - x_i), s = gamma |x - x_i|^2

and by the rules of calculus for what is made of such kernels,

    Sum          the sum of its members' gradients
    Product      sum_s (product of the other members' values) times the gradient of member s
    Scaled       c times the gradient
    Power        p k^(p-1) times the gradient
    Columns      the gradient in its columns, zero elsewhere
    Normalized   d(k / sqrt(k(x, x) k_ii)) = dk / sqrt(k(x, x) k_ii) - k~ d k(x, x) / 2 k(x, x)

All of them only change the weights c_i with which the gradients of the kernels inside are summed, so that no more than
a vector of them is needed at a time.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import (
    RBF,
    Columns,
    Kernel,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
)
from maxmargin.kernels._arrays import squared_distances
from maxmargin.runtime.validation import Array, Points


def has_gradient(kernel: Kernel) -> bool:
    """Whether :func:`gradient` knows this kernel."""
    kind = type(kernel)
    if kind in (Sum, Product):
        return all(has_gradient(member) for member in kernel.kernels)
    if kind in (Scaled, Power, Columns, Normalized):
        return has_gradient(kernel.kernel)
    return kind in (Linear, Polynomial, Sigmoid, RBF, RationalQuadratic) or (kind is Matern and kernel.nu > 0.5)


def gradient(kernel: Kernel, x: Array, anchors: Points, weights: Array) -> Array:
    """sum_i weights_i dk(x_i, x)/dx at one point.

    kernel: resolved, with a gradient (:func:`has_gradient`)
    x: (d,)
    anchors: (m, d); the x_i
    weights: (m,)
    """
    kind, at = type(kernel), x[None, :]
    if kind is Sum:
        return np.sum([gradient(member, x, anchors, weights) for member in kernel.kernels], axis=0)
    if kind is Product:
        values = [member.matrix(at, anchors)[0] for member in kernel.kernels]
        total = np.zeros(len(x))
        for s, member in enumerate(kernel.kernels):
            others = np.prod([v for t, v in enumerate(values) if t != s], axis=0)
            total += gradient(member, x, anchors, weights * others)
        return total
    if kind is Scaled:
        return kernel.factor * gradient(kernel.kernel, x, anchors, weights)
    if kind is Power:
        p = float(kernel.exponent)
        if p == 0.0:
            return np.zeros(len(x))
        inner = kernel.kernel.matrix(at, anchors)[0]
        return gradient(kernel.kernel, x, anchors, weights * p * inner ** (p - 1.0))
    if kind is Columns:
        total = np.zeros(len(x))
        inside = gradient(kernel.kernel, x[kernel.indices_], anchors[:, kernel.indices_], weights)
        np.add.at(total, kernel.indices_, inside)
        return total
    if kind is Normalized:
        own = float(kernel.kernel.self_similarity(at)[0])
        if own <= 0.0:
            return np.zeros(len(x))
        lengths = np.sqrt(np.maximum(kernel.kernel.self_similarity(anchors), 0.0))
        scaled = np.divide(weights, np.sqrt(own) * lengths, out=np.zeros(len(weights)), where=lengths > 0)
        of_own = 2.0 * gradient(kernel.kernel, x, at, np.ones(1))
        value = float(np.dot(weights, kernel.matrix(at, anchors)[0]))
        return gradient(kernel.kernel, x, anchors, scaled) - value * of_own / (2.0 * own)
    k = kernel.matrix(at, anchors)[0]
    if kind in (RBF, Matern, RationalQuadratic):
        slope = (
            -k
            if kind is RBF
            else _slopes(kernel, float(kernel.gamma) * squared_distances(at, anchors, kernel.shift_)[0])
        )
        pull = 2.0 * float(kernel.gamma) * weights * slope
        return pull.sum() * x - _sum_rows(anchors, pull)
    if kind is Polynomial:
        p = float(kernel.degree)
        if p == 0.0:
            return np.zeros(len(x))
        base = float(kernel.gamma) * np.asarray(anchors @ x).ravel() + float(kernel.coef0)
        return _sum_rows(anchors, weights * p * float(kernel.gamma) * base ** (p - 1.0))
    if kind is Sigmoid:
        return _sum_rows(anchors, weights * float(kernel.gamma) * (1.0 - k**2))
    if kind is Linear:
        return _sum_rows(anchors, weights)
    raise TypeError(f"{kernel!r} has no known gradient.")


def _slopes(kernel: Kernel, S: Array) -> Array:
    """dk/ds at s = gamma |x - z|^2."""
    if isinstance(kernel, RationalQuadratic):
        return -((1.0 + S / kernel.alpha) ** (-kernel.alpha - 1.0))
    assert isinstance(kernel, Matern)
    r = np.sqrt(4.0 * kernel.nu * S)
    return -3.0 * np.exp(-r) if kernel.nu == 1.5 else -5.0 / 3.0 * (1.0 + r) * np.exp(-r)


def _sum_rows(A: Points, v: Array) -> Array:
    """sum_i v_i a_i."""
    return np.asarray(A.T @ v).ravel() if sp.issparse(A) else v @ A.astype(np.float64, copy=False)
