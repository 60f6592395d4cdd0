"""From dask collections to partitions: rows of X with their targets and weights, checked where they are.

Partition i is what one task makes of block i of X, of y and of the weights. Blocks of y that lie otherwise than those
of X are cut anew. Lengths that Dask does not know are computed, once, where the cuts depend on them; elsewhere the task
compares what it was given, and its error names the partition.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed

from maxmargin._validation import Array, Points, check_points, check_targets, check_weights

ALIGNED = 16  # bytes

Lengths = Callable[[Sequence[Delayed]], list[int]]


@dataclass
class Partition:
    """Rows that lie on one worker.

    Attributes
    ----------
    index : int
        Its place among all partitions.
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,) or (n, outputs)
    weights : array of shape (n,)
    """

    index: int
    X: Points
    y: Array
    weights: Array

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        """Dask plans by this."""
        X = self.X
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
        return 100 + int(size + self.y.nbytes + self.weights.nbytes)


# ---- on a worker


def partition(index: int, X: Any, y: Any, weights: Any, d: int, numeric: bool) -> Partition:
    """One partition, checked; every error says which one it was."""
    try:
        return _checked(index, X, y, weights, d, numeric)
    except (ValueError, TypeError) as error:
        raise type(error)(f"Partition {index} of X: {error}{_where(X)}") from error


def _checked(index: int, X: Any, y: Any, weights: Any, d: int, numeric: bool) -> Partition:
    n, columns = X.shape
    if columns != d:
        raise ValueError(f"it has {columns} columns, and {d} were expected: all partitions need the same.")
    if len(y) != n:
        raise ValueError(
            f"it has {n} rows, and the same partition of y has {len(y)}: the blocks of X and y must hold the same rows."
        )
    if weights is not None and not isinstance(weights, numbers.Number) and len(weights) != n:
        raise ValueError(
            f"it has {n} rows, and the same partition of sample_weight has {len(weights)}: the blocks must hold the "
            "same rows."
        )
    if n == 0:
        return Partition(index, np.empty((0, d)), np.asarray(y), np.empty(0))
    X = check_points(X)
    X = _own(X)
    y = np.asarray(y)
    if not (numeric and y.ndim == 2):
        y = check_targets(y, n, numeric=numeric)
    if numeric and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity.")
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError("y contains a missing value.")
    w = np.asarray(weights, dtype=np.float64) if weights is not None else None
    # A partition may have no weight at all, which check_weights would refuse.
    checked = np.zeros(n) if w is not None and not w.any() else check_weights(weights, n)
    return Partition(index, X, y, checked)


def _own(X: Points) -> Points:
    """X in memory like that of any other array. What came over the network may be read-only, for which compiled loops
    would be compiled again, and lie at an odd address, where BLAS is not used and sums have other last bits."""
    arrays = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    usual = all(array.flags.writeable and array.ctypes.data % ALIGNED == 0 for array in arrays)
    return X if usual else X.copy()


def _where(X: Any) -> str:
    """The first row that holds no finite number."""
    values = X.data if sp.issparse(X) else np.asarray(X)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return ""
    at = int(np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))[0])
    row = int(np.searchsorted(X.indptr, at, side="right")) - 1 if sp.issparse(X) else at
    return f" (row {row} of the partition)"


def _length(block: Any) -> int:
    return int(block.shape[0]) if hasattr(block, "shape") else len(block)


# ---- on the client


@dataclass(frozen=True)
class Blocks:
    """The blocks of a collection along its rows, and their lengths, where those are known."""

    name: str
    parts: list[Any]
    lengths: tuple[int, ...] | None

    def measured(self, lengths: Lengths) -> Blocks:
        """With lengths, computed if need be."""
        if self.lengths is not None:
            return self
        return Blocks(self.name, self.parts, tuple(lengths([dask.delayed(_length)(part) for part in self.parts])))


def is_collection(X: Any) -> bool:
    """Whether this is a dask array or dataframe, or a list of delayed blocks."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(block, Delayed) for block in X)
    return bool(dask.is_dask_collection(X)) and not isinstance(X, Delayed)


def is_frame(X: Any) -> bool:
    """Whether this is a dask dataframe."""
    return is_collection(X) and hasattr(X, "columns") and hasattr(X, "npartitions")


