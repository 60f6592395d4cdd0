"""One row at a time, for the methods that go through the rows: x_i'u and u += t x_i, dense and CSR alike.

Compiled loops see X as flat arrays: :func:`row_arrays` makes them, :func:`row_dot` and :func:`row_add` read them. A
dense row is read as x_i - m, with m zero where the columns are not centred. Column indices are seen as unsigned, and
so is the place in a CSR row: a signed index could count from the end, and asking each time whether it does takes as
long as the sum itself.
"""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array, Points


def row_arrays(X: Points, shift: Array | None = None) -> tuple[bool, Array, Array, Array, Array]:
    """(whether CSR, row pointers, column indices, values, column shifts); the first three mean nothing if dense.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.rows import row_arrays, row_dot
    >>> row_dot(*row_arrays(np.array([[1.0, 2.0], [3.0, 4.0]])), 1, np.array([1.0, 10.0]))
    43.0
    """
    if sp.issparse(X):
        if X.format != "csr":
            raise TypeError(f"Rows are read one at a time, and X is a {X.format.upper()} matrix: use X.tocsr().")
        return True, X.indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data, np.zeros(0)
    shift = np.zeros(X.shape[1]) if shift is None else shift
    return False, np.zeros(0, np.int32), np.zeros(0, np.uint32), np.ravel(X), shift


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_dot(data: Array, shift: Array, first: int, u: Array) -> float:
    """A sum that may be formed in any order, and so by vector instructions; a CSR row is too short for them."""
    total = 0.0
    for j in range(len(shift)):
        total += (data[first + j] - shift[j]) * u[j]
    return total


@numba.njit(cache=True, nogil=True, inline="always")
def row_dot(sparse: bool, indptr: Array, indices: Array, data: Array, shift: Array, i: int, u: Array) -> float:
    """x_i'u."""
    if not sparse:
        return _dense_dot(data, shift, i * len(shift), u)
    total = 0.0
    for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        total += data[p] * u[indices[p]]
    return total


@numba.njit(cache=True, nogil=True, inline="always")
def row_add(
    sparse: bool, indptr: Array, indices: Array, data: Array, shift: Array, i: int, factor: float, u: Array
) -> None:
    """u += factor x_i."""
    if sparse:
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            u[indices[p]] += factor * data[p]
    else:
        first = i * len(shift)
        for j in range(len(shift)):
            u[j] += factor * (data[first + j] - shift[j])
