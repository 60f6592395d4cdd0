"""Run control: the deadline, Ctrl-C, and progress, for every loop of every solver.

A solver calls :meth:`Control.stop` between blocks of work that take well under 0.2 s, and :meth:`Control.report` once
per block. What Ctrl-C does is in :mod:`maxmargin.runtime.interrupts`.
"""

from __future__ import annotations

import enum
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from maxmargin.runtime.history import ThinnedList
from maxmargin.runtime.interrupts import catching, enclosing_event, started
from maxmargin.runtime.logging import log_line
from maxmargin.runtime.validation import Points, check_flag, check_number, shown, warn

# scikit-learn's messages at the iteration limit, which programs filter by (including the two spaces).
KERNEL_WORDS = (
    "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data with StandardScaler or "
    "MinMaxScaler. "
)
LINEAR_WORDS = "{name} failed to converge, increase the number of iterations. "
HINT_MAX_ENTRIES = 1_000_000  # of X, about, from which the scales of columns are estimated: a few milliseconds
HINT_MIN_ROWS = 100


class Status(enum.Enum):
    """How a fit ended; the value is the message for the user, with the remedy.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.solvers import Status
    >>> SVC().fit([[0.0], [1.0], [3.0]], [0, 0, 1]).report_.status is Status.OPTIMAL
    True
    """

    OPTIMAL = "optimal within the tolerance"
    MAX_ITER = "stopped at the iteration limit: raise max_iter, scale the columns of X, or lower C"
    DEADLINE = "stopped at the time limit: raise max_seconds"
    INTERRUPTED = "interrupted by the user"
    STALLED = "no further progress in double precision: scale the columns of X, lower C, or accept a larger tol"
    INSEPARABLE = "the classes cannot be separated without errors in this feature space: use a finite C"

    @property
    def converged(self) -> bool:
        return self is Status.OPTIMAL


@dataclass(frozen=True)
class Progress:
    """The state of a run after a block of work; objectives and |w| are NaN where the solver does not know them."""

    iteration: int
    violation: float
    n_support: int
    seconds: float
    primal: float = math.nan
    dual: float = math.nan
    norm: float = math.nan


_watchers: ContextVar[tuple[Callable[[Progress], None], ...]] = ContextVar("watchers", default=())


@contextmanager
def watching(callback: Callable[[Progress], None]) -> Iterator[None]:
    """Every fit that begins inside also reports its progress to ``callback``, in any estimator and on any thread."""
    token = _watchers.set((*_watchers.get(), callback))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def unwatched() -> Iterator[None]:
    """Fits that begin inside do not report progress: for fits that are part of another one."""
    token = _watchers.set(())
    try:
        yield
    finally:
        _watchers.reset(token)


