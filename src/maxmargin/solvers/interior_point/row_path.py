"""Interior points for the dual of a linear model (Mehrotra 1992): one path, two systems.

The method is that of :mod:`maxmargin.solvers.interior_point.dual_path`: rooms A = a - lower and B = upper - a, their
multipliers z and x, a predictor that tells how small mu can be made, and a corrector. Without a tube (eps = 0) a row
has one variable, a_i = beta_i; with a tube it has two, one per side, whose sum is beta_i:

    a in [0, upper_i] with p = eps - y_i,        a in [lower_i, 0] with p = -eps - y_i.

A Newton step asks for  (E X X'E' + R + D) da - 1 dlambda = r  over the variables, with D = z/A + x/B, where E gives
each variable its row. With theta = (R + D)^-1, the change df = X X'E'da of a row's value is all that its variables have
to know of each other:

    da = theta (r + dlambda - df),        so        E'da = q + T (dlambda - df),    q = E'theta r,    T = E'theta 1.

What is left is a system in n numbers q and T, whatever the sides are: :class:`RowSystem`. lambda is minus the
intercept. A step takes three passes over the rows (native/interior), and the d x d system reads X in the same passes:

    1.  theta of a row, then its part of X'T X, X'T 1, X'q and X'beta;
    2.  along the predictor: how far it gets, and q of the corrected step, which is linear in its mu;
    3.  along the corrected direction: da, dz, dx, and the longest step inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from maxmargin import _native
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import Array
from maxmargin.solvers.interior_point.dual_path import BACK, CENTRED, INSIDE, LIMIT, PATIENCE, SHORT

# No product of a room and its multiplier starts below so many means of all. Measured: where the rooms of all rows are
# equal, well above the mean takes fewest iterations; where sums are prescribed or boxes are one-sided, less.
EVEN_EQUAL, EVEN_PRESCRIBED, EVEN_ONE_SIDED = 5.0, 1.0, 0.1
NEAR_MU = 5.0  # mu of a start that is near the solution, in units of what its duality gap suggests
TINY = 1e-300


Pass = Callable[[slice], None]
Right = tuple[Array, float]  # what a system needs to know of q: a projection of it, and its sum


class RowSystem(Protocol):
    """The matrix X X', Newton systems with it, and the passes over the rows, which it may fuse with products.

    Attributes
    ----------
    f : array
        Values X w of the rows, as far as the system knows them; changed in place.
    predicted, df : array
        Changes of f along the predictor and along the last direction.
    """

    f: Array
    predicted: Array
    df: Array

    def begin(self, beta: Array) -> None:
        """The path starts at these multipliers."""
        ...

    def gather(self, work: Pass, V: Array) -> Right:
        """Run ``work`` over all rows, which fills T and q, the first two rows of V; the others are the positive and the
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
        """Mend the last direction, which changes the multipliers by so much; the change of dlambda, or None where that
        is not needed."""
        ...

    def advance(self, step: float, beta: Array) -> None:
        """This part of the last direction was taken, and led to these multipliers."""
        ...


