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
inwards, is left out. When the rest has come to its end, or b has moved by more than such a slope, all take part again.

When to look. The duality gap is a sum over the rows,

    primal - dual = sum_i [c_i loss(m_i) - alpha_i (1 - m_i) + r_i alpha_i^2 / 2] - b sum_i y_i alpha_i,

in which a row that is rightly left out counts nothing. An epoch meets every m_i on its way, with a w that is at most an
epoch old, so the sum is an estimate that costs nothing. The gap itself, which takes two more passes, is computed only
when the estimate promises that it is small enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
from sklearn.utils import check_random_state

from maxmargin.runtime.control import Control, Status
from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.base import MOST, LinearSolution, Run, Start
from maxmargin.solvers.linear.face import face_step
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.products import Design
from maxmargin.solvers.linear.rows import row_add, row_arrays, row_dot

PENALTY = 0.1  # rho of a free intercept, in units of a typical |x_i|^2
WORK = 20_000_000  # entries of X between two looks at the clock: well under 0.2 s
FIRST, EVERY = 20, 10  # epochs before conjugate gradients help, and from then on between two of their turns
LATE = 500  # epochs of small problems before that: there they may stand in the way of b_0. Then it is after each
MOST_STEPS = 20  # of conjugate gradients a turn, fewer where they would take longer than the epochs
LARGE = 50_000  # entries of X from which the history has few lines: each costs as much as an epoch
PROMISING = 1.4  # times the tolerance is an estimated gap worth a look: it is an epoch old, the gap is less
REST = 0.01  # slopes within this are at rest: are all rows? Then a tenth of it is asked for
SMALLEST = 1e-14  # slopes below this are rounding

# The numbers of a run that its compiled loop changes. b = B0 + RHO * TOTAL; TOTAL = sum y_i alpha_i.
B0, RHO, TOTAL = 0, 1, 2
UPPER, LOWER = 3, 4  # a slope beyond these, at a bound, leaves its row out: the largest and smallest of the last epoch,
LARGEST, LEAST = 5, 6  # and those of this one
GAP, DUAL = 7, 8  # the estimated gap of the last whole epoch, and sum alpha_i - |w|^2 / 2 - sum r_i alpha_i^2 / 2
PARTIAL = 9  # the estimate so far
MET = 10  # b_0 when every row last took part
# Where it is: rows that take part, the place in this epoch, rows of it that stay.
ACTIVE, PLACE, KEPT = 0, 1, 2


