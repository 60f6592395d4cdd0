"""Stochastic sub-gradient descent: one row per step, drawn at random or in turn.

The objective 1/2 |w|^2 + sum_i c_i loss_i is the mean, over a row i drawn with probability c_i / S, S = sum c_i, of
1/2 |w|^2 + S loss_i. So, with eta the length of the step, and only inside the margin for the second term,

    w <- w - eta (w - S s_i y_i x_i),      s_i = 1 (hinge) or 2 (1 - m_i) (squared hinge),

follows the sub-gradient on average. For the objective 1/2 |w|^2 + (C/N) sum loss_i this reads w - eta (w - C y_i x_i):
the factor is C, not C/N, for the division by N is done by drawing one row of N. (With C/N the method would solve the
problem of C / N instead.)

w = s u is kept as a number times a vector, so that the shrinking by 1 - eta costs nothing and a step only touches the
columns that the row uses; so are the multipliers, beta = s v, which every step knows: beta_i += eta S s_i y_i. They
need not be feasible, but come close to being so as steps are averaged. The average has weights 1, 2, 3, ...
(Lacoste-Julien, Schmidt & Bach 2012) and is formed lazily: with T = sum_t t s_t, a change of u at some T counts for
what T gains afterwards, so sum_t t w_t = T u - z with z += T du.

With ``order="cyclic"`` the rows take turns: step t takes the row at ((t mod n) + phase) / n of the cumulated weights,
with another phase in [0, 1) in each epoch. With equal weights every epoch visits each row once, in their order; with
others each row in proportion to its weight over the epochs.

The intercept. Penalised, it is the weight of a constant column. Free, it is stepped like the weight of a constant
column but does not shrink; after each epoch (as many rows as there are) it is set to its exact minimum, and so is that
of the average, whose objective is what the history records.

Pegasos: primal estimated sub-gradient solver (Shalev-Shwartz, Singer, Srebro & Cotter 2011).

In its notation the objective is (lambda / 2) |w|^2 + (1/N) sum_i hinge_i, with lambda = 1 / (N C) for equal weights,
and step t takes k random rows:

    w <- (1 - eta_t lambda) w + (eta_t / k) sum over those inside the margin of y_i x_i,     eta_t = 1 / (lambda t).

Divided by lambda this is the step of :mod:`maxmargin.solvers.teaching.stochastic` with eta = 1/t: the shrinking by 1 -
1/t makes w an average of sub-gradients. The optimum lies in the ball |w| <= 1 / sqrt(lambda) (|w|^2 <= sum c_i here),
onto which w may be projected after each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from maxmargin import _native
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Status
from maxmargin.runtime.validation import Array, check_choice, check_flag, check_number
from maxmargin.solvers.base import MARGIN_LOSSES, LinearSolver
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.teaching.subgradient import INVERSE, Step, highest, refuses_hard, schedule, too_long

ORDERS = ("random", "cyclic")
FIRST_PHASE, GOLDEN_RATIO = 0.5, (math.sqrt(5) - 1) / 2  # multiples of it, modulo 1, fill [0, 1) evenly
CALL_MAX_ENTRIES = 3_000_000  # of X that one call reads: some hundredths of a second, so that deadlines are kept


class Averaged:
    """w and the multipliers of a run of steps, and their averages."""

    def __init__(self, problem: PrimalProblem, radius: float, start: Start | None) -> None:
        self.problem = problem
        beta = np.zeros(problem.n_rows)
        if start is not None and start.beta is not None:
            beta = problem.feasible(start.beta)
        self.u, self.v = problem.row_combination(beta), beta
        self.steps = _native.StochasticSteps(
            problem.design.compiled, problem.y, *problem.sides, problem.weight, self.u, self.v
        )
        steps = self.steps
        steps.eps, steps.squared, steps.radius = problem.epsilon, problem.squared, radius
        steps.free, steps.rho = problem.free, problem.scaling**2 if problem.intercept == "penalised" else 0.0
        steps.b = start.b if start is not None and problem.free else 0.0
        self.weights = 0.0  # sum of t
        self.share = np.cumsum(problem.weight) / float(problem.weight.sum())
        self.last_row = int(np.flatnonzero(problem.weight > 0)[-1])

    @property
    def t(self) -> int:
        return int(self.steps.t)

    def draw(self, rng: Any, steps: int, batch: int) -> Array:
        """Rows, each with a probability (or, without a generator, in turn and with a frequency) that is proportional to
        its weight."""
        if rng is None:
            n = len(self.share)
            epoch, place = np.divmod(self.t * batch + np.arange(steps * batch), n)
            places = ((place + (FIRST_PHASE + GOLDEN_RATIO * epoch) % 1.0) / n).reshape(steps, batch)
        else:
            places = rng.random_sample((steps, batch))
        at = np.searchsorted(self.share, places, side="right")
        return np.minimum(at, self.last_row).astype(np.int64, copy=False)

    def go(self, drawn: Array, eta: Array) -> bool:
        """Take these steps; False where a number is no longer finite."""
        before, after = self.t, self.t + len(eta)
        self.weights += (after * (after + 1) - before * (before + 1)) / 2
        return bool(self.steps.go(drawn, eta))

    def last(self) -> tuple[Array, Array]:
        """w and the multipliers of the last step."""
        w, beta = np.empty(len(self.u)), np.empty(len(self.v))
        self.steps.last(w, beta)
        return w, beta

    def mean(self) -> tuple[Array, Array]:
        """Their weighted averages over all steps."""
        if self.weights == 0:
            return self.last()
        w, beta = np.empty(len(self.u)), np.empty(len(self.v))
        self.steps.mean(self.weights, w, beta)
        return w, beta


def descend(
    run: Run,
    start: Start | None,
    random_state: Any,
    eta: Callable[[int], float],
    *,
    step: Step | None,
    average: bool,
    batch: int = 1,
    radius: float = np.inf,
    order: str = "random",
) -> LinearSolution:
    """Epochs of stochastic steps until the gap of the (averaged) iterate is small enough."""
    problem, control = run.problem, run.control
    rng = None if check_choice("order", order, ORDERS) == "cyclic" else check_random_state(random_state)
    path = Averaged(problem, radius, start)
    n = problem.n_rows
    worst, epoch, fine = highest(problem, step), 0, True
    entries = (problem.X.nnz if problem.design.sparse else problem.X.size) / n
    at_once = max(1, int(CALL_MAX_ENTRIES / max(1.0, entries * batch)))
    while True:
        if not fine:
            return run.solution(Status.STALLED, epoch, too_long(step))
        w, beta = path.mean() if average else path.last()
        f = problem.design.times(w)
        b = problem.best_intercept(f, problem.penalised_intercept(beta))
        if not problem.primal(w, b, f) <= worst:
            return run.solution(Status.STALLED, epoch, too_long(step))
        status = run.evaluate(epoch, w, b, f, problem.feasible(beta))
        if status is not None:
            return run.solution(status, epoch)
        if problem.intercept == "free":
            path.steps.b = b if not average else problem.best_intercept(problem.design.times(path.last()[0]), b)
        left = -(-n // batch)
        while left > 0 and fine and control.stop() is None:
            steps = min(left, at_once)
            lengths = np.array([eta(path.t + k) for k in range(1, steps + 1)])
            fine = path.go(path.draw(rng, steps, batch), lengths)
            left -= steps
        epoch += 1


@dataclass(frozen=True)
class StochasticSubgradient(LinearSolver):
    """Stochastic sub-gradient descent, one row per step.

    Parameters
    ----------
    step : "1/(lambda t)", float, callable or None, default=None
        Length of step t = 1, 2, ...: 1/t, a constant, or a function of t. None is 1 / (t + t_0), with t_0 such that the
        first step changes the margin of its own row by about one.
    average : bool, default=True
        Return the weighted average of the iterates instead of the last one.
    order : {"random", "cyclic"}, default="random"
        Whether each step uses a random row, or the rows in turn.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import StochasticSubgradient
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", solver=StochasticSubgradient(), tol=1e-2, max_iter=10_000, random_state=0)
    >>> bool(abs(model.fit(X, y).coef_[0, 0] - 1) < 0.05)
    True
    """

    name: ClassVar[str] = "stochastic_subgradient"
    title: ClassVar[str] = "sub-gradient descent: one random row a step"
    accepts: ClassVar[tuple[str, ...]] = ("linear",)
    learns: ClassVar[str] = "primal"
    losses: ClassVar[tuple[str, ...]] = MARGIN_LOSSES

    step: Step | None = None
    average: bool = True
    order: str = "random"

    def refuses(self, problem: PrimalProblem) -> str | None:
        return refuses_hard(self, problem)

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        problem = run.problem
        squares = problem.design.squared_norms()
        # A step changes its row's margin by eta S s_i |x_i|^2; the squared hinge must not overshoot for any row.
        size = 2.0 * float(squares.max(initial=0.0)) if problem.squared else float(squares.mean())
        first = 1.0 / (1.0 + float(problem.weight.sum()) * size)
        eta = schedule(self.step, 1.0 if self.step == INVERSE else first)
        return descend(run, start, random_state, eta, step=self.step, average=self.average, order=self.order)


@dataclass(frozen=True)
class Pegasos(LinearSolver):
    """Pegasos, with mini-batches, projection and averaging; for the hinge loss.

    Parameters
    ----------
    batch_size : int, default=1
        Number of rows per step.
    project : bool, default=True
        Project w onto the ball that contains the optimum.
    average : bool, default=True
        Return the weighted average of the iterates instead of the last one.
    order : {"random", "cyclic"}, default="random"
        Whether each step uses random rows, or the rows in turn.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import Pegasos
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", solver=Pegasos(batch_size=2), tol=1e-2, max_iter=10_000, random_state=0)
    >>> bool(abs(model.fit(X, y).coef_[0, 0] - 1) < 0.05)
    True
    """

    name: ClassVar[str] = "pegasos"
    title: ClassVar[str] = "Pegasos: random rows, steps of 1 / (lambda t)"
    accepts: ClassVar[tuple[str, ...]] = ("linear",)
    learns: ClassVar[str] = "primal"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    batch_size: int = 1
    project: bool = True
    average: bool = True
    order: str = "random"

    def refuses(self, problem: PrimalProblem) -> str | None:
        if problem.squared and problem.loss.classifies:
            return (
                "pegasos steps by 1 / (lambda t), which the slope of the squared hinge turns into ever longer steps: "
                "use 'stochastic_subgradient', or loss='hinge'"
            )
        return refuses_hard(self, problem)

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        check_number("batch_size", self.batch_size, least=1, integer=True)
        radius = math.sqrt(float(run.problem.weight.sum())) if check_flag("project", self.project) else math.inf
        average, batch = check_flag("average", self.average), int(self.batch_size)
        return descend(
            run,
            start,
            random_state,
            lambda t: 1.0 / t,
            step=INVERSE,
            average=average,
            batch=batch,
            radius=radius,
            order=self.order,
        )
