"""Interior points on the d x d system of the primal, three passes over the rows an iteration.

With the slack xi_i >= 0 of a row, the surplus z_i >= 0 of its margin and m_i = y_i (w'x_i + b), the conditions of
optimality of the linear machine are

    w = sum_i y_i alpha_i x_i,    sum_i y_i alpha_i = 0,
    m_i - 1 + r_i alpha_i = z_i - xi_i,    alpha_i z_i = 0,    (c_i - alpha_i) xi_i = 0,

r_i = 1 / 2c_i for the squared hinge (whose alpha_i have no upper bound), else 0. The method of
:mod:`maxmargin.solvers.interior_point` keeps A_i = alpha_i, B_i = c_i - alpha_i, z_i and xi_i positive and takes Newton
steps towards A z = B xi = mu. Keep w as a variable of its own and eliminate

    dalpha_i = theta_i (rho_i - y_i (x_i'dw + db)),    theta_i = 1 / (z_i / A_i + xi_i / B_i + r_i),
    rho_i = 1 - m_i - r_i alpha_i + (mu - cA_i) / A_i - (mu - cB_i) / B_i,    cA = dA dz,  cB = dB dxi;

what is left, with the intercept eliminated too (which centres the columns at their theta-weighted means), is

    M dw = s - w + u - v (y'alpha + 1'u) / tau,       db = (y'alpha + 1'u - v'dw) / tau,
    M = I + X'Theta X - v v'/tau,   v = X'theta,   tau = 1'theta,   s = X'(y alpha),   u = X'(y theta rho).

M has no eigenvalue below one, whatever the columns are: constant, repeated, or of very different sizes. The passes:

    1.  theta of a row, then its part of X'Theta X, v, u with mu = c = 0, and s;
    2.  along the predictor dw: how far it gets, and u of the corrected step, which is linear in its mu;
    3.  along the corrected dw: dalpha, dz, dxi, and the longest step inside.

s is summed for the two classes apart. Where rounding leaves sum y_i alpha_i other than zero, making the heavier class
lighter by a factor makes alpha feasible, and its dual objective is then known without another pass.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.interior_point import BACK, CENTRED, INSIDE, LIMIT, PATIENCE, SHORT
from maxmargin.solvers.linear.base import Run, Start, design_of, own_intercept, relative
from maxmargin.solvers.linear.problem import LinearProblem

TINY = 1e-300
NEAR = 5.0  # mu of a start that is near the solution, in units of what its duality gap suggests
COARSE = 1e-2  # relative gap above which X'Theta X in single precision is good enough for a direction,
SINGLE, LOST = 6e-8, 0.1  # unless its rounding (that of its largest entry) is no longer small beside one,
FEW = 32  # or it costs next to nothing
ROUNDING = 1e-15  # of the normal matrix, relative to its diagonal


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _first(start: int, state: Array, y: Array, f: Array, b: float, V: Array) -> None:
    """V = theta, y theta rho of the predictor, and y alpha of the positive and of the negative class."""
    for k in range(V.shape[1]):
        i = start + k
        A, B, z, x, r = state[0, i], state[1, i], state[2, i], state[3, i], state[4, i]
        theta = 1.0 / (z / A + x / B + r)
        V[0, k] = theta
        V[1, k] = y[i] * theta * (1.0 - y[i] * (f[i] + b) - r * A)
        V[2, k] = A if y[i] > 0 else 0.0
        V[3, k] = 0.0 if y[i] > 0 else -A


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _second(
    start: int, state: Array, y: Array, f: Array, b: float, fa: Array, ba: float, V: Array, out: Array
) -> float:
    """Along the predictor: V = y theta rho of the corrected step, but for its mu, and what multiplies mu there; to
    ``out`` the change of the sum of products, linear and quadratic in the step's length. What blocks the step."""
    blocked, linear, quadratic = 0.0, 0.0, 0.0
    for k in range(V.shape[1]):
        i = start + k
        A, B, z, x, r = state[0, i], state[1, i], state[2, i], state[3, i], state[4, i]
        theta = 1.0 / (z / A + x / B + r)
        rho = 1.0 - y[i] * (f[i] + b) - r * A
        da = theta * (rho - y[i] * (fa[i] + ba))
        dz = -z - z * da / A
        blocked = max(blocked, -da / A, -dz / z if z > 0.0 else 0.0)
        linear += da * z + A * dz
        quadratic += da * dz
        to_A, to_B = -da * dz, 0.0
        if np.isfinite(B):
            dx = -x + x * da / B
            blocked = max(blocked, da / B, -dx / x if x > 0.0 else 0.0)
            linear += B * dx - da * x
            quadratic -= da * dx
            to_B = da * dx
        V[0, k] = y[i] * theta * (rho + to_A / A - to_B / B)
        V[1, k] = y[i] * theta * (1.0 / A - 1.0 / B)
    out[0] += linear
    out[1] += quadratic
    return blocked


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _third(
    start: int,
    stop: int,
    state: Array,
    y: Array,
    f: Array,
    b: float,
    fa: Array,
    ba: float,
    fd: Array,
    bd: float,
    mu: float,
    corrected: bool,
    change: Array,
) -> float:
    """The step itself, ``change`` = dalpha, dz, dxi. What blocks it."""
    blocked = 0.0
    for i in range(start, stop):
        A, B, z, x, r = state[0, i], state[1, i], state[2, i], state[3, i], state[4, i]
        theta = 1.0 / (z / A + x / B + r)
        rho = 1.0 - y[i] * (f[i] + b) - r * A
        to_A = to_B = mu
        if corrected:
            da = theta * (rho - y[i] * (fa[i] + ba))
            to_A -= da * (-z - z * da / A)
            to_B += da * (-x + x * da / B)
        da = theta * (rho + to_A / A - to_B / B - y[i] * (fd[i] + bd))
        dz = (to_A - z * da) / A - z
        dx = 0.0
        blocked = max(blocked, -da / A, -dz / z if z > 0.0 else 0.0)
        if np.isfinite(B):
            dx = (to_B + x * da) / B - x
            blocked = max(blocked, da / B, -dx / x if x > 0.0 else 0.0)
        change[0, i], change[1, i], change[2, i] = da, dz, dx
    return blocked


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _products(state: Array, change: Array, step: float) -> tuple[float, float]:
    """Sum and smallest product of a room and its multiplier after a step of this length."""
    total, least = 0.0, np.inf
    for i in range(state.shape[1]):
        da = step * change[0, i]
        product = (state[0, i] + da) * (state[2, i] + step * change[1, i])
        total += product
        least = min(least, product)
        if state[1, i] < np.inf:
            product = (state[1, i] - da) * (state[3, i] + step * change[2, i])
            total += product
            least = min(least, product)
    return total, least


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _advance(state: Array, change: Array, f: Array, fd: Array, step: float) -> bool:
    """Take the step. Each room is a number of its own: as the difference of alpha and its bound it would lose its
    digits. Whether all is finite."""
    fine = True
    for i in range(state.shape[1]):
        da = step * change[0, i]
        state[0, i] += da
        state[1, i] -= da
        state[2, i] += step * change[1, i]
        state[3, i] += step * change[2, i]
        f[i] += step * fd[i]
        fine = fine and np.isfinite(f[i]) and state[0, i] > 0.0 and state[1, i] > 0.0
    return fine


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _centre(state: Array, y: Array, f: Array, b: float, c: Array, mu: float) -> None:
    """A, B, z and xi of every row with A z = B xi = mu, z - xi = m - 1. In t = (A - B) / c that is the quadratic
    t = k (1 - t^2) with k = c (1 - m) / 4 mu; the smaller of the rooms is c (1 - |t|) / 2, and 1 - t^2 = t / k keeps
    its digits where |t| is nearly one."""
    for i in range(len(y)):
        k = (1.0 - y[i] * (f[i] + b)) * c[i] / (4.0 * mu)
        t = 2.0 * k / (1.0 + np.sqrt(1.0 + 4.0 * k * k))
        short = 0.5 * c[i] * (abs(t / k) / (1.0 + abs(t)) if abs(k) > 1e-8 else 1.0 - abs(t))
        state[0, i], state[1, i] = (c[i] - short, short) if t > 0.0 else (short, c[i] - short)
        state[2, i], state[3, i] = mu / state[0, i], mu / state[1, i]


