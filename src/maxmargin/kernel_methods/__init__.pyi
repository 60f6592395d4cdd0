from . import feature_maps as feature_maps
from .discriminant import KernelDiscriminantAnalysis
from .k_means import KernelKMeans
from .neighbors import KernelKNeighborsClassifier, KernelKNeighborsRegressor
from .pca import KernelPCA
from .ridge import BasisRegression, KernelRidge, KernelRidgeCV
from .two_sample import MMDResult, mmd_test

__all__ = [
    "BasisRegression",
    "KernelDiscriminantAnalysis",
    "KernelKMeans",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsRegressor",
    "KernelPCA",
    "KernelRidge",
    "KernelRidgeCV",
    "MMDResult",
    "mmd_test",
]
