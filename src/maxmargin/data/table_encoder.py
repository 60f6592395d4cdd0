"""Tables made into numbers.

    number      stays as it is; standardised with scale=True
    category    categories c_1 < ... < c_m become m columns, of which the j-th is 1 where the value is c_j, 0 elsewhere
    date, time  become numbers, by their form
    text        a column for each of its words, weighted by TF-IDF

Two different categories are at the distance sqrt(2), whichever they are: to number them 1, 2, ... would say that some
are nearer to each other than others. Standardised numbers differ by about as much, so that 0 and 1 are not scaled.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features, _get_feature_names, check_is_fitted

from maxmargin.data.column_encodings import (
    MISSING,
    check_forms,
    checked_names,
    encode_words,
    learn_categories,
    learn_numbers,
    learn_terms,
    list_outputs,
    make_one_hot,
    read_numbers,
    read_words,
    refuse_unknown,
    unknown_words,
    weigh_terms,
)
from maxmargin.data.columns import Columns, columns_of, in_form, text_categories
from maxmargin.data.forms import unreadable_words
from maxmargin.data.table import Table
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_flag,
    check_number,
    check_points,
    check_training_points,
)

# "auto" makes the result sparse from 100 outputs on if there are more than 5 for each column: then four of five values
# or more are zeros, and a CSR matrix takes less memory than an array.
SPARSE_MIN_OUTPUTS = 100
SPARSE_MIN_OUTPUTS_PER_COLUMN = 5
TABLE_ENTRIES = entries(
    """
table_train as X : array-like, DataFrame or sparse matrix of shape (n_samples, n_columns)
    The table, with columns of numbers, booleans, strings or categories. A sparse matrix contains only numbers.
table as X : array-like, DataFrame or sparse matrix of shape (n_samples, n_columns)
    A table with the columns of the training data.
Z : array or CSR matrix of shape (n_samples, n_outputs)
    Numbers.
