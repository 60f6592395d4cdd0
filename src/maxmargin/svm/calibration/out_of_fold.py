"""Out-of-fold decision values of the training rows, at less than the cost of a fit.

Decision values of a model's training rows are biased, so calibration does not use them. The rows are divided into five
folds, and each fold is evaluated by the model of the others, which is reached from the solution of all rows in few
steps. Rows far from the margin keep their variables: only those within a band take part; if values change by more than
that, the band is doubled. If few rows take part, one matrix in memory serves all folds
(:mod:`maxmargin.svm.calibration.matrix_folds`). Else, with the solution a of all rows, and f = K a of every row known,

    1. a fold's variables are set to zero, and the others made feasible:   a0;
    2. f0 = f + K (a0 - a), which takes the columns of the changed rows only;
    3. the fold's problem is written in d = a - a0,

           minimise  1/2 d'Q d + (p + Q a0)'d    subject to  lower - a0 <= d <= upper - a0,  sum of d = 0 in each group,

       and solved from d = 0 over the rows that take part;
    4. the held-out rows get f + K (a0 + d - a) + b.

A fold is solved to a violation of a tenth of the margin, because values differ more than that from fold to
fold. If the fit is stopped before a row's model is reached, its value is NaN.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin import problems
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.joint import JointProblem
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array
from maxmargin.solvers import ActiveSet, CrammerSinger
from maxmargin.svm.calibration.folds import FOLD_TOL, held_out_and_rest
from maxmargin.svm.calibration.matrix_folds import WorkingSetFolds, small_problem_folds

SMALL_PROBLEM_MAX_ROWS = 1024  # up to here all rows take part, if their kernel values are stored: 8 MB
BAND_MAX_DISTANCE = 0.5  # distance from the margin, in units of it, up to which rows take part
BAND_MIN_SHARE = 0.9  # the band is wide enough if this part of its rows moved by less than it
BAND_MAX_DOUBLINGS = 5
ROWS_PER_SUPPORT_VECTOR = 4  # that take part at most: a small class beside a large one has few support vectors
MATRIX_MIN_ROWS, MATRIX_MAX_ROWS = 512, 3072  # whose kernel values are held in memory for all folds: up to 36 MB
SOLVER = ActiveSet(smallest=512)  # smaller working sets than for a fit of all rows: fewer variables move


class _FullModel:
    """The model of all rows, and what its folds need of it."""

    def __init__(
        self, problem: DualProblem, gram: Gram, a: Array, f: Array, folds: Array, evaluated: Array, control: Control
    ) -> None:
        self.problem, self.gram, self.a, self.f = problem, gram, a, f
        self.folds, self.evaluated, self.control = folds, evaluated, control
        self.count = int(folds.max(initial=-1)) + 1
        self.gradient = problem.gradient(f, a)
        self.offset = optimality.offsets(problem, a, self.gradient)
        self.unit = _unit(problem, self.offset)
        self.goal = max(FOLD_TOL * self.unit, optimality.violation(problem, a, self.gradient))

    def distance(self) -> Array:
        """How far each row's gradient is from the offset: 0 of free variables."""
        problem, a = self.problem, self.a
        distance = np.abs(self.gradient - np.append(self.offset, 0.0)[problem.group])  # group -1 has the offset 0
        distance[(a > problem.lower) & (a < problem.upper)] = 0.0
        return distance

    def intercepts(self, offsets: Array) -> tuple[Array, Array]:
        """b and the unit of models with these offsets."""
        b = np.array([self.problem.scalars(kept_rows).intercept for kept_rows in offsets])
        return b, np.array([_unit(self.problem, kept_rows) for kept_rows in offsets])

    def totals(self) -> Array:
        """The sums of the groups without each fold."""
        if self.problem.kind == "c_svc":
            return np.zeros((self.count, len(self.problem.totals)))
        rests = (np.flatnonzero(self.folds != k) for k in range(self.count))
        return np.array([_without(self.problem, rest).totals for rest in rests])

    def max_steps(self, n: int) -> int:
        """As many steps as a fold of n rows takes from a good start; where the start is not good, a rougher model will
        do."""
        steps, limit = 10_000 + 20 * n, self.control.max_iter
        return steps if limit < 0 else min(steps, limit)


