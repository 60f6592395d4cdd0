"""The barrier method: interior points on whichever square system is the smallest.

Kernel problems factor the n x n kernel matrix. Linear problems with more rows than columns factor a d x d matrix, one
pass over the rows and d^3 operations per iteration; with fewer, the n x n matrix X X' of the dual
(:mod:`maxmargin.solvers.interior_point.row_systems`). Where columns of very different sizes leave the n x n form
without digits, the rows are rotated into n columns first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import qr

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.bounded import BoundedProblem
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.threads import Halted, single_threaded_blas
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.base import EVERY_LOSS, KernelSolver, LinearSolver
from maxmargin.solvers.interior_point.bound_rows import BoundedSystem, WideBoundedSystem
from maxmargin.solvers.interior_point.kernel_system import (
    KERNEL_MAX_ROWS,
    PRODUCT_MAX_ERROR,
    DenseSystem,
    row_products,
    solve_kernel,
)
from maxmargin.solvers.interior_point.low_rank_system import LowRankSystem
from maxmargin.solvers.interior_point.path import Path, linear_start
from maxmargin.solvers.interior_point.row_systems import NormalSystem, RowGramSystem
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.solution import Solution

NEAR_MAX_ITERATIONS = 14  # of a path from a good start
# Columns up to which bounds of w are solved in the d x d form also where rows are fewer: the n x n form loses digits
# where C is large, and would have to be recomputed in every iteration.
BOUNDED_MAX_COLUMNS = 1500
DIVERGED_MAX_NORM = 1e-7  # |w| in units of sum |beta| times the mean length: multipliers grow and w does not


def _diverged(run: Run, beta: Array, w: Array, squares: float) -> Status | None:
    """Whether the multipliers of a hard margin diverge."""
    if not run.problem.hard_margin or np.isfinite(run.primal):
        return None
    size = float(np.abs(beta).sum()) * math.sqrt(squares)  # not squared: data of length 1e-149 have beta of 1e300
    return Status.INSEPARABLE if float(np.linalg.norm(w)) < DIVERGED_MAX_NORM * size else None


@dataclass(frozen=True)
class Barrier(KernelSolver, LinearSolver):
    """Interior-point method: ten to thirty iterations for any C, epsilon and scale of the columns.

    Memory grows with the square of the number of columns, or of rows if there are fewer. For kernel problems it grows
    with the square of the number of rows, which is limited to a few thousand.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import Barrier
    >>> model = LinearSVC(loss="hinge", solver=Barrier(), tol=1e-8).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.relative_gap < 1e-8
    True
    """

    name: ClassVar[str] = "barrier"
    title: ClassVar[str] = "barrier: interior points along the central path"
    accepts: ClassVar[tuple[str, ...]] = ("kernel", "linear", "bounded")
    losses: ClassVar[tuple[str, ...]] = EVERY_LOSS
    learns: ClassVar[str] = "both"
    reads_columns: ClassVar[bool] = True
    few_iterations: ClassVar[bool] = True

    def refuses(self, problem: DualProblem | PrimalProblem) -> str | None:
        n = problem.n_rows
        if isinstance(problem, DualProblem) and n > KERNEL_MAX_ROWS:
            return (
                f"barrier factors a dense matrix of {n:,} x {n:,} numbers ({8e-9 * n * n:.1f} GB) at every iteration, "
                f"and takes up to {KERNEL_MAX_ROWS:,} rows: use 'active_set', or LinearSVC for the linear kernel"
            )
        return None

    def solve(
        self, problem: DualProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        goal = tol * problem.tol_scale
        K: Any = row_products(gram, PRODUCT_MAX_ERROR * goal)
        with single_threaded_blas():  # factors have the same bits for any number of threads
            if K is not None:
                return solve_kernel(problem, K, LowRankSystem, goal, control, start)
            every, n = np.arange(gram.n), gram.n
            check_memory(4 * 8.0 * n * n, f"solver='barrier' with {n:,} rows", "use solver='active_set'.")
            K = gram.block(every, every)
            return solve_kernel(problem, K, DenseSystem, goal, control, start)

    def solves_small(self, problem: PrimalProblem) -> bool:
        return not problem.squared

    def solve_linear(
        self,
        problem: PrimalProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        """From a start with multipliers (the solution for another C, say) the path starts near its end, or
        as usual if that fails. Any other start is only evaluated."""
        used = np.flatnonzero(problem.weight > 0)
        if len(used) < problem.n_rows:  # a row without weight has no slack for its multiplier
            return self._on(used, problem, start, tol=tol, control=control, random_state=random_state)
        with single_threaded_blas():
            solution = super().solve_linear(problem, tol=tol, control=control, start=start)
            wide = problem.n_features > problem.n_rows and not problem.design.sparse and not problem.hard_margin
            stalled = wide and solution.status is Status.STALLED and problem.form == "linear"
            return self._rotated(problem, tol, control, solution) if stalled else solution

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        problem, control, n_iter, status = run.problem, run.control, 0, None
        columns = problem.n_features <= problem.n_rows
        boxes = bool(np.isfinite(problem.upper).all() and np.isfinite(problem.lower).all()) and problem.total == 0
        try:
            if columns and boxes and problem.form == "linear" and start is not None and start.beta is not None:
                n_iter, status = self._path(problem, run, control, start)
            if status is None:
                more, status = self._path(problem, run, control, None)
                n_iter += more
        except Halted:
            status = control.stop()
        return run.solution(status or Status.STALLED, n_iter)

    @staticmethod
    def _path(problem: PrimalProblem, run: Run, control: Control, start: Start | None) -> tuple[int, Status | None]:
        columns = problem.n_features <= problem.n_rows
        system: NormalSystem | RowGramSystem
        if isinstance(problem, BoundedProblem):
            columns = problem.n_features <= max(problem.n_rows, BOUNDED_MAX_COLUMNS)
            system = (BoundedSystem if columns else WideBoundedSystem)(problem, control)
        else:
            system = (NormalSystem if columns else RowGramSystem)(problem, control)
        squares = float(system.design.squared_norms().mean()) or 1.0
        first = linear_start(problem, system.f[: problem.n_rows], squares)
        path = Path(system.extended(first) if isinstance(system, BoundedSystem) else first, system)
        if start is not None and isinstance(system, NormalSystem):
            path.offset = system.start_at(start)
            path.begin_near(run.primal - run.dual)
        status, going = None, True
        while status is None and going:
            path.gather()
            status = system.evaluate(run, path.n_iter, path.beta, path.offset)
            if problem.hard_margin and status is None:
                status = _diverged(run, path.beta, problem.row_combination(problem.feasible(path.beta)), squares)
            going = status is not None or (path.step() and (start is None or path.n_iter < NEAR_MAX_ITERATIONS))
        return path.n_iter, status

    def _rotated(self, problem: PrimalProblem, tol: float, control: Control, stalled: LinearSolution) -> LinearSolution:
        """The same problem in the n columns of L, where X = L Q' with orthonormal Q. Columns of very different sizes
        lose their digits in X X', but not there."""
        n, d = problem.X.shape
        check_memory(4 * 8.0 * n * d, f"{n:,} x {d:,} numbers in float64", "scale the columns of X.")
        X, moved = problem.X.astype(np.float64), np.zeros(d)
        if problem.shift is not None and problem.total == 0:
            moved = problem.shift
            X -= moved
        Q, R = qr(X.T, mode="economic", overwrite_a=True, check_finite=False)
        rotated = replace(problem, X=np.ascontiguousarray(R.T))
        found = super().solve_linear(rotated, tol=tol, control=control)
        w = Q @ found.w
        b = problem.best_intercept(problem.design.times(w), found.b - float(moved @ w))
        if problem.primal(w, b) > problem.primal(stalled.w, stalled.b):
            return stalled
        return replace(found, w=w, b=b, f=None, n_iter=stalled.n_iter + found.n_iter)

    def _on(self, used: Array, problem: PrimalProblem, start: Start | None, **how: Any) -> LinearSolution:
        """The solution of the rows that have weight, with multipliers for all."""
        inner = replace(problem, X=problem.X[used], y=problem.y[used], weight=problem.weight[used])
        if start is not None and start.beta is not None:
            start = replace(start, beta=start.beta[used])
        solution = replace(self.solve_linear(inner, start=start, **how), f=None)  # of these rows only
        if solution.beta is None:
            return solution
        beta = np.zeros(problem.n_rows)
        beta[used] = solution.beta
        return replace(solution, beta=beta)
