"""Features from landmarks, for any kernel (Williams & Seeger 2001).

    fit         landmarks z_1..z_m (``landmarks.py``),  T with T'K_mm T = I (``factor.py``)
    transform   phi(x) = T'(k(x, z_1), ..., k(x, z_m))

and then phi(x)'phi(z) ~ k(x, z), exactly so where x or z is a landmark. A linear method on phi is a kernel method at
the cost of a linear one. The other roots of K_mm^+ than T, like scikit-learn's symmetric one, only rotate phi.

k_m(x) and T are float64 even where phi is float32: T divides by sqrt(lambda), and would amplify the rounding of float32
by up to 1e6. Rows are computed in tiles, so that no more than a tile of kernel values is held by each thread.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.gram.operator import computing_form
from maxmargin.large_scale.features.choosing import choose_landmarks
from maxmargin.large_scale.features.factor import Factor
from maxmargin.large_scale.features.kernel_error import KernelError, estimate_kernel_error
from maxmargin.large_scale.features.landmarks import Landmarks, check_landmark_columns, generator_of
from maxmargin.large_scale.parameter_docs import FEATURE_ENTRIES
from maxmargin.runtime.canonical_rows import object_hashes, row_hashes
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.threads import run_strips, single_threaded_blas
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import Array, Points, check_choice, check_memory, check_number, check_weights
from maxmargin.svm.kernel_input import KernelInput, check_finite, kernel_of

TILE_VALUES = 1 << 18  # kernel values of a tile, 2 MB
NAMED = {"gamma": "auto", "degree": 3, "coef0": 1.0}  # of a kernel given by name, by default, as in scikit-learn


@documented(FEATURE_ENTRIES)
@parameters
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelInput):
    """Nystroem approximation of a kernel by features of landmarks.

    A drop-in replacement for ``sklearn.kernel_approximation.Nystroem`` with every kernel of this library, better
    landmarks, and an estimate of the approximation error.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name (``"linear"``, ``"poly"``, ``"rbf"``, ``"laplacian"``, ``"chi2"``, ``"cosine"``, ``"spectrum"``, ...,
        ``"precomputed"``), a kernel object, or a function of two points or of two sets of points.
    gamma : float, "scale" or "auto", optional
        Parameter of a kernel given by name; 1 / n_features when not given (1 for ``"chi2"``).
    coef0, degree : float, optional
        Parameters of a kernel given by name; 1 and 3 when not given.
    kernel_params : dict, optional
        Keyword arguments for a kernel that is a function; or gamma, coef0 and degree.
    n_components : int, default=100
        Number of landmarks m. There are fewer if X has fewer distinct rows, and fewer features than landmarks if the
        feature space has fewer dimensions.
    random_state : int, RandomState or Generator, optional
        Seed for the choice of landmarks.
    {n_jobs}
    landmarks : {"uniform", "kmeans", "leverage", "rpcholesky"} or array-like, default="uniform"
        How to choose landmarks: random rows; centres of clusters, for vectors; by ridge leverage scores or randomly
        pivoted Cholesky, which both cover rare groups. Or the landmarks themselves, as points or as row numbers.
    {dtype}

    Attributes
    ----------
    components_ : ndarray or CSR matrix of shape (m, n_features), or array of objects
        The landmarks; for a precomputed kernel, their row numbers.
    component_indices_ : ndarray of shape (m,) or None
        Their row numbers in X; None if they are not rows of X.
    normalization_ : ndarray of shape (n_features_out, m)
        T'.
    eigenvalues_ : ndarray of shape (m,)
        Of the kernel matrix of the landmarks, largest first.
    kernel_ : Kernel
        The kernel with its resolved parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.large_scale import Nystroem
    >>> X, y = load_digits(return_X_y=True)
    >>> X = X / 16.0
    >>> features = Nystroem(gamma=0.2, n_components=200, landmarks="rpcholesky", random_state=0)
    >>> Z = features.fit_transform(X)
    >>> Z.shape
    (1797, 200)
    >>> bool(LinearSVC().fit(Z, y).score(Z, y) > 0.99)
    True
    >>> print(features.kernel_error(X))
    the 200 features miss ... % ± ... % of the kernel's trace, ...
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = None
    coef0: float | None = None
    degree: float | None = None
    kernel_params: dict[str, Any] | None = None
    n_components: int = 100
    random_state: Any = None
    n_jobs: int | None = None
    landmarks: Any = "uniform"
    dtype: str | None = None

    def _kernel(self) -> Kernel:
        given = {name: getattr(self, name) for name in NAMED if getattr(self, name) is not None}
        if not isinstance(self.kernel, str) or self.kernel == "precomputed":
            if given:
                raise ValueError(
                    f"Don't pass gamma, coef0 or degree if the kernel is a function, an object or precomputed; got "
                    f"{', '.join(f'{name}={value!r}' for name, value in given.items())}."
                )
            return kernel_of(self.kernel, params=self.kernel_params)
        more = self.kernel_params or {}
        if not isinstance(more, dict) or not set(more) <= set(NAMED):
            raise ValueError(
                f"kernel_params of a kernel given by name are gamma, coef0 and degree, in a dict; got {more!r}."
            )
        name = "poly" if self.kernel == "polynomial" else self.kernel
        return kernel_of(name, **{**NAMED, **more, **given})

    fit_transform = all_or_nothing(TransformerMixin.fit_transform)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a list of objects
            Training points; with ``kernel="precomputed"`` their kernel matrix.
        {y_ignored}
        sample_weight : array-like of shape (n_samples,), optional
            A weight of two equals repeating the row, a weight of zero removing it.

        {Returns, self}
        """
        check_number("n_components", self.n_components, least=1, integer=True)
        if self.dtype is not None:
            check_choice("dtype", self.dtype, ["float32", "float64"], extra=" or None")
        X = self._training_points(X)
        check_landmark_columns(self)
        weights = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
        self.kernel_ = self._resolved(X, weights)
        threads, rng = self._threads(X.shape[0]), generator_of(self.random_state)
        with np.errstate(over="ignore", invalid="ignore"):
            chosen = choose_landmarks(self.kernel_, X, self.n_components, self.landmarks, weights, rng, threads)
            factor = Factor.of(chosen.matrix(self.kernel_, X), self.kernel_)
        self.components_, self.component_indices_ = chosen.points, chosen.indices
        self.normalization_ = np.ascontiguousarray(factor.T.T)
        self.eigenvalues_ = factor.eigenvalues
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[0])

    def transform(self, X: Any) -> Array:
        """The features of points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a list of objects
            Points; with ``kernel="precomputed"`` their kernel values with the training points.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            float32 if the points are float32, float64 otherwise, unless ``dtype`` is given.
        """
        X = self._new_points(X)
        n, m = X.shape[0], self.components_.shape[0]
        dtype = np.dtype(self.dtype or (np.float64 if X.dtype == object else X.dtype))
        check_memory(
            float(n) * self._n_features_out * dtype.itemsize,
            f"The {self._n_features_out:,} features of {n:,} rows",
            "take fewer landmarks, dtype='float32', or fewer rows at a time.",
        )
        out = np.empty((n, self._n_features_out), dtype)
        points = self.components_ if isinstance(self.kernel_, Precomputed) else computing_form(self.components_)
        landmarks, T = Landmarks(points, None), self.normalization_.T
        as_dense = sp.issparse(X) and not sp.issparse(points) and not isinstance(self.kernel_, Precomputed)
        size = max(64, TILE_VALUES // m)

        def work(rows: slice) -> None:
            out[rows] = landmarks.values(self.kernel_, X[rows].toarray() if as_dense else X[rows]) @ T

        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            run_strips(work, n, size, self._threads(n))
        return check_finite(out)

    def kernel_error(self, X: Any, rows: int = 1000, random_state: Any = 0) -> KernelError:
        """Estimate the approximation error of the kernel on rows that are not landmarks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or a list of objects
            Points from the same distribution as the training points, preferably new ones; for a precomputed kernel, the
            training matrix.
        {rows, random_state}

        {Returns, error}
        """
        X = self._new_points(X)
        if isinstance(self.kernel_, Precomputed):
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"kernel_error needs the kernel matrix of the training points, {X.shape[1]} x {X.shape[1]}; got "
                    f"{X.shape[0]} rows. Values of new points with each other are not in a matrix of new with old ones."
                )
            at = self.component_indices_
        else:
            at = _copies(X, self.components_)
        landmarks = Landmarks(self.components_, at)
        factor = Factor(self.normalization_.T, self.eigenvalues_, 0.0)
        return estimate_kernel_error(self.kernel_, X, landmarks, factor, generator_of(random_state), rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype] if self.dtype else ["float64", "float32"]
        return tags


def _copies(X: Points, landmarks: Points) -> Array | None:
    """The rows of X that are landmarks, by their content; None for objects of unknown content."""
    if X.dtype == object:
        keys, marks = object_hashes(X), object_hashes(landmarks)
    else:
        keys, marks = row_hashes(X), row_hashes(landmarks)
    return None if keys is None or marks is None else np.flatnonzero(np.isin(keys, marks))
