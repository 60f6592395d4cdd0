"""What a TableEncoder learns from one column, and how it reads another like it: plain functions over values.

numbers     what a missing one becomes, mean and spread
categories  those with a column of their own, and the rare ones that share a column
texts       the most frequent terms, and how rare each is (TF-IDF)
"""

from __future__ import annotations

import difflib
import itertools
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

from maxmargin.data.columns import checked_numbers, texts
from maxmargin.data.forms import form_parts, is_form, is_gap, numbers_of
from maxmargin.runtime.validation import Array

TEXT_MAX_TERMS = 5000  # words of a text column that become columns, the most frequent first
MISSING = "(missing)"  # the category of a missing value
RARE = "(rare)"  # the output of all categories that are too rare for one of their own


class NumberScales(NamedTuple):
    """One entry per number: what a missing one becomes, what is subtracted and divided by; and the positions of those
    that were missing somewhere and get a column that says so."""

    fill: Array
    center: Array
    spread: Array
    indicated: Array


def learn_numbers(values: Array, missing: str, scale: bool) -> NumberScales:
    """Fills, and the mean and spread after filling."""
    gaps = np.isnan(values)
    fill = np.zeros(values.shape[1])
    for k in range(values.shape[1]):
        known = values[~gaps[:, k], k]
        if len(known):
            found, counts = np.unique(known, return_counts=True)
            fill[k] = found[np.argmax(counts)] if missing == "mode" else np.median(known)
    indicated = np.flatnonzero(gaps.any(axis=0)) if missing == "indicate" else np.empty(0, np.int64)
    values = np.where(gaps, fill, values)
    center = values.mean(axis=0) if scale else np.zeros(values.shape[1])
    spread = values.std(axis=0) if scale else np.ones(values.shape[1])
    return NumberScales(fill, center, np.where(spread > 0, spread, 1.0), indicated)


def checked_names(columns: Any, known: Array | None, n_columns: int) -> Array:
    """Names that the user gave to the columns; ``known`` are those of a DataFrame."""
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"columns must be a list of names; got {columns!r:.100}.")
    if len(columns) != n_columns:
        raise ValueError(f"columns has {len(columns)} names, and X has {n_columns} columns.")
    if known is None:
        return np.array(list(columns), dtype=object)
    if list(known) != list(columns):
        raise ValueError(
            f"columns is {list(columns)!r:.100}, and the columns of X are {list(known)!r:.100}: "
            "leave columns out, a DataFrame has its own names."
        )
    return known


def check_forms(forms: Any, n_columns: int) -> None:
    """Forms that the user gave to the columns."""
    if isinstance(forms, str):
        raise ValueError(f"forms must be a list of forms such as 'number' or 'category'; got {forms!r:.100}.")
    for place, form in enumerate(forms):
        if not is_form(form):
            raise ValueError(
                f"forms[{place}] must be a form such as 'number', 'number ,' or 'category'; got {form!r:.100}."
            )
    if len(forms) != n_columns:
        raise ValueError(f"forms has length {len(forms)}, but X has {n_columns} columns: give one form per column.")


def read_numbers(column: Array, form: str | None, name: str, gaps: bool) -> Array:
    """The numbers of a column by its form, one column for each part; NaN where missing, which may be refused. Without
    a form they must be numbers already."""
    if form is None:
        return checked_numbers(column, name)[:, None]
    values = numbers_of(column, form)
    if not gaps and np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).any(axis=1))[0])
        raise ValueError(
            f"Input X contains NaN: {name}, row {row} is missing or no number ({str(column[row])[:40]}). "
            "Fill it in, leave out the row, or set missing='median'."
        )
    return values


def read_words(column: Array, form: str | None, name: str, gaps: bool) -> list[str]:
    """The words of a category column by its form; MISSING where missing, which may be refused."""
    if form is None:
        return texts(column, name)
    present = iter(texts([word for word in column.tolist() if word is not None and word == word], name))
    words = [
        MISSING if word is None or word != word or is_gap(known := next(present).strip(), form) else known
        for word in column.tolist()
    ]
    if not gaps and MISSING in words:
        raise ValueError(
            f"Input X contains NaN: {name}, row {words.index(MISSING)} is missing. Fill it in, leave out the row, or "
            "set missing='median'."
        )
    return words


