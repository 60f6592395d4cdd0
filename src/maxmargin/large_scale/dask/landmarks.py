"""Kernel and landmarks for rows on a cluster: the same that one computer with all rows would choose.

The client fetches only the rows that it needs (:mod:`maxmargin.large_scale.features.landmarks`):

    small data           all rows
    up to MERGE_MAX_ROWS a hash of each row's content, by which equal rows are found and the others put in order; then
                         the ``sample_size(m)`` rows that are drawn from that order
    more                 rows at positions drawn at random, as many

gamma = "scale" and the means that distances are taken from are those of all rows, from sums over the partitions.

With a precomputed kernel the rows are those of K, and landmarks are columns of it: the client fetches K_mm and the
entries from which the error is estimated.

The search for the number of landmarks runs on the client, on rows that it can hold.

Rows drawn at random are fetched, as many as fit ``FETCH_MAX_BYTES``, and :mod:`maxmargin.large_scale.auto` doubles m
until rows held out of them gain no more than noise. Each fetched row stands for n / (fetched rows) of all: its weight
grows by that, so that the penalty is no stronger than in the fit that follows on the cluster. Where all rows fit, the
search and its result are those of one computer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.large_scale.auto import HELD_OUT_MAX_ROWS, HELD_OUT_SHARE, Search
from maxmargin.large_scale.dask.partitions import Partition
from maxmargin.large_scale.dask.training import Moments, Training
from maxmargin.large_scale.features.choosing import MERGE_MAX_ROWS, choose_landmarks, sample_size
from maxmargin.large_scale.features.factor import Factor
from maxmargin.large_scale.features.kernel_error import KernelError, draw_rows, error_of, estimate_kernel_error
from maxmargin.large_scale.features.landmarks import Landmarks
from maxmargin.large_scale.rows.targets import row_keys
from maxmargin.large_scale.training import Problem, rows_of
from maxmargin.runtime.canonical_rows import canonical_rows, row_hashes
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel_input import resolved
from maxmargin.svm.linear.rows import MERGE_MAX_ENTRIES

ERROR_ROWS = 1000  # from which the error of the kernel is estimated
FETCH_MAX_BYTES = 2**27  # of rows that the client fetches
MAX_ASYMMETRY = 1e-6  # of a precomputed matrix, relative to its entries
SEARCH_MAX_ROWS = int(HELD_OUT_MAX_ROWS / HELD_OUT_SHARE)  # beyond which no more of them are held out


@dataclass(frozen=True)
class Chosen:
    """The kernel and landmarks that the client chose."""

    kernel: Kernel  # resolved
    landmarks: Landmarks  # their indices are positions in X
    sample: Points  # array or CSR matrix; the rows that they were chosen from
    inside: Array | None  # which of them are landmarks, where that is known

    def error(self, factor: Factor, rng: np.random.Generator) -> KernelError:
        """How much of the kernel the landmarks miss."""
        points = Landmarks(self.landmarks.points, self.inside)
        return estimate_kernel_error(self.kernel, self.sample, points, factor, rng, ERROR_ROWS)


@dataclass(frozen=True)
class OwnMatrix(Landmarks):
    """Columns of a precomputed matrix on the cluster, with the part of it that the client has: K_mm."""

    K: Array

    def matrix(self, kernel: Kernel, X: Points) -> Array:
        return self.K


@dataclass(frozen=True)
class ChosenColumns(Chosen):
    """The landmarks of a precomputed matrix.

    sample: (s, s); entries of rows drawn at random
    """

    between: Array  # (s, m); their entries in the columns of the landmarks
    population: int  # rows from which they were drawn

    def error(self, factor: Factor, rng: np.random.Generator) -> KernelError:
        return error_of(self.sample, self.between @ factor.T, self.population)


# ---- on a worker


def _rows_at(part: Partition, at: Array | None, columns: Array | None = None) -> tuple[Points, Array, Array]:
    """Rows, or their entries in some columns, with targets and weights."""
    at = np.arange(part.n) if at is None else at
    X = part.X
    if columns is not None:
        X = X[at][:, columns] if sp.issparse(X) else X[np.ix_(at, columns)]
        return X, part.y[at], part.weights[at]
    return X[at], part.y[at], part.weights[at]


def _weights(part: Partition) -> Array:
    return part.weights


def _positive(part: Partition) -> Array:
    return np.flatnonzero(part.weights > 0)


def _hashes(part: Partition) -> tuple[Array, Array, Array]:
    """The positions, hashes and weights of the rows that have weight."""
    at = _positive(part)
    return at, row_hashes(part.X[at]), part.weights[at]


def _nth_positive(part: Partition, positions: Array) -> Array:
    """Positions among all rows from those among the rows that have weight."""
    return _positive(part)[positions] if len(positions) else np.empty(0, np.int64)


# ---- rows that are fetched


Fetched = tuple[Points, Array, Array]  # X, y and weights


def _stacked(parts: list[Points]) -> Points:
    parts = [part for part in parts if part.shape[0]]
    if any(sp.issparse(part) for part in parts):
        return sp.csr_matrix(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _joined(parts: list[Fetched]) -> Fetched:
    kept = [part for part in parts if part[0].shape[0]]
    y, weights = (np.concatenate([part[i] for part in kept]) for i in (1, 2))
    return _stacked([part[0] for part in kept]), y, weights


def every_row(data: Training) -> Fetched:
    """All rows, with their targets and weights."""
    return _joined(data.each(_rows_at, [None] * len(data.parts)))


def rows_at(data: Training, at: Array, columns: Array | None = None) -> Fetched:
    """The rows of X at these positions, in this order; of a precomputed matrix, some columns of them."""
    order = np.argsort(at, kind="stable")
    ends = np.cumsum([one.n for one in data.summaries])
    starts = ends - [one.n for one in data.summaries]
    owner = np.searchsorted(ends, at[order], side="right")
    wanted = [at[order][owner == p] - starts[p] for p in range(len(ends))]
    X, y, weights = _joined(data.each(_rows_at, wanted, [columns] * len(ends)))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return X[back], y[back], weights[back]


def drawn(data: Training, count: int, rng: np.random.Generator) -> Array:
    """Positions of so many rows that have weight, in order."""
    ends = np.cumsum([one.used for one in data.summaries])
    starts = np.cumsum([0, *(one.n for one in data.summaries)])[:-1]
    chosen = np.sort(rng.choice(int(ends[-1]), count, replace=False, shuffle=False))
    owner = np.searchsorted(ends, chosen, side="right")
    wanted = [chosen[owner == p] - (ends[p] - one.used) for p, one in enumerate(data.summaries)]
    found = data.each(_nth_positive, wanted)
    return np.concatenate([start + at for start, at in zip(starts, found, strict=True)]).astype(np.int64)


# ---- kernel and landmarks


def kernel_from(estimator: Any, data: Training, X: Points, weights: Array, *, complete: bool) -> Kernel:
    """The kernel of an estimator, resolved by rows that have weight: all of them, or a sample."""
    kernel = estimator._kernel()
    if not complete:
        kernel = _scaled(kernel, Moments.of(data.summaries), data.width)
    return resolved(kernel, estimator.kernel, X, weights, getattr(estimator, "feature_names_in_", None))


def choose(estimator: Any, data: Training, m: int, rng: np.random.Generator) -> Chosen:
    """The kernel of an estimator and its landmarks."""
    if isinstance(estimator._kernel(), Precomputed):
        return _columns(estimator, data, m, rng)
    if data.n * data.width <= MERGE_MAX_ENTRIES:
        return _from_all(estimator, data, m, rng)
    X, weights, positions = _sampled(data, m, rng)
    kernel = kernel_from(estimator, data, X, weights, complete=False)
    if isinstance(estimator.landmarks, str):
        found = choose_landmarks(kernel, X, m, estimator.landmarks, weights, rng)
        indices = None if found.indices is None else positions[found.indices]
        return Chosen(kernel, Landmarks(found.points, indices), X, found.indices)
    return Chosen(kernel, _given(estimator.landmarks, kernel, data, X), X, None)


def _from_all(estimator: Any, data: Training, m: int, rng: np.random.Generator) -> Chosen:
    """Chosen by the client from all rows."""
    X, y, weights = every_row(data)
    used = np.flatnonzero(weights > 0)
    kernel = kernel_from(estimator, data, X[used], weights[used], complete=True)
    if not isinstance(estimator.landmarks, str):
        found = choose_landmarks(kernel, X, m, estimator.landmarks, weights, rng)
        return Chosen(kernel, found, X, found.indices)
    rows = canonical_rows(X, row_keys(y), weights)
    at = rows.representative
    found = choose_landmarks(kernel, X[at], m, estimator.landmarks, rows.weight, rng)
    indices = None if found.indices is None else at[found.indices]
    return Chosen(kernel, Landmarks(found.points, indices), X[at], found.indices)


def _sampled(data: Training, m: int, rng: np.random.Generator) -> tuple[Points, Array, Array]:
    """Distinct rows to choose from, in the order in which one computer would have them; their weights and positions."""
    most = sample_size(m)
    if sum(one.used for one in data.summaries) > max(MERGE_MAX_ROWS, most):
        positions = drawn(data, most, rng)
        return rows_at(data, positions)[0], np.ones(most), positions
    starts = np.cumsum([0, *(one.n for one in data.summaries)])[:-1]
    parts = data.each(_hashes)
    positions = np.concatenate([start + part[0] for start, part in zip(starts, parts, strict=True)]).astype(np.int64)
    key, weights = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    first, member = np.unique(key, return_index=True, return_inverse=True)[1:]
    share = np.bincount(member, weights=weights)
    if len(first) > most:
        kept = np.sort(rng.choice(len(first), most, replace=False, shuffle=False))
        first, share = first[kept], share[kept]
    return rows_at(data, positions[first])[0], share, positions[first]


def _scaled(kernel: Kernel, moments: Moments, d: int) -> Kernel:
    """The kernel with gamma = "scale" made a number by all rows; the rules of other parameters use the sample."""
    if getattr(kernel, "gamma", None) != "scale" or not moments.variance > 0:
        return kernel
    return kernel.__class__(**{**kernel.get_params(deep=False), "gamma": 1.0 / (d * moments.variance)})


def _given(landmarks: Any, kernel: Kernel, data: Training, X: Points) -> Landmarks:
    """The user's landmarks, as points or as positions in X."""
    flat = np.asarray(landmarks) if not sp.issparse(landmarks) and not hasattr(landmarks, "columns") else np.empty(0)
    if flat.ndim == 1 and len(flat) and flat.dtype.kind in "iub":
        at = choose_landmarks(Precomputed(), sp.csr_matrix((data.n, 1)), 1, flat).points  # as positions
        return Landmarks(rows_at(data, at)[0], at)
    return choose_landmarks(kernel, X, 1, landmarks)


