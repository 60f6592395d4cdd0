"""Landmarks, as points or as rows of X, chosen or given by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.runtime.validation import Array, Points, as_objects, check_points, shown

METHODS = ("uniform", "kmeans", "leverage", "rpcholesky")  # see ``choosing.py``


@dataclass(frozen=True)
class Landmarks:
    """The points that stand for all."""

    # ndarray or CSR matrix of shape (m, d), or array of m objects; the landmarks; for a precomputed kernel, their
    # indices
    points: Points
    indices: Array | None  # (m,) or None; which rows of X they are; None where they are none

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def values(self, kernel: Kernel, X: Points) -> Array:
        """k(x_i, z_j) for the rows of X and all landmarks, float64; for a precomputed kernel X is K(X, training)."""
        if not isinstance(kernel, Precomputed):
            return kernel.matrix(X, self.points)
        K = X[:, self.points]
        return np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)

    def matrix(self, kernel: Kernel, X: Points) -> Array:
        """K_mm; X are the training points, which a precomputed kernel needs, being their matrix."""
        if isinstance(kernel, Precomputed):
            return self.values(kernel, X[self.points])
        K = kernel.matrix(self.points, self.points)
        np.fill_diagonal(K, kernel.self_similarity(self.points))  # without the rounding of distances
        return K


def generator_of(random_state: Any) -> np.random.Generator:
    """Random numbers from scikit-learn's ``random_state``: None, an integer, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        seed = check_random_state(random_state).randint(2**31 - 1)
    except ValueError as error:
        raise ValueError(
            f"random_state must be None, an integer, a RandomState or a Generator; got {shown(random_state)}."
        ) from error
    return np.random.default_rng(seed)


def check_landmark_columns(estimator: Any) -> None:
    """Landmarks in a table have the columns of the training table."""
    columns, own = getattr(estimator.landmarks, "columns", None), getattr(estimator, "feature_names_in_", None)
    if columns is not None and own is not None and list(columns) != list(own):
        raise ValueError(f"the columns of landmarks and X differ: {list(columns)} and {list(own)}.")


def landmarks_at(kernel: Kernel, X: Points, indices: Array) -> Landmarks:
    """Rows of X as landmarks."""
    return Landmarks(indices if isinstance(kernel, Precomputed) else X[indices], indices)


def given_landmarks(kernel: Kernel, X: Points, landmarks: Any) -> Landmarks:
    """Landmarks given by the user."""
    n = X.shape[0]
    try:
        flat = np.empty((0, 1)) if sp.issparse(landmarks) or hasattr(landmarks, "columns") else np.asarray(landmarks)
    except ValueError as error:
        raise ValueError(f"landmarks has rows of different lengths: {error}") from error
    if flat.ndim == 1 and flat.dtype.kind in "iub":
        if flat.dtype.kind == "b":
            if len(flat) != n:
                raise ValueError(f"landmarks is a mask of {len(flat)} rows, and X has {n}: give one entry per row.")
            flat = np.flatnonzero(flat)
        if len(flat) == 0:
            raise ValueError("landmarks is empty: give at least one point or index.")
        if flat.min() < -n or flat.max() >= n:
            raise ValueError(f"landmarks names row {flat[(flat < -n) | (flat >= n)][0]}, and X has {n} rows.")
        return landmarks_at(kernel, X, np.where(flat < 0, flat + n, flat).astype(np.int64))
    if isinstance(kernel, Precomputed):
        raise ValueError(f"With a precomputed kernel, landmarks are indices of rows of K; got {landmarks!r}.")
    if flat.ndim == 0 or (flat.ndim == 1 and flat.dtype.kind in "fc"):
        raise ValueError(
            f"landmarks must be one of {', '.join(map(repr, METHODS))}, points of shape (m, {X.shape[-1]}), or "
            f"integers that are indices of rows; got {landmarks!r}."
        )
    objects = as_objects(landmarks)
    if (objects is None) != (X.dtype != object):
        raise ValueError(
            "landmarks and X differ in kind: one has vectors, the other has objects such as strings or sets."
        )
    points = check_points(landmarks, "landmarks") if objects is None else objects
    if points.ndim == 2 and points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks has {points.shape[1]} columns and X has {X.shape[1]}: give points of the same features."
        )
    kernel.check_points(points)
    return Landmarks(points, None)
