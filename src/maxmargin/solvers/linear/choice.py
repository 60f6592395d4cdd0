"""The solvers of linear models, and which of them serves a problem best.

``LINEAR_SOLVERS`` is the one registry: a solver says which losses it accepts, and refuses what it cannot take with the
remedy. Classification, regression and one-class choose from it; ``solvers_for`` are those that accept a loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import check_choice
from maxmargin.solvers.linear.barrier import Barrier
from maxmargin.solvers.linear.base import LinearSolver
from maxmargin.solvers.linear.coordinate_descent import CoordinateDescent
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.pegasos import Pegasos
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
SYSTEM_MAX_SIZE = 1500  # columns, or rows, whose square matrix is factored in a fraction of a second
SPARSE_SYSTEM_MAX_ROWS = 300  # of text, say: beyond, going through the rows costs less than the square matrix


def solvers_for(losses: Iterable[str]) -> list[str]:
    """Names of the solvers that accept all of these losses, or at least one of several.

    Examples
    --------
    >>> from maxmargin.solvers.linear.choice import solvers_for
    >>> solvers_for(["pinball"])
    ['barrier', 'coordinate_descent']
    """
    wanted = set(losses)
    return [name for name, solver in LINEAR_SOLVERS.items() if wanted & set(solver.losses)]


def check_linear_solver(solver: Any, losses: Iterable[str]) -> None:
    """A name of the registry that accepts one of these losses, or an object that can solve."""
    if isinstance(solver, str):
        check_choice("solver", solver, ["auto", *solvers_for(losses)], ", or a solver object")
    elif isinstance(solver, type) or not all(hasattr(solver, part) for part in ("name", "solve", "refuses")):
        example = "Pegasos" if "hinge" in set(losses) else "CoordinateDescent"
        raise TypeError(
            f"solver must be a name or an object of maxmargin.solvers.linear, such as {example}(); got {solver!r}."
        )


def choose_linear_solver(
    solver: str | LinearSolver, problem: PrimalProblem, learns: str | None = None
) -> tuple[LinearSolver, str]:
    """The solver asked for, or with ``"auto"`` the right one for the problem's shape; and why.

    The primal has d unknowns, the dual n. Where either is small, interior points (with a squared loss and few columns
    Newton steps) solve its square system a few times; where both are large, or a row uses few of many columns, going
    through the rows costs least.

    Parameters
    ----------
    solver : str or LinearSolver
    problem : PrimalProblem
    learns : {"primal", "dual"}, optional
        A preference among solvers that serve the shape equally well; both have the same solution. A solver asked for by
        name must learn this.

    Returns
    -------
    solver : LinearSolver
    why : str

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.primal import PrimalProblem
    >>> from maxmargin.solvers.linear import choose_linear_solver
    >>> problem = PrimalProblem(np.zeros((10, 3)), np.ones(10), np.ones(10))
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


def _by_shape(problem: PrimalProblem, learns: str | None) -> tuple[LinearSolver, str]:
    n, d = problem.n_rows, problem.n_features
    unknowns = f"the primal has {d:,} unknown{'s' if d != 1 else ''} (columns), the dual {n:,} (rows)"
    small = min(n, d)
    descent, barrier, newton = (LINEAR_SOLVERS[name] for name in ("coordinate_descent", "barrier", "newton"))
    if learns == "dual" and not problem.hard_margin:
        return descent, "dual=True: one multiplier at a time"
    if d <= SYSTEM_MAX_SIZE and n > d and newton.refuses(problem) is None:
        return newton, f"{unknowns}, and the {_named(problem)} has a derivative: a {d:,} x {d:,} system a step"
    if problem.design.sparse and d > n > SPARSE_SYSTEM_MAX_ROWS and not problem.hard_margin:
        return descent, f"{unknowns}, and a row uses few columns: row by row{_hint(learns)}"
    if small <= SYSTEM_MAX_SIZE or problem.hard_margin:
        return barrier, f"{unknowns}: a {small:,} x {small:,} system an iteration"
    return descent, f"{unknowns}: too many for a square system, so row by row{_hint(learns)}"


def _named(problem: PrimalProblem) -> str:
    return "squared hinge" if problem.loss.classifies else "squared loss"


def _hint(learns: str | None) -> str:
    """dual=False asks for the primal's w, which every solver gives; none of the primal's would be as fast here."""
    return "; dual=False has the same solution" if learns == "primal" else ""
