"""scikit-learn's classes that may be in a pipeline with ours, and the attributes of each after a fit."""

from __future__ import annotations

from maxmargin.io import _consistency as consistency
from maxmargin.io._estimators import MAP
from maxmargin.io._schema import Entry

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
