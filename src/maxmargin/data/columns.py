"""The columns of whatever a user calls a table, and their values checked one by one."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.diagnosis import is_missing
from maxmargin.runtime.validation import Array, Points


class Columns:
    """Columns of equal length; ``shape`` is what scikit-learn counts them by."""

    def __init__(self, columns: list[Array], shape: tuple[int, ...]) -> None:
        self.columns, self.shape = columns, shape
        self.ndim = 2


def columns_of(X: Any, numbers_too: bool = False) -> Columns | None:
    """The columns of a DataFrame, or of an array that is not numbers throughout; None for what is, unless its columns
    are wanted, too."""
    if sp.issparse(X):
        return None
    if hasattr(X, "columns") and hasattr(X, "shape"):
        columns = [_of_frame(X[name], str(name), numbers_too) for name in X.columns]
        if all(column.dtype.kind in "fiub" for column in columns) and not numbers_too:
            return None
        _refuse_empty(X.shape)
        return Columns(columns, X.shape)
    try:
        array = np.asarray(X)
    except ValueError:
        return None  # rows of different lengths, about which the usual validation complains
    if array.dtype.kind in "UST" and array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: a table has rows and columns.")
    if numbers_too and array.ndim == 2 and array.dtype.kind in "fiub":
        _refuse_empty(array.shape)
        return Columns(list(array.T), array.shape)
    if array.dtype.kind not in "OUST" or array.ndim != 2:
        return None
    if array.dtype == object and not numbers_too and not any(isinstance(value, str) for value in array.ravel()):
        return None
    if not isinstance(X, np.ndarray) and array.dtype != object:
        array = np.array(X, dtype=object)  # a list with strings in it: its numbers must stay numbers
    _refuse_empty(array.shape)
    return Columns([array[:, j].astype(object) for j in range(array.shape[1])], array.shape)


def _refuse_empty(shape: tuple[int, ...]) -> None:
    if shape[0] == 0 or shape[1] == 0:
        what = "sample(s)" if shape[0] == 0 else "feature(s)"
        raise ValueError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required.")


def _of_frame(column: Any, name: str, dates_too: bool = False) -> Array:
    """A column of a DataFrame as numbers or as objects; dates are refused, or given as ISO writes them."""
    kind = str(column.dtype).lower()
    if kind.startswith(("date", "time", "duration", "period")):
        if dates_too:
            values = column.tolist() if hasattr(column, "tolist") else column.to_list()
            return np.array([None if is_missing(value) else str(value) for value in values], object)
        raise TypeError(
            f"X, column {name!r} holds dates or times ({column.dtype}): turn them into numbers, such as days since the "
            "first, or leave the column out."
        )
    if kind.startswith(("category", "categorical", "enum")):  # categories are words, even if written in digits
        values = column.tolist() if hasattr(column, "tolist") else column.to_list()
        return np.fromiter((value if is_missing(value) else _word(value) for value in values), object, len(values))
    array = np.asarray(column)
    return array if array.dtype.kind in "fiub" else array.astype(object)


def text_categories(column: Array, name: str) -> Array | None:
    """The sorted categories of a text column; None for one of numbers; they are checked."""
    if column.dtype != object:
        checked_numbers(column, name)
        return None
    kinds = {type(value) for value in column}
    if not any(issubclass(kind, str) for kind in kinds):
        checked_numbers(column, name)
        return None
    for row, value in enumerate(column):
        if not isinstance(value, str):
            _refuse_missing(value, row, name)
            raise TypeError(
                f"X, {name}, row {row}: {value!r:.60} stands among text: argument must be a string or a number "
                "throughout a column."
            )
    return np.array(sorted(set(texts(column, name))), dtype=object)


def _refuse_missing(value: Any, row: int, name: str) -> None:
    if is_missing(value):
        raise ValueError(
            f"Input X contains NaN: {name}, row {row} is missing. Fill it in, leave out the row, or set "
            "missing='median'."
        )


def texts(column: Iterable[Any], name: str) -> list[str]:
    """The words of a text column."""
    words = list(column)
    if not all(type(word) is str for word in words):
        for row, value in enumerate(words):
            _refuse_missing(value, row, name)
            words[row] = _word(value)
    return words


def _word(value: Any) -> str:
    """A category as a text file would have it: 1 for the number 1.0."""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        whole = isinstance(value, numbers.Integral) or float(value).is_integer()
        return str(int(value)) if whole else repr(float(value))  # type: ignore[call-overload]
    return str(value)


def checked_numbers(column: Array, name: str) -> Array:
    """The values of a column of numbers as float64; the first that is none is named."""
    try:
        if column.dtype == object and any(isinstance(value, (str, bytes)) for value in column):
            raise TypeError
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(column):
            _refuse_missing(value, row, name)
            if not isinstance(value, (numbers.Real, np.bool_)):
                raise TypeError(
                    f"X, {name}, row {row}: {value!r:.60} is not a number: argument must be a string or a number, and "
                    "this column held numbers in the training data."
                ) from None
        raise
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        _refuse_missing(float(values[row]), row, name)
        raise ValueError(f"Input X contains infinity: {name}, row {row}. Correct it, or leave out the row.")
    return values


def in_form(points: Points, sparse: bool) -> Points:
    """The same numbers as a CSR matrix, or as an array."""
    if sparse:
        return sp.csr_matrix(points)
    return points.toarray() if sp.issparse(points) else points
