"""The kernel and the points of a kernel method.

    fit       parameters -> kernel;  X -> points (vectors, objects, or K itself);  kernel.resolve(points) -> kernel_
    predict   X -> points of the same kind;  k(new, training) by ``kernel_``, in tiles

A mixin, :class:`KernelInput`, for estimators that have the parameters ``kernel``, ``gamma``, ``degree`` and ``coef0``
(and possibly ``kernel_params`` and ``n_jobs``). The distance of two points in feature space,

    |phi(x) - phi(z)|^2 = k(x, x) - 2 k(x, z) + k(z, z),

needs k(x, x) of a new point. A precomputed row K(x, training) does not contain it. If all training points have the
same k(x_i, x_i), new points are assumed to have it, too, as with the Gaussian kernel.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from maxmargin.kernels import Callable, Kernel, Linear, Normalized, Precomputed, as_kernel
from maxmargin.kernels.gram.choice import make_gram
from maxmargin.kernels.gram.operator import Gram, computing_form, precomputed_gram
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.threads import effective_threads
from maxmargin.runtime.transaction import remove_attributes
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_new_objects,
    check_new_points,
    check_number,
    check_outputs,
    check_targets,
    check_training,
    check_training_points,
    has_several_columns,
)
from maxmargin.svm.models.expansion import KernelExpansion

KERNEL_MATRIX_BYTES = 1e9  # kernel values kept in memory by methods that need the same ones repeatedly
SERIAL_MAX_ROWS = 1000  # rows up to which threads cost more than they bring


class KernelAndPoints(NamedTuple):
    """The input of a fit: the unresolved kernel, the points, and the targets or None."""

    kernel: Kernel
    points: Points
    targets: Any


class KernelInput(Estimator):
    """The kernel, the training points and new points of an estimator.

    ``_training_points`` and ``_resolved`` are called in ``fit``, whose author keeps what the latter returns as
    ``kernel_``; ``_new_points`` afterwards."""

    def _kernel(self) -> Kernel:
        """The kernel of the parameters, not resolved yet."""
        params = getattr(self, "kernel_params", None)
        return kernel_of(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, params=params)

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _training_points(self, X: Any, y: Any = None, *, supervised: bool = False, numeric: bool = False) -> Any:
        """Validated training data, X or ``(X, y)``; things that are not vectors become an array of objects."""
        _, X, y = self._kernel_and_points(X, y, supervised=supervised, numeric=numeric)
        return (X, y) if supervised else X

    def _kernel_and_points(
        self, X: Any, y: Any = None, *, supervised: bool = False, numeric: bool = False, several: bool = False
    ) -> KernelAndPoints:
        """The same, with the unresolved kernel; ``several`` allows several columns of targets."""
        kernel = self._kernel()
        objects = kernel.objects(X)
        self._objects = objects is not None
        if objects is not None:
            remove_attributes(self, "n_features_in_", "feature_names_in_")
            if several and has_several_columns(y):
                return KernelAndPoints(kernel, objects, check_outputs(y, len(objects))[0])
            y = check_targets(y, len(objects), numeric=numeric) if supervised else None
            return KernelAndPoints(kernel, objects, y)
        if supervised:
            X, y = check_training(self, X, y, numeric=numeric, several=several)
        else:
            X, y = check_training_points(self, X), None
        if isinstance(kernel, Precomputed):
            check_square(X)
        return KernelAndPoints(kernel, X, y)

    def _resolved(self, X: Points, weights: Array | None = None) -> Kernel:
        """The kernel made ready by the training points."""
        return resolved(self._kernel(), self.kernel, X, weights, getattr(self, "feature_names_in_", None))

    def _new_points(self, X: Any) -> Points:
        """Points to predict for, of the kind given to ``fit``."""
        if getattr(self, "_objects", False):
            X = check_new_objects(self, X, only=not self.kernel_.takes_vectors)
        else:
            X = check_new_points(self, X)
        if not isinstance(self.kernel_, Precomputed):
            self.kernel_.check_points(X)
        return X

    def _threads(self, n: int) -> int:
        """Threads for work over n rows."""
        return threads_for(n, getattr(self, "n_jobs", None))

    def _expand(self, expansion: KernelExpansion, X: Points) -> Array:
        """The values of a fitted function on validated points, in bounded memory."""
        few = expansion.decision_of_few(X)
        if few is not None:
            return check_finite(few)
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(expansion.decision(X, self._threads(X.shape[0])))


def threads_for(n: int, n_jobs: int | None) -> int:
    """Threads for work over n rows, as ``n_jobs`` allows."""
    if n_jobs is not None and check_number("n_jobs", n_jobs, integer=True) == 0:
        raise ValueError("n_jobs must not be 0; use None or -1 for all cores.")
    return effective_threads(n_jobs) if n > SERIAL_MAX_ROWS else 1


def kernel_of(spec: Any, *, gamma: Any = "scale", degree: float = 3, coef0: float = 0.0, params: Any = None) -> Kernel:
    """``as_kernel``, and what scikit-learn's kernel methods take besides: ``"cosine"``, and ``kernel_params`` for a
    kernel that is a function."""
    if params is not None and not isinstance(params, dict):
        raise TypeError(f"kernel_params must be a dict or None; got {params!r}.")
    if isinstance(spec, str) and spec == "cosine":
        kernel: Kernel = Normalized(Linear())
    else:
        kernel = as_kernel(spec, gamma=gamma, degree=degree, coef0=coef0)
    if not params:
        return kernel
    if not isinstance(kernel, Callable) or isinstance(spec, Kernel):
        raise ValueError(
            f"kernel_params={params!r} are arguments of a kernel given as a function; got kernel={spec!r}."
        )
    return Callable(functools.partial(kernel.function, **params))


def resolved(kernel: Kernel, spec: Any, X: Points, weights: Array | None = None, names: Any = None) -> Kernel:
    """The kernel made ready by the training points; ``spec`` is what the user gave for it."""
    if isinstance(kernel, Precomputed):
        return kernel
    X = computing_form(X)  # dense and sparse points of the same values make the same kernel
    if isinstance(kernel, Callable) and not isinstance(spec, Kernel):
        kernel = Callable(_of_sets(kernel.function, X))
    return kernel.resolve(X, sample_weight=weights, feature_names=names)


class _PairFunction:
    """A function of two points as a function of two sets of points."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __repr__(self) -> str:
        return getattr(self.function, "__qualname__", None) or repr(self.function)

    def __call__(self, A: Points, B: Points) -> Array:
        return np.array([[self.function(a, b) for b in B] for a in A], dtype=np.float64)


