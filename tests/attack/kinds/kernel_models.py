"""Kernel models: SVC, NuSVC, SVR, NuSVR and OneClassSVM with every kernel, solver and scheme."""

from __future__ import annotations

from typing import Any

from attack import draws
from attack.case import Case
from attack.checks import certificates, contracts, exports, invariances, predictions
from attack.kinds.base import Kind

OF_KERNEL_MODELS = [
    certificates.violation,
    certificates.feasible,
    certificates.gap,
    certificates.not_worse,
    certificates.joint_optimum,
    certificates.converges,
    predictions.expansion,
    predictions.prediction,
    predictions.region,
    predictions.layout,
    predictions.bandwidth,
    predictions.weights_of_features,
    predictions.one_by_one,
    invariances.permuted,
    invariances.repeated,
    invariances.sparse_or_dense,
    invariances.float32_or_float64,
    invariances.threads,
    invariances.fitted_again,
    invariances.zero_weights,
    invariances.scaled_weights,
    invariances.renamed,
    contracts.parameters,
    contracts.input_untouched,
    contracts.pickled,
    contracts.independent,
    exports.saved,
    exports.libsvm,
    exports.onnx,
    contracts.refused_parameter,
    contracts.refused,
]

HARD_MAX_ITER = 100_000
COORDINATE_STEPS = 20_000  # one coordinate at a time creeps where two rows nearly cancel: C times K steps, no fault
KERNELS = ["linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "intersection", "precomputed"]
COMPOSED = ["=RBF(0.5) + Linear()", "=2.0 * RBF(0.3)", "=Linear() ** 2 + RBF(1.0)", "=Normalized(Polynomial(2))"]


def kernel_params(rng, tame: bool) -> dict[str, Any]:
    """A kernel with its parameters."""
    kernel = draws.choose(rng, KERNELS, [0.17, 0.16, 0.35, 0.06, 0.08, 0.05, 0.05, 0.08])
    if rng.random() < 0.06:
        return {"kernel": draws.choose(rng, COMPOSED)}
    params: dict[str, Any] = {"kernel": kernel}
    if kernel in ("poly", "rbf", "sigmoid", "laplacian", "chi2") and rng.random() < 0.6:
        number = draws.log_uniform(rng, -2, 1) if tame else draws.log_uniform(rng, -5, 4)
        params["gamma"] = draws.choose(rng, ["scale", "auto", number], [0.2, 0.2, 0.6])
    if kernel == "poly":
        params["degree"] = draws.choose(rng, [1, 2, 3, 4] if tame else [1, 2, 3, 5, 8])
    if kernel in ("poly", "sigmoid"):
        params["coef0"] = draws.choose(rng, [0.0, 1.0, 0.5] if tame else [0.0, 1.0, -1.0, 10.0])
    return params


def run_params(rng, tame: bool) -> dict[str, Any]:
    """How to solve: tolerance, solver, memory."""
    params: dict[str, Any] = {}
    if rng.random() < 0.5:
        params["tol"] = draws.choose(rng, [1e-1, 1e-2, 1e-4, 1e-6] if tame else [0.5, 1e-1, 1e-4, 1e-6, 1e-9, 1e-12])
    if rng.random() < 0.5:
        params["solver"] = draws.choose(rng, ["active_set", "smo", "coordinate_descent", "barrier", "qp_dual"])
    if rng.random() < 0.15:
        params["cache_size"] = draws.choose(rng, [0.001, 0.1, 1.0])
    if rng.random() < 0.1 and not tame:
        params["max_iter"] = draws.choose(rng, [0, 1, 5, 50])
    elif not tame and rng.random() < 0.95:  # the default of 10 million steps takes seconds for each fit of a trial
        params["max_iter"] = HARD_MAX_ITER
    return params


def fixed(params: dict[str, Any], tame: bool) -> dict[str, Any]:
    """Combinations that are documented not to go together are made to."""
    if params.get("solver") == "coordinate_descent":
        params["fit_intercept"] = False
        if not tame:
            params["max_iter"] = min(params.get("max_iter", COORDINATE_STEPS), COORDINATE_STEPS)
    if params.get("multiclass") == "crammer_singer":
        params.pop("solver", None)
    return params


def penalty(rng, tame: bool) -> float:
    if not tame and rng.random() < 0.1:
        return float("inf")
    return draws.log_uniform(rng, -2, 2) if tame else draws.log_uniform(rng, -6, 6)


def kernel_classifier(rng, kind: str) -> Case:
    """SVC and NuSVC."""
    tame = rng.random() < 0.5
    n, d = draws.shape(rng, tame)
    params = {**kernel_params(rng, tame), **run_params(rng, tame)}
    k = int(draws.choose(rng, [2, 3, 4, 5], [0.6, 0.25, 0.1, 0.05]))
    n = max(n, 2 * k if tame else k)
    X = draws.points(rng, n, d, tame, positive=params["kernel"] in ("chi2", "intersection"))
    if kind == "svc":
        params["C"] = penalty(rng, tame)
        schemes = ["ovo", "ovr", "crammer_singer"]
    else:
        params["nu"] = float(draws.choose(rng, [0.05, 0.1, 0.3] if tame else [1e-6, 0.01, 0.1, 0.5, 0.9]))
        schemes = ["ovo", "ovr"]
    if rng.random() < 0.3:
        params["multiclass"] = draws.choose(rng, schemes)
    if rng.random() < 0.15:
        params["fit_intercept"] = False
    if rng.random() < 0.2:
        params["class_weight"] = "balanced"
    if rng.random() < 0.2:
        params["decision_function_shape"] = draws.choose(rng, ["ovo", "ovr"])
    if rng.random() < 0.1 and params.get("decision_function_shape") != "ovo":
        params["break_ties"] = True
    if params.get("multiclass", "ovo") != "ovo":
        params.pop("decision_function_shape", None)
    y = draws.labels(rng, X, k, tame)
    return Case(
        kind,
        {"svc": "SVC", "nusvc": "NuSVC"}[kind],
        fixed(params, tame),
        X,
        y,
        draws.weights(rng, n, tame),
        draws.fresh_points(rng, X),
        sparse=bool(rng.random() < 0.2) and params["kernel"] != "precomputed",
        tame=tame,
    )


def kernel_regressor(rng, kind: str) -> Case:
    """SVR and NuSVR."""
    tame = rng.random() < 0.5
    n, d = draws.shape(rng, tame)
    params = {**kernel_params(rng, tame), **run_params(rng, tame), "C": penalty(rng, tame)}
    if kind == "svr":
        params["epsilon"] = float(draws.choose(rng, [0.0, 0.01, 0.1, 1.0]))
    else:
        params["nu"] = float(draws.choose(rng, [0.1, 0.3, 0.5, 0.8] if tame else [1e-6, 0.1, 0.5, 1.0]))
        params["C"] = min(params["C"], 1e8)
    if rng.random() < 0.15:
        params["fit_intercept"] = False
    X = draws.points(rng, n, d, tame, positive=params["kernel"] in ("chi2", "intersection"))
    return Case(
        kind,
        {"svr": "SVR", "nusvr": "NuSVR"}[kind],
        fixed(params, tame),
        X,
        draws.values(rng, X, tame),
        draws.weights(rng, n, tame),
        draws.fresh_points(rng, X),
        sparse=bool(rng.random() < 0.2) and params["kernel"] != "precomputed",
        tame=tame,
    )


def one_class(rng, kind: str) -> Case:
    """OneClassSVM."""
    tame = rng.random() < 0.5
    n, d = draws.shape(rng, tame)
    params = {**kernel_params(rng, tame), **run_params(rng, tame)}
    if params.get("solver") == "coordinate_descent":
        params["solver"] = "smo"
    params["nu"] = float(draws.choose(rng, [0.05, 0.1, 0.5] if tame else [1e-6, 0.01, 0.3, 0.99, 1.0]))
    X = draws.points(rng, n, d, tame, positive=params["kernel"] in ("chi2", "intersection"))
    return Case(
        kind,
        "OneClassSVM",
        params,
        X,
        None,
        draws.weights(rng, n, tame),
        draws.fresh_points(rng, X),
        sparse=bool(rng.random() < 0.2) and params["kernel"] != "precomputed",
        tame=tame,
    )


def excuses(case: Case, error: Exception) -> bool:
    """Refusals that are right even for ordinary data: a solver that does not take the problem, nu that no solution
    allows, a kernel matrix that is not positive semidefinite."""
    text = str(error)
    return "cannot solve this problem" in text or "infeasible" in text


KERNEL_MODELS: dict[str, Kind] = {
    "svc": Kind(kernel_classifier, OF_KERNEL_MODELS, 3.0, excuses=excuses),
    "nusvc": Kind(kernel_classifier, OF_KERNEL_MODELS, 1.5, excuses=excuses),
    "svr": Kind(kernel_regressor, OF_KERNEL_MODELS, 2.0, excuses=excuses),
    "nusvr": Kind(kernel_regressor, OF_KERNEL_MODELS, 1.0, excuses=excuses),
    "oneclass": Kind(one_class, OF_KERNEL_MODELS, 1.5, excuses=excuses),
}
