"""What similarity is: kernels k(x, z), how to combine them, and how to tell whether a matrix is one."""

from __future__ import annotations

from maxmargin.kernels.algebra import Power, Product, Scaled, Sum
from maxmargin.kernels.bandwidth import resolve_gamma
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.columns import Columns
from maxmargin.kernels.distance import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from maxmargin.kernels.dot import ArcCosine, Linear, Polynomial, Sigmoid, Tanimoto
from maxmargin.kernels.feature_space import Centered, Normalized
from maxmargin.kernels.histogram import ChiSquared, HistogramIntersection
from maxmargin.kernels.objects.sets import Jaccard
from maxmargin.kernels.objects.strings import Mismatch, Spectrum
from maxmargin.kernels.objects.subsequence import Subsequence
from maxmargin.kernels.objects.weighted_degree import WeightedDegree
from maxmargin.kernels.other import Callable, Precomputed
from maxmargin.kernels.registry import KERNELS, as_kernel
from maxmargin.kernels.validity import GramValidity, validate_gram

__all__ = [
    "KERNELS",
    "RBF",
    "ArcCosine",
    "Callable",
    "Centered",
    "ChiSquared",
    "Columns",
    "GramValidity",
    "HistogramIntersection",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Mismatch",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "Tanimoto",
    "WeightedDegree",
    "as_kernel",
    "resolve_gamma",
    "validate_gram",
]
