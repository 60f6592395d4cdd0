"""Kernel methods for many rows: m features stand for the kernel, at a cost of n m^2 instead of n^2 or n^3.

``Nystroem`` takes them from m landmarks and any kernel, ``RandomFeatures`` from random waves and a kernel of x - z. The
machines fit on landmarks, and say what that costs. A file is loaded when its name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Nystroem": "nystroem",
    "NystroemRidge": "ridge",
    "NystroemSVC": "classification",
    "NystroemSVR": "regression",
    "RandomFeatures": "random_features",
}
__all__ = ["Nystroem", "NystroemRidge", "NystroemSVC", "NystroemSVR", "RandomFeatures"]

if TYPE_CHECKING:
    from maxmargin.approximation.classification import NystroemSVC
    from maxmargin.approximation.nystroem import Nystroem
    from maxmargin.approximation.random_features import RandomFeatures
    from maxmargin.approximation.regression import NystroemSVR
    from maxmargin.approximation.ridge import NystroemRidge


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'maxmargin.approximation' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"maxmargin.approximation.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
