"""Data in the svmlight format, as LIBSVM's tools use it: one line per point, with its target and its non-zero features.

    3 qid:7 1:0.5 4:-2    # target, query (if any), index:value with rising indices, and a remark

LIBSVM counts columns from 1, some writers from 0, and a file does not say which. A file in which index 0 occurs counts
from 0. One in which it does not is taken to count from 1: rightly so, unless its first column is empty throughout, and
then every column is one too far to the left. Give ``zero_based=True`` if that is possible.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.formats import check_options
from maxmargin.data.source import PACKERS, Source
from maxmargin.data.text.sparse_text import SparseText
from maxmargin.io._atomic import write_atomically
from maxmargin.runtime.validation import Array, Points, check_flag, check_points, check_targets


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    query_id: bool = False,
    dtype: Any = np.float64,
) -> Any:
    """Read points and targets from an svmlight file.

    Parameters
    ----------
    path : str or path
        The file, or "-" for standard input; files compressed with gzip, bzip2 or xz are decompressed. Windows line ends
        and a byte order mark are accepted.
    n_features : int, optional
        Number of columns; by default the largest index in the file. For test data, give that of the training data.
    zero_based : bool or "auto", default="auto"
        Whether column indices start at 0; "auto" assumes it if, and only if, an index 0 occurs.
    query_id : bool, default=False
        Whether to return the query IDs too.
    dtype : type, default=float64
        dtype of the points, float64 or float32.

    Returns
    -------
    X : CSR matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    query : array of shape (n_samples,)
        Only with ``query_id``.

    Raises
    ------
    DataFileError
        If a line is invalid; the message names the file and the line.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import read_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:0.5 3:2\\n-1 2:1  # a remark\\n")
    ...     X, y = read_svmlight(path)
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ], [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    check_options(zero_based=zero_based, n_features=n_features)
    check_flag("query_id", query_id)
    return SparseText(Source(path), zero_based, query_id=query_id, dtype=dtype).read_all(n_features)


def write_svmlight(
    X: Any, y: Any, path: str | os.PathLike[str], *, zero_based: bool = False, query_id: Any = None
) -> None:
    """Write points and targets to an svmlight file, in full precision.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Targets, or labels that are numbers.
    path : str or path
        The file name; the endings ``.gz``, ``.bz2`` and ``.xz`` compress the file.
    zero_based : bool, default=False
        Whether column indices start at 0; in LIBSVM they start at 1.
    query_id : array-like of shape (n_samples,), optional
        A query for each point.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.io import write_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     write_svmlight([[0.5, 0.0, 2.0], [0.0, 0.1, 0.0]], [1, -1], path)
    ...     with open(path) as file:
    ...         print(file.read())
    1 1:0.5 3:2.0
    -1 2:0.1
    """
    points = sp.csr_matrix(check_points(X))
    targets = check_targets(y, points.shape[0])
    if targets.dtype.kind not in "biuf":
        raise ValueError(f"y holds values of type {targets.dtype}; the svmlight format has numbers only.")
    if targets.dtype.kind == "b":
        targets = targets.astype(int)
    queries = None if query_id is None else check_targets(query_id, points.shape[0])
    if queries is not None and queries.dtype.kind not in "iu":
        raise ValueError(f"query_id holds values of type {queries.dtype}; queries are integers.")
    packed = os.path.splitext(os.fspath(path))[1].lower()
    pieces: Any = _lines(points, targets, queries, 0 if check_flag("zero_based", zero_based) else 1)
    write_atomically(path, [PACKERS[packed].compress(b"".join(pieces))] if packed in PACKERS else pieces)


def _lines(X: Points, y: Array, queries: Array | None, first: int) -> Iterator[bytes]:
    for row, target in enumerate(y.tolist()):
        words = [repr(target)] + ([] if queries is None else [f"qid:{queries[row]}"])
        entries = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
        words += [f"{index + first}:{value!r}" for index, value in pairs if value]
        yield (" ".join(words) + "\n").encode()
