"""How many landmarks, for rows on many computers: the search of one computer, on rows that the client can hold.

Rows drawn at random are fetched, as many as fit ``FETCHED`` bytes, and :mod:`maxmargin.large_scale.auto` doubles m
until rows held out of them gain no more than noise. Each fetched row stands for n / (fetched rows) of all: its weight
grows by that, so that the penalty is no stronger than in the fit that follows on the cluster. Where all rows fit, the
search and its result are those of one computer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.large_scale.auto import MOST_HELD_OUT, SHARE, Search
from maxmargin.large_scale.dask.landmark_problems import LabelTargets, ValueTargets
from maxmargin.large_scale.dask.landmarks import FETCHED, Fetched, drawn, every_row, kernel_from, merged, rows_at
from maxmargin.large_scale.dask.training import Training
from maxmargin.large_scale.estimator import Problem
from maxmargin.large_scale.losses import Loss
from maxmargin.large_scale.training import rows_of
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array

MOST = int(MOST_HELD_OUT / SHARE)  # rows beyond which no more of them are held out


def find_size(
    machine: Any,
    data: Training,
    targets: LabelTargets | ValueTargets,
    loss: Loss,
    scale: float,
    first_b: Array,
    rng: np.random.Generator,
    control: Control,
) -> Search:
    """The number of landmarks that a machine of :mod:`maxmargin.large_scale.dask` should have; its ``kernel_`` is set
    on the way.

    Parameters
    ----------
    machine : estimator
    data : Training
    targets, loss, scale, first_b
        The problem, as the fit on the cluster has it.
    rng : numpy.random.Generator
    control : Control
    """
    precomputed = machine._is_precomputed()
    X, y, weights = _sample(data, rng, precomputed)
    fetched = X.shape[0]
    counting = np.zeros(fetched, bool)
    counting[targets.of(y, weights)[0]] = True
    weights = np.where(counting, weights, 0.0)
    complete = fetched == data.n
    if not complete:
        weights *= sum(one.weight for one in data.summaries) / weights.sum()
    machine.kernel_ = kernel_from(machine, data, X[counting], weights[counting], complete=complete)
    rows = rows_of(X, merged(y), weights, merge=not precomputed)

    def make(at: Array, part: Array) -> Problem:
        return Problem(targets.of(y[at], part)[1], loss, scale, first_b)

    def judge(at: Array, values: Array) -> tuple[Array, float]:
        return targets.judged(y[at], weights[at], values)

    with single_threaded_blas():
        found: Search = machine._search(X, rows, make, judge, rng, control)
    return found if complete else replace(found, ended=f"{found.ended}; tried on {fetched:,} of {data.n:,} rows")


def _sample(data: Training, rng: np.random.Generator, precomputed: bool) -> Fetched:
    """All rows, if the client can hold them, else some; of a precomputed matrix, their columns."""
    size = sum(one.size for one in data.summaries)
    most = math.isqrt(FETCHED // 8) if precomputed else FETCHED * data.n // max(1, size)
    most = min(most, MOST)
    if data.n <= most:
        return every_row(data)
    at = drawn(data, min(most, sum(one.used for one in data.summaries)), rng)
    return rows_at(data, at, at if precomputed else None)