@dataclass
class Control:
    """When to stop, and where to report.

    max_iter: steps allowed for one problem, -1 for no limit of the user's
    max_seconds: wall-clock limit for the whole fit
    callback: called with a :class:`Progress` once per block of work
    reports: the reports so far, thinned out after the first blocks
    watchers: those of :func:`watching` around the place where the fit began; called like ``callback``
    """

    max_iter: int = -1
    max_seconds: float | None = None
    callback: Callable[[Progress], None] | None = None
    started: float = field(default_factory=time.perf_counter)
    reports: list[Progress] = field(default_factory=ThinnedList)
    watchers: tuple[Callable[[Progress], None], ...] = field(default_factory=_watchers.get)
    _interrupted: threading.Event = field(default_factory=enclosing_event)

    def __post_init__(self) -> None:
        if not isinstance(self.reports, ThinnedList):
            self.reports = ThinnedList(self.reports)

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The control by an estimator's ``max_iter``, ``max_seconds`` and ``verbose``; the clock starts with
        ``fit``."""
        return cls(
            max_iter=int(estimator.max_iter),
            max_seconds=estimator.max_seconds,
            callback=print_progress if estimator.verbose else None,
            started=started(estimator),
        )

    @classmethod
    def of_deadline(cls, estimator: Any) -> Self:
        """The same with ``max_seconds`` only, for estimators that count iterations and print progress themselves."""
        return cls(max_seconds=estimator.max_seconds, started=started(estimator))

    def of_one(self) -> Control:
        """For one of several problems: the same clock, limits and callbacks, and a separate list of reports."""
        return replace(self, reports=ThinnedList())

    def silent(self, **changes: Any) -> Control:
        """For a step of another run: the same clock and limits, and nothing is reported."""
        return replace(self, callback=None, watchers=(), reports=ThinnedList(), **changes)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def stop(self) -> Status | None:
        """The reason to stop now, or None."""
        if self._interrupted.is_set():
            return Status.INTERRUPTED
        if self.max_seconds is not None and self.seconds > self.max_seconds:
            return Status.DEADLINE
        return None

    def report(
        self,
        iteration: int,
        violation: float,
        n_support: int,
        *,
        primal: float = math.nan,
        dual: float = math.nan,
        norm: float = math.nan,
    ) -> None:
        progress = Progress(iteration, violation, n_support, self.seconds, primal, dual, norm)
        self.reports.append(progress)
        for callback in self.watchers if self.callback is None else (self.callback, *self.watchers):
            callback(progress)

    def catching_interrupts(self) -> AbstractContextManager[None]:
        """Turn the first Ctrl-C into a request to stop; see :func:`maxmargin.runtime.interrupts.catching`."""
        return catching(self._interrupted)


def print_note(text: str) -> None:
    """A line of ``verbose=True`` that is not progress."""
    log_line(text)


def print_progress(progress: Progress) -> None:
    """The callback of ``verbose=True``: one line per block."""
    log_line(
        f"{progress.seconds:8.2f} s  iterations {progress.iteration:>9,}  "
        f"violation {progress.violation:.3e}  support vectors {progress.n_support:,}"
    )


def check_run_options(estimator: Any) -> None:
    """The parameters that every iterative estimator has; each error names the parameter, its value and the remedy."""
    check_number("tol", estimator.tol, above=0)
    check_number("max_iter", estimator.max_iter, least=-1, integer=True, remedy="-1 means no limit.")
    check_flag("warm_start", estimator.warm_start)
    if not isinstance(estimator.verbose, (bool, int, np.bool_, np.integer)):
        raise TypeError(f"verbose must be True, False or an integer; got {shown(estimator.verbose)}.")
    try:
        check_random_state(getattr(estimator, "random_state", None))
    except ValueError as error:
        raise ValueError(f"random_state must be None, an integer or a RandomState: {error}.") from error
    if estimator.max_seconds is not None:
        check_number("max_seconds", estimator.max_seconds, above=0, infinite=True)
    if estimator.n_jobs is not None and check_number("n_jobs", estimator.n_jobs, integer=True) == 0:
        raise ValueError("n_jobs must not be 0; use None or -1 for all cores.")


def warn_unless_converged(
    estimator: Any, status: Status, distance: str, *, advice: str = "", hint: str = "", words: str = ""
) -> None:
    """Why the fit ended, how far the model can be from the optimum, and what to do; ``words`` are scikit-learn's, for
    fits that were stopped at ``max_iter``."""
    if status.converged:
        return
    name = type(estimator).__name__
    first = words.format(name=name, max_iter=estimator.max_iter) if status is Status.MAX_ITER else ""
    warn(
        f"{first}{name} did not converge ({advice or status.value}). The model is the best one so far: its "
        f"{distance}.{hint}",
        ConvergenceWarning,
    )


def scaling_hint(X: Points, names: Any) -> str:
    """A sentence that names the column to scale, when one is much larger than the others."""
    if X.ndim < 2 or X.shape[1] < 2 or X.shape[0] < 2:
        return ""
    entries = X.nnz if sp.issparse(X) else X.size
    X = X[:: min(1 + entries // HINT_MAX_ENTRIES, max(1, X.shape[0] // HINT_MIN_ROWS))]
    if sp.issparse(X):
        size = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel().astype(np.float64))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            size = X.std(axis=0, dtype=np.float64)
    size = np.where(np.isfinite(size), size, 1e308)
    positive = size[size > 0]
    if len(positive) == 0:
        return ""
    largest, typical = int(np.argmax(size)), float(np.median(positive))
    name = f"'{names[largest]}'" if names is not None else str(largest)
    if size[largest] > 100 * typical:
        return (
            f" Column {name} varies {size[largest] / typical:.0e} times as much as a typical one: "
            "scale the columns, for instance with sklearn.preprocessing.StandardScaler."
        )
    if size[largest] > 1e3:
        return f" The columns vary by up to {size[largest]:.0e} (column {name}): scale them to about 1."
    return ""
