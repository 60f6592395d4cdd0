"""The kernel trick for nearest neighbours."""

from maxmargin.neighbors.estimators import KernelKNeighborsClassifier, KernelKNeighborsRegressor

__all__ = ["KernelKNeighborsClassifier", "KernelKNeighborsRegressor"]
