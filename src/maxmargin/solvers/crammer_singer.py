"""The joint multiclass dual, row by row (Crammer & Singer 2001; Keerthi, Sundararajan, Chang, Hsieh & Lin 2008).

With all rows but i fixed, the dual of :class:`~maxmargin.problems.dual.JointProblem` in the row A_i is

    minimise  1/2 q |A_i|^2 + b' A_i     subject to  A_ik <= u_k,  sum_k A_ik = 0,       q = K_ii,  b = G_i - q A_i,

whose solution is A_ik = min(u_k, (theta - b_k) / q) with theta such that the sum is zero: with D_k = b_k + q u_k
sorted in decreasing order, theta is the first mean of a leading part of D that its next entry does not exceed.
Rows are taken greedily by their violation inside a working set, whose kernel matrix is in memory.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import JointProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.base import Solution
from maxmargin.solvers.blocks import INNER_WORK, MIN_STEPS, MOST, PATIENCE


@numba.njit(cache=True, nogil=True)
def _row_violation(g: Array, a: Array, label: int, bound: float) -> float:
    largest, smallest = -np.inf, np.inf
    for k in range(len(g)):
        largest = max(largest, g[k])
        if a[k] < (bound if k == label else 0.0):
            smallest = min(smallest, g[k])
    return largest - smallest


@numba.njit(cache=True, nogil=True)
def _solve_row(b: Array, q: float, label: int, bound: float, out: Array) -> None:
    """A_k = min(u_k, (theta - b_k) / q) with sum 0. With an unbounded label class its entry is fixed by the others:
    D_label is then infinite, so it takes part in every mean through the sum alone."""
    n = len(b)
    D = b.copy()
    if bound == np.inf:
        # u_label = inf: (theta - b_label) / q is always taken there. theta solves
        # (theta - b_label) + sum_{k != label} min(0, theta - b_k) = 0.
        order = np.sort(np.delete(b, label))
        total = b[label]
    else:
        D[label] += q * bound
        order = np.sort(D)
        total = order[n - 1] - q * bound
    count, theta = 1, total
    for k in range(n - 2, -1, -1):
        if order[k] <= theta:
            break
        total += order[k]
        count += 1
        theta = total / count
    others = 0.0
    for k in range(n):
        if k != label:
            out[k] = min(0.0, (theta - b[k]) / q)
            others -= out[k]
    full = bound < np.inf and (theta >= D[label] or others >= bound * (1 - 1e-12))
    if full and others > 0:  # exactly at its bound, with the others to match
        for k in range(n):
            out[k] *= bound / others
        others = bound
    out[label] = others


@numba.njit(cache=True, nogil=True)
def _solve_rows(K: Array, G: Array, A: Array, label: Array, bound: Array, goal: float, max_steps: int) -> int:
    n, classes = A.shape
    b = np.empty(classes)
    new = np.empty(classes)
    floor = 1e-300  # a row without length has no curvature: a little, compared with the others, bounds its step
    for u in range(n):
        floor = max(floor, 1e-8 * K[u, u])
    violations = np.empty(n)
    for u in range(n):
        violations[u] = _row_violation(G[u], A[u], label[u], bound[u])
    for step in range(max_steps):
        i = np.argmax(violations)
        if violations[i] <= goal:
            return step
        q = max(K[i, i], floor)
        for k in range(classes):
            b[k] = G[i, k] - q * A[i, k]
        _solve_row(b, q, label[i], bound[i], new)
        moved = False
        for k in range(classes):
            d = new[k] - A[i, k]
            if d != 0.0:
                moved = True
                A[i, k] = new[k]
                for u in range(n):
                    G[u, k] += d * K[i, u]
        if not moved:
            return step
        for u in range(n):
            violations[u] = _row_violation(G[u], A[u], label[u], bound[u])
    return max_steps


CLIMB = 1e-7  # relative gain of the dual objective in a round that is progress


class CrammerSinger:
    """Block descent over rows; the solver of the joint machine.

    Parameters
    ----------
    working_set : int
        Largest number of rows in a block.
    """

    name = "crammer_singer"

    def __init__(self, working_set: int = 512) -> None:
        self.working_set = working_set

    def _choose(self, violations: Array, previous: Array) -> Array:
        """The rows of the next block: half of them violate most, the others were in the last block and violate most
        there. Rows that are worked on alone would undo each other's progress."""
        half = self.working_set // 2
        first = np.argpartition(-violations, half)[:half]
        if len(previous) > self.working_set:  # no block yet
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
        F = np.zeros_like(A)
        used = np.flatnonzero(A.any(axis=1))
        if len(used):
            F += gram.product(used, A[used])
        whole = n <= 4 * self.working_set
        W, K = np.arange(n), np.empty((0, 0))
        if whole:
            K = gram.block(W, W)
        scale = float(gram.diagonal().max(initial=0.0))
        n_iter = waited = 0
        best, climbed = np.inf, -np.inf
        while True:
            gradient = optimality.joint_gradient(problem, F)
            violations = optimality.joint_violations(problem, A, gradient)
            violation = float(violations.max())
            now = optimality.certify_joint(problem, A, F)
            n_support = int(np.count_nonzero(A.any(axis=1)))
            control.report(n_iter, violation, n_support, primal=now.primal, dual=now.dual, norm=now.norm)
            if violation <= tol:
                return Solution(A, F, Status.OPTIMAL, n_iter)
            # The largest violation of all rows may stay for long while the objective improves.
            better = now.dual > climbed + CLIMB * abs(climbed)
            waited = 0 if violation < 0.99 * best or better else waited + 1
            best, climbed = min(best, violation), now.dual if better else climbed
            stop = control.stop() or (Status.MAX_ITER if n_iter >= limit else None)
            if stop is None and waited > 10 * PATIENCE:
                stop = Status.STALLED
            if problem.hard_margin and n_iter > 100:
                # Multipliers that grow while |w| does not: no w meets all the constraints.
                total = float(np.abs(A).sum()) / 2
                small = 1e-8 if n_iter < 200_000 else 1e-5
                if float(np.sum(A * F)) <= small * scale * total**2:
                    stop = Status.INSEPARABLE
            if stop is not None:
                return Solution(A, F, stop, n_iter)
            if not whole:
                W = self._choose(violations, W)
                K = gram.block(W, W)
            new, G = A[W], gradient[W]
            target = 0.9 * tol if whole else max(0.1 * violation, 0.5 * tol)
            slice_steps = max(10, INNER_WORK // (new.size + len(W)))
            last = min(limit, n_iter + MOST * len(W))
            while n_iter < last:
                asked = min(slice_steps, last - n_iter)
                taken = _solve_rows(K, G, new, problem.label[W], problem.bound[W], target, asked)
                n_iter += taken
                if taken < asked or control.stop() is not None:
                    break
            change = new - A[W]
            moved = np.flatnonzero(change.any(axis=1))
            A[W] = new
            if len(moved):
                F += gram.product(W[moved], change[moved])
