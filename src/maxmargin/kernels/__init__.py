"""Kernels k(x, z), their combinations, and the validation of kernel matrices.

A module is loaded when one of its names is first used. The kernels that have a name are listed in ``registry`` alone.
"""

from maxmargin.kernels.registry import CLASSES
from maxmargin.runtime.exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, CLASSES.values())