# ---- a precomputed matrix


def _columns(estimator: Any, data: Training, m: int, rng: np.random.Generator) -> ChosenColumns:
    """Landmarks of a precomputed matrix, of which only a few entries are fetched."""
    n, kernel, method = data.n, estimator._kernel(), estimator.landmarks
    if data.width != n:
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {n}x{data.width} matrix: give k(X, X) of the "
            "training points, in chunks of rows."
        )
    weights = np.concatenate(data.each(_weights))
    K = sp.csr_matrix((n, n))  # for methods that use its shape only
    if isinstance(method, str) and method in ("leverage", "rpcholesky"):
        if 8.0 * n**2 > FETCH_MAX_BYTES:
            raise ValueError(
                f"landmarks={method!r} needs all of the precomputed matrix, which has {8e-9 * n**2:.1f} GB: use "
                "'uniform', or give indices."
            )
        K = every_row(data)[0]
    at = choose_landmarks(kernel, K, m, method, weights, rng).points
    others = np.setdiff1d(np.arange(n), at)
    others_drawn = draw_rows(others, ERROR_ROWS, rng)
    entries = _dense(rows_at(data, np.concatenate((at, others_drawn)), np.concatenate((at, others_drawn)))[0])
    K_mm = entries[: len(at), : len(at)]
    apart, size = np.abs(K_mm - K_mm.T).max(), np.abs(K_mm).max()
    if apart > MAX_ASYMMETRY * size:
        raise ValueError(
            f"The precomputed kernel matrix is not symmetric: entries differ by up to {apart:.3g} from their mirror "
            "image. Give k(X, X), or (K + K.T) / 2 if the difference is noise."
        )
    rest = entries[len(at) :]
    return ChosenColumns(kernel, OwnMatrix(at, at, K_mm), rest[:, len(at) :], None, rest[:, : len(at)], len(others))


