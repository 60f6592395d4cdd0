"""Small fits: 50 to 5,000 rows, 2 to 100 classes, dense and sparse, beside scikit-learn and scikit-learn-intelex.

    python -m benchmarks.small                      # every case, worst ratios first
    python -m benchmarks.small --only iris text     # cases whose name contains one of these words
    python -m benchmarks.small --cold               # import and first fit in new processes, too

A case is fitted by every library in turn, in an order that is drawn anew each round, and so on for ``--rounds`` rounds;
the time of a library is the least over the rounds: on a machine with other load the least is what repeats. ``fit`` is a
warm fit, ``predict 1`` and ``predict n`` the time to predict one row and all training rows, ``cold`` the time from the
first import of a new process to the end of its first fit (see ``_cold.py``).
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets

from ._cold import first_fits
from ._libraries import TITLES, installed
from ._table import geometric_mean, markdown, ratio, seconds

SECONDS_PER_CASE = 2.0  # measuring a library on a case stops after this time, but not before three rounds
LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """A data set with its parameters."""

    name: str
    make: Callable[[], tuple[Any, Any]]
    parameters: dict[str, Any] = field(default_factory=dict)
    name_of_class: str = "SVC"


def scaled(load: Callable[..., Any]) -> Callable[[], tuple[Any, Any]]:
    """A data set of scikit-learn's, standardised."""

    def make() -> tuple[Any, Any]:
        X, y = load(return_X_y=True)
        deviation = X.std(axis=0)
        return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), y

    return make


def blobs(n: int, d: int, classes: int, apart: float = 1.0) -> Callable[[], tuple[Any, Any]]:
    """Normal clouds, one per class."""

    def make() -> tuple[Any, Any]:
        rng = np.random.default_rng(n + classes)
        y = np.arange(n) % classes
        return rng.normal(size=(n, d)) + apart * rng.normal(size=(classes, d))[y], y

    return make


def text(n: int, d: int, classes: int, words: int = 60) -> Callable[[], tuple[Any, Any]]:
    """Sparse rows of unit length, as tf-idf gives them: each class prefers some of the columns."""

    def make() -> tuple[Any, Any]:
        rng = np.random.default_rng(n + classes)
        y = np.arange(n) % classes
        common = rng.zipf(1.3, (n, words)) % d
        own = (y[:, None] * 97 + rng.zipf(1.6, (n, words // 3))) % d
        columns = np.concatenate((common, own), axis=1)
        X = sp.csr_matrix((np.ones(columns.size), (np.repeat(np.arange(n), columns.shape[1]), columns.ravel())), (n, d))
        X.sum_duplicates()
        X.data = 1.0 + np.log(X.data)
        return sp.csr_matrix(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1)))), y

    return make


def line(n: int, d: int) -> Callable[[], tuple[Any, Any]]:
    """A noisy linear function."""

    def make() -> tuple[Any, Any]:
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, d))
        return X, X @ rng.normal(size=d) / math.sqrt(d) + 0.3 * rng.normal(size=n)

    return make


BUNDLED = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": scaled(datasets.load_wine),
    "cancer": scaled(datasets.load_breast_cancer),
}
SIZES = {n: blobs(n, 10, 2, 0.5) for n in (50, 200, 1000)}

CASES = [
    *(Case(name, make) for name, make in BUNDLED.items()),
    *(Case(f"{name}, LinearSVC", make, {}, "LinearSVC") for name, make in BUNDLED.items()),
    *(Case(f"{n:,} rows, LinearSVC", make, {}, "LinearSVC") for n, make in SIZES.items()),
    *(Case(f"{n:,} rows, SVR", line(n, 10), {}, "SVR") for n in SIZES),
    Case("digits", lambda: datasets.load_digits(return_X_y=True), {"gamma": 0.001}),
    Case("50 rows, 2 classes", blobs(50, 10, 2)),
    Case("200 rows, 2 classes", blobs(200, 10, 2, 0.5)),
    Case("1,000 rows, 2 classes", blobs(1000, 10, 2, 0.4)),
    Case("5,000 rows, 2 classes", blobs(5000, 20, 2, 0.3)),
    Case("500 rows, 300 columns", blobs(500, 300, 2, 0.2)),
    Case("200 rows, 20 classes", blobs(200, 8, 20)),
    Case("2,000 rows, 20 classes", blobs(2000, 16, 20)),
    Case("2,000 rows, 100 classes", blobs(2000, 16, 100, 2.0)),
    Case("5,000 rows, 10 classes, C = 100", blobs(5000, 20, 10, 0.6), {"C": 100.0}),
    Case("200 rows, 3 classes, linear", blobs(200, 10, 3), {"kernel": "linear"}),
    Case("200 rows, 3 classes, poly", blobs(200, 10, 3), {"kernel": "poly", "coef0": 1.0}),
    Case("text, 500 rows, 5 classes", text(500, 5000, 5), {"gamma": 1.0, "C": 10.0}),
    Case("text, 2,000 rows, 20 classes", text(2000, 20_000, 20), {"gamma": 1.0, "C": 10.0}),
    Case("text, 3,000 rows, 100 classes", text(3000, 20_000, 100), {"gamma": 1.0, "C": 10.0}),
]

