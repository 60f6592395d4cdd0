"""One kernel on one fold: the models of all cells that share them, solved one after the other.

    PathJob        C-SVC on held kernel values, along C; one part per binary problem, which may run side by side
    HeldJob        regression and one-class problems on held kernel values (``held_jobs.py``)
    EstimatorJob   any estimator, by its own ``fit``, with a warm start from one cell to the next

A path of C is

    minimise 1/2 a'Ka - y'a    subject to  sum a = 0,  0 <= y_i a_i <= c_i,        a_i = y_i alpha_i,  f = Ka

on kernel values in float32, one solve compiled (``native/path``). A fold is a mask: rows outside it have the bound
c_i = 0, can neither rise nor fall, and still have their f computed, so that the score of the rows left out needs no
further kernel value. The next C starts on the ray of the last solution, at theta a, 1 <= theta <= C_new / C, which is
feasible for every such theta. The dual is least at theta = y'a / a'Ka; but where that is not far from the end of the
ray, most variables are at their bounds, and the end, where they still are, needs fewer steps. (Starts from a
neighbour: DeCoste & Wagstaff 2000.)

A job's ``part(t)`` solves, and ``results()`` returns the decision values of the held-out samples, cell by cell.
"""

from __future__ import annotations

import abc
import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin import _native
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.gram.tiled import padded_slots
from maxmargin.model_selection.folds import Fold
from maxmargin.model_selection.grid import Cell
from maxmargin.model_selection.results import NOT_REACHED
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Progress, Status, watching
from maxmargin.runtime.threads import Scratch
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel.forecast import without_long_fit_warning
from maxmargin.svm.models.known_values import KnownValues
from maxmargin.svm.models.multiclass import one_vs_one, one_vs_rest, pairs

MAX_VARIABLES_PER_CALL = 300_000_000  # variables touched between two checks of the clock: some hundredths of a second
RAY_END_MIN_SHARE = 0.3  # of the ray: from there on its end is the better start
MATRIX_MAX_ROWS = 2048  # of a solve's own matrix: it stays in the cache
DEFAULT_MAX_STEPS = 10_000_000  # for each problem, if the user sets no limit
OWN_MATRIX_MAX_ROWS = 4000  # rows up to which an estimator gets a matrix of its own, in double precision
# Rounding of held kernel values, relative to tol, up to which they are used:
ESTIMATOR_MAX_ROUNDING = 1e-4  # by an estimator's own fit
TUBE_MAX_ROUNDING = 0.1  # for a region or a tube
CLASSES_MAX_ROUNDING = 1.0  # for classes, as in LIBSVM
SINGLE_MAX_ERROR = 1e-4  # error of a decision value that single precision may make


@dataclass(frozen=True)
class Setting:
    """The data and options that all jobs of a search share."""

    estimator: Any  # with the parameters that are not searched
    points: Points
    target: Array | None  # labels or values of the canonical rows
    codes: Array  # class codes
    classes: Array  # labels of a classifier, empty otherwise
    control: Control
    scratch: Scratch


@dataclass(frozen=True)
class CellResult:
    """The result of one cell on the held-out samples: a model with their decision values, or the reason of a
    failure."""

    estimator: Any = None
    seconds: float = math.nan
    converged: bool = True
    reason: str = ""


def held_out_model(
    estimator: Any, points: Any, values: Array, also: tuple[Any, Array] | None = None, **fitted: Any
) -> Any:
    """A model with known values on the held-out points (``also``: and on some others) only. Scorers
    can use it as they would use the fitted model; ``fitted`` are attributes that it has besides."""
    model = copy.copy(estimator)
    for name, value in fitted.items():
        setattr(model, name, value)
    model._expansion = KnownValues([(points, values)] if also is None else [(points, values), also])
    return model


class Job(abc.ABC):
    """The cells of one kernel on one fold, ``K`` its kernel values where they are held; cells are numbered."""

    parts: int = 1  # that may run side by side

    def __init__(
        self, setting: Setting, kernel: Kernel, K: Array | None, fold: Fold, cells: Sequence[tuple[int, Cell]]
    ) -> None:
        self.setting, self.kernel, self.K, self.fold, self.cells = setting, kernel, K, fold, cells
        self.estimator, self.control = setting.estimator, setting.control
        self.rows = np.flatnonzero(fold.weight)
        if len(setting.classes):
            check_two_classes(setting.classes[np.unique(setting.codes[self.rows])])
        if len(self.rows) == 0:
            raise ValueError("no sample of the training part has a weight")
        self.found = [CellResult()] * len(cells)

    @abc.abstractmethod
    def part(self, t: int) -> None:
        """Solve one part."""

    def results(self) -> list[CellResult]:
        """What was found, cell by cell."""
        return [answer if answer.estimator is not None or answer.reason else self._stopped() for answer in self.found]

    def _stopped(self) -> CellResult:
        status = self.control.stop()
        return CellResult(reason=NOT_REACHED if status is None else status.value)


