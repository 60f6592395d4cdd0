"""When another learner is the better choice: SVMs beside logistic regression, gradient boosting and random forests.

    python -m benchmarks.alternatives

Twelve data sets that scikit-learn has or generates, so that nothing is downloaded. Every learner is tuned over a small
grid by cross-validation inside the training part, and measured by accuracy (R² for regression) on five outer folds:
nobody sees the rows it is judged on. Times include the search. The table goes into ``docs/guide/when-not-to-use.md``,
rounded; times vary between computers, their ratios much less.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVCCV, SVRCV

Array = np.ndarray[Any, Any]
OUTER_FOLDS = 5
INNER_FOLDS = 3


def steps(n: int, seed: int) -> tuple[Array, Array]:
    """Rules with thresholds on few of many columns: the shape that trees have."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 20))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3) ^ (X[:, 2] > 0.7)).astype(int)
    return X, np.where(rng.uniform(size=n) < 0.05, 1 - y, y)


def linear_noise(n: int, seed: int) -> tuple[Array, Array]:
    """A logistic model with much noise: what logistic regression assumes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-X[:, :5].sum(axis=1)))).astype(int)


CLASSIFICATION: dict[str, Callable[[], tuple[Array, Array]]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "two moons": lambda: datasets.make_moons(600, noise=0.25, random_state=0),
    "nested spheres": lambda: datasets.make_gaussian_quantiles(n_samples=1000, n_features=8, random_state=0),
    "clusters": lambda: datasets.make_classification(1000, 15, n_informative=8, n_clusters_per_class=4, random_state=0),
    "thresholds": lambda: steps(1000, 0),
    "noisy linear": lambda: linear_noise(1000, 0),
}
REGRESSION: dict[str, Callable[[], tuple[Array, Array]]] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "Friedman 1": lambda: datasets.make_friedman1(600, noise=1.0, random_state=0),
    "sparse linear": lambda: datasets.make_regression(300, 100, n_informative=10, noise=20.0, random_state=0),
}


def classifiers() -> dict[str, Any]:
    boosting = HistGradientBoostingClassifier(random_state=0)
    return {
        "SVM": make_pipeline(StandardScaler(), SVCCV(cv=INNER_FOLDS)),
        "logistic": make_pipeline(
            StandardScaler(), LogisticRegressionCV(Cs=7, cv=INNER_FOLDS, max_iter=2000, l1_ratios=(0,))
        ),
        "boosting": GridSearchCV(boosting, {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]}, cv=INNER_FOLDS),
        "forest": GridSearchCV(
            RandomForestClassifier(100, random_state=0), {"max_features": ["sqrt", 0.5]}, cv=INNER_FOLDS
        ),
    }


def regressors() -> dict[str, Any]:
    boosting = HistGradientBoostingRegressor(random_state=0)
    return {
        "SVM": make_pipeline(StandardScaler(), SVRCV(cv=INNER_FOLDS)),
        "logistic": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7))),
        "boosting": GridSearchCV(boosting, {"learning_rate": [0.05, 0.2], "max_leaf_nodes": [7, 31]}, cv=INNER_FOLDS),
        "forest": GridSearchCV(
            RandomForestRegressor(100, random_state=0), {"max_features": [1.0, 0.5]}, cv=INNER_FOLDS
        ),
    }


def measure(name: str, load: Callable[[], tuple[Array, Array]], learners: dict[str, Any], regression: bool) -> str:
    """One row of the table: mean scores, and seconds of a search and fit relative to the SVM's."""
    X, y = load()
    if regression:
        y = (y - y.mean()) / y.std()  # C and epsilon are in units of the target
    splitter = (KFold if regression else StratifiedKFold)(OUTER_FOLDS, shuffle=True, random_state=0)
    scores: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for learner, estimator in learners.items():
        start = time.perf_counter()
        found = [
            clone(estimator).fit(X[train], y[train]).score(X[test], y[test]) for train, test in splitter.split(X, y)
        ]
        scores[learner], seconds[learner] = float(np.mean(found)), time.perf_counter() - start
    best = max(round(score, 2) for score in scores.values())
    cells = [f"**{score:.2f}**" if round(score, 2) == best else f"{score:.2f}" for score in scores.values()]
    relative = [seconds[learner] / seconds["SVM"] for learner in list(learners)[1:]]
    ratios = [f"{float(f'{ratio:.1g}'):g}" for ratio in relative]  # one digit is what another run confirms
    return f"| {name} | {X.shape[0]:,} x {X.shape[1]} | " + " | ".join(cells + ratios) + " |"


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| data | size | SVM | linear | boosting | forest | time: linear | boosting | forest |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for table, learners, regression in ((CLASSIFICATION, classifiers(), False), (REGRESSION, regressors(), True)):
        for name, load in table.items():
            print(measure(name, load, learners, regression), flush=True)


if __name__ == "__main__":
    main()
