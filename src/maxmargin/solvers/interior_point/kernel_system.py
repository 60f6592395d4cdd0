"""Interior points for any kernel, with the kernel matrix in memory.

:mod:`maxmargin.solvers.interior_point.path` is the method. Its Newton systems have the matrix Q + D with Q = E K E',
where E gives each variable its row and sign. With Theta = D^-1, T = E'Theta E (diagonal: the sum over the variables
of a row) and root = T^1/2,

    (Q + D)^-1 = (Theta - Theta E T^-1 E'Theta) + Theta E root^-1 M^-1 root^-1 E'Theta,     M = I + root K root.

M has no eigenvalue below one, however close the iterates are to their bounds. The bracket is zero where a row has one
variable; where it has two (regression) it is their difference. One Cholesky factor of M, n^3 / 3 products, is the work
of an iteration.

An interior point is never at a bound. So once mu is small the active bounds are identified: a variable is at its bound
if the bound's multiplier is larger than the slack, each in its natural unit. With these fixed, the others solve a
linear system, Q_FF d - G'lambda = -g_F over the free variables F, and its solution is taken if that is optimal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.linear_sums import linear_values
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import report_point
from maxmargin.solvers.interior_point.path import (
    EVEN_ONE_SIDED,
    NEGATIVE,
    POSITIVE,
    DenseRows,
    Pass,
    Path,
    PathStart,
    Right,
)
from maxmargin.solvers.solution import Solution

KERNEL_MAX_ROWS = 4000  # beyond, a factorisation takes seconds, and the other solvers are much faster
BOUNDS_MAX_MU = 1e-4  # mu, in its natural unit, below which active bounds are identified
LOW_RANK_MAX_COLUMNS = 200  # of the linear kernel, up to which d x d systems cost next to nothing
LOW_RANK_MIN_ROWS_PER_COLUMN = 4  # and rows from which they cost less than K
MAX_REFINEMENTS = 2  # a column of 1e6 at C = 100: four fits of six met tol, one without
PRODUCT_MAX_ERROR = 0.1  # of a low-rank product, relative to the violation that is to be reached


class RowProducts:
    """The matrix K = X X', by its factor X. Where rounding errors of a product could exceed ``accuracy``, it is summed
    with twice the digits."""

    def __init__(self, X: Array, accuracy: float = math.inf) -> None:
        self.X, self.accuracy = X, accuracy
        self.largest = float(self.diagonal().max(initial=0.0))

    @property
    def rank(self) -> int:
        """The largest rank that K can have."""
        return int(self.X.shape[1])

    def __matmul__(self, coef: Array) -> Array:
        if np.finfo(np.float64).eps * float(np.abs(coef).sum()) * self.largest > self.accuracy:
            used = np.flatnonzero(coef)
            return linear_values(self.X, used, coef[used])
        return np.asarray(self.X @ (coef @ self.X))

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->i", self.X, self.X)


def row_products(gram: Gram, accuracy: float = math.inf) -> RowProducts | None:
    """K by its factor, if it is that of the linear kernel and has many more rows than columns."""
    X = gram.linear_points()
    if X is None or X.shape[1] > LOW_RANK_MAX_COLUMNS or gram.n < LOW_RANK_MIN_ROWS_PER_COLUMN * X.shape[1]:
        return None
    return RowProducts((X.toarray() if sp.issparse(X) else X).astype(np.float64, copy=False), accuracy)


class DenseSystem(DenseRows):
    """Newton systems by a Cholesky factor of size n x n, with one or two variables per row; ``f`` is Q a less the
    offsets of the variables' groups."""

    def __init__(self, problem: DualProblem, K: Any) -> None:
        self.problem, self.K, self.every = problem, K, slice(0, problem.n_variables)
        self.G = (problem.group == np.arange(len(problem.totals))[:, None]).astype(float)
        order = np.argsort(problem.row, kind="stable")
        twice = np.flatnonzero(problem.row[order[1:]] == problem.row[order[:-1]])
        self.first, self.second = order[twice], order[twice + 1]
        self.opposite = problem.sign[self.first] * problem.sign[self.second]
        ends = [(problem.linear[mine].min(), problem.linear[mine].max()) for mine in self.G.astype(bool)]
        self.offset = np.array([(low + high) / 2 for low, high in ends])
        self.f = np.zeros(problem.n_variables)

    def value(self, a: Array) -> Array:
        """Q a."""
        return self.problem.sign * (self.K @ self.problem.coefficients(a))[self.problem.row]

    def _of_groups(self, offset: Array) -> Array:
        return np.append(offset, 0.0)[self.problem.group]

    def begin(self, beta: Array) -> None:
        self.advance(0.0, beta)

    def gather(self, work: Pass, V: Array) -> Right:
        self.missing = self.problem.totals - self.G @ (V[POSITIVE] + V[NEGATIVE])
        return super().gather(work, V)

    def factor(self, T: Array) -> None:
        problem = self.problem
        self.theta = T.copy()
        self.T = np.bincount(problem.row, weights=self.theta, minlength=problem.n_rows)
        self.root = np.sqrt(self.T)
        M = self.root[:, None] * self.K * self.root
        # The diagonal is shifted for a kernel matrix that is indefinite, or negative by rounding.
        M[np.diag_indices_from(M)] += 1.0
        for push in (1e-12, 1e-8, 1e-4, 1.0, float(len(M)), None):
            try:
                self.factors = cho_factor(M, lower=True, check_finite=False)
                break
            except np.linalg.LinAlgError:
                if push is None:
                    raise
                M[np.diag_indices_from(M)] += push * float(np.abs(M).max())
        self.tied = np.array([self._inverse(self.theta * g) for g in self.G])
        self.between_groups = np.linalg.inv(self.G @ self.tied.T) if len(self.G) else self.G  # LinAlgError if singular

    def _inverse(self, q: Array) -> Array:
        """(Q + D)^-1 r, for q = Theta r."""
        problem, theta = self.problem, self.theta
        rows = np.bincount(problem.row, weights=problem.sign * q, minlength=problem.n_rows)
        root = np.where(self.root > 0, self.root, 1.0)
        inner = cho_solve(self.factors, rows / root, check_finite=False) / root
        out = theta * problem.sign * inner[problem.row]
        if len(self.first):
            i, j = self.first, self.second
            apart = (theta[j] * q[i] - self.opposite * theta[i] * q[j]) / (theta[i] + theta[j])
            out[i] += apart
            out[j] -= self.opposite * apart
        return out

    def direction(self, q: Array, missing: Array) -> tuple[Array, Array]:
        """da and dlambda with (Q + D) da - G'dlambda = r, q = Theta r, and G da = missing."""
        da, doffset = self._inverse(q), np.zeros(len(missing))
        if len(missing):
            doffset = self.between_groups @ (missing - self.G @ da)
            da = da + doffset @ self.tied
        return da, doffset

    def solve(self, right: Right, missing: float) -> float:
        """The offsets are part of f: lambda stays zero."""
        da, self.doffset = self.direction(right[0], self.missing)
        self.df = self.value(da) - self._of_groups(self.doffset)
        return 0.0

    def advance(self, step: float, beta: Array) -> None:
        if step:
            self.offset = self.offset + step * self.doffset
        self.f[:] = self.value(beta) - self._of_groups(self.offset)


