"""The error of an approximate kernel, estimated on some rows.

For random rows x_1..x_s with kernel matrix K_s and features Phi_s (one row per point), E = K_s - Phi_s Phi_s':

    trace        sum_i E_ii / sum_i k(x_i, x_i)        the error of the kernel's trace, with standard error
    largest      max_i E_ii / k(x_i, x_i)              the same of the worst row
    spectral     |E|_2 / |K_s|_2
    frobenius    |E|_F / |K_s|_F
    entry        root mean square of E_ij, i != j, relative to the mean of k(x_i, x_i)

For features of landmarks E is positive semidefinite, and its diagonal bounds it: |E_ij| <= sqrt(E_ii E_jj). Rows that
are landmarks have E_ii = 0 and would hide the error of other rows; they are left out. Random features have
E_ii = 0 everywhere by construction, and show their errors off the diagonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.large_scale.features.factor import Factor
from maxmargin.large_scale.features.landmarks import Landmarks
from maxmargin.runtime.threads import single_threaded_blas
from maxmargin.runtime.validation import Array, Points, check_number


@dataclass(frozen=True)
class KernelError:
    """The error of an approximate kernel; all numbers are relative, 0.01 is one per cent.

    Attributes
    ----------
    trace, trace_standard_error : float
        The relative error of the kernel's trace, and its standard error, which is zero if all rows are used.
    largest : float
        The largest relative error of k(x, x).
    spectral, frobenius : float
        Norms of the error matrix of the rows, relative to those of their kernel matrix.
    entry : float
        Root mean square error of k(x, z) for two different rows, relative to the mean k(x, x).
    n_rows, n_population : int
        Rows of the sample, and rows it was drawn from.
    n_features : int
    """

    trace: float
    trace_standard_error: float
    largest: float
    spectral: float
    frobenius: float
    entry: float
    n_rows: int
    n_population: int
    n_features: int

    def __str__(self) -> str:
        rows = f"{self.n_rows:,} row{'s' * (self.n_rows != 1)}"
        if self.trace > 0 or self.largest > 0:
            first = (
                f"the {self.n_features:,} features miss {self._trace()} of the kernel's trace, and "
                f"{_percent(self.largest)} of k(x, x) at the worst of {rows}; "
            )
        else:
            first = f"the {self.n_features:,} features have the exact length k(x, x); of {rows}, "
        return (
            f"{first}their kernel matrix is off by {_percent(self.spectral)} in the spectral norm and "
            f"{_percent(self.frobenius)} in the Frobenius norm, a value k(x, z) by {_percent(self.entry)} of the mean "
            "k(x, x)"
        )

    def _trace(self) -> str:
        """The trace error, rounded to the last digit of its standard error."""
        error = 100.0 * self.trace_standard_error
        places = -math.floor(math.log10(error)) if error > 0 else 0
        if error <= 0 or places > 4:
            return _percent(self.trace)
        places = max(0, places)
        return f"{100.0 * self.trace:.{places}f} % ± {error:.{places}f} %"


def estimate_kernel_error(
    kernel: Kernel,
    X: Points,
    landmarks: Landmarks,
    factor: Factor,
    rng: np.random.Generator | None = None,
    rows: int = 1000,
) -> KernelError:
    """The error of the features of landmarks.

    kernel: a resolved kernel
    X: array or CSR matrix of shape (n, d), or array of n objects; validated points to draw from; for a precomputed
        kernel, its square matrix
    landmarks: if their indices are given, these rows of X are left out (unless there are no others)
    factor: of the kernel matrix of the landmarks
    rng: draws the rows
    rows: their number; all rows if X has fewer. Time and memory grow with its square.
    """
    rng = np.random.default_rng() if rng is None else rng
    others = np.arange(X.shape[0])
    if landmarks.indices is not None:
        others = np.setdiff1d(others, landmarks.indices)
        others = others if len(others) else np.arange(X.shape[0])
    sample = draw_rows(others, rows, rng)
    S = X[sample]
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        Phi = landmarks.values(kernel, S) @ factor.T
        if isinstance(kernel, Precomputed):
            K = S[:, sample]
            K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
        else:
            K = kernel.matrix(S, S)
            np.fill_diagonal(K, kernel.self_similarity(S))
    return error_of(K, Phi, len(others))


def draw_rows(population: Array, rows: int, rng: np.random.Generator) -> Array:
    """A random sample of the population, in order; all if it has no more rows."""
    rows = int(check_number("rows", rows, least=1, integer=True))
    if rows >= len(population):
        return population
    return np.sort(rng.choice(population, rows, replace=False, shuffle=False))


def error_of(K: Array, Phi: Array, n_population: int) -> KernelError:
    """The error of features Phi of rows whose kernel matrix is K, drawn from so many."""
    s = len(K)
    k = K.diagonal().copy()
    with single_threaded_blas():
        E = K - Phi @ Phi.T
        e = E.diagonal().copy()
        e[np.abs(e) <= 1e-12 * k] = 0.0  # rounding
        spectral, size = _spectral_norm(E), _spectral_norm(K)
    mean = float(k.mean())
    trace = float(e.mean()) / mean if mean > 0 else 0.0
    # The standard error of a ratio of means, in a sample without replacement from a finite population.
    deviation = float(np.std(e - trace * k, ddof=1)) if s > 1 else 0.0
    error = deviation / mean * math.sqrt((1.0 - s / n_population) / s) if mean > 0 else 0.0
    off = math.sqrt(max(0.0, float(np.sum(E * E) - np.sum(E.diagonal() ** 2))) / max(1, s * (s - 1)))
    return KernelError(
        trace=trace,
        trace_standard_error=error,
        largest=float((e / np.where(k > 0, k, 1.0)).max()),
        spectral=spectral / size if size > 0 else 0.0,
        frobenius=float(np.linalg.norm(E) / np.linalg.norm(K)) if size > 0 else 0.0,
        entry=off / mean if mean > 0 else 0.0,
        n_rows=s,
        n_population=n_population,
        n_features=Phi.shape[1],
    )


def _spectral_norm(A: Array) -> float:
    """The largest eigenvalue of a symmetric matrix, in size."""
    return float(np.abs(scipy.linalg.eigvalsh((A + A.T) * 0.5, check_finite=False)).max())


def _percent(share: float) -> str:
    """0.0123 as "1.2 %"; two significant digits."""
    per_cent = 100.0 * share
    if per_cent == 0 or abs(per_cent) >= 1e-3:
        return f"{float(f'{per_cent:.2g}'):.10g} %"
    return f"{per_cent:.0e} %"
