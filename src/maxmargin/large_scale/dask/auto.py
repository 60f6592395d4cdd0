"""How many landmarks, for rows on many computers: the search of one computer, on rows that the client can hold.

Rows drawn at random are fetched, as many as fit ``FETCH_MAX_BYTES``, and :mod:`maxmargin.large_scale.auto` doubles m
until rows held out of them gain no more than noise. Each fetched row stands for n / (fetched rows) of all: its weight
grows by that, so that the penalty is no stronger than in the fit that follows on the cluster. Where all rows fit, the
search and its result are those of one computer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.large_scale.auto import HELD_OUT_MAX_ROWS, HELD_OUT_SHARE, Search
from maxmargin.large_scale.dask.landmarks import FETCH_MAX_BYTES, Fetched, drawn, every_row, kernel_from, rows_at
from maxmargin.large_scale.dask.training import Training
from maxmargin.large_scale.rows.targets import row_keys
from maxmargin.large_scale.training import Problem, rows_of
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import single_threaded_blas

SEARCH_MAX_ROWS = int(HELD_OUT_MAX_ROWS / HELD_OUT_SHARE)  # beyond which no more of them are held out


def find_size(estimator: Any, data: Training, problem: Problem, rng: np.random.Generator, control: Control) -> Search:
    """The number of landmarks that an estimator of :mod:`maxmargin.large_scale.dask` should have; its ``kernel_`` is
    set on the way."""
    precomputed = estimator._is_precomputed()
    X, y, weights = _sample(data, rng, precomputed)
    fetched = X.shape[0]
    counting = np.zeros(fetched, bool)
    counting[problem.task.targets(y, weights)[0]] = True
    weights = np.where(counting, weights, 0.0)
    complete = fetched == data.n
    if not complete:
        weights *= sum(one.weight for one in data.summaries) / weights.sum()
    estimator.kernel_ = kernel_from(estimator, data, X[counting], weights[counting], complete=complete)
    rows = rows_of(X, row_keys(y), weights, merge=not precomputed)
    with single_threaded_blas():
        found: Search = estimator._search(X, y, rows, problem, rng, control)
    return found if complete else replace(found, ended=f"{found.ended}; tried on {fetched:,} of {data.n:,} rows")


def _sample(data: Training, rng: np.random.Generator, precomputed: bool) -> Fetched:
    """All rows, if the client can hold them, else some; of a precomputed matrix, their columns."""
    size = sum(one.size for one in data.summaries)
    most = math.isqrt(FETCH_MAX_BYTES // 8) if precomputed else FETCH_MAX_BYTES * data.n // max(1, size)
    most = min(most, SEARCH_MAX_ROWS)
    if data.n <= most:
        return every_row(data)
    at = drawn(data, min(most, sum(one.used for one in data.summaries)), rng)
    return rows_at(data, at, at if precomputed else None)
