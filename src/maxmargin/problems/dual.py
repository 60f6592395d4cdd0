"""Support vector problems as data.

Every kernel estimator solves the same quadratic program, the dual, and differs only in its arrays:

    minimise    1/2 a' Q a + p' a                Q_uv = s_u s_v K[row_u, row_v]
    subject to  lower_v <= a_v <= upper_v        for every variable v
                sum of a_v over group g = total_g    for every group g

The fitted function is f(x) = sum_v s_v a_v k(x_row(v), x) + b, so a row's coefficient is the sum of s_v a_v over its
variables. The convention of signs: C-SVC uses a_i = y_i alpha_i in [-C, 0] or [0, C] (then p = -y), so
its coefficients are the variables themselves. With g = Q a + p, the conditions of optimality in each group are

    g_u <= offset <= g_v    for every u with a_u > lower_u and every v with a_v < upper_v;

the offset of a group is the multiplier of its equality, from which b (and rho or epsilon of the nu problems) follow.
Variables of group -1 have no equality: their offset is 0.

The primal problems, with f_i = f(x_i) without b, and c_i the sample's weight times C:

    c_svc      1/2 |w|^2 + sum c_i max(0, 1 - y_i (f_i + b))                    (c_i = inf: hard margin)
    nu_svc     1/2 |w|^2 - nu W rho + sum w_i max(0, rho - y_i (f_i + b))       (W = sum w_i)
    eps_svr    1/2 |w|^2 + sum c_i max(0, |y_i - f_i - b| - epsilon)
    nu_svr     1/2 |w|^2 + nu epsilon sum c_i + sum c_i max(0, |y_i - f_i - b| - epsilon)    (epsilon is a variable)
    one_class  1/2 |w|^2 - nu W rho + sum w_i max(0, rho - f_i)                 (b = -rho)
    quantile   1/2 |w|^2 + sum c_i (q max(0, y_i - f_i - b) + (1 - q) max(0, f_i + b - y_i))

nu_svc and one_class are stated as LIBSVM states them (Chang & Lin 2011): Schoelkopf's problem times nu n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin.problems.sum_repairs import fill, move_free, shrink
from maxmargin.runtime.validation import Array

BOUND_ROUNDING = (
    1e-12  # of the distance between the bounds: the rounding of sums over equal rows, and over changes of a variable
)


class PrimalScalars(NamedTuple):
    """The variables of a primal problem besides w; 0 where it has none."""

    intercept: float
    rho: float = 0.0
    epsilon: float = 0.0


@dataclass(frozen=True)
class DualProblem:
    """One quadratic program; the module's docstring has the mathematics.

    Attributes
    ----------
    kind : str
        ``"c_svc"``, ``"nu_svc"``, ``"eps_svr"``, ``"nu_svr"``, ``"one_class"`` or ``"quantile"``.
    target : array
        y of each row: -1/+1 for classifiers, the value for regression, ones for one-class.
    bound : array
        c_i of each row.
    row, sign, linear, lower, upper, group : arrays
        One entry per variable.
    totals : array
        One entry per group.
    epsilon, nu : float
        If the kind has them.
    tol_scale : float
        The part of ``tol`` that the stopping rule may use; below 1 where the gradient itself is small.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc
    >>> problem = c_svc(np.array([1.0, 1.0, -1.0]), np.full(3, 10.0))
    >>> problem.n_variables, problem.linear, problem.totals
    (3, array([-1., -1.,  1.]), array([0.]))
    >>> problem.feasible(np.array([5.0, 20.0, -9.0]))  # within the bounds, and with the sum 0
    array([ 3.,  6., -9.])
    """

    kind: str
    target: Array
    bound: Array
    row: Array
    sign: Array
    linear: Array
    lower: Array
    upper: Array
    group: Array
    totals: Array
    epsilon: float = 0.0
    nu: float = math.nan
    tol_scale: float = 1.0
    fit_intercept: bool = field(default=True)

    @property
    def n_variables(self) -> int:
        return len(self.linear)

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @property
    def hard_margin(self) -> bool:
        return self.kind == "c_svc" and self._unbounded

    @property
    def hard_tube(self) -> bool:
        """Whether every point must lie inside the tube of a regression."""
        return self.kind == "eps_svr" and self._unbounded

    @property
    def _unbounded(self) -> bool:
        return bool(np.isinf(self.upper).any() or np.isinf(self.lower).any())

    @cached_property
    def _variables_are_rows(self) -> bool:
        """Whether variable i is that of row i, for all of them."""
        return len(self.row) == self.n_rows and bool((self.row == np.arange(self.n_rows)).all())

    def coefficients(self, a: Array) -> Array:
        """Coefficient of each row in the fitted function."""
        if self._variables_are_rows:
            return self.sign * a
        return np.bincount(self.row, weights=self.sign * a, minlength=self.n_rows)

    def gradient(self, f: Array, a: Array) -> Array:
        """Q a + p from f = K @ coefficients."""
        return self.sign * (f if self._variables_are_rows else f[self.row]) + self.linear

    def objective(self, f: Array, a: Array) -> float:
        """1/2 a' Q a + p' a (to be minimised) from f = K @ coefficients."""
        return float(0.5 * np.dot(self.coefficients(a), f) + np.dot(self.linear, a))

    def scalars(self, offset: Array) -> PrimalScalars:
        """b, rho and epsilon from the groups' offsets."""
        if self.kind in ("c_svc", "eps_svr", "quantile"):
            return PrimalScalars(-float(offset[0]) if self.fit_intercept else 0.0, epsilon=self.epsilon)
        if self.kind == "one_class":
            return PrimalScalars(-float(offset[0]), rho=float(offset[0]))
        if not self.fit_intercept:  # one group: sum of alpha; its offset is rho, or -epsilon
            b, half = 0.0, float(offset[0])
        else:  # f + b is rho above and -rho below (nu_svc), f - y + b is -epsilon above and epsilon below (nu_svr)
            up, down = float(offset[0]), float(offset[1])
            b, half = -(up + down) / 2, (up - down) / 2
        return PrimalScalars(b, rho=half) if self.kind == "nu_svc" else PrimalScalars(b, epsilon=-half)

    def restricted(self, rows: Array) -> tuple[DualProblem, Array]:
        """The problem of some of the rows, whose groups have the same sums, and which of the variables it has."""
        place = np.full(self.n_rows, -1)
        place[rows] = np.arange(len(rows))
        ids = np.flatnonzero(place[self.row] >= 0)
        names = ("sign", "linear", "lower", "upper", "group")
        own: dict[str, Any] = {name: getattr(self, name)[ids] for name in names}
        return replace(self, target=self.target[rows], bound=self.bound[rows], row=place[self.row[ids]], **own), ids

    def start(self) -> Array:
        """A feasible point: zero, or where the totals forbid zero, the first variables at their bounds (as LIBSVM)."""
        a = np.zeros(self.n_variables)
        return self.feasible(a) if self.totals.any() else a

    def at_bounds(self, a: Array) -> Array:
        """Move variables within rounding of a bound to that bound; otherwise they would count as free and determine
        the intercept."""
        width = self.upper - self.lower
        reach = BOUND_ROUNDING * np.where(np.isfinite(width), width, 0.0)
        a = np.where(np.abs(a - self.lower) <= reach, self.lower, a)
        return np.where(np.abs(a - self.upper) <= reach, self.upper, a)

    def feasible(self, a: Array) -> Array:
        """A feasible point near ``a``, as :meth:`balanced`. In a regression, the smaller of the two multipliers of a
        row is subtracted from both first: f is unchanged, and the dual objective rises."""
        if self.kind == "eps_svr" and self.n_variables == 2 * self.n_rows:  # not of multipliers beta alone
            a = np.clip(a, self.lower, self.upper)
            above, below = a[: self.n_rows], a[self.n_rows :]
            shared = np.minimum(above, -below)
            a = np.concatenate((above - shared, below + shared))
        return self.balanced(a)

    def balanced(self, a: Array) -> Array:
        """``a`` clipped to the bounds, with the sum of each group corrected.

        Free variables are changed first, so that those at a bound stay there; then the side that is too large shrinks
        toward zero; then variables are moved to their bounds in order. A point that is feasible up to rounding is
        kept."""
        a = np.clip(a, self.lower, self.upper)
        for g, total in enumerate(self.totals):
            members = np.flatnonzero(self.group == g)
            part, lower, upper = a[members], self.lower[members], self.upper[members]
            exact = 1e-14 * len(part) * max(abs(float(total)), float(np.abs(part).sum()))
            for repair in (move_free, shrink, fill):
                excess = float(part.sum() - total)
                if abs(excess) > exact:
                    part = repair(part, lower, upper, excess)
            a[members] = part
        return a


