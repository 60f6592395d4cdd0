"""Progress on a terminal: of reading, the bytes; of a fit, the violation that is left, support vectors, time; of other
steps with many rows, that they go on.

Solvers bring the violation down by about the same factor in the same time, so that of the way from the first violation
v0 to the tolerance the share

    log(v0 / v) / log(v0 / tol)

is behind us when it is v. Several problems (one-vs-one, one-vs-rest) have no common v: there the bar only moves. As
long as the share says nothing, the time left is that of the :class:`~maxmargin.LongFitWarning` before the fit, if any.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxmargin.runtime.text_report import tolerance_text

if TYPE_CHECKING:
    from maxmargin.runtime.control import Progress

SHARE_MIN_FOR_ESTIMATE = 0.1  # of the way: before, an estimate of the time left is off by a factor of ten or more
BAR_LETTERS = 27  # of the name, the bar and the time, before the state of a fit
READING_SHOWN_MIN_BYTES = 50_000_000  # smaller files are read before a bar would help
STEP_SHOWN_MIN_ROWS = 200_000  # with fewer, the steps before and after a fit take a second or two


class Way:
    """The way of one fit from its first violation to its tolerance."""

    def __init__(self, tol: float, problems: int = 1, max_seconds: float | None = None) -> None:
        self.tol, self.problems, self.max_seconds = tol, problems, max_seconds
        self.first = 0.0
        self.share = 0.0
        self.forecast = math.nan

    def see(self, progress: Progress) -> None:
        v = progress.violation
        if not (math.isfinite(v) and v > 0 and self.tol > 0):
            return
        self.first = max(self.first, v)
        if self.first > self.tol:
            gone = math.log(self.first / max(v, self.tol)) / math.log(self.first / self.tol)
            self.share = max(self.share, min(gone, 1.0))

    def left(self, seconds: float) -> float | None:
        """Seconds left, or None where a guess would be no better than silence."""
        guess = math.inf if self.max_seconds is None else max(0.0, self.max_seconds - seconds)
        if self.problems == 1 and self.share >= SHARE_MIN_FOR_ESTIMATE:
            guess = min(guess, seconds * (1 - self.share) / self.share)
        elif self.forecast > seconds:  # not where it is NaN
            guess = min(guess, self.forecast - seconds)
        return guess if math.isfinite(guess) else None


@contextmanager
def showing_reading() -> Iterator[None]:
    """A bar on standard error while a large data file is read inside, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from maxmargin.data.source import reading

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(name: str, done: int, size: int) -> None:
            if size < READING_SHOWN_MIN_BYTES:
                return
            if name not in tasks:
                tasks[name] = bar.add_task("reading", total=size)
            # after the last byte the parts of the columns are put together, for which no share is known
            end = {"description": "joining the columns", "total": None} if done >= size else {"total": size}
            bar.update(tasks[name], completed=done, **end)

        token = reading.set(update)
        try:
            yield
        finally:
            reading.reset(token)


@contextmanager
def showing_step(text: str, n_rows: int) -> Iterator[None]:
    """What goes on with many rows inside, on standard error, if that is a terminal; it leaves nothing behind."""
    if n_rows < STEP_SHOWN_MIN_ROWS or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(text, total=None)
        yield


@contextmanager
def showing_progress(tol: float, problems: int = 1, max_seconds: float | None = None) -> Iterator[None]:
    """A bar on standard error while a fit runs inside, if that is a terminal; it leaves nothing behind."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from maxmargin.runtime.control import watching
    from maxmargin.svm.kernel.forecast import duration

    way = Way(tol, problems, max_seconds)
    columns = (
        TextColumn("fitting"),
        BarColumn(bar_width=10),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}", style="dim"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0 if problems == 1 else None, state="")

        def see(progress: Progress) -> None:
            way.see(progress)
            left = way.left(progress.seconds)
            parts = [f"violation {progress.violation:.1e}, tolerance {tolerance_text(tol)}"]
            parts.append(f"{progress.n_support:,} support vectors")
            if left is not None and progress.seconds > 1:
                parts.insert(0, f"{duration(left)} left")
            while len(parts) > 1 and len(", ".join(parts)) > bar.console.width - BAR_LETTERS:
                parts.pop()
            bar.update(task, completed=way.share if problems == 1 else None, state=", ".join(parts))

        with watching(see), _hearing_forecasts(way):
            yield


@contextmanager
def _hearing_forecasts(way: Way) -> Iterator[None]:
    """The estimate of a warning before a long fit goes to ``way`` too."""
    from maxmargin.svm.kernel.forecast import LongFitWarning

    shown_before = warnings.showwarning

    def show(message: Any, *more: Any, **named: Any) -> None:
        if isinstance(message, LongFitWarning):
            way.forecast = message.seconds
        shown_before(message, *more, **named)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown_before
