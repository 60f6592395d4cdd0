"""The classes a model file may hold, and what each of them leaves behind after a fit.

The list is closed: a file names a class, and the name is looked up here. Nothing is imported because a file says so. A
new estimator is one entry; see :mod:`maxmargin.io._schema` for the words.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from sklearn.base import BaseEstimator

from maxmargin import kernels

from . import _consistency as consistency
from ._errors import ModelFileError
from ._schema import Lengths, check_expansion

# attributes that are not stored: where a warm start would begin, and what is computed again after reading
FORGOTTEN = {"_last_fit", "_space", "_known", "_skl_callbacks"}

_NAMED = {"n_features_in_?": "size (d)", "feature_names_in_?": "texts (d)"}
_MAP = {**_NAMED, "_sklearn_output_config?": "dict"}
_KERNEL = {**_NAMED, "_objects?": "bool", "kernel_": "resolved (d)"}
_MACHINE = {
    **_KERNEL,
    "support_": "int32 (s)",
    "shape_fit_": "shape",
    "support_vectors_": "points (s, d) | float64 (0, 0)",
    "dual_coef_": "float64 (r, s) | csr (r, s)",
    "intercept_": "float64 (t)",
    "_expansion": "expansion (d, t)",
    "_gamma": "number | text | none",
    "_sparse": "bool",
    "n_iter_?": "integers (.) | count",
    "fit_status_?": "count",
    "report_?": "FitReport",
    "history_?": "History",
    "_solver_name?": "text",
    "_solver_reason?": "text",
    "_evaluations?": "count",
}
_CLASSIFIER = {
    "classes_": "labels (k)",
    **_MACHINE,
    "class_weight_": "float64 (k)",
    "_scheme": "text",
    "_present": "mask (k)",
    "_n_support": "integers (k)",
    "calibration_?": "Calibration",
    "compression_report_?": "CompressionReport",
}
_ONE_FUNCTION = {**_MACHINE, "_n_support": "list", "compression_report_?": "CompressionReport"}
_LINEAR = {
    "classes_": "labels (k)",
    **_NAMED,
    "coef_": "float64 (t, d) | csr (t, d)",
    "intercept_": "float64 (t)",
    "n_iter_": "count",
}
_ONE_LINEAR = {
    **_NAMED,
    "intercept_": "float64 (t)",
    "n_iter_": "count",
    "history_": "History",
    "report_": "LinearReport",
}
_RIDGE = {
    **_KERNEL,
    "_single": "bool",
    "_weights": "float64 (n)",
    "X_fit_": "points (n, d)",
    "_alphas": "float64 (q)",
    "_expansion": "expansion (d, q)",
    "dual_coef_": "float64 (n) | float64 (n, q)",
    "intercept_": "number | float64 (q)",
}
_LANDMARKS = {
    **_KERNEL,
    "landmarks_": "points (m, d) | indices (m)",
    "landmark_indices_": "int64 (m) | none",
    "n_components_": "size (m)",
    "coefficients_": "float64 (m, t)",
    "intercept_": "float64 (t)",
    "_expansion": "expansion (d, t)",
    "_squares": "float64 (.)",
    "n_iter_": "count",
    "report_?": "ApproximateReport",
    "history_?": "History",
}
_NEIGHBORS = {**_KERNEL, "X_fit_": "points (n, d)", "n_samples_fit_": "size (n)"}
_REPORT = {
    "machine": "text",
    "solver": "text",
    "solver_reason": "text",
    "kernel": "kernel",
    "parameters": "text",
    "status": "Status",
    **dict.fromkeys(("n_iter", "kernel_evaluations", "n_support", "n_samples", "n_features", "threads"), "count"),
    "margins": "float64* (.)",
    "error_name": "text",
    "dtype": "text",
    "kernel_valid": "bool | none",
    **dict.fromkeys(("training_error", "primal_objective", "dual_objective", "relative_gap", "kkt_violation"), "float"),
    **dict.fromkeys(("stationarity", "primal_infeasibility", "dual_infeasibility", "complementarity"), "float"),
    **dict.fromkeys(("tol", "seconds"), "float"),
}
_SCALER = {**_MAP, "n_samples_seen_": "numbers"}
_ENCODER = {
    **_MAP,
    "categories_": "list",
    "_infrequent_enabled?": "bool",
    "_missing_indices?": "dict",
    "_infrequent_indices?": "list",
    "_default_to_infrequent_mappings?": "list",
}


@dataclass(frozen=True)
class Entry:
    """A class: where it is, what its state must be, what its attributes must agree on, and what to compute again."""

    module: str
    state: dict[str, str] = field(default_factory=dict)
    agree: Callable[[dict[str, Any], dict[str, Any], Lengths], None] | None = None
    finish: Callable[[Any, Any], None] | None = None


ENTRIES: dict[str, Entry] = {
    "SVC": Entry("maxmargin.svm", _CLASSIFIER, consistency.classifier),
    "NuSVC": Entry("maxmargin.svm", _CLASSIFIER, consistency.classifier),
    "SVR": Entry("maxmargin.svm", _ONE_FUNCTION, consistency.one_function),
    "NuSVR": Entry("maxmargin.svm", {**_ONE_FUNCTION, "epsilon_?": "number"}, consistency.one_function),
    "OneClassSVM": Entry("maxmargin.svm", {**_ONE_FUNCTION, "offset_": "float64 (t)"}, consistency.one_function),
    "LinearSVC": Entry(
        "maxmargin.svm.linear",
        {
            **_LINEAR,
            "class_weight_": "float64 (k)",
            "_present": "mask (k)",
            "history_?": "History",
            "report_?": "LinearReport",
            "t_?": "count",
            "_stream?": "Stream",
            "stream_report_?": "StreamReport",
            "calibration_?": "Calibration",
        },
        consistency.linear,
    ),
    "LinearSVR": Entry(
        "maxmargin.svm.linear_regression", {**_ONE_LINEAR, "coef_": "float64 (d)"}, consistency.linear_function
    ),
    "LinearOneClassSVM": Entry(
        "maxmargin.svm.linear_one_class",
        {**_ONE_LINEAR, "coef_": "float64 (t, d) | csr (t, d)", "offset_": "float64 (t)"},
        consistency.linear_function,
    ),
    "Stream": Entry(
        "maxmargin.linear.stream",
        {
            **dict.fromkeys(("U", "Z"), "float64 (e, m)"),
            "totals": "float64 (k)",
            "numbers": "float64 (11)",
            "is_open": "bool",
            "intercept": "text",
            "scaling": "number",
        },
    ),
    "StreamReport": Entry(
        "maxmargin.linear.stream_report",
        {
            **dict.fromkeys(("machine", "parameters", "ended", "advice"), "text"),
            "complete": "bool",
            **dict.fromkeys(("rows", "held_out"), "count"),
            "size": "number",
            **dict.fromkeys(("objectives", "standard_errors", "error_rates"), "float64* (e)"),
            "seconds": "float",
        },
    ),
    "TableEncoder": Entry(
        "maxmargin.encoding",
        {**_MAP, "categories_": "list", "sparse_output_": "bool"},
        consistency.table_encoder,
    ),
    "Perceptron": Entry(
        "maxmargin.svm.perceptron",
        {
            **_LINEAR,
            "mistakes_": "int64 (t)",
            "_runs": "list",
            "history_?": "dict",
            "converged_?": "bool",
            "report_?": "PerceptronReport",
        },
        consistency.perceptron,
    ),
    "KernelRidge": Entry("maxmargin.regression", _RIDGE, consistency.ridge),
    "KernelRidgeCV": Entry(
        "maxmargin.regression",
        {
            **_RIDGE,
            "alphas_": "float64 (.)",
            "scores_": "numbers",
            "alpha_": "number",
            "best_score_": "float",
            "cv_results_?": "numbers",
        },
        consistency.ridge,
    ),
    "Nystroem": Entry(
        "maxmargin.approximation",
        {
            **_KERNEL,
            "_sklearn_output_config?": "dict",
            "components_": "points (m, d) | indices (m)",
            "component_indices_": "int64 (m) | none",
            "normalization_": "float64 (r, m)",
            "eigenvalues_": "float64 (m)",
        },
        consistency.landmark_features,
    ),
    "RandomFeatures": Entry(
        "maxmargin.approximation",
        {
            **_MAP,
            "kernel_": "resolved (d)",
            "frequencies_": "float64 (f, d)",
            "phase_": "number",
            "scale_": "number",
            "_n_features_out": "count",
        },
        consistency.random_features,
    ),
    "NystroemSVC": Entry(
        "maxmargin.approximation",
        {"classes_": "labels (k)", **_LANDMARKS, "class_weight_": "float64 (k)", "_present": "mask (k)"},
        consistency.landmark_machine,
    ),
    "NystroemSVR": Entry("maxmargin.approximation", _LANDMARKS, consistency.landmark_machine),
    "NystroemRidge": Entry("maxmargin.approximation", {**_LANDMARKS, "_single": "bool"}, consistency.landmark_machine),
    "BasisRegression": Entry(
        "maxmargin.regression",
        {
            **_NAMED,
            "_single": "bool",
            "_weights": "float64 (n)",
            "X_fit_": "points (n, d)",
            "basis_": "estimator",
            "rank_": "count",
            "coef_": "float64 (f) | float64 (q, f)",
            "intercept_": "number | float64 (q)",
        },
        consistency.basis,
    ),
    "KernelPCA": Entry(
        "maxmargin.decomposition",
        {
            **_KERNEL,
            "_sklearn_output_config?": "dict",
            "X_fit_": "points (n, d)",
            "gamma_": "number | text | none",
            "_means": "float64 (n)",
            "eigen_solver_": "text",
            "eigenvalues_": "float64 (c)",
            "eigenvectors_": "float64 (n, c)",
            "_expansion": "expansion (d, c)",
            "X_transformed_fit_?": "float64 (n, c)",
            "_inverse_kernel?": "resolved (c)",
            "dual_coef_?": "real (n, d)",
        },
        consistency.kernel_method,
    ),
    "KernelKNeighborsClassifier": Entry(
        "maxmargin.neighbors",
        {"classes_": "labels (k)", **_NEIGHBORS, "_codes": "int64 (n)"},
        consistency.neighbors,
        consistency.space_again,
    ),
    "KernelKNeighborsRegressor": Entry(
        "maxmargin.neighbors",
        {**_NEIGHBORS, "_targets": "float64 (n) | float64 (n, .)"},
        consistency.neighbors,
        consistency.space_again,
    ),
    "KernelKMeans": Entry(
        "maxmargin.cluster",
        {
            **_KERNEL,
            "_sklearn_output_config?": "dict",
            "_diagonal": "float64 (m)",
            "_square_norms": "float64 (c)",
            "_expansion": "expansion (d, c)",
            "inertia_": "number",
            "n_iter_": "count",
            "history_": "float64 (.)",
            "labels_": "int32 (.)",
        },
        consistency.kernel_method,
    ),
    "KernelDiscriminantAnalysis": Entry(
        "maxmargin.discriminant",
        {
            "classes_": "labels (k)",
            **_KERNEL,
            "_sklearn_output_config?": "dict",
            "priors_": "float64 (k)",
            "eigenvalues_": "float64 (q)",
            "means_": "float64 (k, q)",
            "_expansion": "expansion (d, q)",
            "explained_variance_ratio_": "float64 (.)",
        },
        consistency.kernel_method,
    ),
    "GaussianBasis": Entry("maxmargin.feature_maps", {**_MAP, "centers_": "points (c, d)", "_kernel": "resolved (d)"}),
    "GaussianSeriesMap": Entry("maxmargin.feature_maps", {**_MAP, "n_output_features_": "count"}),
    "PolynomialMap": Entry("maxmargin.feature_maps", {**_MAP, "gamma_": "number", "n_output_features_": "count"}),
    **dict.fromkeys(("MonomialMap", "PolarMap", "RadialMap"), Entry("maxmargin.feature_maps", _MAP)),
    "KernelExpansion": Entry(
        "maxmargin.expansion",
        {
            "kernel": "kernel",
            "anchors": "points (a, .) | indices (a)",
            "coefficients": "float64 (a, t)",
            "intercept": "float64 (t)",
        },
        lambda parameters, state, lengths: check_expansion(state),
    ),
    "FitReport": Entry("maxmargin.report", _REPORT),
    "Calibration": Entry(
        "maxmargin.calibration.calibrated",
        {
            **dict.fromkeys(("method", "kind", "note"), "text"),
            "maps": "list",
            **dict.fromkeys(("n_folds", "n_samples"), "count"),
            "log_loss": "float",
        },
        consistency.calibration,
    ),
    "SigmoidMap": Entry("maxmargin.calibration.sigmoid", {"slope": "number", "offset": "number"}),
    "IsotonicMap": Entry(
        "maxmargin.calibration.isotonic",
        {"knots": "float64 (m)", "levels": "float64 (m)"},
        consistency.isotonic_map,
    ),
    "TemperatureMap": Entry("maxmargin.calibration.temperature", {"slope": "number"}),
    "CompressionReport": Entry(
        "maxmargin.compression",
        {
            **dict.fromkeys(("n_before", "n_after", "n_points"), "count"),
            **dict.fromkeys(("tolerance", "change", "rms_change", "largest_change", "distance", "seconds"), "float"),
            **dict.fromkeys(("labels", "own_points"), "bool"),
        },
    ),
    "LinearReport": Entry("maxmargin.linear.report", _REPORT),
    "ApproximateReport": Entry(
        "maxmargin.approximation.report",
        {
            **_REPORT,
            **dict.fromkeys(("n_landmarks", "rank", "products"), "count"),
            **dict.fromkeys(("landmarks", "source", "trials_ended"), "text"),
            "stored": "bool",
            "passes": "number",
            "kernel_error": "KernelError | none",
            "trials": "any",
        },
        consistency.trials,
    ),
    "KernelError": Entry(
        "maxmargin.approximation.kernel_error",
        {
            **dict.fromkeys(("trace", "trace_standard_error", "largest", "spectral", "frobenius", "entry"), "float"),
            **dict.fromkeys(("n_rows", "n_population", "n_features"), "count"),
        },
    ),
    "Trial": Entry("maxmargin.approximation.auto", {"n_components": "count", "score": "float", "seconds": "float"}),
    "PerceptronReport": Entry(
        "maxmargin.svm.perceptron",
        {
            "converged": "bool",
            "ended": "text",
            "n_iter": "count",
            "mistakes": "integers (t)",
            "errors": "integers (t)",
            "n_samples": "count",
            "seconds": "float",
        },
    ),
    "PerceptronRun": Entry(
        "maxmargin.solvers.perceptron",
        {
            **dict.fromkeys(("v", "s", "best"), "float64 (c)"),
            "eta": "number",
            "fit_intercept": "bool",
            "average": "bool",
            "looks": "count",
            "fewest": "number",
        },
    ),
    "History": Entry(
        "maxmargin.history",
        {
            **dict.fromkeys(("machine", "iteration"), "int64 (n)"),
            **dict.fromkeys(("objective", "dual", "gap", "margin", "n_support", "seconds"), "float64* (n)"),
        },
    ),
    "Pipeline": Entry("sklearn.pipeline", {"_sklearn_output_config?": "dict"}, consistency.pipeline),
    "ColumnTransformer": Entry(
        "sklearn.compose",
        {
            **_MAP,
            "_columns": "list",
            "_transformer_to_input_indices": "dict",
            "_remainder": "any",
            "sparse_output_": "bool",
            "transformers_": "list",
            "output_indices_": "dict",
            "_n_features?": "count",
        },
        consistency.column_transformer,
    ),
    "FunctionTransformer": Entry("sklearn.preprocessing", _MAP),
    "StandardScaler": Entry(
        "sklearn.preprocessing",
        {**_SCALER, **dict.fromkeys(("mean_", "var_", "scale_"), "real (d) | none")},
    ),
    "MinMaxScaler": Entry(
        "sklearn.preprocessing",
        {**_SCALER, **dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), "numbers")},
    ),
    "MaxAbsScaler": Entry("sklearn.preprocessing", {**_SCALER, "max_abs_": "numbers", "scale_": "numbers"}),
    "OneHotEncoder": Entry(
        "sklearn.preprocessing",
        {**_ENCODER, "drop_idx_": "any", "_drop_idx_after_grouping?": "any", "_n_features_outs": "list"},
        consistency.encoder,
    ),
    "OrdinalEncoder": Entry("sklearn.preprocessing", _ENCODER, consistency.encoder),
}

_KERNEL_STATES: dict[str, dict[str, str]] = {
    "RBF": {"shift_": "float64 (d) | none"},
    "Columns": {"indices_": "int64 (c)", "n_features_": "size (d)"},
    "Centered": {
        "reference_": "points (n, .)",
        "weights_": "float64 (n)",
        "means_": "float64 (n)",
        "grand_mean_": "number",
    },
}
_KERNEL_CHECKS = {"Columns": consistency.columns, "Centered": consistency.centered}

for _name in kernels.__all__:
    _kind = getattr(kernels, _name)
    if isinstance(_kind, type) and issubclass(_kind, kernels.Kernel) and _name not in ("Kernel", "Callable"):
        ENTRIES[_name] = Entry(
            "maxmargin.kernels",
            _KERNEL_STATES.get(_name, {}),
            _KERNEL_CHECKS.get(_name),
            consistency.known_again if _name == "Centered" else None,
        )


def names() -> str:
    """The classes that a user can save, for messages."""
    return ", ".join(sorted(name for name in ENTRIES if issubclass(class_of(name), BaseEstimator)))


def class_of(name: str) -> type:
    """The class of an entry."""
    return getattr(importlib.import_module(ENTRIES[name].module), name)


def state_names(name: str) -> list[str]:
    return [key.rstrip("?") for key in ENTRIES[name].state]


def is_estimator(kind: type) -> bool:
    """Whether a class has parameters besides its state."""
    return issubclass(kind, BaseEstimator)


def field_names(kind: type) -> list[str]:
    """The fields of a dataclass."""
    if not is_dataclass(kind):
        raise ModelFileError(f"is damaged: {kind.__name__} is no plain record.")
    return [item.name for item in fields(kind)]
