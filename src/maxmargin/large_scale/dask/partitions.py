"""From dask collections to partitions: rows of X with their targets and weights, checked where they are.

One task makes partition i of block i of X, of y and of the weights. Blocks of y that differ from those of X are cut
again. Lengths unknown to Dask are computed once if the cuts depend on them; otherwise the task compares lengths, and
its error names the partition. Rows of this process are cut into blocks, each the argument of a task, so that Dask can
rebuild a block when its worker is lost.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import dask
import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed

from maxmargin.runtime.diagnosis import is_missing
from maxmargin.runtime.validation import Array, Points, check_points, check_targets, check_weights

ALIGNMENT_BYTES = 16  # of an array whose products BLAS computes
BLOCK_MAX_BYTES = 2**27  # of a block of rows that were in memory
LAZY = (Delayed, distributed.Future)

Lengths = Callable[[Sequence[Delayed]], list[int]]


class Negative(NamedTuple):
    """Negative weights of a partition: how many, and the first."""

    rows: int
    first: int
    weight: float


@dataclass
class Partition:
    """Rows of one worker."""

    index: int  # its place among all partitions
    X: Points  # array or CSR matrix of shape (n, d)
    y: Array  # (n,) or (n, outputs)
    weights: Array  # (n,)
    names: tuple[str, ...] | None = None  # of the columns, where it came as a table
    negative: Negative | None = None  # where weights were negative, which are zero in ``weights``

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
    """One partition, checked; errors name it."""
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
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    if n == 0:
        return Partition(index, np.empty((0, d)), np.asarray(y), np.empty(0), names)
    X = aligned(check_points(X))
    y = np.asarray(y)
    y = y.ravel() if y.shape == (n, 1) and not numeric else y
    _check_present(y)
    if not (numeric and y.ndim == 2):
        y = check_targets(y, n, numeric=numeric)
    checked, negative = _without_negative(weights, n)
    return Partition(index, X, y, checked, names, negative)


def _without_negative(weights: Any, n: int) -> tuple[Array, Negative | None]:
    """The weights, zero where they are negative. Unlike those of all rows, they may all be zero."""
    if weights is None:
        return np.ones(n), None
    w = np.array(weights, dtype=np.float64)
    w = np.full(n, w) if w.ndim == 0 else w
    rows = np.flatnonzero(np.isfinite(w) & (w < 0)) if w.ndim == 1 else np.empty(0, dtype=np.intp)
    negative = Negative(len(rows), int(rows[0]), float(w[rows[0]])) if len(rows) else None
    w[rows] = 0.0
    return w if w.ndim == 1 and not w.any() else check_weights(w, n), negative


def _check_present(y: Array) -> None:
    """Refuse targets that are missing or infinite."""
    if y.dtype.kind == "f":
        what, wrong = "NaN or infinity", ~np.isfinite(y)
    elif y.dtype.kind == "O":
        what, wrong = "a missing value", np.array([is_missing(label) for label in y.ravel()])
    else:
        return
    at = np.flatnonzero(wrong.reshape(len(y), -1).any(axis=1))
    if len(at):
        raise ValueError(f"y contains {what} (row {at[0]} of the partition).")


def aligned(X: Points) -> Points:
    """X as a writable array at an aligned address. Arrays from the network may be read-only, or at an odd address,
    where BLAS is not used and sums have other last bits."""
    arrays = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    usual = all(array.flags.writeable and array.ctypes.data % ALIGNMENT_BYTES == 0 for array in arrays)
    return X if usual else X.copy()


def _where(X: Any) -> str:
    """The first row that holds no finite number, and its column."""
    if sp.issparse(X):
        wrong = np.flatnonzero(~np.isfinite(X.data)) if X.dtype.kind == "f" else np.empty(0)
        if len(wrong) == 0:
            return ""
        X = X.tocoo()
        return f" (row {X.row[wrong[0]]} of the partition, column {X.col[wrong[0]]})"
    names = list(getattr(X, "columns", range(X.shape[1] if X.ndim > 1 else 0)))
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.dtype.kind == "O":  # a table of several types
        values = np.array([[np.nan if is_missing(value) else 0.0 for value in row] for row in values])
    if values.dtype.kind != "f" or values.ndim != 2 or np.isfinite(values).all():
        return ""
    row, column = np.argwhere(~np.isfinite(values))[0]
    return f" (row {row} of the partition, column {names[column]!r})"


def _length(block: Any) -> int:
    return int(block.shape[0]) if hasattr(block, "shape") else len(block)


# ---- on the client


@dataclass(frozen=True)
class Blocks:
    """The blocks of a collection along its rows, and their lengths, if known."""

    name: str
    parts: list[Any]
    lengths: tuple[int, ...] | None

    def measured(self, lengths: Lengths) -> Blocks:
        """With lengths, computed if unknown."""
        if self.lengths is not None:
            return self
        return Blocks(self.name, self.parts, tuple(lengths([dask.delayed(_length)(part) for part in self.parts])))


def is_collection(X: Any) -> bool:
    """Whether this is a dask array or dataframe, or a list of delayed blocks or futures."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(block, LAZY) for block in X)
    known = bool(dask.is_dask_collection(X)) and not isinstance(X, Delayed)
    return known and hasattr(X, "ndim") and hasattr(X, "to_delayed")


