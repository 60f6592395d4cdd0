"""The textbook's quadratic programs, through a general solver: Clarabel's interior point (Goulart & Chen 2024).

They are for small problems: to compare with, to teach with, and to check the others by.

Kernels (``qp_dual``). The dual with all of Q. The program is first brought to unit scale (variables by t, the objective
by t |p|), for the solver's tolerances are absolute. An interior-point solution is never exactly at a bound, so
variables within its accuracy of one are put there.

Linear classifiers:

    qp_primal    minimise  1/2 |w|^2 + 1/2 (b/s)^2 + sum c_i xi_i  (or c_i xi_i^2)   over w, b, xi
                 subject to  y_i (w'x_i + b) >= 1 - xi_i,  xi_i >= 0
    qp_dual      maximise  sum alpha_i - 1/2 |w|^2 - 1/2 v^2 - 1/2 sum r_i alpha_i^2   over alpha, w, v
                 subject to  w = sum alpha_i y_i x_i,  v = s sum alpha_i y_i  (free intercept: 0),  0 <= alpha_i <= c_i

This dual keeps w as a variable, so that its matrix is X and not X X'. The multipliers of the constraints are the other
program's variables: alpha of the margins, b of the last equality. A program is divided by the value it is expected to
have, for the solver's tolerances are absolute below one; where the optimum turns out to be much smaller, the program
is solved again with that scale.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.solvers.base import MARGIN_LOSSES, KernelSolver, LinearSolver
from maxmargin.solvers.interior_point.kernel_system import with_free_solved
from maxmargin.solvers.run import LinearSolution, Run, Start
from maxmargin.solvers.solution import Solution

# Relative to the box (or to the largest variable), that counts as at the bound. Where many points are optimal, the
# solver's is the one farthest from bounds: a larger distance is tried where the violation exceeds tol.
BOUND_DISTANCES = 1e-7, 1e-6, 1e-5
LARGEST_MIN_UNITS = 1e-2  # what the largest variable counts as at least: where all are zero, the solver's are 1e-11
ENDS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.STALLED,
    "MaxIterations": Status.MAX_ITER,
    "MaxTime": Status.DEADLINE,
    "PrimalInfeasible": Status.INSEPARABLE,
    "AlmostPrimalInfeasible": Status.INSEPARABLE,
    "DualInfeasible": Status.INSEPARABLE,
    "AlmostDualInfeasible": Status.INSEPARABLE,
}
POLISH_MAX_STEPS = 5  # each puts at least one more variable at its bound
SOLVE_MAX_TIMES = 3  # each in the scale that the last one found
FINER_SCALE = 1e-2  # of the kernel's program that is solved again: a few large rows hide what the others miss


@dataclass(frozen=True)
class Program:
    """Minimise 1/2 x'P x + q'x over A x <= right, where the first rows of A are equalities; P is the upper triangle of
    a matrix, or the vector of its diagonal."""

    P: Any
    q: Array
    A: Any
    right: Array
    equalities: int


def _clarabel(program: Program, scale: float, control: Control, name: str, **tolerances: float) -> Any:
    """Clarabel's solution of the program with its objective divided by ``scale``."""
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(f'solver={name!r} needs clarabel: pip install "maxmargin[qp]"') from error
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    for key, value in tolerances.items():
        setattr(settings, key, value)
    if control.max_iter >= 0:
        settings.max_iter = control.max_iter
    if control.max_seconds is not None:
        settings.time_limit = max(1e-3, control.max_seconds - control.seconds)
    cones = [clarabel.ZeroConeT(program.equalities)] if program.equalities else []
    cones.append(clarabel.NonnegativeConeT(program.A.shape[0] - program.equalities))
    P = program.P / scale
    P = sp.csc_matrix(np.triu(P)) if P.ndim == 2 else sp.diags(P, format="csc")
    return clarabel.DefaultSolver(P, program.q / scale, program.A, program.right, cones, settings).solve()


def _signed(problem: PrimalProblem, rows: Array) -> Any:
    """y_i x_i, and y_i or s y_i in one more column where there is an intercept, as CSC."""
    check_memory(40.0 * problem.n_rows * problem.n_features, "Clarabel's copy of X", "use solver='barrier'.")
    X = sp.csr_matrix(problem.X[rows], dtype=np.float64)
    columns = [X] if problem.intercept == "none" else [X, np.full((len(rows), 1), _unit(problem))]
    return sp.diags(problem.y[rows]) @ sp.hstack(columns, format="csc")


def _unit(problem: PrimalProblem) -> float:
    """The constant column's value: the intercept is this times its weight."""
    return problem.scaling if problem.intercept == "penalised" else 1.0


def _largest(problem: PrimalProblem) -> Array:
    """The largest alpha_i = y_i beta_i."""
    return np.maximum(problem.upper, -problem.lower)


