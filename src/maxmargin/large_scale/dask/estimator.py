"""What the estimators of this package share: a local counterpart, whose parameters they have, and lazy predictions.

    dask array          ->  dask array, with the row chunks of X
    dask dataframe      ->  series (or, for several values per row, dataframe) with the index of X
    anything else       ->  what the local estimator gives

Each block goes to the local estimator of ``to_local``, which also checks it; nothing is computed before it is needed.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import dask
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from maxmargin.large_scale.dask.partitions import is_collection, is_frame, row_like
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.validation import Array

Class = TypeVar("Class", bound=type)
CLIENT = """\
client : distributed.Client or None, default=None
    The cluster; None means the current client, or a small cluster in this process if there is none.
"""
DASK_ENTRIES = entries(
    """
X : dask array or dataframe, list of delayed blocks, or array-like, of shape (n_samples, n_features)
    Blocks may be arrays, tables or CSR matrices; local data are divided into blocks and sent to the workers. With
    ``kernel="precomputed"`` the square kernel matrix.
X_new as X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)
    Points, one per row.
y : dask array or series, or array-like, of shape (n_samples,)
    Class labels, or target values; for NystroemRidge also of shape (n_samples, n_targets).
sample_weight : dask array or series, or array-like, of shape (n_samples,), default=None
    Weights; a weight of two equals repeating the sample.
"""
)
DASK_ENTRIES["landmark_model"] = """\
The model is that of the local estimator, with the same parameters and attributes, over the same landmarks.
``n_components="auto"`` tries several sizes on a sample of at most 100,000 rows on the client. With
``kernel="precomputed"`` X is
the square kernel matrix, in chunks of rows. ``cache_size`` and ``n_jobs`` apply to each worker."""
TRAFFIC = """\
Attributes
----------
traffic_ : Traffic
    Map-reduce steps, and bytes between client and workers. The other attributes are those of
    :class:`{name}`.
"""


def with_client(local: Any, name: str) -> Callable[[Class], Class]:
    """A class decorator: the parameters of the local estimator with their documentation, and ``client``.

    local: the local estimator
    name: what it is called in the documentation
    """

    def decorate(cls: Class) -> Class:
        parent = local.__init__
        signature = inspect.signature(parent)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)

        @functools.wraps(parent)
        def __init__(self: Any, *arguments: Any, client: Any = None, **parameters: Any) -> None:
            parent(self, *arguments, **parameters)
            self.client = client

        __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), client]
        )
        cls.__init__ = __init__  # type: ignore[misc]
        cls._local = local  # type: ignore[attr-defined]
        if cls.__doc__ and local.__doc__:  # not under python -OO
            cls.__doc__ = _documentation(inspect.cleandoc(cls.__doc__), inspect.cleandoc(local.__doc__), name)
        return cls

    return decorate


def _documentation(own: str, local: str, name: str) -> str:
    """The parameters of the local estimator and the client between the introduction and the sections that follow."""
    sections = re.split(r"^(?=\w[\w ]*\n-{3,}\n)", local, flags=re.MULTILINE)
    parameters = next(section for section in sections if section.startswith("Parameters\n")).rstrip()
    introduction, *rest = re.split(r"^(?=\w[\w ]*\n-{3,}\n)", own, flags=re.MULTILINE)
    return "\n".join((introduction, f"{parameters}\n{CLIENT}", TRAFFIC.format(name=name), *rest))


@documented(DASK_ENTRIES)
class ClusterEstimator(Estimator):
    """The base of the estimators: predictions by the local one, block by block."""

    _local: ClassVar[Any]
    traffic_: Traffic

    def __sklearn_clone__(self) -> Any:
        """A client is shared, not copied."""
        params = self.get_params(deep=False)
        return type(self)(**{k: v if k == "client" else clone(v, safe=False) for k, v in params.items()})

    def __getstate__(self) -> dict[str, Any]:
        """A client cannot leave its process."""
        return {**self.__dict__, "client": None}

    def to_local(self) -> Any:
        """The same model as a local estimator, to be saved or used where there is no cluster.

        Returns
        -------
        model : estimator of the same name
            Fitted; it shares no memory with a cluster.

        Examples
        --------
        >>> import dask.array as da
        >>> from maxmargin.large_scale.dask import LinearSVC
        >>> X, y = da.from_array([[0.0], [1.0], [3.0]], chunks=2), da.from_array([0, 0, 1], chunks=2)
        >>> LinearSVC(C=10.0).fit(X, y).to_local()
        LinearSVC(C=10.0)
        """
        check_is_fitted(self)
        model = self._local()
        vars(model).update({name: value for name, value in vars(self).items() if name not in ("client", "traffic_")})
        return model

    def predict(self, X: Any) -> Any:
        """Predictions for new points.

        {Parameters, X_new}

        Returns
        -------
        predictions : dask array or series, or array, of shape (n_samples,)
            A lazy collection for a dask collection, with its chunks and index.
        """
        return lazily(self.to_local(), X, "predict")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels, or the coefficient of determination of a regression.

        {Parameters, X_new, y, sample_weight}

        Returns
        -------
        score : float
            Computed at once; targets and predictions come to the client.
        """
        given = (self.predict(X), y, sample_weight)
        with contextlib.nullcontext() if self.client is None else self.client.as_current():
            predicted, y, weights = (joined(one) for one in dask.compute(*given))
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(y, predicted, sample_weight=weights))


@documented(DASK_ENTRIES)
class ClusterClassifier(ClusterEstimator):
    """A classifier, which has decision values."""

    def decision_function(self, X: Any) -> Any:
        """Decision values of new points.

        {Parameters, X_new}

        Returns
        -------
        decision : dask array, series or dataframe, or array, of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one value per class.
        """
        return lazily(self.to_local(), X, "decision_function")


# ---- predictions


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