def _dense(X: Points) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def find_size(estimator: Any, data: Training, problem: Problem, rng: np.random.Generator, control: Control) -> Search:
    """The number of landmarks that an estimator of :mod:`maxmargin.large_scale.dask` should have; its ``kernel_`` is
    set on the way."""
    precomputed = estimator._is_precomputed()
    X, y, weights = _sample(data, rng, precomputed)
    fetched = X.shape[0]
    counting = np.zeros(fetched, bool)
    counting[problem.task.targets(y, weights)[0]] = True
    weights = np.where(counting, weights, 0.0)
    complete = fetched == data.n
    if not complete:
        weights *= sum(one.weight for one in data.summaries) / weights.sum()
    estimator.kernel_ = kernel_from(estimator, data, X[counting], weights[counting], complete=complete)
    rows = rows_of(X, row_keys(y), weights, merge=not precomputed)
    with single_threaded_blas():
        found: Search = estimator._search(X, y, rows, problem, rng, control)
    return found if complete else replace(found, ended=f"{found.ended}; tried on {fetched:,} of {data.n:,} rows")


def _sample(data: Training, rng: np.random.Generator, precomputed: bool) -> Fetched:
    """All rows, if the client can hold them, else some; of a precomputed matrix, their columns."""
    size = sum(one.size for one in data.summaries)
    most = math.isqrt(FETCH_MAX_BYTES // 8) if precomputed else FETCH_MAX_BYTES * data.n // max(1, size)
    most = min(most, SEARCH_MAX_ROWS)
    if data.n <= most:
        return every_row(data)
    at = drawn(data, min(most, sum(one.used for one in data.summaries)), rng)
    return rows_at(data, at, at if precomputed else None)
