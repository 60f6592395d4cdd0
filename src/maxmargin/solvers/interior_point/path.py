"""Interior points (Mehrotra 1992; Ferris & Munson 2003 for SVMs): one path, for kernel and for linear problems.

    minimise  1/2 a'Qa + p'a + 1/2 a'Ra    subject to  lower <= a <= upper,  sums of a prescribed

With multipliers z (lower bounds), x (upper bounds) and lambda (sums) the conditions of optimality are

    Q a + R a + p - lambda - z + x = 0,    (a - lower) z = 0,    (upper - a) x = 0,    z, x >= 0.

The method keeps all inequalities strict, replaces the two products' zeros by mu > 0 (these are the conditions of
minimising the objective minus mu times the logarithms of the slacks: the barrier), and takes Newton steps while mu
falls to zero. With the slacks A = a - lower and B = upper - a, a step asks for

    (Q + R + D) da - dlambda = r,    D = z/A + x/B,    r = -(Q a + R a + p - lambda) + (mu - cA)/A - (mu - cB)/B.

First with mu = 0 and no corrections cA, cB: the predictor. The length of that step determines how small mu can be,
mu <- mu (mu_predicted / mu)^3, and its products of changes, cA = dA dz and cB = dB dx, correct for what Newton's method
leaves out: the second solve, with the same factors.

How Q is factored is left to a :class:`RowSystem`. In linear problems Q = E X X'E', where E gives each variable
its row: without a tube (eps = 0) a row has one variable, a_i = beta_i; with a tube it has two, one per side, whose sum
is beta_i:

    a in [0, upper_i] with p = eps - y_i,        a in [lower_i, 0] with p = -eps - y_i.

With theta = (R + D)^-1, the variables depend on each other only through the change df = X X'E'da of the rows' values:

    da = theta (r + dlambda - df),        so        E'da = q + T (dlambda - df),    q = E'theta r,    T = E'theta 1.

This is a system in n numbers q and T, for one or two variables per row; lambda is minus the intercept. In kernel
problems each variable is a row of its own, and the offsets of their groups are part of f. A step takes three passes
over the rows (native/interior), and the d x d system reads X in the same passes:

    1.  theta of a row, then its part of X'T X, X'T 1, X'q and X'beta;
    2.  along the predictor: its longest step, and q of the corrected step, which is linear in mu;
    3.  along the corrected direction: da, dz, dx, and the longest step inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from maxmargin import _native
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import Array

STEP_TO_BOUND = 0.995  # part of the distance to the nearest bound that a step may take
CENTRED_MIN_SHARE = 1e-3  # no product of a slack and its multiplier falls below this part of their mean,
CENTRED_MAX_CUTS = 30  # or the step is shortened, at most so many times
MAX_ITERATIONS = 200  # usually twenty or thirty
TINY_STEP_MAX_STEPS = 3  # successive tiny steps before the method stops
TINY_STEP_LENGTH = 1e-6  # of a tiny step
# No product of a slack and its multiplier starts below so many means of all. Measured: where the slacks of all rows are
# equal, well above the mean takes fewest iterations; where sums are prescribed or boxes are one-sided, less.
EVEN_EQUAL, EVEN_PRESCRIBED, EVEN_ONE_SIDED = 5.0, 1.0, 0.1
NEAR_MU = 5.0  # mu of a start that is near the solution, relative to the estimate by its duality gap
SMALLEST_DIVISOR = 1e-300
# The rows of V: of the first pass Theta, Theta r, and the positive and the negative part of beta; of the second the
# right-hand side without mu, and its derivative by mu.
THETA, RIGHT, POSITIVE, NEGATIVE = range(4)
FIXED, SLOPE = range(2)


Pass = Callable[[slice], None]
Right = tuple[Array, float]  # of a system: a projection of q, and its sum


class RowSystem(Protocol):
    """The matrix Q, Newton systems with it, and the passes over the rows, which it may fuse with products."""

    f: Array  # values X w of the rows; changed in place
    # predicted, df: changes of f along the predictor and along the last direction
    predicted: Array
    df: Array

    def begin(self, beta: Array) -> None:
        """The path starts at these multipliers."""
        ...

    def gather(self, work: Pass, V: Array) -> Right:
        """Run ``work`` over all rows, which fills T and q, two rows of V; the others are the positive and the
        negative parts of beta."""
        ...

    def factor(self, T: Array) -> None:
        """Prepare for weights T; LinAlgError if that is not possible."""
        ...

    def solve(self, right: Right, missing: float) -> float:
        """dlambda of the direction with df = X X'(q + T (dlambda - df)) and, if there is an intercept,
        1'(q + ...) = missing."""
        ...

    def along(self, work: Pass, V: Array) -> tuple[Right, Right]:
        """``predicted``, then ``work``, over all rows; the two rows of V that it fills, as right-hand sides."""
        ...

    def to(self, work: Pass) -> None:
        """``df``, then ``work``, over all rows."""
        ...

    def refine(self, changes: Array, missing: float) -> float | None:
        """Refine the last direction, which changes the multipliers by ``changes``; returns the change of dlambda, or
        None if that is not needed."""
        ...

    def advance(self, step: float, beta: Array) -> None:
        """Take this part of the last direction, which leads to these multipliers."""
        ...


