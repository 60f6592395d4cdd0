"""The cluster of a fit: its client, and which of its workers are alive.

The scheduler notices a killed worker at once. One that hangs (a stopped process, an unplugged cable) keeps its
connection, and Dask itself waits minutes for it, as do workers that need its data. Here it counts as lost after
``SILENCE_SECONDS`` without a heartbeat, and the scheduler drops it. So no wait is endless: each wakes up every
``TICK_SECONDS`` to check the workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import distributed

from maxmargin.large_scale import dask as cluster_estimators
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array, Points

SILENCE_SECONDS = 20.0  # without a heartbeat, after which a worker counts as lost
TICK_SECONDS = 0.2  # between two checks of the workers, and of Ctrl-C


class ClusterError(RuntimeError):
    """The cluster cannot do the work: it is closed, has no workers, or loses them faster than it can work.

    Examples
    --------
    >>> from maxmargin.large_scale.dask.cluster import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


@contextmanager
def connected(client: Any = None) -> Iterator[distributed.Client]:
    """The client to work with: the one given, else the current one, else that of a small cluster in this process,
    which is closed in the end.
    """
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            with (
                distributed.LocalCluster(
                    n_workers=1, threads_per_worker=effective_threads(None), processes=False, dashboard_address=":0"
                ) as cluster,
                distributed.Client(cluster, set_as_default=False) as own,
                own.as_current(),
            ):
                yield own
            return
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client or None; got {client!r}.")
    if client.asynchronous:
        raise ValueError(f"client={client!r} is asynchronous: fit needs one made with asynchronous=False.")
    if client.status != "running":
        raise ClusterError(f"The client {client!r} is {client.status}: open a new one and give it as client=...")
    with client.as_current():
        yield client


async def _removed(address: str, dask_scheduler: Any = None) -> None:
    """Runs on the scheduler: remove a worker."""
    await dask_scheduler.remove_worker(address, stimulus_id="maxmargin-silent-worker")


class WorkerMonitor:
    """Which workers are alive, and waits that check it.

    callback: called every ``TICK_SECONDS`` of a wait; it may raise to end the wait
    """

    def __init__(self, client: distributed.Client, callback: Callable[[], None] | None = None) -> None:
        self.client, self.callback = client, callback
        # The last heartbeat of each worker, and when it arrived by this computer's clock: clocks may differ.
        self._heartbeats: dict[str, tuple[float, float]] = {}

    def alive(self) -> dict[str, int]:
        """Addresses of the workers that answer, and their threads."""
        workers = self._workers()
        now = time.monotonic()
        self._heartbeats = {
            address: self._heartbeats[address]
            if address in self._heartbeats and self._heartbeats[address][0] == worker["last_seen"]
            else (worker["last_seen"], now)
            for address, worker in workers.items()
        }
        answering = {
            address: int(worker["nthreads"])
            for address, worker in workers.items()
            if now - self._heartbeats[address][1] < SILENCE_SECONDS
        }
        for address in sorted(set(workers) - set(answering)):
            self._drop(address)
        return answering

    def _drop(self, address: str) -> None:
        """Have the scheduler remove a worker, so that nothing waits for its data."""
        client = self.client
        try:
            client.sync(client._run_on_scheduler, _removed, address, callback_timeout=SILENCE_SECONDS)
        except (OSError, TimeoutError, ImportError, ValueError) as error:
            raise ClusterError(f"Worker {address} of {client!r} does not answer, and cannot be dropped.") from error

    def _workers(self) -> dict[str, Any]:
        """The workers known to the scheduler."""
        client = self.client
        if client.status in ("closing", "closed"):
            raise ClusterError(f"The client {client!r} was closed during the fit: keep it open until fit returns.")
        try:
            known = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=SILENCE_SECONDS)
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"The scheduler of {client!r} does not answer: is its process still there?") from error
        return dict(known["workers"])

    def wait_for_workers(self) -> dict[str, int]:
        """The workers that are alive; an error if there are none for ``SILENCE_SECONDS``."""
        started = time.monotonic()
        while not (workers := self.alive()):
            self.poll()
            if time.monotonic() - started > SILENCE_SECONDS:
                raise ClusterError(
                    f"The cluster of {self.client!r} has had no worker that answers for {SILENCE_SECONDS:g} s: start "
                    "some."
                )
            time.sleep(TICK_SECONDS)
        return workers

    def poll(self) -> None:
        """Call the callback."""
        if self.callback is not None:
            self.callback()

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The results of tasks that may run on any worker; Dask itself repeats those of a worker that dies."""
        while True:
            try:
                distributed.wait(list(futures), timeout=TICK_SECONDS)
                break
            except TimeoutError:
                self.poll()
                if not self.alive():
                    self.wait_for_workers()
            except distributed.CancelledError as error:
                self._workers()
                raise ClusterError(f"Dask has given up data of this fit ({error}): fit again.") from error
        for future in futures:  # the error of the first task, not the earliest
            if future.status == "error":
                future.result()
        client = self.client
        return list(client.sync(client._gather, list(futures), callback_timeout=SILENCE_SECONDS))


def on_cluster(estimator: Any, X: Points, y: Array, address: str | None = None) -> Any:
    """Fit a local estimator on a cluster.

    estimator: LinearSVC, NystroemSVC, NystroemSVR or NystroemRidge of the library; its parameters are taken over
    address: of the scheduler, "tcp://host:8786"; without it a cluster in this process
    Returns the fitted estimator, of the same class.
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
