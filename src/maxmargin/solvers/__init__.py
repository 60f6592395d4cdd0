"""Solvers: one file, one algorithm; ``SOLVERS`` is the list that estimators, tests and documentation go by."""

from maxmargin.runtime.control import Status
from maxmargin.solvers.active_set import ActiveSet
from maxmargin.solvers.base import KernelSolver, LinearSolver, Solution, Solver
from maxmargin.solvers.coordinate_descent import CoordinateDescent
from maxmargin.solvers.crammer_singer import CrammerSinger
from maxmargin.solvers.interior_point import Barrier
from maxmargin.solvers.l1 import L1CoordinateDescent
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.qp import DualQP, PrimalQP
from maxmargin.solvers.registry import SOLVERS, choose_linear_solver, choose_solver, solvers_for
from maxmargin.solvers.run import LinearSolution, Start
from maxmargin.solvers.smo import SMO
from maxmargin.solvers.teaching import Pegasos, StochasticSubgradient, Subgradient

__all__ = [
    "SMO",
    "SOLVERS",
    "ActiveSet",
    "Barrier",
    "CoordinateDescent",
    "CrammerSinger",
    "DualQP",
    "KernelSolver",
    "L1CoordinateDescent",
    "LinearSolution",
    "LinearSolver",
    "Newton",
    "Pegasos",
    "PrimalQP",
    "Solution",
    "Solver",
    "Start",
    "Status",
    "StochasticSubgradient",
    "Subgradient",
    "choose_linear_solver",
    "choose_solver",
    "solvers_for",
]
