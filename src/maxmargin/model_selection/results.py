"""The account of a search, in the layout of scikit-learn's ``cv_results_``.

A split that no cell could be scored on (one class in its training part, say) does not rank cells and is left out
of all means; one that was not come to, for the search was stopped, is not. A cell that misses any other split has no
mean: it is not chosen while there are others that have one.
"""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names

from maxmargin.model_selection.grid import Cell
from maxmargin.runtime.control import Status
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.validation import Array

STOPS = {Status.DEADLINE.value, Status.INTERRUPTED.value}
NOT_REACHED = "not reached"
UNREACHED = STOPS | {NOT_REACHED}


@dataclass
class Table:
    """Scores as they come in, one row per cell, one column per split."""

    n_splits: int
    cells: list[Cell] = field(default_factory=list)
    scores: list[Array] = field(default_factory=list)
    fit_times: list[Array] = field(default_factory=list)
    score_times: list[Array] = field(default_factory=list)
    reasons: list[list[str]] = field(default_factory=list)

    def add(self, cells: Sequence[Cell]) -> range:
        """Room for more cells; their numbers."""
        first = len(self.cells)
        self.cells.extend(cells)
        for _ in cells:
            for column in (self.scores, self.fit_times, self.score_times):
                column.append(np.full(self.n_splits, np.nan))
            self.reasons.append([NOT_REACHED] * self.n_splits)
        return range(first, len(self.cells))

    def means(self) -> Array:
        """The mean score of each cell, by the rule above."""
        counted = self._counted()
        if not counted.any():
            return np.full(len(self.scores), np.nan)
        return np.asarray(np.array(self.scores)[:, counted].mean(axis=1))

    def _counted(self) -> Array:
        """The splits that means are taken over."""
        unscored = np.isnan(np.array(self.scores)).all(axis=0)
        failed = [any(of[k] and of[k] not in UNREACHED for of in self.reasons) for k in range(self.n_splits)]
        stopped = [any(of[k] in STOPS for of in self.reasons) for k in range(self.n_splits)]
        return ~unscored | (np.array(stopped) & ~np.array(failed))

    def best(self) -> int | None:
        """The cell with the highest mean, the first of equal ones; if none has a mean, of the means over the splits
        that each was scored on. None if there is no score at all."""
        means = self.means()
        if np.isnan(means).all():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of cells without a score
                means = np.nanmean(np.array(self.scores), axis=1)
        return None if np.isnan(means).all() else int(np.nanargmax(means))

    def error_reasons(self) -> dict[int, dict[int, str]]:
        """Cell -> split -> why there is no score; only cells that lack one."""
        listed = {
            c: {k: reason for k, reason in enumerate(reasons) if reason} for c, reasons in enumerate(self.reasons)
        }
        return {c: reasons for c, reasons in listed.items() if reasons}

    def cv_results(self) -> dict[str, Any]:
        """Columns that ``pandas.DataFrame`` takes as they are."""
        columns: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of cells that were not reached
            for name, times in (("fit", self.fit_times), ("score", self.score_times)):
                columns[f"mean_{name}_time"] = np.nanmean(np.array(times), axis=1)
                columns[f"std_{name}_time"] = np.nanstd(np.array(times), axis=1)
        for name in sorted({name for cell in self.cells for name in cell.params}):
            columns[f"param_{name}"] = _column([cell.params.get(name, np.ma.masked) for cell in self.cells])
        columns["params"] = [cell.params for cell in self.cells]
        scores = np.array(self.scores)
        for k in range(self.n_splits):
            columns[f"split{k}_test_score"] = scores[:, k].copy()
        means, counted = self.means(), self._counted()
        columns["mean_test_score"] = means
        columns["std_test_score"] = scores[:, counted].std(axis=1) if counted.any() else means.copy()
        columns["rank_test_score"] = ranks(means)
        columns["reason"] = np.array(
            ["; ".join(f"split {k}: {why}" for k, why in enumerate(reasons) if why) for reasons in self.reasons],
            dtype=object,
        )
        return columns


def _column(values: list[Any]) -> Any:
    """A masked array: of numbers where all are, of objects otherwise."""
    masked = [value is np.ma.masked for value in values]
    numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values if v is not np.ma.masked)
    data = np.ma.MaskedArray(np.empty(len(values)), mask=masked, dtype=float if numeric else object)
    for i, value in enumerate(values):
        if not masked[i]:
            data[i] = value
    return data


def ranks(means: Array) -> Array:
    """1 for the highest mean; equal means share the better rank, cells without a mean the last."""
    filled = np.where(np.isnan(means), -np.inf, means)
    return np.array([1 + int(np.count_nonzero(filled > value)) for value in filled], dtype=np.int32)


def scorer_of(estimator: Any, scoring: Any, others: Sequence[str] = ()) -> Any:
    """The scorer that the user names; None is the estimator's own ``score``. ``others`` are names that are known
    elsewhere."""
    if isinstance(scoring, (list, tuple, set, Mapping)):
        raise TypeError(f"scoring must be one score, by name or as a function; got {scoring!r}.")
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = difflib.get_close_matches(scoring.lower(), [*others, *get_scorer_names()], n=1)
        known = f"one of {', '.join(map(repr, others))}, or of" if others else "one of"
        raise ValueError(
            f"scoring must be {known} sklearn.metrics.get_scorer_names(), or a function; got scoring={scoring!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise TypeError(f"scoring must be the name of a scorer or a function; got {scoring!r}.")
    return check_scoring(estimator, scoring=scoring)


def is_own_score(scorer: Any) -> bool:
    """Whether a scorer calls the estimator's ``score``."""
    return "PassthroughScorer" in type(scorer).__name__


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer can weigh samples."""
    if is_own_score(scorer):
        return True
    function = getattr(scorer, "_score_func", scorer)  # or a function of the user's own
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return "sample_weight" in known


@documented()
class ScoreByScorer:
    """To the left of scikit-learn's mixins, which have a ``score`` of their own."""

    scorer_: Any
    _best: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best model on new points, by ``scorer_``.

        {X_new, y, sample_weight -> score}
        """
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.scorer_(self._best("score"), X, y, **extra))
