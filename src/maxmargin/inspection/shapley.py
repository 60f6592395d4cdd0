"""Shapley values: what each feature adds to a decision value, fairly divided and exact.

With f_S(x) the value when only the features of S are known, the Shapley value of feature j is the mean of
f_{S + j}(x) - f_S(x) over all orders in which the features can become known. All of them and the value without any add
up to f(x). The sum over 2^d sets S is an integral over the probability t with which each other feature is known,

    phi_j = integral_0^1 E[f_{S + j}(x) - f_S(x)] dt,        k in S with probability t

and for a kernel that is a product over the features the mean of the product is the product of the means:

    phi_j = sum_i c_i integral_0^1 (z_ij - r_ij) prod_{k != j} ((1 - t) r_ik + t z_ik) dt

with z_ik the kernel of feature k at x, r_ik at the background, or 1 where an unknown feature is left out of the kernel.
The integrand is a polynomial of degree d - 1 in t, so a Gauss-Legendre rule of d / 2 nodes gives the integral without
error (``native/shapley/shapley.h``). Polynomial kernels have the same form with power series for factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from maxmargin import _native
from maxmargin.inspection._column_terms import AdditiveTerm, PowerTerm, ProductTerm, Term, column_terms
from maxmargin.inspection._functions import FittedFunctions, dense, dense_points, fitted_functions
from maxmargin.runtime.text_report import pandas
from maxmargin.runtime.threads import effective_threads, run_tiles
from maxmargin.runtime.validation import Array

CALL_MAX_FACTORS = 2e7  # rows x anchors x columns x backgrounds of one compiled call: some 0.1 s
CALL_MAX_BACKGROUNDS = 64  # whose factors with one panel of anchors are in the cache together
RULE_ERROR = 2.0**-50  # of the integrand's maximum, by a bound that is rarely met: what rounding leaves anyway


@dataclass(frozen=True)
class ShapleyValues:
    """Shapley values of rows, with the attribute names of the package ``shap``.

    Attributes
    ----------
    values : array of shape (n, d) or (n, d, T)
        Contribution of each feature to f(x); one layer per function if there are several.
    base_values : array of shape (n,) or (n, T)
        The value without any feature; ``base_values + values.sum(axis=1)`` is f(x).
    data : array of shape (n, d)
        The rows.
    feature_names : list of str
        Names of the features.
    output_names : list of str
        Names of the functions: the classes, or the positive one of two.

    Examples
    --------
    >>> from maxmargin import LinearSVR, shapley_values
    >>> model = LinearSVR(C=100.0).fit([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]], [0.0, 1.0, 2.0])
    >>> found = shapley_values(model, [[2.0, 1.0]])
    >>> found.values.shape, found.feature_names
    ((1, 2), ['feature 0', 'feature 1'])
    """

    values: Array
    base_values: Array
    data: Array
    feature_names: list[str]
    output_names: list[str]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> ShapleyValues:
        """Some of the rows."""
        rows = slice(rows, rows + 1 or None) if isinstance(rows, (int, np.integer)) else rows
        return replace(self, values=self.values[rows], base_values=self.base_values[rows], data=self.data[rows])

    def output(self, name: Any) -> ShapleyValues:
        """The values of one function, of shape (n, d).

        Parameters
        ----------
        name : object
            One of ``output_names``, or the class itself.

        Returns
        -------
        ShapleyValues
        """
        if str(name) not in self.output_names:
            raise ValueError(f"there is no output {name!r}; the outputs are {', '.join(self.output_names)}.")
        if self.values.ndim == 2:
            return self
        at = self.output_names.index(str(name))
        return replace(
            self, values=self.values[:, :, at], base_values=self.base_values[:, at], output_names=[str(name)]
        )

    @property
    def importance(self) -> Array:
        """Mean absolute value per feature, over rows and outputs; shape (d,)."""
        sizes = np.abs(self.values)
        return sizes.mean(axis=0) if sizes.ndim == 2 else sizes.mean(axis=(0, 2))

    def to_shap(self) -> Any:
        """Convert to a ``shap.Explanation``, for the plots of shap.

        Returns
        -------
        shap.Explanation
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError(
                "to_shap needs the package shap: pip install shap. maxmargin.displays.ShapleyDisplay draws without it."
            ) from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names if self.values.ndim == 3 else None,
        )

    def to_frame(self) -> Any:
        """The values as a pandas DataFrame, one row per point and output.

        Returns
        -------
        pandas.DataFrame
        """
        pd = pandas()
        if self.values.ndim == 2:
            return pd.DataFrame(self.values, columns=self.feature_names)
        n, d, t = self.values.shape
        index = pd.MultiIndex.from_product([range(n), self.output_names], names=["row", "output"])
        return pd.DataFrame(self.values.transpose(0, 2, 1).reshape(n * t, d), index=index, columns=self.feature_names)

    def __str__(self) -> str:
        shown = np.argsort(-self.importance, kind="stable")[:10]
        width = max(len(self.feature_names[j]) for j in shown) if len(shown) else 0
        lines = [f"Shapley values of {len(self):,} rows, mean size of the largest {len(shown)} features"]
        return "\n".join(lines + [f"{self.feature_names[j]:<{width}}  {self.importance[j]:.4g}" for j in shown])


