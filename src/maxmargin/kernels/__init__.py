"""What similarity is: kernels k(x, z), how to combine them, and how to tell whether a matrix is one."""

from __future__ import annotations

from .algebra import Power, Product, Scaled, Sum
from .base import Kernel
from .columns import Columns
from .distance import RBF, Laplacian
from .dot import Linear, Polynomial, Sigmoid
from .feature_space import Centered, Normalized
from .histogram import ChiSquared, HistogramIntersection
from .other import Callable, Precomputed
from .registry import KERNELS, as_kernel
from .sets import Jaccard
from .strings import Mismatch, Spectrum
from .subsequence import Subsequence
from .validity import GramValidity, validate_gram

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
