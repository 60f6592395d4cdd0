"""Kernel against map: the same polynomial classifier both ways, and what each costs.

With Phi(x)'Phi(z) = (gamma x'z + c)^p, a linear model on the features Phi(x) and a kernel model on the points x are
one quadratic program: the same decision function, at different costs. What is counted are multiplications, each with
the addition that goes with it:

    one inner product   kernel   d for x'z, one for gamma x'z + c, and the power by repeated squaring, which takes
                                 floor(log2 p) + (ones in p's binary digits) - 1
                        map      D, the number of features: C(d + p, p), or C(d + p - 1, p) for c = 0
    one point           kernel   nothing
                        map      one for each monomial of degree 1 to p, and one for each of the D weights
    a Gram matrix       n (n + 1) / 2 inner products and n points
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from maxmargin.kernel_methods.feature_maps import PolynomialMap
from maxmargin.kernel_methods.feature_maps.monomials import count
from maxmargin.kernels import Linear, Polynomial
from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.validation import Array, check_memory, check_points
from maxmargin.svm import SVC

GRAM_REPEATS = 3  # of each measurement of a Gram matrix; the fastest counts


@dataclass(frozen=True)
class MapAndKernel(TextReport):
    """One classifier through a kernel and through its map; printed, it is a table.

    Attributes
    ----------
    degree, gamma, coef0, C : float
        Of the kernel and the estimator, ``gamma`` as a number.
    n_samples, n_columns, n_map_features : int
        Points, numbers in a point, and numbers in its features.
    kernel_cost, map_cost : int
        Multiplications of one inner product.
    point_cost : int
        Multiplications that make the features of one point.
    kernel_gram_cost, map_gram_cost : int
        Multiplications of the Gram matrix, the map of its points included.
    kernel_gram_seconds, map_gram_seconds : float
        The same, measured.
    kernel_fit_seconds, map_fit_seconds : float
        A fit, the map included.
    kernel_objective, map_objective : float
        The primal objectives (sums over the binary problems of a multiclass problem).
    gram_difference : float
        The largest difference of the two Gram matrices, relative to their largest entry.
    decision_difference : float
        The largest difference of the decision values of the training points.
    agreement : float
        The share of training points that both give the same label.
    kernel_model, map_model : SVC
        The fitted models; the second one takes ``feature_map.transform(X)``.
    feature_map : PolynomialMap

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin import compare_map_and_kernel
    >>> X, y = make_circles(100, factor=0.4, noise=0.1, random_state=0)
    >>> result = compare_map_and_kernel(X, y, degree=2, coef0=1.0)
    >>> result.n_map_features, result.kernel_cost, result.map_cost
    (6, 4, 6)
    >>> result.agreement, bool(result.decision_difference < 1e-4)
    (1.0, True)
    """

    _left_columns: ClassVar[int] = 1

    degree: int
    gamma: float
    coef0: float
    C: float
    n_samples: int
    n_columns: int
    n_map_features: int
    kernel_cost: int
    map_cost: int
    point_cost: int
    kernel_gram_cost: int
    map_gram_cost: int
    kernel_gram_seconds: float
    map_gram_seconds: float
    kernel_fit_seconds: float
    map_fit_seconds: float
    kernel_objective: float
    map_objective: float
    gram_difference: float
    decision_difference: float
    agreement: float
    kernel_model: SVC = field(repr=False)
    map_model: SVC = field(repr=False)
    feature_map: PolynomialMap = field(repr=False)

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        factor = "" if self.gamma == 1 else f"{self.gamma:.4g} "
        kernel = f"({factor}x'z{f' + {self.coef0:g}' if self.coef0 else ''})^{self.degree}"
        rows = [
            (f"{self.n_samples:,} points, C = {self.C:g}", "kernel", "map"),
            ("inner product", kernel, "Phi(x)'Phi(z)"),
            ("numbers in a point", f"{self.n_columns:,}", f"{self.n_map_features:,}"),
            ("multiplications, inner product", f"{self.kernel_cost:,}", f"{self.map_cost:,}"),
            ("multiplications, mapping a point", "0", f"{self.point_cost:,}"),
            ("multiplications, Gram matrix", f"{self.kernel_gram_cost:,}", f"{self.map_gram_cost:,}"),
            ("seconds, Gram matrix", f"{self.kernel_gram_seconds:.3g}", f"{self.map_gram_seconds:.3g}"),
            ("seconds, fit", f"{self.kernel_fit_seconds:.3g}", f"{self.map_fit_seconds:.3g}"),
            ("objective", f"{self.kernel_objective:.8g}", f"{self.map_objective:.8g}"),
        ]
        return [("", [list(row) for row in rows])]

    def _notes(self) -> list[str]:
        return [
            f"same label for {self.agreement:.2%} of the points; decision values differ by at most "
            f"{self.decision_difference:.1e}, Gram matrices by {self.gram_difference:.1e} (relative)"
        ]


def compare_map_and_kernel(
    X: Any, y: Any, degree: int = 2, gamma: str | float = 1.0, coef0: float = 1.0, C: float = 1.0, *, tol: float = 1e-6
) -> MapAndKernel:
    """Fit a polynomial classifier with the kernel and with explicit features, and compare both.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training points.
    y : array-like of shape (n_samples,)
        Class labels.
    degree : int, default=2
        The degree of the kernel (gamma x'z + coef0)^degree, >= 1.
    gamma : {"scale", "auto"} or float, default=1.0
        The factor of x'z.
    coef0 : float, default=1.0
        The constant, >= 0.
    C : float, default=1.0
        Penalty of slack.
    tol : float, default=1e-6
        Tolerance of both solvers.

    Returns
    -------
    result : MapAndKernel
        The comparison, which prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import compare_map_and_kernel
    >>> X, y = load_iris(return_X_y=True)
    >>> print(compare_map_and_kernel(X, y, degree=3, gamma=0.1))  # doctest: +ELLIPSIS
    150 points, C = 1                           kernel            map
    inner product                     (0.1 x'z + 1)^3  Phi(x)'Phi(z)
    numbers in a point                              4             35
    multiplications, inner product                  7             35
    multiplications, mapping a point                0             69
    multiplications, Gram matrix               79,275        406,725
    ...
    same label for 100.00% of the points; decision values differ by at most ...
    """
    X = check_points(X)
    n, d = X.shape
    feature_map = PolynomialMap(degree=degree, gamma=gamma, coef0=coef0).fit(X)
    p, features = int(degree), feature_map.n_output_features_
    check_memory(16.0 * n * n, f"Two Gram matrices of {n:,} points", "compare on fewer of them.")
    kernel = Polynomial(degree=p, gamma=feature_map.gamma_, coef0=float(coef0)).resolve(X)
    linear = Linear()

    kernel_gram_seconds, K = _fastest(lambda: kernel.matrix(X, X))
    map_gram_seconds, G = _fastest(lambda: linear.matrix(Z := feature_map.transform(X), Z))
    largest = np.abs(K).max()
    gram_difference = float(np.abs(K - G).max() / largest) if largest else 0.0
    del K, G

    options: dict[str, Any] = {"C": C, "tol": tol, "decision_function_shape": "ovo"}
    start = time.perf_counter()
    by_kernel = SVC(kernel=kernel, **options).fit(X, y)
    between = time.perf_counter()
    Z = feature_map.transform(X)
    by_map = SVC(kernel="linear", **options).fit(Z, y)
    end = time.perf_counter()

    kernel_cost = d + 1 + (p.bit_length() - 1) + (p.bit_count() - 1)
    point_cost = sum(count(d, m) for m in range(1, p + 1)) + features
    pairs = n * (n + 1) // 2
    return MapAndKernel(
        degree=p,
        gamma=feature_map.gamma_,
        coef0=float(coef0),
        C=float(C),
        n_samples=n,
        n_columns=d,
        n_map_features=features,
        kernel_cost=kernel_cost,
        map_cost=features,
        point_cost=point_cost,
        kernel_gram_cost=pairs * kernel_cost,
        map_gram_cost=pairs * features + n * point_cost,
        kernel_gram_seconds=kernel_gram_seconds,
        map_gram_seconds=map_gram_seconds,
        kernel_fit_seconds=between - start,
        map_fit_seconds=end - between,
        kernel_objective=by_kernel.report_.primal_objective,
        map_objective=by_map.report_.primal_objective,
        gram_difference=gram_difference,
        decision_difference=float(np.abs(by_kernel.decision_function(X) - by_map.decision_function(Z)).max()),
        agreement=float(np.mean(by_kernel.predict(X) == by_map.predict(Z))),
        kernel_model=by_kernel,
        map_model=by_map,
        feature_map=feature_map,
    )


def _fastest(work: Callable[[], Array]) -> tuple[float, Array]:
    """The least time of a few runs, and the result."""
    best = np.inf
    for _ in range(GRAM_REPEATS):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return float(best), result
