"""A run through the batches of a stream, some of which it keeps apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import scipy.sparse as sp

from maxmargin.runtime.batches import opened
from maxmargin.runtime.control import Control, print_note
from maxmargin.runtime.history import History
from maxmargin.runtime.validation import Array, Points, check_number
from maxmargin.svm.streaming.report import Estimate

HELD_OUT_MAX_BYTES = 256_000_000  # bytes of held-out batches after which no more are held out
REPORT_SECONDS = 5.0  # seconds between two lines of verbose=True inside an epoch


def kept_apart(held_out: Any) -> tuple[float, Any]:
    """The share of the batches to hold out, and rows that are given for it."""
    if isinstance(held_out, (tuple, list)):
        return 0.0, opened(held_out)
    return 0.0 if held_out is None else check_number("held_out", held_out, least=0, most=0.5), None


@dataclass
class StreamRun:
    """What :meth:`StreamingMixin.fit_stream` remembers on its way."""

    control: Control
    share: float
    held: list[tuple[Points, Array, Array]] = field(default_factory=list)
    apart: set[int] = field(default_factory=set)  # of the batches held out
    estimates: list[Estimate] = field(default_factory=list)
    history: History = field(default_factory=History)
    rows: int = 0
    epoch: int = 0
    reported: float = 0.0

    def holds(self, i: int) -> bool:
        """Whether batch i is held out: the first of the stream, and then so many that their share is right."""
        due = self.epoch == 1 and math.ceil(i * self.share) < math.ceil((i + 1) * self.share)
        if due and sum(_bytes(X) for X, _, _ in self.held) < HELD_OUT_MAX_BYTES:
            self.apart.add(i)
        return i in self.apart

    def keep(self, X: Points, y: Array, weights: Array) -> None:
        """A copy, for the user's loader may use its memory again."""
        self.held.append((X.copy(), y.copy(), weights))

    def report(self, i: int) -> None:
        """A line now and then in a long epoch."""
        if self.control.seconds - self.reported > REPORT_SECONDS:
            self.reported = self.control.seconds
            print_note(f"{self.reported:8.2f} s  epoch {self.epoch}, batch {i + 1:,}, rows learnt {self.rows:,}")


def _bytes(X: Points) -> int:
    return int(X.data.nbytes + X.indices.nbytes) if sp.issparse(X) else int(X.nbytes)


def nothing_learnt(batches: int, epoch: int) -> str:
    """Why there was nothing to learn."""
    if batches == 0:
        remedy = " The function must return a new iterator each time." if epoch > 1 else ""
        return f"There are no batches in epoch {epoch}.{remedy}"
    return (
        f"All {batches} batch{'es' if batches > 1 else ''} of epoch {epoch} were held out, or had no weight: give more "
        "batches, smaller ones, or held_out=None."
    )


def streams(estimator: Any) -> bool:
    """Whether the estimator's model can be learnt from a stream."""
    if estimator.multi_class == "crammer_singer":
        raise AttributeError("A stream is learnt one-vs-rest: use multi_class='ovr', not 'crammer_singer'.")
    if estimator.penalty == "l1":
        raise AttributeError(
            "A stream is learnt with the squared length of w as its penalty: use penalty='l2', or fit."
        )
    return True
