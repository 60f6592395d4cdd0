"""Batches of a stream, collected for repeated passes.

They are joined in memory as long as they fit the budget. Beyond it they go to temporary files, dense rows as one matrix
and sparse ones as the three arrays of CSR, and are read as memory maps, in the precision of the batches: float32 if all
batches have it. The files are removed when the buffer is closed, also after an error.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array, Points

READ_BYTES = 2**22  # bytes that are read at a time


def _bytes(X: Points) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sp.issparse(X) else int(X.nbytes)


class DiskBuffer:
    """Rows that arrive in batches.

    budget: bytes that may be held in memory
    """

    def __init__(self, budget: float) -> None:
        self.budget, self.held, self.n = budget, 0, 0
        self.parts: list[Points] = []
        self.indptr: list[Array] = []
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.files: dict[str, Any] = {}
        self.columns, self.entries, self.sparse = 0, 0, False
        self.dtype: Any = np.float32

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
        if self.folder is not None and X.dtype == np.float64 and self.dtype is np.float32:
            self._widen()
        self.dtype = np.float64 if X.dtype == np.float64 else self.dtype
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
        values = (X.data if self.sparse else X).astype(self.dtype, copy=False)
        if self.sparse:
            self.files["data"].write(values.tobytes())
            self.files["indices"].write(X.indices.astype(np.int32).tobytes())
            self.indptr.append(X.indptr[1:].astype(np.int64) + self.entries)
            self.entries += X.nnz
        else:
            self.files["rows"].write(np.ascontiguousarray(values).tobytes())

    def _widen(self) -> None:
        """Convert the file from single to double precision."""
        assert self.folder is not None
        name = "data" if self.sparse else "rows"
        path, wide = Path(self.folder.name) / name, Path(self.folder.name) / "wide"
        self.files[name].close()
        with open(path, "rb") as narrow, open(wide, "wb") as file:
            while piece := narrow.read(READ_BYTES):
                file.write(np.frombuffer(piece, np.float32).astype(np.float64).tobytes())
        wide.replace(path)
        self.files[name] = open(path, "ab")  # noqa: SIM115

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
            return np.memmap(folder / "rows", self.dtype, "r", shape=(self.n, self.columns))
        if self.entries == 0:
            return sp.csr_matrix((self.n, self.columns), dtype=self.dtype)
        data = np.memmap(folder / "data", self.dtype, "r", shape=(self.entries,))
        indices = np.memmap(folder / "indices", np.int32, "r", shape=(self.entries,))
        indptr = np.concatenate(([0], *self.indptr)).astype(np.int64)
        X = sp.csr_matrix((self.n, self.columns), dtype=self.dtype)
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
