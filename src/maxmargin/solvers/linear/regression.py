"""Linear regression with a tube, as data.

    minimise  1/2 |w|^2 + 1/2 (b / s)^2 + t b + sum_i u_i loss(r_i - eps) + l_i loss(-r_i - eps)

    residuals                      r_i = y_i - w'x_i - b
    epsilon insensitive            loss(r) = max(0, r)
    squared epsilon insensitive    loss(r) = max(0, r)^2                (with u_i = l_i)

A row costs nothing while its target y_i is at most eps from w'x_i + b; u_i is the price where it lies above that tube,
l_i where it lies below. Regression has u_i = l_i = c_i and t = 0; the one-class machine of
:mod:`maxmargin.solvers.linear.one_class` has one side only, and t > 0. The intercept is free (the term in (b / s)^2 is
absent), penalised (t = 0), or none.

The dual has one multiplier a row, the row's coefficient in w = sum_i beta_i x_i:

    maximise    sum_i y_i beta_i - eps |beta_i|
                - 1/2 |sum_i beta_i x_i|^2 - 1/2 s^2 (sum_i beta_i)^2 - sum_i beta_i^2 / 4 u_i
    subject to  -l_i <= beta_i <= u_i (but for the squared loss), and sum_i beta_i = t (free intercept),

where the term in s is there for a penalised intercept and the last for the squared loss. At the optimum w is as said,
b = s^2 sum_i beta_i if it is penalised, and beta_i = 2 u_i (r_i -+ eps) outside the tube for the squared loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.linear.products import Design
from maxmargin.solvers.linear.regression_intercept import best_tube_intercept

TUBE_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


@numba.njit(cache=True, nogil=True)
def _losses(f: Array, b: float, y: Array, eps: float, above: Array, below: Array, squared: bool) -> float:
    total = 0.0
    for i in range(len(f)):
        r = y[i] - f[i] - b
        out = max(0.0, abs(r) - eps)
        total += (above[i] if r > 0 else below[i]) * (out * out if squared else out)
    return total


@numba.njit(cache=True, nogil=True)
def _linear_terms(beta: Array, y: Array, eps: float, ridge: Array, centre: float) -> float:
    """sum (y_i - centre) beta_i - eps |beta_i| - ridge_i beta_i^2 / 2."""
    total = 0.0
    for i in range(len(beta)):
        v = beta[i]
        total += (y[i] - centre) * v - eps * abs(v) - 0.5 * ridge[i] * v * v
    return total


@dataclass(frozen=True)
class RegressionProblem:
    """One linear regression; see the module's text for the mathematics.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Used as it is: float32 or float64, dense or CSR.
    y : array of shape (n,)
    above, below : array of shape (n,)
        The prices u_i and l_i, >= 0, one of them > 0.
    epsilon : float
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    intercept : {"free", "penalised", "none"}
    scaling : float
        s of a penalised intercept.
    total : float
        t, for a free intercept.
    threads : int
        Threads its products may use.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.regression import RegressionProblem
    >>> c = np.full(2, 10.0)
    >>> problem = RegressionProblem(np.array([[-1.0], [1.0]]), np.array([-3.0, 3.0]), c, c)
    >>> problem.primal(np.array([3.0]), 0.0), problem.dual(np.array([-1.5, 1.5]))
    (4.5, 4.5)
    """

    X: Points
    y: Array
    above: Array
    below: Array
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"
    intercept: str = "free"
    scaling: float = 1.0
    total: float = 0.0
    threads: int = 1

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def squared(self) -> bool:
        return self.loss == "squared_epsilon_insensitive"

    @cached_property
    def design(self) -> Design:
        """Products with X alone."""
        return Design(self.X, threads=self.threads)

    @cached_property
    def shift(self) -> Array | None:
        """The means of dense columns, where the intercept is free: as sum beta_i is given, they are known to it alone.
        Sparse columns stay as they are."""
        return self.design.mean() if self.intercept == "free" and not self.design.sparse else None

    @cached_property
    def ridge(self) -> Array:
        """1 / 2 u_i for the squared loss, else 0: what it adds to the diagonal of the dual's matrix."""
        return 0.5 / self.above if self.squared else np.zeros(self.n_rows)

    @cached_property
    def upper(self) -> Array:
        """The largest beta_i."""
        return np.full(self.n_rows, math.inf) if self.squared else self.above

    @cached_property
    def lower(self) -> Array:
        """The smallest beta_i."""
        return -self.upper if self.squared else -self.below

    @cached_property
    def boxes(self) -> DualProblem:
        """The dual's constraints in the form of :mod:`maxmargin.problems.dual`."""
        n, free = self.n_rows, self.intercept == "free"
        return DualProblem(
            kind="eps_svr",
            target=self.y,
            bound=self.above,
            row=np.arange(n),
            sign=np.ones(n),
            linear=-self.y,
            lower=self.lower,
            upper=self.upper,
            group=np.full(n, 0 if free else -1),
            totals=np.full(int(free), self.total),
            epsilon=self.epsilon,
            fit_intercept=free,
        )

    @cached_property
    def centre(self) -> float:
        """What may be taken from every y_i without a change of the dual, as sum beta_i = 0: the digits of y that
        only the intercept has to know."""
        return float(self.y.mean()) if self.intercept == "free" and self.total == 0 else 0.0

    @cached_property
    def floor(self) -> float:
        """An objective too small to be told from zero. Only a problem with t > 0 can have one: then w = 0, b = 0
        is optimal, and the gap is judged by the size of the dual's terms, 1/2 t^2 |x|^2."""
        return 0.5e-8 * self.total**2 * float(self.design.squared_norms().mean()) if self.total else 0.0

    def losses(self, f: Array, b: float) -> float:
        """The sum of all rows' losses; f = X w."""
        return float(_losses(f, b, self.y, self.epsilon, self.above, self.below, self.squared))

    def penalty(self, w: Array, b: float) -> float:
        """1/2 |w|^2, and 1/2 (b / s)^2 if the intercept is penalised."""
        return 0.5 * float(w @ w) + (0.5 * (b / self.scaling) ** 2 if self.intercept == "penalised" else 0.0)

    def primal(self, w: Array, b: float, f: Array | None = None) -> float:
        """The objective of (w, b); ``f`` = X w where it is known."""
        f = self.design.times(w) if f is None else f
        return self.penalty(w, b) + self.total * b + self.losses(f, b)

    def w_of(self, beta: Array) -> Array:
        """sum_i beta_i x_i of feasible beta, computed as sum_i beta_i (x_i - m) + t m: columns far from zero keep their
        digits."""
        if self.shift is None:
            return self.design.transposed(beta)
        return Design(self.X, shift=self.shift, threads=self.threads).transposed(beta) + self.total * self.shift

    def b_of(self, beta: Array) -> float:
        """The intercept that belongs to beta if it is penalised; 0 otherwise."""
        return self.scaling**2 * float(beta.sum()) if self.intercept == "penalised" else 0.0

    def dual(self, beta: Array, w: Array | None = None) -> float:
        """The dual objective of feasible multipliers; ``w`` is :meth:`w_of` of them where it is known."""
        w = self.w_of(beta) if w is None else w
        terms = float(_linear_terms(beta, self.y, self.epsilon, self.ridge, self.centre))
        return terms - self.penalty(w, self.b_of(beta))

    def feasible(self, beta: Array) -> Array:
        """Feasible multipliers near beta: inside their boxes, with the sum t if the intercept is free."""
        return self.boxes.feasible(beta)

    def first(self) -> Array:
        """Feasible multipliers to begin with: zero, or where their sum must not be, the same part of every box."""
        if self.total == 0:
            return np.zeros(self.n_rows)
        room = self.upper - self.lower
        return self.feasible(self.lower + room * (self.total - self.lower.sum()) / room.sum())

    def settle(self, f: Array, b: float) -> float:
        """The best intercept for f = X w where it is free; ``b`` where it is not."""
        if self.intercept != "free":
            return b
        return best_tube_intercept(self.y - f, self.epsilon, self.above, self.below, self.squared, self.total)

    def relative(self, primal: float, dual: float) -> float:
        """The duality gap as a part of the larger objective."""
        if primal == dual:
            return 0.0
        gap, size = primal - dual, max(abs(primal), abs(dual), self.floor)
        return gap / size if math.isfinite(gap) else math.inf