@numba.njit(cache=True, nogil=True, inline="always")
def _drawn(seed: Array, count: int) -> np.int64:
    """A number below ``count``, from a generator of Marsaglia (2003)."""
    z = seed[0]
    z ^= z << np.uint64(13)
    z ^= z >> np.uint64(7)
    z ^= z << np.uint64(17)
    seed[0] = z
    return np.int64(((z >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@numba.njit(cache=True, nogil=True, inline="always")
def _share(slack: float, a: float, ridge: float, upper: float) -> float:
    """What a row adds to the duality gap; ``slack`` is 1 - m_i."""
    loss = 0.0
    if slack > 0.0:
        loss = 0.5 * slack * slack / ridge if ridge > 0.0 else upper * slack
    return loss - a * slack + 0.5 * ridge * a * a


@numba.njit(cache=True, nogil=True)
def _descend(
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
    place: Array,
    seed: Array,
    free: bool,
    shrinking: bool,
    epochs: int,
    steps: int,
    gap: float,
    span: float,
) -> int:
    """Whole epochs, as many as asked for or until one has a relative gap, by its estimate, of at most ``gap`` or slopes
    within ``span``; how many they were. After ``steps`` rows the loop is left wherever it is, and goes on from there
    the next time. The first rows of ``order`` take part; those that are left out stand behind them."""
    rho, done = state[RHO], 0
    while done < epochs and steps > 0:
        count = place[ACTIVE]
        if place[PLACE] == 0:
            place[KEPT] = 0
            state[PARTIAL] = state[LARGEST] = state[LEAST] = 0.0
        kept, stop = place[KEPT], min(count, place[PLACE] + steps)
        steps -= stop - place[PLACE]
        total, value, partial, largest, least = state[TOTAL], state[DUAL], state[PARTIAL], state[LARGEST], state[LEAST]
        for t in range(place[PLACE], stop):
            at = t + _drawn(seed, count - t)
            i = order[at]
            order[at] = order[t]
            order[t] = i
            a, r, top = alpha[i], ridge[i], upper[i]
            f = row_dot(sparse, indptr, indices, data, shift, i, w)
            g = y[i] * (f + state[B0] + rho * total) - 1.0 + r * a
            if a == 0.0:
                if shrinking and g > state[UPPER]:
                    continue
                inward = min(g, 0.0)
            elif a == top:
                if shrinking and g < state[LOWER]:
                    continue
                inward = max(g, 0.0)
            else:
                inward = g
            order[t] = order[kept]
            order[kept] = i
            kept += 1
            if inward == 0.0:
                continue
            largest, least = max(largest, inward), min(least, inward)
            partial += _share(r * a - g, a, r, top)
            new = min(max(a - g / q[i], 0.0), top)
            change = y[i] * (new - a)
            if change != 0.0:
                alpha[i] = new
                total += change
                square = q[i] - rho - r
                value += new - a - change * (f + 0.5 * change * square) - 0.5 * r * (new * new - a * a)
                row_add(sparse, indptr, indices, data, shift, i, change, w)
        state[TOTAL], state[DUAL], state[PARTIAL], state[LARGEST], state[LEAST] = total, value, partial, largest, least
        place[PLACE], place[KEPT] = stop, kept
        if stop < count:
            return done
        done += 1
        place[ACTIVE], place[PLACE] = kept, 0
        state[UPPER] = largest if largest > 0.0 else np.inf
        state[LOWER] = least if least < 0.0 else -np.inf
        if free:
            state[B0] += rho * total  # b_0 <- b
            if count == len(order):
                state[MET] = state[B0]
            partial += abs(state[B0] * total)
        else:
            value -= 0.5 * rho * total * total
        state[GAP] = partial / (value + partial) if value > 0.0 else np.inf
        if state[GAP] <= gap or largest - least <= span:
            return done
        if free and kept < len(order) and abs(state[B0] - state[MET]) > largest - least:
            # Every slope has moved by as much, and the rows that are left out may be needed again.
            place[ACTIVE], state[UPPER], state[LOWER] = len(order), np.inf, -np.inf
    return done


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

    def __init__(self, problem: LinearProblem, penalty: float, start: Start | None, seed: int = 0) -> None:
        self.problem = problem
        self.free = problem.intercept == "free"
        shift = problem.design.mean() if self.free and not problem.design.sparse else np.zeros(problem.n_features)
        self.shift, self.rows = shift, row_arrays(problem.X, shift)
        design = Design(problem.X, shift=None if problem.design.sparse else shift, threads=problem.threads)
        squares = design.squared_norms()
        typical = float(np.median(squares)) or float(squares.mean())  # not the mean: a few long rows would decide it
        rho = {"none": 0.0, "penalised": problem.scaling**2}.get(problem.intercept, penalty * typical)
        # A row without length has no curvature; its multiplier then goes to its bound at once.
        self.q = np.maximum(squares + rho + problem.ridge, 1e-300)
        self.alpha, self.rested, self.wait, self.pause = np.zeros(problem.n_rows), 0, 1, 0
        self.w, self.state, b, total = np.zeros(problem.n_features), np.zeros(11), 0.0, 0.0
        if start is not None and start.alpha is not None:
            self.alpha, b = problem.feasible(start.alpha), start.b + float(shift @ start.w)
            self.w = design.transposed(problem.y * self.alpha)
            total = float(problem.y @ self.alpha)
            self.state[DUAL] = self.value
        self.state[:5] = b - rho * total if self.free else 0.0, rho, total, np.inf, -np.inf
        self.order = np.flatnonzero(problem.bound > 0)
        self.place = np.array([len(self.order), 0, 0])
        self.state[GAP], self.state[MET] = np.inf, self.state[B0]
        self.seed = np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64], np.uint64)  # far from the few seeds of few bits
        self.entries = problem.X.nnz if problem.design.sparse else problem.X.size
        self.steps = max(1, int(WORK * problem.n_rows / max(1, self.entries)))

    def sweep(self, epochs: int, gap: float, span: float, shrinking: bool, control: Control) -> int:
        """Epochs over the rows that take part, until the estimated gap or the slopes are as small; how many."""
        problem, done = self.problem, 0
        while done < epochs:
            done += _descend(
                *self.rows, self.order, problem.y, self.q, problem.ridge, problem.upper, self.alpha, self.w, self.state,
                self.place, self.seed, self.free, shrinking, epochs - done, self.steps, gap, span,
            )  # fmt: skip
            if control.stop() is not None or (self.place[PLACE] == 0 and (self.gap <= gap or self.span <= span)):
                break
        return done

    def finish(self, late: bool) -> None:
        """Conjugate gradients on the multipliers that are between their bounds. Where they lead nowhere (more of them
        than columns, say, and the way is cut off at once), they are tried again after twice as many epochs."""
        self.pause -= 1
        if self.pause > 0:
            return
        problem, active = self.problem, self.order[: self.place[ACTIVE]]
        alpha = self.alpha[active]
        free = active[(alpha > 0.0) & (alpha < problem.upper[active])]
        if len(free) > 1:
            most = min(MOST_STEPS, self.steps // (2 * len(free)))
            most = max(2, most if late else min(most, EVERY * len(active) // (2 * len(free))))
            gained = face_step(
                *self.rows, free, problem.y, problem.ridge, problem.upper, self.alpha, self.w, self.state, most
            )
            self.wait = 1 if gained > 0.0 else 2 * self.wait
            self.pause = self.wait
            self.state[DUAL] = self.value

    @property
    def value(self) -> float:
        """The dual objective but for the intercept's part."""
        alpha = self.alpha
        return float(alpha.sum() - 0.5 * self.w @ self.w - 0.5 * self.problem.ridge @ alpha**2)

    @property
    def gap(self) -> float:
        """The relative gap by the estimate of the last epoch."""
        return float(self.state[GAP])

    @property
    def span(self) -> float:
        """Largest minus smallest slope that the last epoch saw."""
        return float(self.state[LARGEST] - self.state[LEAST])

    @property
    def whole(self) -> bool:
        """Whether every row takes part."""
        return bool(self.place[ACTIVE] == len(self.order))

    def balanced(self, goal: float) -> bool:
        """Whether sum y_i alpha_i is as good as zero where it should be. If it is not, but no multiplier has moved for
        two epochs, they wait for b_0 to come a long way: it is set to the best intercept for w at once."""
        total = float(self.state[TOTAL])
        if not self.free or abs(total) <= 1e-3 * goal * float(self.alpha.sum()):
            return True
        self.rested = self.rested + 1 if self.span == 0.0 else 0
        if self.rested == 2:
            self.rested = 0
            b = self.problem.settle(self.problem.design.times(self.w), math.nan)
            if math.isfinite(b):
                self.state[B0] = b + float(self.shift @ self.w) - self.state[RHO] * total
        return False

    def recall(self) -> None:
        """Let all rows take part again, and leave none out in the next epoch."""
        self.place[ACTIVE] = len(self.order)
        self.state[UPPER], self.state[LOWER] = np.inf, -np.inf

    def look(self, run: Run, epoch: int) -> Status | None:
        """Show the present point to the run. Where the intercept is free, its best value for w is taken, and the
        heavier class's multipliers are made as light as the other's; w changes by their part of it."""
        problem, w = self.problem, self.w
        f = problem.design.times(w)
        if not self.free:
            b = problem.b_of(self.alpha)
            with_b = w if problem.intercept == "none" else np.append(w, b / problem.scaling)
            return run.look(epoch, with_b, b, f, b, self.alpha, (1.0, 1.0), with_b, own=True)
        b = problem.settle(f, float(self.state[B0] - self.shift @ w))
        positive = problem.y > 0
        up, down = float(self.alpha[positive].sum()), float(self.alpha[~positive].sum())
        scales = (min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0)
        sums = w
        if min(scales) < 1.0:
            heavy = np.flatnonzero((positive if up > down else ~positive) & (self.alpha > 0))
            part = np.zeros_like(w)
            _sum_rows(*self.rows, heavy, problem.y, self.alpha, part)
            sums = w - (1.0 - min(scales)) * part
        return run.look(epoch, w, b, f, b, self.alpha, scales, sums, own=True)


def first_epochs(problem: LinearProblem, epochs: int, control: Control) -> tuple[Array, float]:
    """w and b after a few epochs over CSR rows: a start for methods that need one near the solution."""
    descent = _Descent(problem, PENALTY, None)
    descent.sweep(epochs, 0.0, 0.0, True, control)
    return descent.w, problem.settle(problem.design.times(descent.w), problem.b_of(descent.alpha))


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
    >>> from maxmargin.solvers.linear import CoordinateDescent
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
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        descent = _Descent(problem, self.penalty, start, seed)
        small = descent.entries < LARGE
        limit = control.max_iter if control.max_iter >= 0 else MOST
        goal, promising, epoch, seen, look, leap = REST, PROMISING * tol, 0, -1, 0, LATE if small else FIRST
        while status is None:
            if epoch >= look:
                if seen < epoch and (small or epoch > 0):
                    status, seen = descent.look(run, epoch), epoch
                look = epoch + max(1, epoch // 5) if small else max(6, 3 * epoch)
            status = status or run.stop(epoch) or (Status.STALLED if goal < SMALLEST else None)
            if status is not None:
                break
            epoch += descent.sweep(min(look, limit, leap) - epoch, promising, goal, self.shrinking, control)
            if epoch >= leap:
                leap = epoch + (1 if epoch > LATE else EVERY)
                descent.finish(epoch > LATE)
            rested, near, whole = descent.span <= goal, descent.gap <= promising, descent.whole
            if near and control.stop() is None:
                estimate, status, seen = descent.gap, descent.look(run, epoch), epoch
                if status is None:  # the next look is due when the gap, which is now known, should be small enough
                    promising = estimate * min(0.8, max(0.1 if whole else 0.5, 0.8 * tol / run.gap))
            if not whole and (rested or near):
                descent.recall()
            elif rested:  # all rows have come to rest, as far as they are to by now
                look = look if np.isfinite(descent.gap) else epoch
                goal *= 0.1 if descent.balanced(goal) else 1.0
        if seen != epoch:
            status = Status.OPTIMAL if descent.look(run, epoch) is Status.OPTIMAL else status
        return run.solution(status, epoch)
