"""The parts of a fitted estimator that are no estimators: its function, its report, the state of a stream.

A record has fields and no parameters, and all of its fields are stored; :mod:`maxmargin.io.schema.words` has the words.
"""

from __future__ import annotations

from maxmargin.io.schema import consistency
from maxmargin.io.schema.words import Entry, check_expansion

_REPORT = {
    "model": "text",
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
_REPORT_RENAMED = {"machine": "model"}

RECORDS: dict[str, Entry] = {
    "KernelExpansion": Entry(
        "maxmargin.svm.models.expansion",
        {
            "kernel": "kernel",
            "anchors": "points (a, .) | indices (a)",
            "coefficients": "float64 (a, t)",
            "intercept": "float64 (t)",
        },
        lambda parameters, state, lengths: check_expansion(state),
    ),
    "FitReport": Entry("maxmargin.svm.report", _REPORT, renamed=_REPORT_RENAMED),
    "LinearReport": Entry("maxmargin.svm.linear.fit", _REPORT, renamed=_REPORT_RENAMED),
    "ApproximateReport": Entry(
        "maxmargin.large_scale.report",
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
        renamed=_REPORT_RENAMED,
    ),
    "KernelError": Entry(
        "maxmargin.large_scale.features.kernel_error",
        {
            **dict.fromkeys(("trace", "trace_standard_error", "largest", "spectral", "frobenius", "entry"), "float"),
            **dict.fromkeys(("n_rows", "n_population", "n_features"), "count"),
        },
    ),
    "Trial": Entry("maxmargin.large_scale.auto", {"n_components": "count", "score": "float", "seconds": "float"}),
    "StreamReport": Entry(
        "maxmargin.svm.streaming.report",
        {
            **dict.fromkeys(("model", "parameters", "ended", "advice"), "text"),
            "complete": "bool",
            **dict.fromkeys(("rows", "held_out"), "count"),
            "size": "number",
            **dict.fromkeys(("objectives", "standard_errors", "error_rates"), "float64* (e)"),
            "seconds": "float",
        },
        renamed=_REPORT_RENAMED,
    ),
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
    "KernelWeightsReport": Entry(
        "maxmargin.svm.multiple_kernel",
        {
            "model": "text",
            "status": "Status",
            **dict.fromkeys(("primal_objective", "dual_objective", "relative_gap", "tol", "seconds"), "float"),
            **dict.fromkeys(("n_iter", "n_kernels", "n_used"), "count"),
        },
    ),
    "CompressionReport": Entry(
        "maxmargin.inspection.compression",
        {
            **dict.fromkeys(("n_before", "n_after", "n_points"), "count"),
            **dict.fromkeys(("tolerance", "change", "rms_change", "largest_change", "distance", "seconds"), "float"),
            **dict.fromkeys(("labels", "own_points"), "bool"),
        },
    ),
    "History": Entry(
        "maxmargin.runtime.history",
        {
            **dict.fromkeys(("problem", "iteration"), "int64 (n)"),
            **dict.fromkeys(("objective", "dual", "gap", "margin", "n_support", "seconds"), "float64* (n)"),
        },
        renamed={"machine": "problem"},
    ),
    "Stream": Entry(
        "maxmargin.svm.streaming.learner",
        {
            **dict.fromkeys(("U", "Z"), "float64 (e, m)"),
            "totals": "float64 (k)",
            "numbers": "float64 (11)",
            "is_open": "bool",
            "intercept": "text",
            "scaling": "number",
        },
    ),
    "PerceptronRun": Entry(
        "maxmargin.solvers.teaching.perceptron",
        {
            **dict.fromkeys(("v", "s", "best"), "float64 (c)"),
            "eta": "number",
            "fit_intercept": "bool",
            "average": "bool",
            "n_passed": "count",
            "fewest": "number",
        },
        renamed={"looks": "n_passed"},
    ),
    "Partition": Entry(
        "maxmargin.model_selection.partition",
        {"column": "indices (p)", "cut": "float64 (p)", "after": "int64 (p, 2)"},
        consistency.partition,
    ),
    "Calibration": Entry(
        "maxmargin.svm.calibration.calibrated",
        {
            **dict.fromkeys(("method", "kind", "note"), "text"),
            "maps": "list",
            **dict.fromkeys(("n_folds", "n_samples"), "count"),
            "log_loss": "float",
        },
        consistency.calibration,
    ),
    "SigmoidMap": Entry("maxmargin.svm.calibration.maps", {"slope": "number", "offset": "number"}),
    "IsotonicMap": Entry(
        "maxmargin.svm.calibration.maps", {"knots": "float64 (m)", "levels": "float64 (m)"}, consistency.isotonic_map
    ),
    "TemperatureMap": Entry("maxmargin.svm.calibration.maps", {"slope": "number"}),
}
