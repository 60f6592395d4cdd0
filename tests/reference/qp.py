"""Support vector machines as textbook quadratic programs: slow, obvious, and independent of the library.

Every model is written in its primal form. The kernel matrix is factored into explicit features, K = Phi Phi', and
w lives in that feature space; slacks are variables of their own. Clarabel minimises

    1/2 x' diag(P) x + q' x     subject to  G x <= h,

and the multipliers of the margin constraints are the dual variables alpha. The functions take the kernel matrix, then
the arguments that the library's problem of the same name takes. A row of price zero constrains nothing and is left
out; a row of infinite price has no slack.
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp


class InfeasibleError(Exception):
    """No point satisfies the constraints: a hard margin where nothing separates."""


@dataclass(frozen=True)
class Answer:
    """The optimum: its value, the coefficient of each row, f = K @ coefficients, b, and rho or epsilon."""

    objective: float
    coefficients: np.ndarray
    f: np.ndarray
    intercept: float
    third: float


def features(K):
    """Rows whose inner products are K."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    keep = values > 1e-13 * max(abs(values).max(), 1e-300)
    return vectors[:, keep] * np.sqrt(values[keep])


def minimise(P, q, G, h):
    """The minimum of 1/2 x' diag(P) x + q' x over G x <= h: its value, x, and the multipliers of the constraints."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cone = [clarabel.NonnegativeConeT(len(h))]
    solver = clarabel.DefaultSolver(sp.csc_matrix(sp.diags(P)), q, sp.csc_matrix(G), h, cone, settings)
    answer = solver.solve()
    if answer.status in (clarabel.SolverStatus.PrimalInfeasible, clarabel.SolverStatus.AlmostPrimalInfeasible):
        raise InfeasibleError
    gap = abs(answer.obj_val - answer.obj_val_dual)
    if not gap <= 1e-7 * max(1.0, abs(answer.obj_val)):
        raise ArithmeticError(f"the oracle itself did not converge: {answer.status}, gap {gap}")
    return answer.obj_val, np.array(answer.x), np.array(answer.z)


class Program:
    """Variables in named blocks, constraints row by row."""

    def __init__(self, **sizes):
        ends = np.cumsum(list(sizes.values()))
        self.at = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.n = int(ends[-1])
        self.P, self.q = np.zeros(self.n), np.zeros(self.n)
        self.G, self.h = [], []

    def at_least(self, bound, **parts):
        """Add the constraint sum of parts >= bound; a part is a block's name and its coefficients."""
        row = np.zeros(self.n)
        for name, coefficients in parts.items():
            row[self.at[name]] = coefficients
        self.G.append(-row)
        self.h.append(-bound)

    def solve(self):
        value, x, z = minimise(self.P, self.q, np.array(self.G), np.array(self.h))
        return value, {name: x[where] for name, where in self.at.items()}, z


def _unit(size, i):
    row = np.zeros(size)
    row[i] = 1.0
    return row


def _margin_program(K, y, price, fit_intercept, with_rho):
    """Constraints y_i (w'phi_i + b) >= 1 - xi_i (or rho - xi_i), xi >= 0, for rows of positive price.

    Multipliers of the first len(used) constraints are the alphas."""
    used = np.flatnonzero(price > 0)
    Phi = features(K[np.ix_(used, used)])
    n, finite = len(used), np.isfinite(price[used])
    program = Program(w=Phi.shape[1], b=int(fit_intercept), rho=int(with_rho), xi=n)
    program.P[program.at["w"]] = 1.0
    program.q[program.at["xi"]] = np.where(finite, price[used], 0.0)
    for i, row in enumerate(used):
        parts = {"w": y[row] * Phi[i], "b": y[row]}
        if finite[i]:
            parts["xi"] = _unit(n, i)
        if with_rho:
            program.at_least(0.0, rho=-1.0, **parts)
        else:
            program.at_least(1.0, **parts)
    for i in range(n):
        program.at_least(0.0, xi=_unit(n, i))
    return program, used


def c_svc(K, y, bound, *, fit_intercept=True):
    """min 1/2 |w|^2 + sum c_i xi_i,  y_i (w'x_i + b) >= 1 - xi_i,  xi >= 0."""
    program, used = _margin_program(K, y, bound, fit_intercept, with_rho=False)
    value, x, z = program.solve()
    coefficients = np.zeros(len(y))
    coefficients[used] = y[used] * z[: len(used)]
    return Answer(value, coefficients, K @ coefficients, float(x["b"].sum()), 0.0)


def nu_svc(K, y, weight, nu, *, fit_intercept=True):
    """min 1/2 |w|^2 - nu W rho + sum w_i xi_i,  y_i (w'x_i + b) >= rho - xi_i,  xi >= 0."""
    program, used = _margin_program(K, y, weight, fit_intercept, with_rho=True)
    program.q[program.at["rho"]] = -nu * weight.sum()
    value, x, z = program.solve()
    coefficients = np.zeros(len(y))
    coefficients[used] = y[used] * z[: len(used)]
    return Answer(value, coefficients, K @ coefficients, float(x["b"].sum()), float(x["rho"].sum()))


def one_class(K, weight, nu):
    """min 1/2 |w|^2 - nu W rho + sum w_i xi_i,  w'x_i >= rho - xi_i,  xi >= 0."""
    answer = nu_svc(K, np.ones(len(weight)), weight, nu, fit_intercept=False)
    return Answer(answer.objective, answer.coefficients, answer.f, -answer.third, answer.third)


