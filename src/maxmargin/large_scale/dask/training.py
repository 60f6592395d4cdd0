"""The data of a fit on a cluster, from collections to shards.

    collections, or rows of this process -> partitions, placed on workers -> their summary -> (setup) -> shards

Each worker gets successive partitions, and all workers about the same number of rows. If a collection is on workers
already, each group of partitions is assigned to the worker that holds most of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np

from maxmargin import _native
from maxmargin.large_scale.dask.cluster import WorkerMonitor, connected
from maxmargin.large_scale.dask.partitions import (
    Negative,
    Partition,
    blocks_of,
    check_columns,
    check_names,
    check_rows,
    contiguous,
    cut,
    cut_like,
    is_collection,
    is_frame,
    one_column,
    partition,
    row_like,
    width_of,
)
from maxmargin.large_scale.dask.shard import Setup, pairwise_sum
from maxmargin.large_scale.dask.shards import Shards, Traffic
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import halt_on, single_threaded_blas
from maxmargin.runtime.validation import Array, check_training_points, warn

FAR_DEVIATIONS = 10.0  # of a column's mean from zero, beyond which products with it lose digits
SUMS_MAX_ENTRIES = 2**22  # per call: a few milliseconds, so that a cancelled task ends soon


@dataclass(frozen=True)
class Summary:
    """What the client receives of a partition: rows, dtype, labels and weights, and the columns' weighted sums."""

    # n, used: rows, and those that have weight
    n: int
    used: int
    dtype: Any
    sparse: bool
    size: int  # bytes of the rows
    weight: float  # the sum
    # labels, totals: the classes of the partition and their weights. For a regression, of w_i y_i and w_i y_i^2 the
    # sums, one column an output
    labels: Array
    totals: Array
    sums: Array  # (d,); of w_i x_i
    squares: Array  # (d,); of w_i (x_ij - m_j)^2, with the partition's own means m
    names: tuple[str, ...] | None = None  # of the columns, where it came as a table
    negative: Negative | None = None  # weights that leave rows out


