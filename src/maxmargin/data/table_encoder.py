"""Tables with text columns, made into numbers.

A column of numbers stays as it is. A text column with categories c_1 < ... < c_m becomes m columns, of which the j-th
is 1 where the value is c_j and 0 elsewhere. Two different categories are then at the distance sqrt(2), whichever they
are: to number them 1, 2, ... would say that some are nearer to each other than others.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, _get_feature_names, check_is_fitted

from maxmargin.runtime.diagnosis import is_missing
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_flag,
    check_points,
    check_training_points,
)

# "auto" makes the result sparse from 100 outputs on if there are more than 5 for each column: then four of five values
# or more are zeros, and a CSR matrix takes less memory than an array.
SPARSE_MIN_OUTPUTS = 100
SPARSE_MIN_OUTPUTS_PER_COLUMN = 5


class TableEncoder(TransformerMixin, Estimator):
    """Make numbers of a table: number columns pass, text columns become one column for each of their categories.

    Parameters
    ----------
    columns : list of str, optional
        Names of the columns of the training data where those are an array; a DataFrame has its own. A DataFrame that is
        transformed later must have these columns in this order.
    handle_unknown : {"error", "ignore"}, default="error"
        What to do with a category that was not there in ``fit``: refuse it, or give zeros in all of its columns.
    sparse_output : bool or "auto", default="auto"
        Whether the result is a CSR matrix. "auto" makes it one if it has 100 columns or more and most of them come from
        categories.

    Attributes
    ----------
    categories_ : list
        For each column its sorted categories, or None for a column of numbers.
    sparse_output_ : bool
        Whether the result is sparse.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the training data had names or ``columns`` was given.

    See Also
    --------
    maxmargin.io.read_data : Tables from files.

    Examples
    --------
    >>> from maxmargin.data.table_encoder import TableEncoder
    >>> table = [[150.0, "green"], [120.0, "yellow"], [80.0, "green"]]
    >>> encoder = TableEncoder(columns=["weight", "colour"]).fit(table)
    >>> encoder.transform(table)
    array([[150.,   1.,   0.],
           [120.,   0.,   1.],
           [ 80.,   1.,   0.]])
    >>> encoder.get_feature_names_out()
    array(['weight', 'colour_green', 'colour_yellow'], dtype=object)
    """

    def __init__(
        self,
        columns: list[str] | None = None,
        *,
        handle_unknown: str = "error",
        sparse_output: bool | str = "auto",
    ) -> None:
        self.columns = columns
        self.handle_unknown = handle_unknown
        self.sparse_output = sparse_output

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn which columns are text, and their categories.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_columns)
            The table; columns of numbers, booleans, strings or categories. A sparse matrix is numbers throughout.
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        check_choice("handle_unknown", self.handle_unknown, ("error", "ignore"))
        if not isinstance(self.sparse_output, str) or self.sparse_output != "auto":
            check_flag("sparse_output", self.sparse_output)
        table = _as_table(X)
        if table is None:
            points = check_training_points(self, X)
            self._check_columns()
            self.categories_: list[Array | None] = [None] * points.shape[1]
            sparse = sp.issparse(points)
        else:
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, table, reset=True)
            self._check_columns()
            self.categories_ = [_categories(column, self._name(j)) for j, column in enumerate(table.columns)]
            outputs = sum(1 if part is None else len(part) for part in self.categories_)
            columns = len(self.categories_)
            sparse = outputs >= SPARSE_MIN_OUTPUTS and outputs > SPARSE_MIN_OUTPUTS_PER_COLUMN * columns
        self.sparse_output_ = bool(sparse) if self.sparse_output == "auto" else bool(self.sparse_output)
        return self

    def _check_names(self, X: Any) -> None:
        """Refuse a DataFrame with other columns, or in another order; an array is taken to have the right ones where
        the names were given as ``columns``."""
        if self.columns is None or _get_feature_names(X) is not None:
            _check_feature_names(self, X, reset=False)

    def transform(self, X: Any) -> Points:
        """Make numbers of a table.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n_samples, n_columns)
            A table with the columns of the training data.

        Returns
        -------
        Z : array or CSR matrix of shape (n_samples, n_outputs)
            Numbers.
        """
        check_is_fitted(self)
        table = _as_table(X)
        self._check_names(X)
        if table is None and all(part is None for part in self.categories_):
            points = check_points(X)
            _check_n_features(self, points, reset=False)
            return self._in_form(points)
        if table is None:  # a text column that happens to hold numbers only
            X = X if hasattr(X, "ndim") else np.asarray(X)
            columns = X.to_numpy() if hasattr(X, "to_numpy") else X
            table = _Table([columns[:, j] for j in range(X.shape[1])] if X.ndim == 2 else [], X.shape)
        _check_n_features(self, table, reset=False)
        parts: list[Any] = []
        for j, (column, categories) in enumerate(zip(table.columns, self.categories_, strict=True)):
            if categories is None:
                parts.append(_numbers(column, self._name(j))[:, None])
            else:
                parts.append(self._one_hot(column, categories, self._name(j)))
        return self._in_form(sp.hstack(parts, format="csr") if self.sparse_output_ else np.hstack(parts))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the outputs: those of number columns, and ``column_category`` for text columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns; those of the training data, or ``columns``, when not given.

        Returns
        -------
        names : array of str
            A name for each output.
        """
        check_is_fitted(self)
        names = self._names() if input_features is None else [str(name) for name in input_features]
        if len(names) != len(self.categories_):
            raise ValueError(f"input_features should have length equal to number of features, {len(self.categories_)}.")
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None and list(known) != names:
            raise ValueError("input_features is not equal to feature_names_in_.")
        found = []
        for name, categories in zip(names, self.categories_, strict=True):
            found += [name] if categories is None else [f"{name}_{category}" for category in categories]
        return np.array(found, dtype=object)

    @property
    def text_columns_(self) -> list[int]:
        """Positions of the text columns."""
        check_is_fitted(self)
        return [j for j, part in enumerate(self.categories_) if part is not None]

    def _names(self) -> list[str]:
        known = getattr(self, "feature_names_in_", self.columns)
        return [f"x{j}" for j in range(self.n_features_in_)] if known is None else [str(name) for name in known]

    def _name(self, j: int) -> str:
        named = hasattr(self, "feature_names_in_") or self.columns is not None
        return f"column {self._names()[j]!r}" if named else f"column {j}"

    def _check_columns(self) -> None:
        if self.columns is None:
            return
        if isinstance(self.columns, str) or not all(isinstance(name, str) for name in self.columns):
            raise TypeError(f"columns must be a list of names; got {self.columns!r:.100}.")
        if len(self.columns) != self.n_features_in_:
            raise ValueError(f"columns has {len(self.columns)} names, and X has {self.n_features_in_} columns.")
        known = getattr(self, "feature_names_in_", None)
        if known is None:
            self.feature_names_in_ = np.array(list(self.columns), dtype=object)
        elif list(known) != list(self.columns):
            raise ValueError(
                f"columns is {list(self.columns)!r:.100}, and the columns of X are {list(known)!r:.100}: "
                "leave columns out, a DataFrame has its own names."
            )

    def _one_hot(self, column: Array, categories: Array, name: str) -> Any:
        """Row i is the unit vector of the i-th category, or zero for an unknown one."""
        place = {category: k for k, category in enumerate(categories)}
        words = _texts(column, name)
        codes = np.fromiter((place.get(word, -1) for word in words), np.int64, len(words))
        known = np.flatnonzero(codes >= 0)
        if len(known) < len(codes) and self.handle_unknown == "error":
            row = int(np.flatnonzero(codes < 0)[0])
            listed = ", ".join(repr(category) for category in categories[:8]) + (", ..." if len(categories) > 8 else "")
            near = difflib.get_close_matches(words[row], categories.tolist(), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"X, {name}, row {row}: the category {words[row]!r:.60} was not in the training data, which had "
                f"{listed}.{hint} Correct it, or set handle_unknown='ignore'."
            )
        shape = (len(codes), len(categories))
        if self.sparse_output_:
            return sp.csr_matrix((np.ones(len(known)), (known, codes[known])), shape=shape)
        block = np.zeros(shape)
        block[known, codes[known]] = 1.0
        return block

    def _in_form(self, points: Points) -> Points:
        if self.sparse_output_:
            return points if sp.issparse(points) else sp.csr_matrix(points)
        return points.toarray() if sp.issparse(points) else points

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Table:
    """Columns of equal length; ``shape`` is what scikit-learn counts them by."""

    def __init__(self, columns: list[Array], shape: tuple[int, ...]) -> None:
        self.columns, self.shape = columns, shape
        self.ndim = 2


