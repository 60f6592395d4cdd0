"""Grid search that shares its work: models that choose their own parameters by cross-validation."""

from maxmargin.model_selection.estimators import SVCCV, SVRCV, NuSVCCV
from maxmargin.model_selection.grid import Range
from maxmargin.model_selection.linear import LinearSVCCV
from maxmargin.model_selection.one_class import OneClassSVMCV

__all__ = ["SVCCV", "SVRCV", "LinearSVCCV", "NuSVCCV", "OneClassSVMCV", "Range"]
