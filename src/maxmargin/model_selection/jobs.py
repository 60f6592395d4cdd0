"""One kernel on one fold: the models of all cells that share them, solved one after the other.

    PathJob        C-SVC on held kernel values, along C; one part a binary task, which may run side by side
    TubeJob        epsilon-SVR on held kernel values, along C; one part an epsilon
    EstimatorJob     any estimator, by its own ``fit``, with a warm start from one cell to the next

A job's ``part(t)`` does the work, and ``answers()`` gives the decision values of the samples left out, cell by cell.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin import _native, problems
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.gram.tiled import whole_slots
from maxmargin.model_selection.folds import Fold
from maxmargin.model_selection.grid import Cell
from maxmargin.model_selection.path import MATRIX_MAX_ROWS, ray
from maxmargin.model_selection.store import MaskedGram
from maxmargin.problems import optimality
from maxmargin.runtime.class_weights import check_class_weights
from maxmargin.runtime.control import Control, Progress, Status, watching
from maxmargin.runtime.threads import Scratch
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers import ActiveSet
from maxmargin.svm.kernel.forecast import unannounced
from maxmargin.svm.models.known_values import KnownValues
from maxmargin.svm.models.multiclass import one_vs_one, one_vs_rest, pairs

MAX_VARIABLES_PER_CALL = 300_000_000  # variables touched between two checks of the clock: some hundredths of a second
MAX_STEPS = 10_000_000  # for each problem, if the user sets no limit
OWN_MATRIX_MAX_ROWS = 4000  # rows up to which a estimator gets a matrix of its own, in double precision
ESTIMATOR_MAX_ROUNDING = 1e-4  # rounding of kernel values, relative to tol, up to which a estimator is given held ones,
TUBE_MAX_ROUNDING = 0.1  # up to which a region or a tube is found on them,
CLASSES_MAX_ROUNDING = 1.0  # and up to which classes are separated on them, as in LIBSVM
SINGLE_MAX_ERROR = 1e-4  # error of a decision value that single precision may make


@dataclass(frozen=True)
class Answer:
    """What one cell says about the samples left out: a estimator that knows their decision values, or why there is
    none."""

    estimator: Any = None
    seconds: float = math.nan
    converged: bool = True
    reason: str = ""


def held_out_model(
    estimator: Any, points: Any, values: Array, also: tuple[Any, Array] | None = None, **fitted: Any
) -> Any:
    """A model that knows its values on the held-out points (``also``: and on some others), and nothing else. Scorers
    can use it as they would use the fitted model; ``fitted`` are attributes that it has besides."""
    model = copy.copy(estimator)
    for name, value in fitted.items():
        setattr(model, name, value)
    model._expansion = KnownValues([(points, values)] if also is None else [(points, values), also])
    return model


class PathJob:
    """C-SVC along C.

    Parameters
    ----------
    estimator : SVC
        Whose other parameters hold.
    K : array
        Held kernel values of all canonical rows.
    codes, classes : arrays
        The class of each canonical row, and the labels.
    fold : Fold
    cells : list of (int, Cell)
        The cells and their numbers, smallest C first.
    """

    def __init__(
        self,
        estimator: Any,
        K: Array,
        codes: Array,
        classes: Array,
        fold: Fold,
        cells: Sequence[tuple[int, Cell]],
        control: Control,
        scratch: Scratch,
    ) -> None:
        self.estimator, self.K, self.fold, self.cells = estimator, K, fold, cells
        self.control, self.scratch, self.classes = control, scratch, classes
        trained = np.flatnonzero(fold.weight)
        check_two_classes(classes[np.unique(codes[trained])])
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

    @property
    def parts(self) -> int:
        return len(self.tasks)

    def part(self, t: int) -> None:
        """The models of one binary task, for all C."""
        task = self.tasks[t]
        if task.constant is not None:
            self.offset[:, t], self.reached[t] = -task.constant, len(self.cells)
            return
        if self.paired:
            at, m = self.rows[task.rows], len(task.rows)
            K: Array = self.scratch.take("pair", (m, whole_slots(m) + 16), np.float32)
            _native.gather(self.K, at, at, K[:, :m])
            K[:, m:] = 0.0
            y, bound = task.y, self.bound[at]
        else:
            K, y, bound = self.K, np.ones(len(self.K)), self.bound
            y[self.rows] = task.y
        n = len(y)
        wide = min(MATRIX_MAX_ROWS, whole_slots(n) + _native.SLOT_UNIT)
        M = self.scratch.take("near", (wide, wide + 16), np.float32)
        W, held = np.empty(wide, np.int64), np.zeros(1, np.int64)
        a, f, last = np.zeros(n), np.zeros(n), math.nan
        limit = self.estimator.max_iter if self.estimator.max_iter >= 0 else max(MAX_STEPS, 100 * n)
        for c, (_, cell) in enumerate(self.cells):
            began = time.perf_counter()
            C = float(cell.hyperparameters["C"])
            if c:
                theta = ray(y, a, f, C / last)
                a *= theta
                f *= theta
            last, steps = C, 0
            while True:
                asked = min(limit - steps, max(1000, MAX_VARIABLES_PER_CALL // n))
                taken, violation, offset = _native.advance_path(
                    K, y, C * bound, a, f, W, held, M, float(self.estimator.tol), asked
                )
                steps += taken
                if self.control.stop() is not None:
                    return
                if violation <= self.estimator.tol or steps >= limit or taken < asked:
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

    def answers(self) -> list[Answer]:
        values = self._pair_values() if self.paired else self.values
        done = int(self.reached.min())
        found = []
        for c in range(done):
            model = held_out_model(
                self.estimator,
                self.fold.points,
                values[:, c] - self.offset[c],
                classes_=self.classes,
                _scheme=self.scheme,
                _present=self.present,
            )
            found.append(Answer(model, float(self.seconds[c].sum()), bool(self.converged[c].all())))
        return found + [Answer(reason=why(self.control))] * (len(self.cells) - done)

    def _pair_values(self) -> Array:
        """f of the samples left out, for all C and pairs: a matrix product for each class with its own rows only; in
        double precision where single precision could matter."""
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


class TubeJob:
    """Epsilon-SVR along C, one part an epsilon; parameters as those of :class:`PathJob`, with the targets of the
    canonical rows."""

    def __init__(
        self,
        estimator: Any,
        K: Array,
        target: Array,
        fold: Fold,
        cells: Sequence[tuple[int, Cell]],
        control: Control,
        scratch: Scratch,
    ) -> None:
        self.estimator, self.fold, self.cells, self.control = estimator, fold, cells, control
        self.rows = np.flatnonzero(fold.weight)
        if len(self.rows) == 0:
            raise ValueError("no sample of the training part has a weight")
        self.gram = MaskedGram(K, self.rows, scratch)
        self.target = target[self.rows]
        self.widths = sorted({cell.hyperparameters["epsilon"] for _, cell in cells})
        self.found: list[Answer] = [Answer(reason="not reached")] * len(cells)

    @property
    def parts(self) -> int:
        return len(self.widths)

    def part(self, t: int) -> None:
        a = f = None
        last = math.nan
        for c, (_, cell) in enumerate(self.cells):
            if cell.hyperparameters["epsilon"] != self.widths[t]:
                continue
            began = time.perf_counter()
            C, control = float(cell.hyperparameters["C"]), self.control.of_one()
            control.max_iter, control.callback, control.watchers = self.estimator.max_iter, None, ()
            problem = problems.eps_svr(
                self.target,
                C * self.fold.weight[self.rows],
                float(self.widths[t]),
                fit_intercept=self.estimator.fit_intercept,
            )
            start = None
            if a is not None and f is not None:
                curvature = float(problem.coefficients(a) @ f)
                theta = -float(problem.linear @ a) / curvature if curvature > 0 else 1.0
                start = min(max(theta, 1.0), C / last) * a
            solution = ActiveSet().solve(problem, self.gram, tol=self.estimator.tol, control=control, start=start)
            a, f, last = solution.a, solution.f, C
            if solution.status in (Status.DEADLINE, Status.INTERRUPTED):
                self.found[c] = Answer(reason=why(self.control))
                continue
            b = problem.scalars(optimality.offsets(problem, a, problem.gradient(f, a))).intercept
            coef = problem.coefficients(a)
            used = np.flatnonzero(coef)
            values = self.gram.everywhere(used, coef[used])[self.fold.place] + b
            model = held_out_model(self.estimator, self.fold.points, values[:, None], intercept_=np.array([b]))
            self.found[c] = Answer(model, time.perf_counter() - began, solution.status.converged)

    def answers(self) -> list[Answer]:
        return self.found


class EstimatorJob:
    """Any estimator by its own ``fit``; parameters as those of :class:`PathJob`, and the points where K is not held."""

    parts = 1

    def __init__(
        self,
        estimator: Any,
        kernel: Kernel,
        X: Points,
        K: Array | None,
        target: Array | None,
        fold: Fold,
        cells: Sequence[tuple[int, Cell]],
        control: Control,
    ) -> None:
        self.fold, self.cells, self.control, self.target = fold, cells, control, target
        self.rows = np.flatnonzero(fold.weight)
        if len(self.rows) == 0:
            raise ValueError("no sample of the training part has a weight")
        if isinstance(kernel, Precomputed):
            K = X
        elif K is not None:
            hard = any(math.isinf(cell.hyperparameters.get("C", 0.0)) for _, cell in cells)
            if hard or len(self.rows) > OWN_MATRIX_MAX_ROWS or not precise(K, ESTIMATOR_MAX_ROUNDING * estimator.tol):
                K = None  # a hard margin hangs on the last digits of K, and so may a small tol
        self.K, self.X = K, X
        self.estimator = clone(estimator).set_params(
            kernel="precomputed" if K is not None else kernel, warm_start=True, n_jobs=1, verbose=False
        )
        self.found: list[Answer] = []

    def part(self, t: int) -> None:
        if self.K is None:
            train, test = self.X[self.rows], self.X[self.fold.place]
        else:
            train = self.K[np.ix_(self.rows, self.rows)].astype(np.float64)
            test = self.K[np.ix_(self.fold.place, self.rows)].astype(np.float64)
        given = () if self.target is None else (self.target[self.rows],)
        for _, cell in self.cells:
            began = time.perf_counter()
            if self.control.stop() is not None:
                self.found.append(Answer(reason=why(self.control)))
                continue
            if self.control.max_seconds is not None:
                self.estimator.max_seconds = max(0.01, self.control.max_seconds - self.control.seconds)
            try:
                self.estimator.set_params(**cell.hyperparameters)
                with watching(self._stop_if_interrupted), unannounced():
                    self.estimator.fit(train, *given, sample_weight=self.fold.weight[self.rows])
                model = self._scored_model(test)
            except Exception as error:
                stopped = isinstance(error, InterruptedError) and self.control.stop() is not None
                self.found.append(Answer(reason=why(self.control) if stopped else f"{type(error).__name__}: {error}"))
                continue
            if self.control.stop() is not None and not self.estimator.report_.status.converged:
                self.found.append(Answer(reason=why(self.control)))
                continue
            converged = self.estimator.report_.status.converged
            self.found.append(Answer(model, time.perf_counter() - began, converged))

    def _stop_if_interrupted(self, progress: Progress) -> None:
        """End a fit that the user has interrupted: the estimator itself listens to nobody while a search does."""
        if self.control.stop() is Status.INTERRUPTED:
            raise InterruptedError

    def _scored_model(self, test: Points) -> Any:
        """The fitted model, as far as a scorer may ask it; ``test`` are the points left out, ready for it."""
        return held_out_model(self.estimator, self.fold.points, self.estimator._decision(test))

    def answers(self) -> list[Answer]:
        return self.found


def precise(K: Array, error: float) -> bool:
    """Whether kernel values that are held in single precision are rounded by no more than this."""
    return 2.0**-24 * float(np.abs(K.diagonal()).max(initial=0.0)) <= error


def check_two_classes(found: Array) -> None:
    """A fold that trains on one class only has nothing to learn."""
    if len(found) < 2:
        only = f"only class {found.tolist()[0]!r}" if len(found) else "no sample"
        raise ValueError(f"the training part of this split holds {only}: use stratified folds, or fewer of them")


def why(control: Control) -> str:
    """Why a run ended early."""
    status = control.stop()
    return status.value if status is not None else "not reached"
