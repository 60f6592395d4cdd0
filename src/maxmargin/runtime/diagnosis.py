"""What is wrong with data that validation has refused: the row, the column, the value, and the remedy.

Called when scikit-learn's checks have raised, with the data as the user gave them; a valid fit never comes here. The
first words are scikit-learn's where there are any ("Input X contains NaN"), so that programs that search for them go on
working.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array: TypeAlias = npt.NDArray[Any]

ENCODE = "Encode it with TableEncoder, or drop the column."
NUMBER_DATES = "Convert them to numbers, such as days since a fixed date, or drop the column."
SPREAD = "Give each of its numbers a column of its own."
CONVERT = "Convert it to numbers, for instance with TableEncoder(forms=...), or drop the column."
MARK = "If that marks missing values, replace them by NaN and impute them, for instance by the column's median."
OBJECTS = "objects of type"
MISSING_MARKS = {"", "?", "-", ".", "na", "n/a", "n.a.", "none", "null", "unknown", "missing"}
WRITTEN_NUMBER = re.compile(r"\W*\d[\d.,' \xa0]*\W*")  # 1,5 or $1,200 or 12 %
IMPUTE = "Drop such rows or columns, or impute the missing values (for instance by the column's median)."


def is_missing(thing: Any) -> bool:
    """Whether this is None, NaN or the missing value of a table."""
    if isinstance(thing, (float, np.floating)):
        return bool(thing != thing)
    pandas = sys.modules.get("pandas")  # a missing value of its kind cannot come from where it is not loaded
    return thing is None or (pandas is not None and (thing is pandas.NA or thing is pandas.NaT))


def explained(error: Exception, X: Any, y: Any = None, *, name: str = "X", numeric: bool = False) -> Exception:
    """The error to raise instead of one of scikit-learn's about X and y; that error itself if there is no better
    message."""
    text = str(error)
    if text.endswith(NUMBER_DATES) or "damaged sparse matrix" in text:  # whose entries must not be read
        return error
    if y is not None and "inconsistent numbers of samples" in text:
        return ValueError(f"{text}. X and y must have one row per sample: check how they were selected.")
    if "Found array with dim" in text and y is not None and np.ndim(y) > 2:
        return ValueError(f"y has {np.ndim(y)} dimensions: give one target per row, or one column per target.")
    if y is not None and ("input y " in text.lower() or text.startswith("y should be")):
        message = _about_targets(text, y)
    else:
        message = _about_points(text, X, name) or (_about_text_targets(y) if numeric and y is not None else None)
    if message is None:
        return error
    if isinstance(error, TypeError) and OBJECTS in message:
        return TypeError(f"{message} ({text})")  # Python's words, which programs look for
    return ValueError(message)


# ------------------------------------------------------------ points


def check_columns(X: Any, name: str = "X") -> None:
    """Refuse dates and durations, which would become numbers of days or nanoseconds without a word."""
    if hasattr(X, "get_column"):  # polars
        for column, kind in zip(X.columns, X.dtypes, strict=True):
            if kind.is_temporal():
                raise ValueError(_not_numbers(name, "dates", column, X.get_column(column)[0] if len(X) else None))
        return
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        dtypes, columns = X.dtypes, X.columns
    else:
        dtypes, columns = [getattr(X, "dtype", None)], [0]
    for place, dtype in enumerate(dtypes):
        if getattr(dtype, "kind", "") in {"m", "M"}:
            values = np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else X)
            raise ValueError(_not_numbers(name, "dates", columns[place], str(values.flat[0]) if values.size else None))


def without_dates(y: Any) -> Any:
    """The targets of a regression; refuses dates, which would become numbers of nanoseconds without a word."""
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        first = _short(str(values.flat[0]))
        raise ValueError(f"y contains dates (first value {first}), and regression needs numbers. {NUMBER_DATES}")
    return y


def _not_numbers(name: str, what: str, column: Any, first: Any) -> str:
    remedy = {"dates": NUMBER_DATES, "lists": SPREAD}.get(what, ENCODE)
    if what.startswith(OBJECTS):
        return f"{name} contains {what} in column {_shown_name(column)}. Give numbers, or drop the column."
    if what == "text" and isinstance(first, str):
        if first.strip().lower() in MISSING_MARKS:
            remedy = MARK
        elif WRITTEN_NUMBER.fullmatch(first):
            remedy = CONVERT
    return f"{name} contains {what} in column {_shown_name(column)} (first value {_short(first)}). {remedy}"


def _about_points(text: str, X: Any, name: str) -> str | None:
    if X is None:
        return f"{name} is None: give an array of shape (n_samples, n_features)."
    if isinstance(X, (str, bytes, os.PathLike)):
        return (
            f"{name} is a single piece of text, {_short(X)}: give an array of shape (n_samples, n_features). "
            "maxmargin.read_data reads X and y from a file."
        )
    if isinstance(X, dict) or not (hasattr(X, "__len__") or hasattr(X, "__array__")):
        remedy = "pandas.DataFrame(X) makes a table of it" if isinstance(X, dict) else "make a list of its rows"
        return f"{name} is of type {type(X).__name__}: give an array of shape (n_samples, n_features); {remedy}."
    if getattr(X, "ndim", 2) > 2:
        return f"{text} {name} has {X.ndim} dimensions: give one row per sample, X.reshape(len(X), -1)."
    if "unique column names" in text:
        names = list(X.columns)
        twice = next(each for place, each in enumerate(names) if each in names[:place])
        return f"{name} has two columns with the name {_shown_name(twice)}: give every column a name of its own."
    if "same order" in text:
        return f"{text.rstrip()} Reorder the columns: X[list(model.feature_names_in_)]."
    if sp.issparse(X):
        return _about_entries(X, name) if X.dtype.kind == "f" else None
    if "inhomogeneous" in text and (uneven := _ragged(X, name)) is not None:
        return uneven
    for column, kind, values in _columns(X):
        found = _not_a_number(kind, values)
        if found is not None:
            return _not_numbers(name, found[0], column, found[1])
    if "NaN" not in text and "infinity" not in text and "NA" not in text:
        return None
    for column, _, values in _columns(X):
        wrong = ~np.isfinite(values) if values.dtype.kind == "f" else [_not_finite(value) for value in values]
        bad = np.flatnonzero(wrong)
        if len(bad):
            return _not_finite_message(name, values[bad[0]], int(bad[0]), column, len(bad))
    return None


def _ragged(X: Any, name: str) -> str | None:
    lengths = [len(row) if isinstance(row, (list, tuple, np.ndarray)) else 1 for row in X]
    other = next((place for place, length in enumerate(lengths) if length != lengths[0]), None)
    if other is None:
        return None
    return (
        f"The rows of {name} have different lengths: row 0 has {lengths[0]} values and row {other} has "
        f"{lengths[other]}. Give every row the same columns."
    )


def _about_entries(X: Any, name: str) -> str | None:
    entries = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad) == 0:
        return None
    first = bad[0]
    return _not_finite_message(name, entries.data[first], int(entries.row[first]), int(entries.col[first]), len(bad))


def _not_finite_message(name: str, value: Any, row: int, column: Any, count: int) -> str:
    what = "NaN" if is_missing(value) else "infinity"
    many = f" (and {count - 1:,} more in that column)" if count > 1 else ""
    remedy = IMPUTE if what == "NaN" else "Drop such rows, or replace the value by a finite one."
    return f"Input {name} contains {what} in row {row}, column {_shown_name(column)}{many}. {remedy}"


def _columns(X: Any) -> Iterator[tuple[Any, str, Array]]:
    """Name, type and values of each column of a table or an array; nothing of what is neither."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for place, name in enumerate(X.columns):
            column = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
            yield name, str(column.dtype).lower(), column.to_numpy()
        return
    try:
        values = np.asarray(X) if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)  # without a mask
    except ValueError:  # rows of different lengths
        return
    if values.ndim == 2:
        for place in range(values.shape[1]):
            yield place, str(values.dtype), values[:, place]


