"""The classes a model file may hold.

The list is closed: a file names a class, and the name is looked up here. Nothing is imported because a file says so.
Estimators are listed in :mod:`maxmargin.io._estimators`, what they are made of in :mod:`maxmargin.io._records`, the
steps of scikit-learn in :mod:`maxmargin.io._steps`; kernels list themselves.
"""

from __future__ import annotations

import importlib
from dataclasses import fields, is_dataclass

from sklearn.base import BaseEstimator

from maxmargin import kernels
from maxmargin.io import _consistency as consistency
from maxmargin.io._errors import ModelFileError
from maxmargin.io._estimators import MACHINES
from maxmargin.io._records import RECORDS
from maxmargin.io._schema import Entry
from maxmargin.io._steps import STEPS

# attributes that are not stored: where a warm start would begin, and what is computed again after reading
FORGOTTEN = {"_last_fit", "_space", "_known", "_skl_callbacks"}

ENTRIES: dict[str, Entry] = {**MACHINES, **RECORDS, **STEPS}

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
