"""All shards of a fit, and map-reduce steps over them.

A map-reduce step is one call to each shard, directly from client to worker. Results are added pairwise in the order of
the shards, not in the order of arrival, so that the same number of workers gives the same bits.

Large results of many shards would overload the client. Then the shards form a tree: every second one fetches the result
of its neighbour, every fourth one that of the second next, and so on, until the first shard has the sum, which alone
goes to the client.

A lost worker takes its shard with it. Another worker then gets the same partitions, which Dask recomputes from their
source, the state to which the step refers, and the step. The other shards are not affected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import distributed
import numpy as np
from distributed.comm.core import CommClosedError

from maxmargin.large_scale.dask.cluster import TICK_SECONDS, ClusterError, WorkerMonitor
from maxmargin.large_scale.dask.shard import Key, MapReduceStep, Setup, Shard, pairwise_sum

MAX_LOSSES = 5  # of a shard during one step
LARGE_RESULT_BYTES = 2**20  # from which results may be added on the workers
ADD_ON_WORKERS_MIN_SHARDS = 4


def size_of(thing: Any) -> int:
    """Bytes of the arrays in a step or a result."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, (tuple, list)):
        return sum(map(size_of, thing))
    if isinstance(thing, dict):
        return sum(map(size_of, thing.values()))
    if is_dataclass(thing):
        return sum(size_of(getattr(thing, part.name)) for part in fields(thing))
    return 0 if thing is None else 8


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


@dataclass
class Traffic:
    """What moved between client and workers."""

    workers: int = 0
    partitions: int = 0
    steps: int = 0  # map-reduce steps
    # sent, received: bytes that passed the client
    sent: int = 0
    received: int = 0
    lost: int = 0  # shards that were lost with their workers and rebuilt on others

    def __str__(self) -> str:
        lost = f", {_counted(self.lost, 'shard')} rebuilt" if self.lost else ""
        return (
            f"{_counted(self.workers, 'worker')}, {_counted(self.partitions, 'partition')}: {self.steps} map-reduce "
            f"steps, {self.sent / 1e3:.1f} kB sent, {self.received / 1e3:.1f} kB received{lost}"
        )


@dataclass
class _Location:
    """The worker and the actor of a shard."""

    worker: str
    future: Any
    actor: Any = None
    version: int = 0  # raised whenever the shard is rebuilt


