"""Newton's method on the primal problem of a model with m columns, for all outputs at once.

For each output, with the features phi_i = T'k_i of row i,

    minimise  1/2 |w|^2 + sum_i c_i L(y_i, w'phi_i + b)    over w (and b).

Features are never computed: n m^2 operations would be most of the work. With B = T w and K the raw rows,

    f = K B + b,    gradient = w + T'K'g,    Hessian times p = p + T'K'D(K T p).

A Newton step solves (Hessian) p = -gradient, by one of

    exact    the matrix itself, for few columns: n m^2 operations per step and output
    cg       conjugate gradients, one pass over K per iteration for all outputs, preconditioned by the Hessian of a
             random sample of the rows (with squares it is Falkon: Rudi, Carratino & Rosasco 2017), or for linear
             models with many columns by the diagonal

A line search follows, without passes over K. The hinge is smoothed by a parabola. When smoothing causes most
of the remaining duality gap of the true loss, the multipliers become its centres (the method of multipliers, see
``smoothed_loss``), and the parabola gets narrower if that was not enough the last time. Large data are solved on parts
of their rows first, such as a sixteenth and a quarter, so that few steps on all rows remain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import cho_solve

from maxmargin.large_scale.certificate import certify
from maxmargin.large_scale.line_search import best_steps
from maxmargin.large_scale.preconditioner import Diagonal, Preconditioner, cholesky_of
from maxmargin.large_scale.rows.oracle import RowOracle, Sums
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Loss
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.history import History
from maxmargin.runtime.threads import Halted
from maxmargin.runtime.validation import Array

EXACT_MAX_COLUMNS = 160  # columns up to which the Hessian is formed
HESSIAN_MAX_COLUMNS = 1000  # columns of a linear model beyond which a Hessian takes too much memory
HESSIANS_MAX_ENTRIES = 2**20  # of the Hessians that one map-reduce step computes
PARTS_MIN_ROWS = 60_000  # rows from which parts of them are solved first
PART_TOL = 0.01  # relative gap to which parts are solved
FIRST_WIDTH = 4.0  # of the parabola, in units of the targets
WIDTH_FACTOR = 0.5  # factor by which it gets narrower
SETTLED_SHARE = 0.3  # the rest of the gap, as a share of the smoothing part, below which the parabola narrows
CG_MAX_STEPS = 100  # of conjugate gradients in a step
GRADIENT_SHARE = 0.1  # relative residual of a step
QUADRATIC_GRADIENT_SHARE = 1e-3  # the same for a squared loss, which one step solves
MIN_WIDTH = 1e-13  # width of the parabola, in units of the targets
ZERO_GAP = 1e-14  # relative gap of a start that is optimal
ZERO_CURVATURE = 1e-13  # second derivatives, as a share of the weights, that count as zero
MAX_STEPS_WITHOUT_PROGRESS = 6  # progress is a smaller gap, or an objective smaller
PROGRESS_SHARE = 1e-9  # by this share
DEFAULT_MAX_STEPS = 1000  # steps, if the user sets no limit


@dataclass(frozen=True)
class NewtonSolution:
    """The result of a run."""

    # w, b: (r, k) and (k,)
    w: Array
    b: Array
    certificates: list[Certificate]  # one per output, from the last pass over all rows
    status: Status
    n_iter: int  # Newton steps
    products: int  # passes of conjugate gradients
    support: int  # rows with a multiplier
    method: str  # {"exact", "cg"}
    history: History = field(default_factory=History)


@dataclass
class _Best:
    """The best primal point of each output, and the largest dual value: bounds of the optimum, from any iterations."""

    w: Array
    b: Array
    found: list[Certificate]
    current: Array  # whether w is that of the last evaluation

    @classmethod
    def empty(cls, w: Array, b: Array) -> _Best:
        nothing = Certificate(math.inf, -math.inf, math.inf, math.inf, 0.0, 0.0, math.inf, 0.0)
        return cls(w.copy(), b.copy(), [nothing] * len(b), np.zeros(len(b), bool))

    def update(self, w: Array, b: Array, new: list[Certificate]) -> None:
        self.found = list(self.found)
        for k, (old, found) in enumerate(zip(self.found, new, strict=True)):
            dual = max(old.dual, found.dual)
            self.current[k] = found.primal <= old.primal or np.array_equal(w[:, k], self.w[:, k])
            if self.current[k]:
                self.w[:, k], self.b[k] = w[:, k], b[k]
            self.found[k] = replace(found if self.current[k] else old, dual=dual)


class RowNewton:
    """One run.

    T: (m, r), or None for the identity
    tol: relative duality gap of each output
    scale: typical size of the targets; 1 for classifiers
    """

    def __init__(
        self,
        T: Array | None,
        loss: Loss,
        *,
        intercept: bool = True,
        tol: float = 1e-4,
        control: Control | None = None,
        scale: float = 1.0,
    ) -> None:
        self.T, self.intercept, self.tol, self.scale = T, intercept, tol, scale
        self.loss = SmoothedLoss(loss, 0.0 if loss.squared else FIRST_WIDTH * scale)
        self.control = Control() if control is None else control
        self.history = History()
        self.n_iter = self.products = 0
        self.sampled: Preconditioner | Diagonal | None = None
        self.last_smoothing = 0.0  # the smoothing part of the gap when centres were last set
        self.centred_at = 0  # the step before that
        self.usual_products = math.inf  # iterations with a new preconditioner

    def solve(
        self, oracle: RowOracle, start: tuple[Array, Array] | None = None, first_b: Array | None = None
    ) -> NewtonSolution:
        """Minimise from ``start`` = (w, b), or from w = 0 and ``first_b``."""
        r = oracle.columns if self.T is None else self.T.shape[1]
        zero = np.zeros(oracle.outputs) if first_b is None else first_b
        self.w: Array = np.zeros((r, oracle.outputs)) if start is None else start[0]
        self.b: Array = zero if start is None else start[1]
        self.best = _Best.empty(self.w, self.b)
        self.first_iter = 0 if start is None else -1
        self.found: list[Certificate] = []
        self.method = "exact" if oracle.columns <= EXACT_MAX_COLUMNS else "cg"
        self.support = 0
        strides = [s for s in oracle.strides if oracle.n >= PARTS_MIN_ROWS and oracle.n // s >= 4 * oracle.columns]
        status: Status | None = None
        try:
            for stride in strides if start is None else []:
                self._run(oracle.part(stride), max(self.tol, PART_TOL), final=False)
            status = self._run(oracle, self.tol, final=True)
        except Halted:
            self.w, self.b = self.best.w, self.best.b
            status = self.control.stop() or Status.INTERRUPTED
        if not self.found:  # no pass over all rows was finished
            self.found = _Best.empty(self.w, self.b).found
        return NewtonSolution(
            self.w, self.b, self.found, status, self.n_iter, self.products, self.support, self.method, self.history
        )

    # ---- steps

    def _run(self, oracle: RowOracle, tol: float, *, final: bool) -> Status:
        """Steps on these rows until the gap is under ``tol``; then w and b are the best iterate."""
        self.best = _Best.empty(self.w, self.b)
        smallest_gap, smallest_value, stalled_steps = math.inf, math.inf, 0
        limit = DEFAULT_MAX_STEPS if self.control.max_iter < 0 else self.control.max_iter
        while True:
            sums = self._evaluate(oracle, final)
            found = self.best.found
            # w = 0 may be nearly optimal but useless: at least one step is made, if possible.
            gap_goal = tol if self.n_iter > self.first_iter else min(tol, ZERO_GAP)
            # With a single class the optimum is zero, and a relative gap has no meaning: weights are the unit.
            zero_level = ZERO_GAP * sums.weight
            zero = [max(c.primal, c.gap) <= zero_level[k] for k, c in enumerate(found)]
            done = np.array([c.relative_gap <= gap_goal or zero[k] for k, c in enumerate(found)])
            ended = self._ended(done, stalled_steps, limit)
            if ended is not None:
                # Return the best w, and F there if time allows a pass
                if not self.best.current.all():
                    self.w, self.b = self.best.w.copy(), self.best.b.copy()
                    if final and ended not in (Status.DEADLINE, Status.INTERRUPTED):
                        self._evaluate(oracle, final)
                return ended
            gap = max(c.relative_gap for c in found)
            value = float(sums.smooth.sum()) + 0.5 * float((self.w**2).sum())
            progressed = gap < 0.9 * smallest_gap or value < smallest_value - PROGRESS_SHARE * abs(value)
            stalled_steps = 0 if progressed else stalled_steps + 1
            smallest_gap, smallest_value = min(smallest_gap, gap), min(smallest_value, value)
            if self._settled(oracle, sums, np.array([c.primal for c in found]), ~done, tol):
                smallest_value = math.inf
            else:
                self._step(oracle, sums, found, ~done, tol)
                self.n_iter += 1

    def _evaluate(self, oracle: RowOracle, final: bool) -> Sums:
        """A pass at w, and its certificate. F is recomputed each time: errors of float32 products would add up."""
        sums = oracle.evaluate(self._raw(self.w), self.b, self.loss, sides=self.intercept)
        self.best.update(self.w, self.b, certify(self.w, sums, self.T, self.loss, self.intercept))
        if final:
            self.found, self.support = self.best.found, sums.support
        self._note(sums)
        return sums

    def _ended(self, done: Array, stalled_steps: int, limit: int) -> Status | None:
        """The reason to end here, or None."""
        if done.all():
            return Status.OPTIMAL
        if stalled_steps > MAX_STEPS_WITHOUT_PROGRESS or 0 < self.loss.width < MIN_WIDTH * self.scale:
            return Status.STALLED
        return self.control.stop() or (Status.MAX_ITER if self.n_iter >= limit else None)

    def _raw(self, w: Array) -> Array:
        return w if self.T is None else self.T @ w

    def _white(self, v: Array) -> Array:
        return v if self.T is None else self.T.T @ v

    def _note(self, sums: Sums) -> None:
        found = self.best.found
        primal, dual = sum(c.primal for c in found), sum(c.dual for c in found)
        norm = max(c.norm for c in found)
        self.history.append(
            iteration=self.n_iter,
            objective=primal,
            dual=dual,
            margin=2.0 / norm if norm > 0 else math.inf,
            n_support=sums.support,
            seconds=self.control.seconds,
        )
        worst = max(c.relative_gap for c in found)
        self.control.report(self.n_iter, worst, sums.support, primal=primal, dual=dual, norm=norm)

    def _step(self, oracle: RowOracle, sums: Sums, found: list[Certificate], pending: Array, tol: float) -> None:
        """A Newton step of the outputs that have not converged."""
        only = np.flatnonzero(pending)
        gradient = self.w + self._white(sums.gradient.sum(axis=0))
        by_b = sums.slope.sum(axis=0) if self.intercept else np.zeros(oracle.outputs)
        # Without any curvature the intercept steps as far as the widest parabola; the line search shortens that.
        far = np.abs(by_b) / (FIRST_WIDTH * self.scale) + ZERO_CURVATURE * sums.weight
        self.damping = np.where(sums.curvature > ZERO_CURVATURE * sums.weight, ZERO_CURVATURE**2 * sums.weight, far)
        g = np.vstack((gradient, by_b))[: gradient.shape[0] + self.intercept, only]
        # A residual r costs 1/2 |r|^2 of the gap, and about |r_b| itself for the intercept: multipliers of one side are
        # lowered until sum g = 0.
        gap_goal = 0.2 * tol * np.array([max(found[k].primal, 1e-300) for k in only])
        x = self._direct(oracle, g, only) if self.method == "exact" else self._conjugate(oracle, g, only, gap_goal)
        r = gradient.shape[0]
        P = np.zeros_like(self.w)
        p = np.zeros_like(self.b)
        P[:, only] = x[:r]
        if self.intercept:
            p[only] = x[r]
        oracle.direction(self._raw(P[:, only]), p[only], None if len(only) == len(self.b) else only)
        t = self._length(oracle, P, np.einsum("ik,ik->k", gradient, P) + by_b * p, pending)
        self.w, self.b = self.w + t * P, self.b + t * p

    def _direct(self, oracle: RowOracle, g: Array, only: Array) -> Array:
        """-H^-1 g from the matrix itself."""
        x, size = np.empty_like(g), len(g)
        needed = only[:1] if self.loss.quadratic else only  # squares have one matrix for all outputs
        together = max(1, HESSIANS_MAX_ENTRIES // (size + 1) ** 2)
        for begin in range(0, len(needed), together):
            some = needed[begin : begin + together]
            for j, H in enumerate(oracle.curvature(some.tolist(), self.T), begin):
                damping = self.damping[needed[j]] if self.intercept else None
                factor = cholesky_of(np.ascontiguousarray(H[:size, :size]), damping)
                columns = slice(None) if self.loss.quadratic else slice(j, j + 1)
                x[:, columns] = -cho_solve((factor, True), g[:, columns], check_finite=False)
        return x

    def _conjugate(self, oracle: RowOracle, g: Array, only: Array, gap_goal: Array) -> Array:
        """-H^-1 g by preconditioned conjugate gradients, for all outputs at once; converged outputs stop."""
        if self.sampled is None:
            wide = self.T is None and oracle.columns > HESSIAN_MAX_COLUMNS
            self.sampled = Diagonal(self.intercept) if wide else Preconditioner(oracle, self.T, self.intercept)
        M = self.sampled
        stale = self.usual_products == math.inf and not self.loss.quadratic  # the Hessian of squares is always the same
        if not M.factors or stale or any(int(k) not in M.factors for k in only):
            M.refresh(oracle, self._raw(self.w), self.b, self.loss, self.damping)
            self.usual_products = math.inf
        x, r = np.zeros_like(g), -g
        first = np.linalg.norm(g, axis=0)
        goal = np.maximum(
            (QUADRATIC_GRADIENT_SHARE if self.loss.quadratic else GRADIENT_SHARE) * first, np.sqrt(gap_goal)
        )
        level = np.full(len(only), math.inf)
        if self.intercept:
            level = np.maximum(
                np.maximum(GRADIENT_SHARE * np.abs(g[-1]), GRADIENT_SHARE**2 * first), gap_goal / self.scale
            )
        z = np.column_stack([M.solve(int(k), r[:, j]) for j, k in enumerate(only)])
        p, rz = z.copy(), np.einsum("ik,ik->k", r, z)
        active = np.arange(len(only))
        count = 0
        while count < CG_MAX_STEPS and self.control.stop() is None:
            Hp = self._hessian(oracle, p[:, active], only[active])
            curvature = np.einsum("ik,ik->k", p[:, active], Hp)
            step = rz[active] / np.where(curvature > 0, curvature, math.inf)
            x[:, active] += step * p[:, active]
            r[:, active] -= step * Hp
            count += 1
            left = np.linalg.norm(r[:, active], axis=0) > goal[active]
            active = active[left | (np.abs(r[-1, active]) > level[active])]
            if len(active) == 0:
                break
            z = np.column_stack([M.solve(int(only[j]), r[:, j]) for j in active])
            after = np.einsum("ik,ik->k", r[:, active], z)
            p[:, active] = z + after / np.where(rz[active] > 0, rz[active], math.inf) * p[:, active]
            rz[active] = after
        self.products += count
        self.usual_products = (
            count + 6
            if self.usual_products == math.inf
            else math.inf
            if count > self.usual_products
            else self.usual_products
        )
        return x

    def _hessian(self, oracle: RowOracle, p: Array, only: Array) -> Array:
        r = self.w.shape[0]
        by_b = p[r] if self.intercept else np.zeros(p.shape[1])
        product, total = oracle.curvature_times(self._raw(p[:r]), by_b, None if len(only) == len(self.b) else only)
        Hp = p.copy()
        Hp[:r] += self._white(product)
        if self.intercept:
            Hp[r] = total + self.damping[only] * by_b
        return Hp

    def _length(self, oracle: RowOracle, P: Array, slope: Array, pending: Array) -> Array:
        """The best step of each output along a direction: the zero of the objective's increasing derivative."""
        square, inner = np.einsum("ik,ik->k", P, P), np.einsum("ik,ik->k", self.w, P)
        return best_steps(lambda t: oracle.along(t, self.loss)[1] + inner + t * square, slope, pending)

    # ---- the parabola

    def _settled(self, oracle: RowOracle, sums: Sums, primal: Array, pending: Array, tol: float) -> bool:
        """Whether smoothing causes most of the gap; then multipliers become centres, and the parabola gets narrower if
        that was not enough the last time."""
        if self.loss.squared or self.n_iter == self.centred_at:
            return False
        pulled = self._white(sums.gradient.sum(axis=0))
        slack = 0.5 * ((self.w + pulled) ** 2).sum(axis=0)
        if self.intercept and self.method == "cg":  # exact steps end with sum g = 0
            slack += self.scale * np.abs(sums.slope.sum(axis=0))
        products = np.einsum("ik,ik->k", self.w, pulled) + self.b * sums.slope.sum(axis=0)
        smoothing = sums.loss + sums.linear.sum(axis=0) + sums.quadratic.sum(axis=0) - products
        if (slack > np.maximum(SETTLED_SHARE * smoothing, 0.3 * tol * primal))[pending].any():
            return False
        total = float(smoothing[pending].sum())
        oracle.recentre()
        if total > 0.2 * self.last_smoothing:
            self.loss = self.loss.with_width(WIDTH_FACTOR * self.loss.width)
        self.last_smoothing, self.centred_at = total, self.n_iter
        return True
