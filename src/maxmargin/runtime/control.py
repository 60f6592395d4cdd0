"""Run control: the deadline, Ctrl-C, and progress, for every loop of every solver.

A solver calls :meth:`Control.stop` between blocks of work that take well under 0.2 s. The first Ctrl-C asks it to
stop with the best model so far; a second one raises ``KeyboardInterrupt`` as usual.
"""

from __future__ import annotations

import enum
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from maxmargin.runtime.logging import say


class Status(enum.Enum):
    """How a run ended; the value is what a user should know or do about it."""

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
    """One look at a run, as handed to a progress callback; objectives and |w| where the solver knows them."""

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
    """Every fit that begins inside reports its progress to ``callback`` too, whatever estimator it is in and from
    whichever thread it runs.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.runtime.control import watching
    >>> seen = []
    >>> with watching(seen.append):
    ...     machine = SVC(solver="smo").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> seen[-1].n_support == len(machine.support_)
    True
    """
    token = _watchers.set((*_watchers.get(), callback))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def unwatched() -> Iterator[None]:
    """Fits that begin inside report to nobody: those that only serve another one."""
    token = _watchers.set(())
    try:
        yield
    finally:
        _watchers.reset(token)


@dataclass
class Control:
    """When to stop, and whom to tell.

    Parameters
    ----------
    max_iter : int
        Steps allowed for one problem, -1 for no limit of the user's.
    max_seconds : float or None
        Wall-clock limit for the whole fit.
    callback : callable or None
        Called with a :class:`Progress` once per block of work.
    seen : list of Progress
        All that was reported.
    watchers : tuple of callables
        Those of :func:`watching` around the place where the fit began; called like ``callback``.
    """

    max_iter: int = -1
    max_seconds: float | None = None
    callback: Callable[[Progress], None] | None = None
    started: float = field(default_factory=time.perf_counter)
    seen: list[Progress] = field(default_factory=list)
    watchers: tuple[Callable[[Progress], None], ...] = field(default_factory=_watchers.get)
    _interrupted: threading.Event = field(default_factory=threading.Event)

    def of_one(self) -> Control:
        """For one of several problems: the same clock, limits and listener, and its own list of what was seen."""
        return replace(self, seen=[])

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def stop(self) -> Status | None:
        """The reason to stop now, if there is one."""
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
        self.seen.append(progress)
        for listener in self.watchers if self.callback is None else (self.callback, *self.watchers):
            listener(progress)

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Turn the first Ctrl-C into a request to stop. Only the main thread may set handlers, and only Python's own
        handler is replaced: a program that handles SIGINT itself keeps doing so."""
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if not ours:
            yield
            return

        def handle(number: int, frame: object) -> None:
            if self._interrupted.is_set():
                raise KeyboardInterrupt
            self._interrupted.set()

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def print_note(text: str) -> None:
    """A line of ``verbose=True`` that is not progress."""
    say(text)


def print_progress(progress: Progress) -> None:
    """The callback of ``verbose=True``: one line a block."""
    say(
        f"{progress.seconds:8.2f} s  iterations {progress.iteration:>9,}  "
        f"violation {progress.violation:.3e}  support vectors {progress.n_support:,}"
    )