def learn_categories(words: list[str], missing: str, min_frequency: int) -> tuple[Array, Array, str]:
    """The sorted categories, those of them that are rare, and the most frequent one."""
    counts = Counter(words)
    fill = max(counts, key=lambda word: (word != MISSING, counts[word], word))
    if missing == "mode":
        counts = Counter({word: n for word, n in counts.items() if word != MISSING or word == fill})
    categories = np.array(sorted(counts), dtype=object)
    least = min(min_frequency, max(counts.values()))
    return categories, np.array([word for word in categories if counts[word] < least], dtype=object), fill


def split_rare(categories: Array, rare: Array | None) -> tuple[list[str], list[str]]:
    """The categories with an output of their own, and those that share one."""
    shared = [] if rare is None else rare.tolist()
    few = set(shared)
    return [word for word in categories.tolist() if word not in few], shared


def list_outputs(
    names: list[str],
    forms: list[str],
    categories: list[Array | None],
    rare: list[Array | None],
    indicated: Sequence[int],
) -> list[tuple[int, str]]:
    """The column that each output comes from, and its name."""
    found: list[tuple[int, str]] = []
    numbers: list[tuple[int, str]] = []
    for j, (name, known) in enumerate(zip(names, categories, strict=True)):
        if known is None:
            here = [(j, name + part) for part in form_parts(forms[j])]
            numbers += here
            found += here
        else:
            kept, shared = split_rare(known, rare[j])
            found += [(j, f"{name}_{word}") for word in [*kept, *[RARE] * bool(shared)]]
    return found + [(numbers[k][0], f"{numbers[k][1]} missing") for k in indicated]


def make_one_hot(categories: list[Array], rare: list[Array | None]) -> Any:
    """scikit-learn's encoder of these columns, or None where there are none.

    What it has to learn are the categories, which are given, and which of them are rare: for that it is fitted to a
    table with each category that has its own column twice, and each rare one once."""
    if not categories:
        return None
    columns, least = [], None
    for known, few in zip(categories, rare, strict=True):
        kept, shared = split_rare(known, few)
        least = 2 if shared else least
        columns.append([*kept, *kept, *shared])
    n = 1 if least is None else max(map(len, columns))
    table = np.array([column[:n] + [column[0]] * (n - len(column)) for column in columns], object).T
    return OneHotEncoder(categories=categories, handle_unknown="infrequent_if_exist", min_frequency=least).fit(table)


def encode_words(one_hot: Any, words: list[list[str]]) -> list[Any]:
    """The outputs of each column of words, as CSC matrices; unknown categories have been refused, or have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coded = one_hot.transform(np.array(words, object).T).tocsc()
    ends = np.cumsum([0, *one_hot._n_features_outs])
    return [coded[:, begin:end] for begin, end in itertools.pairwise(ends)]


def unknown_words(words: list[str], categories: Array) -> Counter[str]:
    """Words that are no category, with their counts."""
    known = {*categories.tolist(), MISSING}
    return Counter({word: n for word, n in Counter(words).items() if word not in known})


def refuse_unknown(words: list[str], categories: Array, name: str) -> None:
    """An error for the first word that is no category."""
    unknown = unknown_words(words, categories)
    if not unknown:
        return
    word = next(iter(unknown))
    listed = ", ".join(map(repr, categories[:8])) + (", ..." if len(categories) > 8 else "")
    near = difflib.get_close_matches(word, categories.tolist(), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"X, {name}, row {words.index(word)}: the category {word!r:.60} was not in the training data, which had "
        f"{listed}.{hint} Correct it, or set handle_unknown='ignore'."
    )


def learn_terms(column: Array, name: str) -> tuple[Array, Array]:
    """The terms of a text column, sorted, and how rare each is."""
    for least in (2, 1):  # a word that occurs once says nothing about others
        vectorizer = TfidfVectorizer(max_features=TEXT_MAX_TERMS, min_df=least, sublinear_tf=True)
        try:
            vectorizer.fit(_sentences(column))
        except ValueError:
            continue
        return np.array(vectorizer.get_feature_names_out(), dtype=object), np.asarray(vectorizer.idf_)
    raise ValueError(f"X, {name} has no words: leave it out.")


def weigh_terms(column: Array, terms: Array, idf: Any) -> Any:
    """The weights of the terms in each text of a column, as a CSR matrix."""
    vectorizer = TfidfVectorizer(vocabulary=terms.tolist(), sublinear_tf=True)
    vectorizer.idf_ = idf
    return vectorizer.transform(_sentences(column))


def _sentences(column: Array) -> list[str]:
    return ["" if value is None or value != value else str(value) for value in column.tolist()]
