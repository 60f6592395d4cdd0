"""Many small problems as one compiled call: the binary problems of a fit, posed as flat arrays.

Rows lie in segments (classes, or all rows); a problem has a run or two of variables, each over a segment:

    one-vs-one           classes i and j: a run each, one equality over both (C-SVC) or one in each (nu-SVC)
    regression           alpha and -alpha* of all rows: two runs over one segment
    one-class, quantile  one run over all rows

:class:`Posed` is that list of problems, :func:`solve_posed` the call, :class:`Solved` what comes back: variables,
values f = K a and the certificate of every problem. A problem that creeps, or that the time did not reach, says so in
its status, and goes on to a general solver (:mod:`maxmargin.svm.kernel.solving.each`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels import Kernel
from maxmargin.kernels._arrays import distances_from, squared_norms
from maxmargin.kernels.definition import DefinedValues, has_formula
from maxmargin.kernels.gram.far_rows import LENGTH_LIMIT
from maxmargin.kernels.gram.sides import Form, form_of
from maxmargin.problems.certificate import Certificates
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.optimality import sides
from maxmargin.problems.verification import verified
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.models.multiclass import pair_classes

TWO_SIDED = ("eps_svr", "nu_svr")
RULES = {"c_svc": 0, "nu_svc": 1, "eps_svr": 2, "nu_svr": 3, "one_class": 4, "quantile": 5}
OPTIMAL, CREEPS, MAX_STEPS, STOPPED, NOT_BEGUN, GIVEN_UP = range(6)
STATUSES = {OPTIMAL: Status.OPTIMAL, MAX_STEPS: Status.MAX_ITER}

# Rows of the largest problem up to which float64 throughout costs less than float32 and its check: of one problem alone
# (measured on 300 and 500 rows), and of problems that share their kernel values (digits, pendigits).
FLOAT64_MAX_ROWS, SHARED_FLOAT64_MAX_ROWS = 256, 512
PROBLEM_MAX_ROWS = 6_000  # of the largest problem: beyond, working sets on all cores are faster (mnist, magic)
# (bytes of the largest problem's points, rows of K made at a time): points in the first-level or second-level cache are
# read again for every row; from further away as many rows as possible share a pass (measured on letter, usps, mnist).
ROWS_AT_ONCE = ((400_000, 1), (4_000_000, 12), (math.inf, 24))
WIDE_MIN_FEATURES = 100  # columns from which most rows become support vectors: all of K at first, on all threads
BLOCK_PADDING_ROWS = 64  # a segment's rows are padded to whole panels of at most this width
LENGTHS_MAX_ENTRIES = 200_000  # of a scaled copy of points that is held at a time
SERIAL_MAX_PRODUCTS = 5e6  # multiplications up to which a second thread costs more than it brings


@dataclass(frozen=True)
class Posed:
    """Problems over segments of rows; see the module's text."""

    kind: str  # as in :class:`maxmargin.problems.dual.DualProblem`
    # order, start: the rows, segment after segment, and where each segment starts
    order: Array
    start: Array
    runs: Array  # shape (n_problems, 2), segments of each problem; -1 as the second where there is one run
    place: Array  # for each variable, all problems after one another, the place of its row in ``order``
    at: Array  # shape (n_problems + 1,), the variables of problem p are ``at[p]:at[p + 1]``
    # linear, lower, upper, target: one entry per variable
    linear: Array
    lower: Array
    upper: Array
    target: Array
    totals: Array  # shape (n_problems, 2), sums that the equalities ask for
    joined: bool  # whether one equality ties both runs
    epsilon: float = 0.0
    nu: Array | None = None
    tol_scale: float = 1.0  # the smallest of the problems

    @property
    def n_problems(self) -> int:
        return len(self.runs)

    @cached_property
    def largest(self) -> int:
        """Variables of the largest problem."""
        return int((self.at[1:] - self.at[:-1]).max(initial=0))

    @property
    def two_sided(self) -> bool:
        """Whether each row has two variables."""
        return self.kind in TWO_SIDED

    @property
    def shares_values(self) -> bool:
        """Whether a segment meets several others: pairs of three and more classes. Several targets share all rows, but
        each is to have the bits of a fit alone."""
        return len(self.start) > 3

    def rows(self, p: int) -> Array:
        """Rows of problem p, one per variable; of a row's two variables only the first."""
        variables = slice(self.at[p], self.at[p + 1])
        places = self.place[variables]
        return self.order[places[: len(places) // 2] if self.two_sided else places]


def over_the_same_rows(problems: Sequence[DualProblem]) -> Posed | None:
    """Problems of one kind, each over all of the same rows; None if batches do not take them."""
    each = [one_problem(problem) for problem in problems]
    first = each[0]
    if first is None or len(each) == 1:
        return first
    if first.kind == "nu_svc" or not all(problem is not None and problem.kind == first.kind for problem in each):
        return None

    def stacked(name: str) -> Any:
        return np.concatenate([getattr(problem, name) for problem in each])

    return replace(
        first,
        runs=stacked("runs"),
        place=stacked("place"),
        at=first.at[1] * np.arange(len(each) + 1),
        linear=stacked("linear"),
        lower=stacked("lower"),
        upper=stacked("upper"),
        target=stacked("target"),
        totals=stacked("totals"),
    )


def one_problem(problem: DualProblem) -> Posed | None:
    """A problem over all of its rows, in their order; None if it is of a kind that batches do not take."""
    n = problem.n_rows
    if not problem.fit_intercept or not np.isfinite(problem.bound).all() or n == 0:
        return None
    order, two_sided = np.arange(n), problem.kind in TWO_SIDED
    runs = np.array([[0, 0 if two_sided else -1]])
    start, place = np.array([0, n]), problem.row
    linear, lower, upper, target = problem.linear, problem.lower, problem.upper, problem.target
    if two_sided:
        target = np.concatenate((target, target))
    if problem.kind == "nu_svc":  # the positive rows are a segment, and so are the negative ones
        order = np.argsort(problem.group, kind="stable")
        start = np.array([0, np.count_nonzero(problem.group == 0), n])
        runs, place = np.array([[0, 1]]), np.arange(n)
        linear, lower, upper, target = linear[order], lower[order], upper[order], target[order]
    totals = np.zeros((1, 2))
    totals[0, : len(problem.totals)] = problem.totals
    return Posed(
        problem.kind,
        order,
        start,
        runs,
        place,
        np.array([0, len(place)]),
        linear,
        lower,
        upper,
        target,
        totals,
        joined=len(problem.totals) == 1,
        epsilon=problem.epsilon,
        tol_scale=problem.tol_scale,
    )


@lru_cache(maxsize=64)
def _pair_table(n_classes: int) -> tuple[Array, Array]:
    """Pairs i < j in LIBSVM's order, and the signs of their two runs: the first class is the positive one, except that
    of two classes alone it is the second."""
    runs = np.column_stack(pair_classes(n_classes))
    signs = np.tile([1.0, -1.0] if n_classes > 2 else [-1.0, 1.0], len(runs))
    return runs, signs


def pairs_of_classes(codes: Array, bound: Array, n_classes: int) -> Posed:
    """C-SVC of every pair of classes that have rows; ``runs`` count those classes only."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n_classes)
    if not counts.all():
        counts = counts[counts > 0]
    start = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    runs, signs = _pair_table(len(counts)) if len(counts) == n_classes else (_pair_table(len(counts))[0], None)
    if signs is None:  # of more than two classes two are left: the first stays the positive one
        signs = np.tile([1.0, -1.0], len(runs))
    lengths = counts[runs.ravel()]
    at = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=at[1:])
    y = np.repeat(signs, lengths)
    if len(runs) == 1:
        place = np.arange(at[-1])
        c = bound[order]
    else:
        place = np.arange(at[-1]) + np.repeat(start[runs.ravel()] - at[:-1], lengths)
        c = bound[order][place]
    signed = c * y
    return Posed(
        "c_svc",
        order,
        start,
        runs,
        place,
        np.ascontiguousarray(at[::2]),
        -y,
        np.minimum(signed, 0.0),
        np.maximum(signed, 0.0),
        y,
        np.zeros((len(runs), 2)),
        joined=True,
    )


@dataclass(frozen=True)
class KernelValues:
    """Where a batch takes its kernel values from: points and the kernel's form, or a matrix.

    A matrix that was computed from points has their values by definition with it, for the certificate; with points the
    compiled code computes those itself (``native/batch/verify.h``)."""

    points: tuple[Any, ...]
    form: tuple[int, int, float, float, bool]
    features: int
    sparse: bool = False
    single: bool = False  # float32 has the range and the digits for these points
    defined: DefinedValues | None = None

    @classmethod
    def of_points(cls, kernel: Kernel, X: Points, posed: Posed) -> KernelValues | None:
        """Of points whose kernel has a tile form, for these problems; None where it has none, or where points are so
        far from the centre that tiles lose the digits of their distances."""
        form = form_of(kernel) if X.dtype != object else None
        shift = getattr(kernel, "shift_", None)
        if form is None or not form.in_batches or (sp.issparse(X) and (form.dense_only or shift is not None)):
            return None
        plain = (form.kind, int(form.degree), form.root, form.bias, form.norms)
        longest = float((lengths := scaled_lengths(X, form, shift)).max(initial=0.0))
        if form.decays and not longest <= LENGTH_LIMIT[np.float64]:
            return None
        if sp.issparse(X):
            csr = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float64), X.shape[1])
            return cls(csr, plain, X.shape[1], sparse=True)
        typical, largest = (9 * len(lengths)) // 10, posed.largest // (1 + posed.two_sided)
        single = (
            largest > (SHARED_FLOAT64_MAX_ROWS if posed.shares_values else FLOAT64_MAX_ROWS)
            and math.isfinite(longest)
            and form.single_suffices(float(np.partition(lengths, typical)[typical]), longest)
        )
        return cls((X, shift), plain, X.shape[1], single=single)

    @classmethod
    def of_matrix(cls, K: Array, defined: DefinedValues | None = None) -> KernelValues:
        """Of a stored kernel matrix, whose rows are the rows of the problems; ``defined`` are the same rows' values by
        definition, where K does not define the kernel itself."""
        if defined is not None and not has_formula(defined.kernel):
            defined = None
        return cls((np.ascontiguousarray(K),), (1, 1, 1.0, 0.0, False), 0, defined=defined)

    def bytes_needed(self, start: Array) -> float:
        """Kernel values that must be in memory at once, in bytes, for segments of rows that start there."""
        if not self.sparse:
            return 0.0
        sizes = np.diff(start) + float(BLOCK_PADDING_ROWS)
        stripe = sizes[0] * sizes[1:].sum() if len(sizes) > 1 else 0.0
        return 8.0 * (float((sizes**2).sum()) + stripe)


def scaled_lengths(X: Points, form: Form, shift: Array | None) -> Array:
    """Squared lengths of the rows (or sums of absolute values) around the kernel's centre, in the tiles' scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            return form.root**2 * squared_norms(X)
        if form.kind != _native.DECAY:
            return form.root**2 * (squared_norms(X) if shift is None else distances_from(X, shift))
        lengths = np.empty(X.shape[0])
        step = max(1, LENGTHS_MAX_ENTRIES // max(1, X.shape[1]))
        for begin in range(0, X.shape[0], step):
            part = X[begin : begin + step]
            lengths[begin : begin + step] = np.abs((part if shift is None else part - shift) * form.root).sum(axis=1)
    return lengths


@dataclass(frozen=True)
class Solved:
    """What came of a batch: one entry per variable in ``a`` and ``f``, one per problem in the rest."""

    posed: Posed
    a: Array
    f: Array
    offset: Array
    certificates: Certificates
    steps: Array
    evaluations: Array
    n_support: Array
    status: Array

    @cached_property
    def intercept(self) -> Array:
        """b of each problem."""
        if self.posed.kind in ("nu_svc", "nu_svr"):
            return -(self.offset[:, 0] + self.offset[:, 1]) / 2
        return -self.offset[:, 0]


def suits(posed: Posed, values: KernelValues | None, budget: float) -> bool:
    """Whether a batch is the fastest way for these problems, and has the memory it needs."""
    if values is None or posed.n_problems == 0 or posed.largest > PROBLEM_MAX_ROWS:
        return False
    return values.bytes_needed(posed.start) <= budget


def products(posed: Posed, values: KernelValues) -> float:
    """Multiplications that all kernel values of the problems would take."""
    return float(posed.largest) * posed.largest * posed.n_problems * max(1, values.features)


def solve_posed(
    posed: Posed,
    values: KernelValues,
    *,
    tol: float,
    control: Control,
    budget: float,
    threads: int,
    start: Array | None = None,
    known: tuple[Array, Array] | None = None,
    index: Array | None = None,
    trial: tuple[int, int, bool] = (0, 0, False),
) -> Solved:
    """Solve all problems in one compiled call, from ``start`` (feasible) or from zero; ``known``: variables near it and
    their f; ``index``: the rows of the kernel values that the problems' rows are. A ``trial`` (s, m, False) ends after
    ``control.max_iter`` steps, or s if over m variables became nonzero in the last 32; with True all of K follows."""
    count, n = posed.n_problems, posed.at[-1]
    a, begun = np.zeros(n) if start is None else start.copy(), None if known is None else known[0]
    f = np.zeros(n) if known is None else known[1].copy()
    table, counts, status = np.zeros(9 * count), np.zeros((3, count), np.int64), np.full(count, NOT_BEGUN, np.int8)
    at_once = next(rows for most, rows in ROWS_AT_ONCE if 4.0 * posed.largest * values.features < most)
    max_steps = control.max_iter if control.max_iter >= 0 else 2**62
    threads = 1 if products(posed, values) < SERIAL_MAX_PRODUCTS else threads
    blocks = (
        count < threads
        and values.features >= WIDE_MIN_FEATURES
        and max_steps > posed.largest  # fewer steps take few rows
        and 8.0 * (posed.largest + BLOCK_PADDING_ROWS) ** 2 <= budget
    )
    _native.solve_batch(
        values.points,
        values.form,
        (posed.order if index is None else index[posed.order], posed.start),
        (posed.runs, posed.at, posed.linear, posed.lower, posed.upper, posed.target, posed.totals, a, f, begun),
        (table, counts, status),
        (RULES[posed.kind], posed.joined, float(tol * posed.tol_scale), float(posed.epsilon), max_steps, trial),
        (threads, float(budget), blocks, not values.single, at_once),
        lambda: control.stop() is not None,
    )
    violation, primal, dual, stationarity, outside, complementarity, norm = table[2 * count :].reshape(7, count)
    certificates = Certificates(primal, dual, violation, stationarity, outside, np.zeros(count), complementarity, norm)
    if values.defined is not None:
        rows = posed if index is None else replace(posed, order=index[posed.order])
        _verify(rows, values.defined, a, f, violation, status, tol)
    offset, (steps, evaluations, support) = table[: 2 * count].reshape(count, 2), counts
    return Solved(posed, a, f, offset, certificates, steps, evaluations, support, status)


def _verify(
    posed: Posed, defined: DefinedValues, a: Array, f: Array, violation: Array, status: Array, tol: float
) -> None:
    """Values of f and the violation by definition, for problems called optimal; one that misses tol is not."""
    for p in np.flatnonzero(status == OPTIMAL):
        variables, rows = slice(posed.at[p], posed.at[p + 1]), posed.rows(int(p))
        problem, n = _dual_problem(posed, int(p)), len(rows)
        values = verified(problem, a[variables], f[variables][:n], defined.subset(rows))
        f[variables] = np.tile(values, problem.n_variables // n)
        rise, fall = sides(problem, a[variables], problem.gradient(values, a[variables]))
        violation[p] = max(0.0, float(np.max(fall - rise)))
        if not violation[p] <= tol * posed.tol_scale:
            status[p] = CREEPS


def _dual_problem(posed: Posed, p: int) -> DualProblem:
    """Problem p as one of its own."""
    variables, n, count = slice(posed.at[p], posed.at[p + 1]), len(posed.rows(p)), posed.at[p + 1] - posed.at[p]
    lower, upper = posed.lower[variables], posed.upper[variables]
    group = np.zeros(count, np.int64)
    if not posed.joined:
        group[int(np.diff(posed.start)[posed.runs[p, 0]]) :] = 1
    return DualProblem(
        kind=posed.kind,
        target=posed.target[variables][:n],
        bound=(upper - lower)[:n],
        row=np.tile(np.arange(n), count // n),
        sign=np.ones(count),
        linear=posed.linear[variables],
        lower=lower,
        upper=upper,
        group=group,
        totals=posed.totals[p, : 1 if posed.joined else 2],
        epsilon=posed.epsilon,
        tol_scale=posed.tol_scale,
    )
