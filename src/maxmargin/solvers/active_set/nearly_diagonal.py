"""A problem whose kernel matrix is nearly diagonal: nearly every row is a support vector.

Working sets would compute every column of K several times. So its large entries S are held in memory
(:mod:`maxmargin.kernels.gram.sparse`), and with K = S + E the problem is

    minimise  1/2 a' S a + (p + E a0)' a    subject to the same constraints,

up to 1/2 (a - a0)' E (a - a0) and a constant. The first a0 is the start, any other one the solution of the step before
it, of which one pass over K gives E a0 = K a0 - S a0. E is small, so each step divides the error by a large factor, and
two or three reach the tolerance. The last one needs no pass if a sample of the rows shows that E (a - a0) no longer
matters. At the end, values of f that decide are computed in float64 as everywhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.kernels.gram.sparse import SparseGram, large_entries
from maxmargin.problems import optimality
from maxmargin.problems.dual import DualProblem
from maxmargin.runtime.control import Control, print_note
from maxmargin.runtime.threads import Halted
from maxmargin.runtime.validation import Array
from maxmargin.solvers.active_set.parts import FirstRun, Solve

FIRST_TOL, LAST_TOL = 10.0, 0.5  # tolerances of the first and of all other steps, in units of the goal
NEGLECTED_TOL = 0.005  # error of f on sampled rows, in units of the goal, that needs no other pass over K
SAMPLED_ROWS = 256
MAX_STEPS = 5


def solve_nearly_diagonal(
    problem: DualProblem, gram: Gram, solve: Solve, *, tol: float, control: Control, start: Array | None
) -> FirstRun | None:
    """Solve on the large entries of K, and correct for the others; None if K is not nearly diagonal, or if the run is
    to stop before anything was gained."""
    if control.max_iter >= 0:
        return None
    try:
        sparse = large_entries(gram, control.stop)
        return None if sparse is None else _steps(problem, gram, sparse, solve, tol, control, start)
    except Halted:
        return None


def _steps(
    problem: DualProblem,
    gram: Gram,
    sparse: SparseGram,
    solve: Solve,
    tol: float,
    control: Control,
    start: Array | None,
) -> FirstRun:
    silent = control.silent()
    goal, n_iter = tol * problem.tol_scale, 0
    rows = np.arange(0, problem.n_rows, max(1, problem.n_rows // SAMPLED_ROWS))
    a = problem.start() if start is None else problem.feasible(start)
    f = gram.times(problem.coefficients(a), single=True, stop=control.stop)
    on_sparse = sparse.times(problem.coefficients(a), single=True)
    accuracy = FIRST_TOL
    for step in range(MAX_STEPS):
        rest = f - on_sparse
        posed = replace(problem, linear=problem.linear + problem.sign * rest[problem.row])
        solution = solve(posed, sparse, tol=accuracy * tol, control=silent, start=a)
        n_iter += solution.n_iter
        change = problem.coefficients(solution.a - a)
        a, on_sparse = solution.a, sparse.times(problem.coefficients(solution.a), single=True)
        f = on_sparse + rest
        if control.callback is not None:
            n_support = np.count_nonzero(a)
            print_note(f"{control.seconds:8.2f} s  large kernel values: step {step + 1}, support vectors {n_support:,}")
        try:
            missing = gram.times(change, rows, single=True, stop=control.stop)
            missing -= sparse.times(change, rows, single=True)
            if accuracy <= 1 and float(np.max(np.abs(missing))) <= NEGLECTED_TOL * goal:
                break
            f = gram.times(problem.coefficients(a), single=True, stop=control.stop)
        except Halted:
            break
        accuracy = LAST_TOL
    note = f"K is nearly diagonal: solved on its large entries, corrected {step + 1} times for the others"
    if control.stop() is None:
        f = optimality.audited(problem, a, f, gram)
    return FirstRun(a, f, n_iter, note)