def _not_a_number(kind: str, values: Array) -> tuple[str, Any] | None:
    """What a column contains instead of numbers, and the first such value; None if it contains numbers."""
    if values.dtype.kind in "biufc":
        return None
    known = (value for value in values.tolist() if not is_missing(value))
    if kind.startswith(("category", "categorical", "enum", "dictionary")):
        return "categories", next(known, None)
    if kind.startswith(("date", "timestamp", "duration", "timedelta", "period", "time")):
        return "dates", next(known, None)
    for value in known:
        if isinstance(value, (str, bytes)) and not _is_number(value):
            return "text", value
        if isinstance(value, (list, tuple, np.ndarray)):
            return "lists", value
        if not hasattr(value, "__float__") and not isinstance(value, (str, bytes, complex)):
            return f"{OBJECTS} {type(value).__name__}", value
    return None


def _is_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _not_finite(value: Any) -> bool:
    try:
        return is_missing(value) or not np.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


# ------------------------------------------------------------ targets


def _about_targets(text: str, y: Any) -> str | None:
    if isinstance(y, str):
        return f"y is the text {_short(y)}: give the targets, one per sample, such as table[{_short(y)}]."
    if text.startswith("y should be"):
        return (
            f"{text.rstrip('. ')}. y must have one target per sample: give one column. For one-hot columns, that is "
            "y.argmax(axis=1)."
        )
    for place, value in enumerate(_values(y)):
        if _not_finite(value):
            what = "NaN" if is_missing(value) else "infinity"
            return f"Input y contains {what}: y[{place}] is {_short(value)}. Drop the rows without a target."
    return None


def _about_text_targets(y: Any) -> str | None:
    for value in _values(y):
        if isinstance(value, (str, bytes)) and not _is_number(value):
            return (
                f"y contains text (first value {_short(value)}), and regression needs numbers. For classes use SVC, "
                "LinearSVC or another classifier."
            )
    return None


def unsortable_labels(y: Array) -> str | None:
    """The message about labels that cannot be sorted: a missing one, or two types; None if neither is found."""
    kinds: dict[str, None] = {}
    for place, label in enumerate(y.tolist()):
        if is_missing(label):
            return f"y[{place}] is {_short(label)}: drop the rows without a label."
        kinds[type(label).__name__] = None
    if "str" in kinds and len(kinds) > 1:
        names = " and ".join(sorted(kinds))
        return f"y mixes labels of type {names}: make them all text, for instance with y.astype(str), or all numbers."
    return None


def _values(y: Any) -> list[Any]:
    return list(np.asarray(y, dtype=object).ravel())


def _shown_name(column: Any) -> str:
    return repr(column) if isinstance(column, str) else str(column)


def _short(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 40 else text[:37] + "..."
