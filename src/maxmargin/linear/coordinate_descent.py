"""Dual coordinate descent (Hsieh, Chang, Lin, Keerthi & Sundararajan 2008).

One multiplier at a time, in random order, with w = sum_i alpha_i y_i x_i kept up to date. Along alpha_i the dual is a
parabola with slope and curvature

    g_i = y_i (w'x_i + b) - 1 + r_i alpha_i,     q_i = |x_i|^2 + rho + r_i,       r_i = 1 / 2c_i for the squared hinge,

so alpha_i <- clip(alpha_i - g_i / q_i, 0, its bound), and w += (change) y_i x_i. A row costs as much as reading it.

The intercept. Penalised, it belongs to a constant column s: b = s^2 sum y_i alpha_i and rho = s^2. Free, the equality
sum y_i alpha_i = 0 lets no multiplier move alone. The method of multipliers (Hestenes 1969) turns it into a sequence
of penalised ones: with b = b_0 + rho sum y_i alpha_i the problem is that of penalising (b - b_0)^2 / 2 rho, and after
each epoch b_0 <- b. When it comes to rest the sum is zero and b is the free intercept. Dense columns are centred first,
which changes nothing but b.

Shrinking. A multiplier at a bound whose slope pushes it outwards, more than any slope that the last epoch saw push
inwards, is left out. When the rest has come to its end, all are looked at again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from sklearn.utils import check_random_state

from maxmargin._control import Control, Status
from maxmargin._validation import Array
from maxmargin.linear.base import LinearSolution, Run, Start
from maxmargin.linear.face import face_step
from maxmargin.linear.problem import LinearProblem
from maxmargin.linear.products import Design
from maxmargin.linear.rows import row_add, row_arrays, row_dot

PENALTY = 0.1  # rho of a free intercept, in units of a typical |x_i|^2
WORK = 20_000_000  # entries of X between two looks at the clock: well under 0.2 s
FIRST = 500  # epochs before conjugate gradients help: shrinking makes the earlier ones cheap
MOST_STEPS = 20  # of conjugate gradients after an epoch
LARGE = 1_000_000  # entries of X from which not every one of the first epochs is looked at
SMALLEST = 1e-14  # slopes below this are rounding


@numba.njit(cache=True, nogil=True)
def _move(i: int, f: float, y: Array, q: Array, ridge: Array, upper: Array, alpha: Array, state: Array) -> float:
    """Move alpha_i to its minimum; the change of y_i alpha_i, or NaN if the row may be left out."""
    a = alpha[i]
    g = y[i] * (f + state[0] + state[1] * state[2]) - 1.0 + ridge[i] * a
    if a == 0.0:
        if g > state[3]:
            return np.nan
        inward = min(g, 0.0)
    elif a == upper[i]:
        if g < state[4]:
            return np.nan
        inward = max(g, 0.0)
    else:
        inward = g
    state[5] = max(state[5], inward)
    state[6] = min(state[6], inward)
    if inward == 0.0:
        return 0.0
    new = min(max(a - g / q[i], 0.0), upper[i])
    change = y[i] * (new - a)
    alpha[i] = new
    state[2] += change
    return change


@numba.njit(cache=True, nogil=True)
def _pass(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    order: Array,
    y: Array,
    q: Array,
    ridge: Array,
    upper: Array,
    alpha: Array,
    w: Array,
    state: Array,
) -> int:
    """One pass over ``order``, whose kept rows are moved to its front; how many they are.

    ``state`` is b_0, rho, sum y alpha, the largest and smallest slope of the last epoch, and those of this one."""
    kept = 0
    for t in range(len(order)):
        i = order[t]
        f = row_dot(sparse, indptr, indices, data, shift, i, w)
        change = _move(i, f, y, q, ridge, upper, alpha, state)
        if np.isnan(change):
            continue
        order[kept] = i
        kept += 1
        if change != 0.0:
            row_add(sparse, indptr, indices, data, shift, i, change, w)
    return kept


@numba.njit(cache=True, nogil=True)
def _sum_rows(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    rows: Array,
    y: Array,
    alpha: Array,
    out: Array,
) -> None:
    """out += sum_i alpha_i y_i x_i over these rows."""
    for k in range(len(rows)):
        i = rows[k]
        row_add(sparse, indptr, indices, data, shift, i, y[i] * alpha[i], out)


class _Descent:
    """The multipliers, w, and the intercept of a run."""

    def __init__(self, problem: LinearProblem, penalty: float, start: Start | None) -> None:
        self.problem = problem
        free = problem.intercept == "free"
        shift = problem.design.mean() if free and not problem.design.sparse else np.zeros(problem.n_features)
        self.shift, self.rows = shift, row_arrays(problem.X, shift)
        design = Design(problem.X, shift=None if problem.design.sparse else shift, threads=problem.threads)
        squares = design.squared_norms()
        typical = float(np.median(squares)) or float(squares.mean())  # not the mean: a few long rows would decide it
        rho = {"none": 0.0, "penalised": problem.scaling**2}.get(problem.intercept, penalty * typical)
        # A row without length has no curvature; its multiplier then goes to its bound at once.
        self.q = np.maximum(squares + rho + problem.ridge, 1e-300)
        self.alpha, self.rested, self.wait, self.pause = np.zeros(problem.n_rows), 0, 1, 0
        b = 0.0
        if start is not None and start.alpha is not None:
            self.alpha, b = problem.feasible(start.alpha), start.b + float(shift @ start.w)
        self.w = design.transposed(problem.y * self.alpha)
        total = float(problem.y @ self.alpha)
        self.state = np.array([b - rho * total if free else 0.0, rho, total, np.inf, -np.inf, 0.0, 0.0])

    def sweep(self, order: Array, shrinking: bool, control: Control) -> Array:
        """One epoch over the rows in ``order``; those that take part in the next."""
        problem, state = self.problem, self.state
        if not shrinking:
            state[3:5] = np.inf, -np.inf
        state[5:7] = 0.0
        entries = problem.X.nnz if problem.design.sparse else problem.X.size
        at_once = max(1, int(WORK * problem.n_rows / max(1, entries)))
        kept = []
        for begin in range(0, len(order), at_once):
            part = order[begin : begin + at_once]
            count = _pass(*self.rows, part, problem.y, self.q, problem.ridge, problem.upper, self.alpha, self.w, state)
            kept.append(part[:count])
            if control.stop() is not None:
                break
        if problem.intercept == "free":
            state[0] += state[1] * state[2]  # b_0 <- b
        state[3] = state[5] if state[5] > 0 else np.inf
        state[4] = state[6] if state[6] < 0 else -np.inf
        return np.concatenate(kept)

    def finish(self, active: Array) -> None:
        """Conjugate gradients on the multipliers that are between their bounds. Where they lead nowhere (more of them
        than columns, say, and the way is cut off at once), they are tried again after twice as many epochs."""
        self.pause -= 1
        if self.pause > 0:
            return
        problem, alpha = self.problem, self.alpha[active]
        free = active[(alpha > 0.0) & (alpha < problem.upper[active])]
        if len(free) > 1:
            entries = (problem.X.nnz if problem.design.sparse else problem.X.size) / problem.n_rows
            most = max(2, min(MOST_STEPS, int(WORK / (2.0 * entries * len(free)))))
            gained = face_step(
                *self.rows, free, problem.y, problem.ridge, problem.upper, self.alpha, self.w, self.state, most
            )
            self.wait = 1 if gained > 0.0 else 2 * self.wait
            self.pause = self.wait

    @property
    def span(self) -> float:
        """Largest minus smallest slope that the last epoch saw."""
        return float(self.state[5] - self.state[6])

    def balanced(self, goal: float) -> bool:
        """Whether sum y_i alpha_i is as good as zero where it should be. If it is not, but no multiplier has moved for
        two epochs, they wait for b_0 to come a long way: it is set to the best intercept for w at once."""
        total = float(self.state[2])
        if self.problem.intercept != "free" or abs(total) <= 1e-3 * goal * float(self.alpha.sum()):
            return True
        self.rested = self.rested + 1 if self.span == 0.0 else 0
        if self.rested == 2:
            self.rested = 0
            b = self.problem.settle(self.problem.design.times(self.w), math.nan)
            if math.isfinite(b):
                self.state[0] = b + float(self.shift @ self.w) - self.state[1] * total
        return False

    def forget(self) -> None:
        """Leave no row out in the next epoch."""
        self.state[3:5] = np.inf, -np.inf

    def look(self, run: Run, epoch: int) -> Status | None:
        """Show the present point to the run. Where the intercept is free, its best value for w is taken, and the
        heavier class's multipliers are made as light as the other's; w changes by their part of it."""
        problem, w = self.problem, self.w
        f = problem.design.times(w)
        if problem.intercept != "free":
            b = problem.b_of(self.alpha)
            with_b = w if problem.intercept == "none" else np.append(w, b / problem.scaling)
            return run.look(epoch, with_b, b, f, b, self.alpha, (1.0, 1.0), with_b)
        b = problem.settle(f, float(self.state[0] - self.shift @ w))
        positive = problem.y > 0
        up, down = float(self.alpha[positive].sum()), float(self.alpha[~positive].sum())
        scales = (min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0)
        sums = w
        if min(scales) < 1.0:
            heavy = np.flatnonzero((positive if up > down else ~positive) & (self.alpha > 0))
            part = np.zeros_like(w)
            _sum_rows(*self.rows, heavy, problem.y, self.alpha, part)
            sums = w - (1.0 - min(scales)) * part
        return run.look(epoch, w, b, f, b, self.alpha, scales, sums)


@dataclass(frozen=True)
class CoordinateDescent:
    """Multipliers one at a time: the solver for many columns of which few are used, such as text.

    Parameters
    ----------
    shrinking : bool, default=True
        Leave out multipliers that stay at a bound.
    penalty : float, default=0.1
        rho of a free intercept, in units of the squared length of a typical row.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.linear import CoordinateDescent
    >>> X, y = make_classification(random_state=0)
    >>> LinearSVC(solver=CoordinateDescent(shrinking=False), random_state=0).fit(X, y).report_.converged
    True
    """

    name: ClassVar[str] = "coordinate_descent"
    learns: ClassVar[str] = "dual"

    shrinking: bool = True
    penalty: float = PENALTY

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
        run = Run(problem, tol, control)
        status = run.begin(start)
        if status is not None:
            return run.solution(status, 0)
        rng = check_random_state(random_state)
        descent = _Descent(problem, self.penalty, start)
        every = np.flatnonzero(problem.bound > 0)
        active, goal, epoch, look, seen = every, 1.0, 0, 0, -1
        entries = problem.X.nnz if problem.design.sparse else problem.X.size
        often = 1 if entries < LARGE else 3
        while status is None:
            if epoch >= look and (epoch > 0 or often == 1):  # ever fewer looks, for each costs as much as an epoch
                status, seen = descent.look(run, epoch), epoch
                look = epoch + max(often, epoch // 5)
            elif epoch == 0:
                look = often
            status = status or run.stop(epoch) or (Status.STALLED if goal < SMALLEST else None)
            if status is not None:
                break
            active = descent.sweep(rng.permutation(active), self.shrinking, control)
            epoch += 1
            if epoch > FIRST:
                descent.finish(active)
            if descent.span <= goal:
                descent.forget()
                if len(active) == len(every):  # all rows have come to rest: is it good enough?
                    look = epoch
                    goal *= 0.1 if descent.balanced(goal) else 1.0
                active = every
        if seen != epoch:
            status = Status.OPTIMAL if descent.look(run, epoch) is Status.OPTIMAL else status
        return run.solution(status, epoch)