def weighted_sums(X: Array, w: Array, mean: Array | None) -> Array:
    """sum_i w_i x_i of each column or, around a mean, sum_i w_i (x_i - mean)^2; no copies of X are made."""
    sums = np.zeros(X.shape[1])
    around = np.zeros(X.shape[1]) if mean is None else np.require(mean, np.float64, ["C", "A"])
    rows_per_call = max(1, SUMS_MAX_ENTRIES // max(1, X.shape[1]))
    for start in range(0, len(X), rows_per_call):
        rows = slice(start, start + rows_per_call)
        weights = np.require(w[rows], np.float64, ["C", "A"])
        _native.add_weighted_rows(np.require(X[rows], requirements=["C", "A"]), weights, around, mean is not None, sums)
    return sums


def summary(part: Partition, numeric: bool) -> Summary:
    """The summary of a partition."""
    labels: Array = np.empty(0)
    totals: Array = np.empty(0)
    if not numeric and part.n:
        labels, codes = np.unique(part.y, return_inverse=True)
        totals = np.bincount(codes.ravel(), weights=part.weights, minlength=len(labels))
    if numeric and part.n:
        Y = part.y.reshape(part.n, -1).astype(np.float64)
        with np.errstate(over="ignore"):
            labels, totals = part.weights @ Y, part.weights @ Y**2
    w, X = part.weights, part.X
    sparse = not isinstance(X, np.ndarray)
    total = float(w.sum())
    sums = np.asarray(w @ X, dtype=np.float64).ravel() if sparse else weighted_sums(X, w, None)
    squares = np.zeros(len(sums))
    if total > 0:
        mean = sums / total
        if sparse:
            squares = np.asarray(w @ X.multiply(X), dtype=np.float64).ravel() - total * mean**2
        else:
            squares = weighted_sums(X, w, mean)
    return Summary(
        part.n,
        int(np.count_nonzero(w > 0)),
        X.dtype,
        sparse,
        part.__sizeof__(),
        total,
        labels,
        totals,
        sums,
        squares,
        part.names,
        part.negative,
    )


@dataclass(frozen=True)
class Moments:
    """Means and variance of the columns over all rows, by their weights."""

    weight: float
    mean: Array
    spread: Array  # the standard deviation of each column
    variance: float  # of all entries, around their common mean: what gamma="scale" uses

    @classmethod
    def of(cls, summaries: Sequence[Summary]) -> Moments:
        weight, sums = pairwise_sum([(one.weight, one.sums) for one in summaries])
        mean = sums / weight
        squares = pairwise_sum(
            [one.squares + one.weight * (one.sums / one.weight - mean) ** 2 for one in summaries if one.weight > 0]
        )
        grand = float(mean.mean())
        variance = float((squares / weight + (mean - grand) ** 2).mean())
        return cls(weight, mean, np.sqrt(np.maximum(squares / weight, 0.0)), variance)

    def far(self) -> Array | None:
        """The means, where a column lies so far from zero that products with it lose digits; None where none does."""
        return self.mean if bool((np.abs(self.mean) > FAR_DEVIATIONS * self.spread).any()) else None


def counted_workers(traffic: Traffic) -> str:
    """Workers and steps, for reports."""
    workers = f"{traffic.workers} worker{'s' if traffic.workers != 1 else ''}"
    return f"on {workers}, {traffic.steps} map-reduce steps"


class Training:
    """The data of one fit on its cluster.

    X, y, sample_weight: the arguments of ``fit``
    numeric: whether y holds target values, not labels
    parts: the partitions
    """

    def __init__(self, monitor: WorkerMonitor, X: Any, y: Any, sample_weight: Any, *, numeric: bool) -> None:
        self.monitor = monitor
        if is_collection(X):
            blocks, width = blocks_of(X, "X"), width_of(X)
        else:
            blocks, width = cut(X, sum(monitor.wait_for_workers().values())), X.shape[1]
        if not blocks.parts:
            raise ValueError("X has no blocks: there is nothing to fit.")
        self.names: list[str] | None = None
        if width is None:
            width, self.names = self.computed([dask.delayed(_columns)(blocks.parts[0])])[0]
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        targets, blocks = cut_like(y, "y", blocks, self.computed)
        weights, blocks = cut_like(sample_weight, "sample_weight", blocks, self.computed)
        self.width = int(width)
        workers = monitor.wait_for_workers()
        self.groups = contiguous(blocks.lengths or [1] * len(blocks.parts), len(workers))
        self.assigned = _assigned_workers(monitor.client, blocks.parts, self.groups, sorted(workers))
        self.parts: list[Any] = []
        make = dask.delayed(partition, pure=False)
        for group, worker in zip(self.groups, self.assigned, strict=True):
            with dask.annotate(workers=[worker], allow_other_workers=True):
                for i in group:
                    self.parts.append(make(i, blocks.parts[i], targets[i], weights[i], self.width, numeric))
        client = monitor.client
        self._held = client.compute(self.parts)
        self.summaries: list[Summary] = monitor.results(client.map(summary, self._held, numeric=numeric, pure=False))
        check_names([one.names for one in self.summaries])
        if not any(one.n for one in self.summaries):
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required.")
        if not sum(one.weight for one in self.summaries) > 0:
            raise ValueError(
                "Invalid input - all samples have zero or negative weights. sample_weight leaves nothing to fit: "
                "give at least one positive weight."
            )
        self._warn_of_negative_weights()

    def _warn_of_negative_weights(self) -> None:
        """On the client: the warnings of a worker only reach its log."""
        found = [(i, one.negative) for i, one in enumerate(self.summaries) if one.negative is not None]
        if found:
            i, negative = found[0]
            warn(
                f"Partition {i} of X: sample_weight[{negative.first}] is {negative.weight:g}: rows with a negative "
                f"weight are left out, {sum(one.rows for _, one in found):,} of {self.n:,}."
            )

    def computed(self, tasks: Sequence[Any]) -> list[Any]:
        """The results of tasks; they must be small."""
        return self.monitor.results(self.monitor.client.compute(list(tasks)))

    @property
    def n(self) -> int:
        return sum(one.n for one in self.summaries)

    @property
    def dtype(self) -> str:
        """The dtype that holds the values of all partitions."""
        return str(np.result_type(*(one.dtype for one in self.summaries if one.n)))

    def shards(self, setup: Setup, traffic: Traffic) -> Shards:
        """The rows as a solver sees them. The shards own them from now on."""
        shards = Shards(
            self.monitor, [[self.parts[i] for i in group] for group in self.groups], setup, self.assigned, traffic
        )
        self._held = []
        return shards

    @contextmanager
    def solving(self, control: Control) -> Iterator[None]:
        """While a solver runs, a deadline or Ctrl-C ends a map-reduce step: there is a best model so far."""
        self.monitor.callback = partial(halt_on, control.stop)
        try:
            with single_threaded_blas():  # the systems are small, and threads that wait for the next one burn a core
                yield
        finally:
            self.monitor.callback = None

    def each(self, work: Any, *arguments: Any) -> list[Any]:
        """``work(partition, ...)`` of every partition; not after :meth:`shards`."""
        return self.monitor.results(self.monitor.client.map(work, self._held, *arguments, pure=False))


def _columns(block: Any) -> tuple[int, list[str] | None]:
    """How many columns a block has, and their names if it is a table."""
    names = list(getattr(block, "columns", []))
    return int(block.shape[1]), names if names and all(isinstance(name, str) for name in names) else None


def _assigned_workers(client: Any, blocks: list[Any], groups: list[range], workers: list[str]) -> list[str]:
    """A worker for each group: preferably the one that holds most of its blocks."""
    held = client.who_has([future for block in blocks for future in distributed.futures_of(block)])
    counts = np.zeros((len(groups), len(workers)))
    for g, group in enumerate(groups):
        for i in group:
            for address in held.get(blocks[i].key, ()):
                if address in workers:
                    counts[g, workers.index(address)] += 1
    assigned: dict[int, str] = {}
    while len(assigned) < len(groups):
        best, worker = divmod(int(counts.argmax()), len(workers))
        assigned[best] = workers[worker]
        counts[best], counts[:, worker] = -1.0, -1.0
    return [assigned[g] for g in range(len(groups))]


@contextmanager
def training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, control: Control, *, numeric: bool = False
) -> Iterator[Training]:
    """The data of ``estimator.fit(X, y, sample_weight)`` on its cluster."""
    y = y if numeric else one_column(y)
    if not is_collection(X):
        check_rows(X)
        X = check_training_points(estimator, X)
    if is_frame(X):
        check_columns(X)

    def check_interrupt() -> None:
        if control.stop() is Status.INTERRUPTED:
            raise KeyboardInterrupt("The rows were still being read: there is no model yet.")

    # Targets, and rows of this process, are part of the task graph on purpose: Dask should not warn of its size.
    unlimited = dask.config.set({"distributed.admin.large-graph-warning-threshold": 2**60})
    with unlimited, connected(estimator.client) as client:
        data = Training(WorkerMonitor(client, check_interrupt), X, y, sample_weight, numeric=numeric)
        if is_collection(X):  # n_features_in_ and feature_names_in_, as scikit-learn's validation finds them
            check_training_points(estimator, row_like(X) if is_frame(X) else np.zeros((1, data.width)))
            if data.names is not None:
                estimator.feature_names_in_ = np.array(data.names, dtype=object)
        yield data
