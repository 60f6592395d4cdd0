"""The data of the benchmarks: where a set comes from and how it is prepared, one line a set.

A set is an ``.npz`` archive in a folder that the user names (sparse matrices as ``X_data, X_indices, X_indptr,
X_shape``), a set that scikit-learn ships, or generated. Every library gets the same arrays of the same dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

Arrays = dict[str, Any]

COLUMN_COUNTS = (2, 10, 50, 200, 1000, 5000)  # of generated sets
CLASS_COUNTS = (2, 5, 10, 30, 100)


class MissingDataError(Exception):
    """A set is not in the data folder."""


@dataclass(frozen=True)
class Data:
    """Training rows and test rows with their targets (None where no test rows were asked for)."""

    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None

    @property
    def shape(self) -> str:
        return f"{self.X.shape[0]:,} x {self.X.shape[1]:,}{' sparse' if sp.issparse(self.X) else ''}"

    def sample(self, rows: int, seed: int = 0) -> Data:
        """At most ``rows`` rows picked at random, in their order."""
        n = self.X.shape[0]
        if rows >= n:
            return self
        at = np.sort(np.random.RandomState(seed).permutation(n)[:rows])
        test = [None if part is None else part[:rows] for part in (self.X_test, self.y_test)]
        return Data(self.X[at], self.y[at], *test)


def read_npz(folder: Path, name: str) -> Arrays:
    """The arrays of one archive, sparse ones as CSR."""
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        raise MissingDataError(f"{name}: there is no {path}")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    for stem in [key.removesuffix("_indptr") for key in arrays if key.endswith("_indptr")]:
        values, indices, indptr, shape = (
            arrays.pop(f"{stem}_{part}") for part in ("data", "indices", "indptr", "shape")
        )
        arrays[stem] = sp.csr_matrix((values, indices, indptr), shape=tuple(shape))
    return arrays


def bundled(load: Callable[..., Any]) -> Callable[[], Arrays]:
    """A set that scikit-learn ships."""
    return lambda: dict(zip("Xy", load(return_X_y=True), strict=True))


def random_points() -> Arrays:
    """200 points of two overlapping classes."""
    X, y = datasets.make_classification(200, 10, n_informative=5, flip_y=0.05, random_state=0)
    return {"X": X, "y": y}


def overlapping(rows: int, columns: int, classes: int) -> Callable[[], Arrays]:
    """Gaussian classes around random centres, whose distances grow with the number of classes, not of columns."""

    def generate() -> Arrays:
        rng = np.random.default_rng(0)
        y = rng.integers(0, classes, rows)
        centres = rng.standard_normal((classes, columns)) * math.sqrt(2 * math.log(2 * classes) / columns)
        return {"X": (centres[y] + rng.standard_normal((rows, columns)) / math.sqrt(columns)), "y": y}

    return generate


def tf_idf(arrays: Arrays) -> Arrays:
    """All topics, as tf-idf."""
    X = TfidfTransformer(sublinear_tf=True).fit_transform(arrays["X_train"].astype(np.float64))
    return {"X": X, "y": arrays["y_train"]}


def two_topics(arrays: Arrays) -> Arrays:
    """rec.autos against rec.motorcycles, as tf-idf."""
    X, y = arrays["X_train"], arrays["y_train"]
    keep = np.flatnonzero((y == 7) | (y == 8))
    return {"X": TfidfTransformer(sublinear_tf=True).fit_transform(X[keep].astype(np.float64)), "y": y[keep]}


@dataclass(frozen=True)
class Recipe:
    """Where a set comes from, and what is done to it, in this order: pick, shuffle, cut, scale."""

    source: str | Callable[[], Arrays]
    pick: Callable[[Arrays], Arrays] | None = None
    shuffle: bool = False  # RandomState(0).permutation, for files in an order that means something
    dense: bool = False
    divide: float = 1.0
    standardise: bool = False  # columns to mean 0 and variance 1, over the rows that are used
    standardise_y: bool = False


RECIPES: dict[str, Recipe] = {
    "magic": Recipe("magic", standardise=True),
    "magic shuffled": Recipe("magic", shuffle=True, standardise=True),
    "a9a": Recipe("a9a", dense=True),
    "ijcnn1": Recipe("ijcnn1", dense=True),
    "covtype": Recipe("covtype", shuffle=True, standardise=True),
    "mnist": Recipe("mnist", divide=255.0),
    "cadata": Recipe("cadata", standardise=True, standardise_y=True),
    "mammography": Recipe("oneclass/mammography", standardise=True),
    "letter": Recipe("letter"),
    "pendigits": Recipe("pendigits", divide=100.0),
    "madelon": Recipe("madelon", standardise=True),
    "sector": Recipe("sector"),
    "satimage": Recipe("satimage", standardise=True),
    "shuttle": Recipe("shuttle", standardise=True),
    "spambase": Recipe("spambase", standardise=True),
    "mushrooms": Recipe("mushrooms"),
    "usps": Recipe("usps"),
    "cpusmall": Recipe("cpusmall", standardise=True, standardise_y=True),
    "kin40k": Recipe("kin40k", standardise=True, standardise_y=True),
    "news20": Recipe("news20_bydate", pick=tf_idf),
    "news20 two topics": Recipe("news20_bydate", pick=two_topics),
    "digits": Recipe(bundled(datasets.load_digits)),
    "iris": Recipe(bundled(datasets.load_iris)),
    "breast cancer": Recipe(bundled(datasets.load_breast_cancer)),
    "breast cancer standardised": Recipe(bundled(datasets.load_breast_cancer), standardise=True),
    "200 random points": Recipe(random_points),
    **{f"{d:,} columns": Recipe(overlapping(4000, d, 2)) for d in COLUMN_COUNTS},
    **{f"{k} classes": Recipe(overlapping(5000, 20, k)) for k in CLASS_COUNTS},
}


def load(
    name: str, folder: Path, *, rows: int | None = None, test_rows: int = 0, dtype: Any = np.float64, most: int = 0
) -> Data:
    """The set ``name`` as every library gets it: its first ``rows`` rows, the first ``test_rows`` of its test part.

    ``most`` > 0 then leaves at most so many rows of each, picked at random, for a quick trial.
    """
    recipe = RECIPES[name]
    arrays = read_npz(folder, recipe.source) if isinstance(recipe.source, str) else recipe.source()
    if recipe.pick is not None:
        arrays = recipe.pick(arrays)
    X, y = (arrays["X_train"], arrays["y_train"]) if "X_train" in arrays else (arrays["X"], arrays["y"])
    if recipe.shuffle:
        order = np.random.RandomState(0).permutation(X.shape[0])[:rows]
        X, y = X[order], y[order]
    test = [arrays.get(part)[:test_rows] if test_rows else None for part in ("X_test", "y_test")]
    data = Data(X[:rows], y[:rows], *test)
    if most:
        data = data.sample(most)
    X, X_test = (None if part is None else _scaled(part, recipe) for part in (data.X, data.X_test))
    y = data.y
    if recipe.standardise:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), None if X_test is None else scaler.transform(X_test)
    if recipe.standardise_y:
        y = (y - y.mean(dtype=np.float64)) / y.std(dtype=np.float64)
    X_test = None if X_test is None else X_test.astype(dtype, copy=False)
    return Data(X.astype(dtype, copy=False), y, X_test, data.y_test)


def _scaled(X: Any, recipe: Recipe) -> Any:
    X = X.toarray() if recipe.dense and sp.issparse(X) else X
    return X.astype(np.float64) / recipe.divide
