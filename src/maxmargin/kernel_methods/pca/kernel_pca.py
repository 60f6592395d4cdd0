"""Kernel principal component analysis (Schölkopf, Smola & Müller 1998).

Principal components of the features phi(x), from k(x, z) = phi(x)'phi(z) alone. With the mean of the features
m = sum_i phi(x_i) / n and the matrix P = I - 11'/n that takes the mean off,

    P K P u = lambda u,  |u| = 1             eigenvectors of the centred kernel matrix, largest lambda first
    v = sum_i a_i phi(x_i),                  the component: |v| = 1 for a = u / sqrt(lambda), and sum_i a_i = 0
    z(x) = v'(phi(x) - m)
         = sum_i a_i k(x_i, x) - a'mu        the projection, a kernel expansion;  mu_i = mean_j k(x_i, x_j)

On the training points, z = sqrt(lambda) u. Signs: the entry of u that is largest in size is positive.

A pre-image of z is a point whose features are near to the projection m + sum_k z_k v_k. ``preimages.py`` finds one for
the Gaussian kernel; for any kernel, a ridge regression of the training points on their projections, with the same
kernel between projections, learns the way back (Bakır, Weston & Schölkopf 2004).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from maxmargin.kernel_methods.base import SKLEARN_ENTRIES, SklearnKernelMethod
from maxmargin.kernel_methods.pca import eigen
from maxmargin.kernel_methods.pca.preimages import dense_rows, fixed_points
from maxmargin.kernels import RBF
from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.decompositions import cholesky
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import documented
from maxmargin.runtime.transaction import all_or_nothing
from maxmargin.runtime.validation import (
    Array,
    Points,
    check_choice,
    check_flag,
    check_memory,
    check_number,
    check_points,
    shown,
    warn,
)
from maxmargin.svm.kernel_input import expansion_of, gram_of


@documented(SKLEARN_ENTRIES)
@parameters
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SklearnKernelMethod):
    """Kernel principal component analysis, with pre-images.

    A drop-in replacement for ``sklearn.decomposition.KernelPCA`` that accepts every kernel of this library, and also
    finds pre-images without a learned regression.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default all with nonzero variance.
    {kernel, gamma, degree, coef0, kernel_params}
    alpha : float, default=1.0
        Ridge penalty of the regression that learns ``inverse_transform``.
    fit_inverse_transform : bool, default=False
        Whether to learn it.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        LAPACK, exact; Lanczos iterations, equally exact and faster for few components; or a random subspace with power
        iterations (Halko, Martinsson & Tropp 2011), approximate. ``"auto"`` is ``"arpack"`` for more than 200 points
        and fewer than 10 components, or no more than a fiftieth of the points; else ``"dense"``.
    tol : float, default=0
        Relative accuracy of ``"arpack"``; zero means machine precision.
    max_iter : int, optional
        Maximum number of iterations of ``"arpack"``; by default ten times the number of points.
    iterated_power : int or "auto", default="auto"
        Power iterations of ``"randomized"``; ``"auto"`` is 7, or 4 if at least a tenth of all components is requested.
    remove_zero_eig : bool, default=False
        Whether to drop components without variance. They are always dropped if ``n_components`` is not given.
    random_state : int or RandomState, optional
        For ``"randomized"``, and the start of ``"arpack"``.
    copy_X : bool, default=True
        Whether ``X_fit_`` is a copy. X itself is never modified.
    {n_jobs}

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        lambda, decreasing: n times the variance along each component.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        u, one per column.
    {X_fit_}
    X_transformed_fit_, dual_coef_ : ndarray
        With ``fit_inverse_transform``: the projections of the training points, and the regression on them.
    {kernel_}
    gamma_ : float or None
        The value of gamma that was used.
    eigen_solver_ : str
        The solver that was used.

    Examples
    --------
    Two rings, which no straight line tells apart, lie apart along the first component.

    >>> import numpy as np
    >>> from maxmargin import KernelPCA
    >>> angle = np.linspace(0.0, 6.0, 20)
    >>> ring = np.column_stack((np.cos(angle), np.sin(angle)))
    >>> pca = KernelPCA(n_components=6, kernel="rbf", gamma=0.3)
    >>> Z = pca.fit_transform(np.vstack((ring, 3.0 * ring)))
    >>> bool(Z[:20, 0].max() < Z[20:, 0].min())
    True

    A point beside the inner ring, projected and brought back, has come nearer to it.

    >>> pca.preimage(pca.transform([[0.0, 1.3]])).round(1)
    array([[-0. ,  1.1]])
    """

    n_components: int | None = None
    _: KW_ONLY
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: int | str = "auto"
    remove_zero_eig: bool = False
    random_state: Any = None
    copy_X: bool = True

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_number("n_components", self.n_components, least=1, integer=True)
        if self.max_iter is not None:
            check_number("max_iter", self.max_iter, least=1, integer=True)
        if self.iterated_power != "auto":
            check_number("iterated_power", self.iterated_power, least=0, integer=True)
        check_number("alpha", self.alpha, least=0)
        check_number("tol", self.tol, least=0)
        check_choice("eigen_solver", self.eigen_solver, ["auto", "dense", "arpack", "randomized"])
        for name in ("fit_inverse_transform", "remove_zero_eig", "copy_X"):
            check_flag(name, getattr(self, name))
        if self.fit_inverse_transform and self._is_precomputed():
            raise ValueError("fit_inverse_transform=True needs points to go back to; a precomputed kernel has none.")

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the components.

        {X_train, y_ignored -> self}
        """
        self._check_parameters()
        X = self._training_points(X)
        self.X_fit_ = X.copy() if self.copy_X else X
        self.kernel_ = self._resolved(X)
        features = getattr(self, "n_features_in_", None)
        self.gamma_ = getattr(self.kernel_, "gamma", 1.0 / features if features else None)
        n = X.shape[0]
        gram = gram_of(self.kernel_, X, self._threads(n))
        self._means = gram.product(np.arange(n), np.full(n, 1.0 / n))
        values, vectors = self._components(gram, n if self.n_components is None else min(n, int(self.n_components)))
        vectors *= np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))] < 0, -1.0, 1.0)
        order = np.argsort(-values, kind="stable")
        if self.remove_zero_eig or self.n_components is None:
            order = order[values[order] > 0]
        self.eigenvalues_, self.eigenvectors_ = values[order], vectors[:, order]

        positive = self.eigenvalues_ > 0
        a = np.zeros_like(self.eigenvectors_)
        a[:, positive] = self.eigenvectors_[:, positive] / np.sqrt(self.eigenvalues_[positive])
        a -= a.mean(axis=0)  # zero but for rounding
        self._expansion = expansion_of(self.kernel_, self.X_fit_, a, -(self._means @ a))
        self.__dict__.pop("dual_coef_", None)
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        return self

    def _components(self, gram: Gram, count: int) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of P K P, the ``count`` largest, in any order."""
        n, solver = gram.n, eigen.choose(self.eigen_solver, gram.n, count)
        if solver == "randomized":
            powers = (7 if count < 0.1 * n else 4) if self.iterated_power == "auto" else int(self.iterated_power)
            values, vectors = eigen.randomized(gram, count, powers, self.random_state)
        elif solver == "arpack":
            try:
                values, vectors = eigen.arpack(gram, count, self.tol, self.max_iter, self.random_state)
            except RuntimeError:
                if self.eigen_solver != "auto":
                    raise
                solver = "dense"
        if solver == "dense":
            values, vectors = eigen.dense(gram, count, self._means)
        self.eigen_solver_ = solver
        single = self._is_precomputed() and self.X_fit_.dtype == np.float32
        noise = n * float(np.finfo(np.float32 if single else np.float64).eps) * np.abs(gram.diagonal()).max()
        return eigen.without_noise(values, noise, f"The kernel {self.kernel_!r}"), vectors

    def _learn_inverse(self, X: Points) -> None:
        """(K_z + alpha I) dual_coef = X, with K_z the kernel between the projections of the training points."""
        if self._objects:
            raise ValueError("fit_inverse_transform=True learns a way back to vectors; X holds things that are not.")
        Z = self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        self._inverse_kernel = clone(self.kernel_).resolve(Z)
        n = len(Z)
        check_memory(16.0 * n * n, f"The regression that learns pre-images from {n:,} points", "use fewer points.")
        K = np.ascontiguousarray(gram_of(self._inverse_kernel, Z).block(np.arange(n), np.arange(n)))
        K.flat[:: n + 1] += self.alpha
        try:
            factor = cholesky(K)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"The regression that learns inverse_transform is singular with alpha={shown(self.alpha)}: raise alpha."
            ) from error
        self.dual_coef_ = scipy.linalg.cho_solve((factor, True), dense_rows(X), check_finite=False)

    @all_or_nothing
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components and project the training points on them.

        {X_train, y_ignored -> projections}
        """
        self.fit(X)
        return _as_given(self.eigenvectors_ * np.sqrt(self.eigenvalues_), self.X_fit_)

    def transform(self, X: Any) -> Array:
        """Project points on the components.

        {X_new -> projections}
        """
        X = self._new_points(X)
        return _as_given(self._expand(self._expansion, X), X)

    def inverse_transform(self, X: Any) -> Array:
        """Pre-images of projections, by the regression that ``fit_inverse_transform=True`` learns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projections.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        Z = self._projections(X)
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                "inverse_transform is learnt in fit, with fit_inverse_transform=True; it was False. For the Gaussian "
                "kernel, preimage(X) finds pre-images without learning."
            )
        outputs = self.dual_coef_.shape[1]
        return self._expand(
            expansion_of(self._inverse_kernel, self.X_transformed_fit_, self.dual_coef_, np.zeros(outputs)), Z
        )

    def preimage(
        self, X: Any, method: str = "fixed_point", *, start: Any = None, max_iter: int = 1000, tol: float = 1e-6
    ) -> Array:
        """Points whose features are near to given projections.

        ``preimage(transform(X))`` denoises X by discarding everything outside the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projections, as from ``transform``.
        method : {"fixed_point", "ridge"}, default="fixed_point"
            Fixed-point steps, for the Gaussian kernel (Mika et al. 1999); or ``inverse_transform``.
        start : array-like of shape (n_samples, n_features), optional
            Starting points of the iterations; by default the nearest training point in feature space. If there are
            several pre-images, the start determines which one is found.
        max_iter : int, default=1000
            Maximum number of fixed-point steps.
        tol : float, default=1e-6
            Stop when a step is shorter than this times the width sigma of the kernel.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        if check_choice("method", method, ["fixed_point", "ridge"]) == "ridge":
            return self.inverse_transform(X)
        Z, kernel = self._projections(X), self.kernel_
        if type(kernel) is not RBF or kernel.gamma == 0:
            raise ValueError(
                f"method='fixed_point' is for the Gaussian kernel; this one is {kernel!r}. Fit with "
                "fit_inverse_transform=True and use method='ridge'."
            )
        check_number("max_iter", max_iter, least=1, integer=True)
        check_number("tol", tol, above=0)
        begin = None if start is None else self._new_points(start)
        if begin is not None and begin.shape[0] != len(Z):
            raise ValueError(f"start has {begin.shape[0]} points for {len(Z)} projections: give one for each.")
        training = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        points, coefficients = self._expansion.anchors, self._expansion.coefficients
        found, unsettled = fixed_points(
            Z, begin, points, kernel, coefficients, training, self._means, int(max_iter), tol
        )
        if unsettled:
            warn(
                f"{unsettled} of {len(Z)} pre-images are not settled within tol={tol:g} widths of the kernel after "
                f"max_iter={max_iter} steps: raise max_iter or tol, or keep more components.",
                ConvergenceWarning,
            )
        return found

    def _projections(self, X: Any) -> Array:
        check_is_fitted(self)
        Z = dense_rows(check_points(X))
        if Z.shape[1] != len(self.eigenvalues_):
            raise ValueError(
                f"X has {Z.shape[1]} columns and there are {len(self.eigenvalues_)} components: give projections, as "
                "transform returns them."
            )
        return Z

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)


def _as_given(Z: Array, X: Points) -> Array:
    """Projections in the precision of the points."""
    return Z.astype(np.float32) if X.dtype == np.float32 else Z
