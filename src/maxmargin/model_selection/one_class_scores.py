"""Scores of a region, mostly without labels of outliers.

A good region holds most of the data and little else. With s(x) the score of a point, higher further inside,

    M(u) = share of the rows left out with s(x) >= u          mass
    V(u) = share of the reference points with s(x) >= u       volume
    MV(m) = V of the highest level u that has M(u) >= m       the mass-volume curve

and ``"mass_volume"`` is minus the mean of MV(m) over 0.9 <= m <= 0.999 (Clemencon & Jakubowicz 2013; Goix 2016): 0 is
perfect, -1 useless. A model that overfits gives rows left out the scores of empty space, so that a level low
enough for them holds much of it; one that underfits draws its levels wider than the data.

Reference points are uniform in the bounding box of X if it has few columns. With many, nearly all of a box is far from
every row and V is zero for every model; there they are

    x_i + t (x_j - x_k),    t uniform in (0, 2),  i, j, k random rows:

rows moved by differences of rows, near and far, which any number of columns leaves comparable. They are drawn once, so
all models of a search are measured with the same points.

``"rejection"`` is minus | share of the rows left out that are rejected - nu |: whether nu means outside the training
rows what it means inside. It needs no points, but does not measure volumes, and so prefers regions that are too large.

Where labels are known, the mean of two shares is the plainest score: of the inliers that are inside the region, and of
the outliers that are outside. A split that has only one of them is no judge of that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from maxmargin.runtime.validation import Array, Points

BOX_MAX_COLUMNS = 8  # columns up to which the box is sampled
REFERENCE_POINTS = 4096  # reference points
MAX_SHIFT = 2.0  # largest t
REGION_MASSES = np.linspace(0.9, 0.999, 100)


def reference_points(X: Points, weight: Array, random_state: Any = None) -> Points:
    """Points that stand for the space around the rows of X; rows are drawn by their weights."""
    rng = check_random_state(0 if random_state is None else random_state)
    known = weight > 0
    X, weight = X[known], weight[known]
    d = X.shape[1]
    if d <= BOX_MAX_COLUMNS:
        dense = X.toarray() if sp.issparse(X) else X
        low, high = dense.min(axis=0).astype(np.float64), dense.max(axis=0).astype(np.float64)
        points = low + (high - low) * rng.random_sample((REFERENCE_POINTS, d))
        return sp.csr_matrix(points) if sp.issparse(X) else points
    i, j, k = rng.choice(X.shape[0], (3, REFERENCE_POINTS), p=weight / weight.sum())
    t = MAX_SHIFT * rng.random_sample((REFERENCE_POINTS, 1))
    if sp.issparse(X):
        moved = sp.csr_matrix(X[i]) + (sp.csr_matrix(X[j]) - sp.csr_matrix(X[k])).multiply(t)
        moved = sp.csr_matrix(moved)
        moved.sum_duplicates()
        return moved
    return X[i] + t * (X[j].astype(np.float64) - X[k])


def volume(scores: Array, weight: Array, reference: Array) -> float:
    """The mean of MV(m), from the scores of the rows left out, their weights, and the scores of reference points."""
    order = np.argsort(-scores, kind="stable")
    mass = np.cumsum(weight[order]) / weight.sum()
    at = np.searchsorted(mass, REGION_MASSES - 1e-12).clip(max=len(order) - 1)
    below = np.searchsorted(np.sort(reference), scores[order[at]], side="left")
    return float(1.0 - np.mean(below) / len(reference))


class MassVolume:
    """The scorer ``"mass_volume"``, with its reference points."""

    def __init__(self, reference: Points) -> None:
        self.reference = reference

    def __repr__(self) -> str:
        return "mass_volume"

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        scores = estimator.decision_function(X)
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return -volume(scores, weight, estimator._decision(self.reference)[:, 0])


class Rejection:
    """The scorer ``"rejection"``."""

    def __repr__(self) -> str:
        return "rejection"

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        rejected = estimator.predict(X) < 0
        return -abs(float(np.average(rejected, weights=sample_weight)) - float(estimator.nu))


class BothSides:
    """The balanced accuracy, of samples on both sides."""

    def __repr__(self) -> str:
        return "balanced_accuracy"

    def __call__(self, estimator: Any, X: Any, y: Array, sample_weight: Any = None) -> float:
        right = estimator.predict(X) == y
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        shares = []
        for side, name in ((1, "inlier"), (-1, "outlier")):
            if not weight[y == side].any():
                raise ValueError(f"there is no {name} among the samples left out: use stratified folds, or fewer")
            shares.append(np.average(right[y == side], weights=weight[y == side]))
        return float(np.mean(shares))
