"""Searches over hyperparameters, the scorers that belong to them, and the splitters of cross-validation.

A search is stored with its table of results and its refitted estimator. A scorer that is a function of scikit-learn is
found again by the parameter ``scoring``; only those of one-class searches, which may hold reference points, are stored.
"""

from __future__ import annotations

from maxmargin.io import _consistency as consistency
from maxmargin.io._estimators import NAMED
from maxmargin.io._schema import Entry

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


def _search(best: str, state: dict[str, str]) -> Entry:
    return Entry(
        "maxmargin.model_selection",
        {**state, "best_estimator_?": best},
        consistency.search,
        consistency.find_scorer,
    )


SEARCHES: dict[str, Entry] = {
    "SVCCV": _search("SVC", _CLASSIFIER),
    "NuSVCCV": _search("NuSVC", _CLASSIFIER),
    "LinearSVCCV": _search("LinearSVC", _CLASSIFIER),
    "SVRCV": _search("SVR", _SEARCH),
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
