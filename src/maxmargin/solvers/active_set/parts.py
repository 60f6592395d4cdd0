"""A problem that falls apart: sets of rows between which every kernel value is zero.

Only the equality ties such parts together. Given its multiplier, the offset o, each part is a problem of its own,

    minimise  1/2 a' Q a + (p - o)' a    subject to  lower <= a <= upper,

and the sum S(o) of all solutions rises with o: the solution of the whole is where S(o) is the total. The offset of a
sample of the rows is a first guess, secants find it in a few steps, and every step begins at the variables of the last
one, with a tolerance that shrinks with the steps. At last each part gets an equality of its own, with sums that add up
to the total; the offsets of the parts then differ by less than the tolerance. Values of f that decide are computed in
float64 there, part by part: a part has fewer columns in which its rows differ than the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, print_note
from maxmargin.runtime.validation import Array
from maxmargin.solvers.solution import Solution

PARTS_MIN_ROWS = 10_000  # a smaller problem is solved as a whole
JOINED_MIN_ROWS = 1000  # smaller parts are solved together
LARGEST_PART_MAX_SHARE = 0.7  # of the rows: a problem with a larger part does not fall apart
SAMPLE_MAX_ROWS = 8000
SAMPLE_STRIDE_MIN = 4  # rows of the problem for each one of the sample
FIRST_TOL = 10.0  # tolerance of the first step, in units of the goal
PART_TOL = 0.5  # tolerance of the last step
AUDITED_TOL = 0.75  # violation of a part in float64, in units of the goal, with which the last step is done
AUDITS_MAX = 3  # times that a part of the last step is solved on from where float64 values miss it
STEP_SHARE = 0.2  # tolerance of a step, relative to the last change of the offset
SEPARATION = 2.0  # of the offsets of two steps that tell a slope, in units of their tolerances
OFFSET_TOL = 0.5  # error of the offset, in units of the goal, at which the search ends
MAX_STEPS = 8
INDEPENDENT_SHARE = 0.15  # guess of S'(o) = 1' inverse(K of the free variables) 1, relative to their number
REPORT_EVERY_SECONDS = 1.0
WORK_POWER = 1.7  # how the time of a part grows with its rows

Solve = Callable[..., Solution]  # as that of a solver


@dataclass
class FirstRun:
    """Variables of a problem that was solved in another way than by working sets of all variables, and f = K @
    coefficients in float64 wherever it decides (None if it has to be computed)."""

    a: Array
    f: Array | None
    n_iter: int
    note: str

    def meets(self, problem: DualProblem, goal: float) -> bool:
        """Whether the violation is known to be at most ``goal``."""
        return self.f is not None and optimality.violation(problem, self.a, problem.gradient(self.f, self.a)) <= goal


def falls_apart(problem: DualProblem, gram: Gram, control: Control) -> list[Array] | None:
    """Sets of rows that can be solved apart, the largest first; None if the problem is one whole."""
    tied = problem.kind in ("c_svc", "eps_svr") and len(problem.totals) == 1
    if not tied or problem.n_rows < PARTS_MIN_ROWS or control.max_iter >= 0:
        return None
    if problem.hard_margin or problem.hard_tube:
        return None
    parts = _joined(gram.parts())
    return parts if len(parts[0]) <= LARGEST_PART_MAX_SHARE * problem.n_rows else None


def _joined(parts: list[Array]) -> list[Array]:
    """The parts, the largest first, with small ones joined: every problem costs something, however small it is."""
    joined: list[Array] = []
    waiting: list[Array] = []
    for rows in sorted(parts, key=len):
        waiting.append(rows)
        if sum(map(len, waiting)) >= JOINED_MIN_ROWS:
            joined.append(np.sort(np.concatenate(waiting)))
            waiting = []
    if waiting:
        joined.append(np.sort(np.concatenate(waiting)))
    return sorted(joined, key=len, reverse=True)


def part_of(problem: DualProblem, rows: Array, *, total: float = 0.0, offset: float | None = None) -> DualProblem:
    """The problem of some of the rows: with an equality of its own, or given the offset without one."""
    part, ids = problem.restricted(rows)
    if offset is None:
        return replace(part, totals=np.array([total]))
    ungrouped, no_totals = np.full(len(ids), -1), np.empty(0)
    return replace(part, linear=part.linear - offset, group=ungrouped, totals=no_totals, fit_intercept=False)


def solve_parts(
    problem: DualProblem,
    gram: Gram,
    parts: list[Array],
    solve: Solve,
    *,
    tol: float,
    control: Control,
    start: Array | None,
) -> FirstRun:
    """Solve the parts, and find the offset at which their variables have the right sum; see the module's text."""
    search = _Search(problem, gram, parts, solve, tol, control)
    search.a = problem.start() if start is None else problem.feasible(start)
    offset = search.offset_of_sample() if start is None else search.offset_of_start()
    total, goal = float(problem.totals[0]), tol * problem.tol_scale
    accuracy, earlier, line = (FIRST_TOL if start is None else 1.0) * goal, None, None
    steps = 0
    while steps < MAX_STEPS and search.run(offset, accuracy / problem.tol_scale, steps):
        steps += 1
        here = _Point(offset, float(search.a.sum()) - total, accuracy, search.a.copy())
        if earlier is None or abs(here.offset - earlier.offset) > SEPARATION * max(here.accuracy, earlier.accuracy):
            line = _Line.through(earlier, here) or line
            earlier = here
        free = np.count_nonzero((here.a > problem.lower) & (here.a < problem.upper))
        slope = INDEPENDENT_SHARE * free if line is None else line.slope
        if not slope > 0:
            break
        step = -here.excess / slope
        if abs(step) <= OFFSET_TOL * goal and accuracy <= PART_TOL * goal:
            break
        offset += step
        accuracy = max(PART_TOL * goal, min(accuracy, STEP_SHARE * abs(step)))
    f = None
    if control.stop() is None and line is not None:
        done = search.run_tied(float(search.a.sum()) - total, line.direction, PART_TOL * tol)
        f = search.f if done else None
    note = f"{len(parts):,} parts out of each other's reach solved apart, their offset in {steps} steps"
    return FirstRun(problem.feasible(search.a), f, search.n_iter, note)


