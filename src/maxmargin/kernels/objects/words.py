"""Strings cut into words, and the words counted.

A letter is a Unicode code point, a word is k letters that follow each other, and a string of n letters has n - k + 1
of them. The counts of all words are the rows of a sparse matrix F, one column a distinct word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array

_LARGEST_KEY = 1 << 62
TABLE_MAX_ENTRIES = 1 << 16  # a table of so many entries costs nothing


def code_points(strings: Array) -> tuple[Array, Array]:
    """The letters of all strings as integers, one string after the other, and where each string starts and ends."""
    text = "".join(strings).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    return np.frombuffer(text, np.uint32), np.concatenate([[0], np.cumsum(lengths)])


def numbered(keys: Array, limit: int) -> tuple[Array, int]:
    """Keys in [0, limit) replaced by 0, 1, ... in their order, and how many different ones there are."""
    if limit > max(TABLE_MAX_ENTRIES, 4 * len(keys)):
        distinct, numbers = np.unique(keys, return_inverse=True)
        return numbers, len(distinct)
    present = np.zeros(limit, dtype=bool)
    present[keys] = True
    number = np.cumsum(present) - 1
    return number[keys], int(np.count_nonzero(present))


def joined(columns: Iterable[Array], base: int, count: int) -> tuple[Array, int]:
    """One integer for each of ``count`` words, whose letters are given column by column and are below ``base``: equal
    words, equal integers. Also a number that all of them are below."""
    keys = np.zeros(count, dtype=np.int64)
    limit = 1
    for column in columns:
        if limit * base > _LARGEST_KEY:  # number the beginnings that occur instead of all that could
            keys, limit = numbered(keys, limit)
        keys = keys * base + column
        limit *= base
    return keys, limit


def pieces(cost: Array, most: float) -> list[slice]:
    """Consecutive strings, in pieces whose summed costs exceed ``most`` by no more than one string's."""
    starts = [0]
    total = 0.0
    for index, value in enumerate(cost):
        if total > most:
            starts.append(index)
            total = 0.0
        total += float(value)
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(cost)], strict=True)]


@dataclass(frozen=True)
class Words:
    """The words of some strings."""

    counts: sp.csr_array  # CSR (n_strings, n_words); how often each word occurs in each string
    letters: Array  # (n_words, k); the letters of each distinct word, as code points


def words_of(strings: Array, k: int) -> Words:
    """Count the words of k letters."""
    letters, starts = code_points(strings)
    per_string = np.maximum(np.diff(starts) - k + 1, 0)
    total = int(per_string.sum())
    if total == 0:
        return Words(sp.csr_array((len(strings), 0)), np.empty((0, k), np.uint32))
    # Words at all places of the text, also those that begin in one string and end in the next; then the true ones.
    places = len(letters) - k + 1
    digits, base = numbered(letters, int(letters.max()) + 1)
    keys, limit = joined((digits[i : i + places] for i in range(k)), base, places)
    first = np.cumsum(per_string) - per_string  # the number of each string's first word
    at = np.arange(total) + np.repeat(starts[:-1] - first, per_string)
    column, n_words = numbered(keys[at], limit)
    row = np.repeat(np.arange(len(strings)), per_string)
    counts = sp.csr_array((np.ones(total), (row, column)), shape=(len(strings), n_words))
    where = np.empty(n_words, dtype=np.int64)
    where[column] = at
    return Words(counts, letters[where[:, None] + np.arange(k)])
