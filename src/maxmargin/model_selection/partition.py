"""Searches of many rows, approximated: input space is divided into cells, each with a search and a model of its own.

A tree of axis-parallel cuts divides the rows: each node at the median of the column in which its rows vary most, until
a cell has no more rows than were asked for. A point is predicted by the model of the cell it lies in. Time grows with
the number of rows times the size of a cell, where a search over all rows takes its square and more. What is lost is
the part of a kernel function that reaches across the border of a cell; the fitted function jumps there. Large data with
a local kernel lose little (P. Thomann, I. Blaschzyk, M. Meister & I. Steinwart, "Spatial decompositions for large scale
SVMs", AISTATS 2017).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin.model_selection.results import ranks
from maxmargin.runtime.control import Control, Status, print_note
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.interrupts import NothingKept
from maxmargin.runtime.text_report import TextReport
from maxmargin.runtime.threads import effective_threads, run_tiles
from maxmargin.runtime.validation import Array, Points, check_new_points, check_number, check_weights, warn

CELL_MIN_ROWS = 100  # fewer do not fill the folds of a search
VARIANCE_MAX_ROWS = 2000  # of a node, by which its column is chosen


@dataclass(frozen=True)
class Partition:
    """A tree of cuts: node k sends a point with ``x[column[k]] > cut[k]`` to ``after[k, 1]``, others to
    ``after[k, 0]``; the cell c is the entry ``~c``."""

    column: Array
    cut: Array
    after: Array

    @classmethod
    def of(cls, X: Points, max_rows: int) -> tuple[Partition, list[Array]]:
        """Divide the rows of X; the tree, and the rows of each cell."""
        column: list[int] = []
        cut: list[float] = []
        after: list[list[int]] = []
        cells: list[Array] = []
        waiting = [(np.arange(X.shape[0]), -1, 0)]  # rows, their node's parent and side
        while waiting:
            rows, parent, side = waiting.pop()
            found = _median_cut(X, rows) if len(rows) > max_rows else None
            if found is None:
                number = ~len(cells)
                cells.append(rows)
            else:
                number = len(column)
                j, value = found
                column.append(j)
                cut.append(value)
                after.append([0, 0])
                above = _entries(X, rows, np.full(len(rows), j)) > value
                waiting += [(rows[above], number, 1), (rows[~above], number, 0)]
            if parent >= 0:
                after[parent][side] = number
        return cls(np.array(column, np.int64), np.array(cut), np.array(after, np.int64).reshape(-1, 2)), cells

    def assign(self, X: Points) -> Array:
        """The cell of each point."""
        node = np.full(X.shape[0], 0 if len(self.column) else ~0)
        inside = np.flatnonzero(node >= 0)
        while len(inside):
            at = node[inside]
            above = _entries(X, inside, self.column[at]) > self.cut[at]
            node[inside] = self.after[at, above.astype(np.int64)]
            inside = inside[node[inside] >= 0]
        return ~node


def _entries(X: Points, rows: Array, columns: Array) -> Array:
    """Entries of dense or CSR points, one per row and column given."""
    return np.asarray(X[rows, columns]).reshape(-1)


def _median_cut(X: Points, rows: Array) -> tuple[int, float] | None:
    """The column in which the rows vary most and its median, such that both sides have rows; None if all are equal."""
    sample = X[rows[:: max(1, len(rows) // VARIANCE_MAX_ROWS)]].astype(np.float64)
    if sp.issparse(sample):
        variances = np.asarray(sample.multiply(sample).mean(axis=0) - np.square(sample.mean(axis=0))).ravel()
    else:
        variances = sample.var(axis=0)
    for j in np.argsort(-variances, kind="stable"):
        values = _entries(X, rows, np.full(len(rows), j))
        middle = float(np.median(values))
        if (values > middle).any():
            return int(j), middle
        below = values[values < middle]  # half of the values and more are the largest
        if len(below):
            return int(j), float(below.max())
    return None


class CellClassifier(ClassifierMixin, TextReport, Estimator):
    """The models of all cells as one classifier, which is fitted when it is made; it prints what it is.

    Attributes
    ----------
    models_ : list
        The model of each cell; None for a cell whose rows all have one label, and for one that was not searched.
    cell_sizes_ : array of int
        Training rows of each cell.
    classes_ : array
        Labels.
    """

    models_: Sequence[Any]
    cell_sizes_: Array
    classes_: Array
    _partition: Partition
    _constant: Array  # the code of each cell's most frequent class

    @classmethod
    def of(
        cls, partition: Partition, models: Sequence[Any], cell_sizes: Array, classes: Array, constant: Array
    ) -> CellClassifier:
        made = cls()
        made.models_, made.cell_sizes_, made.classes_ = list(models), cell_sizes, classes
        made._partition, made._constant = partition, constant
        return made

    def fit(self, X: Any, y: Any = None) -> Any:
        """Refused: a search makes it."""
        raise TypeError("CellClassifier is made by SVCCV(cells=...).fit(X, y), which chooses and fits its models.")

    def predict(self, X: Any) -> Array:
        """Labels of points, each by the model of its cell."""
        X = check_new_points(self, X)
        labels = np.empty(X.shape[0], self.classes_.dtype)
        for points, k in self._visited(X):
            model = self.models_[k]
            labels[points] = self.classes_[self._constant[k]] if model is None else model.predict(X[points])
        return labels

    def decision_function(self, X: Any) -> Array:
        """Decision values of two classes; a cell with one class has -1 or 1."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"cells: decision values of {len(self.classes_)} classes are those of each cell's own classes, and not "
                "comparable. Use predict, or a search without cells."
            )
        X = check_new_points(self, X)
        values = np.empty(X.shape[0])
        for points, k in self._visited(X):
            model = self.models_[k]
            values[points] = 2.0 * self._constant[k] - 1.0 if model is None else model.decision_function(X[points])
        return values

    def _visited(self, X: Points) -> list[tuple[Array, int]]:
        """The points of X in each cell that has some, and the cell."""
        cells = self._partition.assign(X)
        order = np.argsort(cells, kind="stable")
        runs = np.split(order, np.flatnonzero(np.diff(cells[order])) + 1)
        return [(points, int(cells[points[0]])) for points in runs if len(points)]

    def _lines(self) -> list[tuple[str, str]]:
        fitted = [model for model in self.models_ if model is not None]
        support = sum(len(model.support_) for model in fitted)
        worst = max((model.report_.kkt_violation for model in fitted), default=0.0)
        return [
            ("model", f"SVC in {len(self.models_):,} cells of at most {self.cell_sizes_.max():,} rows"),
            ("approximate", "each cell has its own model; there is no certificate of the whole"),
            ("cells of one class", f"{len(self.models_) - len(fitted):,}"),
            ("support vectors", f"{support:,}"),
            ("largest KKT violation", f"{worst:.2e}, of the problem of a cell"),
        ]


