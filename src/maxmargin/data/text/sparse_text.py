"""The svmlight format in blocks of lines.

Whether columns count from 0 or 1 shows only at the end of a file, and so does their number. So indices are kept as they
stand, with the smallest and the largest, and are moved when all are known.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.source import Source
from maxmargin.runtime.memory import available_memory

INDEX_MAX = 2**31 - 2  # scikit-learn's reader holds indices in 32 bits
ESTIMATOR_VECTORS = 4  # vectors as long as the number of columns that any estimator will need


class SparseText:
    """An svmlight file."""

    def __init__(
        self,
        source: Source,
        zero_based: bool | str = "auto",
        labelled: bool = True,
        query_id: bool = False,
        dtype: Any = np.float64,
    ) -> None:
        self.source, self.zero_based, self.labelled = source, zero_based, labelled
        self.options = {"query_id": query_id, "dtype": dtype, "zero_based": True}
        self.bare: bool | None = None  # whether lines lack the target

    def read_all(self, n_features: int | None = None) -> tuple[Any, ...]:
        """Points, targets (None where there are none) and, if asked for, queries."""
        parts, held = [], 0.0
        low, high = INDEX_MAX, -1
        for part in self.parts():
            parts.append(part)
            if part[0].nnz:
                low, high = min(low, int(part[0].indices.min())), max(high, int(part[0].indices.max()))
            held += part[0].data.nbytes + part[0].indices.nbytes
            self.source.check_room(held)
        if not parts:
            raise self.source.error("holds no points: a data file needs a line for each")
        first, width = self.shape(low, high, n_features)
        X = sp.vstack([placed(part[0], first, width) for part in parts], format="csr") if len(parts) > 1 else None
        if X is None:
            X = placed(parts[0][0], first, width)
        others = [np.concatenate(column) for column in list(zip(*parts, strict=True))[1:]]
        return X, None if self.bare else others[0], *others[1:]

    def extent(self) -> tuple[int, int]:
        """The smallest and the largest index, from a pass over the file."""
        low, high, count = INDEX_MAX, -1, 0
        for X, *_ in self.parts():
            count += X.shape[0]
            if X.nnz:
                low, high = min(low, int(X.indices.min())), max(high, int(X.indices.max()))
        if not count:
            raise self.source.error("holds no points: a data file needs a line for each")
        return low, high

    def shape(self, low: int, high: int, n_features: int | None) -> tuple[int, int]:
        """The index of the first column, and the number of columns."""
        if self.zero_based == "auto":
            first = 0 if low == 0 or high < 0 else 1
        else:
            first = 0 if self.zero_based else 1
        width = max(high + 1 - first, 1) if n_features is None else n_features
        if high - first >= width:
            raise self.source.error(
                f"the index {high} is beyond the {width} columns asked for: give the columns of the training data, or "
                "a larger n_features",
                self._line_of(high),
            )
        if 8.0 * ESTIMATOR_VECTORS * width > available_memory():
            raise self.source.error(
                f"the index {high} would make more columns than memory takes: is it right?", self._line_of(high)
            )
        return first, width

    def _line_of(self, index: int) -> int | None:
        """The first line with this index."""
        pattern = re.compile(rb"[ \t]0*%d:" % index)
        for line, block in self.source.blocks():
            if found := pattern.search(block):
                return line + block[: found.start()].count(b"\n")
        return None

    def parts(self) -> Iterator[tuple[Any, ...]]:
        """Points with the indices of the file, targets, queries; a block of lines at a time."""
        from sklearn.datasets import load_svmlight_file  # takes long to import

        for line, block in self.source.blocks():
            if self.bare is None:
                self.bare = self._is_bare(line, block)
            text = re.sub(rb"(?m)^(?=[^\S\n]*[^\s#])", b"0 ", block) if self.bare else block
            try:
                X, *others = load_svmlight_file(io.BytesIO(text), **self.options)
            except (ValueError, OverflowError) as error:
                raise self._explained(line, block, text, error) from error
            if X.shape[0] == 0:
                continue
            if X.nnz and (X.indices.min() < 0 or X.indices.max() > INDEX_MAX):
                raise self._odd(line, text, "an index is out of bounds", lambda x, y: x.indices.min(initial=0) < 0)
            if self.zero_based is False and X.nnz and X.indices.min() == 0:
                raise self._odd(
                    line, text, "Invalid index 0: columns count from 1 unless zero_based", lambda x, y: 0 in x.indices
                )
            if not (np.isfinite(X.data).all() and np.isfinite(others[0]).all()):
                raise self._odd(
                    line,
                    text,
                    "a value is missing or infinite: correct it, or leave out the line",
                    lambda x, y: not (np.isfinite(x.data).all() and np.isfinite(y).all()),
                )
            if self.options["query_id"] and len(others[1]) != X.shape[0]:
                raise self.source.error(f"has {X.shape[0]} points and {len(others[1])} with qid: every line needs one")
            yield X, *others

    def _is_bare(self, line: int, block: bytes) -> bool | None:
        """Whether the first point lacks a target; unknown as long as there are remarks only."""
        for number, text in enumerate(block.split(b"\n"), line):
            words = text.split(b"#")[0].split()
            if words:
                if b":" in words[0] and self.labelled:
                    raise self.source.error(
                        f"{text[:60].decode(errors='replace')!r}: there is no target: put it first", number
                    )
                return b":" in words[0]
        return None

    def _explained(self, line: int, block: bytes, text: bytes, error: Exception) -> Exception:
        """The first line that cannot be read, and why; halves are tried, then halves of halves."""
        from sklearn.datasets import load_svmlight_file

        shown, lines = block.split(b"\n"), text.split(b"\n")
        begin, end, message = 0, len(lines), str(error)
        while end > begin:
            middle = (begin + end + 1) // 2
            try:
                load_svmlight_file(io.BytesIO(b"\n".join(lines[begin:middle])), **self.options)
                begin = middle
            except (ValueError, OverflowError) as found:
                message = str(found)
                if middle == begin + 1:
                    break
                end = middle
        else:
            return self.source.error(message.rstrip("."))
        return self.source.error(f"{shown[begin][:60].decode(errors='replace')!r}: {_in_words(message)}", line + begin)

    def _odd(self, line: int, text: bytes, what: str, is_odd: Any) -> Exception:
        """The first line whose points are odd."""
        from sklearn.datasets import load_svmlight_file

        for number, single in enumerate(text.split(b"\n"), line):
            if single.split(b"#")[0].strip():
                X, y, *_ = load_svmlight_file(io.BytesIO(single), **self.options)
                if is_odd(X, y):
                    return self.source.error(f"{single[:60].decode(errors='replace')!r}: {what}", number)
        return self.source.error(what)


def placed(X: Any, first: int, width: int) -> Any:
    """The points with columns that count from 0, of which there are ``width``."""
    return sp.csr_matrix((X.data, X.indices - first if first else X.indices, X.indptr), shape=(X.shape[0], width))


def _in_words(message: str) -> str:
    """scikit-learn's reason, and what to do."""
    if "too large" in message:
        return "an index is too large: is it right?"
    if "could not convert" in message or "invalid literal" in message or "unpack" in message:
        return "not 'target index:value index:value ...'"
    return message.rstrip(".")
