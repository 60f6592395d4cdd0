"""Sequential minimal optimisation on the dual of the linear classifier: the kernel solver with the linear kernel.

:class:`~maxmargin.solvers.smo.SMO` stops by the violation of the conditions, this solver by the duality gap. So it is
asked for a tenth of the violation again and again, each time from where it was, until the gap is small enough; each
answer is one record of the history. An iteration here is as many pair steps as there are rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin.kernels import Linear
from maxmargin.kernels.gram.tiled import make_gram
from maxmargin.problems.optimality import offsets
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.solvers.linear.base import LinearSolution, Run, Start
from maxmargin.solvers.smo import SMO as PairSolver

FIRST, LAST = 1.0, 1e-13  # violations to begin with, and below which there is only rounding
BUDGET = 2e8  # bytes for kernel values


@dataclass(frozen=True)
class SMO:
    """Pairs of multipliers; hinge loss and free intercept only.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers.linear import SMO
    >>> model = LinearSVC(loss="hinge", solver=SMO(), tol=1e-6).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.converged
    True
    """

    name: ClassVar[str] = "smo"
    learns: ClassVar[str] = "dual"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    def refuses(self, problem: PrimalProblem) -> str | None:
        if problem.loss.name != "hinge":
            return "smo is for the hinge loss: use loss='hinge', or 'coordinate_descent'"
        if not problem.free:
            return "smo moves pairs of multipliers, which only a free intercept ties: use 'coordinate_descent'"
        return None

    def solve(
        self,
        problem: PrimalProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        run = Run(problem, tol, control)
        status = run.begin(start)
        if status is not None:
            return run.solution(status, 0)
        dual, n = problem.boxes, problem.n_rows
        gram = make_gram(Linear().resolve(problem.X), problem.X, threads=problem.threads, budget=BUDGET)
        gram.budget = BUDGET
        limit = control.max_iter * n if control.max_iter >= 0 else -1
        a = dual.start() if start is None or start.beta is None else dual.feasible(start.beta)
        steps, goal = 0, FIRST
        while True:
            w = problem.w_of(a)
            f = problem.design.times(w)
            b = problem.settle(f, dual.scalars(offsets(dual, a, dual.gradient(f, a))).intercept)
            n_iter = -(-steps // n)
            status = run.visit(n_iter, w, b, f, a, w)
            if status is None and goal < LAST:
                status = Status.STALLED
            if status is not None:
                return run.solution(status, n_iter)
            inner = replace(control, max_iter=max(0, limit - steps) if limit >= 0 else -1, callback=None, seen=[])
            solution = PairSolver().solve(dual, gram, tol=goal, control=inner, start=a)
            a, steps, goal = solution.a, steps + solution.n_iter, 0.1 * goal
            if solution.status is Status.STALLED:
                goal = 0.0
            if not np.isfinite(a).all():
                return run.solution(Status.STALLED, n_iter)
