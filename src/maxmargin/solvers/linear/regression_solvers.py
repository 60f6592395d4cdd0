"""The solvers of linear regression, and the choice among them.

``REGRESSION_SOLVERS`` is the list that :class:`~maxmargin.svm.linear.regression.LinearSVR`, the linear one-class
machine and the tests go by: one file, one algorithm.
"""

from __future__ import annotations

from typing import Any

from maxmargin.runtime.validation import check_choice
from maxmargin.solvers.linear.regression import RegressionProblem
from maxmargin.solvers.linear.regression_barrier import TubeBarrier
from maxmargin.solvers.linear.regression_descent import TubeDescent
from maxmargin.solvers.linear.regression_newton import TubeNewton
from maxmargin.solvers.linear.regression_run import RegressionSolver

REGRESSION_SOLVERS: dict[str, RegressionSolver] = {
    solver.name: solver for solver in (TubeBarrier(), TubeNewton(), TubeDescent())
}
FEW = 1500  # columns, or rows, whose square matrix is factored in a fraction of a second


def check_regression_solver(solver: Any) -> None:
    """A name of the list, or an object that can solve."""
    if isinstance(solver, str):
        check_choice("solver", solver, ["auto", *REGRESSION_SOLVERS], ", or a solver object")
    elif isinstance(solver, type) or not all(hasattr(solver, part) for part in ("name", "solve", "refuses")):
        raise TypeError(f"solver must be a name or a solver object, such as TubeDescent(); got {solver!r}.")


def choose_regression_solver(
    solver: str | RegressionSolver, problem: RegressionProblem, learns: str | None = None
) -> tuple[RegressionSolver, str]:
    """The solver asked for, or with ``"auto"`` the right one for the problem's shape and loss; and why.

    The primal has d unknowns, the dual n. Where either is small, interior points (or with the squared loss Newton
    steps) solve its square system a few times; where both are large, going through the rows costs least.

    Parameters
    ----------
    solver : str or RegressionSolver
    problem : RegressionProblem
    learns : {"primal", "dual"}, optional
        Choose only among those that learn this.

    Returns
    -------
    solver : RegressionSolver
    why : str

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.regression import RegressionProblem
    >>> from maxmargin.solvers.linear.regression_solvers import choose_regression_solver
    >>> problem = RegressionProblem(np.zeros((10, 3)), np.ones(10), np.ones(10), np.ones(10))
    >>> solver, why = choose_regression_solver("auto", problem)
    >>> solver.name, why
    ('barrier', 'the primal has 3 unknowns (columns), the dual 10 (rows): a 3 x 3 system an iteration')
    """
    if isinstance(solver, str) and solver == "auto":
        return _by_shape(problem, learns)
    chosen = REGRESSION_SOLVERS[solver] if isinstance(solver, str) else solver
    reason = chosen.refuses(problem)
    if reason is not None:
        raise ValueError(f"solver={chosen.name!r} cannot solve this problem: {reason}.")
    if learns is not None and chosen.learns not in (learns, "both"):
        raise ValueError(
            f"dual={learns == 'dual'} asks for a solver of the {learns}, and solver={chosen.name!r} is one of the "
            f"{chosen.learns}: use dual='auto', or solver='auto'."
        )
    return chosen, "asked for"


def _by_shape(problem: RegressionProblem, learns: str | None) -> tuple[RegressionSolver, str]:
    n, d = problem.n_rows, problem.n_features
    unknowns = f"the primal has {d:,} unknown{'s' if d != 1 else ''} (columns), the dual {n:,} (rows)"
    if learns == "dual":
        return REGRESSION_SOLVERS["coordinate_descent"], "dual=True: one multiplier at a time"
    if problem.squared and (d <= FEW and n > d):
        why = f"{unknowns}, and the squared loss has a derivative: a {d:,} x {d:,} system a step"
        return REGRESSION_SOLVERS["newton"], why
    small = min(n, d)
    if learns == "primal":
        return REGRESSION_SOLVERS["barrier"], f"dual=False: {unknowns}"
    if small <= FEW:
        return REGRESSION_SOLVERS["barrier"], f"{unknowns}: a {small:,} x {small:,} system an iteration"
    return REGRESSION_SOLVERS["coordinate_descent"], f"{unknowns}: too many for a square system, so row by row"