def width_of(X: Any) -> int | None:
    """The columns of X, where Dask knows them."""
    if is_frame(X):
        return len(X.columns)
    if isinstance(X, (list, tuple)):
        return None
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, one row a sample; got a dask array of {X.ndim}.")
    return None if math.isnan(X.shape[1]) else int(X.shape[1])


def check_columns(X: Any) -> None:
    """Refuse a dataframe with columns that are no numbers."""
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {name!r} of X has dtype {dtype}, and a machine needs numbers: drop it, or encode it first, "
                "for instance with maxmargin.TableEncoder or dask.dataframe.get_dummies."
            )


def blocks_of(values: Any, name: str) -> Blocks:
    """The blocks of a dask collection."""
    if isinstance(values, (list, tuple)):
        return Blocks(name, list(values), None)
    if not isinstance(values, da.Array):
        return Blocks(name, list(values.to_delayed()), None)
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    lengths = values.chunks[0]
    known = not any(math.isnan(length) for length in lengths)
    return Blocks(name, list(values.to_delayed().ravel()), tuple(map(int, lengths)) if known else None)


def cut_like(values: Any, name: str, X: Blocks, lengths: Lengths) -> tuple[list[Any], Blocks]:
    """Targets or weights in the blocks of X, which may have had to be measured."""
    if values is None or isinstance(values, numbers.Number):
        return [values] * len(X.parts), X
    if not is_collection(values):
        values = np.asarray(values)
        X = X.measured(lengths)
        assert X.lengths is not None
        if values.ndim == 0 or len(values) != sum(X.lengths):
            raise ValueError(f"X has {sum(X.lengths)} rows and {name} has shape {values.shape}: give one for each row.")
        return list(np.split(values, np.cumsum(X.lengths)[:-1])), X
    own = blocks_of(values, name)
    unknown = own.lengths is None or X.lengths is None
    if len(own.parts) == len(X.parts) and (unknown or own.lengths == X.lengths):
        return own.parts, X
    own, X = own.measured(lengths), X.measured(lengths)
    assert own.lengths is not None
    assert X.lengths is not None
    if sum(own.lengths) != sum(X.lengths):
        raise ValueError(
            f"X has {sum(X.lengths)} rows (blocks of {_listed(X.lengths)}) and {name} has {sum(own.lengths)} "
            f"(blocks of {_listed(own.lengths)}): give one for each row."
        )
    return _recut(own, X.lengths), X


def _listed(lengths: tuple[int, ...]) -> str:
    return ", ".join(map(str, lengths[:6])) + (", ..." if len(lengths) > 6 else "")


def _recut(blocks: Blocks, lengths: tuple[int, ...]) -> list[Any]:
    """The same rows in blocks of other lengths."""
    assert blocks.lengths is not None
    starts = np.concatenate(([0], np.cumsum(blocks.lengths)))
    whole = []
    for stop, length in zip(np.cumsum(lengths), lengths, strict=True):
        start = stop - length
        touched = [i for i in range(len(blocks.parts)) if starts[i] < stop and starts[i + 1] > start]
        cuts = [(max(0, start - starts[i]), min(blocks.lengths[i], stop - starts[i])) for i in touched]
        whole.append(dask.delayed(_joined)([blocks.parts[i] for i in touched], cuts))
    return whole


def _joined(parts: list[Any], cuts: list[tuple[int, int]]) -> Array:
    pieces = [np.asarray(part)[start:stop] for part, (start, stop) in zip(parts, cuts, strict=True)]
    return np.concatenate(pieces) if pieces else np.empty(0)


def contiguous(sizes: Sequence[float], count: int) -> list[range]:
    """Successive partitions in at most ``count`` groups of about the same size. It depends on nothing but its input, so
    that sums are always formed in the same order.

    Examples
    --------
    >>> from maxmargin.dask.partitions import contiguous
    >>> contiguous([5, 5, 1, 1, 8], 2)
    [range(0, 2), range(2, 5)]
    """
    ends = np.cumsum(sizes)
    count = max(1, min(count, len(ends)))
    middle = ends - 0.5 * np.asarray(sizes)
    owner = np.minimum((middle * (count / max(ends[-1], 1e-300))).astype(int), count - 1)
    groups = [np.flatnonzero(owner == k) for k in range(count)]
    return [range(int(group[0]), int(group[-1]) + 1) for group in groups if len(group)]
