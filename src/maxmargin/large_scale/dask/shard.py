"""One shard: the partitions of a worker, with what Newton's method keeps with their rows.

It lives on its worker as a Dask actor. A question is a few operations of
:class:`~maxmargin.large_scale.rows.local.LocalOracle`, done on every partition; the answer is the sum of what the
last of them returns. Sums are formed pairwise in the order of the partitions.
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

HELD = "held"  # stands for the T of the setup among the arguments of an operation


class Setup(Protocol):
    """What turns partitions into problems; sent to every worker once.

    T: (m, r) or None; from kernel values to features, where there are any
    """

    @property
    def T(self) -> Array | None: ...

    def problems(self, parts: list[Partition], threads: int) -> list[LocalOracle]:
        """The problem of each partition's rows."""
        ...


Operation = tuple[str, tuple[Any, ...], dict[str, Any]]  # a method of LocalOracle and its arguments
Key = tuple[int, ...]  # which problem: all rows, or by which strides its rows were thinned out


@dataclass(frozen=True)
class OracleState:
    """The state of the rows of a problem."""

    # B, b: the coefficients of F; None where F = 0 still
    B: Array | None = None
    b: Array | None = None
    loss: SmoothedLoss | None = None  # that of the last evaluation
    # P, p, only: the direction and its outputs
    P: Array | None = None
    p: Array | None = None
    only: Array | None = None
    # (B, b, loss) wherever the hinges were centred, in this order: centres follow from those before
    centred: tuple[tuple[Any, Any, Any], ...] = ()

    def restore(self, oracle: LocalOracle) -> None:
        """Bring new rows into this state."""
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
class Question:
    """One map-reduce step."""

    key: Key  # the problem
    turn: int  # questions are numbered, so that one which arrives twice is answered twice and obeyed once
    # what each partition is to do; the answer is the sum of what the last of them returns
    operations: tuple[Operation, ...]
    state: OracleState | None = None  # to begin with, where the shard is new to the problem
    answers: int = 1  # of how many of the last operations the answer is wanted; with several it is a tuple


def plus(one: Any, two: Any) -> Any:
    """The sum of two answers."""
    if isinstance(one, Sums):
        return Sums.added((one, two))
    if isinstance(one, tuple):
        return tuple(plus(a, b) for a, b in zip(one, two, strict=True))
    return None if one is None else one + two


def added(values: Sequence[Any]) -> Any:
    """The sum of answers, pairwise."""
    values = list(values)
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [plus(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
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
        self.turns: dict[Key, int] = {}
        self.answers: dict[Key, Any] = {}
        self.totals: dict[Key, Any] = {}  # the answer, and those of other shards that were added to it

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

    def ask(self, question: Question, keep: bool = False) -> Any:
        """Do what is asked and answer; with ``keep``, only remember the answer."""
        key, every = question.key, self._problem(question.key)
        if question.state is not None:
            for oracle in every:
                question.state.restore(oracle)
        if question.state is not None or self.turns.get(key) != question.turn:
            done = [self._done(every, *operation) for operation in question.operations]
            self.turns[key] = question.turn
            self.answers[key] = done[-1] if question.answers == 1 else tuple(done[-question.answers :])
        self.totals[key] = self.answers[key]
        return None if keep else self.answers[key]

    def _done(self, every: list[LocalOracle], name: str, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """One operation on every partition, and the sum of what it returns."""
        arguments = [self.T if isinstance(one, str) and one == HELD else one for one in given]
        return added([getattr(oracle, name)(*arguments, **options) for oracle in every])

    def sample(self, key: Key, counts: list[int]) -> list[Any]:
        """So many rows of each partition."""
        every = zip(self._problem(key), counts, strict=True)
        return [oracle.sample(count) for oracle, count in every if count]

    def absorb(self, key: Key, other: Any) -> None:
        """Add another shard's answer to this one's."""
        self.totals[key] = plus(self.totals[key], other.total(key).result())

    def total(self, key: Key) -> Any:
        """The last answer, with what was added to it."""
        return self.totals[key]
