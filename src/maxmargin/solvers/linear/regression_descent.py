"""Dual coordinate descent for linear regression (Ho & Lin 2012).

One multiplier at a time, in random order, with w = sum_i beta_i x_i kept up to date. Along beta_i the dual is a
parabola plus eps |beta_i|; with slope and curvature

    g_i = w'x_i + b - y_i + r_i beta_i,     q_i = |x_i|^2 + rho + r_i,       r_i = 1 / 2u_i for the squared loss,

its minimum is beta_i <- clip(soft(beta_i - g_i / q_i, eps / q_i), -l_i, u_i), where soft(v, e) brings v closer to zero
by e, or to it. Then w += (change) x_i. A row costs as much as reading it.

The intercept. Penalised, it belongs to a constant column s: b = s^2 sum beta_i and rho = s^2. Free, the equality
sum beta_i = t lets no multiplier move alone, and the method of multipliers (Hestenes 1969) takes its place, as in
:mod:`maxmargin.solvers.linear.coordinate_descent`: b = b_0 + rho (sum beta_i - t), and after each epoch b_0 <- b. Dense
columns are centred first at m, which changes w'x_i by a constant and w by nothing: w = sum beta_i (x_i - m) + t m.

Leaps. Where C is large, or columns nearly repeat each other, the multipliers that are neither zero nor at a bound creep
together for hundreds of epochs. Every now and then the Newton step of all of them, with the others held where they are,
is computed by conjugate gradients (each of its iterations reads the rows once, like an epoch), cut off where a
multiplier would leave its piece of the dual, and followed to the minimum along it.

Shrinking. A multiplier at a bound, or at zero inside the tube, whose slopes hold it there by more than any slope that
the last epoch saw move one, is left out. When the rest has come to its end, all are looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from sklearn.utils import check_random_state

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import LinearSolution, Start
from maxmargin.solvers.linear.products import Design
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_run import RegressionRun
from maxmargin.solvers.linear.rows import row_add, row_arrays, row_dot

PENALTY = 0.1  # rho of a free intercept, in units of a typical |x_i|^2
WORK = 20_000_000  # entries of X between two looks at the clock: well under 0.2 s
LEAP = 10  # epochs between two leaps
GRADIENTS = 10  # iterations of conjugate gradients: soon a multiplier meets its bound, and the rest is in vain
ROUGH = 0.01  # part of the residual that they may leave
LENGTHS = (1.0, 0.25, 0.05)  # parts of a Newton step that are tried
SMALLEST = 1e-14  # slopes below this part of the largest are rounding


@numba.njit(cache=True, nogil=True)
def _pull(beta: float, g: float, eps: float, lower: float, upper: float) -> float:
    """How strongly beta_i is drawn away from where it is: the distance of zero from the slopes there, negative by how
    far zero is inside of them if beta_i is held in place."""
    rising, falling = g + eps, g - eps  # slopes of the objective to either side of zero
    if beta > 0.0:
        return rising if beta >= upper else abs(rising)
    if beta < 0.0:
        return -falling if beta <= lower else abs(falling)
    up = -rising if upper > 0.0 else -np.inf
    down = falling if lower < 0.0 else -np.inf
    return max(up, down)


@numba.njit(cache=True, nogil=True)
def _pass(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    order: Array,
    y: Array,
    eps: float,
    q: Array,
    ridge: Array,
    lower: Array,
    upper: Array,
    beta: Array,
    w: Array,
    state: Array,
) -> int:
    """One pass over ``order``, whose kept rows are moved to its front; how many they are.

    ``state`` is b_0, rho, sum beta - t, the largest pull of the last epoch, and that of this one."""
    kept = 0
    for t in range(len(order)):
        i = order[t]
        f = row_dot(sparse, indptr, indices, data, shift, i, w)
        old = beta[i]
        g = f + state[0] + state[1] * state[2] - y[i] + ridge[i] * old
        pull = _pull(old, g, eps, lower[i], upper[i])
        if pull < -state[3]:
            continue
        order[kept] = i
        kept += 1
        if pull <= 0.0:
            continue
        state[4] = max(state[4], pull)
        new, soft = old - g / q[i], eps / q[i]
        new = new - soft if new > soft else (new + soft if new < -soft else 0.0)
        new = min(max(new, lower[i]), upper[i])
        change = new - old
        if change != 0.0:
            beta[i] = new
            state[2] += change
            row_add(sparse, indptr, indices, data, shift, i, change, w)
    return kept


@numba.njit(cache=True, nogil=True)
def _spread(
    sparse: bool, indptr: Array, indices: Array, data: Array, shift: Array, which: Array, p: Array, u: Array
) -> None:
    """u += sum_i p_i x_i over the rows ``which``."""
    for t in range(len(which)):
        row_add(sparse, indptr, indices, data, shift, which[t], p[t], u)


@numba.njit(cache=True, nogil=True)
def _gather(
    sparse: bool, indptr: Array, indices: Array, data: Array, shift: Array, which: Array, u: Array, out: Array
) -> None:
    """out_i = x_i'u for the rows ``which``."""
    for t in range(len(which)):
        out[t] = row_dot(sparse, indptr, indices, data, shift, which[t], u)