def _program(
    kind: str,
    target: Array,
    bound: Array,
    p: Array,
    lower: Array,
    upper: Array,
    group: Any,
    totals: list[float],
    **more: Any,
) -> DualProblem:
    """A program with one variable per row or, one set after the other, two."""
    m, n = len(p), len(target)
    more.setdefault("sign", np.ones(m))
    return DualProblem(
        kind=kind,
        target=target,
        bound=bound,
        row=np.arange(n) if m == n else np.arange(m) % n,
        linear=p,
        lower=lower,
        upper=upper,
        group=np.full(m, group) if isinstance(group, int) else group,
        totals=np.array(totals),
        **more,
    )


def c_svc(y: Array, bound: Array, *, fit_intercept: bool = True) -> DualProblem:
    """Soft-margin classification, max sum alpha_i - 1/2 alpha' Q alpha; ``y`` is -1 or +1 and ``bound`` the C of each
    row, inf allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import c_svc
    >>> problem = c_svc(np.array([1.0, -1.0]), np.array([5.0, 2.0]))
    >>> problem.lower, problem.upper
    (array([ 0., -2.]), array([5., 0.]))
    """
    y = np.asarray(y, np.float64)
    box = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
    ties = (0, [0.0]) if fit_intercept else (-1, [])
    return _program("c_svc", y, bound, -y, *box, *ties, fit_intercept=fit_intercept)


