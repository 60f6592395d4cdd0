"""The default solver for kernels: working sets, pair steps and Newton steps on them, and small problems in one call."""

from maxmargin.solvers.active_set.solver import ActiveSet

__all__ = ["ActiveSet"]