@dataclass(frozen=True)
class Iterate:
    """A point strictly inside the bounds."""

    a: Array
    offset: Array  # lambda, one entry per group
    # below, above: the slacks A and B; infinite where there is no bound
    below: Array
    above: Array
    # at_lower, at_upper: the bounds' multipliers z and x; zero where there is no bound
    at_lower: Array
    at_upper: Array
    mu: float  # mean product of a slack and its multiplier
    size: float  # the scale of multipliers: the slopes of the objective at the start
    iteration: int
    step: float  # length of the step that led here


def iterates(problem: DualProblem, system: DenseSystem, unit: float | Array) -> Iterator[Iterate]:
    """The iterates of the method while it makes progress; the caller decides when to stop.

    All bounds must leave slack and 0 be one of them or between them, as in every problem of
    :mod:`maxmargin.problems.dual`; ``unit`` is the size that variables without a bound are expected to have."""
    m, p, a = problem.n_variables, problem.linear, _start(problem, unit)
    f = -system._of_groups(system.offset)
    size = float(np.abs(p + f).max(initial=0.0)) or float(np.abs(system.value(a)).max(initial=0.0)) or 1.0
    boxes = problem.lower[None].copy(), problem.upper[None].copy(), p[None].copy(), a[None].copy()
    total, zeros = float(a.sum()), np.zeros(m)
    path = Path(PathStart(*boxes, zeros, f, 0.0, total, size, False, EVEN_ONE_SIDED, len(f)), system)
    going, state = True, np.empty(4 * m)
    while going:
        path.rows.rooms(state)
        below, above, at_lower, at_upper = state.reshape(4, m).copy()
        yield Iterate(
            a=path.beta.copy(),
            offset=system.offset,
            below=below,
            above=above,
            at_lower=at_lower,
            at_upper=at_upper,
            mu=path.mean_product(),
            size=size,
            iteration=path.n_iter,
            step=path.length,
        )
        path.gather()
        going = path.step()


