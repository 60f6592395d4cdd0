from .algebra import Power, Product, Scaled, Sum
from .bandwidth import resolve_gamma
from .base import Kernel
from .columns import Columns
from .distance import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from .dot import ArcCosine, Linear, Polynomial, Sigmoid, Tanimoto
from .feature_space import Centered, Normalized
from .histogram import ChiSquared, HistogramIntersection
from .objects.sets import Jaccard
from .objects.strings import Mismatch, Spectrum
from .objects.subsequence import Subsequence
from .objects.weighted_degree import WeightedDegree
from .other import Callable, Precomputed
from .registry import KERNELS, as_kernel
from .validity import GramValidity, validate_gram

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