def kernel_values(
    problem: DualProblem, gram: Gram, a: Array, f: Array, folds: Array, evaluated: Array, control: Control
) -> Array:
    """Decision values of a binary kernel model for the rows of its problem, each from a model without its fold: in
    units of the margin, intercept included. ``a`` is its solution and f = K a; ``evaluated`` marks the rows whose
    values are needed.

    Rows of fold -1, which are in every model, and rows that are not evaluated get the value of the model of all rows;
    NaN where the fit was stopped before."""
    full = _FullModel(problem, gram, a, f, folds, evaluated, control)
    n, some = problem.n_rows, evaluated & (folds >= 0)
    values = (f + problem.scalars(full.offset).intercept) / full.unit
    values[some] = np.nan
    if n <= SMALL_PROBLEM_MAX_ROWS and gram.single_is_exact:
        if full.count and control.stop() is None:
            found, offsets = small_problem_folds(
                problem, gram, a, f, folds, full.totals(), full.goal, full.max_steps(n), control
            )
            b, unit = full.intercepts(offsets)
            values[some] = ((found + b[folds]) / unit[folds])[some]
        return values
    distance = full.distance()
    nearest = np.append(np.sort(distance), np.full(MATRIX_MAX_ROWS, np.inf))
    most = min(MATRIX_MAX_ROWS, max(MATRIX_MIN_ROWS, ROWS_PER_SUPPORT_VECTOR * int(np.count_nonzero(a))))
    band = min(max(BAND_MAX_DISTANCE * full.unit, nearest[MATRIX_MIN_ROWS]), nearest[most])
    if band > 0 and _by_matrix(full, np.flatnonzero(distance < band), band, values):
        return values
    band = max(BAND_MAX_DISTANCE * full.unit, 2.0 * band)
    for k in range(full.count):
        wanted = np.flatnonzero((folds == k) & evaluated)
        if control.stop() is not None:
            break
        if len(wanted):
            values[wanted], band = _one_fold(full, k, wanted, distance, band)
    return values


def _by_matrix(full: _FullModel, rows: Array, band: float, values: Array) -> bool:
    """Set the values of the evaluated rows by a matrix of the rows that take part; whether the band was wide enough."""
    problem, a, f, totals = full.problem, full.a, full.f, full.totals()
    others = a != 0
    others[rows] = False
    for k in range(full.count):
        kept = np.flatnonzero(others & (full.folds != k))
        for j in range(totals.shape[1]):
            totals[k, j] -= a[kept[problem.group[kept] == j]].sum()
    models = WorkingSetFolds(problem, rows, full.gram, a, f, full.folds, totals)
    kept_rows, max_steps = models.rows, full.max_steps(len(rows))
    for k in range(full.count):
        if full.control.stop() is not None:
            return True
        held = full.folds == k
        lost = np.flatnonzero(others & held)
        loss = -problem.sign[lost] * a[lost]
        change = full.gram.product(lost, loss, kept_rows, single=True) if len(lost) else np.zeros(len(kept_rows))
        x, new, offset = models.without(k, change, full.goal, max_steps, full.control)
        shift = np.append(offset - full.offset, 0.0)[problem.group[kept_rows]]
        drift = np.abs(problem.sign[kept_rows] * (new - f[kept_rows]) - shift)[~held[kept_rows]]
        if np.mean(drift < band) < BAND_MIN_SHARE:
            return False
        b, unit = problem.scalars(offset).intercept, _unit(problem, offset)
        values[kept_rows] = np.where(held[kept_rows] & full.evaluated[kept_rows], (new + b) / unit, values[kept_rows])
        held[kept_rows] = False
        far, change = np.flatnonzero(held & full.evaluated), problem.sign[kept_rows] * (x - a[kept_rows])
        moved = np.flatnonzero(change)
        columns, change = np.concatenate((kept_rows[moved], lost)), np.concatenate((change[moved], loss))
        moves = full.gram.product(columns, change, far, single=True) if len(columns) and len(far) else 0.0
        values[far] = (f[far] + moves + b) / unit
    return True


