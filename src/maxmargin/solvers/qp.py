"""The dual through a general quadratic-programming solver: Clarabel's interior point (Goulart & Chen 2024).

It forms all of Q, so it is for small problems: to compare with, to teach with, and to check the others by. The program
is first brought to unit scale (variables by t, the objective by t |p|), for the solver's tolerances are absolute. An
interior-point solution is never exactly at a bound, so variables within its accuracy of one are put there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.base import Solution

SNAP = 1e-7  # distance from a bound, relative to the box (or to the largest variable), that counts as at the bound
ENDS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.OPTIMAL,  # to the reduced tolerances below
    "MaxIterations": Status.MAX_ITER,
    "MaxTime": Status.DEADLINE,
}


class QP:
    """A textbook solution of the dual; needs ``pip install "maxmargin[qp]"``."""

    name = "qp_dual"

    def refuses(self, problem: DualProblem) -> str | None:
        return None

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        m = problem.n_variables
        check_memory(6 * 8.0 * m * m, f"solver='qp_dual' with {m} variables", "use solver='active_set' for this size.")
        every = np.arange(problem.n_rows)
        K = gram.block(every, every)
        Q = K[np.ix_(problem.row, problem.row)] * problem.sign * problem.sign[:, None]
        size = float(np.abs(np.diagonal(Q)).max(initial=0.0)) or 1.0
        slope = float(np.abs(problem.linear).max(initial=0.0))
        width = float(np.max(problem.upper - problem.lower, initial=0.0))
        unit = min(slope / size if slope else math.inf, width or math.inf)
        unit = unit if math.isfinite(unit) else 1.0
        # 1/2 t^2 z'Qz + t p'z with a = t z, divided by its larger part
        part = max(unit * size, slope)
        answer = _clarabel(Q * (unit / part), problem.linear / part, problem, unit, control)
        status = ENDS.get(str(answer.status), Status.STALLED)
        x = unit * np.asarray(answer.x)
        if str(answer.status) in ("DualInfeasible", "AlmostDualInfeasible") and problem.hard_margin:
            status, a = Status.INSEPARABLE, problem.start()
        elif not np.isfinite(x).all():
            a = problem.start()
        else:
            a = _snapped(x, problem)
        f = K @ problem.coefficients(a)
        return Solution(a, f, control.stop() or status, int(answer.iterations))


def _clarabel(Q: Array, p: Array, problem: DualProblem, unit: float, control: Control) -> Any:
    """Minimise 1/2 x'Qx + p'x over the problem's constraints divided by ``unit``."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("solver='qp_dual' needs clarabel: pip install \"maxmargin[qp]\"") from error
    groups = np.arange(len(problem.totals))
    identity = sp.identity(len(p), format="csr")
    below, above = np.isfinite(problem.lower), np.isfinite(problem.upper)
    rows = sp.vstack(
        [sp.csr_matrix((problem.group == groups[:, None]).astype(float)), -identity[below], identity[above]]
    )
    right = np.concatenate((problem.totals, -problem.lower[below], problem.upper[above])) / unit
    cones = [clarabel.ZeroConeT(len(groups)), clarabel.NonnegativeConeT(int(below.sum() + above.sum()))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = 1e-8
    if control.max_iter >= 0:
        settings.max_iter = control.max_iter
    if control.max_seconds is not None:
        settings.time_limit = max(1e-3, control.max_seconds - control.seconds)
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(Q)), p, sp.csc_matrix(rows), right, cones, settings)
    return solver.solve()


def _snapped(x: Array, problem: DualProblem) -> Array:
    """A feasible point near x, with variables close to a bound exactly there."""
    a = np.clip(x, problem.lower, problem.upper)
    box = np.minimum(problem.upper - problem.lower, max(1e-300, float(np.abs(a).max(initial=0.0))))
    a = np.where(a - problem.lower <= SNAP * box, problem.lower, a)
    a = np.where(problem.upper - a <= SNAP * box, problem.upper, a)
    if problem.kind == "eps_svr":  # only one side of the tube can be active: take away what both multipliers share
        above, below = a[: problem.n_rows], a[problem.n_rows :]
        shared = np.minimum(above, -below)
        a = np.concatenate((above - shared, below + shared))
    return problem.feasible(a)
