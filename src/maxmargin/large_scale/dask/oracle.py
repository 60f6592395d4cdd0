"""Newton's questions to rows on many computers: :class:`~maxmargin.large_scale.rows.oracle.Rounds` over shards.

The client keeps what the rows have been told, a few small arrays,

    F = K B + b,    G = K P + p,    the loss,

so that a shard that is lost can be told again. Questions are few, for each costs milliseconds however small it is:

    - What has no answer (a direction, a move) waits, and travels with the next question.
    - Who has asked for second derivatives after the sums at F gets both together from then on. A step of Newton's
      method is two rounds: all derivatives at F, and the sums along the direction.
    - A part of the rows that is small is fetched once, and asked on this computer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.large_scale.dask.shard import HELD, Key, Operation, Question
from maxmargin.large_scale.dask.shards import LARGE, Shards
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.rows.local import LocalRounds
from maxmargin.large_scale.rows.oracle import Rounds, Sums
from maxmargin.large_scale.rows.targets import Values
from maxmargin.large_scale.rows.tiles import StoredRows
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array

FETCHED = 2**25  # bytes of rows up to which a part of them is fetched
CHANGING = ("evaluate", "move", "recentre")  # after which second derivatives are others
PASSING = ("evaluate", "curvature_times", "curvature", "curvature_diagonal", "direction")  # what passes over K


@dataclass(frozen=True)
class Told:
    """What the rows of a problem know.

    Attributes
    ----------
    B, b : arrays or None
        The coefficients of F; None where F = 0 still.
    loss : Loss or None
        That of the last evaluation.
    P, p, only : arrays or None
        The direction and its outputs.
    centred : tuple
        (B, b, loss) wherever the hinges were centred, in this order: centres follow from those before.
    """

    B: Array | None = None
    b: Array | None = None
    loss: Loss | None = None
    P: Array | None = None
    p: Array | None = None
    only: Array | None = None
    centred: tuple[tuple[Any, Any, Any], ...] = ()

    def restore(self, rounds: LocalRounds) -> None:
        """Tell it to rows that know nothing."""
        for B, b, loss in self.centred:
            rounds.evaluate(B, b, loss)
            rounds.recentre()
        if self.loss is not None or self.B is not None:
            rounds.evaluate(self.B, self.b, self.loss or Loss())
        if self.P is not None:
            assert self.p is not None
            rounds.direction(self.P, self.p, self.only)

    def after(self, operation: Operation, columns: int, outputs: int) -> Told:
        """What they know after one more operation."""
        name, arguments, _ = operation
        if name == "evaluate":
            B, b, loss = arguments
            return replace(self, loss=loss) if B is None else replace(self, B=B, b=b, loss=loss)
        if name == "direction":
            P, p, only = arguments
            return replace(self, P=P, p=p, only=only)
        if name == "move" and self.P is not None and self.p is not None:
            every = np.arange(outputs) if self.only is None else self.only
            (steps,) = arguments
            steps = np.broadcast_to(steps, (outputs,))[every]
            B = np.zeros((columns, outputs)) if self.B is None else self.B.copy()
            b = np.zeros(outputs) if self.b is None else self.b.copy()
            B[:, every] += steps * self.P
            b[every] += steps * self.p
            return replace(self, B=B, b=b)
        if name == "recentre":
            return replace(self, centred=(*self.centred, (self.B, self.b, self.loss)))
        return self


class DaskRounds:
    """The rows of all shards, as a solver sees them; the methods are those of
    :class:`~maxmargin.large_scale.rows.oracle.Rounds`.

    Parameters
    ----------
    shards : Shards
    columns, outputs : int
        Of the problem.
    key : tuple of int, optional
        Which problem: by default that of all rows.
    kind : type, optional
        What to make of rows that are fetched: :class:`~maxmargin.large_scale.rows.local.LocalRounds`, or a
        descendant.

    Attributes
    ----------
    passes : float
        Passes over K so far.

    Examples
    --------
    >>> import numpy as np, dask
    >>> from maxmargin.large_scale.losses import Loss
    >>> from maxmargin.large_scale.rows.local import LocalRounds
    >>> from maxmargin.large_scale.rows.tiles import MatrixRows
    >>> from maxmargin.large_scale.rows.targets import Values
    >>> from maxmargin.large_scale.dask.cluster import Pulse, connected
    >>> from maxmargin.large_scale.dask.partitions import Partition
    >>> from maxmargin.large_scale.dask.oracle import DaskRounds
    >>> from maxmargin.large_scale.dask.shards import Shards
    >>> class Squares:
    ...     T = None
    ...
    ...     def problems(self, parts, threads):
    ...         return [LocalRounds(MatrixRows(part.X), Values(part.y, part.weights)) for part in parts]
    >>> parts = [dask.delayed(Partition(i, np.full((1, 1), i + 1.0), np.ones((1, 1)), np.ones(1))) for i in range(2)]
    >>> with connected() as client:
    ...     pulse = Pulse(client)
    ...     rounds = DaskRounds(Shards(pulse, [parts], Squares(), list(pulse.alive())), columns=1, outputs=1)
    ...     sums = rounds.evaluate(np.array([[3.0]]), np.zeros(1), Loss.named("squares"))
    >>> sums.loss, sums.gradient[0]
    (array([29.]), array([[24.]]))
    """

    def __init__(
        self, shards: Shards, columns: int, outputs: int, key: Key = (), kind: type[LocalRounds] = LocalRounds
    ) -> None:
        self.shards, self.columns, self.outputs, self.key, self.kind = shards, columns, outputs, key, kind
        self.told, self.turn, self.passes = Told(), 0, 0.0
        self.waiting: list[Operation] = []
        self.looked = False  # whether the last question was an evaluation
        self.usual: Operation | None = None  # what was asked after an evaluation, and will be again
        self.ahead: tuple[Operation, Any] | None = None  # the answer to it
        self.known = [place.made for place in shards.places]  # which making of each shard knows what was told
        self.sizes: list[list[int]] = shards.every(lambda i, actor: actor.sizes(key))

    @property
    def n(self) -> int:
        return sum(map(sum, self.sizes))

    @property
    def strides(self) -> tuple[int, ...]:
        """An eighth, if it can be fetched: rounds are saved, though steps on more rows would be fewer."""
        return (8,) if self.n // 8 * self.columns * 8 <= FETCHED else (16, 4)

    @property
    def threads(self) -> int:
        """Workers, for the report."""
        return self.shards.traffic.workers

    def _ask(self, *wanted: Operation, size: int = 0) -> Any:
        """The answers to these operations, after those that wait."""
        operations = (*self.waiting, *wanted)
        self.turn += 1
        if any(name in CHANGING for name, _, _ in operations):
            self.ahead = None

        def question(i: int) -> Question:
            state = None if self.known[i] == self.shards.places[i].made else self.told
            return Question(self.key, self.turn, operations, state, len(wanted))

        answer = self.shards.ask(question, large=size > LARGE)
        self.known = [place.made for place in self.shards.places]
        for operation in operations:
            self.told = self.told.after(operation, self.columns, self.outputs)
        self.waiting, self.looked = [], operations[-1][0] == "evaluate"
        self.passes += sum(name in PASSING for name, _, _ in operations)
        return answer

    def evaluate(self, B: Array | None, b: Array | None, loss: Loss, *, sides: bool = False) -> Sums:
        operation: Operation = ("evaluate", (B, b, loss), {"sides": sides})
        size = 8 * self.columns * self.outputs
        if self.usual is None:
            sums: Sums = self._ask(operation, size=size)
            return sums
        sums, more = self._ask(operation, self.usual, size=size + self._matrices(self.usual))
        self.ahead = (self.usual, more)
        return sums

    def _matrices(self, operation: Operation) -> int:
        """Bytes of second derivatives."""
        (outputs, held), T = operation[1], self.shards.setup.T
        r = T.shape[1] if held is not None and T is not None else self.columns
        return int(8 * len(outputs) * (r + 1) ** 2)

    def curvature_times(self, P: Array, p: Array, only: Array | None = None) -> tuple[Array, Array]:
        product, total = self._ask(("curvature_times", (P, p, only), {}), size=P.nbytes)
        return product, total

    def curvature(self, outputs: Sequence[int], T: Array | None = None) -> Array:
        """T is the setup's own, which the workers have."""
        operation: Operation = ("curvature", (list(outputs), None if T is None else HELD), {})
        if self.ahead is not None and self.ahead[0] == operation and not self.waiting:
            whole: Array = self.ahead[1]
            return whole
        if self.looked:
            self.usual = operation
        whole = self._ask(operation, size=self._matrices(operation))
        return whole

    def curvature_diagonal(self) -> Array:
        squares: Array = self._ask(("curvature_diagonal", (), {}), size=8 * self.columns * self.outputs)
        return squares

    def direction(self, P: Array, p: Array, only: Array | None = None) -> None:
        self.waiting.append(("direction", (P, p, only), {}))

    def along(self, steps: Array, loss: Loss) -> tuple[Array, Array]:
        values, slopes = self._ask(("along", (steps, loss), {}))
        return values, slopes

    def move(self, steps: Array) -> None:
        self.waiting.append(("move", (np.array(steps),), {}))

    def recentre(self) -> None:
        self.waiting.append(("recentre", (), {}))

    def training_error(self) -> tuple[float, int]:
        missed, count = self._ask(("training_error", (), {}))
        return missed, count

    def sample(self, count: int) -> tuple[Array, Array, Array]:
        """From each partition in proportion to its rows."""
        sizes = np.array([size for shard in self.sizes for size in shard])
        ends = np.round(np.cumsum(sizes) * (min(count, self.n) / max(1, self.n))).astype(int)
        shares = np.diff(ends, prepend=0).tolist()
        counts = [[shares.pop(0) for _ in shard] for shard in self.sizes]
        taken = self.shards.every(lambda i, actor: actor.sample(self.key, counts[i]))
        K, y, c = zip(*(part for shard in taken for part in shard), strict=True)
        return np.concatenate(K), np.concatenate(y), np.concatenate(c)

    def part(self, stride: int) -> Rounds:
        count = self.n // stride
        if 8 * count * self.columns > FETCHED:
            return DaskRounds(self.shards, self.columns, self.outputs, (*self.key, stride), self.kind)
        K, y, c = self.sample(count)
        return self.kind(StoredRows(K), Values(y, c), threads=effective_threads(None), poll=self.shards.pulse.tick)