def ray(y: Array, a: Array, f: Array, ratio: float) -> float:
    """Where on the ray of the last solution the next C, ``ratio`` times as large, should start."""
    curvature = float(a @ f)
    theta = float(y @ a) / curvature if curvature > 0 else ratio
    return ratio if theta > RAY_END_MIN_SHARE * ratio else max(1.0, theta)


class PathJob(Job):
    """C-SVC along C, smallest first; one part per binary problem."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert self.K is not None
        estimator, fold, cells, trained = self.estimator, self.fold, self.cells, self.rows
        codes, classes = self.setting.codes, self.setting.classes
        factors = check_class_weights(estimator.class_weight, classes, codes[trained], fold.weight[trained])
        self.bound = fold.weight * factors[codes]
        self.rows = np.flatnonzero(self.bound)
        if len(self.rows) == 0:
            raise ValueError("all samples have zero weight once class_weight is applied")
        self.present = np.bincount(codes, weights=self.bound, minlength=len(classes)) > 0
        self.scheme = estimator.multiclass if len(classes) > 2 else "ovo"
        tasks = (one_vs_one if self.scheme == "ovo" else one_vs_rest)(codes[self.rows], len(classes))
        self.tasks, self.paired = tasks, self.scheme == "ovo" and len(classes) > 2
        shape = (len(cells), len(tasks))
        self.offset, self.seconds, self.converged = np.zeros(shape), np.zeros(shape), np.ones(shape, bool)
        self.reached = np.zeros(len(tasks), int)  # cells that were solved
        if self.paired:
            # Rows come class by class. The models of a class are those against each other class, in their order.
            ends = np.searchsorted(codes[self.rows], np.arange(len(classes) + 1))
            self.of_class = [self.rows[start:end] for start, end in pairwise(ends)]
            self.pairs, others = pairs(len(classes)), len(classes) - 1
            self.coefficients = [np.zeros((len(rows), len(cells), others)) for rows in self.of_class]
        else:
            self.values = np.zeros((len(fold.place), *shape))
        self.parts = len(tasks)

    def part(self, t: int) -> None:
        """The models of one binary problem, for all C."""
        assert self.K is not None
        task = self.tasks[t]
        if task.constant is not None:
            self.offset[:, t], self.reached[t] = -task.constant, len(self.cells)
            return
        if self.paired:
            at, m = self.rows[task.rows], len(task.rows)
            K: Array = self.setting.scratch.take("pair", (m, padded_slots(m) + 16), np.float32)
            _native.gather(self.K, at, at, K[:, :m])
            K[:, m:] = 0.0
            y, bound = task.y, self.bound[at]
        else:
            K, y, bound = self.K, np.ones(len(self.K)), self.bound
            y[self.rows] = task.y
        n = len(y)
        wide = min(MATRIX_MAX_ROWS, padded_slots(n) + _native.SLOT_UNIT)
        M = self.setting.scratch.take("near", (wide, wide + 16), np.float32)
        W, held = np.empty(wide, np.int64), np.zeros(1, np.int64)
        a, f, last = np.zeros(n), np.zeros(n), math.nan
        limit = self.estimator.max_iter if self.estimator.max_iter >= 0 else max(DEFAULT_MAX_STEPS, 100 * n)
        for c, (_, cell) in enumerate(self.cells):
            began = time.perf_counter()
            C = float(cell.hyperparameters["C"])
            if c:
                theta = ray(y, a, f, C / last)
                a *= theta
                f *= theta
            last, steps = C, 0
            while True:
                allowed_steps = min(limit - steps, max(1000, MAX_VARIABLES_PER_CALL // n))
                taken, violation, offset = _native.advance_path(
                    K, y, C * bound, a, f, W, held, M, float(self.estimator.tol), allowed_steps
                )
                steps += taken
                if self.control.stop() is not None:
                    return
                if violation <= self.estimator.tol or steps >= limit or taken < allowed_steps:
                    break
            self.offset[c, t], self.converged[c, t] = offset, violation <= self.estimator.tol
            if self.paired:
                i, j = self.pairs[t]
                split = len(self.of_class[i])
                self.coefficients[i][:, c, j - 1], self.coefficients[j][:, c, i] = a[:split], a[split:]
            else:
                self.values[:, c, t] = f[self.fold.place]
            self.seconds[c, t] = time.perf_counter() - began
            self.reached[t] = c + 1

    def results(self) -> list[CellResult]:
        values = self._pair_values() if self.paired else self.values
        for c in range(int(self.reached.min())):
            model = held_out_model(
                self.estimator,
                self.fold.points,
                values[:, c] - self.offset[c],
                classes_=self.setting.classes,
                _scheme=self.scheme,
                _present=self.present,
            )
            self.found[c] = CellResult(model, float(self.seconds[c].sum()), bool(self.converged[c].all()))
        return super().results()

    def _pair_values(self) -> Array:
        """f of the samples left out, for all C and pairs: a matrix product for each class with its own rows only; in
        double precision where single precision could matter."""
        assert self.K is not None
        values = np.zeros((len(self.fold.place), *self.offset.shape))
        for k, (rows, coefficients) in enumerate(zip(self.of_class, self.coefficients, strict=True)):
            if len(rows) == 0:
                continue
            mine = [t for t, pair in enumerate(self.pairs) if k in pair]  # in the order of the other classes
            K, flat = self.K[np.ix_(self.fold.place, rows)], coefficients.reshape(len(rows), -1)
            size = float(np.abs(K).max(initial=0.0)) * float(np.abs(flat).sum(axis=0).max(initial=0.0))
            dtype = np.float32 if 2.0**-22 * size <= SINGLE_MAX_ERROR else np.float64
            values[:, :, mine] += (K.astype(dtype, copy=False) @ flat.astype(dtype)).reshape(
                len(K), len(self.cells), -1
            )
        return values


class EstimatorJob(Job):
    """Any estimator by its own ``fit``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.X = self.setting.points
        if isinstance(self.kernel, Precomputed):
            self.K = self.X
        elif self.K is not None:
            hard = any(math.isinf(cell.hyperparameters.get("C", 0.0)) for _, cell in self.cells)
            rounded = not precise(self.K, ESTIMATOR_MAX_ROUNDING * self.estimator.tol)
            if hard or len(self.rows) > OWN_MATRIX_MAX_ROWS or rounded:
                self.K = None  # a hard margin hangs on the last digits of K, and so may a small tol
        self.estimator = self._clone()

    def _clone(self) -> Any:
        kernel = "precomputed" if self.K is not None else self.kernel
        return clone(self.estimator).set_params(kernel=kernel, warm_start=True, n_jobs=1, verbose=False)

    def part(self, t: int) -> None:
        if self.K is None:
            train, test = self.X[self.rows], self.X[self.fold.place]
        else:
            train = self.K[np.ix_(self.rows, self.rows)].astype(np.float64)
            test = self.K[np.ix_(self.fold.place, self.rows)].astype(np.float64)
        target = self.setting.target
        given = () if target is None else (target[self.rows],)
        for c, (_, cell) in enumerate(self.cells):
            began = time.perf_counter()
            if self.control.stop() is not None:
                return
            if self.control.max_seconds is not None:
                self.estimator.max_seconds = max(0.01, self.control.max_seconds - self.control.seconds)
            try:
                self.estimator.set_params(**cell.hyperparameters)
                with watching(self._stop_if_interrupted), without_long_fit_warning():
                    self.estimator.fit(train, *given, sample_weight=self.fold.weight[self.rows])
                model = self._scored_model(test)
            except Exception as error:
                stopped = isinstance(error, InterruptedError) and self.control.stop() is not None
                self.found[c] = self._stopped() if stopped else CellResult(reason=f"{type(error).__name__}: {error}")
                continue
            converged = self.estimator.report_.status.converged
            if converged or self.control.stop() is None:
                self.found[c] = CellResult(model, time.perf_counter() - began, converged)

    def _stop_if_interrupted(self, progress: Progress) -> None:
        """End a fit that the user has interrupted: Ctrl-C is handled by the search, not by the fit."""
        if self.control.stop() is Status.INTERRUPTED:
            raise InterruptedError

    def _scored_model(self, test: Points) -> Any:
        """The fitted model, as far as a scorer may ask it; ``test`` are the points left out, ready for it."""
        return held_out_model(self.estimator, self.fold.points, self.estimator._decision(test))


def precise(K: Array, error: float) -> bool:
    """Whether kernel values that are held in single precision are rounded by no more than this."""
    return 2.0**-24 * float(np.abs(K.diagonal()).max(initial=0.0)) <= error


def check_two_classes(found: Array) -> None:
    """A fold that trains on one class only has nothing to learn."""
    if len(found) < 2:
        only = f"only class {found.tolist()[0]!r}" if len(found) else "no sample"
        raise ValueError(f"the training part of this split holds {only}: use stratified folds, or fewer of them")
