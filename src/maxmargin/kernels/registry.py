"""Kernels by name.

A new kernel is one class in the file of its family and one line here; the test suite then covers it.
"""

from __future__ import annotations

import functools
from typing import Any

from maxmargin.kernels.base import Kernel
from maxmargin.kernels.distance import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from maxmargin.kernels.dot import ArcCosine, Linear, Polynomial, Sigmoid, Tanimoto
from maxmargin.kernels.histogram import ChiSquared, HistogramIntersection
from maxmargin.kernels.objects.sets import Jaccard
from maxmargin.kernels.objects.strings import Mismatch, Spectrum
from maxmargin.kernels.objects.subsequence import Subsequence
from maxmargin.kernels.objects.weighted_degree import WeightedDegree
from maxmargin.kernels.other import Callable, Precomputed
from maxmargin.runtime.validation import check_choice

KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
    "laplacian": Laplacian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
    "periodic": Periodic,
    "arc_cosine": ArcCosine,
    "tanimoto": Tanimoto,
    "chi2": ChiSquared,
    "intersection": HistogramIntersection,
    "spectrum": Spectrum,
    "mismatch": Mismatch,
    "subsequence": Subsequence,
    "weighted_degree": WeightedDegree,
    "jaccard": Jaccard,
    "precomputed": Precomputed,
}


def as_kernel(spec: Any, *, gamma: Any = "scale", degree: float = 3, coef0: float = 0.0) -> Kernel:
    """Return the kernel object for the ``kernel`` parameter of an estimator.

    Parameters
    ----------
    spec : str, Kernel or callable
        A name in ``KERNELS``, a kernel, which is returned unchanged, or a function of two arrays of points.
    gamma, degree, coef0
        Parameters of a kernel given by name; those that it does not have are ignored. The chi-squared kernel does not
        support "scale" and "auto", and uses its default, 1, instead.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from maxmargin.kernels import as_kernel
    >>> as_kernel("poly", degree=2, coef0=1.0)
    Polynomial(coef0=1.0, degree=2)
    >>> as_kernel("rfb")
    Traceback (most recent call last):
        ...
    ValueError: kernel must be one of ... got kernel='rfb'. Did you mean 'rbf'?
    """
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, type) and issubclass(spec, Kernel):
        raise TypeError(f"kernel must be a kernel object, not its class: write {spec.__name__}().")
    if callable(spec):
        return Callable(spec)
    kind = KERNELS[check_choice("kernel", spec, KERNELS, extra=", a kernel object or a function")]
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    if kind is ChiSquared and isinstance(gamma, str) and gamma in ("scale", "auto"):
        del given["gamma"]
    return kind(**{name: value for name, value in given.items() if name in _parameters(kind)})


@functools.cache
def _parameters(kind: type[Kernel]) -> frozenset[str]:
    """The names a kernel's constructor takes; looking them up takes longer than a small kernel matrix."""
    return frozenset(kind._get_param_names())
