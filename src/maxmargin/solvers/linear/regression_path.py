"""Interior points for the dual of a linear regression (Mehrotra 1992), row by row.

:mod:`maxmargin.solvers.interior_point` has the method: rooms A = a - lower and B = upper - a, their multipliers z and
x, a predictor that tells how small mu can be made, and a corrector. Here its variables are those of
:class:`~maxmargin.solvers.linear.regression.RegressionProblem`. Without a tube (eps = 0) a row has one, a_i = beta_i;
with a tube it has two, one a side, whose sum is beta_i:

    a in [0, u_i] with p = eps - y_i,        a in [-l_i, 0] with p = -eps - y_i.

A Newton step asks for  (E X X' E' + R + D) da - 1 dlambda = r  over the variables, with D = z/A + x/B, where E gives
each variable its row. With theta = (R + D)^-1, the change df = X X' E'da of a row's value is all that its variables
have to know of each other:

    da = theta (r + dlambda - df),        so        E'da = q + T (dlambda - df),    q = E' theta r,    T = E' theta 1.

The two weights of a row add up. What is left is a system in n numbers q and T, whatever the sides are; how to solve it
is the business of a :class:`RowSystem` (one of :mod:`maxmargin.solvers.linear.regression_barrier`).

The start is all but feasible: w = X'a, and z - x is the slope of the objective, up to a constant. Everything that
touches all variables is one of six compiled passes an iteration.
"""

from __future__ import annotations

from typing import Protocol

import numba
import numpy as np

from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.regression import RegressionProblem

INSIDE = 0.995  # part of the way to the nearest bound that a step may go
CENTRED = 1e-3  # no product of a room and its multiplier falls below this part of their mean,
BACK = 30  # or the step is shortened, at most so many times
EVEN = 5.0  # none starts below so many means; one is better where the rooms are not equal
PATIENCE = 3  # successive steps that lead nowhere before the method gives up
SHORT = 1e-6  # a step that leads nowhere


class RowSystem(Protocol):
    """The matrix X X', and Newton systems with it."""

    f: Array

    def factor(self, T: Array) -> None:
        """Prepare for weights T; LinAlgError if that is not possible."""
        ...

    def solve(self, q: Array, missing: float) -> tuple[Array, float]:
        """df and dlambda with df = X X'(q + T (dlambda - df)) and, if there is an intercept, 1'(q + ...) = missing."""
        ...

    def advance(self, step: float, beta: Array) -> None:
        """This part of the last solution was taken, and led to these multipliers."""
        ...


@numba.njit(cache=True, nogil=True)
def _begin(a: Array, slope: Array, lower: Array, upper: Array, size: float, state: Array) -> None:
    """Rooms, and multipliers with z - x = slope where the rooms are equal, larger for the smaller room where they are
    not (the first step takes that into the intercept); ``state`` has A, B, z, x, theta, da, dz, dx of each variable."""
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            low, high = lower[k, i] > -np.inf, upper[k, i] < np.inf
            A, B = a[k, i] - lower[k, i], upper[k, i] - a[k, i]
            state[0, k, i], state[1, k, i] = A, B
            state[2, k, i] = max(slope[k, i], 0.0) + size * min(A, B) / A if low else 0.0
            state[3, k, i] = max(-slope[k, i], 0.0) + size * min(A, B) / B if high else 0.0


@numba.njit(cache=True, nogil=True)
def _even_out(least: float, state: Array) -> None:
    """Raise both multipliers of a variable until no product with a room is below this; boxes of very different sizes
    would start far from the centre."""
    for k in range(state.shape[1]):
        for i in range(state.shape[2]):
            more = 0.0
            for side in range(2):
                if state[2 + side, k, i] > 0.0:
                    more = max(more, least / state[side, k, i] - state[2 + side, k, i])
            for side in range(2):
                if state[2 + side, k, i] > 0.0:
                    state[2 + side, k, i] += more


