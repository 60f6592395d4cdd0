"""Tables as an analyst has them: gaps, dates, words among numbers. Nothing is refused that can be read.

A column is numbers (float64, NaN where a value is missing) if every other value of it is one; else it holds the words
as they stand in the file, None where one is missing. What the words mean is found out by :mod:`maxmargin.data.survey`.

A number takes eight bytes; of a word that comes again a reference of eight bytes is held. Beside the result there are a
block of text and its columns, some tens of megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.data.formats import format_of, refuse_unused, table_of
from maxmargin.data.forms import GAPS, NUMBER_GAPS, number_form
from maxmargin.data.layout import unique_names
from maxmargin.data.source import Source
from maxmargin.data.text.arrow_text import read_block
from maxmargin.data.text.delimited import DelimitedTable
from maxmargin.data.text.sniffing import is_number
from maxmargin.runtime.validation import Array

BATCH_RECORDS = 500  # turned into columns at once: of more, the garbage collector takes half the time
NOTED_MAX_NAMES = 3  # of those that several columns have
WORD_BYTES = 60  # of a string, where it is not shared


@dataclass(frozen=True)
class Table:
    """Columns of equal length, with names.

    columns: names
    arrays: numbers with NaN where a value is missing, or objects: strings, and None
    source: where it comes from
    headed: whether the names are the file's own; otherwise they are "column 1", "column 2"
    decimal: "," where the file shows that it writes decimal commas
    notes: what of the file is not in the table
    """

    columns: list[str]
    arrays: list[Array]
    source: str = ""
    headed: bool = True
    decimal: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        return (len(self.arrays[0]) if self.arrays else 0), len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> Array:
        return self.arrays[self._places[name]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    def select(self, names: Sequence[str]) -> Table:
        """The columns of these names."""
        return Table(list(names), [self[name] for name in names], self.source, self.headed, self.decimal)

    def take(self, rows: Any) -> Table:
        """These rows."""
        return Table(self.columns, [array[rows] for array in self.arrays], self.source, self.headed, self.decimal)


def read_table(source: Any, *, format: str | None = None, header: bool | None = None, wanted: Any = None) -> Table:
    """Read a table with all that an analyst's file may hold.

    source: the file, or "-" for standard input
    format: "csv", "tsv", "arff", "xlsx", "parquet", "arrow" or "npy"; found out from the name and the content by
        default
    header: whether the first line names the columns; found out by default
    wanted: names of the columns to read, where the file has them; all by default
    Raises DataFileError if the file cannot be read: the message names the place, the cause and the remedy.
    """
    file = source if isinstance(source, Source) else Source(source)
    kind = format_of(file, format)
    refuse_unused(file, kind, None, header, "auto")
    made = table_of(file, kind, header)
    names = unique_names(made.names) if made.names is not None else [f"column {i + 1}" for i in range(made.width)]
    places = [i for i, name in enumerate(names) if wanted is None or name in wanted]
    decimal, notes = None, list[str]()
    twice = [name for name, n in Counter(made.names or ()).items() if n > 1]
    if isinstance(made, DelimitedTable):
        arrays, decimal = _of_text(made, places, notes)
    else:
        arrays = _joined(file, made.raw_columns(places), len(places))
    if not arrays or not len(arrays[0]):
        raise file.error("has no rows: a data file needs a line for each point")
    for name in twice[:NOTED_MAX_NAMES]:
        notes.append(f"several columns are called {name!r}: the second is {f'{name} (2)'!r} here")
    return Table([names[i] for i in places], arrays, file.name, made.names is not None, decimal, tuple(notes))


def _joined(source: Source, parts: Iterator[list[Array]], width: int) -> list[Array]:
    """Columns from parts of them; each part is released as soon as its column is put together."""
    found: list[list[Array]] = [[] for _ in range(width)]
    held = 0.0
    for part in parts:
        for column, more in zip(found, part, strict=True):
            column.append(more)
            held += more.nbytes if more.dtype != object else more.nbytes + WORD_BYTES * len(set(more.tolist()))
        source.check_room(held)
    arrays = []
    for column in found:
        kind = object if any(more.dtype == object for more in column) else np.float64
        arrays.append(np.concatenate([more.astype(kind, copy=False) for more in column]) if column else np.empty(0))
        column.clear()
    return arrays


class _WordsInNumbers(Exception):
    """Columns that were taken for numbers, and hold words."""

    def __init__(self, places: set[int]) -> None:
        self.places = places


def _of_text(table: DelimitedTable, places: list[int], notes: list[str]) -> tuple[list[Array], str | None]:
    """Columns of a text table, and the decimal mark where it shows; ``notes`` gets what was left out. A column is
    numbers if its first records are, until a word turns up: then the file is read again."""
    sample = [
        [record[i + table.first].strip() for _, record in table.sample if i + table.first < len(record)] for i in places
    ]
    decimal = "," if table.delimiter != "," and any(map(_has_decimal_comma, sample)) else None
    texts = {i for i, words in zip(places, sample, strict=True) if not all(map(_is_numeric, words))}
    if decimal:  # 1.234 may then be a thousand
        texts |= {
            i
            for i, words in zip(places, sample, strict=True)
            if (number_form(_filled(words), ",") or "").startswith("number ,")
        }
    titles = [f"{table.n_before} line{'s' * (table.n_before > 1)} before the table left out"] if table.titled else []
    while True:
        try:
            notes[:] = titles
            return _joined(table.source, _text_parts(table, places, texts, notes), len(places)), decimal
        except _WordsInNumbers as error:
            texts |= error.places


def _is_numeric(word: str) -> bool:
    return is_number(word) or word.lower() in NUMBER_GAPS


def _filled(words: list[str]) -> list[str]:
    return [word for word in words if word.lower() not in NUMBER_GAPS]


def _has_decimal_comma(words: list[str]) -> bool:
    words = _filled(words)
    return any("," in word for word in words) and (number_form(words) or "").startswith("number ,")


def _text_parts(table: DelimitedTable, places: list[int], texts: set[int], notes: list[str]) -> Iterator[list[Array]]:
    """The columns of one block of the file after the other."""
    footer: list[tuple[int, int]] = []  # lines too short for the table, and their fields: remarks if nothing follows
    headers: list[int] = []  # lines that repeat the header
    numbers = {i + table.first for i in places if i not in texts}
    fields = [i + table.first for i in places]
    words: dict[str, str | None] = {}  # each word once
    for block, records in table.data_blocks():
        columns: Any = None
        if table.arrow is not None and block is not None and block.strip():
            columns = read_block(
                table.arrow, block, table.delimiter, table.all_width, numbers, fields, gaps=sorted(_spellings())
            )
        if columns is not None:
            if footer:
                raise table.wrong_width(*footer[0])
            yield [
                np.where(np.isfinite(column), column, np.nan) if column.dtype != object else _words(column, words)
                for column in columns
            ]
            continue
        rows: list[list[str]] = []
        for number, fields_of in records:
            if table.is_footer(fields_of):
                footer.append((number, len(fields_of)))
                continue
            if footer:
                raise table.wrong_width(*footer[0])
            if len(fields_of) != table.all_width:
                raise table.wrong_width(number, len(fields_of))
            if table.repeats_header(fields_of):
                headers.append(number)
                continue
            rows.append(fields_of)
            if len(rows) == BATCH_RECORDS:
                yield _columns(rows, fields, numbers, table.first, words)
                rows = []
        if rows:
            yield _columns(rows, fields, numbers, table.first, words)
    for lines, what in ((headers, "that repeat the header"), ([line for line, _ in footer], "below the table")):
        if lines:
            place = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} lines from line {lines[0]} on"
            notes.append(f"{place} {what.replace('repeat', 'repeats') if len(lines) == 1 else what} left out")


def _spellings() -> set[str]:
    return {form for word in NUMBER_GAPS for form in (word, word.upper(), word.capitalize())} | {"NaN", "NaT"}


def _columns(
    rows: list[list[str]], fields: list[int], numbers: set[int], first: int, words: dict[str, str | None]
) -> list[Array]:
    made: list[Array] = []
    wrong: set[int] = set()
    for at in fields:
        column = [row[at] for row in rows]
        if at not in numbers:
            made.append(_words(column, words))
            continue
        values = _numbers(column)
        if values is None:
            wrong.add(at - first)
        else:
            made.append(values)
    if wrong:
        raise _WordsInNumbers(wrong)
    return made


def _numbers(column: list[str]) -> Array | None:
    """Numbers with NaN for gaps, or None if there is another word."""
    letters = "".join(column)
    try:
        if "_" in letters or not letters.isascii():  # Python would read 1_000 as a number
            raise ValueError
        values = np.fromiter(map(float, column), np.float64, len(column))
    except ValueError:
        stripped = [word.strip() for word in column]
        if not all(map(_is_numeric, stripped)):
            return None
        values = np.array(["nan" if word.lower() in NUMBER_GAPS else word for word in stripped], np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _words(column: Any, known: dict[str, str | None]) -> Array:
    """The words of a column without blanks around them, None for gaps; each word is one object."""
    for word in set(column):
        if word not in known:
            bare = word.strip()
            known[word] = None if bare.lower() in GAPS else bare
    return np.fromiter((known[word] for word in column), object, len(column))


def missing_values(array: Array) -> Array:
    """Which values of a column are missing."""
    if array.dtype != object:
        return np.isnan(array)
    return np.fromiter((value is None or value != value for value in array.tolist()), bool, len(array))
