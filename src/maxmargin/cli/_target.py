"""The target of a table: the rows that have one, as numbers or as labels.

Prices and the like are numbers. Words are labels if they occur again; otherwise the wrong column was chosen.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from maxmargin.cli import UserError
from maxmargin.cli._options import LABEL_LETTERS, Voice, counted, cut
from maxmargin.data.forms import find_form, is_gap, number_form, numbers_of, parse_number
from maxmargin.data.survey import na_is_a_word, survey
from maxmargin.data.table import Table, missing_values
from maxmargin.data.text.delimited import LABEL_MAX_LETTERS
from maxmargin.data.text.sniffing import is_number
from maxmargin.runtime.validation import Array

LABELS_MAX = 1000  # classes of one-vs-one: half a million problems
LABELS_MAX_SHARE = 0.5  # of the rows: more different labels than that are no classes
TARGETS_SHOWN = 3  # columns that are named where the last one is no target
NUMBERS_MIN_SHARE = 0.5  # of the targets of a regression that must be numbers; rows with others are left out


def targets_of(
    column: Array, name: str, source: str, task: str, decimal: str | None, voice: Voice | None, place: str = ""
) -> tuple[Array, Array]:
    """The rows that have a target, and their targets: numbers, also where they are written as prices and the like, or
    labels."""
    known, form = ~missing_values(column), "number"
    if column.dtype == object:
        words = Counter(word for word in column.tolist() if word is not None)
        gap_form = "category NA" if na_is_a_word(words, len(column)) else "category"
        known &= np.array([word is not None and not is_gap(word, gap_form) for word in column.tolist()])
        form = _target_form({word: n for word, n in words.items() if not is_gap(word, gap_form)}, task, decimal)
    if not known.any():
        raise UserError(f"{source}: the target {name!r} is empty: choose another column with --target.")
    empty = int((~known).sum())
    if empty and voice is not None:
        voice.note(f"Note: {counted(empty, 'row')}{place} without a target {name!r} left out.")
    if form == "category":
        rows = np.flatnonzero(known)
        labels = _labels(column[rows], name, source)
        alike = _alike(labels)
        if alike and voice is not None and task != "regress":
            voice.note(f"Note: labels that differ only in case are different classes: {alike}.")
        return rows, labels
    values = numbers_of(column, form)[:, 0]
    readable = known & ~np.isnan(values)
    if voice is not None and (readable != known).any():
        strange = list(dict.fromkeys(column[known & ~readable].tolist()))
        shown = ", ".join(repr(cut(word, LABEL_LETTERS)) for word in strange[:3]) + (
            ", ..." if len(strange) > 3 else ""
        )
        voice.note(
            f"Note: {counted(int((known & ~readable).sum()), 'row')} left out whose target {name!r} is no number "
            f"({shown})."
        )
    return np.flatnonzero(readable), values[readable]


def such_as(table: Table, name: str) -> str:
    """Columns that could be a target instead: the last of those that are learnt from as they are."""
    usable = [p.name for p in survey(table) if p.form is not None and p.form.startswith(("number", "category"))]
    shown = [repr(other) for other in usable if other != name][-TARGETS_SHOWN:]
    return f", such as {' or '.join(shown)}" if shown else ""


def _target_form(words: dict[str, int], task: str, decimal: str | None) -> str:
    """How the words of a target are to be read. Who asks for a regression has numbers, if half of them are."""
    if task == "classify" or not words:
        return "category"
    form = find_form(words, decimal)
    if task == "regress" and form == "category":
        numbers = {word: n for word, n in words.items() if not np.isnan(parse_number(word, decimal or "."))}
        if number_form(numbers, decimal) is None:  # several units: those without one
            numbers = {word: n for word, n in numbers.items() if is_number(word)}
        if numbers and sum(numbers.values()) >= NUMBERS_MIN_SHARE * sum(words.values()):
            form = number_form(numbers, decimal) or form
    return form


def _alike(labels: Array) -> str:
    """Labels that are the same but for upper and lower case."""
    spelled: dict[str, list[str]] = {}
    for label in np.unique(labels).tolist():
        spelled.setdefault(label.lower(), []).append(repr(cut(label, LABEL_LETTERS)))
    return ", ".join(" and ".join(words) for words in spelled.values() if len(words) > 1)


def _labels(column: Array, name: str, source: str) -> Array:
    words = set(column.tolist())
    if max(map(len, words)) > LABEL_MAX_LETTERS or len(words) > min(LABELS_MAX, max(2, LABELS_MAX_SHARE * len(column))):
        raise UserError(
            f"{source}: the target {name!r} has {counted(len(words), 'different text')} in "
            f"{counted(len(column), 'row')}, which are no classes: choose another column with --target."
        )
    return column.astype(str)
