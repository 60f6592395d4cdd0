"""All shards of a fit, and the questions that are put to them.

A question is one call to each shard, straight from client to worker. Answers are added pairwise in the order of the
shards, never in that of their arrival: as many workers give the same bits.

Where sums are large and shards many, the client would drown in answers. Then shards add them among themselves: each
second one fetches that of its neighbour, each fourth one that of the second next, and so on, until the first has all,
and the client fetches one.

A lost worker takes its shard with it. Another worker gets the same partitions, which Dask computes from their source
again, the state that the question refers to, and the question. No other shard notices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import distributed
import numpy as np
from distributed.comm.core import CommClosedError

from maxmargin.large_scale.dask.cluster import TICK_SECONDS, ClusterError, Pulse
from maxmargin.large_scale.dask.shard import Key, Question, Setup, Shard, added

MAX_LOSSES = 5  # of a shard, while one question is asked
LARGE_ANSWER_BYTES = 2**20  # from which answers may be added on the workers
ADD_ON_WORKERS_MIN_SHARDS = 4  # for that


def size_of(thing: Any) -> int:
    """Bytes of the arrays in an answer or a question."""
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
    """What moved between client and workers.

    Examples
    --------
    >>> from maxmargin.large_scale.dask.shards import Traffic
    >>> print(Traffic(workers=2, partitions=8, steps=30, sent=120_000, received=900_000))
    2 workers, 8 partitions: 30 map-reduce steps, 120.0 kB sent, 900.0 kB received
    """

    # workers, partitions: where the rows were
    workers: int = 0
    partitions: int = 0
    steps: int = 0  # map-reduce steps: questions put to all shards
    # sent, received: bytes of all questions and answers, as they passed the client
    sent: int = 0
    received: int = 0
    lost: int = 0  # shards that were lost with their workers, and made anew

    def __str__(self) -> str:
        lost = f", {_counted(self.lost, 'shard')} made anew" if self.lost else ""
        return (
            f"{_counted(self.workers, 'worker')}, {_counted(self.partitions, 'partition')}: {self.steps} map-reduce "
            f"steps, {self.sent / 1e3:.1f} kB sent, {self.received / 1e3:.1f} kB received{lost}"
        )


@dataclass
class _Place:
    """Where a shard is: its worker, the actor, and how often it was made."""

    worker: str
    future: Any
    actor: Any = None
    made: int = 0


@dataclass
class Shards:
    """All shards of a fit."""

    pulse: Pulse
    parts: list[list[Any]]  # the partitions of each shard
    setup: Setup
    homes: list[str]  # a worker for each shard, to begin with
    traffic: Traffic = field(default_factory=Traffic)

    def __post_init__(self) -> None:
        self._setup: Any = None
        self.places = [self._submitted(i, home) for i, home in enumerate(self.homes)]
        self.traffic.workers, self.traffic.partitions = len(set(self.homes)), sum(map(len, self.parts))
        self._settle(range(len(self.parts)))

    # ---- making shards

    def _scattered(self) -> Any:
        """The setup on every worker."""
        if self._setup is None or self._setup.status not in ("finished", "pending"):
            client = self.pulse.client
            self._setup = client.scatter(self.setup, broadcast=True, hash=False)
        return self._setup

    def _submitted(self, i: int, worker: str) -> _Place:
        client = self.pulse.client
        try:
            setup: Any = self._scattered()
        except (OSError, TimeoutError):  # a worker was lost on the way: the setup travels with the shard
            setup = self.setup
        parts = client.compute(self.parts[i], workers=[worker], allow_other_workers=True)
        future = client.submit(Shard, setup, parts, actor=True, workers=[worker], allow_other_workers=False, pure=False)
        return _Place(worker, future)

    def _settle(self, which: Sequence[int]) -> None:
        """Wait until these shards are there, wherever that is in the end."""
        for i in which:
            for _ in range(MAX_LOSSES):
                place = self.places[i]
                if self._ready(place):
                    place.actor = place.future.result()
                    break
                self._move(i)
            else:
                raise ClusterError(self._too_many(i))

    def _ready(self, place: _Place) -> bool:
        """Wait for the shard; False if its worker is lost."""
        while True:
            try:
                distributed.wait(place.future, timeout=TICK_SECONDS)
            except TimeoutError:
                self.pulse.tick()
                if place.worker not in self.pulse.alive():
                    return False
                continue
            except distributed.CancelledError as error:
                if place.worker in self.pulse.alive():
                    raise ClusterError(
                        "A worker was lost, and with it data that Dask cannot compute again, such as blocks that were "
                        "scattered: make X and y from files, or from arrays of this process, or scatter copies "
                        "(client.scatter(..., broadcast=True))."
                    ) from error
                return False
            if place.future.status == "finished":
                return True
            if place.worker not in self.pulse.alive():
                return False
            place.future.result()  # an error of the task itself

    def _move(self, i: int) -> None:
        """Shard i to the worker that has least to do."""
        workers = self.pulse.some()
        if len(workers) > 1:  # the scheduler may not know yet that it is gone
            workers.pop(self.places[i].worker, None)
        busy = [place.worker for j, place in enumerate(self.places) if j != i]
        home = min(workers, key=lambda worker: (busy.count(worker), worker))
        made = self.places[i].made
        self.places[i] = self._submitted(i, home)
        self.places[i].made = made + 1
        self.traffic.lost += 1

    def _too_many(self, i: int) -> str:
        return (
            f"Shard {i} (partitions {len(self.parts[i])}) was lost {MAX_LOSSES} times in a row, last on "
            f"{self.places[i].worker}: its workers die. Do they have enough memory for the partitions?"
        )

    # ---- asking them

    def every(self, call: Callable[[int, Any], Any], which: Sequence[int] | None = None) -> list[Any]:
        """The results of ``call(i, actor)``, a call of a method, for each shard; calls whose shard is lost are made
        again."""
        which = range(len(self.places)) if which is None else which
        results: dict[int, Any] = {}
        for _ in range(MAX_LOSSES):
            left = [i for i in which if i not in results]
            if not left:
                break
            self._settle([i for i in left if self.places[i].actor is None])
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
            return call(i, self.places[i].actor)
        except RuntimeError:  # Dask says so where it knows already that the actor is lost
            return None

    def _result(self, i: int, future: Any) -> tuple[bool, Any]:
        """Whether the call came back, and its result."""
        place = self.places[i]
        while future is not None:
            try:
                return True, future.result(timeout=TICK_SECONDS)
            except TimeoutError:
                if future.done():  # in this moment, or the method itself has timed out
                    return True, future.result()
                self.pulse.tick()
                if place.worker not in self.pulse.alive():
                    break
            except OSError as error:
                # The scheduler may learn later than this call that a worker is gone.
                away = isinstance(error, CommClosedError) or "Unable to contact" in str(error)
                if not away and place.future.status == "finished" and place.worker in self.pulse.alive():
                    raise
                break
        return False, None

    def ask(self, question: Callable[[int], Question], *, large: bool = False) -> Any:
        """The sum of all shards' answers; ``question(i)`` is asked of shard i, again where it is lost."""
        asked: dict[int, Question] = {}

        def put(i: int, actor: Any, keep: bool = False) -> Any:
            asked[i] = question(i)
            return actor.ask(asked[i], keep)

        self.traffic.steps += 1
        if large and len(self.places) > ADD_ON_WORKERS_MIN_SHARDS:
            answer = self._added_there(put, question(0).key)
            self.traffic.received += size_of(answer)
        else:
            answers = self.every(put)
            self.traffic.received += sum(map(size_of, answers))
            answer = added(answers)
        self.traffic.sent += sum(size_of(one.operations) + size_of(one.state) for one in asked.values())
        return answer

    def _added_there(self, put: Callable[..., Any], key: Key) -> Any:
        """The sum, formed on the workers."""
        for _ in range(MAX_LOSSES):
            self.every(lambda i, actor: put(i, actor, True))
            if self._reduced(key):
                return self.every(lambda i, actor: actor.total(key), [0])[0]
        raise ClusterError(self._too_many(0))

    def _reduced(self, key: Key) -> bool:
        """Whether every shard's answer has reached the first."""
        stride, count = 1, len(self.places)
        while stride < count:
            pairs = [(i, i + stride) for i in range(0, count - stride, 2 * stride)]
            calls = [(i, self._called(self._absorbing(key, j), i)) for i, j in pairs]
            fine = True
            for i, future in calls:
                try:
                    fine = self._result(i, future)[0] and fine
                except (OSError, RuntimeError):  # its partner is lost
                    fine = False
            if not fine:
                return self._mended()
            stride *= 2
        return True

    def _absorbing(self, key: Key, j: int) -> Callable[[int, Any], Any]:
        return lambda _, actor: actor.absorb(key, self.places[j].actor)

    def _mended(self) -> bool:
        """After a loss on the way: lost shards begin anew, and so does the sum."""
        alive = self.pulse.alive()
        for i, place in enumerate(self.places):
            if place.worker not in alive or place.future.status != "finished":
                self._move(i)
        return False
