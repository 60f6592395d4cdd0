"""The barrier method: interior points on whichever square system is the smaller.

With more rows than columns each iteration factors the d x d matrix of :mod:`maxmargin.solvers.linear.interior`, one
pass over the rows and d^3; with fewer, the n x n matrix X X' of the dual
(:class:`~maxmargin.solvers.barrier.DenseSystem`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.barrier import DenseSystem
from maxmargin.solvers.interior_point import Iterate, iterates
from maxmargin.solvers.linear.base import LinearSolution, Run, Start, design_of, own_intercept
from maxmargin.solvers.linear.interior import Path
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.products import Halted

ENOUGH = 14  # iterations that a good start needs at most
DIVERGED = 1e-14  # |w|^2 in units of (sum alpha)^2 mean |x|^2: multipliers grow and w does not, so nothing separates

Look = tuple[Array, float, Array, Array, Array]  # what Run.visit wants to know: w, b, X w, alpha, w of alpha


class RowSystem(DenseSystem):
    """The n x n form."""

    def __init__(self, machine: LinearProblem, control: Control) -> None:
        self.machine, self.design = machine, design_of(machine, control.stop)
        n = machine.n_rows
        check_memory(5 * 8.0 * n * n, f"solver='barrier' with {n:,} rows", "use solver='coordinate_descent'.")
        K = self.design.row_gram()
        K[np.diag_indices_from(K)] += machine.ridge
        super().__init__(machine.boxes, K)

    def look(self, here: Iterate, alpha: Array) -> Look:
        w = self.design.transposed(self.machine.y * alpha)
        b = own_intercept(self.machine, self.design, w, -float(here.offset.sum()))
        w = w[: self.machine.n_features]
        return w, b, self.machine.design.times(w), alpha, w


def _diverged(run: Run, alpha: Array, w: Array, squares: float) -> Status | None:
    """Whether a hard margin's multipliers grow without end."""
    if not run.problem.hard_margin or np.isfinite(run.primal):
        return None
    return Status.INSEPARABLE if float(w @ w) < DIVERGED * float(alpha.sum()) ** 2 * squares else None


@dataclass(frozen=True)
class Barrier:
    """Interior points: twenty to thirty iterations to any accuracy, whatever C and the scale of the columns.

    Memory grows with the square of the number of columns, or of rows if they are fewer.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers.linear import Barrier
    >>> machine = LinearSVC(loss="hinge", solver=Barrier(), tol=1e-8).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> machine.report_.relative_gap < 1e-8
    True
    """

    name: ClassVar[str] = "barrier"
    learns: ClassVar[str] = "both"

    def refuses(self, problem: LinearProblem) -> str | None:
        return None

    def solve(
        self,
        problem: LinearProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """From a start with multipliers (the solution for another C, say) the path is entered near its end, and left
        for the usual one if that does not lead on. Any other start is only looked at."""
        used = np.flatnonzero(problem.bound > 0)
        with single_threaded_blas():
            if len(used) < problem.n_rows:  # a row without a price has no room for its multiplier
                return self._on(used, problem, tol=tol, control=control, start=start)
            return self._solve(problem, tol, control, start)

    def _solve(self, problem: LinearProblem, tol: float, control: Control, start: Start | None) -> LinearSolution:
        run = Run(problem, tol, control)
        n_iter, status = 0, run.begin(start)
        if status is not None:
            return run.solution(status, n_iter)
        try:
            if problem.n_features > problem.n_rows:
                n_iter, status = self._rows(problem, run, control)
            else:
                near = start is not None and start.alpha is not None and bool(np.isfinite(problem.upper).all())
                if near and start is not None:
                    n_iter, status = self._columns(problem, run, control, start)
                if status is None:
                    more, status = self._columns(problem, run, control, None)
                    n_iter += more
        except Halted:
            status = control.stop()
        return run.solution(status or Status.STALLED, n_iter)

    @staticmethod
    def _columns(problem: LinearProblem, run: Run, control: Control, start: Start | None) -> tuple[int, Status | None]:
        path, going = Path(problem, control), True
        if start is not None:
            path.begin_near(start, run.primal - run.dual)
        status = None
        while status is None and going:
            status = path.look(run) or _diverged(run, path.alpha, path.sums, path.squares)
            going = status is not None or (path.step() and (start is None or path.n_iter < ENOUGH))
        return path.n_iter, status

    @staticmethod
    def _rows(problem: LinearProblem, run: Run, control: Control) -> tuple[int, Status | None]:
        system = RowSystem(problem, control)
        squares = float(system.design.squared_norms().mean()) or 1.0
        unit = np.where(np.isfinite(problem.bound), problem.bound, 1.0 / squares)
        n_iter, status = 0, None
        for here in iterates(problem.boxes, system, unit):
            n_iter = here.iteration
            w, b, f, alpha, w_alpha = system.look(here, problem.feasible(problem.y * here.a))
            status = run.visit(n_iter, w, b, f, alpha, w_alpha) or _diverged(run, alpha, w_alpha, squares)
            if status is not None:
                break
        return n_iter, status

    def _on(self, used: Array, problem: LinearProblem, *, start: Start | None, **how: Any) -> LinearSolution:
        inner = replace(problem, X=problem.X[used], y=problem.y[used], bound=problem.bound[used])
        if start is not None and start.alpha is not None:
            start = replace(start, alpha=start.alpha[used])
        solution = replace(self._solve(inner, start=start, **how), f=None)  # of these rows only
        if solution.alpha is None:
            return solution
        alpha = np.zeros(problem.n_rows)
        alpha[used] = solution.alpha
        return replace(solution, alpha=alpha)
