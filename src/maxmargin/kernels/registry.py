"""Kernels by name.

A new kernel is one class in the file of its family and one line here, which also makes it a name of
:mod:`maxmargin.kernels`; the test suite then covers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxmargin.runtime.registry import Registry

if TYPE_CHECKING:
    from maxmargin.kernels.base import Kernel

CLASSES: dict[str, str] = {
    "linear": "maxmargin.kernels.dot:Linear",
    "poly": "maxmargin.kernels.dot:Polynomial",
    "rbf": "maxmargin.kernels.distance:RBF",
    "sigmoid": "maxmargin.kernels.dot:Sigmoid",
    "laplacian": "maxmargin.kernels.distance:Laplacian",
    "matern": "maxmargin.kernels.distance:Matern",
    "rational_quadratic": "maxmargin.kernels.distance:RationalQuadratic",
    "periodic": "maxmargin.kernels.distance:Periodic",
    "arc_cosine": "maxmargin.kernels.dot:ArcCosine",
    "tanimoto": "maxmargin.kernels.dot:Tanimoto",
    "chi2": "maxmargin.kernels.histogram:ChiSquared",
    "intersection": "maxmargin.kernels.histogram:HistogramIntersection",
    "spectrum": "maxmargin.kernels.objects.strings:Spectrum",
    "mismatch": "maxmargin.kernels.objects.strings:Mismatch",
    "subsequence": "maxmargin.kernels.objects.subsequence:Subsequence",
    "weighted_degree": "maxmargin.kernels.objects.weighted_degree:WeightedDegree",
    "jaccard": "maxmargin.kernels.objects.sets:Jaccard",
    "precomputed": "maxmargin.kernels.other:Precomputed",
}
KERNELS: Registry[type[Kernel]] = Registry(CLASSES)
