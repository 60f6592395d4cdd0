"""Searches over hyperparameters, their scorers and splitters, and scikit-learn's steps that a pipeline may hold.

A search is stored with its table of results and its refitted estimator. A scorer that is a function of scikit-learn is
found again by the parameter ``scoring``; only those of one-class searches, which may hold reference points, are stored.
"""

from __future__ import annotations

from maxmargin.io.schema import consistency
from maxmargin.io.schema.estimators import MAP, NAMED
from maxmargin.io.schema.words import Entry

_SEARCH = {
    **NAMED,
    "_objects?": "bool",
    "cv_results_": "dict",
    "error_reasons_": "dict",
    "best_index_": "count",
    "best_params_": "dict",
    "best_score_": "float",
    "n_splits_": "count",
    "status_": "text",
    **dict.fromkeys(("C_?", "nu_?", "epsilon_?", "gamma_?"), "number"),
    "refit_time_?": "float",
}
_CLASSIFIER = {"classes_": "labels (k)", **_SEARCH}
_SCALER = {**MAP, "n_samples_seen_": "numbers"}
_ENCODER = {
    **MAP,
    "categories_": "list",
    "_infrequent_enabled?": "bool",
    "_missing_indices?": "dict",
    "_infrequent_indices?": "list",
    "_default_to_infrequent_mappings?": "list",
}

STEPS: dict[str, Entry] = {
    "Pipeline": Entry("sklearn.pipeline", {"_sklearn_output_config?": "dict"}, consistency.pipeline),
    "ColumnTransformer": Entry(
        "sklearn.compose",
        {
            **MAP,
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
    "FunctionTransformer": Entry("sklearn.preprocessing", MAP),
    "StandardScaler": Entry(
        "sklearn.preprocessing", {**_SCALER, **dict.fromkeys(("mean_", "var_", "scale_"), "real (d) | none")}
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


def _search(best: str, state: dict[str, str]) -> Entry:
    return Entry(
        "maxmargin.model_selection", {**state, "best_estimator_?": best}, consistency.search, consistency.restore_scorer
    )


SEARCHES: dict[str, Entry] = {
    "SVCCV": _search("SVC | CellClassifier", _CLASSIFIER),
    "NuSVCCV": _search("NuSVC", _CLASSIFIER),
    "LinearSVCCV": _search("LinearSVC", _CLASSIFIER),
    "SVRCV": _search("SVR", _SEARCH),
    "CellClassifier": Entry(
        "maxmargin.model_selection.partition",
        {
            "classes_": "labels (k)",
            **NAMED,
            "models_": "list",
            **dict.fromkeys(("cell_sizes_", "_constant"), "indices (c)"),
            "_partition": "Partition",
        },
        consistency.cells,
    ),
    "OneClassSVMCV": _search("OneClassSVM", {**_SEARCH, "scorer_?": "MassVolume | Rejection | BothSides"}),
}

SCORERS: dict[str, Entry] = {
    "MassVolume": Entry("maxmargin.model_selection.one_class_scores", {"reference": "points (n, .)"}),
    "Rejection": Entry("maxmargin.model_selection.one_class_scores"),
    "BothSides": Entry("maxmargin.model_selection.one_class_scores"),
}

_FOLDS = {"n_splits": "count", "shuffle": "bool", "random_state": "count | none"}
_SHUFFLES = {
    "n_splits": "count",
    **dict.fromkeys(("test_size", "train_size"), "number | none"),
    "random_state": "count | none",
    "_default_test_size": "number",
}
SPLITTERS: dict[str, Entry] = {
    **dict.fromkeys(
        ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold"), Entry("sklearn.model_selection", _FOLDS)
    ),
    **dict.fromkeys(
        ("ShuffleSplit", "StratifiedShuffleSplit", "GroupShuffleSplit"), Entry("sklearn.model_selection", _SHUFFLES)
    ),
    **dict.fromkeys(("LeaveOneOut", "LeaveOneGroupOut"), Entry("sklearn.model_selection")),
    "TimeSeriesSplit": Entry(
        "sklearn.model_selection",
        {**_FOLDS, **dict.fromkeys(("max_train_size", "test_size"), "count | none"), "gap": "count"},
    ),
    "PredefinedSplit": Entry("sklearn.model_selection", {"test_fold": "integers (n)", "unique_folds": "integers (.)"}),
}