def eps_svr(y: Array, bound: Array, epsilon: float, *, fit_intercept: bool = True) -> DualProblem:
    """Epsilon-insensitive regression: a row has two variables, alpha_i in [0, c_i] and -alpha*_i in [-c_i, 0].

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import eps_svr
    >>> eps_svr(np.array([2.0, 3.0]), np.ones(2), 0.5).linear
    array([-1.5, -2.5, -2.5, -3.5])
    """
    y, ties = np.asarray(y, np.float64), (0, [0.0]) if fit_intercept else (-1, [])
    p = np.concatenate((epsilon - y, -epsilon - y))
    return _program("eps_svr", y, bound, p, *_two_sided(bound), *ties, epsilon=epsilon, fit_intercept=fit_intercept)


def _two_sided(bound: Array) -> tuple[Array, Array]:
    """Bounds of alpha_i and of -alpha*_i."""
    zeros = np.zeros(len(bound))
    return np.concatenate((zeros, -bound)), np.concatenate((bound, zeros))


def quantile(y: Array, bound: Array, q: float, *, fit_intercept: bool = True) -> DualProblem:
    """Quantile regression, the pinball loss: -(1 - q) c_i <= a_i <= q c_i (Takeuchi et al. 2006).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import quantile
    >>> problem = quantile(np.array([2.0, 3.0]), np.full(2, 10.0), 0.75)
    >>> problem.lower, problem.upper
    (array([-2.5, -2.5]), array([7.5, 7.5]))
    """
    y, ties = np.asarray(y, np.float64), (0, [0.0]) if fit_intercept else (-1, [])
    return _program("quantile", y, bound, -y, (q - 1.0) * bound, q * bound, *ties, fit_intercept=fit_intercept)


