"""The data of published tables, prepared as they were there, and generated sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import datasets

from ._data import RECIPES, Arrays, Recipe

COVTYPE_TRAIN = 464_809  # four fifths of the rows, as published
TORGO_ROWS = 40_768  # of fried and 2dplanes
HIGGS_COLUMNS = 28
GENERATED_AT_ONCE = 1_000_000  # rows


def globally_standardised(arrays: Arrays) -> Arrays:
    """Pixels minus their mean over all of them, divided by their standard deviation over all."""
    mean, std = arrays["X_train"].mean(dtype=np.float64), arrays["X_train"].std(dtype=np.float64)
    scaled = {part: (arrays[part].astype(np.float64) - mean) / std for part in ("X_train", "X_test")}
    return {**arrays, **scaled}


def odd_or_even(arrays: Arrays) -> Arrays:
    return {**arrays, "y_train": arrays["y_train"] % 2, "y_test": arrays["y_test"] % 2}


def unit_columns(arrays: Arrays) -> Arrays:
    """Columns from 0 to 1, rows shuffled, four fifths of them (or COVTYPE_TRAIN) for training."""
    X, y = arrays["X"].astype(np.float64), arrays["y"]
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    order = np.random.RandomState(0).permutation(len(X))
    cut = min(COVTYPE_TRAIN, (4 * len(X)) // 5)
    train, test = order[:cut], order[cut:]
    return {"X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}


def fried() -> Arrays:
    """Friedman's function of five of ten uniform columns, with noise of variance 1 (Friedman 1991)."""
    X, y = datasets.make_friedman1(TORGO_ROWS, 10, noise=1.0, random_state=0)
    return {"X": X, "y": y}


def two_planes() -> Arrays:
    """A plane in x2, x3, x4 where x1 = 1, another in x5, x6, x7 where x1 = -1 (Breiman et al. 1984)."""
    rng = np.random.RandomState(0)
    X = rng.randint(-1, 2, size=(TORGO_ROWS, 10)).astype(np.float64)
    X[:, 0] = rng.choice([-1.0, 1.0], TORGO_ROWS)
    up, down = 3 + X[:, 1:4] @ [3.0, 2.0, 1.0], -3 + X[:, 4:7] @ [3.0, 2.0, 1.0]
    return {"X": X, "y": np.where(X[:, 0] > 0, up, down) + rng.standard_normal(TORGO_ROWS)}


def wide_regression() -> Arrays:
    X, y = datasets.make_regression(20_000, 1000, n_informative=500, random_state=0)
    return {"X": X, "y": y}


def generated_batches(rows: int, first: int = 0) -> Iterator[tuple[Any, Any]]:
    """Rows of 28 columns in float32 from row ``first`` on, whose class depends on distances, a million at a time."""
    for start in range(first, first + rows, GENERATED_AT_ONCE):
        rng = np.random.default_rng(start)
        X = rng.standard_normal((min(GENERATED_AT_ONCE, first + rows - start), HIGGS_COLUMNS), dtype=np.float32)
        yield X, np.square(X[:, :7]).sum(axis=1) + rng.standard_normal(len(X)) > 7


def generated(rows: int) -> tuple[Any, Any]:
    """The same in memory, which it fills without a second copy."""
    X, y = np.empty((rows, HIGGS_COLUMNS), np.float32), np.empty(rows, np.int8)
    for t, (part, labels) in enumerate(generated_batches(rows)):
        at = slice(t * GENERATED_AT_ONCE, t * GENERATED_AT_ONCE + len(part))
        X[at], y[at] = part, labels
    return X, y


RECIPES.update(
    {
        "mnist globally standardised": Recipe("mnist", pick=globally_standardised),
        "mnist even against odd": Recipe("mnist", pick=odd_or_even, divide=255.0),
        "mnist pixels": Recipe("mnist"),
        "covtype unit": Recipe("covtype", pick=unit_columns),
        "a9a standardised": Recipe("a9a", dense=True, standardise=True),
        "ijcnn1 standardised": Recipe("ijcnn1", dense=True, shuffle=True, standardise=True),
        "fried": Recipe(fried, standardise=True),
        "2dplanes": Recipe(two_planes, standardise=True),
        "make_regression": Recipe(wide_regression, standardise=True),
        **{  # their files are sorted by class
            name: Recipe(name, shuffle=True, standardise=True) for name in ("skin", "connect4", "codrna")
        },
        **{name: Recipe(name, standardise=True) for name in ("gisette", "protein", "pol", "elevators", "http")},
    }
)
