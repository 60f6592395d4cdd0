"""Parquet and Arrow files, through pyarrow: columns that know what they hold, read a few thousand rows at a time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from maxmargin.data.forms import GAPS
from maxmargin.data.layout import Layout, column_name
from maxmargin.data.source import DataFileError, Source
from maxmargin.data.text.delimited import LABEL_MAX_LETTERS, stacked
from maxmargin.data.text.sniffing import is_missing_word
from maxmargin.runtime.validation import Array

CHUNK_MAX_ROWS = 16_384  # at once
CHUNK_MAX_CELLS = 1 << 20


class ColumnarTable:
    """A table in a Parquet or Arrow file."""

    def __init__(self, source: Source, kind: str) -> None:
        try:
            import pyarrow
        except ImportError as error:
            raise source.error(
                f"is a {kind.capitalize()} file, which needs pyarrow: pip install 'maxmargin[parquet]'"
            ) from error
        self.pa, self.source, self.kind = pyarrow, source, kind
        self.damage = (pyarrow.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError)
        with self._opened() as file:
            schema = file.schema_arrow if kind == "parquet" else file.schema
            names, types = list(schema.names), list(schema.types)
            indices, self.categorical = _of_pandas(schema)
        kept = [i for i, name in enumerate(names) if name not in indices]
        if not kept:
            raise source.error("has no columns: a table needs features")
        self.types = [types[i] for i in kept]
        self.names: list[str] | None = [names[i] for i in kept]
        self.width = len(kept)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        with self.source.raw() as raw, self._explained():
            if self.kind == "parquet":
                import pyarrow.parquet

                yield pyarrow.parquet.ParquetFile(raw)
            elif self.source.head.startswith(b"ARROW1"):
                yield self.pa.ipc.open_file(raw)
            else:
                yield self.pa.ipc.open_stream(raw)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Whatever pyarrow finds amiss, in one sort of error."""
        try:
            yield
        except DataFileError:
            raise
        except self.damage as error:
            what = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
            raise self.source.error(f"is cut short or damaged: {what}") from error

    def kinds(self, layout: Layout, text: Iterable[int]) -> dict[int, str]:
        """What each wanted column holds, by its type; dates and nested values are refused."""
        forced = set(text)
        return {
            position: "text" if position in forced else self._kind_of(position, self.types[position])
            for position in layout.wanted
        }

    def _kind_of(self, position: int, dtype: Any) -> str:
        types = self.pa.types
        name = column_name(self.names, position)
        if types.is_dictionary(dtype):
            self._kind_of(position, dtype.value_type)
            return "text"  # categories are words, even if written in digits
        if self.names is not None and self.names[position] in self.categorical:
            return "text"
        if types.is_boolean(dtype):
            return "boolean"
        if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
            return "number"
        if types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype):
            return "text"
        if types.is_temporal(dtype):
            raise self.source.error(
                f"holds dates or times ({dtype}): turn them into numbers, such as days since the first, or leave the "
                "column out",
                None,
                name,
            )
        if types.is_null(dtype):
            raise self.source.error("is empty: leave the column out", None, name)
        raise self.source.error(f"holds values of type {str(dtype)[:60]}: numbers or text are needed", None, name)

    def chunks(self, layout: Layout, kinds: dict[int, str]) -> Iterator[tuple[Array, Array | None]]:
        """Features and targets, some thousand rows at a time."""
        row = 0
        for batch in self._batches(layout.wanted):
            if batch.num_rows == 0:
                continue
            with self._explained():
                columns = [
                    self._column(batch.column(i), position, kinds[position], layout, row)
                    for i, position in enumerate(layout.wanted)
                ]
            targets = None if layout.target is None else columns.pop()
            yield stacked(columns), targets
            row += batch.num_rows

    def raw_columns(self, places: list[int]) -> Iterator[list[Array]]:
        """The columns with what is missing: numbers with NaN, or words and None; dates as ISO writes them."""
        for batch in self._batches(places):
            if batch.num_rows:
                with self._explained():
                    yield [self._raw(batch.column(i), position) for i, position in enumerate(places)]

    def _raw(self, column: Any, position: int) -> Array:
        assert self.names is not None
        types, pa = self.pa.types, self.pa
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        categorical = self.names[position] in self.categorical
        if types.is_boolean(column.type) or types.is_null(column.type) or types.is_decimal(column.type):
            column = column.cast(pa.float64())
        if (types.is_integer(column.type) or types.is_floating(column.type)) and not categorical:
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return np.where(np.isfinite(values), values, np.nan)
        if types.is_nested(column.type) or types.is_binary(column.type):
            name = column_name(self.names, position)
            raise self.source.error(f"holds values of type {str(column.type)[:60]}: leave it out", None, name)
        if types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("s"), safe=False)
        words = [None if value is None else _shown(value) for value in column.to_pylist()]
        return np.array([None if word is None or word.lower() in GAPS else word for word in words], object)

    def _batches(self, places: list[int]) -> Iterator[Any]:
        assert self.names is not None
        names = [self.names[position] for position in places]
        rows = max(1, min(CHUNK_MAX_ROWS, CHUNK_MAX_CELLS // len(names)))
        with self._opened() as file:
            if self.kind == "parquet":
                for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
                    batch.validate(full=True)
                    yield batch.select(names)
                return
            whole = hasattr(file, "num_record_batches")
            batches = (file.get_batch(i) for i in range(file.num_record_batches)) if whole else iter(file)
            for batch in batches:
                batch.validate(full=True)
                chosen = batch.select(names)
                for begin in range(0, max(chosen.num_rows, 1), rows):
                    yield chosen.slice(begin, rows)

    def _column(self, column: Any, position: int, kind: str, layout: Layout, row: int) -> Array:
        """The values of a column; the first that is missing or not finite is named."""
        name = column_name(self.names, position)
        if column.null_count:
            where = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.source.missing(row + where + 1, name, kind="row")
        if self.pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
            if column.null_count:
                raise self.source.error("has missing values among its categories: fill them in", None, name)
        if kind == "text" or (kind == "boolean" and position == layout.target):
            return self._texts(column, position, layout, row)
        if kind == "boolean":
            return column.to_numpy(zero_copy_only=False).astype(np.float64)
        if self.pa.types.is_decimal(column.type):
            column = column.cast(self.pa.float64())
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        if not np.isfinite(values).all():
            where = int(np.flatnonzero(~np.isfinite(values))[0])
            if np.isnan(values[where]):
                raise self.source.missing(row + where + 1, name, "nan", kind="row")
            raise self.source.error(
                f"{values[where]} is not finite: correct it, or leave out the row", row + where + 1, name, "row"
            )
        return values

    def _texts(self, column: Any, position: int, layout: Layout, row: int) -> Array:
        name = column_name(self.names, position)
        words = column.to_pylist()
        short = {word: _shown(word) for word in set(words)}
        for word, text in short.items():
            if is_missing_word(text):
                raise self.source.missing(row + words.index(word) + 1, name, text, kind="row")
            if position == layout.target and len(text) > LABEL_MAX_LETTERS:
                raise self.source.error(
                    f"a label of {len(text)} letters: give short labels as target",
                    row + words.index(word) + 1,
                    name,
                    "row",
                )
        return np.fromiter((short[word] for word in words), object, len(words))


def _shown(value: Any) -> str:
    """A value as a CSV file would have it."""
    return f"{value:.17g}" if isinstance(value, float) and value.is_integer() else str(value).strip()


def read_parquet(source: Source, header: bool | None) -> ColumnarTable:
    """The table in a Parquet file."""
    return ColumnarTable(source, "parquet")


def read_arrow(source: Source, header: bool | None) -> ColumnarTable:
    """The table in an Arrow file or stream."""
    return ColumnarTable(source, "arrow")


def _of_pandas(schema: Any) -> tuple[list[str], list[str]]:
    """Of the data frame a file was written from, if any: the names of its row index, which is no feature, and of its
    categorical columns, which Parquet stores as numbers if they are written in digits."""
    try:
        stored = json.loads((schema.metadata or {})[b"pandas"])
        indices = [name for name in stored["index_columns"] if isinstance(name, str)]
        return indices, [part["name"] for part in stored["columns"] if part["pandas_type"] == "categorical"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return [], []
