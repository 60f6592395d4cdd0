"""The libraries that are compared, and how each is asked to do the same piece of work."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
from dataclasses import asdict, dataclass, field
from typing import Any

TITLES = {"maxmargin": "maxmargin", "sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex"}
PEERS = ("sklearn", "sklearnex")


@dataclass(frozen=True)
class Work:
    """One piece of work, as plain data: which estimator with which parameters on which rows of which set.

    ``predict`` > 0: the fitted model also labels so many test rows.
    """

    name: str
    data: str
    params: dict[str, Any] = field(default_factory=dict)
    estimator: str = "SVC"
    rows: int | None = None
    predict: int = 0


@dataclass(frozen=True)
class Options:
    """What all pieces of work of one run have in common. A cache of None is the library's default."""

    tol: float = 1e-3
    cache_size: float | None = None
    sklearn_cache: float | None = 4000
    sklearnex_cache: float | None = None
    threads: int | None = None
    dtype: str = "float64"
    most: int = 0  # quick trial: at most so many rows of each set

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def installed() -> list[str]:
    """The libraries that can be compared here."""
    return [name for name in TITLES if importlib.util.find_spec(name) is not None]


def version(library: str) -> str:
    if library == "maxmargin":  # which need not be installed: PYTHONPATH=src will do
        return str(importlib.import_module("maxmargin").__version__)
    return importlib.metadata.version(TITLES[library])


def cannot(library: str, work: Work) -> str | None:
    """Why a library has no way of its own to do the work, or None."""
    if library != "sklearnex":
        return None
    if not hasattr(importlib.import_module("sklearnex.svm"), work.estimator):
        return f"has no {work.estimator}"
    if work.params.get("kernel") == "laplacian":
        return "has no Laplacian kernel"
    return None


def estimator(library: str, work: Work, options: Options) -> Any:
    """The library's unfitted estimator for the work: same parameters, same tol; caches and threads by ``options``."""
    module = "maxmargin" if library == "maxmargin" else f"{library}.svm"
    params: dict[str, Any] = {**work.params, "tol": options.tol}
    caches = {"maxmargin": options.cache_size, "sklearn": options.sklearn_cache, "sklearnex": options.sklearnex_cache}
    if caches[library] is not None:
        params["cache_size"] = caches[library]
    if library != "sklearn":  # LIBSVM knows one thread
        params["n_jobs"] = options.threads
    if library == "sklearn" and params.get("kernel") == "laplacian":
        laplacian = importlib.import_module("sklearn.metrics.pairwise").laplacian_kernel
        params["kernel"] = functools.partial(laplacian, gamma=params.pop("gamma"))
    return getattr(importlib.import_module(module), work.estimator)(**params)


def fell_back(library: str, fitted: Any) -> bool:
    """Whether scikit-learn-intelex handed the fit to scikit-learn."""
    return library == "sklearnex" and not hasattr(fitted, "_onedal_estimator")
