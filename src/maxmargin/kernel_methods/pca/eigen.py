"""The largest eigenvalues of a centred kernel matrix, P K P with P = I - 11'/n.

dense        LAPACK on the matrix, centred in place:  (P K P)_ij = K_ij - mu_i - mu_j + g,  mu = K1/n, g = 1'mu/n
arpack       Lanczos iterations on products v -> P K P v; K is never centred
randomized   Rayleigh-Ritz in the range of (P K P)^(2q + 1) applied to random directions (Halko, Martinsson &
             Tropp 2011)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_random_state

from maxmargin.kernels.gram.operator import Gram
from maxmargin.runtime.decompositions import eigh
from maxmargin.runtime.validation import Array, check_memory
from maxmargin.svm.kernel_input import KERNEL_MATRIX_BYTES

EXTRA_DIRECTIONS = 10  # random directions besides the requested ones
MAX_NEGATIVE_SHARE = 1e-5  # share of the largest eigenvalue that a negative one may be, by rounding
EIGSH_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters  # SciPy 1.17 or later
MIN_EIGENVALUE_SHARE = 1e-12  # share of the largest eigenvalue below which an eigenvalue is zero


def choose(solver: str, n: int, count: int) -> str:
    """The solver chosen by ``"auto"``, or the requested one if it suits."""
    if solver == "auto":
        return "arpack" if n > 200 and (count < 10 or count <= n // 50) else "dense"
    if solver == "arpack" and count >= n:
        raise ValueError(
            f"eigen_solver='arpack' finds fewer components than there are points; got n_components={count} and {n} "
            "points: use eigen_solver='dense'."
        )
    return solver


def dense(gram: Gram, count: int, means: Array) -> tuple[Array, Array]:
    """By LAPACK, exact."""
    n = gram.n
    check_memory(
        24.0 * n * n,
        f"The exact eigenvectors of {n:,} points",
        "ask for a few components, with eigen_solver='arpack' or 'randomized', which need not hold the matrix.",
    )
    every = np.arange(n)
    K = np.ascontiguousarray(gram.block(every, every))
    K -= means[:, None]
    K -= means[None, :] - means.mean()
    # K.T is K, in the order of memory that LAPACK can overwrite
    if count > n // 4:  # divide and conquer finds all eigenvectors in less time than the other driver finds some
        values, vectors = eigh(K)
        return values[n - count :], vectors[:, n - count :]
    return scipy.linalg.eigh(K.T, subset_by_index=(n - count, n - 1), overwrite_a=True, check_finite=False)


def centred_product(gram: Gram) -> Callable[[Array], Array]:
    """V -> P K P V, for a vector or some columns; K is held if it fits, and otherwise computed in every product."""
    every = np.arange(gram.n)
    held = 8.0 * gram.n**2 <= KERNEL_MATRIX_BYTES
    K = np.ascontiguousarray(gram.block(every, every)).T if held else None

    def product(V: Array) -> Array:
        V = V - V.mean(axis=0)
        if K is None:
            W = gram.product(every, V)
        elif V.ndim == 1:
            W = dsymv(1.0, K, V)  # reads one triangle: half the memory traffic of K @ V
        else:
            W = K @ V
        return W - W.mean(axis=0)

    return product


def arpack(gram: Gram, count: int, tol: float, max_iter: int | None, random_state: Any) -> tuple[Array, Array]:
    """By Lanczos iterations, to the relative accuracy ``tol`` (0: that of float64). Where there are fewer directions
    than components, they are restarted from random vectors, which are the same in every fit."""
    n, product = gram.n, centred_product(gram)
    operator = LinearOperator((n, n), matvec=lambda v: product(v.reshape(-1)), dtype=np.float64)
    v0 = check_random_state(0 if random_state is None else random_state).uniform(-1.0, 1.0, n)
    if not product(v0).any():  # all points are equal: no component has variance
        return np.zeros(count), np.eye(n)[:, :count]
    options: dict[str, Any] = {"rng": np.random.default_rng(0)} if EIGSH_TAKES_RNG else {}
    try:
        return eigsh(operator, count, which="LA", tol=tol, maxiter=max_iter, v0=v0, **options)
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"eigen_solver='arpack' found {len(error.eigenvalues)} of {count} components within max_iter={max_iter}: "
            "raise max_iter or tol, or use eigen_solver='dense'."
        ) from error


def randomized(gram: Gram, count: int, powers: int, random_state: Any) -> tuple[Array, Array]:
    """From a random subspace: approximate, and the cheapest where the eigenvalues fall fast."""
    n, product = gram.n, centred_product(gram)
    Q = check_random_state(random_state).standard_normal((n, min(n, count + EXTRA_DIRECTIONS)))
    for _ in range(2 * powers + 1):
        Q, _ = np.linalg.qr(product(Q))
    values, vectors = scipy.linalg.eigh(Q.T @ product(Q))
    return values[-count:], Q @ vectors[:, -count:]


def without_noise(values: Array, floor: float, name: str) -> Array:
    """Eigenvalues of a positive semidefinite matrix: those that rounding may have made are zero, and one that is
    truly negative is an error. ``floor`` is the size of rounding errors in the matrix."""
    largest, smallest = values.max(), values.min()
    if smallest < -max(MAX_NEGATIVE_SHARE * largest, floor):
        raise ValueError(
            f"{name} is not positive semidefinite on these points: eigenvalues reach from {smallest:.3g} to "
            f"{largest:.3g}. Ask for fewer components, or use a valid kernel; maxmargin.validate_gram checks it."
        )
    return np.where(values > max(MIN_EIGENVALUE_SHARE * largest, floor), values, 0.0)
