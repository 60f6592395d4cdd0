"""Linear problems as data: rows, targets, weights and a loss.

    minimise  1/2 |w|^2 + 1/2 (b / s)^2 + t b + sum_i loss_i(y_i - w'x_i - b)

with the losses of :mod:`maxmargin.problems.losses`. Classification has a hinge and labels -1, +1; regression a tube, a
quantile or squares; the one-class model the pinball loss of quantile one, targets zero and t > 0. The intercept is free
(the term in (b / s)^2 is absent), penalised (b = s b_s with 1/2 b_s^2, as LIBLINEAR does it: a constant column s beside
the others; t = 0), or none (b = 0).

The dual has one multiplier per row, the row's coefficient in w = sum_i beta_i x_i:

    maximise    sum_i y_i beta_i - loss_i*(beta_i) - 1/2 |sum_i beta_i x_i|^2 - 1/2 s^2 (sum_i beta_i)^2
    subject to  lower_i <= beta_i <= upper_i,  and sum_i beta_i = t (free intercept),

where the term in s belongs to a penalised intercept. At the optimum w = sum_i beta_i x_i, b = s^2 sum_i beta_i if it
is penalised, and beta_i is the derivative of loss_i at its residual. A weight of infinity forbids losses: the hard
margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from maxmargin import _native
from maxmargin.problems.design import Design
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.losses import Hinge, Loss, Pinball, Survey, make_loss
from maxmargin.runtime.threads import Stop
from maxmargin.runtime.validation import Array, Points


@dataclass(frozen=True)
class PrimalProblem:
    """One linear problem; the module's docstring has the mathematics.

    Attributes
    ----------
    X : array, CSR or CSC matrix of shape (n, d)
        float32 or float64; not copied.
    y : array of shape (n,)
        Targets; -1 and +1 for losses that classify.
    weight : array of shape (n,)
        c_i >= 0; inf for the hard margin.
    loss : Loss or str
        A name means the loss with its default options.
    intercept : {"free", "penalised", "none"}
    scaling : float
        s of a penalised intercept.
    threads : int
        Threads for products.
    total : float
        t, for a free intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.primal import PrimalProblem
    >>> problem = PrimalProblem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> w, b, beta = np.array([1.0]), 0.0, np.array([-0.5, 0.5])
    >>> problem.primal(w, b), problem.dual(beta)
    (0.5, 0.5)
    """

    form: ClassVar[str] = "linear"  # of problem, of those that solvers accept

    X: Points
    y: Array
    weight: Array
    loss: Loss = Hinge()  # noqa: RUF009 (frozen, without fields)
    intercept: str = "free"
    scaling: float = 1.0
    threads: int = 1
    total: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.loss, str):
            object.__setattr__(self, "loss", make_loss(self.loss))

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def squared(self) -> bool:
        return self.loss.squared

    @property
    def epsilon(self) -> float:
        return self.loss.epsilon

    @property
    def free(self) -> bool:
        """Whether the intercept is free."""
        return self.intercept == "free"

    @property
    def constant(self) -> float:
        """The value of the constant column of a penalised intercept; 0 without one."""
        return self.scaling if self.intercept == "penalised" else 0.0

    @cached_property
    def hard_margin(self) -> bool:
        return bool(np.isinf(self.weight).any())

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """The weights above and below the tube of every row."""
        above, below = self.loss.sides(self.y, self.weight)
        return np.ascontiguousarray(above, np.float64), np.ascontiguousarray(below, np.float64)

    @cached_property
    def rows(self) -> Any:
        """The losses of all rows for compiled passes."""
        return _native.RowLosses(self.y, *self.sides, self.epsilon, self.squared)

    @cached_property
    def ridge(self) -> Array:
        """rho of the conjugates, which the loss adds to the diagonal of the dual's matrix."""
        return self.loss.ridge(self.weight)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        lower, upper = self.loss.box(self.y, self.weight)
        return np.ascontiguousarray(lower, np.float64), np.ascontiguousarray(upper, np.float64)

    @property
    def lower(self) -> Array:
        """The smallest beta_i."""
        return self.box[0]

    @property
    def upper(self) -> Array:
        """The largest beta_i."""
        return self.box[1]

    @cached_property
    def design(self) -> Design:
        """Products with X alone."""
        return Design(self.X, threads=self.threads)

    @cached_property
    def shift(self) -> Array | None:
        """The means of dense columns, if the intercept is free: sum beta_i is fixed, so only b depends on them. None
        for sparse columns."""
        return self.design.mean() if self.free and not self.design.sparse else None

    @cached_property
    def centred(self) -> Design:
        """Products with X minus the shift."""
        return self.design if self.shift is None else Design(self.X, shift=self.shift, threads=self.threads)

    @cached_property
    def row_squares(self) -> Array:
        """|x_i|^2 of every row, shifted if X is."""
        return self.centred.squared_norms()

    def solver_design(self, stop: Stop) -> Design:
        """X for solvers of square systems: dense columns are centred for a free intercept, and a penalised one is a
        constant column."""
        constant = self.scaling if self.intercept == "penalised" else None
        return Design(self.X, shift=self.shift, constant=constant, threads=self.threads, stop=stop)

    @cached_property
    def boxes(self) -> DualProblem:
        """The dual's constraints in the form of :mod:`maxmargin.problems.dual`."""
        n = self.n_rows
        return DualProblem(
            kind="c_svc" if self.loss.classifies else "eps_svr",
            target=self.y,
            bound=self.weight,
            row=np.arange(n),
            sign=np.ones(n),
            linear=-self.y,
            lower=self.lower,
            upper=self.upper,
            group=np.full(n, 0 if self.free else -1),
            totals=np.full(int(self.free), self.total),
            epsilon=self.epsilon,
            fit_intercept=self.free,
        )

    @cached_property
    def centre(self) -> float:
        """A constant that can be subtracted from every y_i without changing the dual, because sum beta_i = 0; this
        keeps digits of targets far from zero."""
        return float(self.y.mean()) if self.free and self.total == 0 and not self.loss.classifies else 0.0

    @cached_property
    def smallest_objective(self) -> float:
        """An objective that is zero up to rounding. Only a problem with t > 0 can have one: then w = 0, b = 0 is
        optimal, and the gap is relative to the size of the dual's terms, 1/2 t^2 |x|^2."""
        return 0.5e-8 * self.total**2 * float(self.design.squared_norms().mean()) if self.total else 0.0

    def margins(self, w: Array, b: float) -> Array:
        """y_i (w'x_i + b) of every row, for losses that classify."""
        return self.y * (self.design.times(w) + b)

    def losses(self, f: Array, b: float = 0.0) -> float:
        """The sum of all rows' losses at the values f + b; infinite if a row of infinite weight has a loss."""
        return self.survey(f, b, None).losses

    def survey(self, f: Array, b: float, beta: Array | None, centre: float = 0.0, hard: float = 1.0) -> Survey:
        """Sums over all rows in one pass; ``hard`` is the length of a step if slack is forbidden."""
        return Survey(*self.rows.survey(f, b, beta, centre, hard))

    def penalty(self, w: Array, b: float) -> float:
        """1/2 |w|^2, and 1/2 (b / s)^2 if the intercept is penalised."""
        own = b / self.scaling if self.intercept == "penalised" else 0.0
        return 0.5 * float(w @ w) + 0.5 * own * own  # infinite where it overflows; a power would raise an error

    def weights_of(self, v: Array) -> Array:
        """The optimal w for v = sum_i beta_i x_i: v itself, unless coefficients have bounds."""
        return v

    def dual_penalty(self, v: Array, b: float) -> float:
        """The penalty's part of the dual: its conjugate at v = sum_i beta_i x_i, and at the b of the multipliers."""
        return self.penalty(v, b)

    def primal(self, w: Array, b: float, f: Array | None = None) -> float:
        """The objective of (w, b); ``f`` = X w, if known."""
        f = self.design.times(w) if f is None else f
        return self.penalty(w, b) + self.total * b + self.losses(f, b)

    def row_combination(self, beta: Array) -> Array:
        """v = sum_i beta_i x_i of feasible beta, computed as sum_i beta_i (x_i - m) + t m: columns far from zero
        keep their digits."""
        if self.shift is None:
            return self.design.transposed(beta)
        v = self.centred.transposed(beta)
        return v + self.total * self.shift if self.total else v

    def penalised_intercept(self, beta: Array) -> float:
        """The intercept given by beta if it is penalised; 0 otherwise."""
        return self.scaling**2 * float(beta.sum()) if self.intercept == "penalised" else 0.0

    def dual(self, beta: Array, v: Array | None = None) -> float:
        """The dual objective of feasible multipliers; ``v`` is their :meth:`row_combination`, if known."""
        v = self.row_combination(beta) if v is None else v
        terms = (self.y - self.centre) @ beta - self.epsilon * np.abs(beta).sum() - 0.5 * ((self.ridge * beta) @ beta)
        return float(terms) - self.dual_penalty(v, self.penalised_intercept(beta))

    def feasible(self, beta: Array) -> Array:
        """Feasible multipliers near beta: inside their boxes, with the sum t if the intercept is free."""
        return self.boxes.feasible(beta)

    def balance(self, up: float, down: float) -> tuple[float, float]:
        """Factors of the positive and of the negative multipliers, whose sums are ``up`` and ``down``, that make their
        sum zero: the heavier side becomes as light as the other. (1, 1) where the sum is free."""
        down = abs(down)
        if not self.free or up == down:
            return 1.0, 1.0
        return min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0

    def initial_multipliers(self) -> Array:
        """Feasible multipliers to begin with: zero, or where their sum must not be, the same part of every box."""
        if self.total == 0:
            return np.zeros(self.n_rows)
        room = self.upper - self.lower
        return self.feasible(self.lower + room * (self.total - self.lower.sum()) / room.sum())

    def best_intercept(self, f: Array, b: float) -> float:
        """The best intercept for f = X w where it is free; ``b`` where it is not, or where rows with and without slack
        are mixed."""
        if not self.free:
            return b
        if not self.hard_margin:
            return self.loss.best_intercept(self.y - f, self.y, self.weight, self.total)
        ends = self.y - f
        low, high = ends[self.sides[0] > 0], ends[self.sides[1] > 0]
        if not np.isinf(self.weight[self.weight > 0]).all() or len(low) == 0 or len(high) == 0:
            return b
        return (float(low.max()) + float(high.min())) / 2

    def primal_intercept(self, f: Array, b: float) -> float:
        """The intercept of least objective for f = X w, free or penalised; the latter is found from ``b`` near it."""
        if self.intercept != "penalised" or self.hard_margin:
            return self.best_intercept(f, b)
        return self.loss.best_penalised_intercept(self.y - f, self.y, self.weight, 1.0 / self.scaling**2, b)

    def relative_gap(self, primal: float, dual: float) -> float:
        """The duality gap as a part of the larger objective."""
        if primal == dual:
            return 0.0
        gap, size = primal - dual, max(abs(primal), abs(dual), self.smallest_objective)
        return gap / size if math.isfinite(gap) else math.inf

    @cached_property
    def unit(self) -> float:
        """The size of a residual: one for labels, else the targets' mean distance from their mean."""
        if self.loss.classifies:
            return 1.0
        return float(np.abs(self.y - self.y.mean()).mean()) or 1.0


def one_class_problem(X: Points, weight: Array, nu: float, threads: int = 1) -> PrimalProblem:
    """The linear one-class model: a hyperplane between the origin and all but a share nu of the points.

        minimise  1/2 |w|^2 - nu W rho + sum_i w_i max(0, rho - w'x_i),        W = sum_i w_i (the rows' weights)

    stated as :mod:`maxmargin.problems.dual` states it for every kernel: Schoelkopf's problem times nu W. With b = -rho
    targets are zero, a row below the hyperplane costs w_i times its distance and one above nothing (the pinball loss of
    quantile one), and t = nu W. The dual is

        maximise  -1/2 |sum_i beta_i x_i|^2    subject to  0 <= beta_i <= w_i,  sum_i beta_i = nu W,

    so w / nu W is the point nearest to the origin among the means of the rows in which none has more than w_i / nu W of
    the weight. If the origin is such a mean itself, w = 0 is optimal: no hyperplane parts it from that many points.
    """
    total = nu * float(weight.sum())
    return PrimalProblem(X, np.zeros(len(weight)), weight, Pinball(1.0), total=total, threads=threads)
