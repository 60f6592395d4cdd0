"""Rows from the bodies of requests, and the answers to them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from typing import Any

import numpy as np

from maxmargin.cli import UserError, one_line
from maxmargin.cli._model import Model
from maxmargin.cli.commands.predict import by_kind, predictions
from maxmargin.data.forms import GAPS
from maxmargin.data.table import Table

ROWS_MAX = 100_000  # of one request


class Refused(Exception):
    """A request that is not answered: the status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        self.status, self.sentence = status, sentence


def answer_of(model: Model, kind: str, body: bytes, wanted: dict[str, bool]) -> dict[str, Any]:
    """Predictions for the rows of a request."""
    try:
        rows = _rows_of_csv(body) if kind == "text/csv" else _rows_of_json(body)
        X, unknown = _points(model, rows)
        answers = predictions(model, X, wanted["values"], wanted["probabilities"], None)
    except Refused:
        raise
    except (ValueError, TypeError, OverflowError, UserError, csv.Error) as error:
        sentence = error.message if isinstance(error, UserError) else one_line(error)
        raise Refused(400, sentence.replace("--", "")[:500]) from error
    found = {"n": len(rows), **{name: array.tolist() for name, array in by_kind(answers).items()}}
    if hasattr(model.svm, "classes_"):
        found["classes"] = model.svm.classes_.tolist()
    if unknown:
        found["unknown"] = unknown
    return found


def _rows_of_json(body: bytes) -> list[dict[str, Any]]:
    def no_number(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number: leave the value out, or write null.")

    def number(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise ValueError(f"{digits[:20]} is too large a number: correct it, or write null.")
        return int(digits) if digits.lstrip("-").isdecimal() and abs(value) < 2**53 else value

    try:
        given = json.loads(_text(body), parse_constant=no_number, parse_int=number, parse_float=number)
    except json.JSONDecodeError as error:
        raise Refused(400, f"The body is no JSON: {error}.") from None
    except RecursionError:
        raise Refused(400, "The body contains lists in lists: send a list of rows, each an object.") from None
    rows = given.get("rows") if isinstance(given, dict) else given
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise Refused(400, 'Send {"rows": [{"column": value, ...}, ...]} with at least one row.')
    if len(rows) > ROWS_MAX:
        raise Refused(413, f"{len(rows):,} rows are more than {ROWS_MAX:,}: send fewer at a time.")
    for i, row in enumerate(rows):
        for name, value in row.items():
            if not (value is None or isinstance(value, str | int | float)):
                raise Refused(400, f"Row {i + 1}, column {name[:60]!r}: a value is a number, a text or null.")
    return rows


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(400, "The body is no UTF-8.") from None


def _rows_of_csv(body: bytes) -> list[dict[str, Any]]:
    reader = csv.reader(io.StringIO(_text(body)), strict=True)
    head = next(reader, [])
    twice = next((name for name, n in Counter(head).items() if n > 1), None)
    if twice is not None:
        raise Refused(400, f"The first line names the column {twice[:60]!r} twice: leave one of them out.")
    rows = []
    for fields in reader:
        if not fields:
            continue
        if len(fields) != len(head):
            raise Refused(400, f"Line {reader.line_num} has {len(fields)} fields where the first has {len(head)}.")
        rows.append(dict(zip(head, fields, strict=True)))
        if len(rows) > ROWS_MAX:
            raise Refused(413, f"There are more than {ROWS_MAX:,} rows: send fewer at a time.")
    if not rows:
        raise Refused(400, "Send a line with the names of the columns, and at least one row.")
    return rows


def column_names(model: Model) -> list[str]:
    """The names that rows have for a model's columns."""
    return model.columns or [f"column {j + 1}" for j in range(model.n_features)]


def _points(model: Model, rows: list[dict[str, Any]]) -> tuple[Any, dict[str, int]]:
    """The rows as the model takes them, and how many values of each column it does not know."""
    names = column_names(model)
    absent = [name for name in names if not any(name in row for row in rows)]
    if absent:
        listed = ", ".join(repr(name) for name in absent[:5]) + (", ..." if len(absent) > 5 else "")
        raise Refused(400, f"The rows lack {listed}: the model needs {len(names)} columns, see /openapi.json.")
    table = Table(names, [_column([row.get(name) for row in rows]) for name in names])
    if model.encoder is None:
        for name, array in zip(names, table.arrays, strict=True):
            if array.dtype == object or np.isnan(array).any():
                raise Refused(400, f"Column {name!r}: the model takes numbers only, and none may be missing.")
        return np.column_stack(table.arrays), {}
    unknown = {} if model.encoder.handle_unknown != "ignore" else model.encoder.unknown_categories(table)
    unreadable = {name: words for name, (words, _) in model.encoder.unreadable_values(table).items()}
    return table, {name: words.total() for name, words in (unreadable | unknown).items()}


def _column(values: list[Any]) -> Any:
    """Numbers where all values are; else words, as a text file would have them."""
    words = [None if isinstance(v, str) and v.strip().lower() in GAPS else v for v in values]
    if all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in words):
        return np.array([np.nan if v is None else float(v) for v in words])
    texts = [
        v if v is None or isinstance(v, str) else str(v).lower() if isinstance(v, bool) else f"{v:.17g}" for v in words
    ]
    return np.array(texts, object)


def in_csv(answer: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names: list[str] = [name for name in ("predictions", "values", "probabilities") if name in answer]
    writer.writerow(_heads(answer, names))
    for i in range(answer["n"]):
        cells = [answer[name][i] for name in names]
        writer.writerow([value for cell in cells for value in (cell if isinstance(cell, list) else [cell])])
    return text.getvalue()


def _heads(answer: dict[str, Any], names: list[str]) -> list[str]:
    heads = ["prediction"]
    for name in names[1:]:
        first, one = answer[name][0], {"values": "value", "probabilities": "probability"}[name]
        count = len(first) if isinstance(first, list) else 1
        labels = answer.get("classes", []) if count == len(answer.get("classes", [])) else range(1, count + 1)
        heads += [one] if count == 1 else [f"{one} {label}" for label in labels]
    return heads
