"""Training rows in canonical form: equal rows merged, in an order that does not depend on the input's.

A sample of weight two and the same sample given twice describe the same problem, so they must give the same result.
Equal rows with an equal target therefore become one variable with the sum of their weights, rows of weight zero leave,
and what remains is sorted by a hash of its content. That order looks random, which is also what a working-set method
wants of its rows. The hash of a row is the sum over its non-zeros of a mixed (column, value) pair, computed in
``native/row_hashes``: dense and sparse rows, float32 and float64 of the same values agree. Strings, sets, tuples and
numbers are hashed by their content; objects of any other kind stay as they are, in the order given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.threads import Stop, halt_on, run_strips
from maxmargin.runtime.validation import Array, Points

COPY_MAX_ENTRIES = 4_000_000  # numbers copied at once, some hundredths of a second
COPIED_PART_ENTRIES = 250_000  # of more, which threads copy in parts: touching new memory takes longest

MIXING_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads the bits of a target over a hash
HASH_MAX_ENTRIES = 2**22  # per call: a few milliseconds, so that Ctrl-C is obeyed between calls


def object_digests(X: Array) -> list[bytes] | None:
    """A digest of each object's content: the same in every process, whatever the order of a set's elements. None if
    there is an object of a kind whose content is not known."""
    try:
        return [hashlib.blake2b(_content(thing), digest_size=16).digest() for thing in X]
    except TypeError:
        return None


def _content(thing: Any) -> bytes:
    """The content of a string, number, set or tuple, in bytes; equal things, equal bytes."""
    if isinstance(thing, str):
        return b"s" + thing.encode("utf-8", "surrogatepass")
    if isinstance(thing, bytes):
        return b"b" + thing
    if isinstance(thing, (int, float, np.number, np.bool_)) and not isinstance(thing, np.complexfloating):
        integer = isinstance(thing, int) or float(thing).is_integer()
        return b"n" + repr(int(thing) if integer else float(thing)).encode()
    if isinstance(thing, (Set, tuple)):
        parts = [_content(part) for part in thing]
        kind = b"(" if isinstance(thing, tuple) else b"{"
        return kind + b"".join(b"%d:" % len(part) + part for part in (parts if kind == b"(" else sorted(parts)))
    if thing is None:
        return b"-"
    raise TypeError(f"no known content: {type(thing).__name__}")


def object_hashes(X: Array) -> Array | None:
    """The first 64 bits of each object's digest; None if there is an object of a kind whose content is not known."""
    digests = object_digests(X)
    return None if digests is None else np.frombuffer(b"".join(digests), np.uint64)[::2].copy()


def row_hashes(X: Points) -> Array:
    """A 64-bit hash of each row's content."""
    out, (n, columns) = np.empty(X.shape[0], np.uint64), X.shape
    entries = X.nnz / max(1, n) if sp.issparse(X) else columns
    rows_per_call = max(1, int(HASH_MAX_ENTRIES / max(1.0, entries)))
    for start in range(0, n, rows_per_call):
        rows = slice(start, min(start + rows_per_call, n))
        if sp.issparse(X):
            _native.hash_rows_csr(csr_arrays(X, rows), columns, out[rows])
        else:
            _native.hash_rows(_real(X[rows]), out[rows])
    return out


def _real(X: Array) -> Array:
    """The same values in C order and aligned, float32 or float64."""
    return np.require(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64, ["C", "A"])


@dataclass(frozen=True)
class CanonicalRows:
    """The merged rows."""

    representative: Array  # for each merged row, the index of one input row with its content (the first of them)
    member_of: Array  # for each input row, its merged row, or -1 for rows of weight zero
    weight: Array  # weight of each merged row: the sum over its members
    key: Array  # hash of each merged row's content

    def share(self, weights: Array) -> Array:
        """The share of each input row in the weight of its merged row (0 for rows of weight zero)."""
        share = np.zeros(len(weights))
        used = self.member_of >= 0
        share[used] = weights[used] / self.weight[self.member_of[used]]
        return share


def _merged_rows(X: Points, target: Array, weights: Array) -> CanonicalRows:
    """Rows of numbers: hashed, sorted and compared in one compiled call."""
    n = len(weights)
    member_of, representative = np.empty(n, np.int64), np.empty(n, np.int64)
    weight, key = np.empty(n), np.empty(n, np.uint64)
    points = (*csr_arrays(X), X.shape[1]) if sp.issparse(X) else (np.ascontiguousarray(X),)
    target = np.ascontiguousarray(target, np.float64)
    count = _native.merge_rows(points, target, weights, member_of, representative, weight, key)
    return CanonicalRows(representative[:count], member_of, weight[:count], key[:count])


def target_codes(Y: Array) -> Array:
    """A code for each distinct row of several targets, so that they are merged like a single target."""
    order = np.lexsort(Y.T)
    codes = np.zeros(len(Y))
    codes[order[1:]] = np.cumsum((Y[order[1:]] != Y[order[:-1]]).any(axis=1))
    return codes


def canonical_rows(X: Points, target: Array, weights: Array, *, merge: bool = True) -> CanonicalRows:
    """Merge equal rows of equal target and sort by content; with ``merge=False`` (rows that are not points, as in a
    precomputed matrix, or objects that cannot be compared) only drop rows of weight zero."""
    if merge and X.dtype != object:
        return _merged_rows(X, target, weights)
    used = np.flatnonzero(weights > 0)
    member_of = np.full(len(weights), -1)
    key = object_hashes(X) if merge else None
    if key is None:
        member_of[used] = np.arange(len(used))
        return CanonicalRows(used, member_of, weights[used], used.astype(np.uint64))
    order = used[np.lexsort((weights[used], target[used], key[used]))]  # sums of weights have one order, too
    # A candidate repeats both key and target; only then are the objects themselves compared.
    repeats = np.flatnonzero((key[order[1:]] == key[order[:-1]]) & (target[order[1:]] == target[order[:-1]])) + 1
    starts = np.ones(len(order), bool)
    starts[repeats] = [X[order[t]] != X[order[t - 1]] for t in repeats]
    group = np.cumsum(starts) - 1
    member_of[order] = group
    weight = np.bincount(group, weights=weights[order])
    representative = np.full(len(weight), len(weights))
    np.minimum.at(representative, group, order)
    return CanonicalRows(representative, member_of, weight, key[representative])


def rows_of(X: Points, at: Array, threads: int, stop: Stop | None = None) -> Points:
    """X[at]; many dense points in parts, between which ``stop`` may raise Halted."""
    if sp.issparse(X) or X.ndim != 2 or X.dtype == object or len(at) * X.shape[1] <= COPY_MAX_ENTRIES:
        return X[at]
    out = np.empty((len(at), X.shape[1]), X.dtype)

    def work(part: slice) -> None:
        halt_on(stop)
        out[part] = X[at[part]]

    run_strips(work, len(at), max(1, COPIED_PART_ENTRIES // X.shape[1]), threads)
    return out


def places_among(known: Array, keys: Array) -> Array:
    """The place of each key among those that are known, -1 of a new one."""
    if len(known) == 0:
        return np.full(len(keys), -1)
    order = np.argsort(known, kind="stable")
    at = order[np.searchsorted(known, keys, sorter=order).clip(max=len(order) - 1)]
    return np.where(known[at] == keys, at, -1)
