"""A data file a batch at a time, for what does not fit into memory.

Nothing but the batch at hand is held. The object can be iterated again, each time from the file's beginning.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.files import label_array
from maxmargin.data.formats import check_options, format_of, refuse_unused, table_of, text_positions
from maxmargin.data.layout import Layout, column_name, lay_out
from maxmargin.data.source import DataFileError, Source
from maxmargin.data.text.delimited import TextInNumbers
from maxmargin.data.text.sparse_text import SparseText, placed
from maxmargin.runtime.validation import Array, Points, check_number


def read_batches(
    source: str | os.PathLike[str],
    batch_size: int = 10_000,
    *,
    target: str | int | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    header: bool | None = None,
    zero_based: bool | str = "auto",
    n_features: int | None = None,
    labelled: bool = True,
    text: Iterable[str | int] = (),
    encoder: Any = None,
) -> Batches:
    """Read points and targets from a file in batches.

    Parameters
    ----------
    source : str or path
        The file: svmlight, CSV, TSV, Parquet, Arrow or ``.npy``; "-" for standard input, which is copied to a temporary
        file.
    batch_size : int, default=10_000
        Number of points in a batch; the last may have fewer.
    target, columns, format, header, labelled, text
        As for :func:`read_data`.
    zero_based : bool or "auto", default="auto"
        Whether columns of an svmlight file count from 0. "auto" needs a first pass over the file.
    n_features : int, optional
        Number of features. By default an svmlight file is read once to find it.
    encoder : TableEncoder, optional
        A fitted :class:`~maxmargin.data.table_encoder.TableEncoder` that encodes text columns. Without it a text column
        is refused, because later batches may contain new categories.

    Returns
    -------
    batches : Batches
        Iterate over it to get pairs ``X, y``; ``y`` is None if there is no target.

    Raises
    ------
    DataFileError
        As for :func:`read_data`, with the same line numbers; some errors are raised only when the batches are read.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("a,b,label\\n1,2,0\\n3,4,1\\n5,6,1\\n")
    ...     for X, y in read_batches(path, batch_size=2):
    ...         print(X.tolist(), y)
    [[1.0, 2.0], [3.0, 4.0]] [0. 1.]
    [[5.0, 6.0]] [1.]
    """
    check_options(header=header, zero_based=zero_based, n_features=n_features, labelled=labelled)
    size = int(check_number("batch_size", batch_size, least=1, integer=True))
    file = Source(source)
    kind = format_of(file, format)
    refuse_unused(file, kind, target, header, zero_based)
    if kind == "npz":
        raise file.error("is an archive, which cannot be read in batches: store the array as .npy, or use read_data")
    if kind == "svmlight":
        width = len(columns) if columns is not None else n_features
        return SparseBatches(file, size, None, SparseText(file, zero_based, labelled), width)
    table = table_of(file, kind, header)
    layout = lay_out(
        file, table.names, table.width, target=target, columns=columns, labelled=labelled, n_features=n_features
    )
    forced = text_positions(file, table, text)
    known = () if encoder is None else encoder.text_columns_
    words = {layout.features[j] for j in known if j < len(layout.features)}
    kinds = table.kinds(layout, [*forced, *words])
    if encoder is not None:
        kinds |= {p: "number" for p in layout.features if p not in words and kinds[p] == "text"}
    else:
        for position in layout.features:
            if kinds[position] == "text":
                raise file.error(
                    "holds text: fit a TableEncoder on some of the data and give it as encoder",
                    None,
                    column_name(table.names, position),
                )
    return TableBatches(file, size, encoder, table, layout, kinds)


class Batches(abc.ABC):
    """The batches of a data file, as returned by ``read_batches``; can be iterated several times.

    Attributes
    ----------
    columns : list of str or None
        Names of the columns of X before encoding, where the file has names.
    target : str or None
        Name of the target column.
    n_features : int
        Number of columns of X.
    source : str
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.svm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:2 4:3\\n-1 2:1\\n")
    ...     batches = read_batches(path, batch_size=1)
    ...     sum(len(y) for X, y in batches), batches.n_features
    (2, 4)
    """

    columns: list[str] | None = None
    target: str | None = None
    n_features: int

    def __init__(self, file: Source, size: int, encoder: Any) -> None:
        self.file, self.size, self.encoder = file, size, encoder
        self.source = file.name

    def __repr__(self) -> str:
        return f"<batches of {self.size} from {self.source}>"

    @abc.abstractmethod
    def _chunks(self) -> Iterator[tuple[Points, Array | None]]:
        """The file's rows in parts of whatever size its format gives."""

    def __iter__(self) -> Iterator[tuple[Points, Array | None]]:
        points: list[Points] = []
        targets: list[Array] = []
        held, given = 0, 0
        for X, y in self._chunks():
            begin = 0
            while begin < X.shape[0]:
                part = slice(begin, begin + self.size - held)
                points.append(X[part])
                if y is not None:
                    targets.append(y[part])
                held += points[-1].shape[0]
                begin = part.stop
                if held == self.size:
                    yield self._batch(points, targets, given)
                    points, targets, held, given = [], [], 0, given + held
        if held:
            yield self._batch(points, targets, given)
        elif not given:
            raise self.file.error("has no rows: a data file needs a line for each point")

    def _batch(self, points: list[Points], targets: list[Array], given: int) -> tuple[Points, Array | None]:
        if sp.issparse(points[0]):
            X = points[0] if len(points) == 1 else sp.vstack(points, format="csr")
        else:
            X = np.concatenate(points)
        if self.encoder is not None:
            try:
                X = self.encoder.transform(X)
            except (TypeError, ValueError) as error:
                rows = f"among rows {given + 1} to {given + X.shape[0]}"
                raise self.file.error(f"{rows}: {str(error).rstrip('.')}") from error
        return X, label_array(np.concatenate(targets)) if targets else None


class TableBatches(Batches):
    """Batches of a table."""

    def __init__(
        self, file: Source, size: int, encoder: Any, table: Any, layout: Layout, kinds: dict[int, str]
    ) -> None:
        super().__init__(file, size, encoder)
        self.table, self.layout, self.kinds = table, layout, kinds
        self.columns, self.target = layout.names, layout.target_name
        self.n_features = len(layout.features) if encoder is None else len(encoder.get_feature_names_out())

    def _chunks(self) -> Iterator[tuple[Points, Array | None]]:
        try:
            yield from self.table.chunks(self.layout, self.kinds)
        except TextInNumbers as error:
            raise DataFileError(f"{str(error)[:-1]}; a text column needs an encoder.") from None


class SparseBatches(Batches):
    """Batches of an svmlight file."""

    def __init__(self, file: Source, size: int, encoder: Any, text: SparseText, n_features: int | None) -> None:
        super().__init__(file, size, encoder)
        self.text = text
        if n_features is None or text.zero_based == "auto":
            self.first, self.n_features = text.shape(*text.extent(), n_features)
        else:
            self.first, self.n_features = text.shape(0, -1, n_features)

    def _chunks(self) -> Iterator[tuple[Points, Array | None]]:
        for X, y, *_ in self.text.parts():
            high = int(X.indices.max(initial=0))
            if high - self.first >= self.n_features:
                self.text.shape(0, high, self.n_features)
            yield placed(X, self.first, self.n_features), None if self.text.bare else y
