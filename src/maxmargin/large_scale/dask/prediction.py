"""Predictions for dask collections: nothing is computed before it is asked for.

    dask array          ->  dask array, with the row chunks of X
    dask dataframe      ->  series (or, for several values a row, dataframe) with the index of X
    anything else       ->  what the one-machine estimator gives

Each block is handed to the one-machine estimator of ``to_local``, which also checks it.
"""

from __future__ import annotations

import abc
import contextlib
import warnings
from typing import Any

import dask
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from maxmargin.large_scale.dask.partitions import is_collection, is_frame, row_like
from maxmargin.runtime.validation import Array


def _apply(block: Any, machine: Any, method: str) -> Array:
    """A method of the machine on one block, which may be empty."""
    if block.shape[0] == 0:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            like = getattr(machine, method)(np.zeros((1, block.shape[1])))
        return like[:0]
    values: Array = getattr(machine, method)(block)
    return values


def _apply_frame(block: Any, machine: Any, method: str, like: Any) -> Any:
    if len(block) == 0:
        return like.iloc[:0]
    values = getattr(machine, method)(block)
    made = type(like)
    if like.ndim == 1:
        return made(values, index=block.index, name=like.name)
    return made(values, index=block.index, columns=like.columns)


def _joined(values: Any) -> Any:
    """Blocks of a list as one array."""
    return np.concatenate(values) if isinstance(values, list) and np.ndim(values[0]) > 0 else values


class LazyPrediction(abc.ABC):
    """``predict`` and ``decision_function`` of an estimator that has ``to_local`` and takes dask collections."""

    client: Any

    @abc.abstractmethod
    def to_local(self) -> Any:
        """The fitted estimator of one machine."""

    def __sklearn_clone__(self) -> Any:
        """A client is shared, not copied."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return type(self)(**{k: v if k == "client" else clone(v, safe=False) for k, v in params.items()})

    def __getstate__(self) -> dict[str, Any]:
        """A client cannot leave its process."""
        return {**self.__dict__, "client": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags

    def _lazily(self, X: Any, method: str) -> Any:
        machine = self.to_local()
        if not is_collection(X):
            return getattr(machine, method)(X)
        holder = dask.delayed(machine, pure=True)
        if isinstance(X, (list, tuple)):
            return [dask.delayed(_apply)(block, holder, method) for block in X]
        like = getattr(machine, method)(self._example(X, machine))
        if is_frame(X):
            return _frame_of(X, holder, method, like, getattr(self, "classes_", None))
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        chunks = (X.chunks[0],) if like.ndim == 1 else (X.chunks[0], (like.shape[1],))
        return X.map_blocks(
            _apply,
            machine=holder,
            method=method,
            dtype=like.dtype,
            chunks=chunks,
            drop_axis=1 if like.ndim == 1 else None,
            meta=np.empty((0,) * like.ndim, like.dtype),
        )

    @staticmethod
    def _example(X: Any, machine: Any) -> Any:
        """A row like those of X."""
        if is_frame(X):
            return row_like(X)
        if np.isnan(X.shape[1]):
            return np.zeros((1, machine.n_features_in_))
        return np.zeros((1, int(X.shape[1])))

    def predict(self, X: Any) -> Any:
        """Predictions for new points.

        Parameters
        ----------
        X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)

        Returns
        -------
        predictions : dask array or series, or array, of shape (n_samples,)
            A lazy collection for a dask collection, with its chunks and index.
        """
        return self._lazily(X, "predict")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels, or the coefficient of determination of a regression.

        Parameters
        ----------
        X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)
        y : dask array or series, or array-like, of shape (n_samples,)
        sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None

        Returns
        -------
        score : float
            Computed at once; targets and predictions come to the client.
        """
        given = (self.predict(X), y, sample_weight)
        with contextlib.nullcontext() if self.client is None else self.client.as_current():
            predicted, y, weights = (_joined(one) for one in dask.compute(*given))
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(y, predicted, sample_weight=weights))


def _frame_of(X: Any, machine: Any, method: str, like: Array, classes: Array | None) -> Any:
    """A series or dataframe over the partitions of X."""
    empty = X._meta.iloc[:0]
    if like.ndim == 1:
        made = empty.iloc[:, 0].astype(np.float64) if empty.shape[1] else empty
        made = type(made)(like[:0], index=empty.index, name=method)
    else:
        names = classes if classes is not None and len(classes) == like.shape[1] else np.arange(like.shape[1])
        made = type(empty)(like[:0], index=empty.index, columns=names)
    return X.map_partitions(_apply_frame, machine, method, made, meta=made)