def is_frame(X: Any) -> bool:
    """Whether this is a dask dataframe."""
    return is_collection(X) and hasattr(X, "columns") and hasattr(X, "npartitions") and X.ndim == 2


def width_of(X: Any) -> int | None:
    """The columns of X, where Dask knows them."""
    if is_frame(X):
        return len(X.columns)
    if isinstance(X, (list, tuple)):
        return None
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, one row a sample; got a dask {type(X).__name__} of {X.ndim}.")
    return None if math.isnan(X.shape[1]) else int(X.shape[1])


def row_like(X: Any) -> Any:
    """A row with the columns of a dask dataframe."""
    names = X._meta.columns
    return type(X._meta)(np.zeros((1, len(names))), columns=names)


def check_names(names: Sequence[tuple[str, ...] | None]) -> None:
    """Tables must have the same columns in the same order."""
    known = [(i, one) for i, one in enumerate(names) if one is not None]
    for i, one in known:
        if one != known[0][1]:
            raise ValueError(
                f"Partition {i} of X has the columns {list(one[:10])}, and partition {known[0][0]} has "
                f"{list(known[0][1][:10])}: give all blocks the same columns in the same order."
            )


def check_columns(X: Any) -> None:
    """Refuse a dataframe with columns that are no numbers."""
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {name!r} of X has dtype {dtype}, and the model needs numbers: drop it, or encode it first, "
                "for instance with maxmargin.TableEncoder or dask.dataframe.get_dummies."
            )


def blocks_of(values: Any, name: str) -> Blocks:
    """The blocks of a dask collection."""
    if isinstance(values, (list, tuple)):
        return Blocks(name, [dask.delayed(block) for block in values], None)
    if not isinstance(values, da.Array):
        return Blocks(name, list(values.to_delayed()), None)
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    lengths = values.chunks[0]
    known = not any(math.isnan(length) for length in lengths)
    return Blocks(name, list(values.to_delayed().ravel()), tuple(map(int, lengths)) if known else None)


def check_rows(X: Any) -> None:
    """Refuse what is neither a collection nor an array or table of rows in memory."""
    remedy = ""
    if isinstance(X, LAZY):
        remedy = " Give the blocks as a list, [X] if this is the only one."
    elif isinstance(X, (list, tuple)) and any(getattr(block, "ndim", 0) == 2 for block in X):
        remedy = " Join its blocks, or make them delayed: [dask.delayed(block) for block in X]."
    elif dask.is_dask_collection(X):
        remedy = " Make it a dask array or dataframe, for instance with its to_dataframe()."
    elif (
        hasattr(X, "shape") or hasattr(X, "__array__") or (isinstance(X, Sequence) and not isinstance(X, (str, bytes)))
    ):
        return
    raise TypeError(
        "X must be a dask array, a dask dataframe, a list of delayed blocks or futures, or rows in memory (array, "
        f"table or sparse matrix); got {type(X).__name__}.{remedy}"
    )