@dataclass(frozen=True)
class _Point:
    """The solution at one offset, and by how much its sum exceeds the total."""

    offset: float
    excess: float
    accuracy: float
    a: Array


@dataclass(frozen=True)
class _Line:
    """How variables change with the offset: by two points that are further apart than their errors."""

    slope: float  # of the sum
    direction: Array  # change of the variables by which their sum changes by 1

    @classmethod
    def through(cls, one: _Point | None, other: _Point) -> _Line | None:
        if one is None or not (other.excess - one.excess) * (other.offset - one.offset) > 0:
            return None
        rise = other.excess - one.excess
        return cls(rise / (other.offset - one.offset), (other.a - one.a) / rise)


class _Search:
    """What the steps share: the variables so far, counts, and the clock."""

    a: Array

    def __init__(
        self, problem: DualProblem, gram: Gram, parts: list[Array], solve: Solve, tol: float, control: Control
    ) -> None:
        self.problem, self.gram, self.parts, self.solve = problem, gram, parts, solve
        self.tol, self.control, self.n_iter = tol, control, 0
        self.f = np.zeros(problem.n_rows)
        part_of_row = np.empty(problem.n_rows, np.int64)
        for k, rows in enumerate(parts):
            part_of_row[rows] = k
        self.ids = [np.flatnonzero(part_of_row[problem.row] == k) for k in range(len(parts))]
        self.silent = control.silent()

    def _solve(
        self, part: DualProblem, rows: Array, tol: float, start: Array | None, *, audit: bool = False
    ) -> Solution:
        gram = self.gram.subset(rows)
        gram.budget = self.gram.budget
        for _ in range(AUDITS_MAX if audit else 1):
            solution = self.solve(part, gram, tol=tol, control=self.silent, start=start)
            self.n_iter += solution.n_iter
            if audit:
                solution = replace(solution, f=optimality.audited(part, solution.a, solution.f, gram))
                violation = optimality.violation(part, solution.a, part.gradient(solution.f, solution.a))
                if violation <= AUDITED_TOL * self.tol * part.tol_scale or self.control.stop() is not None:
                    break
                start = solution.a
        self.gram.evaluations += gram.evaluations
        return solution

    def offset_of_sample(self) -> float:
        """The offset of a part of the rows that lie as at random in canonical order."""
        n = self.problem.n_rows
        rows = np.arange(0, n, max(SAMPLE_STRIDE_MIN, n // SAMPLE_MAX_ROWS))
        part = part_of(self.problem, rows, total=float(self.problem.totals[0]) * len(rows) / n)
        solution = self._solve(part, rows, FIRST_TOL * self.tol, None)
        return float(optimality.offsets(part, solution.a, part.gradient(solution.f, solution.a))[0])

    def offset_of_start(self) -> float:
        f = self.gram.times(self.problem.coefficients(self.a), single=True)
        return float(optimality.offsets(self.problem, self.a, self.problem.gradient(f, self.a))[0])

    def run(self, offset: float, tol: float, count: int) -> bool:
        """All parts at this offset, from where they are; False if the run was stopped."""
        return self._each(lambda k: part_of(self.problem, self.parts[k], offset=offset), tol, f"step {count + 1}")

    def run_tied(self, excess: float, direction: Array, tol: float) -> bool:
        """All parts, each with a sum of its own, so that the sums add up to the total: what exceeds it is taken from
        them in the proportion in which they follow the offset."""
        follow = np.array([max(0.0, float(direction[ids].sum())) for ids in self.ids])
        excesses = excess * follow / follow.sum()

        def pose(k: int) -> DualProblem:
            total = float(self.a[self.ids[k]].sum() - excesses[k])
            lowest, highest = (float(bound[self.ids[k]].sum()) for bound in (self.problem.lower, self.problem.upper))
            return part_of(self.problem, self.parts[k], total=min(max(total, lowest), highest))

        return self._each(pose, tol, "right sums", audit=True)

    def _each(self, pose: Callable[[int], DualProblem], tol: float, name: str, *, audit: bool = False) -> bool:
        work = np.cumsum([float(len(rows)) ** WORK_POWER for rows in self.parts])
        started = reported = self.control.seconds
        for k, (rows, ids) in enumerate(zip(self.parts, self.ids, strict=True)):
            if self.control.stop() is not None:
                return False
            solution = self._solve(pose(k), rows, tol, self.a[ids], audit=audit)
            self.a[ids], self.f[rows] = solution.a, solution.f
            now = self.control.seconds
            if self.control.callback is not None and (
                now - reported > REPORT_EVERY_SECONDS or k == len(self.parts) - 1
            ):
                reported, left = now, (now - started) * (work[-1] / work[k] - 1)
                print_note(
                    f"{now:8.2f} s  {name}: part {k + 1} of {len(self.parts)}, "
                    f"support vectors {np.count_nonzero(self.a):,}, {left:.0f} s left"
                )
        return self.control.stop() is None
