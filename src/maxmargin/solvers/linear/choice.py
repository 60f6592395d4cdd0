"""The solvers of the linear machine, and which of them serves a problem best."""

from __future__ import annotations

from maxmargin.runtime.validation import check_choice
from maxmargin.solvers.linear.barrier import Barrier
from maxmargin.solvers.linear.base import LinearSolver
from maxmargin.solvers.linear.coordinate_descent import CoordinateDescent
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.pegasos import Pegasos
from maxmargin.solvers.linear.problem import LinearProblem
from maxmargin.solvers.linear.qp import DualQP, PrimalQP
from maxmargin.solvers.linear.smo import SMO
from maxmargin.solvers.linear.stochastic import StochasticSubgradient
from maxmargin.solvers.linear.subgradient import Subgradient

LINEAR_SOLVERS: dict[str, LinearSolver] = {
    solver.name: solver
    for solver in (
        Barrier(),
        Newton(),
        CoordinateDescent(),
        SMO(),
        PrimalQP(),
        DualQP(),
        Subgradient(),
        StochasticSubgradient(),
        Pegasos(),
    )
}
FEW = 1500  # columns, or rows, whose square matrix is factored in a fraction of a second
FEW_SPARSE = 300  # rows of text, say, up to which that costs no more than going through them


def choose_linear_solver(
    solver: str | LinearSolver, problem: LinearProblem, learns: str | None = None
) -> tuple[LinearSolver, str]:
    """The solver asked for, or with ``"auto"`` the right one for the problem's shape; and why.

    The primal has d unknowns, the dual n. Where either is small, interior points solve its square system a few dozen
    times; where both are large, or a row uses few of many columns, going through the rows costs least.

    Parameters
    ----------
    solver : str or LinearSolver
    problem : LinearProblem
    learns : {"primal", "dual"}, optional
        Choose only among those that learn this.

    Returns
    -------
    solver : LinearSolver
    why : str

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear import LinearProblem, choose_linear_solver
    >>> problem = LinearProblem(np.zeros((10, 3)), np.ones(10), np.ones(10))
    >>> solver, why = choose_linear_solver("auto", problem)
    >>> solver.name, why
    ('barrier', 'the primal has 3 unknowns (columns), the dual 10 (rows): a 3 x 3 system an iteration')
    """
    if isinstance(solver, str) and solver == "auto":
        return _by_shape(problem, learns)
    chosen = (
        LINEAR_SOLVERS[check_choice("solver", solver, ["auto", *LINEAR_SOLVERS])] if isinstance(solver, str) else solver
    )
    reason = chosen.refuses(problem)
    if reason is not None:
        raise ValueError(f"solver={chosen.name!r} cannot solve this problem: {reason}.")
    if learns is not None and chosen.learns not in (learns, "both"):
        raise ValueError(
            f"dual={learns == 'dual'} asks for a solver of the {learns}, and solver={chosen.name!r} is one of the "
            f"{chosen.learns}: use dual='auto', or solver='auto'."
        )
    return chosen, "asked for"


def _by_shape(problem: LinearProblem, learns: str | None) -> tuple[LinearSolver, str]:
    n, d = problem.n_rows, problem.n_features
    unknowns = f"the primal has {d:,} unknown{'s' if d != 1 else ''} (columns), the dual {n:,} (rows)"
    small = min(n, d)
    if learns == "dual":
        return LINEAR_SOLVERS["coordinate_descent"], "dual=True: one multiplier at a time"
    newton = LINEAR_SOLVERS["newton"]
    if d <= FEW and n > d and learns != "dual" and newton.refuses(problem) is None:
        return newton, f"{unknowns}, and the squared hinge has a derivative: a {d:,} x {d:,} system a step"
    if learns == "primal":
        return LINEAR_SOLVERS["barrier"], f"dual=False: {unknowns}"
    if problem.design.sparse and d > n > FEW_SPARSE and not problem.hard_margin:
        return LINEAR_SOLVERS["coordinate_descent"], f"{unknowns}, and a row uses few columns: row by row"
    if small <= FEW or problem.hard_margin:
        return LINEAR_SOLVERS["barrier"], f"{unknowns}: a {small:,} x {small:,} system an iteration"
    return LINEAR_SOLVERS["coordinate_descent"], f"{unknowns}: too many for a square system, so row by row"