def shapley_values(
    estimator: Any, X: Any, background: Any = None, *, pairs: bool = False, n_jobs: int | None = None
) -> ShapleyValues:
    """Compute exact Shapley values of the features for each row.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier, regression or outlier detector of this library, with a kernel or linear. Its kernel must be
        a product over the columns (``RBF``, ``Laplacian``, ``ChiSquared``), a sum over them (``Linear``,
        ``HistogramIntersection``, kernels of single columns), a polynomial, or sums, products, powers and multiples of
        such kernels, of all or some columns.
    X : array-like or sparse matrix of shape (n, d)
        The rows to explain.
    background : array-like of shape (m, d), optional
        Background rows whose values replace unknown features ("interventional" Shapley values, as in
        ``shap.KernelExplainer``). A few dozen training rows are enough. Without it an unknown feature is left out of
        the kernel: a factor 1 in a product, a term 0 in a sum.
    pairs : bool, default=False
        With more than two classes and one-vs-one, explain the functions of the pairs of classes. By default there is
        one function per class, the mean of those against the other classes.
    n_jobs : int, optional
        Threads; all cores by default. The values do not depend on it.

    Returns
    -------
    ShapleyValues
        With ``values``, ``base_values``, ``data`` and ``feature_names``. Values and base value of a row add up to the
        decision value: ``decision_function``, or ``predict`` of a regression.

    Raises
    ------
    ValueError
        If the kernel has no such form; the message names an alternative.

    Notes
    -----
    The time is proportional to rows times support vectors times features times background rows times quadrature nodes.
    With d / 2 nodes the quadrature is exact; usually 8 to 32 give full double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC, shapley_values
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 1, 1]
    >>> model = SVC(C=10.0, gamma=1.0).fit(X, y)
    >>> found = shapley_values(model, [[1.0, 0.2]], background=X)
    >>> bool(np.allclose(found.base_values + found.values.sum(axis=1), model.decision_function([[1.0, 0.2]])))
    True
    >>> bool(found.values[0, 0] > abs(found.values[0, 1]))
    True
    """
    functions = fitted_functions(estimator, "shapley_values", by_pair=pairs)
    rows = dense_points(estimator, X) if functions.anchors.ndim > 1 else np.empty((0, 0))
    terms = column_terms(functions.kernel, rows.shape[1], "shapley_values")
    if isinstance(background, str):
        raise ValueError(f"background must be rows such as X[:100], or None; got {background!r}.")
    others = None if background is None else dense_points(estimator, background)
    if others is not None and len(others) == 0:
        raise ValueError("background has no rows: give some training rows, or None to leave unknown features out.")
    n, d = rows.shape
    values = np.zeros((n, len(functions.names), d))
    for term in terms:
        _add(term, functions, rows, others, values, effective_threads(n_jobs))
    base = _base(terms, functions) if others is None else functions(others).mean(axis=0)
    base_values = np.tile(base, (n, 1))
    one = len(functions.names) == 1
    names = getattr(estimator, "feature_names_in_", None)
    return ShapleyValues(
        values=np.ascontiguousarray(values[:, 0] if one else values.transpose(0, 2, 1)),
        base_values=base_values[:, 0] if one else base_values,
        data=rows,
        feature_names=[f"feature {j}" for j in range(d)] if names is None else [str(name) for name in names],
        output_names=functions.names,
    )


def _base(terms: list[Term], functions: FittedFunctions) -> Array:
    """f where every feature is left out."""
    each = [
        term.factor if isinstance(term, ProductTerm) else term.factor * term.constant**term.degree
        for term in terms
        if not isinstance(term, AdditiveTerm)
    ]
    return functions.intercept + sum(each) * functions.coefficients.sum(axis=0)


def _add(
    term: Term, functions: FittedFunctions, rows: Array, background: Array | None, values: Array, threads: int
) -> None:
    """Add one term's values, shape (n, T, d)."""
    if isinstance(term, AdditiveTerm):
        _add_columns(term, functions, rows, background, values)
    elif isinstance(term, PowerTerm) and term.degree <= 1:
        weights = np.asarray(functions.anchors.T @ functions.coefficients, np.float64) * term.scale[:, None]
        apart = rows if background is None else rows - background.mean(axis=0)
        values += term.degree * term.factor * apart[:, None, :] * weights.T[None]
    else:
        _add_compiled(term, functions, rows, background, values, threads)