@dataclass
class Shards:
    """All shards of a fit."""

    monitor: WorkerMonitor
    parts: list[list[Any]]  # the partitions of each shard
    setup: Setup
    assigned: list[str]  # the first worker of each shard
    traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self._setup: Any = None
        self.locations = [self._submitted(i, worker) for i, worker in enumerate(self.assigned)]
        self.traffic.workers, self.traffic.partitions = len(set(self.assigned)), sum(map(len, self.parts))
        self._wait_for(range(len(self.parts)))

    # ---- building shards

    def _scattered(self) -> Any:
        """The setup on every worker."""
        if self._setup is None or self._setup.status not in ("finished", "pending"):
            client = self.monitor.client
            self._setup = client.scatter(self.setup, broadcast=True, hash=False)
        return self._setup

    def _submitted(self, i: int, worker: str) -> _Location:
        client = self.monitor.client
        try:
            setup: Any = self._scattered()
        except (OSError, TimeoutError):  # a worker was lost on the way: the setup travels with the shard
            setup = self.setup
        parts = client.compute(self.parts[i], workers=[worker], allow_other_workers=True)
        future = client.submit(Shard, setup, parts, actor=True, workers=[worker], allow_other_workers=False, pure=False)
        return _Location(worker, future)

    def _wait_for(self, which: Sequence[int]) -> None:
        """Wait until these shards exist; those whose worker is lost are moved."""
        for i in which:
            for _ in range(MAX_LOSSES):
                place = self.locations[i]
                if self._ready(place):
                    place.actor = place.future.result()
                    break
                self._move(i)
            else:
                raise ClusterError(self._too_many(i))

    def _ready(self, place: _Location) -> bool:
        """Wait for the shard; False if its worker is lost."""
        while True:
            try:
                distributed.wait(place.future, timeout=TICK_SECONDS)
            except TimeoutError:
                self.monitor.poll()
                if place.worker not in self.monitor.alive():
                    return False
                continue
            except distributed.CancelledError as error:
                if place.worker in self.monitor.alive():
                    raise ClusterError(
                        "A worker was lost, and with it data that Dask cannot compute again, such as blocks that were "
                        "scattered: make X and y from files, or from arrays of this process, or scatter copies "
                        "(client.scatter(..., broadcast=True))."
                    ) from error
                return False
            if place.future.status == "finished":
                return True
            if place.worker not in self.monitor.alive():
                return False
            place.future.result()  # an error of the task itself

    def _move(self, i: int) -> None:
        """Rebuild shard i on the worker that has the fewest."""
        workers = self.monitor.wait_for_workers()
        if len(workers) > 1:  # the scheduler may not know yet that it is gone
            workers.pop(self.locations[i].worker, None)
        busy = [place.worker for j, place in enumerate(self.locations) if j != i]
        target = min(workers, key=lambda worker: (busy.count(worker), worker))
        version = self.locations[i].version
        self.locations[i] = self._submitted(i, target)
        self.locations[i].version = version + 1
        self.traffic.lost += 1

    def _too_many(self, i: int) -> str:
        return (
            f"Shard {i} (partitions {len(self.parts[i])}) was lost {MAX_LOSSES} times in a row, last on "
            f"{self.locations[i].worker}: its workers die. Do they have enough memory for the partitions?"
        )

    # ---- calling them

    def call_all(self, call: Callable[[int, Any], Any], which: Sequence[int] | None = None) -> list[Any]:
        """The results of ``call(i, actor)``, a method call, for each shard; repeated where the shard was lost."""
        which = range(len(self.locations)) if which is None else which
        results: dict[int, Any] = {}
        for _ in range(MAX_LOSSES):
            left = [i for i in which if i not in results]
            if not left:
                break
            self._wait_for([i for i in left if self.locations[i].actor is None])
            calls = [(i, self._called(call, i)) for i in left]
            for i, future in calls:
                fine, result = self._result(i, future)
                if fine:
                    results[i] = result
                else:
                    self._move(i)
        else:
            missing = [i for i in which if i not in results]
            if missing:
                raise ClusterError(self._too_many(missing[0]))
        return [results[i] for i in which]

    def _called(self, call: Callable[[int, Any], Any], i: int) -> Any:
        try:
            return call(i, self.locations[i].actor)
        except RuntimeError:  # raised by Dask if it knows that the actor is lost
            return None

    def _result(self, i: int, future: Any) -> tuple[bool, Any]:
        """Whether the call succeeded, and its result."""
        place = self.locations[i]
        while future is not None:
            try:
                return True, future.result(timeout=TICK_SECONDS)
            except TimeoutError:
                if future.done():  # just now, or the method itself raised a TimeoutError
                    return True, future.result()
                self.monitor.poll()
                if place.worker not in self.monitor.alive():
                    break
            except OSError as error:
                # The scheduler may learn later than this call that a worker is gone.
                away = isinstance(error, CommClosedError) or "Unable to contact" in str(error)
                if not away and place.future.status == "finished" and place.worker in self.monitor.alive():
                    raise
                break
        return False, None

    def map_reduce(self, step_of: Callable[[int], MapReduceStep], *, large: bool = False) -> Any:
        """The sum of the results of all shards; shard i executes ``step_of(i)``, again after a loss."""
        steps: dict[int, MapReduceStep] = {}

        def run(i: int, actor: Any, keep: bool = False) -> Any:
            steps[i] = step_of(i)
            return actor.run(steps[i], keep)

        self.traffic.steps += 1
        if large and len(self.locations) > ADD_ON_WORKERS_MIN_SHARDS:
            result = self._reduce_on_workers(run, step_of(0).key)
            self.traffic.received += size_of(result)
        else:
            results = self.call_all(run)
            self.traffic.received += sum(map(size_of, results))
            result = pairwise_sum(results)
        self.traffic.sent += sum(size_of(step.operations) + size_of(step.state) for step in steps.values())
        return result

    def _reduce_on_workers(self, run: Callable[..., Any], key: Key) -> Any:
        """The sum of all results, formed on the workers."""
        for _ in range(MAX_LOSSES):
            self.call_all(lambda i, actor: run(i, actor, True))
            if self._reduced(key):
                return self.call_all(lambda i, actor: actor.total(key), [0])[0]
        raise ClusterError(self._too_many(0))

    def _reduced(self, key: Key) -> bool:
        """Add all results to that of the first shard; False if a shard was lost meanwhile."""
        stride, count = 1, len(self.locations)
        while stride < count:
            pairs = [(i, i + stride) for i in range(0, count - stride, 2 * stride)]
            calls = [(i, self._called(self._absorbing(key, j), i)) for i, j in pairs]
            fine = True
            for i, future in calls:
                try:
                    fine = self._result(i, future)[0] and fine
                except (OSError, RuntimeError):  # the shard to absorb is lost
                    fine = False
            if not fine:
                self._rebuild_lost()
                return False
            stride *= 2
        return True

    def _absorbing(self, key: Key, j: int) -> Callable[[int, Any], Any]:
        return lambda _, actor: actor.absorb(key, self.locations[j].actor)

    def _rebuild_lost(self) -> None:
        alive = self.monitor.alive()
        for i, place in enumerate(self.locations):
            if place.worker not in alive or place.future.status != "finished":
                self._move(i)
