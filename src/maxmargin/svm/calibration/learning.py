"""From out-of-fold decision values to a calibration: the maps, how well they do, and its report.

Where a fit was stopped before any row had an out-of-fold value, maps are learnt from the values of the model of all
rows (``training``), which are too certain; a warning says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin.runtime.validation import Array, warn
from maxmargin.svm.calibration.calibrated import Calibration, fit_binary, fit_classes, log_loss
from maxmargin.svm.calibration.folds import Folds


@dataclass(frozen=True)
class CalibrationGoal:
    """What is to be calibrated: the method, the labels, which classes have weight, and the folds."""

    method: str
    classes: Array
    present: Array
    folds: Folds


class ReachedRows(NamedTuple):
    """Rows to learn from, their values, and the number of rows that have an out-of-fold value."""

    rows: Array
    values: Array
    n_out_of_fold: int


def reached_rows(values: Array, weight: Array, training: Array) -> ReachedRows:
    """The rows that have an out-of-fold value; if none has, all rows with their training values."""
    evaluated = weight > 0
    reached = evaluated & np.isfinite(values if values.ndim == 1 else values.sum(axis=1))
    n = int(np.count_nonzero(reached))
    return ReachedRows(np.flatnonzero(reached), values, n) if n else ReachedRows(np.flatnonzero(evaluated), training, 0)


def learn_binary(
    goal: CalibrationGoal, values: Sequence[Array], positive: Array, weight: Array, training: Sequence[Array]
) -> Calibration:
    """Two classes: the map of their model, or None (``values`` and ``training`` are lists of its values)."""
    if not values:
        return calibration_of(goal, "binary", [None])
    rows, found, n = reached_rows(values[0], weight, training[0])
    found, positive, weight = found[rows], positive[rows], weight[rows]
    learnt = fit_binary(goal.method, found, positive, weight)
    p = learnt(found)
    loss = log_loss(np.column_stack((1.0 - p, p)), positive.astype(int), weight) if n else np.nan
    return calibration_of(goal, "binary", [learnt], loss, n)


def learn_classes(goal: CalibrationGoal, scores: Array, codes: Array, weight: Array, training: Array) -> Calibration:
    """One score per class."""
    if np.count_nonzero(goal.present) < 2:  # nothing to learn: that class is certain
        n_maps = 1 if goal.method == "temperature" else len(goal.classes)
        return calibration_of(goal, "classes", [None] * n_maps)
    rows, scores, n = reached_rows(scores, weight, training)
    scores, codes, weight = scores[rows], codes[rows], weight[rows]
    maps = fit_classes(goal.method, scores, codes, weight, goal.present)
    learnt = Calibration(goal.method, "classes", maps, 0, 0, np.nan, "")
    loss = log_loss(learnt.probabilities(scores, goal.present), codes, weight) if n else np.nan
    return calibration_of(goal, "classes", maps, loss, n)


def calibration_of(
    goal: CalibrationGoal, kind: str, maps: list[Any], loss: float = np.nan, n_out_of_fold: int = 0
) -> Calibration:
    """The calibration, with notes and warnings about small classes and rows that were not reached."""

    def named(codes: Array) -> str:
        return ", ".join(repr(label) for label in goal.classes[codes].tolist())

    folds, notes, loud = goal.folds, [], []
    evaluated = int(np.count_nonzero((folds.of_row >= 0) & (folds.factor > 0)))
    if len(folds.few):
        notes.append(f"fewer rows than folds in class {named(folds.few)}: it is in some of the held-out parts only")
    if len(folds.alone):
        text = (
            f"a single row in class {named(folds.alone)}: it is never left out, so that the probabilities of this "
            "class come from the model's own training value"
        )
        loud.append((text, UserWarning))
    if n_out_of_fold < evaluated and any(training is not None for training in maps):
        rest = ", and the probabilities come from the model's own training values: they are too certain"
        text = (
            f"the fit was stopped when {n_out_of_fold:,} of {evaluated:,} rows had been evaluated without themselves"
            f"{'' if n_out_of_fold else rest}"
        )
        loud.append((text, ConvergenceWarning))
    for text, category in loud:
        warn(f"calibration: {text}.", category)
    note = "; ".join(notes + [text for text, _ in loud])
    return Calibration(goal.method, kind, maps, folds.count, n_out_of_fold, float(loss), note)
