"""What the kernel methods share: documented parameters, the kernel matrix of some rows, and their fitted function."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from maxmargin.kernels import Callable, Kernel
from maxmargin.kernels.gram.operator import Gram, computing_form, precomputed_gram
from maxmargin.runtime.estimator import parameters
from maxmargin.runtime.parameter_docs import entries
from maxmargin.runtime.validation import Array, Points
from maxmargin.svm.kernel_input import KernelInput, gram_of, kernel_of
from maxmargin.svm.models.expansion import KernelExpansion

KERNEL_ENTRIES = entries(
    """
kernel : str, Kernel or callable, default="rbf"
    A name, a kernel object, or a function of two points or of two arrays of points.
gamma, degree, coef0
    Parameters of a kernel given by name.
X_fit_ : ndarray, sparse matrix or array of objects
    The training points; for a precomputed kernel, the kernel matrix.
"""
)
# of kernel ridge regression and kernel PCA, as in scikit-learn
SKLEARN_ENTRIES = {
    **KERNEL_ENTRIES,
    **entries(
        """
kernel : str, Kernel or callable, default="linear"
    A name (``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``, ``"laplacian"``, ``"chi2"``, ``"cosine"``,
    ``"intersection"``, ``"precomputed"``), a kernel object, or a function of two points or of two sets of points.
gamma : float, "scale", "auto" or None, default=None
    Parameter of a kernel given by name; None is 1 / n_features (1 for chi2).
degree, coef0 : float, default=3 and 1
    Parameters of a kernel given by name.
kernel_params : dict or None, default=None
    Keyword arguments of a kernel given as a function.
"""
    ),
}


@parameters
class KernelParameters(KernelInput):
    """The parameters of the kernel."""

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    n_jobs: int | None = None


class KernelMethod(KernelParameters):
    """An estimator whose fitted function is an expansion over training points, ``_expansion``."""

    _expansion: KernelExpansion

    def _values(self, X: Any) -> Array:
        """The function at new points."""
        points = self._new_points(X)  # first: it raises NotFittedError
        return self._expand(self._expansion, points)

    def _gram_of(self, X: Points, rows: Array, weights: Array) -> tuple[Gram, Points]:
        """The kernel matrix of some training rows, and what new points are compared with; sets ``kernel_``."""
        if self._is_precomputed():
            self.kernel_ = self._resolved(X)
            return precomputed_gram(X, rows), rows
        points = computing_form(X[rows])  # a copy: the user may change X
        self.kernel_ = self._resolved(points, weights)
        return gram_of(self.kernel_, points, self._threads(len(rows))), points


@parameters
class SklearnKernelMethod(KernelMethod):
    """With the kernels and defaults of scikit-learn's ``KernelRidge`` and ``KernelPCA``."""

    _: KW_ONLY
    kernel: Any = "linear"
    gamma: Any = None
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None

    def _kernel(self) -> Kernel:
        spec = "poly" if isinstance(self.kernel, str) and self.kernel == "polynomial" else self.kernel
        if isinstance(spec, str) and spec == "additive_chi2":
            from sklearn.metrics.pairwise import additive_chi2_kernel

            spec = Callable(additive_chi2_kernel)
        gamma = "auto" if self.gamma is None else self.gamma
        return kernel_of(spec, gamma=gamma, degree=self.degree, coef0=self.coef0, params=self.kernel_params)