class Path:
    """The iterates: :meth:`gather` the present one, evaluate it, then :meth:`step` to the next.

    Attributes
    ----------
    beta : array
        Multipliers strictly inside their boxes.
    offset : float
        lambda, the multiplier of sum beta = t: minus the intercept of the system's own columns.
    n_iter : int
    """

    def __init__(self, problem: PrimalProblem, system: RowSystem, squares: float) -> None:
        self.problem, self.system = problem, system
        n, classifies = problem.n_rows, problem.loss.classifies
        self.offset = 0.0 if classifies else -problem.settle(system.f, 0.0)
        self.lower, self.upper, self.p = _variables(problem)
        self.a = _inside(problem, self.lower, self.upper, 1.0 / squares, self._spread())
        self.rows = _native.InteriorRows(self.p, self.lower, self.upper, problem.ridge, self.a, system.f)
        self.beta = np.empty(n)
        self.rows.beta(self.beta)
        self.V, self.V2 = np.empty((4, n)), np.empty((2, n))
        self._begin(np.zeros(n) if classifies else system.f.copy())
        system.begin(self.beta)
        self.n_iter, self.waited = 0, 0

    def _spread(self) -> float:
        """A typical distance of a target from the start, by which multipliers without a bound are measured."""
        if self.problem.loss.classifies:
            return 1.0
        return float(np.abs(self.problem.y - self.system.f + self.offset).mean()) or 1.0

    def _begin(self, f: Array) -> None:
        """Multipliers of the bounds, from slopes at the values f."""
        problem = self.problem
        size = float(np.abs(f + self.p + problem.ridge * self.a - self.offset).mean()) or 1.0
        kept = self.system.f.copy()
        self.system.f[:] = f
        two_sided = bool(((problem.lower < 0) & (problem.upper > 0)).all()) or problem.total != 0
        self.rows.begin(self.offset, size, two_sided)
        self.system.f[:] = kept
        level = EVEN_PRESCRIBED if problem.total else EVEN_EQUAL if two_sided else EVEN_ONE_SIDED
        self.rows.even_out(level * self._mean_product(0.0)[0], two_sided)

    def begin_near(self, gap: float) -> None:
        """Multipliers that fulfil the conditions of every row at the system's values and the offset for a small mu:
        A z = B x = mu and z - x = slope; ``gap`` is the duality gap there. Only w = X'beta is left to be mended."""
        self.rows.centre(self.offset, NEAR_MU * gap / (2 * self.a.size))
        self.rows.beta(self.beta)

    def _mean_product(self, step: float) -> tuple[float, float]:
        total, count, least = self.rows.products(step)
        return total / max(1.0, count), least

    def gather(self) -> None:
        """The first pass."""
        np.maximum(self.beta, 0.0, out=self.V[2])
        np.minimum(self.beta, 0.0, out=self.V[3])
        q, T = self.V[1], self.V[0]
        rows, offset = self.rows, self.offset
        self.right = self.system.gather(
            lambda part: rows.weigh(part.start, part.stop, offset, q[part], T[part]), self.V
        )

    def _predict(self, dlambda: float) -> tuple[float, list[float], Right, Right]:
        """The second pass: what blocks the predictor, the products along it as a parabola, and q of the corrected step
        as a constant and a multiple of mu."""
        rows, system, V, found = self.rows, self.system, self.V2, {}

        def work(part: slice) -> None:
            start, stop = part.start, part.stop
            found[start] = rows.predict(start, stop, system.predicted[part], dlambda, V[0, part], V[1, part])

        fixed, slope = system.along(work, V)
        parts = [found[start] for start in sorted(found)]
        return max(part[0] for part in parts), [sum(part[k] for part in parts) for k in (1, 2, 3)], fixed, slope

    def _direct(self, predictor: float, dlambda: float, mu: float, corrected: bool) -> float:
        """The third pass: the step towards mu; what blocks it."""
        rows, system, blocked = self.rows, self.system, [TINY]

        def work(part: slice) -> None:
            before, df = system.predicted[part], system.df[part]
            blocked.append(rows.direct(part.start, part.stop, before, predictor, df, dlambda, mu, corrected))

        system.to(work)
        return max(blocked) if all(map(math.isfinite, blocked)) else math.nan

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def step(self) -> bool:
        """To the next point; False where rounding leaves no direction to go."""
        system, missing = self.system, self.problem.total - float(self.beta.sum())
        try:
            system.factor(self.V[0])
        except np.linalg.LinAlgError:
            return False
        mu = self._mean_product(0.0)[0]
        predictor = system.solve(self.right, missing)
        blocked, (before, first, second), fixed, slope = self._predict(predictor)
        if not math.isfinite(blocked):
            return False
        length = min(1.0, 1.0 / max(blocked, TINY))
        predicted = before + length * (first + length * second)
        target = mu * min(1.0, max(0.0, predicted / before)) ** 3 if before > 0 else 0.0
        # A corrected step that is blocked at once, or leads away, could do so for ever: Newton's own is taken instead.
        for corrected, goal in ((True, target), (False, 0.5 * mu)):
            base, total = fixed if corrected else self.right
            dlambda = system.solve((base + goal * slope[0], total + goal * slope[1]), missing)
            blocked = self._direct(predictor, dlambda, goal, corrected)
            changes = np.empty(len(self.beta))
            self.rows.changes(changes)
            more = system.refine(changes, missing)
            if more is not None:
                dlambda += more
                blocked = self._direct(predictor, dlambda, goal, corrected)
            if not (math.isfinite(blocked) and math.isfinite(dlambda)):
                return False
            length = min(1.0, INSIDE / blocked)
            for _ in range(BACK):
                reached, least = self._mean_product(length)
                if least >= CENTRED * reached:
                    break
                length *= 0.8
            if length >= 0.1 and (reached < mu or mu == 0):
                break
        fine = self.rows.advance(system.df, length)
        self.rows.beta(self.beta)
        system.advance(length, self.beta)
        self.offset += length * dlambda
        self.waited = self.waited + 1 if length <= SHORT else 0
        self.n_iter += 1
        return bool(fine) and self.waited <= PATIENCE and self.n_iter < LIMIT


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
    """Variables to begin with: zero where it is inside, half of every other box (the row's weight times a typical
    residual where there is no bound, ``hard`` where slack is forbidden), the heavier side made as light as the other
    where the intercept is free; and the same part of every box where their sum is prescribed."""
    if problem.total:
        return problem.first()[None].copy()
    unbounded = np.where(np.isfinite(problem.weight), spread * problem.weight, hard)
    up = np.where(np.isfinite(upper), 0.5 * upper, unbounded)
    down = np.where(np.isfinite(lower), 0.5 * lower, -unbounded)
    a = np.where((lower < 0) & (upper > 0), 0.0, np.where(upper > 0, up, down))
    plus, minus = problem.balance(float(a[a > 0].sum()), float(a[a < 0].sum()))
    return np.where(a > 0, plus * a, minus * a)
