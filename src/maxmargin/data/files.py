"""Points and targets from a file of any common format.

A file that is not what it should be ends in one :class:`DataFileError` that names the file, the place, the cause and
the remedy.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.formats import check_options, format_of, refuse_unused, table_of, text_positions
from maxmargin.data.layout import Layout, lay_out
from maxmargin.data.source import DataFileError, Source
from maxmargin.data.text.delimited import DelimitedTable, TextInNumbers
from maxmargin.data.text.sniffing import is_number
from maxmargin.data.text.sparse_text import SparseText
from maxmargin.runtime.validation import Array, Points

FLOAT_OBJECT_BYTES = 24  # of a number in a table with text, beside its place in the array


@dataclass(frozen=True, repr=False)
class Data:
    """The contents of a data file, as returned by ``read_data``.

    Attributes
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Numbers, as float64. A table with text columns gives an array of objects, with floats and strings in it.
    y : array of shape (n_samples,) or None
        Numbers, or labels as strings.
    columns : list of str or None
        Names of the columns of X, where the file has names.
    target : str or None
        Name of the target column.
    source : str
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fruit.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("weight,colour,kind\\n150,green,apple\\n120,yellow,banana\\n")
    ...     data = read_data(path)
    >>> data.X
    array([[150.0, 'green'],
           [120.0, 'yellow']], dtype=object)
    >>> data
    <2 points with 2 features, target 'kind', from ...fruit.csv>
    >>> data.y, data.columns, data.target
    (array(['apple', 'banana'], dtype='<U6'), ['weight', 'colour'], 'kind')
    """

    X: Points
    y: Array | None
    columns: list[str] | None
    target: str | None
    source: str

    def __repr__(self) -> str:
        (n, d), kind = self.X.shape, "sparse " if sp.issparse(self.X) else ""
        named = f", target {self.target!r}" if self.target is not None else ", no target" if self.y is None else ""
        return f"<{n} points with {d} {kind}features{named}, from {self.source}>"


def read_data(
    source: str | os.PathLike[str] | Source,
    *,
    target: str | int | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    header: bool | None = None,
    zero_based: bool | str = "auto",
    n_features: int | None = None,
    labelled: bool = True,
    text: Iterable[str | int] = (),
) -> Data:
    """Read points and targets from a file.

    Parameters
    ----------
    source : str or path
        The file, or "-" for standard input. Compressed text (gzip, bzip2, xz) is decompressed.
    target : str or int, optional
        The target column of a table, by name or by position from 0, or from the end if negative. By default it is a
        column called target, label, class or y, or else the last column.
    columns : list of str, optional
        The feature columns to return, in this order. By default all columns except the target.
    format : str, optional
        "svmlight" (or "libsvm"), "csv", "tsv", "parquet", "arrow" (or "feather"), "npz" or "npy"; by default detected
        from the name and the content.
    header : bool, optional
        Whether the first line of a CSV file contains column names; detected by default.
    zero_based : bool or "auto", default="auto"
        Whether column indices of an svmlight file start at 0; "auto" assumes it if, and only if, an index 0 occurs.
    n_features : int, optional
        Number of features; for an svmlight file by default the largest index. A table must have this many.
    labelled : bool, default=True
        Whether there is a target. If False, a table may still have one more column than ``columns`` or ``n_features``,
        which is then the target.
    text : list of str or int, default=()
        Columns to read as text although they look like numbers, such as codes, by name or position.

    Returns
    -------
    data : Data
        Points ``X``, targets ``y``, and the names of the columns.

    Raises
    ------
    DataFileError
        If the file cannot be read, or contains missing values, text among numbers, rows of different lengths, or dates.

    Notes
    -----
    A column is text if at least half of its values are not numbers; :class:`~maxmargin.TableEncoder` encodes it.
    Booleans become 0 and 1, except in the target, where they are labels. A first column without a name that numbers the
    rows, as written by pandas and R, is dropped. ``.npz`` files contain ``X`` (or ``data``) and ``y`` (or ``target``,
    ``labels``), or a sparse matrix written by :func:`scipy.sparse.save_npz`; the last column of a single array is the
    target. Nothing in a file is ever executed.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("a;b;label\\n0.5;1;-1\\n2;3;1\\n")
    ...     data = read_data(path)
    >>> data.X, data.y
    (array([[0.5, 1. ], [2. , 3. ]]), array([-1.,  1.]))
    """
    check_options(header=header, zero_based=zero_based, n_features=n_features, labelled=labelled)
    file = source if isinstance(source, Source) else Source(source)
    kind = format_of(file, format)
    refuse_unused(file, kind, target, header, zero_based)
    if kind == "svmlight":
        X, y = SparseText(file, zero_based, labelled).read_all(n_features if columns is None else len(columns))
        return Data(X, y, None if columns is None else list(columns), None, file.name)
    table = table_of(file, kind, header)
    if isinstance(table, tuple):
        if target is not None:
            raise file.error("has its targets beside the points, not in a column: leave target out")
        X, y = table
        return _of_parts(file, X, y, columns, n_features, labelled)
    wanted = {"target": target, "columns": columns, "labelled": labelled, "n_features": n_features}
    layout = lay_out(file, table.names, table.width, **wanted)  # type: ignore[arg-type]
    forced = text_positions(file, table, text)
    kinds = table.kinds(layout, forced)
    try:
        X, y = _read_table(file, table, layout, kinds, forced)
    except TextInNumbers as error:
        raise DataFileError(str(error)) from None
    return Data(X, y, layout.names, layout.target_name, file.name)


def label_array(y: Array | None) -> Array | None:
    """Targets as numbers or as strings of one width."""
    return y if y is None or y.dtype != object else np.array(y.tolist(), dtype=str)


def _read_table(
    source: Source, table: Any, layout: Layout, kinds: dict[int, str], forced: list[int]
) -> tuple[Points, Array | None]:
    """The table, read again where columns are not what their first records say."""
    try:
        X, y = _joined(source, table, layout, kinds)
        if not (isinstance(table, DelimitedTable) and _few_texts(layout, kinds, forced, X, y)):
            return X, y
    except TextInNumbers:
        again = table.kinds_by_all_rows(layout, forced)
        if again == kinds:
            raise
    else:
        again = table.kinds_by_all_rows(layout, forced)
    return _joined(source, table, layout, again)


def _joined(source: Source, table: Any, layout: Layout, kinds: dict[int, str]) -> tuple[Points, Array | None]:
    """All chunks of a table as one."""
    points: list[Array] = []
    targets: list[Array] = []
    held = 0.0
    for X, y in table.chunks(layout, kinds):
        points.append(X)
        if y is not None:
            targets.append(y)
        held += X.nbytes + (FLOAT_OBJECT_BYTES * X.size if X.dtype == object else 0)
        source.check_room(held)
    if not points:
        raise source.error("has no rows: a data file needs a line for each point")
    return _stacked_rows(points), label_array(np.concatenate(targets)) if targets else None


def _stacked_rows(parts: list[Array]) -> Array:
    """Arrays below each other; each is released when it is copied, so that memory does not double."""
    if len(parts) == 1:
        return parts[0]
    kind = np.result_type(*{part.dtype for part in parts})
    made = np.empty((sum(len(part) for part in parts), parts[0].shape[1]), kind)
    begin = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        made[begin : begin + len(part)] = part
        begin += len(part)
    return made


def _few_texts(layout: Layout, kinds: dict[int, str], forced: list[int], X: Array, y: Array | None) -> bool:
    """Whether a column that begins as text is mostly numbers after all."""
    if "text" not in kinds.values():
        return False
    columns = zip(layout.wanted, [*X.T, *([] if y is None else [y])], strict=True)
    for position, column in columns:
        if kinds[position] == "text" and position not in forced:
            numbers = sum(count for word, count in Counter(column.tolist()).items() if is_number(word))
            if 2 * numbers > len(column):
                return True
    return False


def _of_parts(
    source: Source, X: Any, y: Any, columns: Sequence[str] | None, n_features: int | None, labelled: bool
) -> Data:
    if labelled and y is None:
        raise source.error("has no y: store the targets beside X, under the name y")
    wanted = len(columns) if columns is not None else n_features
    if wanted is not None and X.shape[1] != wanted:
        raise source.error(f"has {X.shape[1]} features, and {wanted} are needed: give those of the training data")
    return Data(X, y, None if columns is None else list(columns), None, source.name)
