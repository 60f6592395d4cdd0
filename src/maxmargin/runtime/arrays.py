"""Arrays as users have them: those of other libraries, small numbers, and sparse matrices, which are checked and
brought to the form that compiled loops can follow."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp


def as_numpy(X: Any) -> Any:
    """A tensor or other array that is not NumPy's as a NumPy array over the same memory; anything else as it is."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):
        return X
    X = X.detach() if hasattr(X, "detach") else X  # tensors with gradients must be detached
    return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)


def exact_single(X: Any) -> Any:
    """Numbers of one or two bytes (pixels, counts, float16) as float32, which holds them exactly in half the memory of
    float64; anything else as it is."""
    if not (isinstance(X, np.ndarray) or sp.issparse(X)) or X.dtype.kind not in "iuf" or X.dtype.itemsize > 2:
        return X
    return X.astype(np.float32)


Array: TypeAlias = npt.NDArray[Any]
CsrArrays = tuple[Array, Array, Array]


def csr_arrays(X: Any, rows: slice | None = None, index: Any = None) -> CsrArrays:
    """Row offsets, columns and values of a range of rows of a CSR matrix (of all of them without one).

    Offsets start at zero and have the type of the columns: ``index``, or else int32 or int64, whichever they have.
    Columns and values are views where their type allows it and they are aligned, so that matrices on disk stay there.
    """
    start, stop, _ = (rows or slice(None)).indices(X.shape[0])
    offsets = X.indptr[start : stop + 1]
    entries = slice(int(offsets[0]), int(offsets[-1]))
    if index is None:
        narrow = X.indices.dtype == np.int32 and entries.stop - entries.start < 2**31
        index = np.int32 if narrow else np.int64
    columns = np.require(X.indices[entries], index, ["C", "A"])
    values = np.require(X.data[entries], requirements=["C", "A"])
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    return (offsets - offsets[0]).astype(index), columns, values


def canonical_csr(X: Any) -> Any:
    """CSR with sorted indices and no duplicates; the user's own matrix is never changed."""
    check_indices(X)  # again: X may come from a format that is checked only now (lil)
    if sp.issparse(X) and not (X.has_sorted_indices and X.has_canonical_format):
        X = X.copy()
        X.sum_duplicates()
    return X


def check_indices(X: Any) -> None:
    """Refuse a sparse matrix whose indices point outside it: compiled loops, scipy's among them, would follow them.
    Called before anything else reads the matrix."""
    if not sp.issparse(X) or X.ndim != 2:
        return
    if X.format == "coo":
        for indices, extent in zip((X.row, X.col), X.shape, strict=True):
            if len(indices) != len(X.data):
                raise ValueError("X is a damaged sparse matrix: an entry lacks its value or an index. Rebuild it.")
            _check_range(indices, extent)
    if X.format not in ("csr", "csc", "bsr"):
        return
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    n, d = X.shape[0] // height, X.shape[1] // width
    if X.format == "csc":
        n, d = d, n
    pointers = X.indptr
    if len(pointers) != n + 1 or pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any():
        raise ValueError("X is a damaged sparse matrix: its pointers (indptr) do not rise from 0. Rebuild it.")
    count = int(pointers[-1])
    if count > min(len(X.indices), len(X.data)):
        raise ValueError("X is a damaged sparse matrix: it has fewer entries than its pointers (indptr) say.")
    _check_range(X.indices[:count], d)


def _check_range(indices: Array, extent: int) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= extent):
        wrong = indices[(indices < 0) | (indices >= extent)][0]
        raise ValueError(f"X is a damaged sparse matrix: an entry has the index {wrong}, of {extent}. Rebuild it.")
