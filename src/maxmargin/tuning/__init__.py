"""Grid search that shares its work: machines that choose their own parameters by cross-validation."""

from maxmargin.tuning.estimators import SVCCV, SVRCV, NuSVCCV
from maxmargin.tuning.grid import Range
from maxmargin.tuning.linear import LinearSVCCV
from maxmargin.tuning.outliers import OneClassSVMCV

__all__ = ["SVCCV", "SVRCV", "LinearSVCCV", "NuSVCCV", "OneClassSVMCV", "Range"]