class _Descent:
    """The multipliers, w, and the intercept of a run."""

    def __init__(self, problem: RegressionProblem, penalty: float, start: Start | None) -> None:
        self.problem, self.free = problem, problem.intercept == "free"
        dense = not problem.design.sparse
        shift = np.zeros(problem.n_features) if problem.shift is None else problem.shift
        self.shift, self.rows = shift, row_arrays(problem.X, shift)
        design = Design(problem.X, shift=shift if dense else None, threads=problem.threads)
        squares = design.squared_norms()
        typical = float(np.median(squares)) or float(squares.mean())  # not the mean: a few long rows would decide it
        rho = {"none": 0.0, "penalised": problem.scaling**2}.get(problem.intercept, penalty * typical)
        # A row without length has no curvature; its multiplier then goes to its bound at once.
        self.q = np.maximum(squares + rho + problem.ridge, 1e-300)
        self.beta, self.rested, b = problem.first(), 0, None
        if start is not None and start.alpha is not None:
            self.beta, b = problem.feasible(start.alpha), start.b + float(shift @ start.w)
        self.w = design.transposed(self.beta) + problem.total * (shift if dense else 0.0)
        if b is None:
            b = problem.settle(design.times(self.w), 0.0)
        missing = float(self.beta.sum()) - problem.total
        self.state = np.array([b if self.free else 0.0, rho, missing, np.inf, 0.0])

    def sweep(self, order: Array, shrinking: bool, control: Control) -> Array:
        """One epoch over the rows in ``order``; those that take part in the next."""
        problem, state = self.problem, self.state
        if not shrinking:
            state[3] = np.inf
        state[4] = 0.0
        entries = problem.X.nnz if problem.design.sparse else problem.X.size
        at_once = max(1, int(WORK * problem.n_rows / max(1, entries)))
        kept = []
        for begin in range(0, len(order), at_once):
            part = order[begin : begin + at_once]
            count = _pass(
                *self.rows, part, problem.y, problem.epsilon, self.q, problem.ridge, problem.lower, problem.upper,
                self.beta, self.w, state,
            )  # fmt: skip
            kept.append(part[:count])
            if control.stop() is not None:
                break
        if self.free:
            state[0] += state[1] * state[2]  # b_0 <- b
        state[3] = state[4] if state[4] > 0 else np.inf
        return np.concatenate(kept)

    def leap(self, control: Control) -> int:
        """Take the Newton step of the free multipliers; the iterations of conjugate gradients it took."""
        problem, beta, eps = self.problem, self.beta, self.problem.epsilon
        which = np.flatnonzero((beta > problem.lower) & (beta < problem.upper) & ((beta != 0.0) | (eps == 0.0)))
        # More of them than columns have no curvature in some direction, but with the squared loss.
        if len(which) == 0 or (len(which) > problem.n_features and not problem.squared):
            return 0
        sign, ridge, rho = np.sign(beta[which]), problem.ridge[which], self.state[1]
        g, product, u = np.empty(len(which)), np.empty(len(which)), np.empty_like(self.w)
        _gather(*self.rows, which, self.w, g)
        g += self.state[0] + rho * self.state[2] - problem.y[which] + ridge * beta[which] + eps * sign

        def curved(p: Array) -> Array:
            u[:] = 0.0
            _spread(*self.rows, which, p, u)
            _gather(*self.rows, which, u, product)
            return product + rho * p.sum() + ridge * p

        p, n_iter = conjugate_gradients(curved, -g, self.q[which], control)
        low = np.where((eps > 0) & (sign > 0), 0.0, problem.lower[which])
        high = np.where((eps > 0) & (sign < 0), 0.0, problem.upper[which])
        for length in LENGTHS:
            change = np.clip(beta[which] + length * p, low, high) - beta[which]
            slope = float(g @ change)
            if slope < 0.0:
                curvature = float(change @ curved(change))
                step = min(1.0, -slope / curvature) if curvature > 0 else 1.0
                beta[which] = np.clip(beta[which] + step * change, low, high)
                self.state[2] += step * float(change.sum())
                self.w += step * u
                break
        return n_iter

    @property
    def pull(self) -> float:
        """The largest that the last epoch saw."""
        return float(self.state[4])

    def balanced(self, goal: float) -> bool:
        """Whether sum beta_i is as good as t where it should be. If it is not, but no multiplier has moved for two
        epochs, they wait for b_0 to come a long way: it is set to the best intercept for w at once."""
        problem, missing = self.problem, float(self.state[2])
        if not self.free or abs(missing) <= 1e-3 * goal * float(np.abs(self.beta).sum()):
            return True
        self.rested = self.rested + 1 if self.pull == 0.0 else 0
        if self.rested == 2:
            self.rested = 0
            b = problem.settle(problem.design.times(self.w), 0.0)
            self.state[0] = b + float(self.shift @ self.w) - self.state[1] * missing
        return False

    def forget(self) -> None:
        """Leave no row out in the next epoch."""
        self.state[3] = np.inf

    def point(self) -> tuple[Array, float, Array, Array, Array | None]:
        """What :meth:`RegressionRun.visit` wants to know: w, b, X w, feasible multipliers, and their w."""
        problem, w = self.problem, self.w.copy()
        f = problem.design.times(w)
        if self.free:
            return w, problem.settle(f, 0.0), f, problem.feasible(self.beta), None
        return w, problem.b_of(self.beta), f, self.beta.copy(), w


