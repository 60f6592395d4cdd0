"""Long passes over kernel values that end when a run is to stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import Halted


@contextmanager
def halting(gram: Gram, control: Control) -> Iterator[None]:
    """Inside, a pass over the values of ``gram`` raises :class:`Halted` when the run is to stop."""

    def halt() -> None:
        if control.stop() is not None:
            raise Halted

    gram.poll = halt
    try:
        yield
    finally:
        gram.poll = None
