"""Our estimators and transformers, and the attributes of each after a fit.

A new estimator is one entry; see :mod:`maxmargin.io.schema.words` for the words. Searches over hyperparameters are in
:mod:`maxmargin.io.schema.searches`.
"""

from __future__ import annotations

from typing import Any

from maxmargin.io.schema import consistency
from maxmargin.io.schema.encoder_consistency import prepare_encoder, table_encoder
from maxmargin.io.schema.words import Entry

NAMED = {"n_features_in_?": "size (d)", "feature_names_in_?": "texts (d)"}
MAP = {**NAMED, "_sklearn_output_config?": "dict"}
_KERNEL = {**NAMED, "_objects?": "bool", "kernel_": "resolved (d)"}
_KERNEL_MAP = {**MAP, **_KERNEL}
_KERNEL_SVM = {
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
    **_KERNEL_SVM,
    "class_weight_": "float64 (k)",
    "_scheme": "text",
    "_present": "mask (k)",
    "_n_support": "integers (k)",
    "calibration_?": "Calibration",
    "compression_report_?": "CompressionReport",
}
_FUNCTIONS = {**_KERNEL_SVM, "_n_support": "list", "compression_report_?": "CompressionReport"}
_WEIGHTED_KERNELS = {**_KERNEL, "kernel_weights_": "float64 (m)", "n_iter_": "count", "report_": "KernelWeightsReport"}
_LINEAR = {
    "classes_": "labels (k)",
    **NAMED,
    "coef_": "float64 (t, d) | csr (t, d)",
    "intercept_": "float64 (t)",
    "n_iter_": "count",
}
_ONE_LINEAR = {
    **NAMED,
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


def public(*parts: Any) -> Entry:
    """The entry of a public name; ``parts`` are those of an entry after the module."""
    return Entry("maxmargin", *parts)


ESTIMATORS: dict[str, Entry] = {
    "SVC": public(_CLASSIFIER, consistency.classifier),
    "NuSVC": public(_CLASSIFIER, consistency.classifier),
    "SVR": public(_FUNCTIONS, consistency.functions),
    "NuSVR": public({**_FUNCTIONS, "epsilon_?": "number | float64 (t)"}, consistency.functions),
    "QuantileSVR": public({**_FUNCTIONS, "quantiles_": "float64 (t)"}, consistency.functions),
    "OneClassSVM": public({**_FUNCTIONS, "offset_": "float64 (t)"}, consistency.one_function),
    "SVDD": public({**_FUNCTIONS, "offset_": "float64 (t)", "radius_": "number"}, consistency.one_function),
    "MultipleKernelSVC": public(
        {"classes_": "labels (k)", **_WEIGHTED_KERNELS, "estimator_": "SVC"}, consistency.weighted_kernels
    ),
    "MultipleKernelSVR": public({**_WEIGHTED_KERNELS, "estimator_": "SVR"}, consistency.weighted_kernels),
    "LinearSVC": public(
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
    "LinearSVR": public({**_ONE_LINEAR, "coef_": "float64 (d) | float64 (t, d)"}, consistency.linear_function),
    "LinearOneClassSVM": public(
        {**_ONE_LINEAR, "coef_": "float64 (t, d) | csr (t, d)", "offset_": "float64 (t)"}, consistency.linear_function
    ),
    "Perceptron": public(
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
    "CountErrorsSVC": public(
        {
            **{name: form for name, form in _LINEAR.items() if name != "n_iter_"},
            "error_rows_": "indices (e)",
            "objective_": "float",
            "lower_bound_": "float",
            "n_nodes_": "count",
        },
        consistency.linear,
    ),
    "KernelRidge": public(_RIDGE, consistency.ridge),
    "KernelRidgeCV": public(
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
    "BasisRegression": public(
        {
            **NAMED,
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
    "NystroemSVC": public(
        {"classes_": "labels (k)", **_LANDMARKS, "class_weight_": "float64 (k)", "_present": "mask (k)"},
        consistency.landmark_estimator,
    ),
    "NystroemSVR": public({**_LANDMARKS, "_single?": "bool"}, consistency.landmark_estimator),
    "NystroemRidge": public({**_LANDMARKS, "_single": "bool"}, consistency.landmark_estimator),
    "KernelPCA": public(
        {
            **_KERNEL_MAP,
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
    "KernelKNeighborsClassifier": public(
        {"classes_": "labels (k)", **_NEIGHBORS, "_codes": "int64 (n)"},
        consistency.neighbors,
        consistency.restore_neighbor_search,
    ),
    "KernelKNeighborsRegressor": public(
        {**_NEIGHBORS, "_targets": "float64 (n) | float64 (n, .)"},
        consistency.neighbors,
        consistency.restore_neighbor_search,
    ),
    "KernelKMeans": public(
        {
            **_KERNEL_MAP,
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
    "KernelDiscriminantAnalysis": public(
        {
            "classes_": "labels (k)",
            **_KERNEL_MAP,
            "priors_": "float64 (k)",
            "eigenvalues_": "float64 (q)",
            "means_": "float64 (k, q)",
            "_expansion": "expansion (d, q)",
            "explained_variance_ratio_": "float64 (.)",
        },
        consistency.kernel_method,
    ),
    "StreamingKernelSVC": public(
        {"classes_": "labels (k)", **NAMED, "features_": "estimator", "linear_": "estimator"},
        consistency.streaming_kernel,
    ),
    "Nystroem": public(
        {
            **_KERNEL_MAP,
            "components_": "points (m, d) | indices (m)",
            "component_indices_": "int64 (m) | none",
            "normalization_": "float64 (r, m)",
            "eigenvalues_": "float64 (m)",
        },
        consistency.landmark_features,
    ),
    "RandomFeatures": public(
        {
            **MAP,
            "kernel_": "resolved (d)",
            "frequencies_": "float64 (f, d)",
            "phase_": "number",
            "scale_": "number",
            "_n_features_out": "count",
        },
        consistency.random_features,
    ),
    "GaussianBasis": Entry(
        "maxmargin.kernel_methods.feature_maps", {**MAP, "centers_": "points (c, d)", "_kernel": "resolved (d)"}
    ),
    "GaussianSeriesMap": Entry("maxmargin.kernel_methods.feature_maps", {**MAP, "n_output_features_": "count"}),
    "PolynomialMap": Entry(
        "maxmargin.kernel_methods.feature_maps", {**MAP, "gamma_": "number", "n_output_features_": "count"}
    ),
    **dict.fromkeys(("MonomialMap", "PolarMap", "RadialMap"), Entry("maxmargin.kernel_methods.feature_maps", MAP)),
    "TableEncoder": public(
        {
            **MAP,
            "categories_": "list",
            "sparse_output_": "bool",
            "rare_?": "list",
            "idf_?": "list",
            "fill_categories_?": "list",
            **dict.fromkeys(("fill_?", "center_?", "spread_?"), "float64 (p)"),
            "indicated_?": "int64 (.)",
        },
        table_encoder,
        prepare_encoder,
    ),
}
