"""Interior points: one method, for kernel problems (``dual_path``) and, in passes over rows, for linear ones."""

from maxmargin.solvers.interior_point.barrier import Barrier

__all__ = ["Barrier"]