def _as_table(X: Any) -> _Table | None:
    """The columns of a DataFrame, or of an array that is not numbers throughout; None for what is."""
    if sp.issparse(X):
        return None
    if hasattr(X, "columns") and hasattr(X, "shape"):
        columns = [_of_frame(X[name], str(name)) for name in X.columns]
        if all(column.dtype.kind in "fiub" for column in columns):
            return None
        _refuse_empty(X.shape)
        return _Table(columns, X.shape)
    try:
        array = np.asarray(X)
    except ValueError:
        return None  # rows of different lengths, about which the usual validation complains
    if array.dtype.kind in "UST" and array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: a table has rows and columns.")
    if array.dtype.kind not in "OUST" or array.ndim != 2:
        return None
    if array.dtype == object and not any(isinstance(value, str) for value in array.ravel()):
        return None
    if not isinstance(X, np.ndarray) and array.dtype != object:
        array = np.array(X, dtype=object)  # a list with strings in it: its numbers must stay numbers
    _refuse_empty(array.shape)
    return _Table([array[:, j].astype(object) for j in range(array.shape[1])], array.shape)


def _refuse_empty(shape: tuple[int, ...]) -> None:
    if shape[0] == 0 or shape[1] == 0:
        what = "sample(s)" if shape[0] == 0 else "feature(s)"
        raise ValueError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required.")


