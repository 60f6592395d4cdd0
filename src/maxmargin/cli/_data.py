"""Reading data: to train on, or for a model, which knows the columns it wants.

tables      of any form: gaps, dates and words are no errors; what is done to each column is planned by
            ``maxmargin.data.survey`` before training, and stands in the model's encoder from then on
the model has names of columns    those are taken from a table with a header, in whatever order they stand there
it has none                       the number of columns must be right
svmlight                          leaves out zeros: fewer columns are filled up with zeros, more are refused
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from maxmargin.cli import UserError
from maxmargin.cli._estimator import as_labels, as_numbers
from maxmargin.cli._model import Model, load_model
from maxmargin.cli._options import LABEL_LETTERS, Voice, counted, cut, plain
from maxmargin.cli._target import such_as, targets_of
from maxmargin.data.formats import FORMATS, format_of
from maxmargin.data.layout import TARGETS, lay_out
from maxmargin.data.source import Source
from maxmargin.data.survey import ColumnPlan, check_names, complete_rows, survey, total_row, unreadable_note
from maxmargin.data.table import Table, missing_values, read_table
from maxmargin.io import Data, DataFileError, read_data
from maxmargin.runtime.validation import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE_OPTIONS = ("drop", "keep", "id", "text", "decimal", "dates", "missing")
NAMELESS = re.compile(r"column \d+")
RARE_SHARE = 200  # rows for each time that a category must occur to have a column of its own, up to
RARE_MAX = 5
LEFT_OUT_SHOWN = 3  # columns whose reason an error repeats


@dataclass
class Rows:
    """Points, targets and what is known of the columns; ``table`` is all that the file holds."""

    X: Any
    y: Array | None
    columns: list[str] | None
    target: str | None
    source: str
    plans: list[ColumnPlan] = field(default_factory=list)
    table: Table | None = None

    @property
    def n(self) -> int:
        return int(self.X.shape[0])


def take(X: Any, rows: Any) -> Any:
    """These rows of points of any sort."""
    return X.take(rows) if isinstance(X, Table) else X[rows]


def read_for_training(source: str, options: dict[str, Any], voice: Voice) -> Rows:
    """Rows to train on; to find outliers no target is needed, and without a name none is looked for."""
    from maxmargin.cli._progress import showing_reading, showing_step

    labelled = options["task"] != "outliers" or options["target"] is not None
    with showing_reading():
        file = Source(source)
        kind = format_of(file, options["format"])
        if not FORMATS[kind].tabular:
            for name in TABLE_OPTIONS:
                if options[name]:
                    raise UserError(f"--{name} is for tables, and {file.name} has no columns with names: leave it out.")
            return _of_data(read_data(file, target=options["target"], labelled=labelled, **_options(options)))
        table = read_table(file, format=kind, header=options["header"])
    with showing_step("examining the columns", len(table)):
        return _examined(file, table, labelled, options, voice)


def _examined(file: Source, table: Table, labelled: bool, options: dict[str, Any], voice: Voice) -> Rows:
    """The rows of a table to train on, and what is to be done to its columns."""
    place = None
    if labelled:
        place = lay_out(file, table.columns, table.shape[1], target=_spelled(options["target"], table)).target
        if options["target"] is None and place is not None:  # the last column whose values differ
            order = (place, *reversed(range(len(table.columns))))
            place = next((i for i in order if _may_be_target(table.columns[i], table.arrays[i])), place)
    target = None if place is None else table.columns[place]
    lists = {name: [_spelled(one, table) for one in options[name]] for name in ("drop", "keep", "id", "text")}
    for name, listed in lists.items():
        check_names(f"--{name}", listed, table)
        if target in listed:
            raise UserError(f"--{name} {target}: this is the target: choose another column with --target.")
    for note in table.notes:
        voice.note(f"Note: {note}.")
    total = total_row(table)
    if total is not None:
        voice.note(
            f"Note: the {'first' if total == 0 else 'last'} row left out: its numbers are the sums of the other rows."
        )
        table = table.take(np.delete(np.arange(len(table)), total))
    decimal = {"comma": ",", "point": ".", None: None}[options["decimal"]]
    y = None
    if target is not None:
        try:
            known, y = targets_of(table[target], target, file.name, options["task"], decimal, voice)
        except UserError as error:  # it ends with the remedy: another column
            raise UserError(f"{str(error).removesuffix('.')}{such_as(table, target)}.") from None
        table = table.take(known)
    features = table.select([name for name in table.columns if name != target])
    dropped = [*lists["drop"], *lists["id"]]
    day_first = None if options["dates"] is None else options["dates"] == "day-first"
    plans = survey(features, drop=dropped, keep=lists["keep"], text=lists["text"], decimal=decimal, day_first=day_first)
    used = [plan.name for plan in plans if plan.form is not None]
    if not used:
        raise UserError(f"{file.name}: no column is left to learn from{_left_out(plans)}: keep one with --keep NAME.")
    if options["missing"] in ("refuse", "drop"):
        complete = _complete(features, plans, options["missing"], voice)
        table, y = table.take(complete), None if y is None else y[complete]
    return Rows(table.select(used), y, used, target, file.name, plans, table)


def _left_out(plans: Sequence[ColumnPlan]) -> str:
    """Why no column is left, for the first ones."""
    shown = [f"{cut(plan.name, LABEL_LETTERS)!r} {plan.note}" for plan in plans[:LEFT_OUT_SHOWN]]
    return f" ({'; '.join(shown)}{'; ...' if len(plans) > LEFT_OUT_SHOWN else ''})" if plans else ""


def _may_be_target(name: str, array: Array) -> bool:
    """Whether a column has two different values, or is named as a target and not empty."""
    known = array[~missing_values(array)]
    return bool((known[:1] != known).any()) or (len(known) > 0 and name.lower() in TARGETS)


def make_encoder(data: Rows, scale: bool | None, missing: str | None, unknown: str | None) -> Any:
    """The step that makes numbers of a table; for points without names it only scales."""
    from maxmargin.data.table_encoder import TableEncoder

    if not isinstance(data.X, Table):
        return TableEncoder(scale=True) if scale is not False and isinstance(data.X, np.ndarray) else None
    forms = [plan.form for plan in data.plans if plan.form is not None]
    filling = missing if missing in ("mode", "indicate") else "median"
    return TableEncoder(
        columns=data.columns,
        forms=forms,
        missing=filling,
        scale=scale is not False,
        handle_unknown=unknown or "ignore",
        min_frequency=max(1, min(RARE_MAX, data.n // RARE_SHARE)),
        target=data.target,
    )


def _complete(features: Table, plans: list[ColumnPlan], how: str, voice: Voice) -> Array:
    """The rows in which nothing is missing; or an error for the first in which something is."""
    complete, (row, name) = complete_rows(features, plans)
    if how == "refuse" and not complete.all():
        raise UserError(
            f"{features.source}, column {name!r}, row {row + 1}: the value is missing: fill it in, or choose another "
            "--missing."
        )
    if not complete.any():
        raise UserError(
            f"{features.source}: every row has a missing value: choose another --missing, or --drop columns."
        )
    n = int((~complete).sum())
    if n:
        voice.note(f"Note: {counted(n, 'row')} with missing values left out, as --missing drop says.")
    return np.flatnonzero(complete)


def _spelled(name: str | None, table: Table) -> Any:
    """A column's name as the table writes it, if only its letters' size differs."""
    if name is None or name in table.columns:
        return name
    alike = [column for column in table.columns if column.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else name


def read_for_model(
    model: Model, source: str, *, labels: bool | None, voice: Voice, target: str | None = None, **reading: Any
) -> Rows:
    """Rows for a model, and their targets in the form in which it predicts.

    ``labels`` says whether targets must be there (True), are of no interest (False), or are welcome (None)."""
    if labels is None and source != "-":  # standard input can be read but once
        with contextlib.suppress(DataFileError):
            return _read(model, source, True, None, target, reading)
    return _read(model, source, labels is True, voice, target, reading)


def _read(
    model: Model, source: str, labels: bool, voice: Voice | None, target: str | None, reading: dict[str, Any]
) -> Rows:
    file = Source(source)
    kind = format_of(file, reading["format"])
    if model.libsvm or not FORMATS[kind].tabular:
        data = _for_arrays(model, file, labels, target, reading)
    else:
        table = read_table(file, format=kind, header=reading["header"])
        if labels and target is None and table.headed:
            target = _known_target(model, table)
        data = rows_like(file, table, model.columns, model.n_features, target, labels, model.encoder is not None)
        if labels:
            data = with_targets(data, model.task, getattr(model.svm, "classes_", None), voice)
    if voice is not None:
        note_unknown(model.encoder, data.X, voice)
    data.y = _matching_targets(model, data, voice if labels else None)
    return data


def _known_target(model: Model, table: Table) -> str | None:
    """The column that the model predicts; None if it does not know its name, or another is named as a target."""
    name = _spelled(model.target, table)
    if name is None or name in table.columns:
        return cast("str | None", name)
    if any(column.lower() in TARGETS for column in table.columns):
        return None
    raise DataFileError(
        f"{table.source} lacks the column {name!r}, which the model predicts: name the one with the true values with "
        "--target."
    )


def rows_like(
    file: Source,
    table: Table,
    columns: Sequence[str] | None,
    width: int,
    target: str | None,
    labels: bool,
    encoded: bool,
) -> Rows:
    """The columns of a table that others had, by name or by place."""
    nameless = columns is not None and all(map(NAMELESS.fullmatch, columns))
    names = table.columns if table.headed or nameless else None
    size: dict[str, Any] = {"columns": columns} if columns is not None else {"n_features": width}
    found = lay_out(file, names, table.shape[1], target=_spelled(target, table), labelled=labels, **size)
    wanted = [table.columns[position] for position in found.features]
    X: Any = table.select(wanted)
    if encoded and columns is not None:
        X = Table(list(columns), X.arrays, table.source, True, table.decimal)
    elif not encoded:
        X = _all_numbers(X)
    goal = None if found.target is None else table.columns[found.target]
    y = None if goal is None else table[goal]
    return Rows(X, y, None if columns is None else list(columns), goal, file.name, [], table)


def with_targets(data: Rows, task: str, classes: Array | None, voice: Voice | None) -> Rows:
    """The rows that have a target, and their targets: numbers, or labels of the kind of these classes.

    Training makes numbers of words that are all numbers (in ARFF, or prices), so they are here, too."""
    if data.y is None:
        return data
    numbered = task == "classify" and classes is not None and classes.dtype.kind not in "UO"
    read_as = "auto" if numbered else task
    rows, y = targets_of(data.y, str(data.target), data.source, read_as, None, voice, f" of {data.source}")
    return Rows(take(data.X, rows), y, data.columns, data.target, data.source)


def _all_numbers(table: Table) -> Array:
    """A table as points, for a model that was trained on numbers only."""
    for name, array in zip(table.columns, table.arrays, strict=True):
        gaps = np.flatnonzero(missing_values(array))
        if array.dtype == object or len(gaps):
            row = int(gaps[0]) if len(gaps) else 0
            what = "the value is missing" if len(gaps) else f"{array[0]!r:.40} is not a number"
            raise UserError(
                f"{table.source}, column {name!r}, row {row + 1}: {what}: fill it in, or leave out the row."
            )
    return np.column_stack(table.arrays)


def note_unknown(encoder: Any, X: Any, voice: Voice) -> None:
    """How many values of the rows the model cannot use: categories that it has no column for, and words for numbers.

    Such categories are an error if the model was trained with ``--unknown error``."""
    if encoder is None or not isinstance(X, Table):
        return
    for name, (words, form) in encoder.unreadable_values(X).items():
        voice.note(f"Note: column {name!r}: {unreadable_note(words, form)}.")
    for name, words in encoder.unknown_categories(X).items():
        common = [repr(cut(word, LABEL_LETTERS)) for word, _ in words.most_common(3)]
        shown = ", ".join(common) + (", ..." if len(words) > 3 else "")
        if encoder.handle_unknown != "ignore":
            raise UserError(
                f"{Path(X.source).name}, column {name!r}: {counted(words.total(), 'value')} unknown to the model "
                f"({shown}): correct them, or train without --unknown error."
            )
        voice.note(f"Note: column {name!r}: {counted(words.total(), 'value')} unknown to the model ignored ({shown}).")


def _matching_targets(model: Model, data: Rows, voice: Voice | None) -> Array | None:
    """Targets as numbers, or as labels of the type that the classifier knows; without a voice, None if they are not."""
    y = data.y
    if y is None:
        return None
    if y.dtype == object:
        y = y.astype(str)
    if model.task == "outliers":
        return as_labels(y)
    if model.task == "regress":
        return as_numbers(y, data.source) if voice is not None else y if y.dtype.kind == "f" else None
    return matching_labels(y, model.svm.classes_, data.source, voice)


def matching_labels(y: Array, classes: Array, source: str, voice: Voice | None) -> Array | None:
    """Labels of a file in the type of the classes. Labels that the classifier does not know are reported, and are an
    error if there are no others; without a voice, None is returned then."""
    labels = as_labels(y)
    if classes.dtype.kind == "U" and labels.dtype.kind != "U":
        labels = np.array([str(label) for label in labels.tolist()])
    found = np.unique(labels)
    comparable = (found.dtype.kind == "U") == (classes.dtype.kind == "U")
    strange = found[~np.isin(found, classes)] if comparable else found
    if len(strange) == len(found):
        if voice is None:
            return None
        raise UserError(
            f"{source}: its labels are {_some(found)}, and the model knows {_some(classes)}: name the right column "
            "with --target."
        )
    if len(strange) and voice is not None:
        n = int(np.isin(labels, strange).sum())
        voice.note(f"Note: {counted(n, 'row')} with labels the model does not know ({_some(strange)}) count as wrong.")
    return labels


def _of_data(data: Data) -> Rows:
    return Rows(data.X, data.y, data.columns, data.target, data.source)


def _for_arrays(model: Model, source: Any, labels: bool, target: str | None, reading: dict[str, Any]) -> Rows:
    """A LIBSVM model does not say how many columns its data had: the data do, if they have more than it uses."""
    common: dict[str, Any] = {"target": target, "labelled": labels, **_options(reading)}
    if not model.libsvm:
        size = {"columns": model.columns} if model.columns is not None else {"n_features": model.n_features}
        return _of_data(read_data(source, **size, **common))
    data = read_data(source, **common)
    n, known = data.X.shape[1], model.n_features
    if n > known:
        model.estimator = load_model(model.path, n).estimator
    elif n < known:
        data = read_data(source, n_features=known, **common)
    return _of_data(data)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    zero_based = "auto" if given["zero_based"] is None else given["zero_based"]
    return {"format": given["format"], "header": given["header"], "zero_based": zero_based}


def _some(labels: Array) -> str:
    return ", ".join(repr(plain(label)) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")
