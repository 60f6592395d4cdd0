"""The account of a stream, and the estimate that it rests on.

With h rows that were never learnt from and the averaged weights, the objective per row,

    lambda/2 |w|^2 + (1/h) sum_i r_i loss_i,     lambda = 1 / (C n),

is an honest estimate: r_i is the weight of the row, over their mean, times that of its class. Its standard error is
that of the mean of the r_i loss_i. Several models give the sum of theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.validation import Array

SHOWN_EPOCHS = 3  # epochs at either end of a printed report


class Estimate(NamedTuple):
    """The objective per row, its standard error, and the share of wrong labels."""

    objective: float
    standard_error: float
    error_rate: float


def estimate(
    values: Array, codes: Array, predicted: Array, weights: Array, factor: Array, *, squared: bool, penalty: float
) -> Estimate:
    """The error of a model on held-out rows.

    values: (h, models); decision values
    codes, predicted: (h,); the class of each row, and the one it is taken for
    weights: (h,)
    factor: (n_classes,); weights of the classes
    squared: the squared hinge, or the hinge
    penalty: lambda/2 |w|^2 of all models
    """
    models = values.shape[1]
    of = np.arange(models) if models > 1 else np.ones(1, int)
    own = codes[:, None] == of
    slack = np.maximum(0.0, 1.0 - np.where(own, values, -values))
    weight = np.where(own | (models == 1), factor[codes][:, None], 1.0)
    losses = (weight * (slack**2 if squared else slack)).sum(axis=1)
    total = float(weights.sum())
    if total == 0:
        return Estimate(math.nan, math.nan, math.nan)
    mean, rows = float(weights @ losses) / total, np.count_nonzero(weights)
    spread = float(np.sqrt(np.sum((weights * (losses - mean)) ** 2))) / total
    error = spread * math.sqrt(rows / (rows - 1)) if rows > 1 else math.nan
    return Estimate(penalty + mean, error, float(weights @ (codes != predicted)) / total)


@dataclass(frozen=True)
class StreamReport(TextReport):
    """The report of :meth:`~maxmargin.LinearSVC.fit_stream`.

    Attributes
    ----------
    model, parameters : str
        What was fitted, and with which parameters.
    ended : str
        How the run ended.
    complete : bool
        Whether all epochs were completed.
    rows : int
        Number of rows learnt from, counted once per epoch.
    size : float
        n of the penalty C n: rows of the stream (the sum of their weights) without those held out.
    held_out : int
        Rows held out.
    objectives, standard_errors, error_rates : arrays
        After each epoch, on the rows held out: lambda/2 |w|^2 + mean loss, with lambda = 1 / (C n), its standard error,
        and the error rate. NaN if no rows are held out.
    seconds : float
        Duration in seconds.
    advice : str
        Advice, if any.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> batches = [([[-2.0], [2.0]], [0, 1]), ([[-1.0], [1.0]], [0, 1])]
    >>> print(LinearSVC().fit_stream(batches, epochs=2).stream_report_)
    model               LinearSVC, 2 classes, from a stream
    parameters          C = 1, squared hinge loss, free intercept
    method              Pegasos with implicit steps; averaged weights (polynomial decay)
    status              the stream ended after 2 epochs
    rows                4 learnt, 2 held out
    ...
    """

    model: str
    parameters: str
    ended: str
    complete: bool
    rows: int
    size: float
    held_out: int
    objectives: Array
    standard_errors: Array
    error_rates: Array
    seconds: float
    advice: str = ""

    @property
    def epochs(self) -> int:
        return len(self.objectives)

    @property
    def objective(self) -> float:
        return float(self.objectives[-1])

    @property
    def standard_error(self) -> float:
        return float(self.standard_errors[-1])

    @property
    def error_rate(self) -> float:
        return float(self.error_rates[-1])

    def _epoch(self, e: int) -> str:
        return f"{self.objectives[e]:.5g} +- {self.standard_errors[e]:.2g}, error {self.error_rates[e]:.2%}"

    def _lines(self) -> list[tuple[str, str]]:
        lines = [
            ("model", self.model),
            ("parameters", self.parameters),
            ("method", "Pegasos with implicit steps; averaged weights (polynomial decay)"),
            ("status", self.ended),
            ("rows", f"{self.rows:,} learnt, {self.held_out:,} held out"),
            ("penalty of slack", f"C n = C {self.size:,.10g}"),
        ]
        if self.held_out:
            shown = [e for e in range(self.epochs) if min(e, self.epochs - 1 - e) < SHOWN_EPOCHS]
            lines += [(f"held out, epoch {e + 1}", self._epoch(e)) for e in shown]
        else:
            lines.append(("held out", "nothing, so there is no estimate of the objective"))
        lines += [("advice", self.advice)] if self.advice else []
        return [*lines, ("time", f"{self.seconds:.3g} s")]
