"""Predictions for dask collections: nothing is computed before it is asked for.

    dask array          ->  dask array, with the row chunks of X
    dask dataframe      ->  series (or, for several values per row, dataframe) with the index of X
    anything else       ->  what the local estimator gives

Each block is handed to the local estimator of ``to_local``, which also checks it.
"""

from __future__ import annotations

import warnings
from typing import Any

import dask
import numpy as np

from maxmargin.large_scale.dask.partitions import is_collection, is_frame, row_like
from maxmargin.runtime.validation import Array


def lazily(model: Any, X: Any, method: str) -> Any:
    """The values of a method of a fitted local estimator."""
    if not is_collection(X):
        return getattr(model, method)(X)
    holder = dask.delayed(model, pure=True)
    if isinstance(X, (list, tuple)):
        return [dask.delayed(_apply)(block, holder, method) for block in X]
    like = getattr(model, method)(_example(X, model))
    if is_frame(X):
        return _frame_of(X, holder, method, like, getattr(model, "classes_", None))
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    chunks = (X.chunks[0],) if like.ndim == 1 else (X.chunks[0], (like.shape[1],))
    return X.map_blocks(
        _apply,
        model=holder,
        method=method,
        dtype=like.dtype,
        chunks=chunks,
        drop_axis=1 if like.ndim == 1 else None,
        meta=np.empty((0,) * like.ndim, like.dtype),
    )


def _apply(block: Any, model: Any, method: str) -> Array:
    """A method of the model on one block, which may be empty."""
    if block.shape[0] == 0:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            like = getattr(model, method)(np.zeros((1, block.shape[1])))
        return like[:0]
    values: Array = getattr(model, method)(block)
    return values


def _apply_frame(block: Any, model: Any, method: str, like: Any) -> Any:
    if len(block) == 0:
        return like.iloc[:0]
    values = getattr(model, method)(block)
    made = type(like)
    if like.ndim == 1:
        return made(values, index=block.index, name=like.name)
    return made(values, index=block.index, columns=like.columns)


def _example(X: Any, model: Any) -> Any:
    """A row like those of X."""
    if is_frame(X):
        return row_like(X)
    return np.zeros((1, model.n_features_in_ if np.isnan(X.shape[1]) else int(X.shape[1])))


def _frame_of(X: Any, model: Any, method: str, like: Array, classes: Array | None) -> Any:
    """A series or dataframe over the partitions of X."""
    empty = X._meta.iloc[:0]
    if like.ndim == 1:
        made = empty.iloc[:, 0].astype(np.float64) if empty.shape[1] else empty
        made = type(made)(like[:0], index=empty.index, name=method)
    else:
        names = classes if classes is not None and len(classes) == like.shape[1] else np.arange(like.shape[1])
        made = type(empty)(like[:0], index=empty.index, columns=names)
    return X.map_partitions(_apply_frame, model, method, made, meta=made)


def joined(values: Any) -> Any:
    """Blocks of a list as one array."""
    return np.concatenate(values) if isinstance(values, list) and np.ndim(values[0]) > 0 else values
