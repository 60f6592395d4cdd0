from .active_set import ActiveSet
from .base import KernelSolver, LinearSolver, Solver
from .coordinate_descent import CoordinateDescent
from .crammer_singer import CrammerSinger
from .interior_point import Barrier
from .l1 import L1CoordinateDescent
from .newton import Newton
from .qp import DualQP, PrimalQP
from .registry import SOLVERS, choose_linear_solver, choose_solver, solvers_for
from .run import LinearSolution, Start
from .smo import SMO
from .solution import Solution, Status
from .teaching import Pegasos, StochasticSubgradient, Subgradient

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
