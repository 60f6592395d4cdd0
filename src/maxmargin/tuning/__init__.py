"""Grid search that shares its work: machines that choose their own parameters by cross-validation."""

from maxmargin.tuning.estimators import SVCCV, SVRCV, NuSVCCV
from maxmargin.tuning.grid import Range

__all__ = ["SVCCV", "SVRCV", "NuSVCCV", "Range"]