def search_in_cells(search: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
    """Run a search in every cell, and set the attributes of ``search``."""
    check_number("cells", search.cells, least=CELL_MIN_ROWS, integer=True)
    if groups is not None:
        raise ValueError("groups cannot be kept together across cells: give cells=None, or cv without groups.")
    if search._is_precomputed():
        raise ValueError("cells divides input space, and kernel='precomputed' has no points: give cells=None.")
    X, y, codes = search._read(X, y)
    if X.ndim != 2:
        raise ValueError("cells divides points with columns, and these are objects: give cells=None.")
    weights = check_weights(sample_weight, X.shape[0])
    control, threads = Control.of_deadline(search), effective_threads(search.n_jobs)
    partition, cells = Partition.of(X, int(search.cells))
    gammas = search.gammas
    if gammas is None:  # those around the scale of all rows, not of each cell's
        made = search._variants(X, weights)
        gammas = [variant.params["gamma"] for variant in made if "gamma" in variant.params] or None
    alone = clone(search).set_params(cells=None, n_jobs=1, verbose=False, gammas=gammas)
    found: list[Any] = [None] * len(cells)

    def work(k: int) -> None:
        rows = cells[k]
        rows = rows[weights[rows] > 0]
        if control.stop() is not None or len(rows) == 0 or (codes[rows] == codes[rows[0]]).all():
            return
        own = clone(alone)
        if search.max_seconds is not None:
            own.max_seconds = max(0.1, search.max_seconds - control.seconds)
        try:
            own.fit(X[rows], y[rows], None if sample_weight is None else weights[rows])
        except NothingKept:
            return
        if search.refit and not hasattr(own, "best_estimator_"):  # Ctrl-C left scores of some candidates
            return
        found[k] = own
        if search.verbose:
            print_note(f"{control.seconds:8.2f} s  cell {k + 1:,} of {len(cells):,}: {own.best_params_}")

    with control.catching_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds without a rare class, cell by cell
        run_tiles(work, len(cells), threads)
    _publish(search, control, cells, found)
    if search.refit:
        counts = [np.bincount(codes[rows], weights[rows], len(search.classes_)) for rows in cells]
        models = [None if own is None else own.best_estimator_ for own in found]
        sizes, constant = np.array([len(rows) for rows in cells]), np.argmax(counts, axis=1)
        search.best_estimator_ = CellClassifier.of(partition, models, sizes, search.classes_, constant)
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(search):
                setattr(search.best_estimator_, name, vars(search)[name])


def _publish(search: Any, control: Control, cells: Sequence[Array], found: Sequence[Any]) -> None:
    """The scores of all cells' searches as those of one: means weighted by rows."""
    done = [k for k, own in enumerate(found) if own is not None]
    stopped = control.stop()
    if not done:
        if stopped is Status.INTERRUPTED:
            raise NothingKept("The search was interrupted before any cell was searched.")
        if stopped is not None:
            raise TimeoutError(f"The search ended before any cell was searched ({stopped.value}).")
        raise ValueError("Every cell has rows of one class only: there is nothing to search. Give fewer, larger cells.")
    share = np.array([len(cells[k]) for k in done], np.float64)
    share /= share.sum()
    first = found[done[0]]
    means = share @ np.array([found[k].cv_results_["mean_test_score"] for k in done])
    kept = {name: column for name, column in first.cv_results_.items() if name.startswith("param")}
    search.cv_results_ = {**kept, "mean_test_score": means, "rank_test_score": ranks(means)}
    search.best_index_ = int(np.nanargmax(means))
    search.best_params_ = dict(kept["params"][search.best_index_])
    search.best_score_ = float(share @ [found[k].best_score_ for k in done])
    search.n_splits_, search.scorer_, search.error_reasons_ = first.n_splits_, first.scorer_, {}
    search.status_ = "complete" if stopped is None else stopped.value
    for name in ("C", "gamma"):
        search.__dict__.pop(f"{name}_", None)
        if name in search.best_params_:
            setattr(search, f"{name}_", search.best_params_[name])
    if stopped is not None:
        warn(
            f"{type(search).__name__} searched {len(done):,} of {len(cells):,} cells ({stopped.value}); the others "
            "predict their most frequent class.",
            ConvergenceWarning,
        )
