"""The rows of a linear fit: those that have weight, merged and in canonical order where the data are small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.canonical_rows import MIXING_FACTOR, canonical_rows, row_hashes
from maxmargin.runtime.validation import Array, Points

# Entries of X up to which equal rows are merged, and sorted by content: a fraction of a solver's time. A regression of
# as many entries is solved sooner.
MERGE_MAX_ENTRIES = 2_000_000
REGRESSION_MERGE_MAX_ENTRIES = 100_000
SPARSE_MAX_SHARE = 0.2  # of the entries up to which only those that are not zero are kept,
DENSE_MAX_ENTRIES = 250_000  # except for small data,
DENSE_MAX_COLUMNS = 16  # or so few columns


@dataclass(frozen=True)
class TrainingRows:
    """The rows that have weight."""

    X: Points
    target: Array
    weight: Array
    member_of: Array  # for each input row its place among these, or -1
    key: Array  # a hash of each row's content and target, if requested


def training_rows(
    X: Points, target: Array, weights: Array, *, keys: bool, max_entries: int | None = None
) -> TrainingRows:
    """Small data in canonical form, so that a weight of two equals a repetition to the last bit; large data as it is,
    without the rows of weight zero. ``keys``: whether hashes are needed for large data, too."""
    if (X.nnz if sp.issparse(X) else X.size) <= (MERGE_MAX_ENTRIES if max_entries is None else max_entries):
        X = X.tocsr() if sp.issparse(X) else X
        rows = canonical_rows(X, target, weights)
        at, key = rows.representative, rows.key
        X, weight, member_of = _form(X[at]), rows.weight, rows.member_of
    else:
        at = np.flatnonzero(weights > 0)
        member_of = np.full(len(weights), -1)
        member_of[at] = np.arange(len(at))
        if sp.issparse(X) and (len(at) < len(weights) or keys):  # rows are to be picked, or hashed
            X = X.tocsr()
        X, weight = X if len(at) == len(weights) else X[at], weights[at]
        key = row_hashes(X) if keys else np.zeros(0, np.uint64)
    target = target[at]
    if keys:
        key = key ^ target.astype(np.uint64) * MIXING_FACTOR
    return TrainingRows(X, target, weight, member_of, key)


def regression_rows(X: Points, y: Array, weights: Array, *, keys: bool) -> TrainingRows:
    """The same for real targets, which are compared by their bits."""
    bits = (y + 0.0).view(np.int64)
    rows = training_rows(X, bits, weights, keys=keys, max_entries=REGRESSION_MERGE_MAX_ENTRIES)
    return replace(rows, target=rows.target.view(np.float64))


def _form(X: Points) -> Points:
    """Dense or CSR by the share of entries that are not zero, whichever form X came in: both make the same model."""
    n, d = X.shape
    filled = X.nnz if sp.issparse(X) else np.count_nonzero(X[:: max(1, n // 2000)]) * max(1, n // 2000)
    if n * d <= DENSE_MAX_ENTRIES or d <= DENSE_MAX_COLUMNS or filled > SPARSE_MAX_SHARE * n * d:
        return X.toarray() if sp.issparse(X) else X
    return X if sp.issparse(X) else sp.csr_matrix(X)
