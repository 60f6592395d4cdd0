"""The dual through a general quadratic-programming solver (Clarabel, by way of qpsolvers).

It forms all of Q, so it is for small problems: to compare with, to teach with, and to check the others by. An
interior-point solution is never exactly at a bound, so variables within its accuracy of one are put there.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin._control import Control, Status
from maxmargin._validation import Array, check_memory
from maxmargin.gram import Gram
from maxmargin.problems import DualProblem
from maxmargin.solvers.base import Solution

SNAP = 1e-7  # distance from a bound, relative to the box (or to the largest variable), that counts as at the bound


class QP:
    """A textbook solution of the dual; needs ``pip install "maxmargin[qp]"``."""

    name = "qp"

    def refuses(self, problem: DualProblem) -> str | None:
        return None

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        try:
            import qpsolvers
        except ImportError as error:
            raise ImportError("solver='qp' needs qpsolvers and clarabel: pip install \"maxmargin[qp]\"") from error
        m = problem.n_variables
        check_memory(6 * 8.0 * m * m, f"solver='qp' with {m} variables", "use solver='smo' for problems of this size.")
        every = np.arange(problem.n_rows)
        K = gram.block(every, every)
        Q = K[np.ix_(problem.row, problem.row)] * problem.sign * problem.sign[:, None]
        equality = sp.csc_matrix((problem.group == np.arange(len(problem.totals))[:, None]).astype(float))
        program = qpsolvers.Problem(
            sp.csc_matrix(Q),
            problem.linear,
            A=equality if len(problem.totals) else None,
            b=problem.totals if len(problem.totals) else None,
            lb=problem.lower,
            ub=problem.upper,
        )
        options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
        if control.max_iter >= 0:
            options["max_iter"] = control.max_iter
        if control.max_seconds is not None:
            options["time_limit"] = max(1e-3, control.max_seconds - control.seconds)
        answer = qpsolvers.solve_problem(program, solver="clarabel", **options)
        if answer.x is None or not np.isfinite(answer.x).all():
            a = problem.start()
            status = Status.INSEPARABLE if problem.hard_margin else Status.STALLED
        else:
            a = np.clip(answer.x, problem.lower, problem.upper)
            box = np.minimum(problem.upper - problem.lower, max(1e-300, float(np.abs(a).max(initial=0.0))))
            a = np.where(a - problem.lower <= SNAP * box, problem.lower, a)
            a = np.where(problem.upper - a <= SNAP * box, problem.upper, a)
            a = problem.feasible(a)
            status = Status.OPTIMAL if answer.found else Status.MAX_ITER
        f = K @ problem.coefficients(a)
        iterations = answer.extras.get("iterations") or answer.extras.get("info", {}).get("iter", 0)
        return Solution(a, f, control.stop() or status, int(iterations or 0))
