"""What to do with each column of a table before a model can learn from it.

Every column gets a form (:mod:`maxmargin.data.forms`), or is left out, and a sentence says why:

    an ID                 called so, and whole numbers that are no few codes; or different in every row
    one value             tells no row from another
    nearly all different  texts of which most occur once: no category comes again in new rows

Long texts that differ are offered as words (TF-IDF); if nothing else is left, they are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.data.forms import (
    BLANK,
    compact_date_form,
    day_order,
    decimal_and_unit,
    find_form,
    form_parts,
    is_ambiguous,
    is_gap,
    numbers_of,
    parse_date,
    parse_number,
    parse_time,
    unreadable_words,
)
from maxmargin.data.table import Table
from maxmargin.runtime.validation import Array

ID_NAME = re.compile(
    r"(?:.*[_\s.-])?(?:id|ids|uuid|guid|nr|rowid|rownames|row|index|key|seqn|unnamed: 0|column 1|x)|.*(?:Id|ID)"
    r"|.+[_\s.-](?:no|num|number)"
)
ID_WORD = re.compile(r"(?:.*[_\s.-])?(?:id|ids|ID|IDs|Id|uuid|guid|UUID|GUID)|.*[a-z](?:Id|ID)")
ID_MIN_ROWS = 20  # in a shorter table all numbers may differ by chance
UNIQUE_SHARE = 0.5  # of the rows, from which on different words are no categories
UNIQUE_MIN_WORDS = 20  # different words that may always be categories
LONG_TEXT_WORDS = 4  # on average: sentences, not names
TOTAL_MIN_ROWS = 5  # of a table: among fewer, sums come about by chance
TOTAL_TOLERANCE = 1e-6  # of a sum, relative: numbers are written with few digits
TOTAL_NAME = re.compile(r"(?:grand[ -])?(?:total|sum|summe|gesamt|insgesamt|somme|totale?|suma)\b", re.IGNORECASE)
NA_CODES = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True)
class ColumnPlan:
    """What is done to a column: its form, or None where it is left out, and why, in words."""

    name: str
    form: str | None
    note: str
    n_missing: int = 0
    n_distinct: int = 0


def survey(
    table: Table,
    *,
    drop: Collection[str] = (),
    keep: Collection[str] = (),
    text: Collection[str] = (),
    decimal: str | None = None,
    day_first: bool | None = None,
) -> list[ColumnPlan]:
    """A plan for every column of a table.

    drop: columns to leave out
    keep: columns to keep that would be left out
    text: columns of which the words count, or whose numbers are codes
    decimal: {".", ","}; the decimal mark, where the values leave it open
    day_first: whether 01/02/2024 is a day of February, where the values of all date columns leave it open
    Returns in the order of the columns.
    """
    counted = {name: _words(array) for name, array in zip(table.columns, table.arrays, strict=True)}
    decimal = decimal or table.decimal
    if decimal is None and any(_comma(words) for words in counted.values() if words is not None):
        decimal = ","

    def plan(name: str, array: Array, day_first: bool | None) -> ColumnPlan:
        if name in drop:
            return ColumnPlan(name, None, "left out, as --drop says")
        return _plan(name, array, counted[name], name in keep, name in text, decimal, day_first)

    plans = [plan(name, array, day_first) for name, array in zip(table.columns, table.arrays, strict=True)]
    orders = {p.name: order for p in plans if (order := day_order(counted[p.name] or (), p.form or ""))}
    shown = {first for first, is_shown in orders.values() if is_shown}
    if day_first is None and len(shown) == 1:  # other columns decide
        known = shown.pop()
        plans = [plan(p.name, table[p.name], known) if p.name in orders else p for p in plans]
    if not any(plan.form for plan in plans):
        plans = [_as_text(plan, table[plan.name]) for plan in plans]
    return plans


def _words(array: Array) -> Counter[str] | None:
    return None if array.dtype != object else Counter(word for word in array.tolist() if word is not None)


def _comma(words: Counter[str]) -> bool:
    """Whether a column can only have decimal commas."""
    return any("," in word for word in words) and find_form(words).startswith("number ,")


def _plan(
    name: str,
    array: Array,
    words: Counter[str] | None,
    keep: bool,
    text: bool,
    decimal: str | None,
    day_first: bool | None,
) -> ColumnPlan:
    if words is None:
        if text:
            return _category(name, _of_numbers(array), len(array), True)
        return _number(name, array, keep)
    n = len(array)
    values_of = {word: count for word, count in words.items() if not is_gap(word, "number")}
    form = "category" if text else find_form(values_of, decimal, day_first)
    if text and _is_long(words):
        return ColumnPlan(name, "text", "words, each a column (TF-IDF)", n - words.total(), len(words))
    if not words:
        return ColumnPlan(name, None, "left out: it is empty", n)
    if form == "category":
        return _category(name, words, n, keep)
    values = numbers_of(array, form)[:, 0]
    missing = int(np.isnan(values).sum())
    distinct = len(np.unique(values[~np.isnan(values)]))
    if distinct < 2 and not keep:
        return ColumnPlan(name, None, "left out: it has one value only", missing, distinct)
    return ColumnPlan(name, form, _reading(array, words, form, day_first), missing, distinct)


def _reading(array: Array, words: Counter[str], form: str, day_first: bool | None) -> str:
    """How words are read as numbers, by an example."""
    strange = unreadable_words(array, form)
    rest = f"; {unreadable_note(strange, form)}" if strange else ""
    readable = [word for word in words if word not in strange and not is_gap(word, form)]
    example = readable[0]
    if form.startswith("date "):
        formats = form.count(" | ") + 1
        several = f" from {formats} formats" if formats > 1 else ""
        if several:
            example = next((word for word in readable if word != _in_iso(word, form)), example)
        order, unsure = day_order(readable, form), ""
        if order is not None and order == (order[0], False) and day_first is None:
            first, other = ("day", "month") if order[0] else ("month", "day")
            unsure = f", the {first} first, which the values leave open; --dates {other}-first if not"
        iso = _in_iso(example, form)
        reading = f", {example!r} read as {iso}" if example != iso else ""
        return f"date as days{several}{reading}{unsure}{_beside(form)}{rest}"
    if form == "time":
        return f"time in hours, {example!r} read as {parse_time(example):.4g}{rest}"
    if form == "number":
        return f"number{rest}"
    example = max(readable, key=lambda word: (sum(map(word.count, ",.")), len(word)))
    unsure = "; write --decimal if not" if is_ambiguous(readable) else ""
    shown = re.sub(f"[{BLANK}]", " ", example)
    return f"number, {shown!r} read as {parse_number(example, *decimal_and_unit(form)):.10g}{unsure}{rest}"


def _beside(form: str) -> str:
    """The parts of a date that get columns of their own, as the end of a sentence."""
    *others, last = [part.strip() for part in form_parts(form)]
    return f", with {', '.join(others[1:])}{' and ' * (len(others) > 1)}{last} beside" if others else ""


def _in_iso(word: str, form: str) -> str:
    """A date as 2024-05-31 14:35, as far as its form goes."""
    format = form[5:].partition(" > ")[0]
    when = parse_date(word, format)
    assert when is not None
    if "%d" not in format:
        return when.strftime("%Y-%m")
    return when.isoformat(" ") if "%H" in format or "%I" in format else when.strftime("%Y-%m-%d")


def unreadable_note(words: Counter[str], form: str) -> str:
    """A sentence about the words of a column that are not of its form."""
    kind = "dates" if form.startswith("date ") else "times" if form == "time" else "numbers"
    shown = ", ".join(repr(word[:40]) for word in list(words)[:3]) + (", ..." if len(words) > 3 else "")
    n = words.total()
    verb = f"1 value is not a {kind[:-1]} and counts" if n == 1 else f"{n:,} values are not {kind} and count"
    return f"{verb} as missing ({shown})"


def _number(name: str, array: Array, keep: bool) -> ColumnPlan:
    known = array[~np.isnan(array)]
    distinct, missing = len(np.unique(known)), len(array) - len(known)
    if not len(known):
        return ColumnPlan(name, None, "left out: it is empty", missing)
    if distinct == 1 and not keep:
        return ColumnPlan(name, None, f"left out: it is {known[0]:g} {_everywhere(missing)}", missing, 1)
    whole = bool((known == np.round(known)).all())
    if not keep and whole and distinct == len(array) >= ID_MIN_ROWS and _is_id(name, known):
        return ColumnPlan(name, None, f"left out: an ID, {distinct:,} different whole numbers", 0, distinct)
    if not keep and whole and distinct > UNIQUE_MIN_WORDS and ID_WORD.fullmatch(name):
        why = f"an ID, {distinct:,} different whole numbers; --text {name!r} takes them as categories"
        return ColumnPlan(name, None, f"left out: {why}", missing, distinct)
    date = compact_date_form(known)
    if date is not None:
        example = f"{known[0]:.0f}"
        note = f"date as days, {example} read as {_in_iso(example, date)}{_beside(date)}; --text {name!r} for codes"
        return ColumnPlan(name, date, note, missing, distinct)
    return ColumnPlan(name, "number", "number", missing, distinct)


def _everywhere(missing: int) -> str:
    return "wherever it has a value" if missing else "in every row"


def _is_id(name: str, values: Array) -> bool:
    """Whether a column of different whole numbers is called an ID; a name that says nothing counts rows."""
    lower = name.lower()
    if lower in ("x", "column 1", "unnamed: 0"):
        return bool((np.diff(values) == 1).all())
    return bool(ID_NAME.fullmatch(lower) or ID_NAME.fullmatch(name))


def _category(name: str, words: Counter[str], n: int, keep: bool) -> ColumnPlan:
    form = "category NA" if "NA" in words and na_is_a_word(words, n) else "category"
    known = Counter({word: count for word, count in words.items() if not is_gap(word, form)})
    missing, distinct = n - known.total(), len(known)
    if distinct < 2 and not missing and not keep:
        return ColumnPlan(name, None, f"left out: it is {next(iter(known))[:40]!r} in every row", 0, distinct)
    if not distinct:
        return ColumnPlan(name, None, "left out: it is empty", missing)
    if not keep and distinct > max(UNIQUE_MIN_WORDS, UNIQUE_SHARE * known.total()):
        offer = f"; --text {name!r} takes its words" if _is_long(known) else ""
        id_like = distinct == known.total() and ID_NAME.fullmatch(name.lower())
        why = (
            f"an ID, {distinct:,} different values"
            if id_like
            else f"{distinct:,} different texts in {known.total():,} rows"
        )
        return ColumnPlan(name, None, f"left out: {why}{offer}", missing, distinct)
    return ColumnPlan(name, form, f"category, {distinct:,} different", missing, distinct)


def na_is_a_word(words: Counter[str], n: int) -> bool:
    """Whether NA is a category: one of codes of two letters, or not the way in which the column leaves a gap."""
    others = [word for word in words if word != "NA"]
    return words.total() < n or (bool(others) and all(NA_CODES.fullmatch(word) for word in others))


def _is_long(words: Counter[str]) -> bool:
    return sum(len(word.split()) * n for word, n in words.items()) >= LONG_TEXT_WORDS * words.total() > 0


def _of_numbers(array: Array) -> Counter[str]:
    """Codes as a text file would have them."""
    return Counter(f"{value:.17g}" for value in array[~np.isnan(array)].tolist())


def _as_text(plan: ColumnPlan, array: Array) -> ColumnPlan:
    """The plan of a text column that is all there is."""
    if array.dtype == object and plan.n_distinct > 1 and "--drop" not in plan.note:
        return ColumnPlan(plan.name, "text", "words, each a column (TF-IDF)", plan.n_missing, plan.n_distinct)
    return plan


def complete_rows(table: Table, plans: Sequence[ColumnPlan]) -> tuple[Array, tuple[int, str]]:
    """Which rows miss nothing in the columns that are used, and the first row and column that do."""
    complete = np.ones(len(table), bool)
    first = (len(table), "")
    for plan in plans:
        if plan.form is None or not plan.n_missing:
            continue
        array = table[plan.name]
        if plan.form == "text" or plan.form.startswith("category"):
            form = plan.form
            gaps = np.array([word is None or word != word or is_gap(str(word), form) for word in array.tolist()])
        else:
            gaps = np.isnan(numbers_of(array, plan.form)[:, 0])
        if gaps.any():
            first = min(first, (int(np.flatnonzero(gaps)[0]), plan.name))
        complete &= ~gaps
    return complete, first


def total_row(table: Table) -> int | None:
    """The first or last row, if its numbers are the sums of the others': in two columns and in half of all that have a
    number there, or in one beside a word like "Total"."""
    n = len(table)
    if n < TOTAL_MIN_ROWS:
        return None
    for row in (n - 1, 0):
        words = [array[row] for array in table.arrays if array.dtype == object and array[row] is not None]
        columns = [array for array in table.arrays if array.dtype != object]
        columns += [_numbers_around(array, row) for array in table.arrays if array.dtype == object]
        sums = [
            (float(column[row]), float(np.nansum(np.delete(column, row))))
            for column in columns
            if not np.isnan(column[row]) and np.count_nonzero(column) > 2
        ]
        equal = sum(abs(value - total) <= TOTAL_TOLERANCE * abs(total) and total != 0 for value, total in sums)
        named = any(TOTAL_NAME.match(word) for word in words)
        if (equal >= 2 and 2 * equal >= len(sums)) or (equal and named):
            return row
    return None


def _numbers_around(array: Array, row: int) -> Array:
    """A column of words as numbers, if that row and most others have one; else gaps."""
    word = array[row]
    if word is None or (np.isnan(parse_number(word, ".")) and np.isnan(parse_number(word, ","))):
        return np.full(len(array), np.nan)
    form = find_form(Counter(word for word in array.tolist() if word is not None and not is_gap(word, "number")))
    return numbers_of(array, form)[:, 0] if form.startswith("number") else np.full(len(array), np.nan)


def check_names(option: str, wanted: Sequence[str], table: Table) -> None:
    """Refuse an option that names a column the table does not have."""
    from maxmargin.data.layout import near

    for name in wanted:
        if name not in table.columns:
            raise ValueError(f"{option} {name}: {table.source} has no such column{near(name, table.columns)}")