def _start(problem: DualProblem, unit: float | Array) -> Array:
    """Zero inside a box, half of one that ends there, or ``unit`` without bounds. In a group of both signs both sides
    get the same sum; a sum of a single sign is spread over its boxes."""
    sign = np.where(problem.upper > 0, np.where(problem.lower < 0, 0.0, 1.0), -1.0)
    box = np.where(sign > 0, problem.upper, -problem.lower)
    a = sign * np.where(np.isfinite(box), 0.5 * box, unit)
    for g, total in enumerate(problem.totals):
        up, down = (problem.group == g) & (sign > 0), (problem.group == g) & (sign < 0)
        if total != 0:
            members = up if total > 0 else down
            a[members] = float(total) / float(box[members].sum()) * box[members]
        elif sign[problem.group == g].any():
            high, low = float(a[up].sum()), -float(a[down].sum())
            a[up] *= min(1.0, low / high)
            a[down] *= min(1.0, high / low)
    return a


def solve_kernel(
    problem: DualProblem,
    K: Array | RowProducts,
    system_of: type[DenseSystem],
    goal: float,
    control: Control,
    start: Array | None,
) -> Solution:
    """Evaluate iterates, and the points derived from them, until the violation of one is at most ``goal``."""
    best = problem.start() if start is None else problem.feasible(start)
    f = K @ problem.coefficients(best)
    if report_point(problem, best, f, 0, control).violation <= goal:
        return Solution(best, f, Status.OPTIMAL, 0)
    n_iter = 0
    inner, values, moving = without_fixed(problem, K)
    slope = float(np.abs(problem.linear).max(initial=0.0)) or 1.0
    unit = slope / (float(np.abs(K.diagonal()).mean()) or 1.0)
    for iterate in iterates(inner, system_of(inner, K), unit):
        n_iter, solved = iterate.iteration, False
        for guess in guesses(inner, K, iterate):
            a = values.copy()
            a[moving] = guess
            a = problem.feasible(a)
            f_a = K @ problem.coefficients(a)
            solved = optimality.violation(problem, a, problem.gradient(f_a, a)) <= goal
            if solved or problem.objective(f_a, a) <= problem.objective(f, best):
                best, f = a, f_a
            if solved:
                break
        report_point(problem, best, f, n_iter, control)
        stop = control.stop() or (Status.MAX_ITER if 0 <= control.max_iter <= n_iter else None)
        if solved or stop is not None:
            return Solution(best, f, Status.OPTIMAL if solved else stop or Status.STALLED, n_iter)
    return Solution(best, f, Status.STALLED, n_iter)


def without_fixed(problem: DualProblem, K: Array | RowProducts) -> tuple[DualProblem, Array, Array]:
    """The problem in the variables that can move, the values of those that cannot, and which ones move.

    A variable cannot move if its bounds are equal, or if its group's sum is the smallest or the largest there is."""
    fixed = problem.upper <= problem.lower
    values = np.where(fixed, problem.lower, 0.0)
    for g, total in enumerate(problem.totals):
        members = problem.group == g
        for bound in (problem.lower, problem.upper):
            size = abs(float(total)) + float(np.abs(bound[members]).sum())
            if np.isfinite(size) and abs(float(bound[members].sum()) - float(total)) <= 1e-13 * size:
                fixed, values = fixed | members, np.where(members, bound, values)
    moving = np.flatnonzero(~fixed)
    pull = problem.sign * (K @ problem.coefficients(values))[problem.row]
    left = [g for g in range(len(problem.totals)) if (problem.group[moving] == g).any()]
    number = np.full(len(problem.totals) + 1, -1)
    number[left] = np.arange(len(left))
    taken = np.array([values[problem.group == g].sum() for g in left])
    inner = replace(
        problem,
        row=problem.row[moving],
        sign=problem.sign[moving],
        linear=(problem.linear + pull)[moving],
        lower=problem.lower[moving],
        upper=problem.upper[moving],
        group=number[problem.group[moving]],
        totals=problem.totals[left] - taken,
    )
    return inner, values, moving


