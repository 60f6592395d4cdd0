"""The search for the number of landmarks, by the error on held-out rows.

m = 100, 200, 400, ... are tried. Rows x_1..x_h held out cost l_i(m) each (an error, or a squared one), and going from m
to 2m gains

    gain = mean_i l_i(m) - l_i(2m)   with the standard error   s = std_i(l_i(m) - l_i(2m)) / sqrt(h),

the losses being compared row by row. The search ends when the gain is no more than its standard error, when all rows
are landmarks, at 4,000, or when the next size would not fit the time or memory that are left; the model is then
fitted to all rows with the best m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array

FIRST_COMPONENTS = 100
MAX_COMPONENTS = 4000  # that ``"auto"`` tries: time grows with their cube
HELD_OUT_SHARE, HELD_OUT_MAX_ROWS = 0.2, 20_000
HOLD_OUT_MIN_ROWS = 20  # with fewer nothing is held out


@dataclass(frozen=True)
class Trial:
    """One size that was tried."""

    n_components: int
    score: float  # on the rows held out, as the estimator's ``score``
    seconds: float


@dataclass(frozen=True)
class Search:
    """The result of a search."""

    n_components: int
    trials: tuple[Trial, ...]
    ended: str  # why it ended


def held_out(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows to learn from and rows held out, in order."""
    count = min(HELD_OUT_MAX_ROWS, int(HELD_OUT_SHARE * n))
    is_held_out = np.zeros(n, bool)
    is_held_out[rng.choice(n, count, replace=False, shuffle=False)] = True
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def search(
    attempt: Callable[[int], tuple[Array, float]], n: int, *, control: Control, most: float, weights: Array
) -> Search:
    """Search for the number of landmarks.

    attempt: ``attempt(m)`` fits with m landmarks and returns the losses and the score of the rows held out
    n: rows learnt from: more landmarks there cannot be
    most: landmarks that memory allows
    weights: of the rows held out
    """
    trials: list[Trial] = []
    best, losses, m = min(FIRST_COMPONENTS, n), np.empty(0), min(FIRST_COMPONENTS, n)
    ended = f"all {n:,} rows are landmarks"
    while True:
        began = control.seconds
        new, score = attempt(m)
        seconds = control.seconds - began
        trials.append(Trial(m, score, seconds))
        if control.stop() is not None:
            ended = "stopped: out of time"
            best = best if len(losses) else m
            break
        if len(losses):
            gain = losses - new
            mean = float(np.average(gain, weights=weights))
            noise = math.sqrt(float(np.average((gain - mean) ** 2, weights=weights)) / len(gain))
            if mean <= noise:
                ended = f"{m:,} gain no more than noise"
                break
        best, losses = m, new
        if m >= n:
            break
        m = min(2 * m, n)
        if m > MAX_COMPONENTS:
            ended = f"{m:,} are tried only if n_components says so"
            break
        if m > most:
            ended = f"{m:,} would not fit into memory"
            break
        # A size twice as large takes up to eight times as long, and the final fit comes after it.
        if control.max_seconds is not None and control.seconds + 8 * seconds > control.max_seconds:
            ended = f"{m:,} would not fit into max_seconds"
            break
    return Search(best, tuple(trials), ended)