"""
)


@documented(TABLE_ENTRIES)
@parameters
class TableEncoder(TransformerMixin, Estimator):
    """Encode a table as numbers: numeric columns pass through, text columns become one column per category.

    Parameters
    ----------
    columns : list of str, optional
        Column names, if the training data are an array without names. A DataFrame that is transformed later must have
        these columns in this order.
    handle_unknown : {"error", "ignore"}, default="error"
        What to do with a category that was not in the training data: refuse it, or encode it as zeros.
    sparse_output : bool or "auto", default="auto"
        Whether the result is a CSR matrix. With "auto" it is one if it has at least 100 columns, most of them from
        categories.
    forms : list of str, optional
        Format of the values of each column: "number", "number ." ("$1,234.5"), "number ," ("1.234,5"), "number . kg",
        "time", "date %Y-%m-%d > day month", "category", "category NA" (where NA is a category) or "text";
        :func:`maxmargin.data.survey.survey` finds them. By default columns of numbers are numbers and others
        categories, and a column that is neither is refused.
    missing : {"refuse", "median", "mode", "indicate"}, default="refuse"
        How missing values are handled. "refuse": an error. "median": missing numbers are replaced by the median of the
        column, missing categories by a separate category. "mode": both are replaced by the most frequent value.
        "indicate": like "median", with an additional 0-1 column that marks missing numbers.
    scale : bool, default=False
        Whether to standardise numbers to mean 0 and variance 1. Columns of 0 and 1 are not changed.
    min_frequency : int, default=1
        Categories that occur less often in ``fit`` share one column.
    target : str, optional
        Name of the target column, which is not part of the table; stored for reference.

    Attributes
    ----------
    categories_ : list
        For each column its sorted categories, or the terms of a text; None for a column of numbers.
    sparse_output_ : bool
        Whether the result is sparse.
    rare_ : list
        For each column the rare categories that share an output column, or None.
    one_hot_ : OneHotEncoder or None
        scikit-learn's encoder of the categories.
    fill_, center_, spread_ : arrays, one entry per number
        Replacement for missing numbers, and the mean and standard deviation used for scaling.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns, if the training data had names or ``columns`` was given.

    Examples
    --------
    >>> from maxmargin import TableEncoder
    >>> table = [[150.0, "green"], [120.0, "yellow"], [80.0, "green"]]
    >>> encoder = TableEncoder(columns=["weight", "colour"]).fit(table)
    >>> encoder.transform(table)
    array([[150.,   1.,   0.],
           [120.,   0.,   1.],
           [ 80.,   1.,   0.]])
    >>> encoder.get_feature_names_out()
    array(['weight', 'colour_green', 'colour_yellow'], dtype=object)
    >>> prices = [["$1,200", "2024-05-01"], ["$900", "2024-05-03"]]
    >>> TableEncoder(forms=["number .", "date %Y-%m-%d > day"]).fit_transform(prices)
    array([[ 1200., 19844.],
           [  900., 19846.]])
    """

    columns: list[str] | None = None
    _: KW_ONLY
    handle_unknown: str = "error"
    sparse_output: bool | str = "auto"
    forms: list[str] | None = None
    missing: str = "refuse"
    scale: bool = False
    min_frequency: int = 1
    target: str | None = None

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn which columns are text, and their categories.

        {table_train, y_ignored -> self}
        """
        check_choice("handle_unknown", self.handle_unknown, ("error", "ignore"))
        check_choice("missing", self.missing, ("refuse", "median", "mode", "indicate"))
        check_flag("scale", self.scale)
        check_number("min_frequency", self.min_frequency, least=1, integer=True)
        if not isinstance(self.sparse_output, str) or self.sparse_output != "auto":
            check_flag("sparse_output", self.sparse_output)
        X = self._in_array(X)
        table = columns_of(X, self._reads())
        if table is None:
            points = check_training_points(self, X)
            self.categories_: list[Array | None] = [None] * points.shape[1]
            if self.scale and sp.issparse(points):
                raise ValueError("scale=True needs a dense table: a sparse one would no longer be sparse.")
            table = None if sp.issparse(points) else Columns(list(points.T), points.shape)
        else:
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, table, reset=True)
        if self.columns is not None:
            known = getattr(self, "feature_names_in_", None)
            self.feature_names_in_ = checked_names(self.columns, known, self.n_features_in_)
        if self.forms is not None:
            check_forms(self.forms, self.n_features_in_)
        self.one_hot_: Any = None
        sparse = table is None
        if table is not None:
            outputs = self._learn(table)
            sparse = outputs >= SPARSE_MIN_OUTPUTS and outputs > SPARSE_MIN_OUTPUTS_PER_COLUMN * table.shape[1]
        self.sparse_output_ = sparse if self.sparse_output == "auto" else bool(self.sparse_output)
        return self

    def _in_array(self, X: Any) -> Any:
        """A table of numbers as an array, where that is all that is read."""
        words = self._reads() or not isinstance(X, Table) or any(array.dtype == object for array in X.arrays)
        return X if words else np.column_stack(X.arrays)

    def _reads(self) -> bool:
        """Whether values are read by forms, with what is missing, and not only checked."""
        return self.forms is not None or self.missing != "refuse"

    def _learn(self, table: Columns) -> int:
        """Categories, fills and scales of the columns; the number of outputs."""
        learnt: list[tuple[Any, ...]] = []
        numbers = [np.empty((table.shape[0], 0))]
        for j, column in enumerate(table.columns):
            categories, rare, idf, fill = None, None, None, None
            has_words = column.dtype == object and any(isinstance(value, str) for value in column)
            form = self.forms[j] if self.forms is not None else "category" if has_words else "number"
            if form == "text":
                categories, idf = learn_terms(column, self._name(j))
            elif not form.startswith("category"):
                numbers.append(self._numbers(column, j))
            elif self._reads():
                words = self._words(column, j, None)
                categories, rare, fill = learn_categories(words, self.missing, self.min_frequency)
            else:
                categories, rare = text_categories(column, self._name(j)), np.empty(0, object)
            learnt.append((categories, rare, idf, fill))
        self.categories_, self.rare_, self.idf_, self.fill_categories_ = map(list, zip(*learnt, strict=True))
        scales = learn_numbers(np.hstack(numbers), self.missing, self.scale)
        self.fill_, self.center_, self.spread_, self.indicated_ = scales
        self._make_one_hot()
        return len(self.get_feature_names_out())

    def _make_one_hot(self) -> None:
        """scikit-learn's encoder, which model files do not hold, from the categories."""
        at = [j for j in range(len(self.categories_)) if self._is_category(j)]
        known = [part for j in at if (part := self.categories_[j]) is not None]
        self.one_hot_ = make_one_hot(known, [self.rare_[j] for j in at])

    def _is_category(self, j: int) -> bool:
        return self.categories_[j] is not None and (self.forms is None or self.forms[j] != "text")

    def transform(self, X: Any) -> Points:
        """Encode a table as numbers.

        {table -> Z}
        """
        check_is_fitted(self)
        X = self._in_array(X)
        table = columns_of(X, self._reads())
        if self.columns is None or _get_feature_names(X) is not None:  # an array has the columns that were named
            _check_feature_names(self, X, reset=False)
        if table is None and all(part is None for part in self.categories_):
            points = check_points(X)
            _check_n_features(self, points, reset=False)
            if self.scale:
                points = (points - self.center_) / self.spread_
            return in_form(points, self.sparse_output_)
        if table is None:  # a text column that happens to hold numbers only
            X = X if hasattr(X, "ndim") else np.asarray(X)
            values = X.to_numpy() if hasattr(X, "to_numpy") else X
            table = Columns([values[:, j] for j in range(X.shape[1])] if X.ndim == 2 else [], X.shape)
        _check_n_features(self, table, reset=False)
        return in_form(self._encoded(table), self.sparse_output_)

    def _encoded(self, table: Columns) -> Any:
        """The outputs of all columns in their order, then the columns of what was missing."""
        parts: list[Any] = []
        gaps: list[Array] = []
        words: list[list[str]] = []
        at = 0
        for j, (column, categories) in enumerate(zip(table.columns, self.categories_, strict=True)):
            if categories is None:
                values = self._numbers(column, j)
                if self._reads() or self.scale:
                    here = slice(at, at + values.shape[1])
                    at = here.stop
                    gaps.append(np.isnan(values))
                    values = (np.where(gaps[-1], self.fill_[here], values) - self.center_[here]) / self.spread_[here]
                parts.append(values)
            elif self._is_category(j):
                words.append(self._words(column, j, categories))
                parts.append(len(words) - 1)
            else:
                parts.append(weigh_terms(column, categories, self.idf_[j]))
        if words:
            coded = encode_words(self.one_hot_, words)
            parts = [coded[part] if isinstance(part, int) else part for part in parts]
        if self._reads() and len(self.indicated_):
            parts.append(np.hstack(gaps)[:, self.indicated_].astype(np.float64))
        made = [in_form(part, self.sparse_output_) for part in parts]
        return sp.hstack(made, format="csr") if self.sparse_output_ else np.hstack(made)

    def unknown_categories(self, X: Any) -> dict[str, Counter[str]]:
        """Categories that did not occur in ``fit``, with their counts, by column name.

        {Parameters, table}

        Returns
        -------
        unknown : dict
            Empty if all are known.
        """
        check_is_fitted(self)
        table = columns_of(X, True)
        found = {}
        for j, column in enumerate([] if table is None else table.columns):
            categories = self.categories_[j]
            if categories is not None and self._is_category(j):
                strange = unknown_words(self._words(column, j, categories, strict=False), categories)
                if strange:
                    found[self._names()[j]] = strange
        return found

    def unreadable_values(self, X: Any) -> dict[str, tuple[Counter[str], str]]:
        """Values in numeric, date and time columns that cannot be parsed and count as missing.

        {Parameters, table}

        Returns
        -------
        unreadable : dict
            For each column name the values with their counts, and the column's format; empty if all can be parsed.
        """
        check_is_fitted(self)
        table = columns_of(X, True)
        found = {}
        for j, column in enumerate([] if table is None else table.columns):
            if self.categories_[j] is None:
                form = "number" if self.forms is None else self.forms[j]
                words = unreadable_words(column, form)
                if words:
                    found[self._names()[j]] = words, form
        return found

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the outputs: the column name for numbers, ``column_category`` for text columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Column names; by default those of the training data, or ``columns``.

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
        return np.array([name for _, name in self._outputs(names)], dtype=object)

    def output_columns(self) -> Array:
        """The column that each output comes from, by position.

        Returns
        -------
        columns : array of int
        """
        check_is_fitted(self)
        return np.array([j for j, _ in self._outputs(self._names())], dtype=np.int64)

    def _outputs(self, names: list[str]) -> list[tuple[int, str]]:
        forms = self.forms or ["number"] * len(names)
        rare = getattr(self, "rare_", [None] * len(names))
        return list_outputs(names, forms, self.categories_, rare, getattr(self, "indicated_", ()))

    @property
    def text_columns_(self) -> list[int]:
        """Positions of the columns that contain text: categories, texts, and numbers or dates with a format."""
        check_is_fitted(self)
        forms = self.forms or ["number"] * len(self.categories_)
        return [j for j, part in enumerate(self.categories_) if part is not None or forms[j] != "number"]

    def _names(self) -> list[str]:
        known = getattr(self, "feature_names_in_", self.columns)
        return [f"x{j}" for j in range(self.n_features_in_)] if known is None else [str(name) for name in known]

    def _name(self, j: int) -> str:
        known = getattr(self, "feature_names_in_", self.columns)
        return f"column {j}" if known is None else f"column {str(known[j])!r}"

    def _form(self, j: int, default: str) -> str | None:
        """The form by which a column is read; None where its values are only checked."""
        return None if not self._reads() else default if self.forms is None else self.forms[j]

    def _numbers(self, column: Array, j: int) -> Array:
        """The numbers of a column, NaN where missing, if that is allowed; one column for each part."""
        return read_numbers(column, self._form(j, "number"), self._name(j), self.missing != "refuse")

    def _words(self, column: Array, j: int, categories: Array | None, strict: bool = True) -> list[str]:
        """The words of a category column; one that is not among the categories is refused, if it is to be."""
        words = read_words(column, self._form(j, "category"), self._name(j), self.missing != "refuse")
        if self.missing == "mode" and categories is not None:
            fill = self.fill_categories_[j] or MISSING
            words = [fill if word == MISSING else word for word in words]
        if categories is not None and self.handle_unknown == "error" and strict:
            refuse_unknown(words, categories, self._name(j))
        return words

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self._reads() and self.missing != "refuse"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
