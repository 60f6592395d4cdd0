"""Linear estimators: the pieces of work, how each library is asked for them, and one judge for all.

The judge knows coefficients and intercepts only. It computes, in float64 and from the definition,

    penalty(w) + [intercept penalised] penalty(b) + C sum_i loss_i

with penalty 1/2 |w|^2 or |w|_1, and adds it up over the binary problems of one-vs-rest.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from ._data import RECIPES, Arrays, Data, Recipe

HALF = 290_506  # rows of covtype, shuffled, that are used
STRIP = 16_384  # rows judged at a time


def twenty_topics(arrays: Arrays) -> Arrays:
    """All topics, as tf-idf."""
    X = TfidfTransformer(sublinear_tf=True).fit_transform(arrays["X_train"].astype(np.float64))
    return {"X": X.tocsr(), "y": arrays["y_train"]}


def synthetic() -> Arrays:
    """200,000 rows of 300 columns: a direction with noise in both, one label in twenty wrong."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((200_000, 300))
    y = X @ rng.standard_normal(300) / np.sqrt(300) + 0.5 * rng.standard_normal(200_000) > 0
    return {"X": X, "y": np.where(rng.random_sample(200_000) < 0.05, ~y, y).astype(int)}


RECIPES.update(
    {
        "a9a sparse": Recipe("a9a"),
        "news20 twenty topics": Recipe("news20_bydate", pick=twenty_topics),
        "200,000 x 300": Recipe(synthetic),
    }
)


@dataclass(frozen=True)
class LinearWork:
    """One piece of work. ``slow``: scikit-learn takes minutes. ``solvers``: ours in the plot; none: not plotted."""

    name: str
    data: str
    params: dict[str, Any] = field(default_factory=dict)
    tol: float = 1e-4
    estimator: str = "LinearSVC"
    rows: int | None = None
    slow: bool = False
    solvers: tuple[str, ...] = ()

    @property
    def squared(self) -> bool:
        return str(self.params.get("loss", "squared_hinge")).startswith("squared")

    @property
    def sparse_weights(self) -> bool:
        return self.params.get("penalty") == "l1"


HINGE, SQUARED = {"loss": "hinge"}, {"loss": "squared_hinge"}
SHOWN = {"hinge": ("barrier", "coordinate_descent"), "squared_hinge": ("newton", "coordinate_descent")}


def _pairs(name: str, data: str, *, C: float = 1.0, shown: bool = False, **more: Any) -> list[LinearWork]:
    """The work with either loss; only the hinge is slow."""
    slow = more.pop("slow", False)
    return [
        LinearWork(
            f"{name}, {loss.replace('_', ' ')}",
            data,
            {"loss": loss, "C": C},
            slow=slow and loss == "hinge",
            solvers=SHOWN[loss] if shown else (),
            **more,
        )
        for loss in ("hinge", "squared_hinge")
    ]


WORK = [
    *_pairs("covtype half", "covtype", rows=HALF, slow=True, shown=True),
    *_pairs("20news", "news20 twenty topics"),
    *_pairs("a9a", "a9a sparse", tol=1e-3, shown=True),
    *(
        work
        for C in (0.01, 1.0, 100.0)
        for work in _pairs(f"200,000 x 300, C = {C:g}", "200,000 x 300", C=C, slow=True, shown=C == 1.0)
    ),
    LinearWork("a9a, L1", "a9a sparse", {**SQUARED, "C": 1.0, "penalty": "l1"}, solvers=("auto",)),
    LinearWork(
        "cadata, LinearSVR",
        "cadata",
        {"loss": "epsilon_insensitive", "C": 1.0, "epsilon": 0.1},
        estimator="LinearSVR",
    ),
]


def ours(work: LinearWork, *, penalised: bool, threads: int | None = None, **more: Any) -> Any:
    """maxmargin's estimator; its intercept is free by default, or penalised as scikit-learn's is."""
    params = {**work.params, "tol": work.tol, "n_jobs": threads, "random_state": 0, **more}
    if penalised:
        params["intercept_scaling"] = 1.0
    return getattr(importlib.import_module("maxmargin"), work.estimator)(**params)


def variants(work: LinearWork) -> list[str]:
    """scikit-learn's solvers that can do the work: of the dual, of the primal."""
    if work.sparse_weights:
        return ["primal"]
    return ["dual", "primal"] if work.squared else ["dual"]


def theirs(work: LinearWork, variant: str, **more: Any) -> Any:
    params = {**work.params, "dual": variant == "dual", "tol": work.tol, "random_state": 0, **more}
    return getattr(importlib.import_module("sklearn.svm"), work.estimator)(**params)


def cannot(work: LinearWork, sample: Data) -> str:
    """Why maxmargin has no way to do the work, or an empty string."""
    if not hasattr(importlib.import_module("maxmargin"), work.estimator):
        return f"maxmargin has no {work.estimator}"
    try:
        quietly(ours(work, penalised=True), sample)
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def quietly(model: Any, data: Data) -> tuple[Any, bool]:
    """Fit, and say whether it ended at its cap."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data.X, data.y)
    return model, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def objective(work: LinearWork, data: Data, coef: Any, intercept: Any, *, penalised: bool) -> float:
    """The judge; see the head of this file."""
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef, np.float64))
    intercept = np.broadcast_to(np.asarray(intercept, np.float64).ravel(), (len(coef),))
    sides = np.column_stack((coef, intercept)) if penalised else coef
    total = float(np.abs(sides).sum() if work.sparse_weights else 0.5 * np.square(sides).sum())
    C, losses = float(work.params["C"]), 0.0
    classes = None if work.estimator == "LinearSVR" else np.unique(data.y)
    for start in range(0, data.X.shape[0], STRIP):
        f = data.X[start : start + STRIP].astype(np.float64, copy=False) @ coef.T + intercept
        y = np.asarray(data.y[start : start + STRIP])
        if classes is None:
            slack = np.maximum(0.0, np.abs(y[:, None] - f) - float(work.params["epsilon"]))
        else:
            positive = y[:, None] == (classes[1:] if len(classes) == 2 else classes)
            slack = np.maximum(0.0, 1.0 - np.where(positive, f, -f))
        losses += float(np.square(slack).sum() if work.squared else slack.sum())
    return total + C * losses
