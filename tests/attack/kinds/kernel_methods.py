"""Kernel methods: ridge regression, principal components, neighbours, clusters, discriminants."""

from __future__ import annotations

from typing import Any

import numpy as np

from attack import draws
from attack.case import Case
from attack.checks import contracts, exports, invariances, kernel_methods, predictions
from attack.kinds.base import Kind
from attack.kinds.kernel_models import excuses, kernel_params

MOST_ROWS = 300  # their systems are n x n, and oracles solve them in extended precision
OF_EVERY_METHOD = [
    predictions.bandwidth,
    invariances.threads,
    invariances.fitted_again,
    contracts.parameters,
    contracts.input_untouched,
    contracts.pickled,
    contracts.independent,
    exports.saved,
    contracts.refused_parameter,
    contracts.refused,
]


def _drawn(rng) -> tuple[bool, int, int, dict[str, Any], np.ndarray]:
    """What all kinds draw first: tame, rows, columns, the kernel's parameters and points."""
    tame = bool(rng.random() < 0.6)
    n, d = draws.shape(rng, tame)
    n = min(n, MOST_ROWS)
    params = kernel_params(rng, tame)
    if params["kernel"] == "sigmoid":
        params = {"kernel": "rbf"}
    X = draws.points(rng, n, d, tame, positive=params["kernel"] in ("chi2", "intersection"))
    return tame, n, d, params, X


def _sparse(rng, params) -> bool:
    return bool(rng.random() < 0.2) and params["kernel"] != "precomputed"


def ridge(rng, kind: str) -> Case:
    """KernelRidge and KernelRidgeCV."""
    tame, n, _, params, X = _drawn(rng)
    if rng.random() < 0.5:
        params["fit_intercept"] = True
    if kind == "ridgecv":
        params["store_cv_results"] = True
        if rng.random() < 0.5:
            params["alphas"] = [1e-2, 1.0, 10.0]
    else:
        params["alpha"] = draws.log_uniform(rng, -2, 2) if tame else draws.log_uniform(rng, -10, 6)
    y = draws.values(rng, X, tame)
    if kind == "ridge" and rng.random() < 0.2:
        y = np.column_stack((y, np.round(np.cos(y), 3)))
    weight, new = draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    name = {"ridge": "KernelRidge", "ridgecv": "KernelRidgeCV"}[kind]
    return Case(kind, name, params, X, y, weight, new, sparse=_sparse(rng, params), tame=tame)


def pca(rng, kind: str) -> Case:
    """KernelPCA."""
    tame, n, _, params, X = _drawn(rng)
    if rng.random() < 0.5:
        params["n_components"] = int(rng.integers(1, n + 1))
    if rng.random() < 0.3:
        params["eigen_solver"] = draws.choose(rng, ["dense", "arpack", "randomized"])
        params["random_state"] = 0
        if params["eigen_solver"] == "arpack":
            params["n_components"] = int(rng.integers(1, max(2, n // 2)))
    new = draws.fresh_points(rng, X)
    extra = {"weights": False}
    return Case(kind, "KernelPCA", params, X, None, None, new, sparse=_sparse(rng, params), tame=tame, extra=extra)


def neighbours(rng, kind: str) -> Case:
    """KernelKNeighborsClassifier and KernelKNeighborsRegressor."""
    tame, n, _, params, X = _drawn(rng)
    params["n_neighbors"] = int(rng.integers(1, min(n, 8) + 1)) if rng.random() < 0.95 else n + int(rng.integers(1, 4))
    if rng.random() < 0.3:
        params["weights"] = "distance"
    classify = rng.random() < 0.6
    y = draws.labels(rng, X, min(3, n), tame) if classify else draws.values(rng, X, tame)
    name = "KernelKNeighborsClassifier" if classify else "KernelKNeighborsRegressor"
    new = draws.fresh_points(rng, X)
    extra = {"weights": False}
    return Case(kind, name, params, X, y, None, new, sparse=_sparse(rng, params), tame=tame, extra=extra)


def kmeans(rng, kind: str) -> Case:
    """KernelKMeans."""
    tame, n, _, params, X = _drawn(rng)
    params |= {"n_clusters": int(rng.integers(1, min(n, 6) + 1)), "random_state": int(rng.integers(100)), "n_init": 2}
    if rng.random() < 0.5:
        params["tol"] = 0.0
    if rng.random() < 0.3:
        params["init"] = "random"
    weight, new = draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    return Case(kind, "KernelKMeans", params, X, None, weight, new, sparse=_sparse(rng, params), tame=tame)


def kda(rng, kind: str) -> Case:
    """KernelDiscriminantAnalysis."""
    tame, n, _, params, X = _drawn(rng)
    params["alpha"] = draws.log_uniform(rng, -4, 1) if tame else draws.log_uniform(rng, -10, 3)
    k = int(draws.choose(rng, [2, 3, 4]))
    if n < k:
        X, n = np.concatenate([X] * k), n * k
    y = draws.labels(rng, X, k, tame)
    if rng.random() < 0.2:
        params["n_components"] = int(rng.integers(1, k))
    if rng.random() < 0.2:
        params["priors"] = [1.0 / k] * k
    weight, new = draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    name = "KernelDiscriminantAnalysis"
    return Case(kind, name, params, X, y, weight, new, sparse=_sparse(rng, params), tame=tame)


def _excuses(case: Case, error: Exception) -> bool:
    """An indefinite matrix, eigenvalues that ARPACK cannot give, distances that a precomputed matrix does not hold."""
    text = str(error)
    return excuses(case, error) or any(
        part in text for part in ("Leave-one-out needs 2 distinct", "n_components", "k >= N")
    )


RIDGE = [kernel_methods.ridge_equations, kernel_methods.ridge_values, kernel_methods.blended]
OWN = [kernel_methods.values_of_projections]

KERNEL_METHODS: dict[str, Kind] = {
    "ridge": Kind(ridge, [*RIDGE, *OWN, *OF_EVERY_METHOD, exports.onnx], 1.5, excuses=_excuses),
    "ridgecv": Kind(ridge, [*RIDGE, kernel_methods.left_out, *OWN, *OF_EVERY_METHOD], 1.0, excuses=_excuses),
    "pca": Kind(pca, [kernel_methods.components, kernel_methods.projections, *OWN, *OF_EVERY_METHOD], excuses=_excuses),
    "knn": Kind(neighbours, [kernel_methods.nearest, kernel_methods.voted_neighbours, *OWN, *OF_EVERY_METHOD],
    excuses=_excuses), "kmeans": Kind(kmeans, [kernel_methods.clusters, kernel_methods.clusters_permuted,
    *OF_EVERY_METHOD], excuses=_excuses), "kda": Kind(kda, [kernel_methods.discriminant, *OF_EVERY_METHOD],
    excuses=_excuses),
}  # fmt: skip
