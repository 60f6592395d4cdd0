"""What similarity is: kernels k(x, z), how to combine them, and how to tell whether a matrix is one."""

from __future__ import annotations

from maxmargin.kernels.algebra import Power, Product, Scaled, Sum
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.columns import Columns
from maxmargin.kernels.distance import RBF, Laplacian
from maxmargin.kernels.dot import Linear, Polynomial, Sigmoid
from maxmargin.kernels.feature_space import Centered, Normalized
from maxmargin.kernels.histogram import ChiSquared, HistogramIntersection
from maxmargin.kernels.objects.sets import Jaccard
from maxmargin.kernels.objects.strings import Mismatch, Spectrum
from maxmargin.kernels.objects.subsequence import Subsequence
from maxmargin.kernels.other import Callable, Precomputed
from maxmargin.kernels.registry import KERNELS, as_kernel
from maxmargin.kernels.validity import GramValidity, validate_gram

__all__ = [
    "KERNELS",
    "RBF",
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
    "Mismatch",
    "Normalized",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "as_kernel",
    "validate_gram",
]
