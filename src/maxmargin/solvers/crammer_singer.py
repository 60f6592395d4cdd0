"""The joint multiclass dual, row by row (Crammer & Singer 2001; Keerthi, Sundararajan, Chang, Hsieh & Lin 2008).

With all rows but i fixed, the dual of :class:`~maxmargin.problems.joint.JointProblem` in the row A_i is

    minimise  1/2 q |A_i|^2 + b' A_i     subject to  A_ik <= u_k,  sum_k A_ik = 0,       q = K_ii,  b = G_i - q A_i,

whose solution is A_ik = min(u_k, (theta - b_k) / q) with theta such that the sum is zero. Rows are taken greedily by
their violation inside a working set, whose kernel matrix is in memory (``native/crammer_singer``). Where a small
problem creeps (rows that nearly lie in a subspace), Newton steps on all variables between their bounds follow a round;
where it starts near a solution, they come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin import _native
from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.joint import JointProblem, certify_joint, joint_gradient, joint_violations
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.active_set.free_step import free_step
from maxmargin.solvers.base import KernelSolver
from maxmargin.solvers.blocks import INNER_WORK, MIN_STEPS, NO_PROGRESS_MAX_ROUNDS, STEPS_PER_VARIABLE
from maxmargin.solvers.solution import Solution

DUAL_PROGRESS_RELATIVE = 1e-7  # gain of the dual objective by a working set, below which the run may be stalled
VIOLATION_PROGRESS_RELATIVE = 0.99  # part of the smallest violation so far that a smaller one must reach
SMALL_PROBLEM_WORKING_SETS = 4  # a problem of so many working sets is solved as one: its matrix takes 32 MB
NEWTON_MAX_VARIABLES = 512  # free variables of a Newton step: it takes up to 50 ms, and cannot be stopped meanwhile
NEAR_STEPS_PER_VARIABLE = 10  # row steps of a round near a solution, where they only find out what is at a bound
NEWTON_MAX_STEPS = 64  # between two rounds of row steps: each may stop at the next bound
CLASSES_STALLED_FACTOR = 10  # times the patience of binary problems: k classes take turns


@dataclass(frozen=True)
class CrammerSinger(KernelSolver):
    """Block coordinate descent for the joint multiclass problem.

    Parameters
    ----------
    working_set : int
        Maximum number of rows in a block.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> model = SVC(multiclass="crammer_singer").fit([[0.0], [2.0], [4.0]], [0, 1, 2])
    >>> model.report_.solver
    'crammer_singer'
    """

    name: ClassVar[str] = "crammer_singer"
    title: ClassVar[str] = "block descent on the joint problem of all classes"
    accepts: ClassVar[tuple[str, ...]] = ("joint",)

    working_set: int = 512

    def _choose(self, violations: Array, previous: Array) -> Array:
        """The rows of the next working set: half of them violate most, the others were in the last one and violate most
        there. Rows that are solved without the others would undo each other's progress."""
        half = self.working_set // 2
        first = np.argpartition(-violations, half)[:half]
        if len(previous) > self.working_set:  # there was none yet
            return np.sort(np.argpartition(-violations, self.working_set)[: self.working_set])
        kept = np.setdiff1d(previous, first)
        kept = kept[np.argsort(-violations[kept], kind="stable")[:half]]
        rest = self.working_set - len(first) - len(kept)
        chosen = np.concatenate((first, kept))
        if rest > 0:
            order = np.argsort(-violations, kind="stable")
            chosen = np.concatenate((chosen, order[~np.isin(order, chosen)][:rest]))
        return np.sort(chosen)

    def solve(
        self, problem: JointProblem, gram: Gram, *, tol: float, control: Control, start: Array | None = None
    ) -> Solution:
        n = problem.n_rows
        limit = control.max_iter if control.max_iter >= 0 else max(MIN_STEPS, 100 * n)
        A = np.zeros((n, problem.n_classes)) if start is None else problem.feasible(start)
        F = gram.times(A)
        small = n <= SMALL_PROBLEM_WORKING_SETS * self.working_set
        W, K = np.arange(n), np.empty((0, 0))
        if small:
            K = np.ascontiguousarray(gram.block(W, W))
        scale = float(gram.diagonal().max(initial=0.0))
        n_iter = stalled_rounds = rounds = 0
        best, climbed = np.inf, -np.inf
        near = small and start is not None  # a solution: Newton steps come first, and row steps are few
        while True:
            gradient = joint_gradient(problem, F)
            violations = joint_violations(problem, A, gradient)
            violation = float(violations.max())
            now = certify_joint(problem, A, F)
            n_support = int(np.count_nonzero(A.any(axis=1)))
            control.report(n_iter, violation, n_support, primal=now.primal, dual=now.dual, norm=now.norm)
            if violation <= tol:
                return Solution(A, F, Status.OPTIMAL, n_iter)
            # The largest violation of all rows may stay for long while the objective improves.
            better = now.dual > climbed + DUAL_PROGRESS_RELATIVE * abs(climbed)
            stalled_rounds = 0 if violation < VIOLATION_PROGRESS_RELATIVE * best or better else stalled_rounds + 1
            best, climbed = min(best, violation), now.dual if better else climbed
            stop = control.stop() or (Status.MAX_ITER if n_iter >= limit else None)
            if stop is None and stalled_rounds > CLASSES_STALLED_FACTOR * NO_PROGRESS_MAX_ROUNDS:
                stop = Status.STALLED
            if problem.hard_margin and n_iter > 100:
                # Multipliers that grow while |w| does not: no w meets all the constraints.
                total = float(np.abs(A).sum()) / 2
                relative = 1e-8 if n_iter < 200_000 else 1e-5
                if float(np.sum(A * F)) <= relative * scale * total**2:
                    stop = Status.INSEPARABLE
            if stop is not None:
                return Solution(A, F, stop, n_iter)
            if not small:
                W = self._choose(violations, W)
                K = np.ascontiguousarray(gram.block(W, W))
            new, G = A[W], np.ascontiguousarray(gradient[W])
            label, bound = problem.label[W].astype(np.int64), np.ascontiguousarray(problem.bound[W], np.float64)
            target = 0.9 * tol if small else max(0.1 * violation, 0.5 * tol)
            slice_steps = max(10, INNER_WORK // (new.size + len(W)))
            round_steps = STEPS_PER_VARIABLE if not near else NEAR_STEPS_PER_VARIABLE if rounds else 0
            last, rounds = min(limit, n_iter + round_steps * len(W)), rounds + 1
            while n_iter < last:
                steps = min(slice_steps, last - n_iter)
                taken = _native.solve_joint_rows(K, G, new, label, bound, target, steps)
                n_iter += taken
                if taken < steps or control.stop() is not None:
                    break
            if problem.hard_margin and not np.isfinite(new).all():  # no bound stops them: the kernel is not definite
                return Solution(A, F, Status.INSEPARABLE, n_iter)
            if small and n_iter >= last:
                new = _newton_steps(problem, K, G, new, control)
            change = new - A[W]
            moved = np.flatnonzero(change.any(axis=1))
            A[W] = new
            if len(moved):
                F += gram.product(W[moved], change[moved])


def _newton_steps(problem: JointProblem, K: Array, G: Array, A: Array, control: Control) -> Array:
    """A after steps to the minimum over the variables between -c_i and their upper bounds, G its gradient. Each step
    that is cut at a bound leaves fewer of them for the next."""
    upper, G = problem.upper(), G.copy()
    for _ in range(0 if problem.hard_margin else NEWTON_MAX_STEPS):
        free = (problem.bound[:, None] + A > 0) & (upper - A > 0)
        free[free.sum(axis=1) < 2] = False
        row, column = np.nonzero(free)
        if not 2 <= len(row) <= NEWTON_MAX_VARIABLES or control.stop() is not None:
            break
        Q = K[np.ix_(row, row)] * (column == column[:, None])
        ends = np.flatnonzero(np.diff(row, append=-1)) + 1
        groups = [slice(*at) for at in zip(np.append(0, ends[:-1]), ends, strict=True)]
        every = np.arange(len(row))
        step = free_step(Q, G[free], A[free], -problem.bound[row], upper[free], groups, every, stop=control.stop)
        if step is None:
            break
        change = np.zeros(A.shape)
        change[free] = step.change
        A, G = A + change, G + K @ change
        if step.exact:
            break
    return A