def cut(X: Points, count: int) -> Blocks:
    """Rows of this process in about ``count`` blocks of the same length, more if they are large."""
    n, size = X.shape[0], X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
    ends = np.arange(1 + min(n, max(1, count, -(-size // BLOCK_MAX_BYTES))))
    ends = n * ends // ends[-1]
    make = dask.delayed(aligned, pure=False)  # aligned already, so that a partition need not copy it
    parts = [make(X[start:stop]) for start, stop in pairwise(ends.tolist())]
    return Blocks("X", parts, tuple(np.diff(ends).tolist()))


def one_column(y: Any) -> Any:
    """Targets in memory as a one-dimensional array; collections as they are."""
    if is_collection(y) or isinstance(y, LAZY) or y is None:
        return y
    y = np.asarray(y)
    return check_targets(y, len(y) if y.ndim else 0)


def cut_like(values: Any, name: str, X: Blocks, lengths: Lengths) -> tuple[list[Any], Blocks]:
    """Targets or weights in the blocks of X; the latter with their lengths, if they had to be computed."""
    if values is None or isinstance(values, numbers.Number):
        return [values] * len(X.parts), X
    if isinstance(values, LAZY):
        raise TypeError(f"{name} is a single {type(values).__name__}: give its blocks as a list, those of X's rows.")
    if not is_collection(values):
        values = np.asarray(values)
        X = X.measured(lengths)
        assert X.lengths is not None
        if values.ndim == 0 or len(values) != sum(X.lengths):
            raise ValueError(f"X has {sum(X.lengths)} rows and {name} has shape {values.shape}: give one for each row.")
        return list(np.split(values, np.cumsum(X.lengths)[:-1])), X
    cut_blocks = blocks_of(values, name)
    unknown = cut_blocks.lengths is None or X.lengths is None
    if len(cut_blocks.parts) == len(X.parts) and (unknown or cut_blocks.lengths == X.lengths):
        return cut_blocks.parts, X
    cut_blocks, X = cut_blocks.measured(lengths), X.measured(lengths)
    assert cut_blocks.lengths is not None
    assert X.lengths is not None
    if sum(cut_blocks.lengths) != sum(X.lengths):
        raise ValueError(
            f"X has {sum(X.lengths)} rows (blocks of {_listed(X.lengths)}) and {name} has {sum(cut_blocks.lengths)} "
            f"(blocks of {_listed(cut_blocks.lengths)}): give one for each row."
        )
    return _recut(cut_blocks, X.lengths), X


def _listed(lengths: tuple[int, ...]) -> str:
    return ", ".join(map(str, lengths[:6])) + (", ..." if len(lengths) > 6 else "")


def _recut(blocks: Blocks, lengths: tuple[int, ...]) -> list[Any]:
    """The same rows in blocks of other lengths."""
    assert blocks.lengths is not None
    starts = np.concatenate(([0], np.cumsum(blocks.lengths)))
    cut_anew = []
    for stop, length in zip(np.cumsum(lengths), lengths, strict=True):
        start = stop - length
        touched = [i for i in range(len(blocks.parts)) if starts[i] < stop and starts[i + 1] > start]
        cuts = [(max(0, start - starts[i]), min(blocks.lengths[i], stop - starts[i])) for i in touched]
        cut_anew.append(dask.delayed(_joined)([blocks.parts[i] for i in touched], cuts))
    return cut_anew


def _joined(parts: list[Any], cuts: list[tuple[int, int]]) -> Array:
    pieces = [np.asarray(part)[start:stop] for part, (start, stop) in zip(parts, cuts, strict=True)]
    return np.concatenate(pieces) if pieces else np.empty(0)


def contiguous(sizes: Sequence[float], count: int) -> list[range]:
    """Successive partitions in at most ``count`` groups of about the same size. It depends on nothing but its input, so
    that sums are always formed in the same order.
    """
    ends = np.cumsum(sizes)
    count = max(1, min(count, len(ends)))
    middle = ends - 0.5 * np.asarray(sizes)
    owner = np.minimum((middle * (count / max(ends[-1], 1e-300))).astype(int), count - 1)
    groups = [np.flatnonzero(owner == k) for k in range(count)]
    return [range(int(group[0]), int(group[-1]) + 1) for group in groups if len(group)]
