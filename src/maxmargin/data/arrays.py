"""NumPy's own files: one array (``.npy``), or several in a zip archive (``.npz``).

Arrays of Python objects are pickles and are never loaded. A header may promise more than a file holds, so the promise
is compared with the size of the file, and with memory, before anything is made.
"""

from __future__ import annotations

import contextlib
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.layout import Layout, column_name
from maxmargin.data.source import BLOCK_BYTES, DataFileError, Source
from maxmargin.runtime.memory import available_memory
from maxmargin.runtime.validation import Array

POINTS, TARGETS = ("X", "x", "data"), ("y", "target", "targets", "labels", "label")
SPARSE = ("data", "indices", "indptr", "shape", "format")
# What NumPy and zipfile raise for damaged, encrypted (RuntimeError) or strangely packed (NotImplementedError) archives.
DAMAGE = (
    *(ValueError, TypeError, KeyError, EOFError, OverflowError, OSError, SyntaxError, tokenize.TokenError),
    *(RuntimeError, NotImplementedError, MemoryError, zipfile.BadZipFile, zlib.error, IndexError, AttributeError),
)


class ArrayTable:
    """An array as a table without names."""

    def __init__(self, source: Source, array: Array) -> None:
        if array.ndim != 2:
            raise source.error(f"holds an array of shape {array.shape}: one with a row for each point is needed")
        if array.dtype.kind not in "biuf":
            raise source.error(f"holds values of type {array.dtype}: numbers are needed; write tables as CSV")
        if 0 in array.shape:
            raise source.error(f"holds an array of shape {array.shape}: there are no points")
        self.source, self.array = source, array
        self.names: list[str] | None = None
        self.width = array.shape[1]

    def kinds(self, layout: Layout, text: Iterable[int]) -> dict[int, str]:
        return dict.fromkeys(layout.wanted, "number")

    def raw_columns(self, places: list[int]) -> Iterator[list[Array]]:
        """The columns, NaN where a value is missing or infinite."""
        step = max(1, BLOCK_BYTES // (8 * self.width))
        for begin in range(0, len(self.array), step):
            rows = np.asarray(self.array[begin : begin + step], np.float64)[:, places]
            yield list(np.where(np.isfinite(rows), rows, np.nan).T.copy())

    def chunks(self, layout: Layout, kinds: dict[int, str]) -> Iterator[tuple[Array, Array | None]]:
        step = max(1, BLOCK_BYTES // (8 * self.width))
        for begin in range(0, len(self.array), step):
            rows = np.asarray(self.array[begin : begin + step], np.float64)
            part = rows[:, layout.wanted]
            if not np.isfinite(part).all():
                row, column = np.argwhere(~np.isfinite(part))[0]
                raise self.source.error(
                    f"{part[row, column]} is missing or infinite: correct it, or leave out the row",
                    begin + int(row) + 1,
                    column_name(None, layout.wanted[column]),
                    "row",
                )
            y = None if layout.target is None else rows[:, layout.target].copy()
            yield np.ascontiguousarray(rows[:, layout.features]), y


def read_npy(source: Source, header: bool | None) -> ArrayTable:
    """The array of an ``.npy`` file, left on disk where it can be."""
    with source.raw() as file, _explained(source):
        if source.path is None:
            array = np.load(file, allow_pickle=False)
        else:
            array = np.load(source.path, mmap_mode="r", allow_pickle=False)
    return ArrayTable(source, array)


def read_npz(source: Source, header: bool | None) -> Any:
    """Points and targets (or None) of an ``.npz`` file; or the table of its only array."""
    with source.raw() as file, _explained(source), zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def array(name: str) -> Array:
            return _member(source, archive, members[name])

        points = next((name for name in POINTS if name in members), None)
        targets = next((name for name in TARGETS if name in members), None)
        if set(members) >= set(SPARSE):
            X = _sparse(source, {name: array(name) for name in SPARSE})
        elif len(members) == 1:
            return ArrayTable(source, array(next(iter(members))))
        elif points is not None:
            X = array(points)
        else:
            raise source.error(
                f"holds {', '.join(sorted(members)[:8]) or 'nothing'}: the points must be called X or data, and the "
                "targets y, target or labels"
            )
        return _checked(source, X, None if targets is None else array(targets))


@contextlib.contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Whatever NumPy finds amiss, in one sort of error; its warnings of old files are for their writers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except DataFileError:
        raise
    except DAMAGE as error:
        what = str(error).rstrip(".") or type(error).__name__
        if any(word in what for word in ("pickle", "Object arrays", "Python objects")):
            raise source.error("holds Python objects, which are never loaded: store plain arrays") from error
        raise source.error(f"is cut short or damaged: {what}") from error


def _member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    """An array of the archive, after its header was found to promise what the archive holds."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    if dtype.hasobject:
        raise source.error(f"holds Python objects in {info.filename!r}, which are never loaded: store plain arrays")
    promised = math.prod(shape) * dtype.itemsize
    if promised > info.file_size or min(shape, default=0) < 0:
        raise source.error(f"is damaged: {info.filename!r} promises more than it holds")
    if 2 * promised > available_memory():
        raise source.error(f"does not fit into memory: {info.filename!r} takes {promised / 1e9:.1f} GB; use .npy files")
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _sparse(source: Source, parts: dict[str, Array]) -> Any:
    """A matrix as scipy.sparse.save_npz writes it; compiled code follows its indices, so they are checked."""
    form = parts["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc"):
        raise source.error(f"holds a sparse matrix in the form {form[:20]!r}: store it as CSR")
    shape = tuple(int(n) for n in parts["shape"].tolist())
    if len(shape) != 2 or min(shape) < 1 or max(shape) > 2**48:
        raise source.error(f"holds a sparse matrix of shape {shape}: there are no points")
    if 64.0 * max(shape) > available_memory():
        raise source.error(f"holds a sparse matrix of shape {shape}, which is more than memory takes")
    data, indices, indptr = (parts[name] for name in ("data", "indices", "indptr"))
    if data.dtype.kind not in "biuf" or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise source.error("holds a sparse matrix whose parts are no numbers")
    lines, across = shape if form == "csr" else shape[::-1]
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    sound: Any = (
        data.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) == lines + 1 and len(indices) == len(data)
    )
    sound = sound and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    if not sound or (len(indices) and (indices.min() < 0 or indices.max() >= across)):
        raise source.error("is damaged: the indices of its sparse matrix lead nowhere")
    kind = sp.csr_matrix if form == "csr" else sp.csc_matrix
    X = kind((data.astype(np.float64), indices, indptr), shape=shape).tocsr()
    X.sum_duplicates()
    return X


def _checked(source: Source, X: Any, y: Array | None) -> tuple[Any, Array | None]:
    """Points and targets that are numbers, finite, and as many of one as of the other."""
    if not sp.issparse(X):
        table = ArrayTable(source, X)
        every = Layout(list(range(table.width)), None, None, None)
        X = np.concatenate([part for part, _ in table.chunks(every, {})])
    elif not np.isfinite(X.data).all():
        row = int(np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], side="right"))
        raise source.error("a value is missing or infinite: correct it, or leave out the row", row, None, "row")
    if y is None:
        return X, None
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (X.shape[0],):
        raise source.error(f"has {X.shape[0]} points and targets of shape {y.shape}: one for each point is needed")
    if y.dtype.kind in "SU":
        return X, y.astype(str)
    if y.dtype.kind == "b":
        return X, y.astype(str)
    if y.dtype.kind not in "iuf":
        raise source.error(f"has targets of type {y.dtype}: numbers or text are needed")
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0]) + 1
        raise source.error(f"{y[row - 1]} is missing or infinite: leave out the row", row, "target", "row")
    return X, y