class Path:
    """The iterates; :meth:`look` at the present one, then :meth:`step` to the next."""

    def __init__(self, problem: LinearProblem, control: Control) -> None:
        self.problem, self.design = problem, design_of(problem, control.stop)
        d, n = self.design.d, problem.n_rows
        check_memory(12 * 8.0 * d * d, f"solver='barrier' with {d:,} columns", "use solver='coordinate_descent'.")
        self.free = problem.intercept == "free"
        self.squares = float(self.design.squared_norms().mean()) or 1.0
        self.w, self.b, self.f = np.zeros(d), 0.0, np.zeros(n)
        self.state = _inside(problem, 1.0 / self.squares)
        self.pairs = n + int(np.count_nonzero(np.isfinite(self.state[1])))
        self.change, self.fa, self.fd = np.zeros((3, n)), np.empty(n), np.empty(n)
        self.n_iter, self.waited, self.refined, self.expected = 0, 0, False, np.inf
        self.single = self.design.columns >= FEW

    def begin_near(self, start: Start, gap: float) -> None:
        """Begin at w and b of a similar problem (another C), whose duality gap here is given, with multipliers that
        fulfil the conditions of every row for a small mu: alpha z = (c - alpha) xi = mu and z - xi = m - 1. Only w = s
        is left to be mended."""
        problem, design = self.problem, self.design
        self.w[: problem.n_features] = start.w
        if problem.intercept == "penalised":
            self.w[-1] = start.b / problem.scaling
        elif self.free:
            self.b = start.b + (0.0 if design.shift is None else float(design.shift @ start.w))
        self.f = design.times(self.w)
        _centre(self.state, problem.y, self.f, self.b, problem.bound, NEAR * gap / self.pairs)

    @property
    def alpha(self) -> Array:
        return self.state[0]

    def look(self, run: Run) -> Status | None:
        """The first pass; then the present point is shown to the run."""
        self._gather()
        left = float(np.abs(self.sums - self.w).max())
        # s - w shrinks with every step. Where it does not, columns of very different sizes have cost its digits.
        self.refined |= left > 2 * self.expected + 1e-10 * float(np.abs(self.w).max())
        up, down = float(self.by_class[-1, 0]), -float(self.by_class[-1, 1])
        scales = (min(1.0, down / up), min(1.0, up / down)) if self.free else (1.0, 1.0)
        sums = self.design.settled(self.by_class) @ np.array(scales)
        b = own_intercept(self.problem, self.design, self.w, self.b)
        status = run.look(self.n_iter, self.w, b, self.f, self.b, self.alpha, scales, sums)
        self.single = self.single and relative(run.primal, run.dual) > COARSE
        return status

    def _gather(self) -> None:
        design, y = self.design, self.problem.y

        def work(rows: slice, G: Array, S: Array) -> None:
            V = design.scratch.take("V", (4, rows.stop - rows.start), np.float64)
            _first(rows.start, self.state, y, self.f, self.b, V)
            design.tile_gram(rows, V[0], G, single=single)
            design.tile_sums(rows, V, S)

        k, single = design.columns, self.single
        self.moments, S = design.summed(work, (k, k), (k + 1, 4), wide=True)
        self.border, self.predictor, *_ = design.settled(S).T
        self.tau, self.predicted, self.by_class = float(S[-1, 0]), float(S[-1, 1]), S[:, 2:]
        self.sums, self.total = design.settled(self.by_class).sum(axis=1), float(self.by_class[-1].sum())
        if single and float(np.diagonal(self.moments).max()) * SINGLE > LOST:
            self.single = False
            self._gather()

    def _factor(self) -> None:
        M = self.design.bordered(self.moments, self.border)
        if self.free:
            M -= np.outer(self.border, self.border / self.tau)
        M[np.diag_indices_from(M)] += 1.0 + ROUNDING * np.diagonal(M)
        self.factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

    def _solve(self, right: Array, total: float) -> tuple[Array, float]:
        """dw and db for  s - w + u  and  y'alpha + 1'u."""
        if not self.free:
            return cho_solve(self.factors, right, check_finite=False), 0.0
        dw = cho_solve(self.factors, right - self.border * (total / self.tau), check_finite=False)
        return dw, (total - float(self.border @ dw)) / self.tau

    def _along(self, dw: Array, db: float) -> tuple[float, Array, Array]:
        """The second pass: what blocks the predictor, the change of products along it, and the sums for u."""
        design, y, blocked = self.design, self.problem.y, [TINY]

        def work(rows: slice, S: Array, out: Array) -> None:
            V = design.scratch.take("V", (2, rows.stop - rows.start), np.float64)
            design.tile_times(rows, dw, self.fa[rows])
            blocked.append(_second(rows.start, self.state, y, self.f, self.b, self.fa, db, V, out))
            design.tile_sums(rows, V, S)

        S, out = design.summed(work, (design.columns + 1, 2), (2,))
        return max(blocked), out, S

    def _to(self, dw: Array, db: float, predictor: float, mu: float, corrected: bool) -> float:
        """The third pass: the step towards mu; what blocks it."""
        design, blocked = self.design, [TINY]

        def work(rows: slice) -> None:
            design.tile_times(rows, dw, self.fd[rows])
            blocked.append(
                _third(
                    rows.start,
                    rows.stop,
                    self.state,
                    self.problem.y,
                    self.f,
                    self.b,
                    self.fa,
                    predictor,
                    self.fd,
                    db,
                    mu,
                    corrected,
                    self.change,
                )
            )

        design.each(work)
        return max(blocked)

    def _refined(self, dw: Array, db: float, *how: float) -> tuple[Array, float, float]:
        """The third pass once more, for the dw that mends what the first solve left."""
        changes = self.problem.y * self.change[0]
        left = self.sums - self.w + self.design.transposed(changes) - dw
        more, extra = self._solve(left, self.total + float(changes.sum()))
        dw, db = dw + more, db + extra
        return dw, db, self._to(dw, db, *how)  # type: ignore[arg-type]

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def step(self) -> bool:
        """To the next point; False where rounding leaves no direction to go."""
        try:
            self._factor()
        except np.linalg.LinAlgError:
            return False
        rest = self.sums - self.w
        before, _ = _products(self.state, self.change, 0.0)
        mu = before / self.pairs
        dwa, ba = self._solve(rest + self.predictor, self.total + self.predicted)
        blocked, products, S = self._along(dwa, ba)
        length = min(1.0, 1.0 / blocked)
        predicted = (before + length * float(products[0]) + length**2 * float(products[1])) / self.pairs
        target = mu * min(1.0, max(0.0, predicted / mu)) ** 3
        K = self.design.settled(S)
        # A corrected step that is blocked at once, or leads away, could do so for ever: Newton's own is taken instead.
        for corrected, goal in ((True, target), (False, 0.5 * mu)):
            u, total = (K[:, 0], S[-1, 0]) if corrected else (self.predictor, self.predicted)
            dw, db = self._solve(rest + u + goal * K[:, 1], self.total + float(total + goal * S[-1, 1]))
            blocked = self._to(dw, db, ba, goal, corrected)
            if self.refined:
                dw, db, blocked = self._refined(dw, db, ba, goal, corrected)
            length = min(1.0, INSIDE / blocked)
            for _ in range(BACK):
                after, least = _products(self.state, self.change, length)
                if least >= CENTRED * after / self.pairs:
                    break
                length *= 0.8
            if length >= 0.1 and after < before:
                break
        if not (math.isfinite(length) and np.isfinite(dw).all() and math.isfinite(db)):
            return False
        self.expected = (1.0 - length) * float(np.abs(rest).max())
        self.w, self.b = self.w + length * dw, self.b + length * db
        self.waited = self.waited + 1 if length <= SHORT else 0
        self.n_iter += 1
        fine = _advance(self.state, self.change, self.f, self.fd, length)
        return fine and self.waited <= PATIENCE and self.n_iter < LIMIT


def _inside(problem: LinearProblem, unit: float) -> Array:
    """A, B, z, xi and r to begin with: half of every box (``unit`` where there is none), the heavier class made as
    light as the other where the intercept is free, and multipliers of about one."""
    c = problem.upper
    A = np.where(np.isfinite(c), 0.5 * c, unit if problem.hard_margin else problem.bound)
    if problem.intercept == "free":
        positive = problem.y > 0
        up, down = float(A[positive].sum()), float(A[~positive].sum())
        A = A * np.where(positive, min(1.0, down / up), min(1.0, up / down))
    B = c - A
    bounded = np.isfinite(B)
    z, x = np.ones(len(A)), np.where(bounded, 2.0, 0.0)
    pairs = len(A) + int(np.count_nonzero(bounded))
    least = 0.1 * (float(A.sum()) + 2.0 * float(B[bounded].sum())) / pairs  # or boxes of very different sizes would
    z, x = np.maximum(z, least / A), np.where(bounded, np.maximum(x, least / B), 0.0)  # start far from the centre
    return np.stack([A, B, z, x, problem.ridge])