@dataclass(frozen=True)
class PathStart:
    """The problem and the initial point of a path."""

    lower: Array  # lower, upper, p, a: shape (sides, n)
    upper: Array
    p: Array
    a: Array  # strictly inside
    ridge: Array  # the diagonal of R
    f: Array  # values by which the multipliers of the bounds are chosen
    offset: float  # lambda
    total: float  # of a
    size: float  # of these multipliers, by default
    by_slack: bool  # whether they are larger for the smaller of two slacks
    level: float  # no product starts below so many means of all
    tied: int  # rows that lambda applies to; the rows after them are bounds of w


class Prediction(NamedTuple):
    """The results of the second pass, along the predictor."""

    blocked: float  # one over the longest step inside the bounds
    products: list[float]  # their sum along the step, as a parabola
    fixed: Right  # q of the corrected step at mu = 0
    slope: Right  # its change with mu


class DenseRows:
    """The passes of a system that keeps its matrix in memory: all rows at once."""

    df: Array
    predicted: Array
    every: slice

    def gather(self, work: Pass, V: Array) -> Right:
        work(self.every)
        return V[RIGHT].copy(), float(V[RIGHT].sum())

    def along(self, work: Pass, V: Array) -> tuple[Right, Right]:
        self.predicted = self.df
        work(self.every)
        return (V[FIXED].copy(), float(V[FIXED].sum())), (V[SLOPE].copy(), float(V[SLOPE].sum()))

    def to(self, work: Pass) -> None:
        work(self.every)

    def refine(self, changes: Array, missing: float) -> float | None:
        return None


class Path:
    """The iterates: :meth:`gather` the present one, evaluate it, and :meth:`step` to the next.

    beta: multipliers strictly inside their boxes
    offset: lambda; in linear problems minus the intercept of the system's own columns
    length: of the last step
    """

    def __init__(self, start: PathStart, system: RowSystem) -> None:
        self.system, self.offset, self.total, self.tied = system, start.offset, start.total, start.tied
        self.a, n = start.a, start.p.shape[1]
        self.rows = _native.InteriorRows(start.p, start.lower, start.upper, start.ridge, self.a, system.f)
        self.beta = np.empty(n)
        self.rows.beta(self.beta)
        self.V, self.V2 = np.empty((4, n)), np.empty((2, n))
        kept = system.f.copy()
        system.f[:] = start.f
        self.rows.begin(start.offset, start.size, start.by_slack)
        system.f[:] = kept
        self.rows.even_out(start.level * self.mean_product(), start.by_slack)
        system.begin(self.beta)
        self.n_iter, self.stalled_steps, self.length = 0, 0, 1.0

    def begin_near(self, gap: float) -> None:
        """Multipliers that satisfy the conditions of every row at the system's values and the offset for a small mu:
        A z = B x = mu and z - x = slope; ``gap`` is the duality gap there. Only w = X'beta is left to be corrected."""
        self.rows.centre(self.offset, NEAR_MU * gap / (2 * self.a.size))
        self.rows.beta(self.beta)

    def mean_product(self) -> float:
        """mu: the mean product of a slack and its multiplier."""
        return self._products(0.0)[0]

    def _products(self, step: float) -> tuple[float, float]:
        total, count, least = self.rows.products(step)
        return total / max(1.0, count), least

    @np.errstate(over="ignore", invalid="ignore")
    def gather(self) -> None:
        """The first pass."""
        np.maximum(self.beta, 0.0, out=self.V[POSITIVE])
        np.minimum(self.beta, 0.0, out=self.V[NEGATIVE])
        q, T = self.V[RIGHT], self.V[THETA]
        rows, offset = self.rows, self.offset
        self.right = self.system.gather(
            lambda part: rows.weigh(part.start, part.stop, self._own(part, offset), q[part], T[part]), self.V
        )

    def _own(self, part: slice, offset: float) -> float:
        """lambda, or its change, of these rows."""
        return offset if part.start < self.tied else 0.0

    def _predict(self, dlambda: float) -> Prediction:
        """The second pass."""
        rows, system, V, found = self.rows, self.system, self.V2, {}

        def work(part: slice) -> None:
            start, stop, own = part.start, part.stop, self._own(part, dlambda)
            found[start] = rows.predict(start, stop, system.predicted[part], own, V[FIXED, part], V[SLOPE, part])

        fixed, slope = system.along(work, V)
        parts = [found[start] for start in sorted(found)]
        blocked, *products = zip(*parts, strict=True)
        return Prediction(max(blocked), [sum(each) for each in products], fixed, slope)

    def _direct(self, predictor: float, dlambda: float, mu: float, corrected: bool) -> float:
        """The third pass: the step towards mu; returns one over its longest length."""
        rows, system, blocked = self.rows, self.system, [SMALLEST_DIVISOR]

        def work(part: slice) -> None:
            before, df = system.predicted[part], system.df[part]
            own = (self._own(part, predictor), df, self._own(part, dlambda))
            blocked.append(rows.direct(part.start, part.stop, before, *own, mu, corrected))

        system.to(work)
        return max(blocked) if all(map(math.isfinite, blocked)) else math.nan

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def step(self) -> bool:
        """Take a step; False if rounding leaves no direction."""
        system, missing = self.system, self.total - float(self.beta[: self.tied].sum())
        try:
            system.factor(self.V[THETA])
        except np.linalg.LinAlgError:
            return False
        mu = self.mean_product()
        predictor = system.solve(self.right, missing)
        prediction = self._predict(predictor)
        if not math.isfinite(prediction.blocked):
            return False
        length = min(1.0, 1.0 / max(prediction.blocked, SMALLEST_DIVISOR))
        before, first, second = prediction.products
        predicted = before + length * (first + length * second)
        target = mu * min(1.0, max(0.0, predicted / before)) ** 3 if before > 0 else 0.0
        # A corrected step that is blocked at once, or increases the residual, could repeat: take the plain Newton step.
        for corrected, goal in ((True, target), (False, 0.5 * mu)):
            base, total = prediction.fixed if corrected else self.right
            by_mu, total_by_mu = prediction.slope
            dlambda = system.solve((base + goal * by_mu, total + goal * total_by_mu), missing)
            blocked = self._direct(predictor, dlambda, goal, corrected)
            changes = np.empty(len(self.beta))
            self.rows.changes(changes)
            more = system.refine(changes, missing)
            if more is not None:
                dlambda += more
                blocked = self._direct(predictor, dlambda, goal, corrected)
            if not (math.isfinite(blocked) and math.isfinite(dlambda)):
                return False
            length = min(1.0, STEP_TO_BOUND / blocked)
            for _ in range(CENTRED_MAX_CUTS):
                reached, least = self._products(length)
                if least >= CENTRED_MIN_SHARE * reached:
                    break
                length *= 0.8
            if length >= 0.1 and (reached < mu or mu == 0):
                break
        fine = self.rows.advance(system.df, length)
        self.rows.beta(self.beta)
        system.advance(length, self.beta)
        self.offset, self.length = self.offset + length * dlambda, length
        self.stalled_steps = self.stalled_steps + 1 if length <= TINY_STEP_LENGTH else 0
        self.n_iter += 1
        return bool(fine) and self.stalled_steps <= TINY_STEP_MAX_STEPS and self.n_iter < MAX_ITERATIONS