def guesses(problem: DualProblem, K: Array | RowProducts, iterate: Iterate) -> Iterator[Array]:
    """Points that may be exactly optimal: the iterate; once mu is small, the iterate with active variables at their
    bounds; and the latter with the other variables solved for, again from the residual that rounding leaves of products
    of low rank."""
    a = iterate.a
    yield a
    largest = float(np.abs(a).max(initial=0.0)) or 1.0
    if len(a) == 0 or iterate.mu > BOUNDS_MAX_MU * largest * iterate.size:
        return
    low = iterate.below / largest < iterate.at_lower / iterate.size
    high = ~low & (iterate.above / largest < iterate.at_upper / iterate.size)
    a = np.where(low, problem.lower, np.where(high, problem.upper, a))
    yield a
    for _ in range(1 + MAX_REFINEMENTS * isinstance(K, RowProducts)):
        a = with_free_solved(problem, K, a, np.flatnonzero(~(low | high)))
        yield a


def with_free_solved(problem: DualProblem, K: Array | RowProducts, a: Array, free: Array) -> Array:
    """a with the best values of its ``free`` variables while all others stay, cut to their bounds."""
    if len(free) == 0:
        return a
    rows, signs = problem.row[free], problem.sign[free]
    g = problem.sign * (K @ problem.coefficients(a))[problem.row] + problem.linear
    groups = [k for k in range(len(problem.totals)) if (problem.group[free] == k).any()]
    G = np.array([problem.group[free] == k for k in groups], float).reshape(len(groups), len(free))
    sums = np.array([problem.totals[k] - a[problem.group == k].sum() for k in groups])
    if isinstance(K, RowProducts):
        if len(free) > K.rank + len(groups):
            return _with_factor_solved(a, free, signs[:, None] * K.X[rows], g[free], G, sums, problem)
        Q = K.X[rows] @ K.X[rows].T
    else:
        Q = K[np.ix_(rows, rows)]
    return _with_solved(a, free, Q * signs * signs[:, None], g[free], G, sums, problem)


def _with_factor_solved(a: Array, free: Array, X: Array, g: Array, G: Array, e: Array, problem: DualProblem) -> Array:
    """The same for Q = X X' of lower rank than there are free variables: the change u of w that makes their gradients
    equal, X u - G'lambda = -g by least squares, and of all d with X'd = u and G d = e the shortest, measured by how far
    each variable is from its bounds."""
    slack = np.sqrt(np.minimum(a - problem.lower, problem.upper - a)[free])
    size = np.sqrt(np.einsum("ij,ij->j", X, X))
    size[size == 0.0] = 1.0
    X = X / size
    if not np.isfinite(slack).all():
        return a
    u = np.linalg.lstsq(np.hstack((X, -G.T)), -g, rcond=None)[0][: X.shape[1]]
    scaled = np.vstack((X.T, G)) * slack
    d = slack * np.linalg.lstsq(scaled, np.concatenate((u / size**2, e)), rcond=None)[0]
    a = a.copy()
    a[free] = np.clip(a[free] + d, problem.lower[free], problem.upper[free])
    return a


def _with_solved(a: Array, free: Array, Q: Array, g: Array, G: Array, e: Array, problem: DualProblem) -> Array:
    """a with Q d - G'lambda = -g, G d = e added to its free variables, inside their bounds."""
    m, k = len(free), len(e)
    ridge = 1e-13 * float(np.trace(Q)) / m or 1e-13
    size = float(np.abs(Q).max()) or 1.0  # scaled like the matrix, or the factors lose digits
    system = np.zeros((m + k, m + k))
    system[:m, :m], system[m:, :m], system[:m, m:] = Q, size * G, -size * G.T
    pushed = system.copy()
    pushed[np.arange(m), np.arange(m)] += ridge
    right = np.concatenate((-g, size * e))
    with np.errstate(all="ignore"):
        factors = lu_factor(pushed, check_finite=False)
        x = lu_solve(factors, right, check_finite=False)
        for _ in range(3):  # iterative refinement removes the effect of the ridge
            x = x + lu_solve(factors, right - system @ x, check_finite=False)
    if not np.isfinite(x).all():
        return a
    a = a.copy()
    a[free] = np.clip(a[free] + x[:m], problem.lower[free], problem.upper[free])
    return a
