"""Stochastic sub-gradient descent: one random row a step.

The objective 1/2 |w|^2 + sum_i c_i loss_i is the mean, over a row i drawn with probability c_i / S, S = sum c_i, of
1/2 |w|^2 + S loss_i. So, with eta the length of the step, and only inside the margin for the second term,

    w <- w - eta (w - S s_i y_i x_i),      s_i = 1 (hinge) or 2 (1 - m_i) (squared hinge),

follows the sub-gradient on average. For the objective 1/2 |w|^2 + (C/N) sum loss_i this reads w - eta (w - C y_i x_i):
the factor is C, not C/N, for the division by N is done by drawing one row of N. (With C/N the method would solve the
problem of C / N instead.)

w = s u is kept as a number times a vector, so that the shrinking by 1 - eta costs nothing and a step only touches the
columns that the row uses; so are the multipliers, alpha = s v, which every step knows: alpha_i += eta S s_i. They need
not be feasible, but come close to being so as steps are averaged. The average has weights 1, 2, 3, ...
(Lacoste-Julien, Schmidt & Bach 2012) and is formed lazily: with T = sum_t t s_t, a change of u at some T counts for
what T gains afterwards, so sum_t t w_t = T u - z with z += T du.

The intercept. Penalised, it is the weight of a constant column. Free, it is stepped like the weight of a constant
column but does not shrink; after each epoch (as many rows as there are) it is set to its exact minimum, and so is that
of the average, whose objective is what the history records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from sklearn.utils import check_random_state

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import LinearSolution, Run, Start
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.rows import row_add, row_arrays, row_dot
from maxmargin.solvers.linear.subgradient import INVERSE, Step, highest, refuses_hard, schedule, too_long

WORK = 10_000_000  # entries of X between two looks at the clock: well under 0.2 s
TINY = 1e-9  # the factor s below which it is multiplied out


@numba.njit(cache=True, nogil=True)
def _steps(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    y: Array,
    squares: Array,
    drawn: Array,
    eta: Array,
    total: float,
    squared: bool,
    rho: float,
    free: bool,
    radius: float,
    u: Array,
    v: Array,
    late_u: Array,
    late_v: Array,
    sum_u: Array,
    sum_v: Array,
    state: Array,
) -> None:
    """Steps t, t + 1, ..., each with the rows in a row of ``drawn``.

    ``state`` is t, s, T, |u|^2, sum y_i v_i (a penalised intercept is rho s times it), and b if it is free."""
    steps, batch = drawn.shape
    hit = np.empty(batch)
    for k in range(steps):
        for r in range(batch):
            i = drawn[k, r]
            value = state[1] * (row_dot(sparse, indptr, indices, data, shift, i, u) + rho * state[4]) + state[5]
            slack = 1.0 - y[i] * value
            hit[r] = 0.0 if slack <= 0.0 else (2.0 * slack if squared else 1.0)
        state[1] *= 1.0 - eta[k]
        if abs(state[1]) < TINY:
            _multiply_out(u, late_u, sum_u, state)
            _multiply_out(v, late_v, sum_v, state)
            state[3] *= state[1] ** 2
            state[4] *= state[1]
            state[1], state[2] = 1.0, 0.0
        for r in range(batch):
            if hit[r] == 0.0:
                continue
            i = drawn[k, r]
            alpha = eta[k] * total * hit[r] / batch
            move = alpha / state[1]
            if radius < np.inf:
                along = row_dot(sparse, indptr, indices, data, shift, i, u)
                state[3] += move * (2.0 * y[i] * along + move * squares[i])
            row_add(sparse, indptr, indices, data, shift, i, move * y[i], u)
            row_add(sparse, indptr, indices, data, shift, i, state[2] * move * y[i], late_u)
            v[i] += move
            late_v[i] += state[2] * move
            state[4] += move * y[i]
            if free:  # no longer steps than 1/n: nothing shrinks an intercept that went astray
                state[5] += y[i] * min(alpha, total * hit[r] / (batch * len(v)))
        if state[1] ** 2 * state[3] > radius**2:
            state[1] = radius / np.sqrt(state[3])
        state[0] += 1.0
        state[2] += state[0] * state[1]


@numba.njit(cache=True, nogil=True)
def _multiply_out(u: Array, late: Array, total: Array, state: Array) -> None:
    """u <- s u; what the average has of the past is put aside."""
    for j in range(len(u)):
        total[j] += state[2] * u[j] - late[j]
        late[j] = 0.0
        u[j] *= state[1]


class Averaged:
    """w and alpha of a run of steps, and their averages."""

    def __init__(self, problem: LinearProblem, radius: float, start: Start | None) -> None:
        self.problem, self.radius = problem, radius
        alpha = np.zeros(problem.n_rows)
        if start is not None and start.alpha is not None:
            alpha = problem.feasible(start.alpha)
        self.u, self.v = problem.w_of(alpha), alpha
        self.late_u, self.late_v, self.sum_u, self.sum_v = (np.zeros(len(a)) for a in (self.u, self.v) * 2)
        b = start.b if start is not None and problem.intercept == "free" else 0.0
        self.state = np.array([0.0, 1.0, 0.0, float(self.u @ self.u), float(problem.y @ alpha), b])
        self.weights = 0.0  # sum of t
        self.rows, self.squares = row_arrays(problem.X), problem.design.squared_norms()
        self.total = float(problem.bound.sum())
        self.share = np.cumsum(problem.bound) / self.total

    @property
    def t(self) -> int:
        return int(self.state[0])

    def draw(self, rng: Any, steps: int, batch: int) -> Array:
        """Rows, each with a probability that is proportional to its price."""
        at = np.searchsorted(self.share, rng.random_sample((steps, batch)), side="right")
        return np.minimum(at, np.flatnonzero(self.problem.bound > 0)[-1])

    def go(self, drawn: Array, eta: Array) -> None:
        """Take these steps."""
        problem = self.problem
        rho = problem.scaling**2 if problem.intercept == "penalised" else 0.0
        before, after = self.t, self.t + len(eta)
        self.weights += (after * (after + 1) - before * (before + 1)) / 2
        _steps(
            *self.rows, problem.y, self.squares, drawn, eta, self.total, problem.squared, rho,
            problem.intercept == "free", self.radius, self.u, self.v, self.late_u, self.late_v, self.sum_u, self.sum_v,
            self.state,
        )  # fmt: skip

    def last(self) -> tuple[Array, Array]:
        """w and alpha of the last step."""
        return self.state[1] * self.u, self.state[1] * self.v

    def mean(self) -> tuple[Array, Array]:
        """Their weighted averages over all steps."""
        if self.weights == 0:
            return self.last()
        w = (self.sum_u + self.state[2] * self.u - self.late_u) / self.weights
        return w, (self.sum_v + self.state[2] * self.v - self.late_v) / self.weights


def descend(
    problem: LinearProblem,
    eta: Callable[[int], float],
    *,
    batch: int,
    average: bool,
    radius: float,
    tol: float,
    control: Control,
    start: Start | None,
    random_state: Any,
    step: Step | None,
) -> LinearSolution:
    """Epochs of stochastic steps until the gap of the (averaged) iterate is small enough."""
    run = Run(problem, tol, control)
    status = run.begin(start)
    if status is not None:
        return run.solution(status, 0)
    rng = check_random_state(random_state)
    path = Averaged(problem, radius, start)
    n = problem.n_rows
    worst, epoch = highest(problem, step), 0
    entries = (problem.X.nnz if problem.design.sparse else problem.X.size) / n
    at_once = max(1, int(WORK / max(1.0, entries * batch)))
    while True:
        w, alpha = path.mean() if average else path.last()
        f = problem.design.times(w)
        b = problem.settle(f, problem.b_of(alpha))
        if not problem.primal(w, b, problem.y * (f + b)) <= worst:
            return run.solution(Status.STALLED, epoch, too_long(step))
        status = run.visit(epoch, w, b, f, problem.feasible(alpha))
        if status is not None:
            return run.solution(status, epoch)
        if problem.intercept == "free":
            path.state[5] = b if not average else problem.settle(problem.design.times(path.last()[0]), b)
        left = -(-n // batch)
        while left > 0 and control.stop() is None:
            steps = min(left, at_once)
            lengths = np.array([eta(path.t + k) for k in range(1, steps + 1)])
            path.go(path.draw(rng, steps, batch), lengths)
            left -= steps
        epoch += 1


@dataclass(frozen=True)
class StochasticSubgradient:
    """Stochastic sub-gradient descent, one random row a step.

    Parameters
    ----------
    step : "1/(lambda t)", float, callable or None, default=None
        Length of step t = 1, 2, ...: 1/t, a constant, or a function of t. None is 1 / (t + t_0), with t_0 such that the
        first step changes the margin of its own row by about one.
    average : bool, default=True
        Give the weighted average of the iterates instead of the last one.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers.linear import StochasticSubgradient
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> machine = LinearSVC(loss="hinge", solver=StochasticSubgradient(), tol=1e-2, max_iter=10_000, random_state=0)
    >>> bool(abs(machine.fit(X, y).coef_[0, 0] - 1) < 0.05)
    True
    """

    name: ClassVar[str] = "stochastic_subgradient"
    learns: ClassVar[str] = "primal"

    step: Step | None = None
    average: bool = True

    def refuses(self, problem: LinearProblem) -> str | None:
        return refuses_hard(problem, self.name)

    def solve(
        self,
        problem: LinearProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        squares = problem.design.squared_norms()
        # A step changes its row's margin by eta S s_i |x_i|^2; the squared hinge must not overshoot for any row.
        size = 2.0 * float(squares.max(initial=0.0)) if problem.squared else float(squares.mean())
        first = 1.0 / (1.0 + float(problem.bound.sum()) * size)
        return descend(
            problem,
            schedule(self.step, 1.0 if self.step == INVERSE else first),
            batch=1,
            average=self.average,
            radius=np.inf,
            tol=tol,
            control=control,
            start=start,
            random_state=random_state,
            step=self.step,
        )
