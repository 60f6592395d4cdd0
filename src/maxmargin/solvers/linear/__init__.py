"""Linear models: their solvers, and which of them serves a problem best.

``LINEAR_SOLVERS`` is the registry that :class:`~maxmargin.svm.LinearSVC`, the linear regression and one-class models
and the tests go by: one file, one algorithm. Each entry is a solver with its default options;
``Pegasos(batch_size=16)`` is one with others. The problem is :class:`~maxmargin.problems.primal.PrimalProblem`.
"""

from __future__ import annotations

from maxmargin.problems.losses import best_intercept
from maxmargin.problems.primal import PrimalProblem
from maxmargin.problems.primal_certificate import PrimalCertificate, certify
from maxmargin.solvers.linear.barrier import Barrier
from maxmargin.solvers.linear.base import LinearSolution, LinearSolver, Start
from maxmargin.solvers.linear.choice import LINEAR_SOLVERS, choose_linear_solver
from maxmargin.solvers.linear.coordinate_descent import CoordinateDescent
from maxmargin.solvers.linear.l1 import L1Problem, certify_l1
from maxmargin.solvers.linear.l1_coordinate_descent import L1CoordinateDescent
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.pegasos import Pegasos
from maxmargin.solvers.linear.qp import DualQP, PrimalQP
from maxmargin.solvers.linear.smo import SMO
from maxmargin.solvers.linear.stochastic import StochasticSubgradient
from maxmargin.solvers.linear.subgradient import Subgradient

__all__ = [
    "LINEAR_SOLVERS",
    "SMO",
    "Barrier",
    "CoordinateDescent",
    "DualQP",
    "L1CoordinateDescent",
    "L1Problem",
    "LinearSolution",
    "LinearSolver",
    "Newton",
    "Pegasos",
    "PrimalCertificate",
    "PrimalProblem",
    "PrimalQP",
    "Start",
    "StochasticSubgradient",
    "Subgradient",
    "best_intercept",
    "certify",
    "certify_l1",
    "choose_linear_solver",
]
