"""The linear machine as data.

    minimise  1/2 |w|^2 + 1/2 (b / s)^2 + sum_i c_i loss(y_i (w'x_i + b))

    hinge            loss(m) = max(0, 1 - m)
    squared hinge    loss(m) = max(0, 1 - m)^2

The intercept is free (the term in b is absent), penalised (b = s b_s with 1/2 b_s^2, as LIBLINEAR does it: a constant
column s beside the others), or none (b = 0). The dual is

    maximise    sum_i alpha_i - 1/2 |sum_i alpha_i y_i x_i|^2 - 1/2 s^2 (sum_i y_i alpha_i)^2 - sum_i alpha_i^2 / 4 c_i
    subject to  0 <= alpha_i, and alpha_i <= c_i (hinge), and sum_i y_i alpha_i = 0 (free intercept),

where the third term is there for a penalised intercept and the last for the squared hinge. At the optimum
w = sum_i alpha_i y_i x_i, b = s^2 sum_i y_i alpha_i if it is penalised, and alpha_i = 2 c_i max(0, 1 - m_i) for the
squared hinge. c_i = inf forbids slack: the hard margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.problems.dual import DualProblem, c_svc
from maxmargin.runtime.validation import Array, Points
from maxmargin.solvers.linear.intercept import best_intercept
from maxmargin.solvers.linear.products import Design

LOSSES = ("hinge", "squared_hinge")
INTERCEPTS = ("free", "penalised", "none")
ROUNDING = 1e-12  # slack that a row without slack may have


@dataclass(frozen=True)
class LinearProblem:
    """One binary linear machine; see the module's text for the mathematics.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d)
        Used as it is: float32 or float64, dense or CSR.
    y : array of shape (n,)
        -1 or +1.
    bound : array of shape (n,)
        c_i >= 0; inf for the hard margin.
    loss : {"hinge", "squared_hinge"}
    intercept : {"free", "penalised", "none"}
    scaling : float
        s of a penalised intercept.
    threads : int
        Threads its products may use.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear import LinearProblem
    >>> problem = LinearProblem(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> w, b, alpha = np.array([1.0]), 0.0, np.array([0.5, 0.5])
    >>> problem.primal(w, b), problem.dual(alpha)
    (0.5, 0.5)
    """

    X: Points
    y: Array
    bound: Array
    loss: str = "hinge"
    intercept: str = "free"
    scaling: float = 1.0
    threads: int = 1

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def squared(self) -> bool:
        return self.loss == "squared_hinge"

    @cached_property
    def hard_margin(self) -> bool:
        return bool(np.isinf(self.bound).any())

    @cached_property
    def design(self) -> Design:
        """Products with X alone."""
        return Design(self.X, threads=self.threads)

    @cached_property
    def ridge(self) -> Array:
        """1 / 2 c_i for the squared hinge, else 0: what its slacks add to the diagonal of the dual's matrix."""
        if not self.squared:
            return np.zeros(self.n_rows)
        return np.where(self.bound > 0, 0.5 / np.where(self.bound > 0, self.bound, 1.0), 0.0)

    @cached_property
    def upper(self) -> Array:
        """The largest alpha_i."""
        return np.where(self.bound > 0, math.inf, 0.0) if self.squared else self.bound

    @cached_property
    def boxes(self) -> DualProblem:
        """The dual's constraints in the signs of :mod:`maxmargin.problems.dual`, a_i = y_i alpha_i."""
        return c_svc(self.y, self.upper, fit_intercept=self.intercept == "free")

    def margins(self, w: Array, b: float) -> Array:
        """y_i (w'x_i + b) of every row."""
        return self.y * (self.design.times(w) + b)

    def losses(self, margins: Array) -> float:
        """sum c_i loss(m_i); infinite if a row without slack is inside the margin."""
        slack = np.maximum(0.0, 1.0 - margins)
        price = self.bound
        if self.hard_margin:
            hard = np.isinf(price)
            if (slack[hard] > ROUNDING).any():
                return math.inf
            price = np.where(hard, 0.0, price)
        return float(np.dot(price, slack**2 if self.squared else slack))

    def penalty(self, w: Array, b: float) -> float:
        """1/2 |w|^2, and 1/2 (b / s)^2 if the intercept is penalised."""
        return 0.5 * float(w @ w) + (0.5 * (b / self.scaling) ** 2 if self.intercept == "penalised" else 0.0)

    def primal(self, w: Array, b: float, margins: Array | None = None) -> float:
        """The objective of (w, b); ``margins`` where they are known."""
        return self.penalty(w, b) + self.losses(self.margins(w, b) if margins is None else margins)

    def w_of(self, alpha: Array) -> Array:
        """sum_i alpha_i y_i x_i."""
        return self.design.transposed(self.y * alpha)

    def b_of(self, alpha: Array) -> float:
        """The intercept that belongs to alpha if it is penalised; 0 otherwise."""
        return self.scaling**2 * float(self.y @ alpha) if self.intercept == "penalised" else 0.0

    def dual(self, alpha: Array, w: Array | None = None) -> float:
        """The dual objective of feasible multipliers; ``w`` is :meth:`w_of` of them where it is known."""
        w = self.w_of(alpha) if w is None else w
        value = float(alpha.sum()) - self.penalty(w, self.b_of(alpha))
        return value - 0.5 * float(self.ridge @ alpha**2) if self.squared else value

    def feasible(self, alpha: Array) -> Array:
        """Feasible multipliers near alpha: clipped to their box, with sum y_i alpha_i = 0 if the intercept is free."""
        return np.abs(self.boxes.feasible(self.y * alpha))

    def settle(self, f: Array, b: float) -> float:
        """The best intercept for decision values f = X w, where it is free; ``b`` where it is not, or where soft and
        hard rows are mixed."""
        if self.intercept != "free":
            return b
        if not self.hard_margin:
            return best_intercept(f, self.y, self.bound, self.loss)
        positive, negative = f[(self.y > 0) & (self.bound > 0)], f[(self.y < 0) & (self.bound > 0)]
        if not np.isinf(self.bound[self.bound > 0]).all() or len(positive) == 0 or len(negative) == 0:
            return b
        return -(float(positive.min()) + float(negative.max())) / 2
