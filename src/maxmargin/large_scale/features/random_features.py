"""Features from random waves, for kernels of x - z (Rahimi & Recht 2007).

A positive semidefinite kernel k(x, z) = k(x - z) is a mean of waves (Bochner's theorem),

    k(x - z) = k(0) E cos(w'(x - z)),      w drawn from the spectral measure of k,

so F frequencies w_1..w_F give features whose inner product is an unbiased estimate of it:

    phi(x) = sqrt(k(0) / F) (cos w_1'x, ..., cos w_F'x, sin w_1'x, ..., sin w_F'x),      F = n_components / 2.

    RBF          w = sqrt(2 gamma) g,  g normal
    Laplacian    w = gamma c,          c_j Cauchy
    k1 k2        w = w1 + w2                                    a power k^p: p times
    k1 + k2      w = w1 with the chance k1(0) / (k1(0) + k2(0)), else w2
    c k, k / k(0), k of some columns                            the same w

Pairs of cosine and sine are better than the cosines of twice as many frequencies with random phases: with n_components
features their variance is (1 + k(2 delta) - 2 k(delta)^2) / n_components against (1 + k(2 delta) / 2 - k(delta)^2) /
n_components, for k(0) = 1 and delta = x - z, which is smaller wherever k(2 delta) < 2 k(delta)^2: everywhere for the
two kernels above (Sutherland & Schneider 2015). And phi(x)'phi(x) = k(0) exactly. If n_components is odd, one frequency
is left with its cosine alone, at a random phase.

Orthogonal frequencies (Yu et al. 2016), for the RBF kernel: rows of a random rotation, each with the length of a normal
vector. Every single w is still normal, so the estimate stays unbiased; but together they cover all directions alike,
and its variance shrinks, nearly to nothing for close points and as many frequencies as columns.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from maxmargin.kernels import RBF, Columns, Kernel, Laplacian, Normalized, Power, Product, Scaled, Sum
from maxmargin.large_scale.features.kernel_error import KernelError, draw_rows, error_of
from maxmargin.large_scale.features.landmarks import generator_of
from maxmargin.large_scale.parameter_docs import FEATURE_ENTRIES
from maxmargin.runtime.estimator import Estimator, parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import run_strips, single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_memory,
    check_new_points,
    check_number,
    check_training_points,
)
from maxmargin.svm.kernel_input import check_finite, kernel_of, resolved, threads_for

TILE_VALUES = 1 << 17  # angles of a tile, 1 MB
TWO_PI = 2.0 * np.pi


@documented(FEATURE_ENTRIES)
@parameters
class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Random Fourier features, which approximate a stationary kernel.

    A random feature is cheaper than one of :class:`Nystroem` and does not depend on the data, but more of them are
    needed for the same error, and the kernel must be a function of x - z.

    Parameters
    ----------
    n_components : int, default=100
        Number of features.
    kernel : {"rbf", "laplacian"} or Kernel, default="rbf"
        The kernel; also sums, products, integer powers and multiples of such kernels, and of
        :class:`~maxmargin.kernels.Columns`.
    gamma : float, "scale" or "auto", optional
        Parameter of a kernel given by name; 1 / n_features when not given.
    method : {"fourier", "orthogonal"}, default="fourier"
        Independent frequencies, or orthogonal ones, which reduce the error (RBF kernels only).
    random_state : int, RandomState or Generator, optional
        Seed of the frequencies.
    {n_jobs, dtype}

    Attributes
    ----------
    frequencies_ : ndarray of shape (ceil(n_components / 2), n_features)
        w, one per row.
    phase_ : float
        Phase of the last frequency if n_components is odd.
    scale_ : float
        sqrt(2 k(0) / n_components), the amplitude of a feature.
    kernel_ : Kernel
        The kernel with its resolved parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.large_scale import RandomFeatures
    >>> from maxmargin.kernels import RBF
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> Z = RandomFeatures(2000, kernel=RBF(gamma=0.5), random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF(gamma=0.5)(X)).max() < 0.1)
    True
    """

    n_components: int = 100
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = None
    method: str = "fourier"
    random_state: Any = None
    n_jobs: int | None = None
    dtype: str | None = None

    def _kernel(self) -> Kernel:
        if isinstance(self.kernel, Kernel):
            if self.gamma is not None:
                raise ValueError(f"Don't pass gamma with a kernel object, which has its own; got gamma={self.gamma!r}.")
            return self.kernel
        check_choice(
            "kernel", self.kernel, ["rbf", "laplacian"], extra=" or such a kernel object (Nystroem takes any kernel)"
        )
        return kernel_of(self.kernel, gamma="auto" if self.gamma is None else self.gamma)

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, which determine the number of columns and ``gamma="scale"``.
        {y_ignored}

        {Returns, self}
        """
        count = int(check_number("n_components", self.n_components, least=1, integer=True))
        orthogonal = check_choice("method", self.method, ["fourier", "orthogonal"]) == "orthogonal"
        if self.dtype is not None:
            check_choice("dtype", self.dtype, ["float32", "float64"], extra=" or None")
        threads_for(1, self.n_jobs)
        rng, kernel = generator_of(self.random_state), self._kernel()
        X = check_training_points(self, X)
        size = 8.0 * count * (X.shape[1] if not orthogonal else 2 * X.shape[1])
        check_memory(size, f"n_components={count:,} of {X.shape[1]:,} columns", "take fewer.")
        self.kernel_ = resolved(kernel, self.kernel, X, names=getattr(self, "feature_names_in_", None))
        self.frequencies_ = draw_frequencies(self.kernel_, -(-count // 2), X.shape[1], rng, orthogonal)
        self.phase_ = float(rng.uniform(0.0, TWO_PI))
        self.scale_ = float(np.sqrt(2.0 * size_at_zero(self.kernel_) / count))
        self._n_features_out = count
        return self

    def transform(self, X: Any) -> Array:
        """The features of points.

        {Parameters, X}

        Returns
        -------
        features : ndarray of shape (n_samples, n_components)
            float32 if the points are float32, float64 otherwise, unless ``dtype`` is given.
        """
        X = check_new_points(self, X)
        return self._features(X, np.dtype(self.dtype or X.dtype))

    def _features(self, X: Points, dtype: Any) -> Array:
        n, count = X.shape[0], self._n_features_out
        check_memory(
            float(n) * count * dtype.itemsize,
            f"The {count:,} features of {n:,} rows",
            "take fewer features, dtype='float32', or fewer rows at a time.",
        )
        out = np.empty((n, count), dtype)
        W, pairs = np.ascontiguousarray(self.frequencies_.T), count // 2
        size = max(64, TILE_VALUES // W.shape[1])

        def work(rows: slice) -> None:
            angles = X[rows].astype(np.float64, copy=False) @ W
            if count % 2:
                angles[:, -1] += self.phase_
            if dtype == np.float32:  # a frequency may be large: full turns are subtracted in float64
                angles -= TWO_PI * np.rint(angles / TWO_PI)
                angles = angles.astype(np.float32)
            part = out[rows]
            np.cos(angles[:, :pairs], out=part[:, :pairs])
            np.sin(angles[:, :pairs], out=part[:, pairs : 2 * pairs])
            np.cos(angles[:, pairs:], out=part[:, 2 * pairs :])
            part *= self.scale_

        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            run_strips(work, n, size, threads_for(n, self.n_jobs))
        return check_finite(out)

    def kernel_error(self, X: Any, rows: int = 1000, random_state: Any = 0) -> KernelError:
        """Estimate the approximation error of the kernel on some rows.

        {X, rows, random_state -> error}
        """
        X = check_new_points(self, X)
        S = X[draw_rows(np.arange(X.shape[0]), rows, generator_of(random_state))].astype(np.float64)
        K = self.kernel_.matrix(S, S)
        np.fill_diagonal(K, self.kernel_.self_similarity(S))
        return error_of(K, self._features(S, np.dtype(np.float64)), X.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype] if self.dtype else ["float64", "float32"]
        return tags


def size_at_zero(kernel: Kernel) -> float:
    """k(0) of a resolved kernel of x - z."""
    if isinstance(kernel, (Scaled, Power, Columns)):
        inner = size_at_zero(kernel.kernel)
        if isinstance(kernel, Scaled):
            return float(kernel.factor) * inner
        return inner ** float(kernel.exponent) if isinstance(kernel, Power) else inner
    if isinstance(kernel, (Sum, Product)):
        sizes = [size_at_zero(one) for one in kernel.kernels]
        return float(np.sum(sizes) if isinstance(kernel, Sum) else np.prod(sizes))
    return 1.0


def draw_frequencies(kernel: Kernel, count: int, d: int, rng: np.random.Generator, orthogonal: bool = False) -> Array:
    """Frequencies from the spectral measure of a kernel of x - z.

    kernel: a resolved kernel
    count, d: how many, and the number of columns
    rng: where random numbers come from
    orthogonal: whether those of an RBF kernel are orthogonal in groups of d
    Returns ndarray of shape (count, d), float64
    """
    if isinstance(kernel, RBF):
        normal = _orthogonal(count, d, rng) if orthogonal else rng.standard_normal((count, d))
        return np.sqrt(2.0 * float(kernel.gamma)) * normal
    if isinstance(kernel, Laplacian):
        if orthogonal:
            raise ValueError(
                "method='orthogonal' needs a kernel that is the same in all directions, like 'rbf'; the Laplacian "
                "kernel is not. Use method='fourier'."
            )
        return float(kernel.gamma) * rng.standard_cauchy((count, d))
    if isinstance(kernel, (Scaled, Normalized)):
        return draw_frequencies(kernel.kernel, count, d, rng, orthogonal)
    if isinstance(kernel, Columns):
        W = np.zeros((count, d))
        chosen = draw_frequencies(kernel.kernel, count, len(kernel.indices_), rng, orthogonal)
        for place, column in enumerate(kernel.indices_):
            W[:, column] += chosen[:, place]
        return W
    if isinstance(kernel, Power) and float(kernel.exponent).is_integer():
        factors: list[Kernel] = [kernel.kernel] * int(kernel.exponent)
        return _sum_of_draws(factors, count, d, rng, orthogonal)
    if isinstance(kernel, Product):
        return _sum_of_draws(kernel.kernels, count, d, rng, orthogonal)
    if isinstance(kernel, Sum):
        sizes = np.array([size_at_zero(one) for one in kernel.kernels])
        which = rng.choice(len(sizes), count, p=sizes / sizes.sum())
        W = np.empty((count, d))
        for i, one in enumerate(kernel.kernels):
            W[which == i] = draw_frequencies(one, int(np.sum(which == i)), d, rng, orthogonal)
        return W
    raise ValueError(
        f"{kernel!r} is no kernel of x - z with a known spectral measure: RandomFeatures takes RBF, Laplacian, and "
        "their sums, products, integer powers and multiples. Nystroem takes any kernel."
    )


def _sum_of_draws(kernels: Any, count: int, d: int, rng: np.random.Generator, orthogonal: bool) -> Array:
    W = np.zeros((count, d))
    for one in kernels:
        W += draw_frequencies(one, count, d, rng, orthogonal)
    return W


def _orthogonal(count: int, d: int, rng: np.random.Generator) -> Array:
    """Vectors that are normal each, and orthogonal in groups of d."""
    W = np.empty((count, d))
    with single_threaded_blas():
        for start in range(0, count, d):
            Q, R = np.linalg.qr(rng.standard_normal((d, d)))
            Q *= np.where(R.diagonal() < 0, -1.0, 1.0)  # else Q would not be uniform over all rotations
            W[start : start + d] = Q.T[: count - start]
    return W * np.sqrt(rng.chisquare(d, (count, 1)))
