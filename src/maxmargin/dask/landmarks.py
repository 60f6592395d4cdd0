"""Kernel and landmarks for rows on many computers: those that one computer with all rows would choose.

The client needs few rows for that (:mod:`maxmargin.approximation.landmarks`), and asks for as few:

    small data           all rows
    up to MERGED rows    a hash of each row's content, by which equal rows are found and the others put in order; then
                         the max(ROWS, 4 m) rows that are drawn from that order
    more                 rows at positions drawn at random, as many

gamma = "scale" and the means that distances are taken from are those of all rows, from sums over the partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._kernel_input import kernel_of, resolved
from maxmargin._rows import canonical_rows, row_hashes
from maxmargin._validation import Array, Points
from maxmargin.approximation.landmarks import MERGED, ROWS, Landmarks, choose_landmarks
from maxmargin.approximation.training import SMALL
from maxmargin.dask.partitions import Partition
from maxmargin.dask.training import Moments, Training
from maxmargin.kernels import Kernel, Precomputed


@dataclass(frozen=True)
class Chosen:
    """What the client chose.

    Attributes
    ----------
    kernel : Kernel
        Resolved.
    landmarks : Landmarks
        Their indices are positions in X.
    sample : array or CSR matrix
        The rows that were looked at.
    """

    kernel: Kernel
    landmarks: Landmarks
    sample: Points


# ---- on a worker


def _rows_at(part: Partition, at: Array | None) -> tuple[Points, Array, Array]:
    at = np.arange(part.n) if at is None else at
    return part.X[at], part.y[at], part.weights[at]


def _positive(part: Partition) -> Array:
    return np.flatnonzero(part.weights > 0)


def _hashes(part: Partition) -> tuple[Array, Array, Array]:
    """The places, hashes and weights of the rows that have weight."""
    at = _positive(part)
    return at, row_hashes(part.X[at]), part.weights[at]


def _nth_positive(part: Partition, places: Array) -> Array:
    """Positions among all rows from those among the rows that have weight."""
    return _positive(part)[places] if len(places) else np.empty(0, np.int64)


# ---- on the client


def _stacked(parts: list[Points]) -> Points:
    parts = [part for part in parts if part.shape[0]]
    if any(sp.issparse(part) for part in parts):
        return sp.csr_matrix(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _fetched(data: Training, at: Array) -> Points:
    """The rows of X at these positions, in this order."""
    order = np.argsort(at, kind="stable")
    ends = np.cumsum([one.n for one in data.summaries])
    starts = ends - [one.n for one in data.summaries]
    owner = np.searchsorted(ends, at[order], side="right")
    wanted = [at[order][owner == p] - starts[p] for p in range(len(ends))]
    X = _stacked([rows for rows, _, _ in data.each(_rows_at, wanted)])
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return X[back]


def choose(estimator: Any, data: Training, m: int, rng: np.random.Generator) -> Chosen:
    """The kernel of an estimator and its landmarks."""
    spec = estimator.kernel
    kernel = kernel_of(spec, gamma=estimator.gamma, degree=estimator.degree, coef0=estimator.coef0)
    if isinstance(kernel, Precomputed):
        raise ValueError("kernel='precomputed' is not supported on dask: give the kernel by its name, or as an object.")
    names = getattr(estimator, "feature_names_in_", None)
    if data.n * data.width <= SMALL:
        return _from_all(estimator, kernel, data, m, rng, names)
    moments = Moments.of(data.summaries)
    X, weights, places = _sampled(data, m, rng)
    kernel = resolved(_scaled(kernel, moments, data.width), spec, X, weights, names)
    if getattr(kernel, "shift_", None) is not None:
        kernel.shift_ = moments.mean
    if isinstance(estimator.landmarks, str):
        found = choose_landmarks(kernel, X, m, estimator.landmarks, weights, rng)
        indices = None if found.indices is None else places[found.indices]
        return Chosen(kernel, Landmarks(found.points, indices), X)
    return Chosen(kernel, _given(estimator.landmarks, kernel, data, X), X)


def _from_all(estimator: Any, kernel: Kernel, data: Training, m: int, rng: np.random.Generator, names: Any) -> Chosen:
    """As one computer does it, on all rows."""
    parts = data.each(_rows_at, [None] * len(data.parts))
    X = _stacked([part[0] for part in parts])
    kept = [part for part in parts if part[0].shape[0]]
    y, weights = (np.concatenate([part[i] for part in kept]) for i in (1, 2))
    used = np.flatnonzero(weights > 0)
    kernel = resolved(kernel, estimator.kernel, X[used], weights[used], names)
    if not isinstance(estimator.landmarks, str):
        return Chosen(kernel, choose_landmarks(kernel, X, m, estimator.landmarks, weights, rng), X)
    target = np.unique(y, axis=0 if y.ndim > 1 else None, return_inverse=True)[1].ravel()
    rows = canonical_rows(X, target, weights)
    at = rows.representative
    found = choose_landmarks(kernel, X[at], m, estimator.landmarks, rows.weight, rng)
    return Chosen(kernel, Landmarks(found.points, None if found.indices is None else at[found.indices]), X)


def _sampled(data: Training, m: int, rng: np.random.Generator) -> tuple[Points, Array, Array]:
    """Distinct rows to choose from, in the order in which one computer would have them; their weights and positions."""
    most, used = max(ROWS, 4 * m), sum(one.used for one in data.summaries)
    starts = np.cumsum([0, *(one.n for one in data.summaries)])[:-1]
    if used > max(MERGED, most):
        ends = np.cumsum([one.used for one in data.summaries])
        drawn = np.sort(rng.choice(used, most, replace=False, shuffle=False))
        owner = np.searchsorted(ends, drawn, side="right")
        wanted = [drawn[owner == p] - (ends[p] - one.used) for p, one in enumerate(data.summaries)]
        found = data.each(_nth_positive, wanted)
        places = np.concatenate([start + at for start, at in zip(starts, found, strict=True)]).astype(np.int64)
        return _fetched(data, places), np.ones(most), places
    parts = data.each(_hashes)
    places = np.concatenate([start + part[0] for start, part in zip(starts, parts, strict=True)]).astype(np.int64)
    key, weights = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    first, member = np.unique(key, return_index=True, return_inverse=True)[1:]
    share = np.bincount(member, weights=weights)
    if len(first) > most:
        kept = np.sort(rng.choice(len(first), most, replace=False, shuffle=False))
        first, share = first[kept], share[kept]
    return _fetched(data, places[first]), share, places[first]


def _scaled(kernel: Kernel, moments: Moments, d: int) -> Kernel:
    """The kernel with gamma = "scale" made a number by all rows; the rules of other parameters look at the sample."""
    if getattr(kernel, "gamma", None) != "scale" or not moments.variance > 0:
        return kernel
    return kernel.__class__(**{**kernel.get_params(deep=False), "gamma": 1.0 / (d * moments.variance)})


def _given(landmarks: Any, kernel: Kernel, data: Training, X: Points) -> Landmarks:
    """The user's landmarks, as points or as positions in X."""
    flat = np.asarray(landmarks) if not sp.issparse(landmarks) and not hasattr(landmarks, "columns") else np.empty(0)
    if flat.ndim == 1 and len(flat) and flat.dtype.kind in "iub":
        flat = np.flatnonzero(flat) if flat.dtype.kind == "b" else flat
        if flat.min() < -data.n or flat.max() >= data.n:
            raise ValueError(
                f"landmarks names row {flat[(flat < -data.n) | (flat >= data.n)][0]}, X has {data.n} rows."
            )
        at = np.where(flat < 0, flat + data.n, flat).astype(np.int64)
        return Landmarks(_fetched(data, at), at)
    return choose_landmarks(kernel, X, 1, landmarks)
