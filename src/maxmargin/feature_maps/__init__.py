"""Explicit feature maps Phi, as transformers: the kernel is then the inner product k(x, z) = Phi(x)'Phi(z)."""

from __future__ import annotations

from .gaussian import GaussianBasis, GaussianSeriesMap
from .polynomial import MonomialMap, PolynomialMap
from .radial import PolarMap, RadialMap

__all__ = ["GaussianBasis", "GaussianSeriesMap", "MonomialMap", "PolarMap", "PolynomialMap", "RadialMap"]
