"""Kernels that are not a formula: a matrix the user holds, and a function the user wrote.

Precomputed   the estimator is handed K itself, K_ij = k(x_i, z_j)
Callable      K = function(A, B)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import as_float64
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.registry import KERNELS
from maxmargin.runtime.validation import Array, Points, check_choice, check_number

PROBE_POINTS = 8  # training points on which a function is checked
PROBE_TOLERANCE = 1e-4  # relative difference that float32 arithmetic of a function may make


class Precomputed(Kernel):
    """A precomputed kernel matrix: ``fit(K)`` with a square K, ``predict(K)`` with one row per new point.

    Examples
    --------
    >>> from maxmargin.kernels import Precomputed
    >>> Precomputed()([[1.0, 0.5], [0.5, 1.0]])
    Traceback (most recent call last):
        ...
    ValueError: a precomputed kernel has no function to call: give the kernel matrix itself to the estimator...
    """

    def matrix(self, A: Points, B: Points) -> Array:
        self._refuse()

    def self_similarity(self, A: Points) -> Array:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "a precomputed kernel has no function to call: give the kernel matrix itself to the estimator, "
            "K[i, j] = k(x_i, x_j) in place of X for fit and K[i, j] = k(new_i, x_j) for predict."
        )

    def _sizes(self, X: Points) -> None:
        return None


class Callable(Kernel):
    """A kernel computed by a Python function of two sets of points.

    Parameters
    ----------
    function : callable
        ``function(A, B)`` returns the matrix of shape (len(A), len(B)). A and B are float64 arrays, CSR matrices if
        the points are sparse, or one-dimensional arrays of objects if the points are not vectors.

    Examples
    --------
    >>> from maxmargin.kernels import Callable
    >>> def shared_signs(A, B):
    ...     return (A > 0.0).astype(float) @ (B > 0.0).T
    >>> Callable(shared_signs)([[1.0, 2.0], [3.0, -4.0]])
    array([[2., 1.],
           [1., 1.]])
    """

    takes_objects = True

    def __init__(self, function: Any) -> None:
        self.function = function

    def matrix(self, A: Points, B: Points) -> Array:
        left = A if A.dtype == object else as_float64(A)
        right = left if B is A else (B if B.dtype == object else as_float64(B))
        name = _name(self.function)
        try:
            result = self.function(left, right)
        except TypeError as error:
            if "positional argument" not in str(error) or _accepts_two(self.function):
                raise
            raise TypeError(
                f"the kernel function {name} must take two arrays of points, A and B, and return the matrix of "
                f"shape (len(A), len(B)): {error}."
            ) from error
        if sp.issparse(result):
            result = result.toarray()
        try:
            if np.iscomplexobj(result):
                raise TypeError("complex values")
            K = np.array(result, dtype=np.float64, order="C")  # a copy: the function may keep its result
        except (TypeError, ValueError) as error:
            raise ValueError(f"the kernel function {name} must return a matrix of real numbers: {error}.") from error
        expected = (A.shape[0], B.shape[0])
        if K.shape != expected:
            raise ValueError(
                f"the kernel function {name} returned shape {K.shape} for {expected[0]} and {expected[1]} points; "
                f"it must return the matrix of shape {expected}, one row for each point of its first argument."
            )
        if not np.isfinite(K).all():
            i, j = (int(index) for index in np.argwhere(~np.isfinite(K))[0])
            raise ValueError(
                f"the kernel function {name} returned {K[i, j]} in row {i}, column {j}: values must be finite."
            )
        return K

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        if not callable(self.function):
            raise TypeError(f"function must be callable; got {self.function!r}.")
        self._check_pairs(X)
        return super()._resolve(X, weights, feature_names)

    def _check_pairs(self, X: Points) -> None:
        """Refuse a function whose values depend on the other points it is given, such as on their mean or number: the
        values of training points would not be those of new points, which come a few at a time."""
        some = X[:PROBE_POINTS]
        if some.shape[0] < 4:
            return
        few_rows, few_columns = slice(0, some.shape[0] // 4), slice(0, some.shape[0] // 2)
        alone, among = self.matrix(some[few_rows], some[few_columns]), self.matrix(some, some)[few_rows, few_columns]
        if np.abs(alone - among).max(initial=0.0) > PROBE_TOLERANCE * np.abs(among).max(initial=0.0):
            i, j = (int(place) for place in np.unravel_index(np.abs(alone - among).argmax(), alone.shape))
            raise ValueError(
                f"the kernel function {_name(self.function)} returned {among[i, j]:.6g} for points {i} and {j} among "
                f"others, and {alone[i, j]:.6g} for them among fewer: a kernel value must depend on its two points "
                "only. Compute means, scales and the like before, from the training points, or use "
                "kernel='precomputed'."
            )


def _name(function: Any) -> str:
    """The name a user knows a function by."""
    return getattr(function, "__qualname__", None) or repr(function)


def _accepts_two(function: Any) -> bool:
    """Whether a function can be called with two arguments."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


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
