"""Interior points: one path, over the systems of kernel problems and of linear ones."""

from maxmargin.solvers.interior_point.barrier import Barrier

__all__ = ["Barrier"]