def _one_fold(full: _FullModel, k: int, wanted: Array, distance: Array, band: float) -> tuple[Array, float]:
    """The values of some of the held-out rows, and the band that turned out to be wide enough."""
    problem, gram, a, f, control = full.problem, full.gram, full.a, full.f, full.control
    rest = np.flatnonzero(full.folds != k)
    fold = _without(problem, rest)
    sign, change = problem.sign, -a  # one variable per row; a row's coefficient is its sign times its variable
    change[rest] += fold.feasible(a[rest])
    moved = np.flatnonzero(change)
    for _ in range(BAND_MAX_DOUBLINGS):
        near = np.flatnonzero(distance[rest] <= band)
        rows = rest[near]
        f0 = f[rows] + gram.product(moved, (sign * change)[moved], rows, single=True)
        shifted = _shifted(fold, near, a[rows] + change[rows], f0)
        part = gram.subset(rows)
        part.budget = gram.budget
        limited = replace(control.of_one(), max_iter=full.max_steps(len(rows)))
        solution = SOLVER.solve(shifted, part, tol=full.goal / shifted.tol_scale, control=limited)
        gram.evaluations += part.evaluations
        change[rows] += solution.a
        moved = np.flatnonzero(change)
        drift = np.abs(f0 + solution.f - f[rows])
        wide = len(rows) == len(rest) or np.mean(drift < band) >= BAND_MIN_SHARE
        if wide or control.stop() is not None:
            break
        band *= 2.0
    offset = optimality.offsets(shifted, solution.a, shifted.gradient(solution.f, solution.a))
    b = fold.scalars(offset).intercept
    new = f[wanted] + gram.product(moved, (sign * change)[moved], wanted, single=True)
    return (new + b) / _unit(fold, offset), band


def _unit(problem: DualProblem, offset: Array) -> float:
    """f on the margin: 1, or rho of nu-SVC."""
    rho = problem.scalars(offset).rho if problem.kind == "nu_svc" else 1.0
    return rho if rho > 1e-150 else 1.0


def _without(problem: DualProblem, rest: Array) -> DualProblem:
    """The problem of some of the rows; nu is lowered where their classes cannot carry it."""
    y, bound = problem.target[rest], problem.bound[rest]
    if problem.kind == "c_svc":
        return problems.c_svc(y, bound, fit_intercept=problem.fit_intercept)
    largest = problems.largest_nu(y, bound) if problem.fit_intercept else 1.0
    return problems.nu_svc(y, bound, min(problem.nu, largest), fit_intercept=problem.fit_intercept)


def _shifted(problem: DualProblem, rows: Array, a0: Array, f0: Array) -> DualProblem:
    """The problem of the variables of some rows (one variable per row), as changes from a0."""
    part, _ = problem.restricted(rows)
    linear, totals = part.linear + part.sign * f0, np.zeros(len(part.totals))
    return replace(part, linear=linear, lower=part.lower - a0, upper=part.upper - a0, totals=totals)


def joint_values(problem: JointProblem, gram: Gram, A: Array, F: Array, folds: Array, control: Control) -> Array:
    """The same for the joint model of Crammer and Singer: one score per class, shape (n, k). Its dual is separable in
    the rows, so that the other rows' variables are feasible as they are."""
    scores = F.copy()
    for held, rest in held_out_and_rest(folds, scores, control):
        fold = JointProblem(problem.label[rest], problem.bound[rest], problem.n_classes)
        found = CrammerSinger().solve(fold, gram.subset(rest), tol=FOLD_TOL, control=control, start=A[rest])
        used = np.flatnonzero(found.a.any(axis=1))
        scores[held] = gram.product(rest[used], found.a[used], held)
    return scores
