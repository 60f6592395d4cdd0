"""The validation of kernel matrices: symmetry, positive semidefiniteness, and the size of a violation.

K is the Gram matrix of some points in some feature space exactly when

    K = K'   and   c'Kc >= 0 for all c,  that is  lambda_min(K) >= 0.

In floating point both hold up to rounding, so violations are measured relative to the size of K,

    asymmetry = max_ij |K_ij - K_ji| / max_ij |K_ij|,      violation = max(0, -lambda_min) / max_i |lambda_i|,

the eigenvalues being those of the symmetric part (K + K') / 2, and compared with a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from maxmargin.runtime.validation import check_number


@dataclass(frozen=True)
class GramValidity:
    """The result of ``validate_gram``; true if the matrix is valid.

    Attributes
    ----------
    valid : bool
        Symmetric and positive semidefinite, up to ``tol``.
    symmetric : bool
        Whether ``asymmetry <= tol``.
    asymmetry : float
        The largest \\|K_ij - K_ji\\|, relative to the largest \\|K_ij\\|.
    psd : bool
        Whether ``relative_violation <= tol``.
    smallest_eigenvalue, largest_eigenvalue : float
        Of the symmetric part of the matrix.
    relative_violation : float
        The size of the most negative eigenvalue, relative to the largest in absolute value; 0 if none is negative.
    negative_eigenvalues : int
        Number of eigenvalues that are negative beyond the tolerance.
    size : int
        Number of rows.
    tol : float
        The tolerance.

    Examples
    --------
    >>> from maxmargin.kernels import validate_gram
    >>> validity = validate_gram([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(validity), validity.negative_eigenvalues, round(validity.relative_violation, 3)
    (False, 1, 0.333)
    """

    valid: bool
    symmetric: bool
    asymmetry: float
    psd: bool
    smallest_eigenvalue: float
    largest_eigenvalue: float
    relative_violation: float
    negative_eigenvalues: int
    size: int
    tol: float

    def __bool__(self) -> bool:
        return self.valid

    def __str__(self) -> str:
        if self.valid:
            return (
                f"valid kernel matrix: symmetric, and its {self.size} eigenvalues lie between "
                f"{self.smallest_eigenvalue:.3g} and {self.largest_eigenvalue:.3g}"
            )
        reasons = []
        if not self.symmetric:
            reasons.append(
                f"not symmetric, K and its transpose differ by {_percent(self.asymmetry)} of the largest entry"
            )
        if not self.psd:
            count = "1 eigenvalue is" if self.negative_eigenvalues == 1 else f"{self.negative_eigenvalues} are"
            reasons.append(
                f"smallest eigenvalue {self.smallest_eigenvalue:.3g} ({_percent(self.relative_violation)} of the "
                f"largest in size), {count} negative out of {self.size}"
            )
        return "not a kernel: " + "; ".join(reasons)


def validate_gram(K: Any, tol: float = 1e-8) -> GramValidity:
    """Check whether K is a valid kernel matrix: symmetric and positive semidefinite.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (n, n)
        The matrix, for example ``kernel(X)``.
    tol : float, default=1e-8
        Tolerance for rounding errors, relative to the largest entry and the largest eigenvalue. For a matrix computed
        in float32, 1e-5 is about right.

    Returns
    -------
    GramValidity
        Prints as a sentence; true if K is valid.

    Raises
    ------
    ValueError
        If K is empty, not a square matrix of numbers, or not finite.

    Examples
    --------
    >>> from maxmargin.kernels import RBF, validate_gram
    >>> print(validate_gram(RBF(gamma=1.0)([[0.0], [1.0], [2.0]])))
    valid kernel matrix: symmetric, and its 3 eigenvalues lie between 0.489 and 1.53
    >>> print(validate_gram([[1.0, 2.0], [2.0, 1.0]]))
    not a kernel: smallest eigenvalue -1 (33 % of the largest in size), 1 eigenvalue is negative out of 2
    """
    tol = check_number("tol", tol, least=0)
    try:
        K = np.asarray(K.toarray() if sp.issparse(K) else K)
        K = K.astype(np.float64, casting="same_kind" if K.dtype.kind != "O" else "unsafe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"K must be a matrix of real numbers, such as kernel(X); got {K!r:.60}.") from error
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be a square matrix, one row and one column for each point; got shape {K.shape}.")
    if K.size == 0:
        raise ValueError("K is empty: a kernel matrix needs at least one point.")
    if not np.isfinite(K).all():
        i, j = (int(index) for index in np.argwhere(~np.isfinite(K))[0])
        raise ValueError(f"K[{i}, {j}] is {K[i, j]}: the entries of a kernel matrix must be finite.")
    size = float(np.abs(K).max()) or 1.0
    K = K / size  # keeps sums and eigenvalues away from overflow
    asymmetry = float(np.abs(K - K.T).max())
    eigenvalues = scipy.linalg.eigvalsh((K + K.T) / 2)
    largest_size = float(np.abs(eigenvalues).max()) or 1.0
    violation = max(0.0, -float(eigenvalues[0])) / largest_size
    symmetric, psd = asymmetry <= tol, violation <= tol
    return GramValidity(
        valid=symmetric and psd,
        symmetric=symmetric,
        asymmetry=asymmetry,
        psd=psd,
        smallest_eigenvalue=float(eigenvalues[0]) * size,
        largest_eigenvalue=float(eigenvalues[-1]) * size,
        relative_violation=violation,
        negative_eigenvalues=int(np.count_nonzero(eigenvalues < -tol * largest_size)),
        size=len(K),
        tol=tol,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
