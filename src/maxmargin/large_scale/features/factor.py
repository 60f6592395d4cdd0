"""The features of landmarks, from kernel values.

Let z_1..z_m be landmarks, K_mm = k(z_i, z_j) their kernel matrix and k_m(x) = (k(x, z_1), ..., k(x, z_m)). The features

    phi(x) = T'k_m(x),      T'K_mm T = I_r,      T T' = K_mm^+

have phi(x)'phi(z) = k_m(x)'K_mm^+ k_m(z): the inner product of the projections of x and z on the span of the landmarks
in feature space, which is k(x, z) itself where one of them is a landmark. With K_mm = U diag(lambda) U',

    T = U_r diag(lambda_r)^(-1/2)

over the eigenvalues above a cut. Below it are rounding errors, which 1 / sqrt(lambda) would amplify: landmarks given
twice, or more landmarks than the kernel has dimensions, only lower the rank r.

With K_mm + cut I = L L', a Cholesky factor, T = L'^-1 is nearly the same and ten times as fast: it shrinks the
directions below the cut. Directions below the cut stay, so it is for matrices that have next to none, which the pivots
L_ii^2 show.

The eigenvalues show how large rounding errors are: those of a kernel are not negative, so a negative one is an
error, and one of its size above zero may be no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from maxmargin.kernels._arrays import symmetrised
from maxmargin.runtime.decompositions import cholesky, eigh
from maxmargin.runtime.threads import Stop, single_threaded_blas
from maxmargin.runtime.validation import Array

CHOLESKY_MIN_LANDMARKS = 256  # landmarks from which a Cholesky factor is worth a try
DOUBTFUL_PIVOT = 10.0  # a pivot that is less than this many times the cut may be of a direction below it
DOUBTFUL_MAX_SHARE = 0.02  # share of such pivots up to which the factor is taken
POWER_ITERATIONS = 12  # of the power method, for the largest eigenvalue
EIGENVALUE_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # times m, relative to the largest
MAX_NEGATIVE_SHARE = 1e-5  # of the largest eigenvalue: a zero eigenvalue after rounding to float32


@dataclass(frozen=True)
class Factor:
    """T with T'K_mm T = I."""

    T: Array  # (m, rank), float64
    eigenvalues: Array  # (m,); all eigenvalues of K_mm, largest first; of a Cholesky factor only the largest
    cut: float  # eigenvalues above it are used

    @property
    def rank(self) -> int:
        """Number of features."""
        return int(self.T.shape[1])

    @classmethod
    def of(cls, K_mm: Array, kernel: Any = None, stop: Stop | None = None) -> Factor:
        """The factor of a kernel matrix.

        K_mm: (m, m); kernel matrix of the landmarks, symmetric up to rounding
        kernel: named in errors
        stop: called now and then; anything but None ends it with :class:`~maxmargin.runtime.threads.Halted`
        ValueError: If K_mm is not finite, or not positive semidefinite beyond rounding.
        """
        name, K = _name(kernel), _checked(K_mm, kernel)
        values, U = eigh(K, stop)
        values, U = values[::-1], U[:, ::-1]
        lowest, largest = float(values[-1]), float(np.abs(values).max())
        if lowest < -MAX_NEGATIVE_SHARE * largest:
            raise ValueError(
                f"{name} is not positive semidefinite: its matrix of the {len(K)} landmarks has the eigenvalue "
                f"{lowest:.3g} (the largest is {values[0]:.3g}). Choose a positive semidefinite kernel such as 'rbf', "
                "'poly' or 'laplacian', or other parameters; SVC accepts such kernels."
            )
        cut = max(EIGENVALUE_ROUNDING * len(K) * largest, -2.0 * lowest)
        kept = int(np.count_nonzero(values > cut))
        T = U[:, :kept] / np.sqrt(values[:kept])
        # The sign of an eigenvector is arbitrary: its entry of the largest size is made positive.
        T *= np.where(T[np.abs(T).argmax(axis=0), np.arange(kept)] < 0, -1.0, 1.0)
        return cls(np.ascontiguousarray(T), np.ascontiguousarray(values), cut)

    @classmethod
    def of_first(cls, K_mm: Array) -> Factor:
        """The factor of the first landmark only, for a fit that is stopped before the factorisation."""
        T = np.zeros((len(K_mm), 1))
        T[0] = 1.0 / np.sqrt(K_mm[0, 0]) if K_mm[0, 0] > 0 else 0.0
        return cls(T, np.array([float(K_mm[0, 0])]), 0.0)

    @classmethod
    def above(cls, K_mm: Array, share: float, kernel: Any = None, stop: Stop | None = None) -> Factor:
        """The factor for eigenvalues above a share of the largest, by Cholesky where nearly all are.

        K_mm: (m, m)
        kernel, stop: as in :meth:`of`
        """
        K = _checked(K_mm, kernel)
        found = _by_cholesky(K, share, stop) if len(K) >= CHOLESKY_MIN_LANDMARKS else None
        if found is not None:
            return found
        factor = cls.of(K, kernel, stop)
        kept = factor.eigenvalues[: factor.rank] > share * factor.eigenvalues[0]
        return cls(np.ascontiguousarray(factor.T[:, kept]), factor.eigenvalues, factor.cut)


def _name(kernel: Any) -> str:
    return "The kernel" if kernel is None else f"The kernel {kernel!r}"


def _checked(K_mm: Array, kernel: Any) -> Array:
    """The matrix in double precision, symmetric."""
    K = np.asarray(K_mm, dtype=np.float64)
    if not np.isfinite(K).all():
        raise ValueError(f"{_name(kernel)} has values that overflow on the landmarks: scale the data, or lower degree.")
    return symmetrised(K)


def largest_eigenvalue(K: Array) -> float:
    """About the largest eigenvalue of a kernel matrix, by the power method: a lower bound."""
    v, found = np.ones(len(K)), 0.0
    for _ in range(POWER_ITERATIONS):
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        v = v / length
        w = K @ v
        found, v = max(found, float(v @ w)), w
    return found


def _by_cholesky(K: Array, share: float, stop: Stop | None) -> Factor | None:
    """The factor by Cholesky, if directions below the cut are few."""
    with single_threaded_blas():
        largest = largest_eigenvalue(K)
        cut = share * largest
        shifted = K.copy()
        shifted[np.diag_indices_from(K)] += cut
        try:
            L = cholesky(shifted, stop)
        except np.linalg.LinAlgError:
            return None
        if np.count_nonzero(L.diagonal() ** 2 < DOUBTFUL_PIVOT * cut) > DOUBTFUL_MAX_SHARE * len(K):
            return None
        inverse, _ = scipy.linalg.lapack.dtrtri(L, lower=1, overwrite_c=1)
    return Factor(np.ascontiguousarray(inverse.T), np.array([largest]), cut)