class _QP(LinearSolver):
    """What the two programs of a linear classifier share: scale, solve, evaluate, and solve again if that changed the
    scale."""

    losses: ClassVar[tuple[str, ...]] = MARGIN_LOSSES
    interruptible: ClassVar[bool] = False

    @abc.abstractmethod
    def program(self, problem: PrimalProblem, rows: Array) -> Program:
        """The program over the rows that have weight."""

    @abc.abstractmethod
    def read(self, problem: PrimalProblem, x: Array, z: Array) -> tuple[Array, float, Array]:
        """w, b and the multipliers of the rows, from Clarabel's variables and multipliers."""

    def solve_run(self, run: Run, start: Start | None, random_state: Any) -> LinearSolution:
        """Clarabel takes no start."""
        problem, control, tol = run.problem, run.control, run.tol
        gap, feasibility = max(1e-12, 0.1 * tol), max(1e-12, min(1e-8, 0.01 * tol))
        tolerances = {"tol_gap_abs": gap, "tol_gap_rel": gap, "tol_feas": feasibility}
        status: Status | None = None
        rows = np.flatnonzero(problem.weight > 0)
        program = self.program(problem, rows)
        finite = problem.weight[np.isfinite(problem.weight)]
        scale, n_iter = float(finite.sum()) or 1.0, 0
        nothing = np.zeros(problem.n_rows)
        run.evaluate(0, np.zeros(problem.n_features), 0.0, nothing, nothing)
        for _ in range(SOLVE_MAX_TIMES):
            answer = _clarabel(program, scale, control, self.name, **tolerances)
            n_iter += int(answer.iterations)
            status = ENDS.get(str(answer.status), Status.STALLED)
            x, z = np.asarray(answer.x), scale * np.asarray(answer.z)
            if not (np.isfinite(x).all() and np.isfinite(z).all()):
                break
            w, b, used = self.read(problem, x, z)
            alpha = np.zeros(problem.n_rows)
            alpha[rows] = used
            ended = run.evaluate(n_iter, w, b, problem.design.times(w), problem.feasible(problem.y * alpha))
            if ended is not None or status is not Status.OPTIMAL or not 0 < run.primal < 0.1 * scale:
                status = ended or (status if status is not Status.OPTIMAL else Status.STALLED)
                break
            scale = run.primal
        if status is Status.INSEPARABLE and not problem.hard_margin:
            status = Status.STALLED
        return run.solution(control.stop() or status or Status.STALLED, n_iter)


@dataclass(frozen=True)
class PrimalQP(_QP):
    """The primal as a quadratic program, by Clarabel; needs ``pip install "maxmargin[qp]"``.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import PrimalQP
    >>> model = LinearSVC(loss="hinge", solver=PrimalQP(), tol=1e-6).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.converged
    True
    """

    name: ClassVar[str] = "qp_primal"
    title: ClassVar[str] = "textbook quadratic program of the primal (Clarabel)"
    accepts: ClassVar[tuple[str, ...]] = ("linear",)
    learns: ClassVar[str] = "primal"

    def program(self, problem: PrimalProblem, rows: Array) -> Program:
        Z = _signed(problem, rows)
        n, d = Z.shape
        weight, hard = problem.weight[rows], np.isinf(problem.weight[rows])
        soft = np.flatnonzero(~hard)
        m = len(soft)
        P = np.concatenate((np.ones(d), np.zeros(m)))
        if problem.intercept == "free":
            P[d - 1] = 0.0
        q = np.zeros(d + m)
        if problem.squared:
            P[d:] = 2.0 * weight[soft]
        else:
            q[d:] = weight[soft]
        slack = sp.csc_matrix((np.ones(m), (soft, np.arange(m))), shape=(n, m))
        blocks = [[-Z, -slack]] if problem.squared else [[-Z, -slack], [None, -sp.identity(m, format="csc")]]
        right = np.concatenate((-np.ones(n), np.zeros(0 if problem.squared else m)))
        return Program(P, q, sp.bmat(blocks, format="csc"), right, 0)

    def read(self, problem: PrimalProblem, x: Array, z: Array) -> tuple[Array, float, Array]:
        d, n = problem.n_features, int(np.count_nonzero(problem.weight > 0))
        b = 0.0 if problem.intercept == "none" else _unit(problem) * float(x[d])
        return x[:d], b, z[:n]


