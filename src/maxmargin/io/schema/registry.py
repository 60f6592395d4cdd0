"""The classes a model file may hold.

The list is closed: a file names a class, and the name is looked up here. Nothing is imported at a file's request.
Estimators are listed in :mod:`maxmargin.io.schema.estimators`, searches over hyperparameters in
:mod:`maxmargin.io.schema.searches`, the parts of a fitted estimator in :mod:`maxmargin.io.schema.records`, the steps of
scikit-learn in :mod:`maxmargin.io.schema.searches`; kernels list themselves.
"""

from __future__ import annotations

import importlib
from dataclasses import fields, is_dataclass
from typing import Any

from sklearn.base import BaseEstimator

from maxmargin import kernels
from maxmargin.io.schema import consistency
from maxmargin.io.schema.estimators import ESTIMATORS
from maxmargin.io.schema.records import RECORDS
from maxmargin.io.schema.searches import SCORERS, SEARCHES, SPLITTERS, STEPS
from maxmargin.io.schema.words import Entry
from maxmargin.kernels.distance import Stationary

# Attributes that are not stored: the warm start, what is found or computed again after reading, and which cell of its
# grid a search refits.
NOT_STORED = {
    "_last_fit",
    "_training_rows",
    "_space",
    "_known",
    "_skl_callbacks",
    "_variant",
    "_chosen",
    "scorer_",
    "one_hot_",
}

ENTRIES: dict[str, Entry] = {**ESTIMATORS, **SEARCHES, **SCORERS, **SPLITTERS, **RECORDS, **STEPS}

STATIONARY = [name for name in dir(kernels) if getattr(kernels, name) in Stationary.__subclasses__()]
_KERNEL_STATES: dict[str, dict[str, str]] = {
    **{name: {"shift_": "float64 (d) | none"} for name in STATIONARY},
    "Columns": {"indices_": "int64 (c)", "n_features_": "size (d)"},
    "Centered": {
        "reference_": "points (n, .)",
        "weights_": "float64 (n)",
        "means_": "float64 (n)",
        "grand_mean_": "number",
    },
}
_KERNEL_CHECKS = {"Columns": consistency.columns, "Centered": consistency.centered}

for _name in dir(kernels):
    _kind = getattr(kernels, _name)
    if isinstance(_kind, type) and issubclass(_kind, kernels.Kernel) and _name not in ("Kernel", "Callable"):
        ENTRIES[_name] = Entry(
            "maxmargin.kernels",
            _KERNEL_STATES.get(_name, {}),
            _KERNEL_CHECKS.get(_name),
            consistency.restore_reference_means if _name == "Centered" else None,
        )


def names() -> str:
    """The classes that a user can save, for messages."""
    return ", ".join(sorted(name for name in ENTRIES if issubclass(class_of(name), BaseEstimator)))


def class_of(name: str) -> type:
    """The class of an entry."""
    return getattr(importlib.import_module(ENTRIES[name].module), name)


def state_names(name: str) -> list[str]:
    """The attributes of a class that are stored."""
    return [key.rstrip("?") for key in ENTRIES[name].state]


def is_stored(name: str, key: str, value: Any) -> bool:
    """Whether an attribute of an object is stored. Of scorers only our own are, which hold data and no function."""
    if key == "scorer_" and not isinstance(value, tuple(class_of(scorer) for scorer in SCORERS)):
        return False
    return key in state_names(name)


def required_names(name: str) -> list[str]:
    """The attributes that every fitted object of a class has."""
    return [key for key in ENTRIES[name].state if not key.endswith("?")]


def is_estimator(kind: type) -> bool:
    """Whether a class has parameters besides its state."""
    return issubclass(kind, BaseEstimator)


def record_state(value: Any) -> dict[str, Any]:
    """The fields of a dataclass, or the attributes of another record."""
    names = [item.name for item in fields(value)] if is_dataclass(value) else list(vars(value))
    return {name: getattr(value, name) for name in names}
