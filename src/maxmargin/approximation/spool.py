"""Batches of a stream, gathered so that they can be passed over again and again.

They are joined in memory as long as they fit the budget. Beyond it they go to temporary files, dense rows as one
float32 matrix and sparse ones as the three arrays of CSR, and come back as memory maps. The files are gone when the
spool is closed, whatever happened in between.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin._validation import Array, Points


def _bytes(X: Points) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else int(X.nbytes)


class Spool:
    """Rows that arrive in batches.

    Parameters
    ----------
    budget : float
        Bytes that may be held in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.approximation.spool import Spool
    >>> with Spool(budget=100.0) as spool:
    ...     for start in (0.0, 40.0):
    ...         spool.add(np.arange(start, start + 40.0).reshape(20, 2))
    ...     X = spool.points()
    ...     print(type(X).__name__, X.dtype, X.shape, X[-1], spool.on_disk)
    memmap float32 (40, 2) [78. 79.] True
    """

    def __init__(self, budget: float) -> None:
        self.budget, self.held, self.n = budget, 0, 0
        self.parts: list[Points] = []
        self.indptr: list[Array] = []
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.files: dict[str, Any] = {}
        self.columns, self.entries, self.sparse = 0, 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def on_disk(self) -> bool:
        """Whether rows went to files."""
        return self.folder is not None

    def add(self, X: Points) -> None:
        """One more batch; it may be changed afterwards."""
        if self.n == 0:
            self.sparse, self.columns = sp.issparse(X), X.shape[1] if X.ndim == 2 else 0
        elif sp.issparse(X) != self.sparse:
            X = sp.csr_matrix(X) if self.sparse else X.toarray()
        self.n += X.shape[0]
        if self.folder is None:
            self.held += _bytes(X)
            self.parts.append(X.copy())
            if self.held <= self.budget or X.dtype == object:
                return
            self.folder = tempfile.TemporaryDirectory(prefix="maxmargin-")
            names = ("data", "indices") if self.sparse else ("rows",)
            self.files = {name: open(Path(self.folder.name) / name, "wb") for name in names}  # noqa: SIM115
            parts, self.parts = self.parts, []
        else:
            parts = [X]
        for part in parts:
            self._write(part)

    def _write(self, X: Points) -> None:
        with np.errstate(over="ignore"):  # found out below
            values = (X.data if self.sparse else X).astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError(
                "X has entries beyond the range of float32, in which rows that do not fit into memory are kept: scale "
                "the columns of X, or raise cache_size."
            )
        if self.sparse:
            self.files["data"].write(values.tobytes())
            self.files["indices"].write(X.indices.astype(np.int32).tobytes())
            self.indptr.append(X.indptr[1:].astype(np.int64) + self.entries)
            self.entries += X.nnz
        else:
            self.files["rows"].write(np.ascontiguousarray(values).tobytes())

    def points(self) -> Points:
        """All rows."""
        if self.folder is None:
            if len(self.parts) == 1:
                return self.parts[0]
            return sp.vstack(self.parts, format="csr") if self.sparse else np.concatenate(self.parts)
        for file in self.files.values():
            file.flush()
        folder = Path(self.folder.name)
        if not self.sparse:
            return np.memmap(folder / "rows", np.float32, "r", shape=(self.n, self.columns))
        if self.entries == 0:
            return sp.csr_matrix((self.n, self.columns), dtype=np.float32)
        data = np.memmap(folder / "data", np.float32, "r", shape=(self.entries,))
        indices = np.memmap(folder / "indices", np.int32, "r", shape=(self.entries,))
        indptr = np.concatenate(([0], *self.indptr)).astype(np.int64)
        X = sp.csr_matrix((self.n, self.columns), dtype=np.float32)
        X.data, X.indices, X.indptr = data, indices, indptr  # set, so that scipy does not copy them
        X.has_sorted_indices = X.has_canonical_format = True
        return X

    def close(self) -> None:
        """Remove the files."""
        for file in self.files.values():
            file.close()
        self.files = {}
        if self.folder is not None:
            self.folder.cleanup()
