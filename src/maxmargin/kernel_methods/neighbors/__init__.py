"""The kernel trick for nearest neighbours."""

from maxmargin.kernel_methods.neighbors.estimators import KernelKNeighborsClassifier, KernelKNeighborsRegressor

__all__ = ["KernelKNeighborsClassifier", "KernelKNeighborsRegressor"]