def _add_columns(
    term: AdditiveTerm, functions: FittedFunctions, rows: Array, background: Array | None, values: Array
) -> None:
    anchors = dense(functions.anchors)
    for column in term.columns:
        only = [column]
        found = term.kernel.matrix(rows[:, only], anchors[:, only]) @ functions.coefficients
        if background is not None:
            found -= (term.kernel.matrix(background[:, only], anchors[:, only]) @ functions.coefficients).mean(axis=0)
        values[:, :, column] += term.factor * found


def _add_compiled(
    term: ProductTerm | PowerTerm,
    functions: FittedFunctions,
    rows: Array,
    background: Array | None,
    values: Array,
    threads: int,
) -> None:
    """Call after call of bounded work; how it is cut depends on the shapes only, and no two threads add to one row."""
    (n, d), m = rows.shape, functions.anchors.shape[0]
    others = [None] if background is None else background
    anchors_each = max(1, min(m, int(CALL_MAX_FACTORS // max(1, d))))
    others_each = max(1, min(len(others), CALL_MAX_BACKGROUNDS, int(CALL_MAX_FACTORS // max(1, anchors_each * d))))
    rows_each = max(1, int(CALL_MAX_FACTORS // max(1, anchors_each * d * others_each)))
    weight = term.factor / len(others)
    for first in range(0, m, anchors_each):
        some = slice(first, first + anchors_each)
        panels, coefficients = _panels(dense(functions.anchors[some]), functions.coefficients[some])
        for start in range(0, len(others), others_each):
            behind = None if background is None else np.ascontiguousarray(background[start : start + others_each])

            def work(
                tile: int, panels: Array = panels, coefficients: Array = coefficients, behind: Array | None = behind
            ) -> None:
                part = slice(tile * rows_each, (tile + 1) * rows_each)
                _call(term, rows[part], panels, coefficients, behind, weight, values[part])

            run_tiles(work, -(-n // rows_each), threads)


def _call(
    term: ProductTerm | PowerTerm,
    rows: Array,
    panels: Array,
    coefficients: Array,
    background: Array | None,
    weight: float,
    out: Array,
) -> None:
    if isinstance(term, PowerTerm):
        step = _native.SHAPLEY_NODES
        rules = _gauss_legendre((-(-term.degree // (2 * step)) * step,))
        _native.shapley_power(
            rows, panels, coefficients, background, term.scale, term.constant, term.degree, rules, weight, out
        )
        return
    square, absolute, chi_squared = (
        rate / math.log(2.0) if rate.any() else None for rate in (term.square, term.absolute, term.chi_squared)
    )
    rules = _rules(rows.shape[1])
    _native.shapley_product(rows, panels, coefficients, background, square, absolute, chi_squared, rules, weight, out)


def _panels(anchors: Array, coefficients: Array) -> tuple[Array, Array]:
    """Anchors and coefficients side by side in panels, the last one filled with zero coefficients."""
    (m, d), lanes = anchors.shape, _native.SHAPLEY_LANES
    count = -(-m // lanes)
    padded = np.zeros((count * lanes, d))
    padded[:m] = anchors
    weights = np.zeros((count * lanes, coefficients.shape[1]))
    weights[:m] = coefficients
    return (
        np.ascontiguousarray(padded.reshape(count, lanes, d).transpose(0, 2, 1)),
        np.ascontiguousarray(weights.reshape(count, lanes, -1).transpose(0, 2, 1)),
    )


@lru_cache
def _rules(columns: int) -> tuple[Array, Array, Array, Array]:
    """Rules for products of up to so many columns, each half again as large as the one before."""
    step = _native.SHAPLEY_NODES
    sizes = [step]
    while 2 * sizes[-1] < columns and _limit(sizes[-1]) < columns:
        sizes.append(-(-max(sizes[-1] + step, 3 * sizes[-1] // 2) // step) * step)
    return _gauss_legendre(tuple(sizes))


@lru_cache
def _gauss_legendre(sizes: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    """Nodes and weights of the rules on [0, 1], where each starts, and its limit of sigma."""
    both = [np.polynomial.legendre.leggauss(q) for q in sizes]
    nodes = np.concatenate([(1.0 + x) / 2.0 for x, _ in both])
    weights = np.concatenate([w / 2.0 for _, w in both])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return nodes, weights, starts, np.array([_limit(q) for q in sizes])


@lru_cache
def _limit(q: int) -> float:
    """The largest sigma for which q nodes err by less than ``RULE_ERROR``."""
    low, high = 0.0, float(q * q + 1)
    for _ in range(60):
        sigma = (low + high) / 2.0
        v = math.asinh(4.0 * q / sigma)
        error = math.log(64 / 15) + sigma * (math.cosh(v) - 1.0) / 2.0 - 2.0 * q * v - math.log1p(-math.exp(-2.0 * v))
        low, high = (sigma, high) if error <= math.log(RULE_ERROR) else (low, sigma)
    return low
