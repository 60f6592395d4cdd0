"""Weighted monomials of all degrees, by recursion.

A monomial of degree m is a sorted list of m columns, x_j1 x_j2 ... x_jm with j1 <= j2 <= ... <= jm. Those of one degree
are listed in lexicographic order, and written as (j, rest): a first column and a monomial of degree m - 1 whose columns
are all >= j. With one number t_m a degree, the recursion

    B_0 = s(x),     B_m[j, rest] = t_m x_j B_(m-1)[rest] / sqrt(c),     c = how often j occurs in (j, rest),

gives B_m[a] = s(x) t_1 ... t_m x^a / sqrt(a!) for x^a = x_1^a_1 ... x_d^a_d, a! = a_1! ... a_d!, and so, by the
multinomial theorem (x'z)^m = m! sum_a x^a z^a / a!,

    B_m(x)'B_m(z) = s(x) s(z) (t_1 ... t_m)^2 (x'z)^m / m!.

There are N_m(d) = C(d + m - 1, m) monomials of degree m. Those whose columns are all >= j are the last N_m(d - j) of
them, so that one degree is made of slices of the one before. A sparse row with k non-zeros has the monomials of k
columns only; the same recursion gives their places in the full list.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from maxmargin.kernel_methods.feature_maps.base import empty_features
from maxmargin.runtime.validation import Array, Points, check_memory

CHUNK_FEATURES, CHUNK_MIN_ROWS = 1 << 18, 16  # features computed at a time: 2 MB, or as many as these rows have


def count(d: int, m: int) -> int:
    """N_m(d), the number of monomials of degree m in d columns."""
    return math.comb(d + m - 1, m) if d else int(m == 0)


class Monomials:
    """The recursion for d columns, up to a degree."""

    def __init__(self, d: int, degree: int) -> None:
        self.d, self.degree = d, degree
        self.plan: list[list[tuple[int, int, Array]]] = []  # of each degree: j -> first rest, end of (j, .), sqrt(c)
        runs = np.zeros(1)  # how often the first column occurs in each monomial of the degree before
        for m in range(1, degree + 1):
            slices, new, end = [], [], 0
            size = count(d, m - 1)
            for j in range(d):
                tail = size - count(d - j, m - 1)
                same = count(d - j, m - 1) - count(d - j - 1, m - 1)  # rests that begin with j too
                run = runs[tail : tail + same] + 1.0
                new += [run, np.ones(size - tail - same)]
                end += size - tail
                slices.append((tail, end, np.sqrt(run)))
            self.plan.append(slices)
            runs = np.concatenate(new) if new else np.zeros(0)

    def blocks(self, X: Array, start: Array, steps: Sequence[float]) -> Iterator[Array]:
        """B_0, B_1, ... of the rows of X, with s(x) = ``start`` and t_m = ``steps[m - 1]``."""
        block = start[:, None]
        yield block
        for slices, step in zip(self.plan, steps, strict=True):
            scaled = step * X
            new = np.empty((len(X), slices[-1][1] if slices else 0))
            begin = 0
            for j, (tail, end, roots) in enumerate(slices):
                np.multiply(block[:, tail:], scaled[:, j, None], out=new[:, begin:end])
                new[:, begin : begin + len(roots)] /= roots
                begin = end
            block = new
            yield block

    def places(self, columns: Array, jumps: Sequence[Array]) -> Iterator[Array]:
        """Where the monomials of some columns (sorted, one row per point) stand among those of all columns:
        place(j, rest) = place(rest) + jumps[j]."""
        place = np.zeros((len(columns), 1), np.int64)
        yield place
        for m, (slices, jump) in enumerate(zip(self.plan, jumps, strict=True), 1):
            new = np.empty((len(columns), count(self.d, m)), np.int64)
            begin = 0
            for j, (tail, end, _) in enumerate(slices):
                new[:, begin:end] = place[:, tail:] + jump[columns[:, j, None]]
                begin = end
            place = new
            yield place


def place_jumps(d: int, degree: int) -> list[Array]:
    """For each degree m and column j: the monomials of degree m that begin with a column < j, less those of degree
    m - 1; the former are N_m(d) - N_m(d - j)."""
    counts, before, jumps = np.ones(d + 1, np.int64), np.zeros(d + 1, np.int64), []
    for _ in range(degree):
        counts = np.concatenate(([0], np.cumsum(counts[1:])))  # N_m(k) = N_m(k - 1) + N_(m-1)(k)
        now = counts[-1] - counts[::-1]
        jumps.append(now - before)
        before = now
    return jumps


def weighted_monomials(
    X: Points, start: Callable[[Points], Array], steps: Sequence[float], factors: Sequence[float], name: str
) -> Points:
    """The blocks B_0, B_1, ..., each times its factor, side by side; a degree whose factor is zero is left out.

    X: array or CSR matrix of shape (n, d)
    start: s(x) of some of the rows
    steps, factors: t_m for m = 1, ..., and a factor for m = 0, 1,
    name: what the features are, for a refusal
    Returns array or CSR matrix of the precision of X; what it is computed from is float64.
    """
    if sp.issparse(X):
        return _sparse_monomials(X, start(X), steps, factors, name)
    n, d = X.shape
    kept = [m for m, factor in enumerate(factors) if factor]
    width = sum(count(d, m) for m in kept)
    out = empty_features(n, width, X.dtype, name)
    monomials = Monomials(d, len(steps))
    rows_each = max(CHUNK_MIN_ROWS, CHUNK_FEATURES // max(1, width))
    for first in range(0, n, rows_each):
        rows = slice(first, first + rows_each)
        part = X[rows].astype(np.float64, copy=False)
        at = 0
        for m, block in enumerate(monomials.blocks(part, start(part), steps)):
            if m in kept:
                np.multiply(block, factors[m], out=out[rows, at : at + block.shape[1]], casting="same_kind")
                at += block.shape[1]
    return out


def _sparse_monomials(
    X: Points, start: Array, steps: Sequence[float], factors: Sequence[float], name: str
) -> sp.csr_matrix:
    """Rows of equally many non-zeros together. Columns come out sorted, since places grow with the monomials."""
    n, d = X.shape
    X = X.copy()
    X.eliminate_zeros()
    kept = [m for m, factor in enumerate(factors) if factor]
    offsets = dict(zip(kept, itertools.accumulate((count(d, m) for m in kept), initial=0), strict=False))
    width = sum(count(d, m) for m in kept)
    if width > np.iinfo(np.int64).max // 2:
        raise ValueError(f"{name} has {width:,} features: more columns than can be numbered. Lower the degree.")
    filled = np.diff(X.indptr)
    sizes = {int(k): sum(count(int(k), m) for m in kept) for k in np.unique(filled)}
    stored = sum(int(np.count_nonzero(filled == k)) * size for k, size in sizes.items())
    check_memory(
        stored * (8.0 + X.dtype.itemsize),
        f"{name} with {stored:,} entries that are not zero, in {width:,} features,",
        "use the kernel instead of the map, a lower degree or order, or fewer rows at a time.",
    )
    indptr = np.concatenate(([0], np.cumsum([sizes[int(k)] for k in filled]))).astype(np.int64)
    indices, data = np.empty(stored, np.int64), np.empty(stored, X.dtype)
    jumps = place_jumps(d, len(steps))
    for k, size in sizes.items():
        monomials = Monomials(k, len(steps))
        group = np.flatnonzero(filled == k)
        rows_each = max(CHUNK_MIN_ROWS, CHUNK_FEATURES // max(1, size))
        for first in range(0, len(group), rows_each):
            rows = group[first : first + rows_each]
            entries = X.indptr[rows][:, None] + np.arange(k)
            values, columns = X.data[entries].astype(np.float64), X.indices[entries]
            blocks = zip(monomials.blocks(values, start[rows], steps), monomials.places(columns, jumps), strict=True)
            at = indptr[rows][:, None]
            for m, (block, place) in enumerate(blocks):
                if m in kept:
                    to = at + np.arange(block.shape[1])
                    data[to], indices[to] = block * factors[m], place + offsets[m]
                    at = at + block.shape[1]
    return sp.csr_matrix((data, indices, indptr), shape=(n, width))


def names_of_monomials(
    columns: list[str], steps: Sequence[float], factors: Sequence[float], prefix: str = ""
) -> list[str]:
    """Names like ``1.414 x0 x1``: the number, the prefix, and the columns with their powers."""
    d = len(columns)
    check_memory(200.0 * sum(count(d, m) for m, factor in enumerate(factors) if factor), "The features' names", "")
    names = []
    for m, block in enumerate(Monomials(d, len(steps)).blocks(np.ones((1, d)), np.ones(1), steps)):
        if not factors[m]:
            continue
        for weight, chosen in zip(
            block[0] * factors[m], itertools.combinations_with_replacement(columns, m), strict=True
        ):
            powers = [
                name if power == 1 else f"{name}^{power}"
                for name, power in ((name, len(list(group))) for name, group in itertools.groupby(chosen))
            ]
            number = f"{weight:.4g}"
            parts = [*([] if number == "1" else [number]), *([prefix] if prefix else []), *powers]
            names.append(" ".join(parts) or "1")
    return names
