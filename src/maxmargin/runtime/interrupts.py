"""Ctrl-C during a fit.

    while                          the first Ctrl-C                             the second
    input is checked, no solver    KeyboardInterrupt, the estimator as it was
    a solver runs                  the solver stops, the estimator holds the    KeyboardInterrupt at once, the
                                   best model so far, then FitInterrupted       estimator as it was before the fit
    between two fits               KeyboardInterrupt, as everywhere in Python

:class:`FitInterrupted` is a ``KeyboardInterrupt``: a loop over many fits, a grid search or a bootstrap ends with it.
Inside ``with interrupts("keep"):`` the fit returns the best model so far instead of raising.

How it works. Python runs signal handlers in the main thread, between two bytecodes. A :func:`catching` block replaces
Python's own handler of SIGINT by one that sets an event, which solvers poll (``Control.stop``). Fits inside such a
block share its event, on whichever thread they run. What has been requested is noted on the outermost fit
(:class:`FitScope`), which raises at its end: a signal that arrives while handlers are exchanged is noted by the one or
raised by the other. Programs with a SIGINT handler of their own keep it, and so do fits outside the main thread: there
Ctrl-C raises in the main thread only, and a fit is ended by ``max_seconds`` or by a callback that raises.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # its functions: those of signal look each handler up in an enumeration
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

POLICIES = ("raise", "keep")
KEPT_MODEL = (
    'the estimator holds the best model so far. Inside `with maxmargin.interrupts("keep"):` fit returns it instead of '
    "raising."
)


class FitInterrupted(KeyboardInterrupt):
    """Raised when Ctrl-C stops a fit; the estimator keeps the best model so far, and a search keeps its scores.

    Attributes
    ----------
    estimator : estimator or None
        The estimator with that model; its ``report_`` has the status and the gap. None in another process.

    Examples
    --------
    >>> from maxmargin import SVC, FitInterrupted
    >>> model = SVC()
    >>> try:
    ...     _ = model.fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    ... except FitInterrupted as stop:
    ...     print(stop.estimator.report_.status)  # and the model is usable
    """

    estimator: Any = None

    def __reduce__(self) -> Any:
        return type(self), self.args  # a model need not travel between processes with its exception


class NothingKept(KeyboardInterrupt):
    """Raised where Ctrl-C stops a fit that has no model yet; a fit that it serves goes on with what others found."""


@dataclass
class InterruptRequest:
    """Whether Ctrl-C has been pressed during a fit inside ``with interrupts(...) as request``.

    Attributes
    ----------
    requested : bool
    """

    requested: bool = False


@dataclass
class FitScope:
    """The outermost fit that is under way."""

    estimator: Any
    requested: bool = False  # whether Ctrl-C has requested the solver to stop
    kept: bool = False  # whether :class:`FitInterrupted` is being raised, and the estimator keeps its model
    started: float = field(default_factory=time.perf_counter)  # when it was called, by ``time.perf_counter``


_default_policy = ["raise"]
_policy: ContextVar[str | None] = ContextVar("interrupt policy", default=None)
_requests: ContextVar[tuple[InterruptRequest, ...]] = ContextVar("interrupt requests", default=())
_scope: ContextVar[FitScope | None] = ContextVar("outermost fit", default=None)
_event: ContextVar[threading.Event | None] = ContextVar("event of the enclosing fit", default=None)
_at_once: ContextVar[bool] = ContextVar("Ctrl-C raises at once", default=False)


def _checked(policy: str) -> str:
    if policy not in POLICIES:
        raise ValueError(f"policy must be 'raise' or 'keep'; got policy={policy!r}.")
    return policy


def set_interrupts(policy: str) -> None:
    """Set what Ctrl-C does to fits outside of :func:`interrupts`.

    Parameters
    ----------
    policy : {"raise", "keep"}
        As for :func:`interrupts`.

    Examples
    --------
    In a notebook, so that ``model = SVC().fit(X, y)`` returns a model when the cell is interrupted:

    >>> import maxmargin
    >>> maxmargin.set_interrupts("keep")
    >>> maxmargin.set_interrupts("raise")  # the default
    """
    _default_policy[0] = _checked(policy)


@contextmanager
def interrupts(policy: str) -> Iterator[InterruptRequest]:
    """Context manager that sets what Ctrl-C does to fits inside the block.

    Parameters
    ----------
    policy : {"raise", "keep"}
        ``"raise"``, the default: the estimator keeps the best model so far, and :class:`FitInterrupted`, a
        ``KeyboardInterrupt``, is raised. ``"keep"``: ``fit`` returns as usual, with a ``ConvergenceWarning``.

    Yields
    ------
    InterruptRequest
        Its attribute ``requested`` is true if Ctrl-C was pressed during a fit, so that a loop can end.

    Examples
    --------
    >>> import maxmargin
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> models = []
    >>> with maxmargin.interrupts("keep") as interrupt:
    ...     for C in (0.1, 1.0, 10.0):
    ...         models.append(maxmargin.SVC(C=C).fit(X, y))
    ...         if interrupt.requested:
    ...             break  # the last model is the best that was found until Ctrl-C
    >>> len(models)
    3
    """
    request = InterruptRequest()
    tokens = _policy.set(_checked(policy)), _requests.set((*_requests.get(), request))
    try:
        yield request
    finally:
        _policy.reset(tokens[0])
        _requests.reset(tokens[1])


def current_policy() -> str:
    """``"raise"`` or ``"keep"``."""
    return _policy.get() or _default_policy[0]


def interrupt_pending() -> bool:
    """Whether this fit will end with :class:`FitInterrupted`: nothing that takes time should be started any more."""
    scope = _scope.get()
    return scope is not None and scope.requested and current_policy() == "raise"


def enclosing_event() -> threading.Event:
    """The event that Ctrl-C sets: that of the fit around this place, or a new one."""
    return _event.get() or threading.Event()


class _Handler:
    """The handler of SIGINT inside a :func:`catching` block: the first signal sets the events, the second raises."""

    def __init__(self, event: threading.Event) -> None:
        self.events, self.scope, self.requests = [event], _scope.get(), _requests.get()

    def __call__(self, number: int, frame: object) -> None:
        if self.events[0].is_set():
            # Restore Python's handler of Ctrl-C, whatever this exception skips.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise KeyboardInterrupt
        for event in self.events:
            event.set()
        if self.scope is not None:
            self.scope.requested = True
        for request in self.requests:
            request.requested = True


@contextmanager
def raising_at_once() -> Iterator[None]:
    """Ctrl-C raises where it arrives: around fits that only serve another one, whose model so far nobody wants."""
    token = _at_once.set(True)
    try:
        yield
    finally:
        _at_once.reset(token)


@contextmanager
def catching(event: threading.Event, *, anew: bool = False) -> Iterator[None]:
    """The first Ctrl-C sets ``event``, for the work inside and for fits that start there.

    Only Python's own handler is replaced, and only in the main thread. A block inside another one is interrupted
    together with it; with ``anew`` it has its own first and second Ctrl-C, which the block around it does not see: for
    a fit that begins after another one was interrupted."""
    nested = _event.get() is not None and not anew
    if not (nested or anew) and interrupt_pending():  # taken by a fit that only served this one: no model yet
        raise KeyboardInterrupt
    token = _event.set(event)
    before: Any = None
    handler = _Handler(event)
    if threading.current_thread() is threading.main_thread():
        current = _signal.getsignal(signal.SIGINT)
        if isinstance(current, _Handler) and not anew:
            if event not in current.events:
                current.events.append(event)
                if current.events[0].is_set():
                    event.set()
        elif (current is signal.default_int_handler and not _at_once.get()) or isinstance(current, _Handler):
            before = current
    try:
        if before is not None:
            _signal.signal(signal.SIGINT, handler)
        yield
    finally:
        # signal.signal() first runs the handler of a signal that has arrived, then exchanges the handlers.
        if _signal.getsignal(signal.SIGINT) is handler:
            _signal.signal(signal.SIGINT, before)
        _event.reset(token)


def catching_anew() -> AbstractContextManager[None]:
    """:func:`catching` with an event of its own."""
    return catching(threading.Event(), anew=True)


def run_in_scope(scope: FitScope, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``work`` as the outermost fit. It runs in a copy of the context, so that nothing of it is left behind
    whichever exception ends it, at whichever moment."""
    context = copy_context()
    context.run(_scope.set, scope)
    return context.run(work, *args, **kwargs)


def current_scope() -> FitScope | None:
    """The outermost running fit, or None."""
    return _scope.get()


def started(estimator: Any) -> float:
    """When the fit of this estimator was called; now, where it only serves another fit."""
    scope = _scope.get()
    return scope.started if scope is not None and scope.estimator is estimator else time.perf_counter()


def interrupted(scope: FitScope) -> FitInterrupted:
    """The exception of a fit that Ctrl-C stopped."""
    scope.kept = True
    error = FitInterrupted(
        f"Ctrl-C during the fit of {type(scope.estimator).__name__}: "
        + getattr(scope.estimator, "_kept_after_interrupt", KEPT_MODEL)
    )
    error.estimator = scope.estimator
    return error
