"""Slow methods that are easy to understand: sub-gradients, one random row at a time, the perceptron."""

from maxmargin.solvers.teaching.stochastic import Pegasos, StochasticSubgradient
from maxmargin.solvers.teaching.subgradient import Subgradient

__all__ = ["Pegasos", "StochasticSubgradient", "Subgradient"]
