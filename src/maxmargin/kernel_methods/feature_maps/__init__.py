"""Explicit feature maps Phi, as transformers: the kernel is then the inner product k(x, z) = Phi(x)'Phi(z)."""

from __future__ import annotations

from maxmargin.kernel_methods.feature_maps.gaussian import GaussianBasis, GaussianSeriesMap
from maxmargin.kernel_methods.feature_maps.polynomial import MonomialMap, PolarMap, PolynomialMap, RadialMap

__all__ = ["GaussianBasis", "GaussianSeriesMap", "MonomialMap", "PolarMap", "PolynomialMap", "RadialMap"]
