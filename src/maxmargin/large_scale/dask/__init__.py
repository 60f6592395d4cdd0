"""Estimators for rows on many computers: linear and Nystroem models over dask arrays and dataframes.

    from maxmargin.large_scale.dask import LinearSVC
    model = LinearSVC().fit(X, y)            # X, y: dask collections, or rows in memory
    model.to_local()                         # an ordinary maxmargin.LinearSVC

The rows stay where they are. Newton's method takes a few dozen map-reduce steps: each sends small arrays to the workers
and adds up the arrays that they return. Nothing of Dask is imported before a name of this package is used.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _public(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed"):
            raise
        raise ImportError(
            f"maxmargin.large_scale.dask needs {error.name}, which is not installed: pip install 'maxmargin[dask]'"
        ) from error
