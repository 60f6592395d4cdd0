"""The L1 penalty, by columns: coordinate descent and Newton steps on a working set of them."""

from maxmargin.solvers.l1.coordinate_descent import L1CoordinateDescent

__all__ = ["L1CoordinateDescent"]
