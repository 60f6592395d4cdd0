"""The base class of kernels, symmetric functions k(x, z), and their three stages.

    RBF(gamma="scale")        parameters only, stored as given
    kernel.resolve(X)         a new kernel: parameters validated, "scale" a number, reference data in place
    resolved.matrix(A, B)     the numbers k(a_i, b_j), unchecked and fast

``kernel(A, B)`` does all three on the user's data. k is positive semidefinite (a valid kernel) when
sum_ij c_i c_j k(x_i, x_j) >= 0 for all points and all c; it is then an inner product of features, and

    |k(x, z)| <= sqrt(k(x, x) k(z, z)),

so that no value overflows if the diagonal does not.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import symmetrised
from maxmargin.runtime.estimator import Estimator
from maxmargin.runtime.threads import effective_threads, run_strips
from maxmargin.runtime.validation import Array, Points, as_objects, check_number
from maxmargin.runtime.validation import check_points as validated_points

LARGEST_VALUE = 1e150  # squares of kernel values still fit a float64
MAX_ASYMMETRY = 1e-5  # relative difference of K from its transpose, allowed for functions computed in float32
_DIAGONAL_BLOCK = 32
_OBJECT_ROWS = 256


class Kernel(Estimator, ABC):
    """Base class of kernels, similarities k(x, z) of two points.

    A subclass implements ``matrix``. It may also override ``self_similarity``, if there is a faster way than the
    diagonal of small blocks; ``psd``, if the kernel is positive semidefinite; and ``_resolve``, if it depends on the
    data or validates parameters. Kernels on objects other than vectors set ``takes_objects`` (and ``takes_vectors``).

    Kernels are combined with ``+``, ``*`` and ``**``, and multiplied by positive numbers. They have scikit-learn's
    ``get_params``, ``set_params`` and ``clone``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Kernel
    >>> class Cosine(Kernel):
    ...     psd = True
    ...
    ...     def matrix(self, A, B):
    ...         A, B = (P / np.linalg.norm(P, axis=1, keepdims=True) for P in (A, B))
    ...         return A @ B.T
    >>> Cosine()([[1.0, 0.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    >>> 2 * Cosine() + Cosine() ** 2
    Sum(kernels=[Scaled(factor=2, kernel=Cosine()),
                 Power(exponent=2, kernel=Cosine())])
    """

    __array_ufunc__ = None  # np.float64(2) * kernel is left to kernel.__rmul__
    _limits: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # parameter -> arguments of check_number

    def __call__(self, A: Any, B: Any = None) -> Array:
        """The kernel matrix of the rows of A with the rows of B.

        Parameters
        ----------
        A : array-like, table or sparse matrix of shape (n, d)
            Points, one per row; for kernels on other objects, a list or column of n objects.
        B : array-like, table or sparse matrix of shape (m, d), optional
            Points to compare with; A itself when not given, and the matrix is then exactly symmetric.

        Returns
        -------
        ndarray of shape (n, m), float64
            Whatever depends on data, like ``gamma="scale"``, is computed from all rows of A and B together.
        """
        names = _column_names(A)
        A = self._points(A, "A")
        if B is None:
            kernel = self.resolve(A, feature_names=names)
            return _symmetric(kernel, _values(kernel, A, A), A)
        other_names = _column_names(B)
        B = self._points(B, "B")
        if A.ndim != B.ndim:
            raise ValueError("A and B differ in kind: one has vectors, the other has objects such as strings or sets.")
        if A.ndim == 2 and A.shape[1] != B.shape[1]:
            raise ValueError(f"A has {A.shape[1]} columns and B has {B.shape[1]}: give points of the same features.")
        if names is not None and other_names is not None and names != other_names:
            raise ValueError(f"the columns of A and B differ: {names} and {other_names}. Put them in the same order.")
        self.check_points(B)
        kernel = self.resolve(_stacked(A, B), feature_names=names if names is not None else other_names)
        return _values(kernel, A, B)

    def diagonal(self, A: Any) -> Array:
        """The similarity k(x, x) of each row of A with itself.

        Parameters
        ----------
        A : array-like, table or sparse matrix of shape (n, d)
            Points, one per row; for kernels on other objects, a list or column of n objects.

        Returns
        -------
        ndarray of shape (n,), float64
        """
        names = _column_names(A)
        A = self._points(A, "A")
        return self.resolve(A, feature_names=names).self_similarity(A)

    def resolve(
        self, X: Points, sample_weight: Array | None = None, feature_names: Sequence[str] | None = None
    ) -> Self:
        """Resolve the parameters on the training points, in preparation for ``matrix``.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d), float32 or float64
            The training points; for kernels on other objects, an array of n objects.
        sample_weight : ndarray of shape (n,), optional
            Their weights; a weight of two equals a repetition.
        feature_names : sequence of str, optional
            The names of the columns.

        Returns
        -------
        Kernel
            A new kernel; this one is not modified. Resolving a resolved kernel returns an equal kernel, with the same
            numbers and reference data.

        Raises
        ------
        ValueError, TypeError
            If a parameter is out of its range, the points are not in the kernel's domain, or its values overflow.
        """
        self.check_points(X)
        kernel = self._resolve(X, sample_weight, feature_names)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = kernel._sizes(X)
        if sizes is not None and not (
            sizes.max(initial=0.0) <= LARGEST_VALUE and sizes.min(initial=0.0) >= -LARGEST_VALUE
        ):
            raise ValueError(
                "kernel values overflow: scale the data or lower degree, exponent, gamma or factor "
                f"of {self!r}; k(x, x) reaches {np.abs(sizes).max():.3g}."
            )
        return kernel

    @abstractmethod
    def matrix(self, A: Points, B: Points) -> Array:
        """Compute k(a_i, b_j) of a resolved kernel, without validation.

        Parameters
        ----------
        A, B : ndarray or CSR matrix, float32 or float64
            Points, one per row; one may be dense and the other sparse.

        Returns
        -------
        ndarray of shape (len(A), len(B))
            New, float64, in C order: the caller may overwrite it.
        """

    def self_similarity(self, A: Points) -> Array:
        """Compute k(x, x) of a resolved kernel, without validation.

        Parameters
        ----------
        A : ndarray or CSR matrix, float32 or float64
            Points, one per row.

        Returns
        -------
        ndarray of shape (len(A),), float64
        """
        values = np.empty(A.shape[0])
        for start in range(0, A.shape[0], _DIAGONAL_BLOCK):
            block = A[start : start + _DIAGONAL_BLOCK]
            values[start : start + _DIAGONAL_BLOCK] = self.matrix(block, block).diagonal()
        return values

    def check_points(self, A: Points) -> None:
        """Raise ValueError for points outside the domain of the kernel; most kernels accept all points.

        Parameters
        ----------
        A : ndarray or CSR matrix
            Points, one per row.
        """

    @property
    def takes_objects(self) -> bool:
        """Whether points may be objects other than vectors, in a one-dimensional array of dtype object."""
        return False

    @property
    def takes_vectors(self) -> bool:
        """Whether points may be vectors."""
        return True

    def objects(self, X: Any) -> Array | None:
        """Convert input to an array of objects, if the kernel compares objects; None for vectors.

        Parameters
        ----------
        X : list, column or array-like
            Points.

        Returns
        -------
        ndarray of dtype object, one-dimensional, or None

        Raises
        ------
        ValueError, TypeError
            If X has the wrong type: strings for a kernel on vectors, a table for a kernel on objects.
        """
        if not (self.takes_objects or self.takes_vectors):
            raise TypeError(f"{self!r} combines kernels on vectors with kernels on objects: no input suits both.")
        objects = as_objects(X, only=not self.takes_vectors)
        if objects is None or self.takes_objects:
            return objects
        if isinstance(objects[0], (str, bytes, Set, Mapping)):
            raise ValueError(
                f"X is a list of objects of type {type(objects[0]).__name__}, and {self!r} compares vectors: choose a "
                "kernel for such objects, like Spectrum() for strings, Jaccard() for sets, or a function of your own."
            )
        return None

    def _points(self, X: Any, name: str) -> Points:
        objects = self.objects(X)
        return validated_points(X, name) if objects is None else objects

    @property
    def psd(self) -> bool:
        """Whether the kernel, with these parameters, is positive semidefinite on every data set.

        False means that it is not guaranteed; ``validate_gram`` checks a given matrix.
        """
        return False

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        """A copy with valid parameters and the state ``matrix`` needs: the hook of ``resolve`` for subclasses."""
        for name, limits in self._limits.items():
            check_number(name, getattr(self, name), **limits)
        kernel = object.__new__(type(self))  # faster than copy.copy
        kernel.__dict__.update(self.__dict__)
        return kernel

    def _sizes(self, X: Points) -> Array | None:
        """Numbers that must not overflow on the training points; None if there is nothing to check."""
        return self.self_similarity(X)

    def __add__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Sum

        if isinstance(other, str):
            raise TypeError(f"{type(self).__name__} + {other!r}: add kernel objects, such as RBF() + Linear().")
        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __sub__(self, other: Any) -> Kernel:
        raise TypeError(
            f"{type(self).__name__} - {type(other).__name__}: a difference of kernels need not be a kernel. Kernels "
            "can be added, multiplied and multiplied by positive numbers."
        )

    def __mul__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product.of(self, other)
        if hasattr(other, "__array__"):
            raise TypeError(
                f"{type(self).__name__} * {type(other).__name__}: a kernel can be multiplied by a positive number or "
                "by a kernel. Kernel values of points X are kernel(X)."
            )
        return Scaled(self, other) if _is_number(other) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        from maxmargin.kernels.algebra import Scaled

        return Scaled(self, other) if _is_number(other) else NotImplemented

    def __pow__(self, exponent: Any) -> Kernel:
        from maxmargin.kernels.algebra import Power

        return Power(self, exponent) if _is_number(exponent) else NotImplemented


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _column_names(A: Any) -> list[str] | None:
    """The column names of a pandas or polars table, when they are strings."""
    columns = getattr(A, "columns", None)
    names = None if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _stacked(A: Points, B: Points) -> Points:
    """The rows of A, then those of B."""
    if sp.issparse(A) or sp.issparse(B):
        return sp.vstack([sp.csr_array(A), sp.csr_array(B)], format="csr")
    return np.concatenate([A, B])


def _values(kernel: Kernel, A: Points, B: Points) -> Array:
    """The matrix of a resolved kernel. BLAS has its own threads; kernels on objects are computed in tiles of rows."""
    if A.ndim == 2:
        return kernel.matrix(A, B)
    K = np.empty((len(A), len(B)))

    def work(rows: slice) -> None:
        K[rows] = kernel.matrix(A[rows], B)

    run_strips(work, len(A), _OBJECT_ROWS, effective_threads(None))
    return K


def _symmetric(kernel: Kernel, K: Array, A: Points) -> Array:
    """K of A with itself, made symmetric to the last bit and with the exact diagonal."""
    asymmetry = np.abs(K - K.T).max(initial=0.0)
    if asymmetry > MAX_ASYMMETRY * np.abs(K).max(initial=0.0):
        raise ValueError(
            f"{kernel!r} is not a kernel: k(x, z) and k(z, x) differ by up to {asymmetry:.3g}. A kernel is symmetric."
        )
    K = symmetrised(K)
    np.fill_diagonal(K, kernel.self_similarity(A))
    return K
