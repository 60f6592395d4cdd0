"""Tables as text: CSV and its relatives.

The first records tell the delimiter, whether the first of them is a header, and what each column holds: numbers,
booleans (true and false, which become 1 and 0) or text. After that the file is read in blocks by a compiled reader:
pyarrow's for large files, where it is installed, NumPy's where all columns are numbers. Other blocks, and those that
this reader refuses, are read as records, which finds the line and the column to name where something is wrong.

Time is linear in the bytes, and what is held beside the result is a block: a megabyte of text, or a line where lines
are longer.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from maxmargin.data.layout import Layout, column_name
from maxmargin.data.source import BLOCK_BYTES, EMPTY, LINE_MAX_BYTES, DataFileError, Source, csv_reader
from maxmargin.data.text.arrow_text import arrow_reader, read_block
from maxmargin.data.text.sniffing import (
    BOOLEANS,
    DELIMITERS,
    TITLED_MIN_FIELDS,
    Record,
    counts_rows,
    delimiter_of,
    has_header,
    header_names,
    is_finite_number,
    is_missing_word,
    is_number,
    kinds_of,
    lines_before,
)
from maxmargin.runtime.validation import Array

SAMPLE_MAX_RECORDS = 1000  # by which header and kinds are found; a mistake is corrected by a second pass
SAMPLE_MAX_CELLS = 1_000_000  # of them, in wide tables: as strings they take 60 MB
FIRST_LINES = 20  # that suffice to find the delimiter
LABEL_MAX_LETTERS = 200  # longer ones are documents, and no labels
TABLE_MAX_COLUMNS = 1_000_000  # of text tables; a record takes 60 MB as strings
SEPARATOR_LINE = re.compile(r'"?sep=(.|\t)"?', re.IGNORECASE)
CHUNK_MAX_CELLS = 1_000_000  # of the records that are put together at once


class TextInNumbers(DataFileError):
    """Text in a column that was taken for numbers."""

    __module__ = "maxmargin.io"


class DelimitedTable:
    """A table in a text file."""

    def __init__(self, source: Source, delimiter: str | None = None, header: bool | None = None) -> None:
        self.source = source
        lines = self._first_lines()
        marks = delimiter or DELIMITERS + " "
        if any(line.count(mark) >= TABLE_MAX_COLUMNS for line in lines[:2] for mark in marks):
            raise source.error(
                f"has more than {TABLE_MAX_COLUMNS:,} columns, which is the limit for text tables: write it as .npy, "
                "or as svmlight"
            )
        separator = SEPARATOR_LINE.fullmatch(lines[0].rstrip())  # as Excel writes it
        self.n_before = 1 if separator else lines_before(lines)
        lines = lines[self.n_before :]
        self.delimiter = separator[1] if separator else delimiter or delimiter_of(lines)
        records = self._some_records(lines, self.n_before + 1)
        self.titled = self.n_before > 0 and not separator
        if not records:
            raise source.error(EMPTY)
        self.header = has_header(records) if header is None else header
        self.head = [field.strip() for field in records[0][1]] if self.header else None
        self.all_names = header_names(self.head) if self.head is not None else None
        self.sample = (
            [record for record in records[1:] if not self.repeats_header(record[1])] if self.header else records
        )
        if self.all_names is not None and all(len(row) == len(self.all_names) + 1 for _, row in self.sample):
            # R gives no name to the column of row names, and some programs end each row with a delimiter
            if all(not row[-1].strip() for _, row in self.sample):
                self.all_names = [*self.all_names, ""]
            elif 1 < len(self.sample) == len({row[0] for _, row in self.sample}):
                self.all_names = ["", *self.all_names]
        self.all_width = len(records[0][1]) if self.all_names is None else len(self.all_names)
        if not self.sample:
            raise source.error("has a header and no rows: a data file needs a line for each point")
        self.begin = self.sample[0][0]  # the line on which data begin
        # pandas and R put a column without a name first that counts the rows: it is no feature
        self.first = int(self.all_names is not None and self.all_names[0] == "" and counts_rows(self.sample))
        self.width = self.all_width - self.first
        self.names = self._named()
        self.arrow = arrow_reader(source, self.delimiter, self.all_width)

    def repeats_header(self, fields: list[str]) -> bool:
        """Whether a record is the header once more, as where files were joined."""
        if self.head is None or fields[0].strip() != self.head[0]:  # as nearly every record
            return False
        return [field.strip() for field in fields] == self.head

    def is_footer(self, fields: list[str]) -> bool:
        """Whether a record can only be a remark below the table."""
        return self.all_width >= TITLED_MIN_FIELDS and 2 * len(fields) <= self.all_width

    def _named(self) -> list[str] | None:
        if self.all_names is None:
            return None
        return [name or f"column {i + 1}" for i, name in enumerate(self.all_names)][self.first :]

    def kinds(self, layout: Layout, text: Iterable[int]) -> dict[int, str]:
        """What each wanted column holds, as far as the first records tell."""
        return kinds_of(self.source, self.names, self.first, layout, set(text), self.sample)

    def kinds_by_all_rows(self, layout: Layout, text: Iterable[int]) -> dict[int, str]:
        """What each wanted column holds, by all of their values."""
        return kinds_of(self.source, self.names, self.first, layout, set(text), self._records())

    def data_blocks(self) -> Iterator[tuple[bytes | None, Iterator[Record]]]:
        """The text below the header in blocks: its bytes, None where a quoted field goes on into the next block (then
        its records are all that follow), and its records."""
        blocks = self.source.blocks()
        for line, block in blocks:
            if line + block.count(b"\n") <= self.begin:
                continue
            if line < self.begin:
                block = block.split(b"\n", self.begin - line)[-1]
                line = self.begin
            goes_on = self.delimiter != " " and block.count(b'"') % 2
            records = self._records_from(line, block, blocks if goes_on else iter(()))
            yield None if goes_on else block, records

    def chunks(self, layout: Layout, kinds: dict[int, str]) -> Iterator[tuple[Array, Array | None]]:
        """Features and targets, as many rows at a time as a block of text holds."""
        most = max(1, CHUNK_MAX_CELLS // self.all_width)
        for block, records in self.data_blocks():
            chunk = None if block is None or not block.strip() else self._compiled(block, layout, kinds)
            if chunk is not None:
                yield chunk
                continue
            while some := list(itertools.islice(records, most)):
                yield self._from_records(some, layout, kinds)

    def _compiled(self, block: bytes, layout: Layout, kinds: dict[int, str]) -> tuple[Array, Array | None] | None:
        """The block as a compiled reader reads it; None if something is wrong with it, or it might be."""
        numbers = [position for position in layout.wanted if kinds[position] == "number"]
        try:
            if self.arrow is not None:
                places = [position + self.first for position in layout.wanted]
                of_numbers = {position + self.first for position in numbers}
                columns = read_block(self.arrow, block, self.delimiter, self.all_width, of_numbers, places)
                if columns is not None:
                    found = dict(zip(layout.wanted, columns, strict=True))
                    values = [found.pop(position) for position in numbers]
                    table = np.column_stack(values) if values else np.empty((len(columns[0]), 0))
                    return self._assembled(table, numbers, found, layout, kinds)
            if len(numbers) == self.all_width:
                text = block.decode()
                options = {} if self.delimiter == " " else {"delimiter": self.delimiter, "quotechar": '"'}
                lines = _lines(text) if '"' in text else text.split("\n")
                table = np.loadtxt(lines, np.float64, comments=None, ndmin=2, **options)  # type: ignore[call-overload]
                if table.shape[1] == self.all_width:
                    return self._assembled(table[:, numbers], numbers, {}, layout, kinds)
        except (ValueError, OverflowError):
            pass
        return None

    def _from_records(self, records: list[Record], layout: Layout, kinds: dict[int, str]) -> tuple[Array, Array | None]:
        """The records as features and targets, or an error for the first that is wrong."""
        numbers = [position for position in layout.wanted if kinds[position] == "number"]
        try:
            if any(len(fields) != self.all_width for _, fields in records):
                raise ValueError
            words = [fields[position + self.first].strip() for _, fields in records for position in numbers]
            letters = "".join(words)
            if "_" in letters or not letters.isascii():  # Python would read 1_000 as a number
                raise ValueError
            others = {
                position: [fields[position + self.first] for _, fields in records]
                for position in layout.wanted
                if kinds[position] != "number"
            }
            values = np.fromiter(map(float, words), np.float64, len(words)).reshape(len(records), len(numbers))
            return self._assembled(values, numbers, others, layout, kinds)
        except ValueError:
            for record in records:
                self._check(*record, layout, kinds)
            raise

    def _assembled(
        self, values: Array, numbers: list[int], others: dict[int, Any], layout: Layout, kinds: dict[int, str]
    ) -> tuple[Array, Array | None]:
        """Features and targets from the values of columns of numbers and the words of others; a ValueError says that
        one of them is wrong."""
        if not np.isfinite(values).all():
            raise ValueError
        columns: dict[int, Array] = {}
        for position, column in others.items():
            words = {word: word.strip() for word in set(column)}
            longest = LABEL_MAX_LETTERS if position == layout.target else np.inf
            if any(is_missing_word(word) or len(word) > longest for word in words.values()):
                raise ValueError
            if kinds[position] == "boolean":
                if not all(word.lower() in BOOLEANS for word in words.values()):
                    raise ValueError
                columns[position] = np.array([BOOLEANS[words[word].lower()] for word in column])
            else:
                columns[position] = np.fromiter((words[word] for word in column), object, len(column))
        y = columns.pop(layout.target, None) if layout.target is not None else None
        if layout.target is not None and y is None:
            at = numbers.index(layout.target)
            y, values = values[:, at].copy(), np.delete(values, at, axis=1)
            numbers = [position for position in numbers if position != layout.target]
        if numbers == layout.features:
            return np.ascontiguousarray(values), y
        texts = any(column.dtype == object for column in columns.values())
        X = np.empty((len(values), len(layout.features)), object if texts else np.float64)
        places = {position: j for j, position in enumerate(layout.features)}
        X[:, [places[position] for position in numbers]] = values
        for position, column in columns.items():
            X[:, places[position]] = column
        return X, y

    def _check(self, line: int, fields: list[str], layout: Layout, kinds: dict[int, str]) -> None:
        if len(fields) != self.all_width:
            raise self.wrong_width(line, len(fields))
        for position in layout.wanted:
            self._check_field(line, fields[position + self.first].strip(), position, layout, kinds)

    def wrong_width(self, line: int, found: int) -> DataFileError:
        """The error for a line that has more or fewer fields than the first."""
        more = f", or quote fields that hold a {self.delimiter!r}" if found > self.all_width else ""
        return self.source.error(
            f"has {found} field{'s' * (found != 1)} where the first line has {self.all_width}: correct it{more}", line
        )

    def _check_field(self, line: int, word: str, position: int, layout: Layout, kinds: dict[int, str]) -> None:
        kind = kinds[position]
        if kind == "number" and is_finite_number(word):
            return
        name = column_name(self.names, position)
        if is_missing_word(word):
            raise self.source.missing(line, name, word)
        if (kind == "number" and not is_number(word)) or (kind == "boolean" and word.lower() not in BOOLEANS):
            wanted = "a number" if kind == "number" else "true or false, as the others are"
            error = self.source.error(f"{word[:60]!r} is not {wanted}: correct it, or leave out the row", line, name)
            raise TextInNumbers(str(error))
        if kind == "number":
            raise self.source.error(f"{word[:60]!r} is not finite: correct it, or leave out the row", line, name)
        if kind == "text" and position == layout.target and len(word) > LABEL_MAX_LETTERS:
            raise self.source.error(f"a label of {len(word)} letters: give short labels as target", line, name)

    def _records(self) -> Iterator[Record]:
        """All records after the header."""
        blocks = self.source.blocks()
        for line, fields in self._records_from(1, b"", blocks):
            if line >= self.begin:
                yield line, fields

    def _records_from(self, line: int, block: bytes, blocks: Iterator[tuple[int, bytes]]) -> Iterator[Record]:
        def lines() -> Iterator[str]:
            yield from _lines(block.decode())
            for _, more in blocks:
                yield from _lines(more.decode())

        return self._parsed(lines(), line)

    def _parsed(self, lines: Iterable[str], line: int) -> Iterator[Record]:
        """Records of lines, of which the first has the given number; blank lines are none."""
        if self.delimiter == " ":
            yield from ((number, text.split()) for number, text in enumerate(lines, line) if text.strip())
            return
        reader = csv_reader(lines, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        begin = line
        while True:
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self.source.error(f"a quote is out of place or not closed ({error})", begin) from error
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield begin, fields
            begin = line + reader.line_num

    def _first_lines(self) -> list[str]:
        """The lines of the first block, and of more where lines are long."""
        lines: list[str] = []
        size = 0
        for _, block in self.source.blocks():
            lines += _lines(block.decode())
            size += len(block)
            if len(lines) > FIRST_LINES or size > LINE_MAX_BYTES:
                break
        if not any(line.strip() for line in lines):
            raise self.source.error(EMPTY)
        return lines

    def _some_records(self, lines: list[str], line: int) -> list[Record]:
        """The first records. What a block cuts in two, or a mistake far down, is not for here."""
        found: list[Record] = []
        cells = 0
        try:
            for record in self._parsed(lines, line):
                found.append(record)
                cells += len(record[1])
                if len(found) > SAMPLE_MAX_RECORDS or (cells > SAMPLE_MAX_CELLS and len(found) > 2):
                    break
        except DataFileError:
            if not found or sum(map(len, lines)) < BLOCK_BYTES // 2:
                raise
        return found


def stacked(columns: list[Array]) -> Array:
    """Columns side by side: numbers, or objects if one of them is text."""
    if all(column.dtype != object for column in columns):
        return np.column_stack(columns)
    table = np.empty((len(columns[0]), len(columns)), object)
    for j, column in enumerate(columns):
        table[:, j] = column.tolist()
    return table


def _lines(text: str) -> Iterable[str]:
    """Lines with their ends; only ``\\n`` ends one, unlike for str.splitlines."""
    return io.StringIO(text, newline="\n")


def read_csv(source: Source, header: bool | None) -> DelimitedTable:
    """The table in a file whose delimiter is found out."""
    return DelimitedTable(source, None, header)


def read_tsv(source: Source, header: bool | None) -> DelimitedTable:
    """The table in a file with tabulators."""
    return DelimitedTable(source, "\t", header)
