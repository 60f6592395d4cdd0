"""Kernels as sums of terms whose dependence on each column is known.

    ProductTerm    c prod_k exp(-s_k d_k^2 - a_k |d_k| - h_k d_k^2 / (x_k + z_k)),  d_k = x_k - z_k
    PowerTerm      c (r + sum_k g_k x_k z_k)^p
    AdditiveTerm   c sum_k k_1(x_k, z_k)

Products of exponentials are exponentials of sums, and powers of powers powers: RBF, Laplacian and chi-squared kernels,
alone, of some columns each, multiplied, to a power or normalised are one ProductTerm; products distribute over sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin import _native
from maxmargin.kernels import (
    RBF,
    ChiSquared,
    Columns,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sum,
)
from maxmargin.runtime.validation import Array

MAX_TERMS = 64  # of a product of sums, written out; each costs as much as one kernel


@dataclass(frozen=True)
class ProductTerm:
    factor: float
    square: Array
    absolute: Array
    chi_squared: Array


@dataclass(frozen=True)
class PowerTerm:
    factor: float
    scale: Array
    constant: float
    degree: int


@dataclass(frozen=True)
class AdditiveTerm:
    factor: float
    kernel: Kernel
    columns: Array


Term = ProductTerm | PowerTerm | AdditiveTerm


class NoColumnTerms(ValueError):
    """A kernel is no sum of such terms."""


def column_terms(kernel: Kernel, n_columns: int, what: str) -> list[Term]:
    """The terms of a resolved kernel; ``what`` names the caller in the error for a kernel that has none."""
    try:
        return _terms(kernel, np.arange(n_columns), n_columns)
    except NoColumnTerms as error:
        raise ValueError(
            f"{what} needs a kernel that is a product over the columns (RBF, Laplacian, ChiSquared), a sum over them "
            f"(Linear, HistogramIntersection), a polynomial of integer degree up to {_native.SHAPLEY_MAX_DEGREE}, or "
            f"sums and products of these; got {kernel!r}: {error}. For any other kernel, sample: "
            "shap.KernelExplainer(estimator.decision_function, background)."
        ) from None


def _terms(kernel: Kernel, columns: Array, d: int) -> list[Term]:
    """The terms of a kernel of some of the d columns."""
    kind = type(kernel)
    if kind is Sum:
        return [term for member in kernel.kernels for term in _terms(member, columns, d)]
    if kind is Scaled:
        return [replace(term, factor=term.factor * kernel.factor) for term in _terms(kernel.kernel, columns, d)]
    if kind is Columns:
        return _terms(kernel.kernel, columns[kernel.indices_], d)
    if kind is Product:
        found = _terms(kernel.kernels[0], columns, d)
        for member in kernel.kernels[1:]:
            found = _multiplied(found, _terms(member, columns, d))
        return found
    if kind is Power:
        return _to_power(_terms(kernel.kernel, columns, d), float(kernel.exponent), kernel)
    if kind is Normalized:
        inside = _terms(kernel.kernel, columns, d)
        length = sum(term.factor for term in inside)
        if length > 0 and all(isinstance(term, ProductTerm) for term in inside):  # k(x, x) is the same for all x
            return [replace(term, factor=term.factor / length) for term in inside]
    if kind in (RBF, Laplacian, ChiSquared):
        rates = np.bincount(columns, minlength=d) * float(kernel.gamma)
        none = np.zeros(d)
        return [ProductTerm(1.0, *(rates if kind is one else none for one in (RBF, Laplacian, ChiSquared)))]
    if kind is Linear:
        return [PowerTerm(1.0, np.bincount(columns, minlength=d).astype(np.float64), 0.0, 1)]
    if kind is Polynomial:
        rates = np.bincount(columns, minlength=d) * float(kernel.gamma)
        degree = float(kernel.degree)
        if degree != int(degree) or degree > _native.SHAPLEY_MAX_DEGREE:
            raise NoColumnTerms(f"degree={kernel.degree}")
        return [PowerTerm(1.0, rates, float(kernel.coef0), int(degree))]
    if kind is HistogramIntersection or (len(columns) == 1 and kind is not Precomputed):
        return [AdditiveTerm(1.0, kernel, columns)]
    raise NoColumnTerms(f"{kernel!r} is none of these")


def _multiplied(left: list[Term], right: list[Term]) -> list[Term]:
    if len(left) * len(right) > MAX_TERMS:
        raise NoColumnTerms(f"as a sum it has more than {MAX_TERMS} terms")
    return [_product(a, b) for a in left for b in right]


def _product(a: Term, b: Term) -> Term:
    factor = a.factor * b.factor
    if isinstance(a, ProductTerm) and isinstance(b, ProductTerm):
        return ProductTerm(factor, a.square + b.square, a.absolute + b.absolute, a.chi_squared + b.chi_squared)
    if isinstance(a, PowerTerm) and isinstance(b, PowerTerm):
        degree = a.degree + b.degree
        same = a.constant == b.constant and np.array_equal(a.scale, b.scale)
        if same and degree <= _native.SHAPLEY_MAX_DEGREE:
            return replace(a, factor=factor, degree=degree)
    raise NoColumnTerms("it multiplies kernels of different sorts")


def _to_power(terms: list[Term], exponent: float, kernel: Kernel) -> list[Term]:
    if len(terms) == 1 and isinstance(terms[0], ProductTerm):
        one = terms[0]
        rates = (exponent * rate for rate in (one.square, one.absolute, one.chi_squared))
        return [ProductTerm(one.factor**exponent, *rates)]
    if exponent != int(exponent) or exponent < 1:
        raise NoColumnTerms(f"{kernel!r} has the exponent {exponent:g}")
    found = terms
    for _ in range(int(exponent) - 1):
        found = _multiplied(found, terms)
    return found
