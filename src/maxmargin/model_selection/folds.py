"""Folds as weights of the same rows.

Equal rows of equal target are one row of the kernel matrix, wherever they stand in the data. A fold gives each row the
weight of its copies in the training part, zero where there is none; so a weight of two equals a repetition, and no fold
needs a matrix of its own. Samples of weight zero take no part: neither in training nor in scores.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from maxmargin.runtime.canonical_rows import CanonicalRows
from maxmargin.runtime.validation import Array, shown, warn


@dataclass(frozen=True)
class Fold:
    """One split."""

    weight: Array  # of each canonical row in the training part
    test: Array  # the samples left out that have a weight
    place: Array  # their canonical rows
    # points, target: X and y of ``test``, for the scorer; y may be None
    points: Any
    target: Any
    sample_weight: Array | None  # their weights, if the user gave any


def check_groups(groups: Any, n_samples: int) -> Any:
    """Groups, one per sample."""
    if groups is None:
        return None
    if not hasattr(groups, "__len__") or len(groups) != n_samples:
        given = f"{len(groups)} entries" if hasattr(groups, "__len__") else repr(groups)
        raise ValueError(f"groups has {given}, and X has {n_samples} samples: give one group for each sample.")
    groups = np.asarray(groups)
    if groups.ndim != 1:
        raise ValueError(f"groups must have one entry for each sample; got an array of shape {groups.shape}.")
    return groups


def splits_of(cv: Any, X: Any, y: Any, groups: Any, *, classifier: bool) -> list[tuple[Array, Array]]:
    """The (training, test) samples of every split, as scikit-learn's splitters make them."""
    if isinstance(cv, (bool, numbers.Integral)) and (isinstance(cv, bool) or cv < 2):
        raise ValueError(
            f"cv must be at least 2 folds, a splitter or a list of (train, test) pairs; got cv={shown(cv)}."
        )
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        cv = list(cv)  # a generator can be read only once
        if not cv:
            raise ValueError("cv is an empty list of splits: give at least one (train, test) pair.")
        for k, split in enumerate(cv):
            if not isinstance(split, Sized) or isinstance(split, str) or len(split) != 2:
                raise ValueError(f"Split {k} of cv must be a pair (train, test) of sample numbers; got {split!r}.")
    splitter = check_cv(cv, y, classifier=classifier)
    try:
        splits = [
            (_samples(train, k, "training", X.shape[0]), _samples(test, k, "test", X.shape[0]))
            for k, (train, test) in enumerate(splitter.split(X, y, groups))
        ]
    except ValueError as error:
        if "n_splits=" not in str(error):
            raise
        raise ValueError(f"{str(error).rstrip('.')}: lower cv, or give more samples.") from None
    if not splits:
        raise ValueError(f"cv={cv!r} makes no splits.")
    leaks = [(k, len(np.intersect1d(train, test))) for k, (train, test) in enumerate(splits)]
    k, count = max(leaks, key=lambda leak: leak[1])
    if count:
        warn(
            f"{count} of the test samples of split {k} are training samples of it too: scores of samples that a "
            "model has learnt from say little about new ones."
        )
    return splits


def _samples(part: Any, k: int, name: str, n: int) -> Array:
    """The samples of a part of a split, as numbers from 0 on."""
    part = np.asarray(part)
    if part.size == 0:
        return np.empty(0, np.int64)
    if part.dtype == bool and part.shape == (n,):
        return np.flatnonzero(part)
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise ValueError(
            f"The {name} samples of split {k} of cv must be a list of sample numbers, or a mask of {n}; got an array "
            f"of {part.dtype} of shape {part.shape}."
        )
    if part.min() < -n or part.max() >= n:
        raise ValueError(f"Split {k} of cv names a {name} sample that X, with {n} samples, does not have.")
    return np.where(part < 0, part + n, part)


def make_folds(
    splits: list[tuple[Array, Array]],
    rows: CanonicalRows,
    weights: Array,
    learnt: Array,
    X: Any,
    y: Any,
    weighted: bool,
) -> list[Fold]:
    """The folds of these splits; ``learnt`` are the weights in training, zero for samples that are only scored."""
    folds = []
    for train, test in splits:
        train, test = train[weights[train] > 0], test[weights[test] > 0]
        weight = np.bincount(rows.member_of[train], weights=learnt[train], minlength=len(rows.weight))
        folds.append(
            Fold(
                weight,
                test,
                rows.member_of[test],
                _safe_indexing(X, test),
                None if y is None else _safe_indexing(y, test),
                weights[test] if weighted else None,
            )
        )
    return folds
