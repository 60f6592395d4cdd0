"""The estimated cost of an exact fit, from fits to samples of the rows.

The time of an exact fit grows like n^p. A sample of m = ``FIRST_SAMPLE_ROWS`` rows is fitted first, which takes
milliseconds. If the time would stay under ``LONG_FIT_SECONDS`` even with p = 2,

    t (n / m)^2,

nothing more is done. Otherwise samples of two
more sizes, a and b, give the exponent, p = log(t_b / t_a) / log(b / a), kept within bounds, and

    t(n) = t_b (n / b)^p,        support vectors(n) = v_b (n / b)^q  with q from the same two samples.

If that is more than ``LONG_FIT_SECONDS``, a :class:`LongFitWarning` reports it and names the estimator that
approximates the problem. The fit then continues: nothing is approximated without the user's request.

:func:`maxmargin.large_scale.forecast_approximation` passes that estimator as ``alternative``: it is fitted to the same
samples, and scored on rows that neither was trained on. Its time is a constant and a part that grows with n, both from
the same two samples; it is omitted if it would cost more than a few hundredths of the exact fit.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin.runtime.control import Status, unwatched
from maxmargin.runtime.interrupts import raising_at_once
from maxmargin.runtime.validation import Array, Points, warn

FORECAST_MIN_ROWS = 30_000  # rows from which a fit may take so long that its user should know beforehand
FIRST_SAMPLE_ROWS, TEST_ROWS = 1_000, 2_000  # rows of the first sample, and of those that test the last
SAMPLE_SHARES = (64, 16)  # the other samples are these parts of all rows: they cost a hundredth of the fit,
SAMPLE_MIN_ROWS = (2_000, 8_000)  # and have no fewer rows than this
LONG_FIT_SECONDS = 60.0  # a fit that takes longer is announced
MIN_EXPONENT, MAX_EXPONENT = 1.5, 3.0  # of n: what fits of all kinds of data were measured to have
SAMPLE_MAX_SECONDS = 10.0  # seconds that the fit to one sample may take
ALTERNATIVE_MAX_SHARE = 0.04  # share of the exact fit's time that one fit of the approximate estimator may take, or
ALTERNATIVE_MAX_SECONDS = 2.0  # seconds, if that is more


class LongFitWarning(UserWarning):
    """Warning that an exact fit will take longer than a minute.

    Attributes
    ----------
    seconds : float
        The estimate; NaN in a warning that was made without one.

    Examples
    --------
    To treat it as an error, or not to see it:

    >>> import warnings
    >>> from maxmargin import LongFitWarning
    >>> warnings.simplefilter("error", LongFitWarning)
    >>> warnings.simplefilter("ignore", LongFitWarning)
    """

    seconds: float = math.nan


@dataclass(frozen=True)
class Forecast:
    """What an exact fit will take, and what the approximate estimator would."""

    seconds: float
    n_support: int
    megabytes: float
    score: float
    sample: int
    alternative: str | None = None
    approximate_seconds: float = math.nan
    approximate_score: float = math.nan

    def text(self, estimator: str, n: int, measure: str) -> str:
        return (
            f"{estimator}: an exact fit to these {n:,} rows will take about {duration(self.seconds)} and "
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
            f" {self.alternative} approximates it in about {duration(self.approximate_seconds)}: on {TEST_ROWS:,} "
            f"other rows its {measure} was {self.approximate_score:.3f}, that of the exact model {self.score:.3f}, "
            f"both trained on {self.sample:,}."
        )


_announced: ContextVar[bool] = ContextVar("announced", default=True)


@contextmanager
def without_long_fit_warning() -> Iterator[None]:
    """Long fits inside are not announced: for those that only serve another one."""
    token = _announced.set(False)
    try:
        yield
    finally:
        _announced.reset(token)


def announce_long_fit(estimator: Any, X: Points, target: Array, weights: Array, measure: str) -> None:
    """Before a fit to many vectors: warn if it will take more than a minute."""
    if _announced.get() and X.dtype != object and not estimator._is_precomputed():
        warn_of_long_fit(estimator, X, target, weights, measure)


def warn_of_long_fit(estimator: Any, X: Points, target: Array, weights: Array, measure: str) -> None:
    """Warn before a fit that will take more than a minute."""
    if estimator.max_seconds is not None and estimator.max_seconds <= LONG_FIT_SECONDS:
        return
    try:
        estimate = forecast(estimator, X, target, weights)
    except (
        ValueError,
        MemoryError,
    ):  # a sample without a class that class_weight names, say: the fit itself will report it
        return
    if estimate is not None:
        warning = LongFitWarning(estimate.text(type(estimator).__name__, X.shape[0], measure))
        warning.seconds = estimate.seconds
        warn(warning)


def forecast(estimator: Any, X: Points, target: Array, weights: Array, alternative: Any = None) -> Forecast | None:
    """What the exact fit will take; None if it is short, or the sample cannot show it. ``alternative`` is an
    estimator of the approximate problem, to be compared with."""
    n = X.shape[0]
    sizes = [max(few, n // share) for few, share in zip(SAMPLE_MIN_ROWS, SAMPLE_SHARES, strict=True)]
    order = np.random.default_rng(0).permutation(np.flatnonzero(weights > 0))[: sizes[-1] + TEST_ROWS]
    if len(order) < sizes[-1] + TEST_ROWS or len(np.unique(target[order[:FIRST_SAMPLE_ROWS]])) < 2:
        return None

    def fitted(size: int, one: Any, patience: float = SAMPLE_MAX_SECONDS) -> tuple[Any, float]:
        rows = np.sort(order[:size])
        trained = clone(one)
        trained.max_seconds = patience
        begin = time.perf_counter()
        trained.fit(X[rows], target[rows], sample_weight=weights[rows])
        if trained.report_.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return trained, time.perf_counter() - begin

    with warnings.catch_warnings(), unwatched(), raising_at_once():
        warnings.simplefilter("ignore")
        quiet = clone(estimator).set_params(verbose=False, warm_start=False)
        for name, without in (("calibration", None), ("probability", "deprecated")):
            if hasattr(quiet, name):
                setattr(quiet, name, without)
        _, seconds = fitted(FIRST_SAMPLE_ROWS, quiet)  # a process' first fit loads code, and is not the one to measure
        if seconds * (n / FIRST_SAMPLE_ROWS) ** 2 > LONG_FIT_SECONDS:
            _, seconds = fitted(FIRST_SAMPLE_ROWS, quiet)
        if seconds * (n / FIRST_SAMPLE_ROWS) ** 2 <= LONG_FIT_SECONDS:
            return None
        (small, short), (large, long) = (fitted(size, quiet) for size in sizes)
        ratio = math.log(sizes[1] / sizes[0])
        power = float(np.clip(math.log(long / short) / ratio, MIN_EXPONENT, MAX_EXPONENT))
        vectors = len(large.support_)
        growth = float(np.clip(math.log(vectors / max(1, len(small.support_))) / ratio, 0.0, 1.0))
        total = long * (n / sizes[1]) ** power
        if total <= LONG_FIT_SECONDS:
            return None
        rows = np.sort(order[sizes[1] :])
        estimate = Forecast(
            seconds=total,
            n_support=min(n, round(vectors * (n / sizes[1]) ** growth)),
            megabytes=_megabytes(X, float(estimator.cache_size)),
            score=float(large.score(X[rows], target[rows])),
            sample=sizes[1],
            alternative=estimator._approximation,
        )
        if alternative is None:
            return estimate
        patience = max(ALTERNATIVE_MAX_SECONDS, ALTERNATIVE_MAX_SHARE * total)
        (_, short), (other, long) = (fitted(size, alternative, patience) for size in sizes)
        stopped = other.report_.status is Status.DEADLINE
        each = long / sizes[1] if stopped else max(0.0, long - short) / (sizes[1] - sizes[0])
        return replace(
            estimate,
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


def duration(seconds: float) -> str:
    """A time that is only roughly known, in words."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 1.5 else "a second"
