"""Tables that are kept as rows: ARFF (Weka's text) and Excel's workbooks."""

from __future__ import annotations

import csv
import datetime
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from maxmargin.data.forms import GAPS
from maxmargin.data.layout import Layout, column_name
from maxmargin.data.source import DataFileError, Source, csv_reader
from maxmargin.data.text.delimited import stacked
from maxmargin.runtime.validation import Array

ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
CELLS_MAX = 200_000_000  # of a workbook: more than Excel's own limit of rows with 190 columns


class RowTable:
    """A table of which rows come one after the other; a value is a number, a string or None."""

    def __init__(self, source: Source, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.source, self.names, self.rows = source, list(names), rows
        self.width = len(self.names)
        if not self.width:
            raise source.error("has no columns: a table needs features")

    def raw_columns(self, places: list[int]) -> Iterator[list[Array]]:
        """The columns, all rows at once."""
        columns: list[list[Any]] = [[] for _ in places]
        for row in self.rows:
            for column, at in zip(columns, places, strict=True):
                column.append(row[at])
        if columns[0]:
            yield [_array(column) for column in columns]

    def kinds(self, layout: Layout, text: Iterable[int]) -> dict[int, str]:
        """What each wanted column holds."""
        self.columns = dict(zip(layout.wanted, next(self.raw_columns(layout.wanted), []), strict=True))
        for position in text:
            if position in self.columns:
                self.columns[position] = _words(self.columns[position])
        return {position: "text" if array.dtype == object else "number" for position, array in self.columns.items()}

    def chunks(self, layout: Layout, kinds: dict[int, str]) -> Iterator[tuple[Array, Array | None]]:
        """Features and targets; the first value that is missing is named."""
        for position, array in self.columns.items():
            gaps = np.flatnonzero(array != array if array.dtype != object else [word is None for word in array])
            if len(gaps):
                raise self.source.missing(int(gaps[0]) + 1, column_name(self.names, position), kind="row")
        arrays = [self.columns[position] for position in layout.wanted]
        targets = None if layout.target is None else arrays.pop()
        yield stacked(arrays), targets


def _array(values: list[Any]) -> Array:
    """Numbers, if there is no word among them; else words, numbers in the form in which a text file would have them."""
    if not any(isinstance(value, str) for value in values):
        numbers = np.array([np.nan if value is None else float(value) for value in values], np.float64)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    return _words(values)


def _words(values: Iterable[Any]) -> Array:
    found: list[str | None] = []
    for value in values:
        missing = value is None or value != value
        word = value.strip() if isinstance(value, str) else "" if missing else f"{value:.17g}"
        found.append(None if word.lower() in GAPS else word)
    return np.array(found, object)


def read_arff(source: Source, header: bool | None) -> RowTable:
    """Weka's format: a header that names and types the columns, then lines as in a CSV file."""
    names: list[str] = []
    numeric: list[bool] = []
    begin = 0
    for number, line in _lines(source):
        text = line.strip()
        if text.lower().startswith("@data"):
            begin = number
            break
        if text.lower().startswith("@attribute"):
            match = ATTRIBUTE.fullmatch(text)
            if match is None:
                raise source.error("is no attribute with a name and a type: correct it", number)
            names.append(re.sub(r"\\(.)", r"\1", match[1].strip("'\"")))
            numeric.append(match[2].strip().lower() in ("numeric", "real", "integer"))
    if not begin:
        raise source.error("is cut short: an ARFF file has a line @data")
    return RowTable(source, names, _arff_rows(source, begin, numeric))


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    for first, block in source.blocks():
        for k, line in enumerate(block.decode().split("\n")[:-1]):
            if line.strip() and not line.lstrip().startswith("%"):
                yield first + k, line


def _arff_rows(source: Source, begin: int, numeric: list[bool]) -> Iterator[list[Any]]:
    for number, line in _lines(source):
        if number <= begin:
            continue
        if line.lstrip().startswith("{"):
            raise source.error("is of a sparse ARFF file: write it as svmlight, or as CSV", number)
        quote = "'" if line.count("'") >= 2 else '"'
        try:
            fields = next(csv_reader([line], quotechar=quote, escapechar="\\", skipinitialspace=True))
        except csv.Error as error:
            raise source.error(f"is no row of an ARFF file ({error})", number) from error
        if len(fields) != len(numeric):
            raise source.error(f"has {len(fields)} fields, and there are {len(numeric)} attributes: correct it", number)
        yield [
            _arff_value(source, word.strip(), isnumber, number) for word, isnumber in zip(fields, numeric, strict=True)
        ]


def _arff_value(source: Source, word: str, isnumber: bool, line: int) -> Any:
    if word == "?":
        return None
    if not isnumber:
        return word
    try:
        return float(word)
    except ValueError:
        raise source.error(f"{word[:60]!r} is not a number, as its attribute says: correct it", line) from None


def read_workbook(source: Source, header: bool | None) -> RowTable:
    """The first sheet of an .xlsx workbook; its first row with values names the columns, unless one is a number."""
    try:
        import openpyxl
    except ImportError as error:
        raise source.error("is an Excel workbook, which needs openpyxl: pip install 'maxmargin[excel]'") from error
    with source.raw() as file:
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()
            rows: list[list[Any]] = []
            cells = 0
            for row in sheet.iter_rows(values_only=True):
                values = [_cell(value) for value in row]
                cells += len(values)
                if cells > CELLS_MAX:
                    raise source.error(f"has more than {CELLS_MAX:,} cells: save the sheet as CSV")
                if any(value is not None for value in values):
                    rows.append(values)
        except DataFileError:
            raise
        except (zipfile.BadZipFile, KeyError, ValueError, OSError, IndexError, TypeError, AttributeError) as error:
            raise source.error(f"is damaged, or no workbook: {str(error).strip(chr(39))[:100]}") from error
    if not rows:
        raise source.error("is empty, its first sheet holds no points: put the table there")
    width = max(map(len, rows))
    rows = [row + [None] * (width - len(row)) for row in rows]
    while width > 1 and all(row[width - 1] is None for row in rows):
        width -= 1
    headed = all(isinstance(value, str) or value is None for value in rows[0][:width]) if header is None else header
    names = [str(value or "").strip() or f"column {i + 1}" for i, value in enumerate(rows[0][:width])]
    if not headed:
        names = [f"column {i + 1}" for i in range(width)]
    if headed and len(rows) == 1:
        raise source.error("has a header and no rows: a data file needs a row for each point")
    return RowTable(source, names, [row[:width] for row in rows[headed:]])


def _cell(value: Any) -> Any:
    """A cell as a number, a string or None; dates as ISO writes them."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return str(value).strip() or None