def _of_frame(column: Any, name: str) -> Array:
    """A column of a DataFrame as numbers or as objects; dates are refused."""
    kind = str(column.dtype).lower()
    if kind.startswith(("date", "time", "duration", "period")):
        raise TypeError(
            f"X, column {name!r} holds dates or times ({column.dtype}): turn them into numbers, such as days since the "
            "first, or leave the column out."
        )
    if kind.startswith(("category", "categorical", "enum")):  # categories are words, even if written in digits
        values = column.tolist() if hasattr(column, "tolist") else column.to_list()
        return np.fromiter((value if is_missing(value) else _word(value) for value in values), object, len(values))
    array = np.asarray(column)
    return array if array.dtype.kind in "fiub" else array.astype(object)


def _categories(column: Array, name: str) -> Array | None:
    """The sorted categories of a text column; None for one of numbers, after a look at them."""
    if column.dtype != object:
        _numbers(column, name)
        return None
    kinds = {type(value) for value in column}
    if not any(issubclass(kind, str) for kind in kinds):
        _numbers(column, name)
        return None
    for row, value in enumerate(column):
        if not isinstance(value, str):
            _refuse_missing(value, row, name)
            raise TypeError(
                f"X, {name}, row {row}: {value!r:.60} stands among text: argument must be a string or a number "
                "throughout a column."
            )
    return np.array(sorted(set(_texts(column, name))), dtype=object)


def _refuse_missing(value: Any, row: int, name: str) -> None:
    if is_missing(value):
        raise ValueError(f"Input X contains NaN: {name}, row {row} is missing. Fill it in, or leave out the row.")


def _texts(column: Iterable[Any], name: str) -> list[str]:
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


def _numbers(column: Array, name: str) -> Array:
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
