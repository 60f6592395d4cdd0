from .estimators import SVCCV, SVRCV, NuSVCCV
from .grid import Range as Range
from .linear import LinearSVCCV
from .one_class import OneClassSVMCV

__all__ = ["SVCCV", "SVRCV", "LinearSVCCV", "NuSVCCV", "OneClassSVMCV"]
