"""Decision values of the training rows from machines that were trained without them, at the cost of about one more fit.

A machine knows its own training rows too well to be calibrated on them. So the rows are dealt into five folds, class by
class, and each fold is judged by the machine of the others. That machine is not trained from nothing. With the
solution a of all rows, and f = K a of every row known,

    1. a fold's variables are set to zero, and the others repaired to feasibility:   a0;
    2. f0 = f + K (a0 - a), which takes the columns of the changed rows only;
    3. the fold's problem is written in d = a - a0,

           minimise  1/2 d'Q d + (p + Q a0)'d    subject to  lower - a0 <= d <= upper - a0,  sum of d = 0 in each group,

       and solved from d = 0 over the rows near the margin: those at some distance keep what they have, and where the
       values turn out to have moved by more than that, the band is doubled and the solver goes on;
    4. the held-out rows get f + K (a0 + d - a) + b.

A fold is solved to a violation of 0.1, for the values' own scatter from fold to fold is larger than that. (Seeding a
fold's variables with those of another goes back to DeCoste & Wagstaff 2000.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin import optimality, problems
from maxmargin._control import Control
from maxmargin._validation import Array
from maxmargin.gram import Gram
from maxmargin.problems import DualProblem, JointProblem
from maxmargin.solvers import ActiveSet, CrammerSinger

FOLDS = 5
TOL = 0.1  # violation at which a fold's machine is good enough
BAND = 0.5  # distance from the margin, in units of it, up to which rows take part
MOVED = 0.95  # the band is wide enough if this part of its rows moved by less than it
WIDER = 5  # bands that are tried at most
WHOLE = 1024  # so few rows all take part
QUOTA = 4000  # rows of a class that are judged; more would not make two numbers more certain
SOLVER = ActiveSet(smallest=512)  # smaller working sets than for a whole fit: there is less to do


@dataclass(frozen=True)
class Folds:
    """Who is judged by whom.

    Attributes
    ----------
    of_row : array of int
        The fold of each row; -1 for rows that are in every machine.
    factor : array
        What a row's weight is multiplied by: of a large class only some rows are judged, and stand for the others,
        which have the factor 0.
    count : int
        The number of folds.
    alone : array of int
        Classes of a single row. It cannot be left out, for its class would vanish.
    few : array of int
        Classes of fewer rows than folds.
    """

    of_row: Array
    factor: Array
    count: int
    alone: Array
    few: Array


def stratified_folds(codes: Array, n_classes: int, count: int = FOLDS, quota: int | None = QUOTA) -> Folds:
    """Deal the rows of each class to the folds in turn, in an order that is drawn once and for all.

    Parameters
    ----------
    codes : array of int
        The class of each row.
    n_classes : int
    count : int, default=5
        The number of folds.
    quota : int or None, default=4000
        The rows of a class that are judged; None for all.

    Returns
    -------
    Folds

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.calibration.out_of_fold import stratified_folds
    >>> folds = stratified_folds(np.array([0, 0, 0, 0, 0, 1, 1, 2]), 3)
    >>> np.sort(folds.of_row[:5]), folds.of_row[7:], folds.few
    (array([0, 1, 2, 3, 4]), array([-1]), array([1]))
    """
    of_row, factor = np.full(len(codes), -1), np.ones(len(codes))
    order = np.random.RandomState(0).permutation(len(codes))
    sizes = np.bincount(codes, minlength=n_classes)
    dealt = 0
    for k in np.flatnonzero(sizes > 1):
        mine = order[codes[order] == k]
        of_row[mine] = (dealt + np.arange(len(mine))) % count
        dealt += len(mine)
        if quota is not None and len(mine) > quota:
            factor[mine[:quota]], factor[mine[quota:]] = len(mine) / quota, 0.0
    return Folds(of_row, factor, count, np.flatnonzero(sizes == 1), np.flatnonzero((sizes > 1) & (sizes < count)))


def silent(control: Control) -> Control:
    """The same clock and limits; nobody is told of the folds."""
    return replace(control, callback=None, watchers=(), seen=[])


def kernel_values(
    problem: DualProblem, gram: Gram, a: Array, f: Array, folds: Array, judged: Array, control: Control
) -> Array:
    """Decision values of a binary kernel machine for the rows of its problem, each from a machine without its fold.

    Parameters
    ----------
    problem : DualProblem
        A classifier's, ``c_svc`` or ``nu_svc``.
    gram : Gram
        The operator of its rows.
    a, f : arrays
        Its solution, and K a.
    folds : array of int
        The fold of each row; rows of fold -1 are in every machine and get the value of the machine of all rows.
    judged : array of bool
        The rows whose values are wanted.
    control : Control

    Returns
    -------
    array of shape (n,)
        In units of the margin, intercept included; for rows that are not judged, those of the machine of all rows.
    """
    gradient = problem.gradient(f, a)
    offset = optimality.offsets(problem, a, gradient)
    b, _ = problem.intercept(offset)
    unit = _unit(problem, offset)
    distance = np.abs(gradient - np.append(offset, 0.0)[problem.group])  # group -1 has the offset 0
    distance[(a > problem.lower) & (a < problem.upper)] = 0.0
    values = (f + b) / unit
    band = np.inf
    if problem.n_rows > WHOLE:
        band = max(BAND * unit, float(np.partition(distance, WHOLE)[WHOLE]))
    for k in range(int(folds.max(initial=-1)) + 1):
        held = np.flatnonzero(folds == k)
        wanted = held[judged[held]]
        if len(wanted):
            values[wanted], band = _one_fold(problem, gram, a, f, distance, band, held, wanted, control)
    return values


def _one_fold(
    problem: DualProblem,
    gram: Gram,
    a: Array,
    f: Array,
    distance: Array,
    band: float,
    held: Array,
    wanted: Array,
    control: Control,
) -> tuple[Array, float]:
    """The values of some of the held-out rows, and the band that turned out to be wide enough."""
    kept = np.ones(problem.n_rows, bool)
    kept[held] = False
    rest = np.flatnonzero(kept)
    fold = _without(problem, rest)
    sign, change = problem.sign, -a  # one variable a row; a row's coefficient is its sign times its variable
    change[rest] += fold.feasible(a[rest])
    moved = np.flatnonzero(change)
    for _ in range(WIDER):
        near = np.flatnonzero(distance[rest] <= band)
        rows = rest[near]
        f0 = f[rows] + gram.product(moved, (sign * change)[moved], rows, single=True)
        shifted = _shifted(fold, near, a[rows] + change[rows], f0)
        part = gram.subset(rows)
        part.budget = gram.budget
        solution = SOLVER.solve(shifted, part, tol=TOL, control=_limited(control, len(rows)))
        gram.evaluations += part.evaluations
        change[rows] += solution.a
        moved = np.flatnonzero(change)
        drift = np.abs(f0 + solution.f - f[rows])
        wide = len(rows) == len(rest) or np.mean(drift < band) >= MOVED
        if wide or control.stop() is not None:
            break
        band *= 2.0
    offset = optimality.offsets(shifted, solution.a, shifted.gradient(solution.f, solution.a))
    b, _ = fold.intercept(offset)
    new = f[wanted] + gram.product(moved, (sign * change)[moved], wanted, single=True)
    return (new + b) / _unit(fold, offset), band


def _limited(control: Control, n: int) -> Control:
    """At most as many steps as a fold takes that its start is good for; where it is not, a rougher machine will do."""
    most = 10_000 + 20 * n
    return replace(control, max_iter=most if control.max_iter < 0 else min(most, control.max_iter), seen=[])


def _unit(problem: DualProblem, offset: Array) -> float:
    """f on the margin: 1, or rho of the nu machine."""
    third = problem.intercept(offset)[1] if problem.kind == "nu_svc" else 1.0
    return third if third > 1e-150 else 1.0


def _without(problem: DualProblem, rest: Array) -> DualProblem:
    """The problem of some of the rows; nu is lowered where their classes cannot carry it."""
    y, bound = problem.target[rest], problem.bound[rest]
    if problem.kind == "c_svc":
        return problems.c_svc(y, bound, fit_intercept=problem.fit_intercept)
    largest = problems.largest_nu(y, bound) if problem.fit_intercept else 1.0
    return problems.nu_svc(y, bound, min(problem.nu, largest), fit_intercept=problem.fit_intercept)


def _shifted(problem: DualProblem, rows: Array, a0: Array, f0: Array) -> DualProblem:
    """The problem of the variables of some rows (one variable a row), as changes from a0."""
    return replace(
        problem,
        target=problem.target[rows],
        bound=problem.bound[rows],
        row=np.arange(len(rows)),
        sign=problem.sign[rows],
        linear=problem.linear[rows] + problem.sign[rows] * f0,
        lower=problem.lower[rows] - a0,
        upper=problem.upper[rows] - a0,
        group=problem.group[rows],
        totals=np.zeros(len(problem.totals)),
    )


def joint_values(problem: JointProblem, gram: Gram, A: Array, F: Array, folds: Array, control: Control) -> Array:
    """The same for the joint machine of Crammer and Singer: a score a class, shape (n, k). Its dual is separable in the
    rows, so that the other rows' variables are feasible as they are."""
    scores = F.copy()
    for k in range(int(folds.max(initial=-1)) + 1):
        held, rest = np.flatnonzero(folds == k), np.flatnonzero(folds != k)
        if len(held) == 0:
            continue
        fold = JointProblem(problem.label[rest], problem.bound[rest], problem.n_classes)
        found = CrammerSinger().solve(fold, gram.subset(rest), tol=TOL, control=control, start=A[rest])
        used = np.flatnonzero(found.a.any(axis=1))
        scores[held] = gram.product(rest[used], found.a[used], held)
    return scores
