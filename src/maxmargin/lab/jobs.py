"""Work for the page: in a worker thread, one piece at a time for a page and purpose, and cancelled when nobody waits.

A page that asks again before it has its answer (while a point is dragged, say) no longer wants the first one: the
first is cancelled. A fit notices when its solver reports its progress next, that is within one block of its work.
"""

from __future__ import annotations

import asyncio
import secrets
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from maxmargin.lab.requests import RequestError, encode
from maxmargin.runtime.control import Control, Progress, watching

Function = Callable[[dict[str, Any], "Run"], dict[str, Any]]

REQUEST_MAX_SECONDS = 15.0  # seconds that a request may take
WATCHED_MAX_SECONDS = 120.0  # the same for a fit that is watched
POLL_SECONDS = 0.05  # seconds between two checks of a fit
HEARTBEAT_SECONDS = 5.0  # seconds after which a silent stream says that it is alive
RESULT_KEPT_SECONDS = 60.0  # seconds for which the result of a fit waits for somebody to fetch it
KEPT_MAX_PAGES = 8  # of which is known what they computed last


class Cancelled(Exception):
    """Nobody waits for this any more."""


class Run(Control):
    """The control of one request: what solvers take as theirs, and what can be cancelled from another thread.

    Estimators have a control of their own. Inside a request, their progress is watched, and the watcher raises when
    the request is cancelled; so a function only has to hand ``max_seconds`` on.
    """

    latest: Progress | None = None
    kept: dict[str, Any] | None = None  # what the page's requests leave for its next ones

    def cancel(self) -> None:
        """Ask the work to end; from any thread."""
        self._interrupted.set()

    @property
    def cancelled(self) -> bool:
        return self._interrupted.is_set()

    @property
    def seconds_left(self) -> float | None:
        """For the ``max_seconds`` of an estimator."""
        return None if self.max_seconds is None else max(1e-3, self.max_seconds - self.seconds)

    def check(self) -> None:
        """Raise if the work is no longer wanted; for loops that report no progress."""
        if self.cancelled:
            raise Cancelled

    def hear(self, progress: Progress) -> None:
        """The watcher of every fit of this request."""
        self.check()
        self.latest = progress


class Jobs:
    """What is being computed, and for whom."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], Run] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._fits: dict[str, Fit] = {}
        self._quiet: list[Any] = []

    async def compute(self, page: str, channel: str, function: Function, request: dict[str, Any], run: Run) -> bytes:
        """The answer as JSON; raises :class:`Cancelled` if the page has asked again meanwhile."""
        earlier = self._runs.get((page, channel))
        if earlier is not None:
            earlier.cancel()
        self._runs[page, channel] = run
        run.kept = self._kept[page] = self._kept.pop(page, {})  # the newest page is the last
        if len(self._kept) > KEPT_MAX_PAGES:
            del self._kept[next(iter(self._kept))]
        try:
            with self._silenced():
                return await asyncio.to_thread(_work, function, request, run)
        finally:
            run.cancel()  # if the waiting was given up, the work is too
            if self._runs.get((page, channel)) is run:
                del self._runs[page, channel]

    def start(self, page: str, function: Function, request: dict[str, Any]) -> str:
        """Begin a fit that is watched; its name."""
        run = Run(max_seconds=WATCHED_MAX_SECONDS)
        name = secrets.token_urlsafe(12)
        task = asyncio.create_task(self.compute(page, "fits", function, request, run))
        self._fits[name] = Fit(run, task)
        task.add_done_callback(lambda task: self._forget_later(name, task))
        return name

    def _forget_later(self, name: str, task: asyncio.Task[bytes]) -> None:
        if not task.cancelled():
            task.exception()  # asked for, lest asyncio complain that nobody did
            asyncio.get_running_loop().call_later(RESULT_KEPT_SECONDS, self._fits.pop, name, None)

    def cancel(self, name: str) -> None:
        """End a fit that is watched."""
        self.fit(name).run.cancel()

    def fit(self, name: str) -> Fit:
        if name not in self._fits:
            raise RequestError("There is no such fit, or its result was fetched already: start it again.", status=404)
        return self._fits[name]

    async def events(self, name: str) -> AsyncIterator[bytes]:
        """A fit as server-sent events: its progress, and in the end its result. Whoever leaves cancels it."""
        fit = self.fit(name)
        try:
            shown, spoke = None, time.perf_counter()
            while not (fit.task.done() or fit.run.cancelled):
                await asyncio.wait({fit.task}, timeout=POLL_SECONDS)
                now, latest = time.perf_counter(), fit.run.latest
                if latest is not shown and latest is not None:
                    yield _event("progress", encode(_looked(latest)))
                    shown, spoke = latest, now
                elif now - spoke > HEARTBEAT_SECONDS:
                    yield b": alive\n\n"
                    spoke = now
            yield _ending(fit.task) if fit.task.done() else _event("error", encode({"error": "superseded"}))
        finally:
            fit.run.cancel()
            self._fits.pop(name, None)

    def stop(self) -> None:
        """Cancel everything."""
        for run in [*self._runs.values(), *(fit.run for fit in self._fits.values())]:
            run.cancel()

    @contextmanager
    def _silenced(self) -> Iterator[None]:
        """No warnings while anything is computed: answers say themselves what did not converge. The filters are the
        process's, so the first to come sets them and the last to go restores them; both in the thread of the loop."""
        if not self._quiet:
            quiet = warnings.catch_warnings()
            quiet.__enter__()
            warnings.simplefilter("ignore")
            self._quiet.append(quiet)
        self._quiet.append(None)
        try:
            yield
        finally:
            self._quiet.pop()
            if len(self._quiet) == 1:
                self._quiet.pop().__exit__(None, None, None)


@dataclass(frozen=True)
class Fit:
    """A fit that is watched."""

    run: Run
    task: asyncio.Task[bytes]


def _work(function: Function, request: dict[str, Any], run: Run) -> bytes:
    """In the worker thread: compute and encode."""
    run.check()
    with watching(run.hear):
        answer = function(request, run)
    run.check()
    return encode(answer)


def _looked(progress: Progress) -> dict[str, Any]:
    return {
        "iteration": progress.iteration,
        "violation": progress.violation,
        "gap": progress.primal - progress.dual,
        "primal": progress.primal,
        "dual": progress.dual,
        "n_support": progress.n_support,
        "seconds": progress.seconds,
    }


def _ending(task: asyncio.Task[bytes]) -> bytes:
    error = task.exception()
    if error is None:
        return _event("done", task.result())
    if isinstance(error, Cancelled):
        return _event("error", encode({"error": "superseded"}))
    if isinstance(error, ValueError):
        return _event("error", encode({"error": str(error), "field": getattr(error, "field", None)}))
    return _event("error", encode({"error": mistake(error)}))


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def mistake(error: BaseException) -> str:
    """What the page receives about an error that nobody foresaw; the terminal shows the rest."""
    import traceback

    traceback.print_exception(error)
    return (
        f"This is a mistake of ours ({type(error).__name__}), not of yours: the terminal shows where. Change something "
        "and try again."
    )