def _tube_program(K, y, price, fit_intercept, epsilon):
    """Constraints |y_i - w'phi_i - b| <= epsilon + xi_i, one for each sign, with a slack each; epsilon None is a
    variable. Multipliers come in pairs: alpha_i (y above f), alpha*_i (y below f)."""
    used = np.flatnonzero(price > 0)
    Phi = features(K[np.ix_(used, used)])
    n, finite = len(used), np.isfinite(price[used])
    free_width = epsilon is None
    program = Program(w=Phi.shape[1], b=int(fit_intercept), epsilon=int(free_width), xi=2 * n)
    program.P[program.at["w"]] = 1.0
    program.q[program.at["xi"]] = np.repeat(np.where(finite, price[used], 0.0), 2)
    width = 0.0 if free_width else epsilon
    for i, row in enumerate(used):
        for side, sign in enumerate((1.0, -1.0)):
            parts = {"w": sign * Phi[i], "b": sign, "epsilon": 1.0}
            if finite[i]:
                parts["xi"] = _unit(2 * n, 2 * i + side)
            program.at_least(sign * y[row] - width, **parts)
    for i in range(2 * n):
        program.at_least(0.0, xi=_unit(2 * n, i))
    if free_width:
        program.at_least(0.0, epsilon=1.0)
    return program, used


def eps_svr(K, y, bound, epsilon, *, fit_intercept=True):
    """min 1/2 |w|^2 + sum c_i (xi_i + xi*_i),  -epsilon - xi*_i <= y_i - w'x_i - b <= epsilon + xi_i."""
    program, used = _tube_program(K, y, bound, fit_intercept, epsilon)
    value, x, z = program.solve()
    coefficients = np.zeros(len(y))
    coefficients[used] = z[0 : 2 * len(used) : 2] - z[1 : 2 * len(used) : 2]
    return Answer(value, coefficients, K @ coefficients, float(x["b"].sum()), epsilon)


def quantile(K, y, bound, q, *, fit_intercept=True):
    """min 1/2 |w|^2 + sum c_i (q xi_i + (1 - q) xi*_i),  -xi*_i <= y_i - w'x_i - b <= xi_i."""
    program, used = _tube_program(K, y, bound, fit_intercept, 0.0)
    program.q[program.at["xi"]] *= np.tile([q, 1.0 - q], len(used))
    value, x, z = program.solve()
    coefficients = np.zeros(len(y))
    coefficients[used] = z[0 : 2 * len(used) : 2] - z[1 : 2 * len(used) : 2]
    return Answer(value, coefficients, K @ coefficients, float(x["b"].sum()), 0.0)


def svdd(K, weight, C):
    """min R^2 + C sum w_i xi_i,  |phi_i|^2 - 2 c'phi_i + |c|^2 <= R^2 + xi_i, by its dual in the weights of the centre:
    max sum gamma_i K_ii - gamma'K gamma, 0 <= gamma_i <= C w_i, sum gamma_i = 1. The centre is Phi' gamma."""
    Phi, n = features(K), len(weight)
    program = Program(c=Phi.shape[1], gamma=n)
    program.P[program.at["c"]] = 2.0
    program.q[program.at["gamma"]] = -np.diag(K)
    for j in range(Phi.shape[1]):
        for sign in (1.0, -1.0):
            program.at_least(0.0, c=sign * _unit(Phi.shape[1], j), gamma=-sign * Phi[:, j])
    for i in range(n):
        program.at_least(0.0, gamma=_unit(n, i))
        program.at_least(-C * weight[i], gamma=-_unit(n, i))
    for sign in (1.0, -1.0):
        program.at_least(sign, gamma=np.full(n, sign))
    value, x, _ = program.solve()
    return -value, x["gamma"]


def nu_svr(K, y, bound, nu, *, fit_intercept=True):
    """min 1/2 |w|^2 + nu epsilon sum c_i + sum c_i (xi_i + xi*_i), constraints as in eps_svr, epsilon >= 0."""
    program, used = _tube_program(K, y, bound, fit_intercept, None)
    program.q[program.at["epsilon"]] = nu * bound.sum()
    value, x, z = program.solve()
    coefficients = np.zeros(len(y))
    coefficients[used] = z[0 : 2 * len(used) : 2] - z[1 : 2 * len(used) : 2]
    return Answer(value, coefficients, K @ coefficients, float(x["b"].sum()), float(x["epsilon"].sum()))


# Cases: arguments for a model, drawn at random; what the oracle takes after K is what the library takes.

KINDS = ("c_svc", "hard_margin", "nu_svc", "eps_svr", "nu_svr", "one_class", "quantile")
VARIANTS = [(kind, intercept) for kind in KINDS for intercept in (True, False) if intercept or kind != "one_class"]


def solve(kind, K, arguments):
    """The oracle's answer for a case."""
    return {**globals(), "hard_margin": c_svc}[kind](K, **arguments)


def draw(kind, fit_intercept, seed, n=24):
    """Points and arguments of a random model; rows have different weights. A hard margin's classes are separated by
    a hyperplane through the origin."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    weight = rng.choice([0.5, 1.0, 2.0], n)
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    values = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) + 1.0
    extra = {"fit_intercept": fit_intercept}
    if kind == "c_svc":
        return X, {"y": y, "bound": 3.0 * weight, **extra}
    if kind == "hard_margin":
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        X[:, 0] = y * (np.abs(X[:, 0]) + 0.3)
        return X, {"y": y, "bound": np.full(n, np.inf), **extra}
    if kind == "nu_svc":
        return X, {"y": y, "weight": weight, "nu": 0.3, **extra}
    if kind == "eps_svr":
        return X, {"y": values, "bound": 2.0 * weight, "epsilon": 0.1, **extra}
    if kind == "quantile":
        return X, {"y": values, "bound": 2.0 * weight, "q": 0.8, **extra}
    if kind == "nu_svr":
        return X, {"y": values, "bound": 2.0 * weight, "nu": 0.4, **extra}
    return X, {"weight": weight, "nu": 0.35}
