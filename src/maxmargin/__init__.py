"""maxmargin: support vector machines and kernel methods, exact, certified and fast.

Public names are loaded when they are first used, so that ``import maxmargin`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "SVC": "maxmargin.svm",
    "NuSVC": "maxmargin.svm",
    "SVR": "maxmargin.svm",
    "NuSVR": "maxmargin.svm",
    "OneClassSVM": "maxmargin.svm",
    "FitReport": "maxmargin.report",
    "InseparableError": "maxmargin.solvers.hulls",
    "validate_gram": "maxmargin.kernels",
}
__all__ = [
    "SVC",
    "SVR",
    "FitReport",
    "InseparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "digits",
    "displays",
    "kernels",
    "optimality",
    "problems",
    "solvers",
    "svm",
    "validate_gram",
]

if TYPE_CHECKING:
    from maxmargin import digits, displays, kernels, optimality, problems, solvers, svm
    from maxmargin.kernels import validate_gram
    from maxmargin.report import FitReport
    from maxmargin.solvers.hulls import InseparableError
    from maxmargin.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    if name in __all__:
        return importlib.import_module(f"maxmargin.{name}")
    raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
