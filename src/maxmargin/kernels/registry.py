"""Kernels by name.

A new kernel is one class in the file of its family and one line here; the test suite then covers it.
"""

from __future__ import annotations

import functools
from typing import Any

from maxmargin.kernels.base import Kernel
from maxmargin.kernels.other import Callable
from maxmargin.runtime.registry import Registry
from maxmargin.runtime.validation import check_choice, check_number

KERNELS: Registry[type[Kernel]] = Registry(
    {
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
)


def as_kernel(spec: Any, *, gamma: Any = "scale", degree: float = 3, coef0: float = 0.0) -> Kernel:
    """Return the kernel object for the ``kernel`` parameter of an estimator.

    Parameters
    ----------
    spec : str, Kernel or callable
        A name in ``KERNELS``, a kernel, which is returned unchanged, or a function of two arrays of points.
    gamma, degree, coef0
        Parameters of a kernel given by name; those that it does not have are checked and ignored. The chi-squared
        kernel does not support "scale" and "auto", and uses its default, 1, instead.

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
    if spec == "chi2" and isinstance(gamma, str) and gamma in ("scale", "auto"):
        del given["gamma"]
    names = _parameters(kind)
    _check_unused({name: value for name, value in given.items() if name not in names})
    return kind(**{name: value for name, value in given.items() if name in names})


def _check_unused(given: dict[str, Any]) -> None:
    """Refuse values that no kernel accepts: they are mistakes even where this kernel does not read them."""
    if isinstance(gamma := given.get("gamma"), str):
        check_choice("gamma", gamma, ("scale", "auto"), extra=" or a number > 0")
    elif gamma is not None:
        check_number("gamma", gamma, least=0)
    if "degree" in given:
        check_number("degree", given["degree"], least=0)
    if "coef0" in given:
        check_number("coef0", given["coef0"])


@functools.cache
def _parameters(kind: type[Kernel]) -> frozenset[str]:
    """The names a kernel's constructor takes; looking them up takes longer than a small kernel matrix."""
    return frozenset(kind._get_param_names())
