"""The linear machine: its problem, its solvers and its certificate.

``LINEAR_SOLVERS`` is the list that :class:`~maxmargin.svm.LinearSVC` and the tests go by: one file, one algorithm. Each
entry is a solver with its default options; ``Pegasos(batch_size=16)`` is one with others.
"""

from __future__ import annotations

from maxmargin.linear.barrier import Barrier
from maxmargin.linear.base import LinearSolution, LinearSolver, Start
from maxmargin.linear.certificate import LinearCertificate, certify
from maxmargin.linear.choice import LINEAR_SOLVERS, choose_linear_solver
from maxmargin.linear.coordinate_descent import CoordinateDescent
from maxmargin.linear.intercept import best_intercept
from maxmargin.linear.l1 import L1Problem, certify_l1
from maxmargin.linear.l1_coordinate_descent import L1CoordinateDescent
from maxmargin.linear.newton import Newton
from maxmargin.linear.pegasos import Pegasos
from maxmargin.linear.problem import LinearProblem
from maxmargin.linear.qp import DualQP, PrimalQP
from maxmargin.linear.smo import SMO
from maxmargin.linear.stochastic import StochasticSubgradient
from maxmargin.linear.subgradient import Subgradient

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
