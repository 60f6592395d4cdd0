"""A shard: the partitions of one worker, and the state of Newton's method on their rows.

It lives on its worker as a Dask actor. A map-reduce step is a few operations of
:class:`~maxmargin.large_scale.rows.local.LocalOracle` on every partition; its result is the sum of what the last
operation returns. Sums are formed pairwise in the order of the partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import distributed

from maxmargin.large_scale.dask.partitions import Partition
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.oracle import Sums
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.losses import SquaredHinge
from maxmargin.runtime.validation import Array

SETUP_T = "setup.T"  # among the arguments of an operation: the T of the setup, which the worker has already


class Setup(Protocol):
    """How to pose the problems of partitions; sent to every worker once.

    T: (m, r) or None; maps kernel values to features
    """

    @property
    def T(self) -> Array | None: ...

    def problems(self, parts: list[Partition], threads: int) -> list[LocalOracle]:
        """The problem of each partition's rows."""
        ...


Operation = tuple[str, tuple[Any, ...], dict[str, Any]]  # a method of LocalOracle and its arguments
Key = tuple[int, ...]  # the strides by which the rows of a problem were thinned out; () means all rows


@dataclass(frozen=True)
class OracleState:
    """The state of the rows of a problem."""

    # B, b: the coefficients of F; None while F = 0
    B: Array | None = None
    b: Array | None = None
    loss: SmoothedLoss | None = None  # that of the last evaluation
    # P, p, only: the direction and its outputs
    P: Array | None = None
    p: Array | None = None
    only: Array | None = None
    # (B, b, loss) at each centring of the hinges, in order: each centre depends on the earlier ones
    centred: tuple[tuple[Any, Any, Any], ...] = ()

    def restore(self, oracle: LocalOracle) -> None:
        """Put an oracle over the same rows into this state."""
        for B, b, loss in self.centred:
            oracle.evaluate(B, b, loss)
            oracle.recentre()
        if self.loss is not None or self.B is not None:
            oracle.evaluate(self.B, self.b, self.loss or SmoothedLoss(SquaredHinge()))
        if self.P is not None:
            assert self.p is not None
            oracle.direction(self.P, self.p, self.only)

    def after(self, operation: Operation) -> OracleState:
        """The state after one more operation."""
        name, arguments, _ = operation
        if name == "evaluate":
            B, b, loss = arguments
            return replace(self, loss=loss) if B is None else replace(self, B=B, b=b, loss=loss)
        if name == "direction":
            P, p, only = arguments
            return replace(self, P=P, p=p, only=only)
        if name == "recentre":
            return replace(self, centred=(*self.centred, (self.B, self.b, self.loss)))
        return self


@dataclass(frozen=True)
class MapReduceStep:
    """Operations for every partition, and how many of their results are summed over the partitions."""

    key: Key  # the problem
    number: int  # a step that arrives twice is executed once; its result is returned twice
    operations: tuple[Operation, ...]
    state: OracleState | None = None  # restored first; for a shard that does not have the problem's state
    n_results: int = 1  # results of so many of the last operations are returned; several form a tuple


def _sum_of_two(one: Any, two: Any) -> Any:
    """The sum of two results."""
    if isinstance(one, Sums):
        return Sums.added((one, two))
    if isinstance(one, tuple):
        return tuple(_sum_of_two(a, b) for a, b in zip(one, two, strict=True))
    return None if one is None else one + two


def pairwise_sum(values: Sequence[Any]) -> Any:
    """The sum of results, pairwise."""
    values = list(values)
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [_sum_of_two(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


class Shard:
    """Partitions of one worker."""

    def __init__(self, setup: Setup, parts: list[Partition]) -> None:
        try:
            threads = int(distributed.get_worker().state.nthreads)
        except ValueError:  # on no worker
            threads = 1
        self.T = setup.T
        self.problems: dict[Key, list[LocalOracle]] = {(): setup.problems(parts, threads)}
        self.numbers: dict[Key, int] = {}  # of the last step
        self.results: dict[Key, Any] = {}
        self.totals: dict[Key, Any] = {}  # the result plus those of other shards

    def _problem(self, key: Key) -> list[LocalOracle]:
        if key not in self.problems:
            self.problems[key] = [oracle.part(key[-1]) for oracle in self._problem(key[:-1])]
        return self.problems[key]

    def sizes(self, key: Key) -> list[int]:
        """Rows of each partition."""
        return [oracle.n for oracle in self._problem(key)]

    def held(self) -> bool:
        """Whether all kernel values are in memory."""
        return not any(oracle.rows.computed for oracle in self.problems[()])

    def run(self, step: MapReduceStep, keep: bool = False) -> Any:
        """Execute a step and return its result; with ``keep`` the result stays here, for :meth:`absorb`."""
        key, every = step.key, self._problem(step.key)
        if step.state is not None:
            for oracle in every:
                step.state.restore(oracle)
        if step.state is not None or self.numbers.get(key) != step.number:
            done = [self._execute(every, *operation) for operation in step.operations]
            self.numbers[key] = step.number
            self.results[key] = done[-1] if step.n_results == 1 else tuple(done[-step.n_results :])
        self.totals[key] = self.results[key]
        return None if keep else self.results[key]

    def _execute(self, every: list[LocalOracle], name: str, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The sum of an operation's results over the partitions."""
        arguments = [self.T if isinstance(one, str) and one == SETUP_T else one for one in given]
        return pairwise_sum([getattr(oracle, name)(*arguments, **options) for oracle in every])

    def sample(self, key: Key, counts: list[int]) -> list[Any]:
        """A number of rows from each partition."""
        every = zip(self._problem(key), counts, strict=True)
        return [oracle.sample(count) for oracle, count in every if count]

    def absorb(self, key: Key, other: Any) -> None:
        """Add another shard's result to this one's."""
        self.totals[key] = _sum_of_two(self.totals[key], other.total(key).result())

    def total(self, key: Key) -> Any:
        """The last result, plus those absorbed from other shards."""
        return self.totals[key]
