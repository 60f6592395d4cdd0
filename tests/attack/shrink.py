"""A failing case made smaller: fewer rows, columns and classes, plainer numbers, fewer parameters.

Greedy: a change that leaves the case failing the same law is kept, and all changes are tried anew, largest first, until
none helps or the allowance is used up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attack.case import Case

TRIALS = 400  # candidates that are tried at most
SECONDS = 60.0  # spent on one failure, about


def shrunk(case: Case, fails: Callable[[Case], bool], trials: int = TRIALS, seconds: float = SECONDS) -> Case:
    """The smallest case found for which ``fails`` holds; the case itself if it holds for no smaller one."""
    began, used, progress = time.monotonic(), 0, True
    while progress:
        progress = False
        for smaller in candidates(case):
            if used >= trials or time.monotonic() - began > seconds:
                return case
            used += 1
            if fails(smaller):
                case, progress = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Smaller cases, those that save most first."""
    yield from _fewer_rows(case)
    yield from _fewer_columns(case)
    yield from _plainer_parameters(case)
    yield from _plainer_data(case)


def _rows(case: Case, keep: np.ndarray) -> Case:
    changes: dict[str, Any] = {"X": case.X[keep]}
    for name in ("y", "weight"):
        values = getattr(case, name)
        if values is not None and len(values) == len(case.X):
            changes[name] = values[keep]
    return case.but(**changes)


def _fewer_rows(case: Case) -> Iterator[Case]:
    n = len(case.X)
    size = n // 2
    while size >= 1 and n - size >= 1:
        for start in range(0, n, size):
            keep = np.r_[0:start, min(n, start + size) : n]
            if len(keep):
                yield _rows(case, keep)
        size //= 2
    if case.new is not None and len(case.new) > 1:
        half = len(case.new) // 2
        yield case.but(new=case.new[:half])
        yield case.but(new=case.new[half:])


def _fewer_columns(case: Case) -> Iterator[Case]:
    d = case.X.shape[1]
    size = d // 2
    while size >= 1:
        for start in range(0, d, size):
            keep = np.r_[0:start, min(d, start + size) : d]
            if len(keep):
                new = None if case.new is None else case.new[:, keep]
                yield case.but(X=case.X[:, keep], new=new)
        size //= 2


def _plainer_parameters(case: Case) -> Iterator[Case]:
    for name in case.params:
        yield Case(**{**vars(case), "params": {key: value for key, value in case.params.items() if key != name}})
    for name, plain in (("C", 1.0), ("gamma", 1.0), ("tol", 1e-3), ("nu", 0.5), ("degree", 2), ("kernel", "linear")):
        if name in case.params and case.params[name] != plain:
            yield case.but(params={name: plain})
    if case.weight is not None:
        yield case.but(weight=None)
        if (case.weight != np.round(case.weight)).any():
            yield case.but(weight=np.maximum(1.0, np.round(case.weight)))
    if case.sparse:
        yield case.but(sparse=False)


def _plainer_data(case: Case) -> Iterator[Case]:
    if case.y is not None:
        names = np.unique(case.y)
        if case.y.dtype.kind in "US" or (case.y.dtype.kind == "b"):
            yield case.but(y=np.searchsorted(names, case.y))
        if len(names) > 2 and case.y.dtype.kind != "f":
            for name in names[1:]:
                yield case.but(y=np.where(case.y == name, names[0], case.y))
        if case.y.dtype.kind == "f" and (case.y != np.round(case.y)).any():
            yield case.but(y=np.round(case.y))
            yield case.but(y=np.round(case.y, 1))
    if case.X.dtype == np.float32:
        new = None if case.new is None else case.new.astype(np.float64)
        yield case.but(X=case.X.astype(np.float64), new=new)
    for digits in (0, 1, 2):
        rounded = np.round(case.X, digits)
        if (rounded != case.X).any():
            yield case.but(X=rounded)
    if case.new is not None and (np.round(case.new) != case.new).any():
        yield case.but(new=np.round(case.new))
    if np.abs(case.X).max(initial=0.0) > 100:
        yield case.but(X=np.clip(case.X, -100, 100))