def conjugate_gradients(
    product: Callable[[Array], Array], right: Array, diagonal: Array, control: Control
) -> tuple[Array, int]:
    """x with A x = right, roughly: A is known by its products and its diagonal. And the number of iterations."""
    x, r = np.zeros_like(right), right.copy()
    z = r / diagonal
    p, size = z.copy(), float(r @ z)
    goal = ROUGH**2 * size
    for k in range(GRADIENTS):
        if size <= goal or control.stop() is not None:
            return x, k
        Ap = product(p)
        curvature = float(p @ Ap)
        if not curvature > 1e-12 * float(p @ (diagonal * p)):
            return x, k
        length = size / curvature
        x, r = x + length * p, r - length * Ap
        z = r / diagonal
        last, size = size, float(r @ z)
        p = z + (size / last) * p
    return x, GRADIENTS


@dataclass(frozen=True)
class TubeDescent:
    """Multipliers one at a time: the solver for many columns of which few are used, such as text.

    Parameters
    ----------
    shrinking : bool, default=True
        Leave out multipliers that stay at a bound, or at zero.
    leaps : bool, default=True
        Take Newton steps of all free multipliers between epochs.
    penalty : float, default=0.1
        rho of a free intercept, in units of the squared length of a typical row.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from maxmargin.solvers.linear.regression_descent import TubeDescent
    >>> from maxmargin.svm.linear.regression import LinearSVR
    >>> X, y = make_regression(random_state=0)
    >>> LinearSVR(solver=TubeDescent(shrinking=False), random_state=0).fit(X, y).report_.converged
    True
    """

    name: ClassVar[str] = "coordinate_descent"
    learns: ClassVar[str] = "dual"

    shrinking: bool = True
    leaps: bool = True
    penalty: float = PENALTY

    def refuses(self, problem: RegressionProblem) -> str | None:
        return None

    def solve(
        self,
        problem: RegressionProblem,
        *,
        tol: float,
        control: Control,
        start: Start | None = None,
        random_state: Any = None,
    ) -> LinearSolution:
        run = RegressionRun(problem, tol, control)
        status = run.begin(start)
        if status is not None:
            return run.solution(status, 0)
        rng = check_random_state(random_state)
        descent = _Descent(problem, self.penalty, start)
        every = np.arange(problem.n_rows)
        active, epoch, look = every, 0, 1
        leap = LEAP
        unit, goal = 0.0, 1.0  # the largest pull of the first epoch, and the part of it that counts as rest
        seen = 0
        while status is None:
            active = descent.sweep(rng.permutation(active), self.shrinking, control)
            epoch += 1
            if self.leaps and epoch >= leap:
                taken = descent.leap(control)
                epoch += taken
                leap = epoch + LEAP
            unit = unit or descent.pull
            if descent.pull <= goal * unit:
                descent.forget()
                if len(active) == len(every):  # all rows have come to rest: is it good enough?
                    look = epoch
                    goal *= 0.1 if descent.balanced(goal) else 1.0
                active = every
            if epoch >= look:  # every one of the first ten epochs, then ever fewer
                status, seen = run.visit(epoch, *descent.point()), epoch
                look = epoch + max(1, epoch // 5)
            status = status or run.stop(epoch) or (Status.STALLED if goal < SMALLEST else None)
        if seen != epoch and run.visit(epoch, *descent.point()) is Status.OPTIMAL:
            status = Status.OPTIMAL
        return run.solution(status, epoch)