def one_class(weight: Array, nu: float) -> DualProblem:
    """The support of a distribution: 0 <= alpha_i <= w_i, sum alpha_i = nu sum w_i.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import one_class
    >>> one_class(np.ones(10), 0.2).totals
    array([2.])
    """
    zeros, total = np.zeros(len(weight)), nu * weight.sum()
    ones = np.ones(len(weight))
    return _program("one_class", ones, weight, zeros, zeros, weight, 0, [total], nu=nu, tol_scale=min(1.0, total))


def svdd(squared_norms: Array, weight: Array, nu: float) -> DualProblem:
    """The smallest ball around most points (Tax & Duin 2004), whose squared lengths are k(x_i, x_i) = |phi_i|^2.

        minimise  nu W R^2 + sum_i w_i max(0, |phi_i - c|^2 - R^2),        W = sum_i w_i

    with the centre c = w / T, w = sum_i alpha_i phi_i, T = nu W. T / 2 times this objective is

        1/2 |w|^2 - T rho + sum_i w_i max(0, rho - (f_i - T |phi_i|^2 / 2)),        rho = T (|c|^2 - R^2) / 2,

    which is :func:`one_class` with a linear term. For points of one length both have the same alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import svdd
    >>> svdd(np.array([1.0, 4.0]), np.ones(2), 0.5).linear
    array([-0.5, -2. ])
    """
    problem = one_class(weight, nu)
    return replace(problem, linear=-0.5 * float(problem.totals[0]) * np.asarray(squared_norms, np.float64))


def largest_nu(y: Array, weight: Array) -> float:
    """The largest feasible nu of :func:`nu_svc`: each class must be able to carry half of the total.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import largest_nu
    >>> largest_nu(np.array([1.0, -1.0, -1.0, -1.0]), np.ones(4))
    0.5
    """
    sides = np.array([weight[y > 0].sum(), weight[y < 0].sum()])
    return float(2 * sides.min() / sides.sum())


def nu_svc(y: Array, weight: Array, nu: float, *, fit_intercept: bool = True) -> DualProblem:
    """nu-classification: sum of alpha is nu W, half of it in each class (with an intercept).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import nu_svc
    >>> nu_svc(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), 0.5).totals
    array([ 1., -1.])
    """
    y, zeros, total = np.asarray(y, np.float64), np.zeros(len(y)), nu * weight.sum()
    shared = {"nu": nu, "tol_scale": min(1.0, total), "fit_intercept": fit_intercept}
    if fit_intercept:  # variables y_i alpha_i, so that each class is a group with a fixed sum
        box = np.where(y > 0, 0.0, -weight), np.where(y > 0, weight, 0.0)
        return _program("nu_svc", y, weight, zeros, *box, np.where(y > 0, 0, 1), [total / 2, -total / 2], **shared)
    return _program("nu_svc", y, weight, zeros, zeros, weight, 0, [total], sign=y, **shared)  # only their sum is fixed


def nu_svr(y: Array, bound: Array, nu: float, *, fit_intercept: bool = True) -> DualProblem:
    """nu-regression: sum of alpha + alpha* is nu sum c_i, half of it on each side (with an intercept).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems import nu_svr
    >>> nu_svr(np.array([1.0, 2.0]), np.full(2, 10.0), 0.5).totals
    array([ 5., -5.])
    """
    y, n, total = np.asarray(y, np.float64), len(y), nu * bound.sum()
    if fit_intercept:
        ties = np.repeat([0, 1], n), [total / 2, -total / 2]
        return _program("nu_svr", y, bound, np.concatenate((-y, -y)), *_two_sided(bound), *ties, nu=nu)
    box = np.zeros(2 * n), np.concatenate((bound, bound))
    sign = np.repeat([1.0, -1.0], n)
    p = np.concatenate((-y, y))
    return _program("nu_svr", y, bound, p, *box, 0, [total], nu=nu, sign=sign, fit_intercept=False)
