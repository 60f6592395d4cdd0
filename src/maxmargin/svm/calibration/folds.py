"""The folds of calibration: which rows are held out together, and which of them are evaluated.

A row is evaluated by a model that was trained without it. To limit the number of such models, the evaluated rows are
divided into five stratified folds. All other rows are in every model.

The number of evaluated rows: a map with p parameters fitted to m rows has a log-loss about p / (2 m) above the best
one. Compared with the log-loss of the model itself, to which rows far outside the margin add next to nothing, that is
small if there are enough rows inside the margin, that is, support vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array

N_FOLDS = 5
FOLD_TOL = 0.1  # violation of a fold's model, in units of the margin: the values' scatter between folds is larger
MIN_SUPPORT_VECTORS = {
    "sigmoid": 750,
    "temperature": 750,
    "isotonic": 6000,
}  # support vectors among the rows that are evaluated
MIN_ROWS = {"sigmoid": 4000, "temperature": 4000, "isotonic": 8000}  # rows that are evaluated, if there are so many
PAIR_MAX_ROWS = 4000  # rows of a class that are evaluated where each pair of classes has a map
SMALL_CLASS_MAX_ROWS = 100  # a class of so few rows is evaluated by all of them


@dataclass(frozen=True)
class Folds:
    """Who is evaluated by whom."""

    of_row: Array  # int: the fold of each row; -1 for rows that are in every model
    # what a row's weight is multiplied by: of a large class only some rows are evaluated, and stand for the others,
    # which have the factor 0
    factor: Array
    count: int  # the number of folds
    alone: Array  # int: classes of a single row. It cannot be left out, for its class would vanish
    few: Array  # int: classes of fewer rows than folds


def quotas(method: str, codes: Array, n_classes: int, n_support: float) -> Array:
    """Rows of each class to evaluate for a map of all classes, if ``n_support`` rows are support vectors."""
    n, sizes = len(codes), np.bincount(codes, minlength=n_classes)
    part = min(1.0, max(MIN_ROWS[method], MIN_SUPPORT_VECTORS[method] * n / max(1.0, n_support)) / max(1, n))
    return np.ceil(part * sizes).astype(int)


def stratified_folds(codes: Array, n_classes: int, count: int = N_FOLDS, quota: Array | int | None = None) -> Folds:
    """Deal rows of each class to the folds in turn, in an order that is drawn once and for all.

    codes: the class of each row
    count: the number of folds
    quota: (n_classes,); the rows of a class that are evaluated, at most; None for all
    """
    of_row, factor = np.full(len(codes), -1), np.ones(len(codes))
    order = np.random.RandomState(0).permutation(len(codes))
    sizes = np.bincount(codes, minlength=n_classes)
    most = sizes if quota is None else np.minimum(sizes, np.maximum(quota, SMALL_CLASS_MAX_ROWS))
    dealt = 0
    for k in np.flatnonzero(sizes > 1):
        mine, size = order[codes[order] == k], int(most[k])
        of_row[mine[:size]] = (dealt + np.arange(size)) % count
        factor[mine[:size]], factor[mine[size:]] = len(mine) / size, 0.0
        dealt += size
    return Folds(of_row, factor, count, np.flatnonzero(sizes == 1), np.flatnonzero((sizes > 1) & (sizes < count)))


def held_out_and_rest(folds: Array, values: Array, control: Control) -> Iterator[tuple[Array, Array]]:
    """The rows of each fold and the others; once the fit is stopped, the fold's ``values`` are NaN instead."""
    for k in range(int(folds.max(initial=-1)) + 1):
        held = np.flatnonzero(folds == k)
        if control.stop() is not None:
            values[held] = np.nan
        elif len(held):
            yield held, np.flatnonzero(folds != k)
