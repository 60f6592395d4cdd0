"""What the records of a text table show: the delimiter, whether there is a header, what each column holds.

A column is text if at least half of its values are no numbers; if fewer are, they are mistakes and are refused.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from maxmargin.data.layout import Layout, column_name
from maxmargin.data.source import Source, csv_reader

DELIMITERS = "\t;|,"  # in this order where two would do: a comma may be a decimal one
MISSING = frozenset(("", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "nil", "null", "none"))
BOOLEANS = {"true": 1.0, "false": 0.0}
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ].*)?")
YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
DISTINCT_MAX_WORDS = 10_000  # counted in a column; dates and decimal commas show long before
SAMPLE_LINES = 100  # by which lines before the table are found
TITLED_MIN_FIELDS = 3  # of a table whose titles can be told from its rows
TABLE_MIN_SHARE = 0.8  # of the lines after the titles that have the same number of fields
DELIMITER_SAMPLE_LETTERS = 1 << 20  # of the lines by which the delimiter is found: tables of 100,000 columns fit in

Record = tuple[int, list[str]]  # the line it begins on, and its fields


def is_number(text: str) -> bool:
    """Whether a word is a number as NumPy's reader understands it, infinity included."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.isascii()


def is_finite_number(text: str) -> bool:
    """Whether a word is a number as NumPy's reader understands it, and not infinite or NaN."""
    try:
        return math.isfinite(float(text)) and "_" not in text and text.isascii()
    except ValueError:
        return False


def all_numbers(fields: list[str]) -> bool:
    """Whether all fields of a record are numbers, found in compiled code."""
    letters = "".join(fields)
    if "_" in letters or not letters.isascii():
        return False
    try:
        np.array(fields, np.float64)
    except ValueError:
        return False
    return True


def is_missing_word(text: str) -> bool:
    return text.strip().lower() in MISSING


def kinds_of(
    source: Source, names: list[str] | None, first: int, layout: Layout, text: set[int], records: Iterable[Record]
) -> dict[int, str]:
    """What each wanted column holds: numbers, booleans or text. Position 0 is the field ``first`` of a record; columns
    in ``text`` are text whatever they hold."""
    count, words = 0, dict[int, Counter[str]]()
    for _, fields in records:
        count += 1
        if all_numbers(fields):
            continue
        for position in layout.wanted:
            if position + first < len(fields):
                word = fields[position + first].strip()
                if not is_number(word):
                    counter = words.get(position)
                    if counter is None:
                        counter = words[position] = Counter()
                    counter[word if len(counter) < DISTINCT_MAX_WORDS or word in counter else "another"] += 1
    found = dict.fromkeys(layout.wanted, "number")
    for position in layout.wanted if text else [position for position in layout.wanted if position in words]:
        counter = words.get(position, Counter())
        texts = Counter({word: n for word, n in counter.items() if not is_missing_word(word)})
        if position in text:
            found[position] = "text"
        elif not texts or 2 * texts.total() < count:
            found[position] = "number"
        elif position != layout.target and all(word.lower() in BOOLEANS for word in texts):
            found[position] = "boolean"
        else:
            found[position] = "text"
            _refuse_odd(source, column_name(names, position), texts)
    return found


def _refuse_odd(source: Source, name: str, texts: Counter[str]) -> None:
    """Text that should not be taken for categories."""
    if 2 * sum(n for word, n in texts.items() if DATE.fullmatch(word)) > texts.total():
        raise source.error(
            "holds dates: turn them into numbers, such as days since the first, or leave the column out", None, name
        )
    if 2 * sum(n for word, n in texts.items() if DECIMAL_COMMA.fullmatch(word)) > texts.total():
        raise source.error("has decimal commas: write them as points", None, name)


def lines_before(lines: list[str]) -> int:
    """How many lines stand before the table: comments with #, and titles, which fill at most half as many fields as
    the lines of the table have."""
    best = (0, 0, 0)  # lines of the table, their fields, lines before them
    for delimiter in (*DELIMITERS, " "):
        records = list(_fields_of(lines[:SAMPLE_LINES], delimiter)) if delimiter != " " or not best[0] else []
        widths = Counter(len(fields) for _, fields in records if len(fields) > 1)
        if not widths:
            continue
        width, rows = widths.most_common(1)[0]
        rows_of = (i for i, (_, fields) in enumerate(records) if len(fields) == width and not _is_title(fields, width))
        begin = next(rows_of, 0)
        titles = all(_is_title(fields, width) for _, fields in records[:begin])
        if titles and rows >= TABLE_MIN_SHARE * (len(records) - begin):
            best = max(best, (rows, width, records[begin][0]))
        else:
            best = max(best, (rows, width, 0))
    return best[2]


