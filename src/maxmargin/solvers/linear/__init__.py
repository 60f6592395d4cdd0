"""The linear machine: its problem, its solvers and its certificate.

``LINEAR_SOLVERS`` is the list that :class:`~maxmargin.svm.LinearSVC` and the tests go by: one file, one algorithm. Each
entry is a solver with its default options; ``Pegasos(batch_size=16)`` is one with others.
"""

from __future__ import annotations

from maxmargin.solvers.linear.barrier import Barrier
from maxmargin.solvers.linear.base import LinearSolution, LinearSolver, Start
from maxmargin.solvers.linear.certificate import LinearCertificate, certify
from maxmargin.solvers.linear.choice import LINEAR_SOLVERS, choose_linear_solver
from maxmargin.solvers.linear.coordinate_descent import CoordinateDescent
from maxmargin.solvers.linear.intercept import best_intercept
from maxmargin.solvers.linear.l1 import L1Problem, certify_l1
from maxmargin.solvers.linear.l1_coordinate_descent import L1CoordinateDescent
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.pegasos import Pegasos
from maxmargin.solvers.linear.problem import LinearProblem
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
    "LinearCertificate",
    "LinearProblem",
    "LinearSolution",
    "LinearSolver",
    "Newton",
    "Pegasos",
    "PrimalQP",
    "Start",
    "StochasticSubgradient",
    "Subgradient",
    "best_intercept",
    "certify",
    "certify_l1",
    "choose_linear_solver",
]
