"""How long will an exact fit take? Asked before a long one, of fits to samples of the rows.

The time of an exact machine grows like n^p. A sample of ``FIRST`` rows is fitted first; growing with the square of n
that would give

    t (n / FIRST)^2,

and if this is under ``LONG`` seconds nothing more is done or said: it costs some milliseconds. Otherwise samples of two
more sizes, a and b, tell the exponent, p = log(t_b / t_a) / log(b / a), kept between ``LEAST`` and ``MOST``, and

    t(n) = t_b (n / b)^p,        support vectors(n) = v_b (n / b)^q  with q from the same two samples.

If that is more than ``LONG`` seconds, a :class:`LongFitWarning` says so and names the estimator that approximates the
problem. The fit then goes on as it was asked for: nothing is approximated that the user did not ask to be.

:func:`maxmargin.large_scale.forecast_approximation` passes that estimator as ``alternative``: it is fitted to the same
samples, and scored on rows that neither was trained on. Its time is a constant and a part that grows with n, both from
the same two samples; it is given up where it would cost more than a few hundredths of the exact fit.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin.runtime.control import Status, unwatched
from maxmargin.runtime.validation import Array, Points, callers_level

FIRST, TEST = 1_000, 2_000  # rows of the first sample, and of those that test the last
SHARES = (64, 16)  # the other samples are these parts of all rows: they cost a hundredth of the fit,
FEWEST = (2_000, 8_000)  # and have no fewer rows than this
LONG = 60.0  # seconds worth a word
LEAST, MOST = 1.5, 3.0
PATIENT = 10.0  # seconds that the fit to one sample may take
LITTLE = 0.04  # share of the exact fit's time that one fit of the approximate machine may take, or
BRIEF = 2.0  # seconds, if that is more


class LongFitWarning(UserWarning):
    """An exact fit that has begun will take more than a minute."""


@dataclass(frozen=True)
class Forecast:
    """What an exact fit will take, and what the approximate machine would."""

    seconds: float
    n_support: int
    megabytes: float
    score: float
    sample: int
    alternative: str | None = None
    approximate_seconds: float = math.nan
    approximate_score: float = math.nan

    def text(self, machine: str, n: int, measure: str) -> str:
        return (
            f"{machine}: an exact fit to these {n:,} rows will take about {_duration(self.seconds)} and "
            f"{self.megabytes:,.0f} MB, and have about {self.n_support:,} support vectors (from fits to samples of up "
            f"to {self.sample:,} rows). It goes on; set max_seconds for a limit.{self._other(measure)}"
        )

    def _other(self, measure: str) -> str:
        if self.alternative is None:
            return ""
        if math.isnan(self.approximate_seconds):
            return (
                f" {self.alternative} approximates it in a time that grows with the rows alone: "
                "maxmargin.large_scale.forecast_approximation(estimator, X, y) compares the two."
            )
        return (
            f" {self.alternative} approximates it in about {_duration(self.approximate_seconds)}: on {TEST:,} other "
            f"rows its {measure} was {self.approximate_score:.3f}, that of the exact machine {self.score:.3f}, both "
            f"trained on {self.sample:,}."
        )


def foretell(machine: Any, X: Points, target: Array, weights: Array, measure: str) -> None:
    """Warn before a fit that will take more than a minute."""
    if machine.max_seconds is not None and machine.max_seconds <= LONG:
        return
    try:
        told = forecast(machine, X, target, weights)
    except (ValueError, MemoryError):  # a sample without a class that class_weight names, say: the fit itself will tell
        return
    if told is not None:
        text = told.text(type(machine).__name__, X.shape[0], measure)
        warnings.warn(text, LongFitWarning, stacklevel=callers_level())


def forecast(machine: Any, X: Points, target: Array, weights: Array, alternative: Any = None) -> Forecast | None:
    """What the exact fit will take; None if it is short, or the sample cannot tell. ``alternative`` is an estimator of
    the approximate problem, to be compared with."""
    n = X.shape[0]
    sizes = [max(few, n // share) for few, share in zip(FEWEST, SHARES, strict=True)]
    order = np.random.default_rng(0).permutation(np.flatnonzero(weights > 0))[: sizes[-1] + TEST]
    if len(order) < sizes[-1] + TEST or len(np.unique(target[order[:FIRST]])) < 2:
        return None

    def fitted(size: int, one: Any, patience: float = PATIENT) -> tuple[Any, float]:
        rows = np.sort(order[:size])
        trained = clone(one)
        trained.max_seconds = patience
        begin = time.perf_counter()
        trained.fit(X[rows], target[rows], sample_weight=weights[rows])
        if trained.report_.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return trained, time.perf_counter() - begin

    with warnings.catch_warnings(), unwatched():
        warnings.simplefilter("ignore")
        quiet = clone(machine).set_params(verbose=False, warm_start=False)
        for name, without in (("calibration", None), ("probability", "deprecated")):
            if hasattr(quiet, name):
                setattr(quiet, name, without)
        _, seconds = fitted(FIRST, quiet)  # a process' first fit loads compiled code, and is not the one to measure
        if seconds * (n / FIRST) ** 2 > LONG:
            _, seconds = fitted(FIRST, quiet)
        if seconds * (n / FIRST) ** 2 <= LONG:
            return None
        (small, short), (large, long) = (fitted(size, quiet) for size in sizes)
        ratio = math.log(sizes[1] / sizes[0])
        power = float(np.clip(math.log(long / short) / ratio, LEAST, MOST))
        vectors = len(large.support_)
        growth = float(np.clip(math.log(vectors / max(1, len(small.support_))) / ratio, 0.0, 1.0))
        total = long * (n / sizes[1]) ** power
        if total <= LONG:
            return None
        rows = np.sort(order[sizes[1] :])
        told = Forecast(
            seconds=total,
            n_support=min(n, round(vectors * (n / sizes[1]) ** growth)),
            megabytes=_megabytes(X, float(machine.cache_size)),
            score=float(large.score(X[rows], target[rows])),
            sample=sizes[1],
            alternative=machine._approximation,
        )
        if alternative is None:
            return told
        patience = max(BRIEF, LITTLE * total)
        (_, short), (other, long) = (fitted(size, alternative, patience) for size in sizes)
        stopped = other.report_.status is Status.DEADLINE
        each = long / sizes[1] if stopped else max(0.0, long - short) / (sizes[1] - sizes[0])
        return replace(
            told,
            alternative=type(alternative).__name__,
            approximate_seconds=long + each * (n - sizes[1]),
            approximate_score=float(other.score(X[rows], target[rows])),
        )


def _megabytes(X: Points, cache: float) -> float:
    """Memory besides X: rows in single precision, some numbers a row, and the cache where kernel values would fill
    it."""
    n, d = X.shape
    entries = 3 * X.nnz if sp.issparse(X) else n * d
    return (4.0 * entries + 64.0 * n) / 1e6 + min(cache, 8.0 * n * n / 1e6)


def _duration(seconds: float) -> str:
    """A time that is only roughly known, in words."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 1.5 else "a second"
