"""Linear models: LinearSVC, LinearSVR and LinearOneClassSVM with every loss, penalty and solver."""

from __future__ import annotations

from typing import Any

from attack import draws
from attack.case import Case
from attack.checks import contracts, exports, invariances, linear, predictions
from attack.kinds.base import Kind
from attack.kinds.kernel_models import excuses, penalty

OF_LINEAR_MODELS = [
    linear.objective,
    linear.lower_bound,
    linear.reported_gap,
    linear.linear_converges,
    linear.linear_values,
    linear.linear_float32,
    predictions.region,
    predictions.one_by_one,
    invariances.permuted,
    invariances.repeated,
    invariances.sparse_bits,
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
    exports.onnx,
    contracts.refused_parameter,
    contracts.refused,
]

CLASSIFY = ["barrier", "newton", "coordinate_descent", "smo", "qp_primal", "qp_dual"]
TEACHING = ["subgradient", "stochastic_subgradient", "pegasos"]
L1_MAX_ITER = 100
TEACHING_EPOCHS = 60  # they learn slowly, and every epoch is as good as another


def _common(rng, tame: bool) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if rng.random() < 0.4:
        params["tol"] = draws.choose(rng, [1e-1, 1e-2, 1e-6] if tame else [0.5, 1e-2, 1e-6, 1e-9, 1e-12])
    if rng.random() < 0.1 and not tame:
        params["max_iter"] = draws.choose(rng, [1, 3, 20])
    return params


def _intercept(rng) -> dict[str, Any]:
    return draws.choose(rng, [{}, {"fit_intercept": False}, {"intercept_scaling": 1.0}, {"intercept_scaling": 30.0}])


def linear_svc(rng, kind: str) -> Case:
    """LinearSVC."""
    tame = bool(rng.random() < 0.5)
    n, d = draws.shape(rng, tame)
    k = int(draws.choose(rng, [2, 3, 4], [0.65, 0.25, 0.1]))
    n = max(n, 2 * k if tame else k)
    params: dict[str, Any] = {**_common(rng, tame), "C": penalty(rng, tame)}
    if rng.random() < 0.5:
        params |= _intercept(rng)
    style = draws.choose(rng, ["any", "l1", "joint"], [0.75, 0.15, 0.1])
    if style == "l1":
        params["penalty"], params["C"] = "l1", min(params["C"], 1e6)
        if not tame:  # a thousand iterations over rows that hardly differ take seconds
            params.setdefault("max_iter", L1_MAX_ITER)
    elif style == "joint":
        params["multi_class"] = "crammer_singer"
    else:
        params["loss"] = draws.choose(rng, ["hinge", "squared_hinge"])
        if rng.random() < 0.6:
            solvers = CLASSIFY if rng.random() < 0.8 else TEACHING
            params["solver"] = draws.choose(rng, solvers)
            if params["solver"] == "newton":
                params["loss"] = "squared_hinge"
            if params["solver"] in TEACHING:
                params["max_iter"] = TEACHING_EPOCHS
    if rng.random() < 0.2:
        params["class_weight"] = "balanced"
    X = draws.points(rng, n, d, tame)
    y = draws.labels(rng, X, k, tame)
    weight, new = draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    return Case(kind, "LinearSVC", params, X, y, weight, new, sparse=bool(rng.random() < 0.25), tame=tame)


def linear_svr(rng, kind: str) -> Case:
    """LinearSVR."""
    tame = bool(rng.random() < 0.5)
    n, d = draws.shape(rng, tame)
    params: dict[str, Any] = {**_common(rng, tame), "C": min(1e6, penalty(rng, tame))}
    params["epsilon"] = float(draws.choose(rng, [0.0, 0.01, 0.3]))
    params["loss"] = draws.choose(rng, ["epsilon_insensitive", "squared_epsilon_insensitive"])
    if rng.random() < 0.5:
        params |= _intercept(rng)
    if rng.random() < 0.6:
        solvers = ["barrier", "coordinate_descent"] + (["newton"] if params["loss"].startswith("squared") else [])
        params["solver"] = draws.choose(rng, solvers)
    X = draws.points(rng, n, d, tame)
    y, weight, new = draws.values(rng, X, tame), draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    return Case(kind, "LinearSVR", params, X, y, weight, new, sparse=bool(rng.random() < 0.25), tame=tame)


def linear_one_class(rng, kind: str) -> Case:
    """LinearOneClassSVM."""
    tame = bool(rng.random() < 0.5)
    n, d = draws.shape(rng, tame)
    params = _common(rng, tame)
    params["nu"] = float(draws.choose(rng, [0.05, 0.2, 0.5] if tame else [1e-6, 0.01, 0.3, 0.99, 1.0]))
    if rng.random() < 0.5:
        params["solver"] = draws.choose(rng, ["barrier", "coordinate_descent"])
    X = draws.points(rng, n, d, tame)
    if rng.random() < 0.6:
        X = X + X.dtype.type(3.0)  # away from the origin, which no halfspace holds otherwise
    weight, new = draws.weights(rng, n, tame), draws.fresh_points(rng, X)
    sparse = bool(rng.random() < 0.25)
    return Case(kind, "LinearOneClassSVM", params, X, None, weight, new, sparse=sparse, tame=tame)


LINEAR_MODELS: dict[str, Kind] = {
    "linearsvc": Kind(linear_svc, OF_LINEAR_MODELS, 3.0, excuses=excuses),
    "linearsvr": Kind(linear_svr, OF_LINEAR_MODELS, 2.0, excuses=excuses),
    "linearoneclass": Kind(linear_one_class, OF_LINEAR_MODELS, 1.0, excuses=excuses),
}
