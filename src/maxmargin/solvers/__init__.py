"""Solvers: one file, one algorithm; ``SOLVERS`` is the list that estimators and tests go by."""

from maxmargin.problems.dual import DualProblem
from maxmargin.solvers.active_set import ActiveSet
from maxmargin.solvers.barrier import Barrier
from maxmargin.solvers.base import Solution, Solver
from maxmargin.solvers.coordinate_descent import CoordinateDescent
from maxmargin.solvers.crammer_singer import CrammerSinger
from maxmargin.solvers.qp import QP
from maxmargin.solvers.smo import SMO

__all__ = [
    "QP",
    "SMO",
    "SOLVERS",
    "ActiveSet",
    "Barrier",
    "CoordinateDescent",
    "CrammerSinger",
    "Solution",
    "Solver",
    "choose_solver",
]

SOLVERS: dict[str, Solver] = {
    solver.name: solver for solver in (ActiveSet(), SMO(), CoordinateDescent(), Barrier(), QP())
}


def choose_solver(name: str, problem: DualProblem) -> tuple[Solver, str]:
    """The solver of that name, or with ``"auto"`` the right one for the problem; and why."""
    if name != "auto":
        solver = SOLVERS[name]
        reason = solver.refuses(problem)
        if reason is not None:
            raise ValueError(f"solver={name!r} cannot solve this problem: {reason}.")
        return solver, "asked for"
    return SOLVERS["active_set"], "small working sets and matrix-free pricing suit every kernel"
