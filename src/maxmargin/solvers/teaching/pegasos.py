"""Pegasos: primal estimated sub-gradient solver (Shalev-Shwartz, Singer, Srebro & Cotter 2011).

In its own words the objective is (lambda / 2) |w|^2 + (1/N) sum_i hinge_i, with lambda = 1 / (N C) for equal weights,
and step t takes k random rows:

    w <- (1 - eta_t lambda) w + (eta_t / k) sum over those inside the margin of y_i x_i,     eta_t = 1 / (lambda t).

Divided by lambda this is the step of :mod:`maxmargin.solvers.teaching.stochastic` with eta = 1/t: the shrinking by 1 -
1/t makes w an average of sub-gradients. The optimum lies in the ball |w| <= 1 / sqrt(lambda) (|w|^2 <= sum c_i here),
onto which w may be projected after each step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import check_flag, check_number
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.teaching.stochastic import descend
from maxmargin.solvers.teaching.subgradient import INVERSE, refuses_hard


@dataclass(frozen=True)
class Pegasos(LinearSolver):
    """Pegasos, with mini-batches, projection and averaging; for the hinge loss.

    Parameters
    ----------
    batch_size : int, default=1
        Rows a step.
    project : bool, default=True
        Project w onto the ball that contains the optimum.
    average : bool, default=True
        Give the weighted average of the iterates instead of the last one.
    order : {"random", "cyclic"}, default="random"
        Draw rows at random for each step, or take them in turn.

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
