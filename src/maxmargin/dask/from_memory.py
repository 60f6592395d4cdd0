"""Rows of this process, fitted on a cluster: cut into chunks, sent to the workers once, and the local machine back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp

from maxmargin import dask as machines
from maxmargin._validation import Array, Points
from maxmargin.dask.cluster import ClusterError, connected

CHUNKS = 4  # for each worker
OF_ONE = ("random_state", "n_jobs", "cache_size")  # parameters that a cluster does without


def on_cluster(machine: Any, X: Points, y: Array, address: str | None = None) -> Any:
    """Fit an estimator of one machine on a cluster.

    Parameters
    ----------
    machine : estimator
        LinearSVC, NystroemSVC, NystroemSVR or NystroemRidge of the library; its parameters are taken over.
    X, y : training data
    address : str, optional
        Of the scheduler, "tcp://host:8786"; without it a cluster in this process.

    Returns
    -------
    fitted : estimator
        Of the same class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.dask.from_memory import on_cluster
    >>> X, y = load_iris(return_X_y=True)
    >>> on_cluster(LinearSVC(), X, y).score(X, y) > 0.9
    True
    """
    name = type(machine).__name__
    if name not in machines.__all__:
        raise ValueError(f"maxmargin.dask has no {name}: it has {', '.join(machines.__all__)}.")
    kind = getattr(machines, name)
    default = type(machine)().get_params()
    known = kind().get_params()
    for parameter, value in machine.get_params().items():
        same = value is default[parameter] or value == default[parameter]
        if parameter not in known and parameter not in OF_ONE and not same:
            raise ValueError(f"maxmargin.dask.{name} has no {parameter}: leave it out, or fit on one machine.")
    with _client(address) as client:
        parameters = {key: value for key, value in machine.get_params().items() if key in known}
        workers = max(1, len(client.scheduler_info()["workers"]))
        rows = max(1, -(-X.shape[0] // (CHUNKS * workers)))
        points = _rows(X, rows)
        return kind(**parameters, client=client).fit(points, da.from_array(y, chunks=rows)).to_local()


def _rows(X: Points, rows: int) -> Any:
    """X as a dask array of row chunks; of a sparse matrix, chunks that are sparse."""
    if not sp.issparse(X):
        return da.from_array(np.asarray(X), chunks=(rows, X.shape[1]))
    return da.from_array(sp.csr_array(X), chunks=(rows, X.shape[1]), asarray=False)


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