@numba.njit(cache=True, nogil=True)
def _weigh(
    a: Array, p: Array, ridge: Array, f: Array, offset: float, state: Array, base: Array, q: Array, T: Array
) -> None:
    """theta, the right-hand side r without mu, and their sums over the variables of each row."""
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            D = state[2, k, i] / state[0, k, i] + state[3, k, i] / state[1, k, i] + ridge[i]
            theta = 1.0 / D
            r = offset - p[k, i] - f[i] - ridge[i] * a[k, i]
            state[4, k, i], base[k, i] = theta, r
            if k == 0:
                q[i], T[i] = theta * r, theta
            else:
                q[i] += theta * r
                T[i] += theta


@numba.njit(cache=True, nogil=True)
def _predict(base: Array, df: Array, dlambda: float, state: Array) -> tuple[float, float, float, float]:
    """da with mu = 0. Returns how soon a bound blocks it (1 / step), and the sum of all products of a room and its
    multiplier as a parabola in the step."""
    blocked, first, second, third = 0.0, 0.0, 0.0, 0.0
    for k in range(base.shape[0]):
        for i in range(base.shape[1]):
            da = state[4, k, i] * (base[k, i] + dlambda - df[i])
            state[5, k, i] = da
            for side in range(2):
                z = state[2 + side, k, i]
                if z > 0.0:
                    A = state[side, k, i]
                    dA = da if side == 0 else -da
                    dz = -z - z * dA / A
                    blocked = max(blocked, -dA / A, -dz / z)
                    first += A * z
                    second += A * dz + dA * z
                    third += dA * dz
    return blocked, first, second, third


@numba.njit(cache=True, nogil=True)
def _correct(base: Array, mu: float, corrected: bool, state: Array, q: Array) -> None:
    """The right-hand side with mu, and where asked for with the predictor's products of changes; kept in da's place."""
    for k in range(base.shape[0]):
        for i in range(base.shape[1]):
            r, da = base[k, i], state[5, k, i]
            for side in range(2):
                z = state[2 + side, k, i]
                if z > 0.0:
                    A = state[side, k, i]
                    dA = da if side == 0 else -da
                    to = mu - (dA * (-z - z * dA / A) if corrected else 0.0)
                    state[6 + side, k, i] = to
                    r += to / A if side == 0 else -to / A
            state[5, k, i] = r
            q[i] = (q[i] if k else 0.0) + state[4, k, i] * r


@numba.njit(cache=True, nogil=True)
def _direct(df: Array, dlambda: float, state: Array) -> float:
    """da, dz and dx of the step. Returns how soon a bound blocks it."""
    blocked = 1e-300
    for k in range(state.shape[1]):
        for i in range(state.shape[2]):
            da = state[4, k, i] * (state[5, k, i] + dlambda - df[i])
            state[5, k, i] = da
            for side in range(2):
                z = state[2 + side, k, i]
                if z > 0.0:
                    A = state[side, k, i]
                    dA = da if side == 0 else -da
                    dz = (state[6 + side, k, i] - z * dA) / A - z
                    state[6 + side, k, i] = dz
                    blocked = max(blocked, -dA / A, -dz / z)
                else:
                    state[6 + side, k, i] = 0.0
    return blocked


@numba.njit(cache=True, nogil=True)
def _products(step: float, state: Array) -> tuple[float, float]:
    """Mean and smallest product of a room and its multiplier after this part of the step."""
    total, count, least = 0.0, 0, np.inf
    for k in range(state.shape[1]):
        for i in range(state.shape[2]):
            for side in range(2):
                z = state[2 + side, k, i]
                if z > 0.0:
                    dA = state[5, k, i] if side == 0 else -state[5, k, i]
                    product = (state[side, k, i] + step * dA) * (z + step * state[6 + side, k, i])
                    total += product
                    count += 1
                    least = min(least, product)
    return total / max(1, count), least


