"""The state of dual coordinate descent (Hsieh, Chang, Lin, Keerthi & Sundararajan 2008; Ho & Lin 2012), for every loss.

One multiplier at a time, in random order, with w = sum_i beta_i x_i kept up to date. Along beta_i the dual of
:mod:`maxmargin.problems.primal` is a parabola plus eps |beta_i|; with slope and curvature

    g_i = w'x_i + b - y_i + rho_i beta_i,     q_i = |x_i|^2 + rho + rho_i,

its minimum is beta_i <- clip(soft(beta_i - g_i / q_i, eps / q_i), lower_i, upper_i), where soft(v, e) brings v closer
to zero by e, or to it. Then w += (change) x_i. A row costs as much as reading it.

The intercept. Penalised, it belongs to a constant column s: b = s^2 sum beta_i and rho = s^2. Free, the equality
sum beta_i = t lets no multiplier move alone. The method of multipliers (Hestenes 1969) turns it into a sequence of
penalised ones: with b = b_0 + rho (sum beta_i - t) the problem is that of penalising (b - b_0)^2 / 2 rho, and after
each epoch b_0 <- b. At convergence the sum is t and b is the free intercept. Dense columns are centred at m
first, which changes w by nothing: w = sum beta_i (x_i - m) + t m.

Shrinking. A multiplier at a bound, or at zero inside the tube, that is held there more strongly than any was pulled in
the last epoch, is left out. When the rest has come to its end, or b has moved by more than that, all take part again.

An epoch computes every residual, with a w that is at most an epoch old, which gives an estimate of the duality gap at
no cost.

Free variables. Epochs soon identify the multipliers at a bound, but the others, the free ones, converge at the rate of
the worst-conditioned direction. With the rest fixed the dual is a quadratic in them, whose minimum
conjugate gradients approach in about the square root of that many steps, cut off at the box (Moré & Toraldo 1991).
The loops are in native/descent.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin import _native
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.run import Run, Start

INTERCEPT_PENALTY = 0.1  # rho of a free intercept, in units of a typical |x_i|^2
CALL_MAX_ENTRIES = 4_000_000  # of X that one call reads: some hundredths of a second, so that deadlines are kept
FREE_STEP_PERIOD = 10  # epochs between two turns of conjugate gradients
FREE_STEP_MAX_GRADIENTS = 20  # of conjugate gradients a turn, fewer where they would take longer than the epochs


class Descent:
    """The multipliers, w, and the intercept of a run."""

    def __init__(self, problem: PrimalProblem, penalty: float, start: Start | None, seed: int = 0) -> None:
        self.problem, self.free = problem, problem.free
        design, shift = problem.centred, problem.shift
        self.shift = np.zeros(problem.n_features) if shift is None else shift
        squares = problem.row_squares
        typical = float(np.median(squares)) or float(squares.mean())  # not the mean: a few long rows would decide it
        rho = {"none": 0.0, "penalised": problem.scaling**2}.get(problem.intercept, penalty * typical)
        if self.free and problem.squared:
            # b_0 comes closer by 1 / (1 + rho sum 2 c_i) an epoch where the rows themselves have no curvature
            rho = max(rho, 1.0 / float(2.0 * problem.weight[np.isfinite(problem.weight)].sum() or 1.0))
        # A row without length has no curvature; its multiplier then goes to its bound at once.
        self.q = np.maximum(squares + rho + problem.ridge, 1e-300)
        self.target = problem.y - problem.centre  # b is smaller by as much here
        self.beta, b = problem.initial_multipliers(), None
        if start is not None and start.beta is not None:
            self.beta, b = problem.feasible(start.beta), start.b + float(self.shift @ start.w) - problem.centre
        self.w = np.zeros(problem.n_features)
        if self.beta.any():
            self.w = design.transposed(self.beta) + problem.total * self.shift
        if b is None:
            b = 0.0 if problem.loss.classifies else problem.best_intercept(design.times(self.w), 0.0) - problem.centre
        self.order = np.flatnonzero(problem.weight > 0)
        rows, box = design.compiled, (problem.lower, problem.upper)
        self.state = _native.Descent(rows, self.target, self.q, problem.ridge, *box, self.beta, self.w, self.order)
        state = self.state
        state.eps, state.rho, state.t, state.free = problem.epsilon, rho, problem.total, self.free
        state.missing = float(self.beta.sum()) - problem.total
        state.b0 = state.met = b - rho * state.missing if self.free else 0.0
        state.dual = self.dual
        state.seed = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64  # spreads small seeds over all bits
        self.rested, self.wait, self.pause = 0, 1, 0
        self.entries = problem.X.nnz if problem.design.sparse else problem.X.size
        self.steps = max(1, int(CALL_MAX_ENTRIES * problem.n_rows / max(1, self.entries)))

    @property
    def dual(self) -> float:
        """The dual objective but for the intercept's part."""
        beta, eps = self.beta, self.problem.epsilon
        terms = self.target @ beta - eps * np.abs(beta).sum() - 0.5 * ((self.problem.ridge * beta) @ beta)
        return float(terms - 0.5 * self.w @ self.w)

    @property
    def passes(self) -> float:
        """The steps so far, in passes over all rows."""
        return self.state.visits / max(1, len(self.order))

    def intercept(self) -> float:
        """The intercept of the present point."""
        problem = self.problem
        if not self.free:
            return problem.penalised_intercept(self.beta)
        return float(self.state.b0 + problem.centre - self.shift @ self.w)

    @property
    def complete(self) -> bool:
        """Whether every row takes part."""
        return bool(self.state.active == len(self.order))

    def sweep(self, epochs: int, gap: float, pull: float, shrinking: bool, control: Control) -> int:
        """Epochs over the rows that take part, until the estimated gap or the pulls are as small; how many."""
        state, done = self.state, 0
        while done < epochs:
            done += state.sweep(epochs - done, self.steps, gap, pull, shrinking)
            if control.stop() is not None or (state.place == 0 and (state.gap <= gap or state.pull <= pull)):
                break
        return done

    def free_rows(self) -> Array:
        """The rows between their bounds and off the kink at zero that take part."""
        problem, active = self.problem, self.order[: self.state.active]
        beta = self.beta[active]
        inside = (beta > problem.lower[active]) & (beta < problem.upper[active])
        return active[inside & (beta != 0.0)] if problem.epsilon > 0 else active[inside]

    def free_step(self, late: bool, control: Control) -> None:
        """Conjugate gradients on the free multipliers. If they gain nothing (with more of them than columns, for
        instance, a bound cuts the step at once), they are tried again after twice as many epochs."""
        self.pause -= 1
        if self.pause > 0 or control.stop() is not None:
            return
        free = self.free_rows()
        if len(free) < 2:
            return
        most = min(FREE_STEP_MAX_GRADIENTS, self.steps // (2 * len(free)))
        most = max(2, most if late else min(most, FREE_STEP_PERIOD * self.state.active // (2 * len(free))))
        gained = self.state.free_step(free, most)
        self.wait = 1 if gained > 0.0 else 2 * self.wait
        self.pause = self.wait
        self.state.dual = self.dual

    def balanced(self, goal: float) -> bool:
        """Whether sum beta_i is as good as t where it should be. If it is not, but no multiplier has moved for two
        epochs, they wait for b_0 to come a long way: it is set to the best intercept for w at once."""
        problem, missing = self.problem, float(self.state.missing)
        if not self.free or abs(missing) <= 1e-3 * goal * float(np.abs(self.beta).sum()):
            return True
        self.rested = self.rested + 1 if self.state.pull == 0.0 else 0
        if self.rested == 2:
            self.rested = 0
            b = problem.best_intercept(problem.design.times(self.w), math.nan)
            if math.isfinite(b):
                self.state.b0 = b + float(self.shift @ self.w) - problem.centre - self.state.rho * missing
        return False

    def use_all_rows(self) -> None:
        """Let all rows take part again, and leave none out in the next epoch."""
        self.state.active, self.state.limit = len(self.order), np.inf

    def evaluate(self, run: Run, epoch: int) -> Status | None:
        """Evaluate the present point. Where the intercept is free, its best value for w is taken, and the
        heavier side's multipliers are made as light as the other's; w changes by their part of it."""
        problem, w = self.problem, self.w
        f = problem.design.times(w)
        if not self.free:
            b = problem.primal_intercept(f, self.intercept())
            return run.evaluate(epoch, w, b, f, self.beta, w, own=True)
        b = problem.best_intercept(f, self.intercept())
        if problem.total:
            return run.evaluate(epoch, w, b, f, problem.feasible(self.beta), own=True)
        positive = self.beta > 0
        up, down = float(self.beta[positive].sum()), float(self.beta[~positive].sum())
        scales, sums = problem.balance(up, down), w
        if min(scales) < 1.0:
            heavy = np.flatnonzero(positive if up > -down else self.beta < 0)
            part = np.zeros_like(w)
            _native.rows_combine(problem.centred.compiled, heavy, self.beta[heavy], part)
            sums = w - (1.0 - min(scales)) * part
        return run.evaluate(epoch, w, b, f, self.beta, sums, scales=scales, own=True)


def first_epochs(problem: PrimalProblem, epochs: int, control: Control) -> tuple[Array, float]:
    """w and b after a few epochs over CSR rows: a start for methods that need one near the solution."""
    descent = Descent(problem, INTERCEPT_PENALTY, None)
    descent.sweep(epochs, 0.0, 0.0, True, control)
    return descent.w, problem.best_intercept(problem.design.times(descent.w), problem.penalised_intercept(descent.beta))
