"""Newton's questions to rows on many computers: :class:`~maxmargin.large_scale.rows.oracle.RowOracle` over shards.

The client keeps the state of the rows, a few small arrays,

    F = K B + b,    G = K P + p,    the loss,

so that it can be restored where a shard is lost. Questions are few, for each costs milliseconds however small it is:

    - What has no answer (a direction) waits, and travels with the next question.
    - Who has asked for second derivatives after the sums at F gets both together from then on. A step of Newton's
      method is two map-reduce steps: all derivatives at F, and the sums along the direction.
    - A part of the rows that is small is fetched once, and asked on this computer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.large_scale.dask.shard import HELD, Key, Operation, OracleState, Question
from maxmargin.large_scale.dask.shards import LARGE_ANSWER_BYTES, Shards
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.oracle import RowOracle, Sums
from maxmargin.large_scale.rows.targets import Values
from maxmargin.large_scale.rows.tiles import StoredRows
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array

FETCH_MAX_BYTES = 2**25  # of rows, up to which a part of them is fetched
CHANGING = ("evaluate", "recentre")  # after which second derivatives are others
PASSING = ("evaluate", "curvature_times", "curvature", "curvature_diagonal", "direction")  # what passes over K


class DaskOracle:
    """The rows of all shards, as a solver sees them; the methods are those of
    :class:`~maxmargin.large_scale.rows.oracle.RowOracle`.

    columns, outputs: of the problem
    key: which problem: by default that of all rows
    kind: what to make of rows that are fetched: :class:`~maxmargin.large_scale.rows.local.LocalOracle`, or a descendant
    passes: passes over K so far
    """

    def __init__(
        self, shards: Shards, columns: int, outputs: int, key: Key = (), kind: type[LocalOracle] = LocalOracle
    ) -> None:
        self.shards, self.columns, self.outputs, self.key, self.kind = shards, columns, outputs, key, kind
        self.state, self.turn, self.passes = OracleState(), 0, 0.0
        self.waiting: list[Operation] = []
        self.evaluated = False  # whether the last question was an evaluation
        self.usual: Operation | None = None  # what was asked after an evaluation, and will be again
        self.ahead: tuple[Operation, Any] | None = None  # the answer to it
        self.known = [place.made for place in shards.places]  # which making of each shard knows the state
        self.sizes: list[list[int]] = shards.every(lambda i, actor: actor.sizes(key))
        self.n, self.threads = sum(map(sum, self.sizes)), shards.traffic.workers
        # An eighth, if it can be fetched: map-reduce steps are saved, though steps on more rows would be fewer.
        self.strides: tuple[int, ...] = (8,) if self.n // 8 * columns * 8 <= FETCH_MAX_BYTES else (16, 4)

    def _ask(self, *wanted: Operation, size: int = 0) -> Any:
        """The answers to these operations, after those that wait."""
        operations = (*self.waiting, *wanted)
        self.turn += 1
        if any(name in CHANGING for name, _, _ in operations):
            self.ahead = None

        def question(i: int) -> Question:
            state = None if self.known[i] == self.shards.places[i].made else self.state
            return Question(self.key, self.turn, operations, state, len(wanted))

        answer = self.shards.ask(question, large=size > LARGE_ANSWER_BYTES)
        self.known = [place.made for place in self.shards.places]
        for operation in operations:
            self.state = self.state.after(operation)
        self.waiting, self.evaluated = [], operations[-1][0] == "evaluate"
        self.passes += sum(name in PASSING for name, _, _ in operations)
        return answer

    def evaluate(self, B: Array | None, b: Array | None, loss: SmoothedLoss, *, sides: bool = False) -> Sums:
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
            ahead: Array = self.ahead[1]
            return ahead
        if self.evaluated:
            self.usual = operation
        H: Array = self._ask(operation, size=self._matrices(operation))
        return H

    def curvature_diagonal(self) -> Array:
        squares: Array = self._ask(("curvature_diagonal", (), {}), size=8 * self.columns * self.outputs)
        return squares

    def direction(self, P: Array, p: Array, only: Array | None = None) -> None:
        self.waiting.append(("direction", (P, p, only), {}))

    def along(self, steps: Array, loss: SmoothedLoss) -> tuple[Array, Array]:
        values, slopes = self._ask(("along", (steps, loss), {}))
        return values, slopes

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

    def part(self, stride: int) -> RowOracle:
        count = self.n // stride
        if 8 * count * self.columns > FETCH_MAX_BYTES:
            return DaskOracle(self.shards, self.columns, self.outputs, (*self.key, stride), self.kind)
        K, y, c = self.sample(count)
        return self.kind(StoredRows(K), Values(y, c), threads=effective_threads(None), stop=self.shards.pulse.tick)
