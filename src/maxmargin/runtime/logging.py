"""Messages while the library works: records of the logger ``maxmargin``.

There are none unless they were asked for (``verbose=True``) or are worth a warning, and nothing is ever printed: a
program sends the records where it likes,

    logging.getLogger("maxmargin").addHandler(...)     to a file, a window, ...
    logging.getLogger("maxmargin").setLevel("ERROR")   nowhere

and in a program that has set up no logging at all, they go to standard error.
"""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("maxmargin")
logger.addHandler(logging.NullHandler())


class _StandardError(logging.Handler):
    """One line per record on standard error, as long as no handler of the program's own would show it."""

    def emit(self, record: logging.LogRecord) -> None:
        if _has_other_handlers():
            return
        try:
            sys.stderr.write(f"[maxmargin] {record.getMessage()}\n")  # it may have been redirected since
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


_standard_error = _StandardError()


def _has_other_handlers() -> bool:
    above = logger.parent.handlers if logger.propagate and logger.parent is not None else []
    return any(not isinstance(handler, (logging.NullHandler, _StandardError)) for handler in [*logger.handlers, *above])


def show() -> None:
    """Make the records visible: of level INFO unless the program chose another, on standard error unless it has
    handlers. Python's own last resort shows warnings only, and nothing of a logger that has a NullHandler."""
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.addHandler(_standard_error)  # once: a handler that is there is not added again


def log_line(text: str) -> None:
    """A line of level INFO, shown to the user."""
    show()
    logger.info("%s", text)
