"""Sparse matrices by rows, as compiled functions take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.runtime.validation import Array, Points

CsrArrays = tuple[Array, Array, Array]


def csr_arrays(X: Points, rows: slice | None = None, index: Any = None) -> CsrArrays:
    """Row offsets, columns and values of a range of rows of a CSR matrix (of all of them without one).

    Offsets start at zero and have the type of the columns: ``index``, or else int32 or int64, whichever they have.
    Columns and values are views where their type allows it and they are aligned, so that matrices on disk stay there.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from maxmargin.runtime.csr import csr_arrays
    >>> csr_arrays(sp.csr_array([[0.0, 2.0], [3.0, 0.0], [4.0, 5.0]]), slice(1, 3))
    (array([0, 1, 3], dtype=int32), array([0, 0, 1], dtype=int32), array([3., 4., 5.]))
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