def _of_sets(function: Any, X: Points) -> Any:
    """A user's kernel as a function of two sets of points. ``SVC`` calls it with sets, other methods of scikit-learn
    with two points: what gives no matrices of the right shapes, but numbers for pairs, is one of the latter."""
    X = X if X.dtype == object else X[:3].astype(np.float64)
    first, second = X[np.arange(2) % X.shape[0]], X[np.arange(3) % X.shape[0]]
    try:
        shapes = [np.shape(function(A, B)) for A, B in ((first[:1], first[:1]), (first, second))]
    except Exception:
        shapes = []
    if shapes == [(1, 1), (2, 3)]:
        return function
    try:
        pairs = np.ndim(function(X[0], X[0])) == 0
    except Exception:
        pairs = False
    return _PairFunction(function) if pairs else function  # neither: the Callable kernel raises the error


def gram_of(kernel: Kernel, X: Points, threads: int = 1) -> Gram:
    """The kernel matrix of the training points as an operator: held in memory where it is small or slow to compute,
    computed in tiles otherwise. For a precomputed kernel X is the matrix."""
    if isinstance(kernel, Precomputed):
        return precomputed_gram(X, np.arange(X.shape[0]))
    return make_gram(kernel, computing_form(X), threads=threads, budget=KERNEL_MATRIX_BYTES)


def expansion_of(kernel: Kernel, X: Points, coefficients: Array, intercept: Array) -> KernelExpansion:
    """f(x) = sum_i c_i k(x_i, x) + b over the training points, a column of ``coefficients`` each output."""
    if isinstance(kernel, Precomputed):
        return KernelExpansion(kernel, np.arange(X.shape[0]), coefficients, intercept)
    return KernelExpansion(kernel, computing_form(X), coefficients, intercept)


def self_similarity(kernel: Kernel, X: Points, diagonal: Array) -> Array:
    """k(x, x) of new points; ``diagonal`` holds that of the training points."""
    if not isinstance(kernel, Precomputed):
        return kernel.self_similarity(X)
    size = np.abs(diagonal).max()
    if np.ptp(diagonal) > 1e-9 * size:
        raise ValueError(
            "Distances need k(x, x) of each new point, which a precomputed matrix of new with training points does not "
            "hold: give the kernel as an object or a function, or normalise it so that all k(x, x) are equal."
        )
    return np.full(X.shape[0], diagonal.mean())


def check_finite(values: Array) -> Array:
    """The values of a fitted function, or an error that names the first row where they overflow."""
    if math.isfinite(float(values.sum())):  # true of nearly all, and found in a microsecond
        return values
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise ValueError(
            f"kernel values overflow in row {row} of X: scale the data as the training data was, or lower degree."
        )
    return values


def check_square(K: Points) -> None:
    """A precomputed training kernel is square and symmetric, and not absurdly large."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix: "
            "give k(X, X) of the training points."
        )
    size = float(abs(K).max()) if K.shape[0] else 0.0
    if size > 1e150:
        raise ValueError(f"kernel values overflow: the precomputed matrix reaches {size:.1e}. Divide it by a constant.")
    step = 512
    for start in range(0, K.shape[0], step):
        rows = slice(start, start + step)
        apart = abs(K[rows] - K[:, rows].T).max()
        if apart > 1e-6 * size:
            raise ValueError(
                f"The precomputed kernel matrix is not symmetric: entries differ by up to {apart:.3g} from their "
                "mirror image. Give k(X, X), or (K + K.T) / 2 if the difference is noise."
            )