MEASURES = ("fit", "predict 1", "predict n")


def estimator(library: str, case: Case) -> Any:
    """The unfitted estimator of a library."""
    module = importlib.import_module("maxmargin" if library == "maxmargin" else f"{library}.svm")
    return getattr(module, case.name_of_class)(**case.parameters)


def offers(library: str, case: Case) -> bool:
    """Whether a library has the case's estimator."""
    return library != "sklearnex" or hasattr(importlib.import_module("sklearnex.svm"), case.name_of_class)


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(case: Case, libraries: list[str], rounds: int, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Least seconds of each measure, by library."""
    X, y = case.make()
    models = {library: estimator(library, case).fit(X, y) for library in libraries}
    best = {library: dict.fromkeys(MEASURES, math.inf) for library in libraries}
    spent = dict.fromkeys(libraries, 0.0)
    for done in range(rounds):
        for library in rng.permutation(libraries):
            if spent[library] > SECONDS_PER_CASE and done >= LEAST_ROUNDS:
                continue
            model = models[library]
            found = {
                "fit": timed(lambda library=library: estimator(library, case).fit(X, y)),
                "predict 1": timed(lambda model=model: model.predict(X[:1])),
                "predict n": timed(lambda model=model: model.predict(X)),
            }
            spent[library] += sum(found.values())
            best[library] = {name: min(best[library][name], value) for name, value in found.items()}
    return best


def table(found: dict[str, dict[str, dict[str, float]]], libraries: list[str], measure_name: str) -> str:
    """One measure of all cases, the worst ratio to a peer first; the last row has the geometric means."""
    peers = [library for library in libraries if library != "maxmargin"]
    times = {
        name: {lib: by.get(lib, {}).get(measure_name, math.nan) for lib in libraries} for name, by in found.items()
    }
    ratios = {name: [by[peer] / by["maxmargin"] for peer in peers] for name, by in times.items()}
    worst = {name: min((v for v in values if not math.isnan(v)), default=math.inf) for name, values in ratios.items()}
    rows = [
        [name, *(seconds(times[name][library]) for library in libraries), *map(ratio, ratios[name])]
        for name in sorted(found, key=worst.__getitem__)
    ]
    means = [geometric_mean([v[k] for v in ratios.values() if not math.isnan(v[k])]) for k in range(len(peers))]
    rows.append(["geometric mean", *("" for _ in libraries), *map(ratio, means)])
    head = [measure_name, *(TITLES[library] for library in libraries), *(f"to {TITLES[peer]}" for peer in peers)]
    return markdown(head, rows)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="python -m benchmarks.small")
    parser.add_argument("--only", nargs="+", default=None, help="cases whose name contains one of these words")
    parser.add_argument("--rounds", type=int, default=100, help="most rounds of a case (default 100)")
    parser.add_argument("--cold", action="store_true", help="measure imports and first fits of new processes, too")
    options = parser.parse_args(arguments)
    libraries = [library for library in installed() if library in ("maxmargin", "sklearn", "sklearnex")]
    cases = [case for case in CASES if options.only is None or any(word in case.name for word in options.only)]
    rng, found = np.random.default_rng(0), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            able = [library for library in libraries if offers(library, case)]
            found[case.name] = measure(case, able, options.rounds, rng)
            print(f"measured {case.name}", file=sys.stderr, flush=True)
    for name in MEASURES:
        print(table(found, libraries, name), end="\n\n")
    if options.cold:
        print(table(first_fits(libraries), libraries, "cold"), end="\n\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