def _fields_of(lines: list[str], delimiter: str) -> Iterable[tuple[int, list[str]]]:
    """The records of lines, each with the number of lines before it, up to the first mistake."""
    if delimiter == " ":
        yield from ((at, line.split()) for at, line in enumerate(lines) if line.strip())
        return
    reader, at = csv_reader(lines, delimiter=delimiter, skipinitialspace=True), 0
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield at, fields
            at = reader.line_num
    except csv.Error:
        return


def _is_title(fields: list[str], width: int) -> bool:
    """Whether a record before a table of this width is none of its rows."""
    if len(fields) != width and fields[0].lstrip().startswith("#"):
        return True
    filled = [field for field in fields if field.strip()]
    if width < TITLED_MIN_FIELDS or 2 * len(filled) > width:
        return False
    return len(fields) != width or (len(filled) == 1 and bool(fields[0].strip()) and not is_number(fields[0]))


def delimiter_of(lines: list[str]) -> str:
    """The delimiter that cuts the first records into the same number of fields, the more the better; white space where
    there is no other."""

    sample, letters = [], 0
    for line in lines[:100]:
        sample.append(line)
        letters += len(line)
        if letters > DELIMITER_SAMPLE_LETTERS and len(sample) > 1:
            break

    def score(delimiter: str) -> tuple[int, int]:
        counts: list[int] = []
        try:
            for fields in csv_reader(sample, delimiter=delimiter, skipinitialspace=True):
                if fields:
                    counts.append(len(fields))
        except csv.Error:
            pass
        if not counts or counts[0] == 1:
            return 0, 0
        return counts.count(counts[0]), counts[0]

    best = max(DELIMITERS, key=score)
    return best if score(best) > (0, 0) or len(lines[0].split()) < 2 else " "


def has_header(records: list[Record]) -> bool:
    """Whether the first record names the columns.

    It does if one of its fields is a word where all others are numbers; if it is all words that do not come back in
    their columns; or if its numbers are the positions 0, 1, ... that pandas gives to columns without names, or years
    above values that are none.
    """
    first = [field.strip() for field in records[0][1]]
    others = [fields for _, fields in records[1:]]
    columns = [[fields[j].strip() for fields in others if j < len(fields)] for j in range(len(first))]
    words = [j for j, field in enumerate(first) if not (is_number(field) or DECIMAL_COMMA.fullmatch(field))]
    if not others:
        return len(words) == len(first)
    for j in words:
        if first[j] and not is_missing_word(first[j]):
            rest = [word for word in columns[j] if word != first[j]]  # files that were joined repeat their header
            if rest and all(map(_numeric, rest)):
                return True
    fresh = all(first[j] not in columns[j] for j in words)
    if len(words) == len(first):
        return fresh and len(set(first)) == len(first)
    numbered = [j for j in range(len(first)) if j not in words]
    begin, named = numbered[0], [first[j] for j in numbered]
    if not fresh:
        return False
    if len(numbered) < 3:
        return all(map(YEAR.fullmatch, named)) and all(_is_unlike_years(columns[j]) for j in numbered)
    if named == [str(j - begin) for j in numbered]:
        return True
    return _are_years(named) and not any(all(map(YEAR.fullmatch, columns[j])) for j in numbered)


def header_names(names: list[str]) -> list[str]:
    """The names in a header, without single quotes if all of them stand in such."""
    if all(len(name) > 2 and name[0] == name[-1] == "'" for name in names):
        return [name[1:-1] for name in names]
    return names


def _are_years(fields: list[str]) -> bool:
    """Whether these are years at equal distances, as a table names its columns that has one for each."""
    if not all(map(YEAR.fullmatch, fields)):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(fields)}
    return len(steps) == 1 and steps != {0}


def _is_unlike_years(words: list[str]) -> bool:
    """Whether these values could not go on below a year: none is one, and most are no whole numbers."""
    whole = sum(word.lstrip("+-").isdecimal() for word in words)
    return 2 * whole < len(words) and not any(map(YEAR.fullmatch, words))


def _numeric(word: str) -> bool:
    return is_number(word) or is_missing_word(word)


def counts_rows(records: list[Record]) -> bool:
    """Whether the first column counts the rows, from 0 or 1."""
    values = [fields[0].strip() for _, fields in records]
    return any(values == [str(i + begin) for i in range(len(values))] for begin in (0, 1))
