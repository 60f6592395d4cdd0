"""Dense decompositions that Ctrl-C and deadlines can end.

LAPACK takes seconds for a few thousand rows and cannot be stopped. SciPy's wrappers hold the interpreter's lock
meanwhile, so that no signal handler runs; NumPy's release it, and are called here on a thread that can be abandoned.
"""

from __future__ import annotations

import numpy as np

from maxmargin.runtime.threads import Stop, abandonable
from maxmargin.runtime.validation import Array


def eigh(A: Array, stop: Stop | None = None) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, smallest first, and eigenvectors; ``A`` must not change meanwhile."""
    values, vectors = abandonable(lambda: np.linalg.eigh(A), float(len(A)) ** 3, stop)
    return values, vectors


def cholesky(A: Array, stop: Stop | None = None) -> Array:
    """The lower triangular L with L L' = A; ``LinAlgError`` if A is not positive definite."""
    return abandonable(lambda: np.linalg.cholesky(A), float(len(A)) ** 3 / 3, stop)


def svd(A: Array, stop: Stop | None = None) -> tuple[Array, Array, Array]:
    """The thin singular value decomposition, ``A = U diag(s) V'``: U, s and V'."""
    products = float(max(A.shape)) * min(A.shape) ** 2
    U, s, Vt = abandonable(lambda: np.linalg.svd(A, full_matrices=False), products, stop)
    return U, s, Vt
