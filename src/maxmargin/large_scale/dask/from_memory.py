"""A local estimator, fitted on a cluster: its rows go to the workers, and a local model comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed

from maxmargin.large_scale import dask as cluster_estimators
from maxmargin.large_scale.dask.cluster import ClusterError, connected
from maxmargin.runtime.validation import Array, Points


def on_cluster(estimator: Any, X: Points, y: Array, address: str | None = None) -> Any:
    """Fit a local estimator on a cluster.

    estimator: LinearSVC, NystroemSVC, NystroemSVR or NystroemRidge of the library; its parameters are taken over
    address: of the scheduler, "tcp://host:8786"; without it a cluster in this process
    Returns the fitted estimator, of the same class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.large_scale.dask.from_memory import on_cluster
    >>> X, y = load_iris(return_X_y=True)
    >>> on_cluster(LinearSVC(), X, y).score(X, y) > 0.9
    True
    """
    kinds = [getattr(cluster_estimators, name) for name in cluster_estimators.__all__]
    kind = next((kind for kind in kinds if kind._local is type(estimator)), None)
    if kind is None:
        known = ", ".join(cluster_estimators.__all__)
        raise ValueError(f"maxmargin.large_scale.dask has no {type(estimator).__name__}: it has {known}.")
    with _client(address) as client:
        parameters = estimator.get_params(deep=False)
        return kind(**parameters, client=client).fit(X, y).to_local()


@contextmanager
def _client(address: str | None) -> Iterator[distributed.Client]:
    if address is None:
        with connected() as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(f"There is no Dask scheduler at {address}: {error}. Is it running?") from error
    with client:
        yield client
