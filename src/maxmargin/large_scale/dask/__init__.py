"""Estimators for rows on many computers: linear and Nystroem models over dask arrays and dataframes.

    from maxmargin.large_scale.dask import LinearSVC
    model = LinearSVC().fit(X, y)            # X, y: dask collections, or rows in memory
    model.to_local()                         # an ordinary maxmargin.LinearSVC

The rows stay where they are. Newton's method takes a few dozen map-reduce steps: each sends small arrays to the workers
and adds up the arrays that they return. Nothing of Dask is imported before a name of this package is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {"LinearSVC": "linear", "NystroemRidge": "nystroem", "NystroemSVC": "nystroem", "NystroemSVR": "nystroem"}
__all__ = ["LinearSVC", "NystroemRidge", "NystroemSVC", "NystroemSVR"]

if TYPE_CHECKING:
    from maxmargin.large_scale.dask.linear import LinearSVC
    from maxmargin.large_scale.dask.nystroem import NystroemRidge, NystroemSVC, NystroemSVR


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'maxmargin.large_scale.dask' has no attribute {name!r}")
    try:
        module = importlib.import_module(f"maxmargin.large_scale.dask.{_WHERE[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed"):
            raise
        raise ImportError(
            f"maxmargin.large_scale.dask needs {error.name}, which is not installed: pip install 'maxmargin[dask]'"
        ) from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
