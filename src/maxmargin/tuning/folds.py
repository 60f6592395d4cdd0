"""Folds as weights of the same rows.

Equal rows of equal target are one row of the kernel matrix, wherever they stand in the data. A fold gives each row the
weight of its copies in the training part, zero where there is none; so a weight of two equals a repetition, and no fold
needs a matrix of its own. Samples of weight zero take no part: neither in training nor in scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from maxmargin._rows import CanonicalRows
from maxmargin._validation import Array


@dataclass(frozen=True)
class Fold:
    """One split.

    Attributes
    ----------
    weight : array
        Of each canonical row in the training part.
    test : array
        The samples left out that have a weight.
    place : array
        Their canonical rows.
    points, target : as the user gave them
        X and y of ``test``, for the scorer.
    sample_weight : array or None
        Their weights, if the user gave any.
    """

    weight: Array
    test: Array
    place: Array
    points: Any
    target: Any
    sample_weight: Array | None


def check_groups(groups: Any, n_samples: int) -> Any:
    """Groups, one a sample."""
    if groups is None:
        return None
    if not hasattr(groups, "__len__") or len(groups) != n_samples:
        given = f"{len(groups)} entries" if hasattr(groups, "__len__") else repr(groups)
        raise ValueError(f"groups has {given}, and X has {n_samples} samples: give one group for each sample.")
    return np.asarray(groups)


def splits_of(cv: Any, X: Any, y: Any, groups: Any, *, classifier: bool) -> list[tuple[Array, Array]]:
    """The (training, test) samples of every split, as scikit-learn's splitters make them."""
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        cv = list(cv)  # a generator can be read only once
        if not cv:
            raise ValueError("cv is an empty list of splits: give at least one (train, test) pair.")
    splitter = check_cv(cv, y, classifier=classifier)
    splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    if not splits:
        raise ValueError(f"cv={cv!r} makes no splits.")
    n = len(y)
    indices = [tuple(np.flatnonzero(part) if part.dtype == bool else part for part in split) for split in splits]
    for k, parts in enumerate(indices):
        for name, part in zip(("training", "test"), parts, strict=True):
            if len(part) and (part.min() < -n or part.max() >= n):
                raise ValueError(f"Split {k} of cv names a {name} sample that X, with {n} samples, does not have.")
    return indices  # type: ignore[return-value]


def make_folds(
    splits: list[tuple[Array, Array]], rows: CanonicalRows, weights: Array, X: Any, y: Any, weighted: bool
) -> list[Fold]:
    """The folds of these splits."""
    folds = []
    for train, test in splits:
        train, test = train[weights[train] > 0], test[weights[test] > 0]
        weight = np.bincount(rows.member_of[train], weights=weights[train], minlength=len(rows.weight))
        folds.append(
            Fold(
                weight,
                test,
                rows.member_of[test],
                _safe_indexing(X, test),
                _safe_indexing(y, test),
                weights[test] if weighted else None,
            )
        )
    return folds