@numba.njit(cache=True, nogil=True)
def _advance(step: float, lower: Array, upper: Array, state: Array, a: Array, beta: Array) -> None:
    """Take this part of the step. Each room is a number of its own: as the difference of a and its bound it would lose
    its digits."""
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            da = state[5, k, i]
            A, B = state[0, k, i] + step * da, state[1, k, i] - step * da
            state[0, k, i], state[1, k, i] = A, B
            state[2, k, i] += step * state[6, k, i]
            state[3, k, i] += step * state[7, k, i]
            if np.isinf(A) and np.isinf(B):
                a[k, i] += step * da
            else:
                a[k, i] = lower[k, i] + A if A < B else upper[k, i] - B
            beta[i] = (beta[i] if k else 0.0) + a[k, i]


class InteriorPath:
    """The iterates; whoever asks for the next one decides when to stop.

    Attributes
    ----------
    beta : array
        Multipliers strictly inside their boxes.
    offset : float
        The multiplier of sum beta = t: minus the intercept of the system's own columns.
    """

    def __init__(self, problem: RegressionProblem, system: RowSystem, beta: Array, offset: float) -> None:
        self.problem, self.system = problem, system
        self.beta, self.offset = beta.copy(), offset
        n, nothing = problem.n_rows, np.zeros(problem.n_rows)
        if problem.epsilon > 0:
            self.lower, self.upper = np.array([nothing, problem.lower]), np.array([problem.upper, nothing])
            self.p = np.array([problem.epsilon - problem.y, -problem.epsilon - problem.y])
            half = 0.5 * np.where(np.isfinite(problem.upper), problem.upper, problem.above * self._spread())
            self.a = np.array([half, beta - half])
        else:
            self.lower, self.upper = problem.lower[None], problem.upper[None]
            self.p, self.a = -problem.y[None], beta[None].copy()
        slope = system.f + self.p + problem.ridge * self.a - offset
        size = float(np.abs(slope).mean()) or 1.0
        self.state = np.zeros((8, *self.a.shape))
        _begin(self.a, slope, self.lower, self.upper, size, self.state)
        level = EVEN if problem.total == 0 else 1.0
        _even_out(level * _products(0.0, self.state)[0], self.state)
        self.base, self.q, self.T = np.empty_like(self.a), np.empty(n), np.empty(n)
        self.mu, self.step, self.waited = _products(0.0, self.state)[0], 1.0, 0

    def _spread(self) -> float:
        """A typical distance of a target from the start, by which multipliers without a bound are measured."""
        return float(np.abs(self.problem.y - self.system.f + self.offset).mean()) or 1.0

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def advance(self) -> bool:
        """Go to the next point; False where rounding leaves no direction to go."""
        problem, system, state = self.problem, self.system, self.state
        _weigh(self.a, self.p, problem.ridge, system.f, self.offset, state, self.base, self.q, self.T)
        missing = problem.total - float(self.beta.sum())
        try:
            system.factor(self.T)
            df, dlambda = system.solve(self.q, missing)
        except np.linalg.LinAlgError:
            return False
        blocked, *parabola = _predict(self.base, df, dlambda, state)
        step = 1.0 if blocked <= 1.0 else 1.0 / blocked
        before = parabola[0]
        predicted = parabola[0] + step * (parabola[1] + step * parabola[2])
        target = self.mu * min(1.0, max(0.0, predicted / before)) ** 3 if before > 0 else 0.0
        # A corrected step that is blocked at once, or leads away, could do so for ever: Newton's own is taken instead.
        for mu, corrected in ((target, True), (0.5 * self.mu, False)):
            _correct(self.base, mu, corrected, state, self.q)
            df, dlambda = system.solve(self.q, missing)
            step = min(1.0, INSIDE / _direct(df, dlambda, state))
            for _ in range(BACK):
                reached, least = _products(step, state)
                if least >= CENTRED * reached:
                    break
                step *= 0.8
            if step >= 0.1 and (reached < self.mu or self.mu == 0):
                break
        if not (np.isfinite(step) and np.isfinite(dlambda) and np.isfinite(df).all()):
            return False
        _advance(step, self.lower, self.upper, state, self.a, self.beta)
        system.advance(step, self.beta)
        self.offset += step * dlambda
        self.mu, self.step = reached, step
        self.waited = self.waited + 1 if step <= SHORT else 0
        return self.waited <= PATIENCE
