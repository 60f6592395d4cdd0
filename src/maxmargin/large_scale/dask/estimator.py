"""What the estimators of this package share: a local counterpart, whose parameters they have, and lazy predictions."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import dask
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from maxmargin.large_scale.dask.prediction import joined, lazily
from maxmargin.large_scale.dask.shards import Traffic
from maxmargin.runtime.estimator import Estimator

Class = TypeVar("Class", bound=type)
CLIENT = """\
client : distributed.Client or None, default=None
    The cluster; None means the current client, or a small cluster in this process if there is none.
"""
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

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

        Parameters
        ----------
        X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)

        Returns
        -------
        predictions : dask array or series, or array, of shape (n_samples,)
            A lazy collection for a dask collection, with its chunks and index.
        """
        return lazily(self.to_local(), X, "predict")

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
            predicted, y, weights = (joined(one) for one in dask.compute(*given))
        metric = accuracy_score if is_classifier(self) else r2_score
        return float(metric(y, predicted, sample_weight=weights))


class ClusterClassifier(ClusterEstimator):
    """A classifier, which has decision values."""

    def decision_function(self, X: Any) -> Any:
        """Decision values of new points.

        Parameters
        ----------
        X : dask array or dataframe, or array-like or sparse matrix, of shape (n_samples, n_features)

        Returns
        -------
        decision : dask array, series or dataframe, or array, of shape (n_samples,) or (n_samples, n_classes)
            Two classes: one value, positive for ``classes_[1]``. More: one value per class.
        """
        return lazily(self.to_local(), X, "decision_function")