@dataclass(frozen=True)
class DualQP(_QP, KernelSolver):
    """The dual as a quadratic program, by Clarabel; needs ``pip install "maxmargin[qp]"``.

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.solvers import DualQP
    >>> model = LinearSVC(loss="hinge", solver=DualQP(), tol=1e-6).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.report_.converged
    True
    """

    name: ClassVar[str] = "qp_dual"
    title: ClassVar[str] = "textbook quadratic program (Clarabel)"
    accepts: ClassVar[tuple[str, ...]] = ("kernel", "linear")

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
        program = _boxes(Q * unit, problem, unit)
        strict = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
        reduced = dict.fromkeys(("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-8)
        a, violation, status, n_iter = problem.start(), math.inf, Status.STALLED, 0
        for _ in range(SOLVE_MAX_TIMES):
            answer = _clarabel(program, part, control, self.name, **strict, **reduced)
            n_iter += int(answer.iterations)
            ended = _ended(answer, problem)
            x = unit * np.asarray(answer.x)
            if ended is Status.INSEPARABLE or not np.isfinite(x).all():
                status = ended if math.isinf(violation) else status
                break
            for distance in BOUND_DISTANCES:
                point = _polished(_snapped(x, problem, unit, distance), problem, K, tol, unit)
                if (least := _violation(point, problem, K)) < violation:
                    a, violation, status = point, least, ended
                if violation <= tol:
                    break
            if violation <= tol:
                status = Status.OPTIMAL
            if violation <= tol or ended not in (Status.OPTIMAL, Status.STALLED):
                break
            part *= FINER_SCALE
        f = K @ problem.coefficients(a)
        return Solution(a, f, control.stop() or status, n_iter)

    def program(self, problem: PrimalProblem, rows: Array) -> Program:
        Z = _signed(problem, rows)
        n, d = Z.shape
        kept = d - (problem.intercept == "free")  # w has no entry for the equality of a free intercept
        P = np.concatenate((problem.ridge[rows], np.ones(kept)))
        q = np.concatenate((-np.ones(n), np.zeros(kept)))
        minus = sp.csc_matrix((-np.ones(kept), (np.arange(kept), np.arange(kept))), shape=(d, kept))
        identity = sp.identity(n, format="csc")
        bounded = np.flatnonzero(np.isfinite(_largest(problem)[rows]))
        blocks = [[Z.T, minus], [-identity, None], [identity[bounded], None]]
        right = np.concatenate((np.zeros(d + n), _largest(problem)[rows][bounded]))
        return Program(P, q, sp.bmat(blocks, format="csc"), right, d)

    def read(self, problem: PrimalProblem, x: Array, z: Array) -> tuple[Array, float, Array]:
        n, d = int(np.count_nonzero(problem.weight > 0)), problem.n_features
        w = x[n : n + d]
        if problem.intercept == "none":
            return w, 0.0, x[:n]
        # The multiplier of w's own equation is w; that of the intercept's is b (its equality reads 1'(y alpha) = 0).
        return w, (problem.scaling * float(x[n + d]) if problem.intercept == "penalised" else float(z[d])), x[:n]


def _ended(answer: Any, problem: DualProblem) -> Status:
    """The status of a kernel's program: of one that is solved to the reduced tolerances, optimal."""
    if str(answer.status) == "AlmostSolved":
        return Status.OPTIMAL
    status = ENDS.get(str(answer.status), Status.STALLED)
    return status if status is not Status.INSEPARABLE or problem.hard_margin else Status.STALLED


def _boxes(Q: Array, problem: DualProblem, unit: float) -> Program:
    """1/2 x'Qx + p'x over the problem's constraints divided by ``unit``."""
    groups = np.arange(len(problem.totals))
    identity = sp.identity(len(Q), format="csr")
    below, above = np.isfinite(problem.lower), np.isfinite(problem.upper)
    members = sp.csr_matrix((problem.group == groups[:, None]).astype(float))
    rows = sp.csc_matrix(sp.vstack([members, -identity[below], identity[above]]))
    right = np.concatenate((problem.totals, -problem.lower[below], problem.upper[above])) / unit
    return Program(Q, problem.linear, rows, right, len(groups))


def _polished(a: Array, problem: DualProblem, K: Array, tol: float, unit: float) -> Array:
    """a, or while its violation exceeds tol a better point: the best one with the same variables at their bounds. The
    solver's tolerances bound the objective, which is flat where Q is singular; linear algebra has more digits."""
    violation = _violation(a, problem, K)
    for _ in range(POLISH_MAX_STEPS):
        if violation <= tol:
            break
        inside = (a > problem.lower) & (a < problem.upper)
        better = _snapped(with_free_solved(problem, K, a, np.flatnonzero(inside)), problem, unit, BOUND_DISTANCES[0])
        least = _violation(better, problem, K)
        if not least < violation:
            break
        a, violation = better, least
    return a


def _violation(a: Array, problem: DualProblem, K: Array) -> float:
    return optimality.violation(problem, a, problem.gradient(K @ problem.coefficients(a), a))


def _snapped(x: Array, problem: DualProblem, unit: float, distance: float) -> Array:
    """A feasible point near x, with variables close to a bound exactly there; ``unit`` is the size that variables are
    expected to have."""
    a = np.clip(x, problem.lower, problem.upper)
    largest = max(LARGEST_MIN_UNITS * unit, float(np.abs(a).max(initial=0.0)))
    box = np.minimum(problem.upper - problem.lower, largest)
    a = np.where(a - problem.lower <= distance * box, problem.lower, a)
    a = np.where(problem.upper - a <= distance * box, problem.upper, a)
    return problem.feasible(a)