def linear_start(problem: PrimalProblem, f: Array, squares: float) -> PathStart:
    """The initial point of the path of a linear problem; ``f`` are its values without the intercept, and ``squares`` a
    typical squared length of a row."""
    classifies = problem.loss.classifies
    offset = 0.0 if classifies else -problem.best_intercept(f, 0.0)
    lower, upper, p = _variables(problem)
    # A typical distance of a target from the start is the scale of multipliers without a bound.
    spread = 1.0 if classifies else float(np.abs(problem.y - f + offset).mean()) or 1.0
    a = _inside(problem, lower, upper, 1.0 / squares, spread)
    values = f.copy()
    size = float(np.abs(values + p + problem.ridge * a - offset).mean()) or 1.0
    two_sided = bool(((problem.lower < 0) & (problem.upper > 0)).all()) or problem.total != 0
    level = EVEN_PRESCRIBED if problem.total else EVEN_EQUAL if two_sided else EVEN_ONE_SIDED
    return PathStart(lower, upper, p, a, problem.ridge, values, offset, problem.total, size, two_sided, level, len(f))


def _variables(problem: PrimalProblem) -> tuple[Array, Array, Array]:
    """lower, upper and p of all variables, of shape (sides, n)."""
    if problem.epsilon == 0:
        return problem.lower[None].copy(), problem.upper[None].copy(), -problem.y[None]
    nothing = np.zeros(problem.n_rows)
    return (
        np.stack([nothing, problem.lower]),
        np.stack([problem.upper, nothing]),
        np.stack([problem.epsilon - problem.y, -problem.epsilon - problem.y]),
    )


def _inside(problem: PrimalProblem, lower: Array, upper: Array, hard: float, spread: float) -> Array:
    """Initial variables: zero where it is inside, half of every other box (the row's weight times a typical residual
    without a bound, ``hard`` where slack is forbidden), with equal sums of both sides if the intercept is free; or the
    same part of every box if their sum is prescribed."""
    if problem.total:
        return problem.initial_multipliers()[None].copy()
    unbounded = np.where(np.isfinite(problem.weight), spread * problem.weight, hard)
    up = np.where(np.isfinite(upper), 0.5 * upper, unbounded)
    down = np.where(np.isfinite(lower), 0.5 * lower, -unbounded)
    a = np.where((lower < 0) & (upper > 0), 0.0, np.where(upper > 0, up, down))
    plus, minus = problem.balance(float(a[a > 0].sum()), float(a[a < 0].sum()))
    return np.where(a > 0, plus * a, minus * a)
