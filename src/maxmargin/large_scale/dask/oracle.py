"""The row oracle for rows on a cluster: :class:`~maxmargin.large_scale.rows.oracle.RowOracle` over shards.

The client keeps the state of the rows, a few small arrays,

    F = K B + b,    G = K P + p,    the loss,

to restore it when a shard is lost. A map-reduce step costs milliseconds however small it is, so there are few:

    - Operations without a result (a direction) are sent with the next step.
    - Once second derivatives have been requested after the sums at F, later steps compute both together. A step of
      Newton's method is then two map-reduce steps: all derivatives at F, and the sums along the direction.
    - A small part of the rows is fetched once, and evaluated by the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.large_scale.dask.shard import SETUP_T, Key, MapReduceStep, Operation, OracleState
from maxmargin.large_scale.dask.shards import LARGE_RESULT_BYTES, Shards
from maxmargin.large_scale.rows.local import LocalOracle
from maxmargin.large_scale.rows.oracle import RowOracle, Sums
from maxmargin.large_scale.rows.targets import Values
from maxmargin.large_scale.rows.tiles import StoredRows
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.validation import Array

FETCH_MAX_BYTES = 2**25  # of a part of the rows that is fetched
CHANGING = ("evaluate", "recentre")  # operations that change second derivatives
PASSING = ("evaluate", "curvature_times", "curvature", "curvature_diagonal", "direction")  # operations that pass over K


class DaskOracle:
    """The rows of all shards, as a solver sees them; the methods are those of
    :class:`~maxmargin.large_scale.rows.oracle.RowOracle`.

    columns, outputs: of the problem
    key: the problem; that of all rows by default
    kind: class of the oracle for rows that are fetched: :class:`~maxmargin.large_scale.rows.local.LocalOracle` or a
        subclass
    passes: passes over K so far
    """

    def __init__(
        self, shards: Shards, columns: int, outputs: int, key: Key = (), kind: type[LocalOracle] = LocalOracle
    ) -> None:
        self.shards, self.columns, self.outputs, self.key, self.kind = shards, columns, outputs, key, kind
        self.state, self.number, self.passes = OracleState(), 0, 0.0
        self.pending: list[Operation] = []  # sent with the next step
        self.evaluated = False  # whether the last step ended with an evaluation
        self.following: Operation | None = None  # the operation that follows each evaluation
        self.prefetched: tuple[Operation, Any] | None = None  # that operation, and its result
        self.versions = [location.version for location in shards.locations]  # of the shards that have the state
        self.sizes: list[list[int]] = shards.call_all(lambda i, actor: actor.sizes(key))
        self.n, self.threads = sum(map(sum, self.sizes)), shards.traffic.workers
        # An eighth, if it can be fetched: it saves map-reduce steps, although more rows would need fewer Newton steps.
        self.strides: tuple[int, ...] = (8,) if self.n // 8 * columns * 8 <= FETCH_MAX_BYTES else (16, 4)

    def _run(self, *wanted: Operation, size: int = 0) -> Any:
        """The results of these operations, of ``size`` bytes, after those that are pending."""
        operations = (*self.pending, *wanted)
        self.number += 1
        if any(name in CHANGING for name, _, _ in operations):
            self.prefetched = None

        def step_of(i: int) -> MapReduceStep:
            state = None if self.versions[i] == self.shards.locations[i].version else self.state
            return MapReduceStep(self.key, self.number, operations, state, len(wanted))

        result = self.shards.map_reduce(step_of, large=size > LARGE_RESULT_BYTES)
        self.versions = [location.version for location in self.shards.locations]
        for operation in operations:
            self.state = self.state.after(operation)
        self.pending, self.evaluated = [], operations[-1][0] == "evaluate"
        self.passes += sum(name in PASSING for name, _, _ in operations)
        return result

    def evaluate(self, B: Array | None, b: Array | None, loss: SmoothedLoss, *, sides: bool = False) -> Sums:
        operation: Operation = ("evaluate", (B, b, loss), {"sides": sides})
        size = 8 * self.columns * self.outputs
        if self.following is None:
            sums: Sums = self._run(operation, size=size)
            return sums
        sums, more = self._run(operation, self.following, size=size + self._matrices(self.following))
        self.prefetched = (self.following, more)
        return sums

    def _matrices(self, operation: Operation) -> int:
        """Bytes of second derivatives."""
        (outputs, held), T = operation[1], self.shards.setup.T
        r = T.shape[1] if held is not None and T is not None else self.columns
        return int(8 * len(outputs) * (r + 1) ** 2)

    def curvature_times(self, P: Array, p: Array, only: Array | None = None) -> tuple[Array, Array]:
        product, total = self._run(("curvature_times", (P, p, only), {}), size=P.nbytes)
        return product, total

    def curvature(self, outputs: Sequence[int], T: Array | None = None) -> Array:
        """T is the setup's own, which the workers have."""
        operation: Operation = ("curvature", (list(outputs), None if T is None else SETUP_T), {})
        if self.prefetched is not None and self.prefetched[0] == operation and not self.pending:
            prefetched: Array = self.prefetched[1]
            return prefetched
        if self.evaluated:
            self.following = operation
        H: Array = self._run(operation, size=self._matrices(operation))
        return H

    def curvature_diagonal(self) -> Array:
        squares: Array = self._run(("curvature_diagonal", (), {}), size=8 * self.columns * self.outputs)
        return squares

    def direction(self, P: Array, p: Array, only: Array | None = None) -> None:
        self.pending.append(("direction", (P, p, only), {}))

    def along(self, steps: Array, loss: SmoothedLoss) -> tuple[Array, Array]:
        values, slopes = self._run(("along", (steps, loss), {}))
        return values, slopes

    def recentre(self) -> None:
        self.pending.append(("recentre", (), {}))

    def training_error(self) -> tuple[float, int]:
        missed, count = self._run(("training_error", (), {}))
        return missed, count

    def sample(self, count: int) -> tuple[Array, Array, Array]:
        """From each partition in proportion to its rows."""
        sizes = np.array([size for shard in self.sizes for size in shard])
        ends = np.round(np.cumsum(sizes) * (min(count, self.n) / max(1, self.n))).astype(int)
        shares = np.diff(ends, prepend=0).tolist()
        counts = [[shares.pop(0) for _ in shard] for shard in self.sizes]
        taken = self.shards.call_all(lambda i, actor: actor.sample(self.key, counts[i]))
        K, y, c = zip(*(part for shard in taken for part in shard), strict=True)
        return np.concatenate(K), np.concatenate(y), np.concatenate(c)

    def part(self, stride: int) -> RowOracle:
        count = self.n // stride
        if 8 * count * self.columns > FETCH_MAX_BYTES:
            return DaskOracle(self.shards, self.columns, self.outputs, (*self.key, stride), self.kind)
        K, y, c = self.sample(count)
        return self.kind(StoredRows(K), Values(y, c), threads=effective_threads(None), stop=self.shards.monitor.poll)
