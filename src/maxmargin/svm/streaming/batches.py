"""The batches of a stream as validated arrays, one after the other.

Labels are numbers or texts, weights may all be zero in one batch, and an error names its batch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.runtime.validation import Array, check_weights


def ready(X: Any, n_features: int) -> bool:
    """Whether X is a CSR matrix that validation would return unchanged, which validation itself finds out much
    slower."""
    return (
        sp.issparse(X)
        and X.format == "csr"
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.shape[0] > 0
        and X.shape[1] == n_features
        and X.has_canonical_format
        and math.isfinite(float(X.data.sum()))
    )


def labels(y: Array) -> Array:
    """Class labels of a batch, numbers or texts; anything else is refused."""
    if y.dtype == object:
        kinds = {isinstance(label, str) for label in y}
        if len(kinds) > 1 or (False in kinds and not all(isinstance(v, (int, float, np.number, np.bool_)) for v in y)):
            raise ValueError("Unknown label type: y has labels that are neither all numbers nor all texts.")
        y = np.array(y.tolist())
    if y.dtype.kind == "f":
        odd = y[~(np.isfinite(y) & (y == np.floor(y)))]
        if len(odd):
            raise ValueError(
                f"Unknown label type: continuous. y has {odd[0]}, and labels of classes are whole numbers or texts. "
                "For regression use LinearSVR or SVR."
            )
    elif y.dtype.kind not in "biuUS":
        raise ValueError(f"Unknown label type: {y.dtype}. Labels of classes are numbers or texts.")
    return y


class Places(NamedTuple):
    """The place of every label among sorted names, and whether it is there."""

    at: Array
    known: Array


def places(names: Array, y: Array) -> Places:
    """Where the labels of a batch are among the sorted names of classes."""
    if (names.dtype.kind in "OUS") != (y.dtype.kind in "OUS"):
        raise ValueError(f"y has labels like {y[:1].tolist()}, but the classes are {names.tolist()[:10]}.")
    at = np.minimum(np.searchsorted(names, y), len(names) - 1).astype(np.int64)
    return Places(at, np.asarray(names[at] == y))


def batch_weights(sample_weight: Any, n: int) -> Array:
    """Weights of a batch; unlike those of all data they may all be zero."""
    if sample_weight is not None and np.shape(sample_weight) in ((), (n,)) and not np.any(sample_weight):
        return np.zeros(n)
    return check_weights(sample_weight, n)


def passes(batches: Any, epochs: int) -> Callable[[], Iterator[Any]]:
    """A function that starts a pass over the batches."""
    if isinstance(batches, str | os.PathLike):
        raise TypeError(
            f"batches is the name of a file, {os.fspath(batches)!r}: read it in batches, "
            f"fit_stream(read_batches({os.fspath(batches)!r}, target=...))."
        )
    if not isinstance(batches, Iterable):
        if not callable(batches):
            raise TypeError(
                f"batches must be an iterable of (X, y) or (X, y, sample_weight), or a function that returns one; got "
                f"{type(batches).__name__}."
            )
        return lambda: iter(batches())
    first = iter(batches)
    if first is batches and epochs > 1:
        raise ValueError(
            f"batches is a {type(batches).__name__}, which can be iterated only once, and epochs={epochs}. Give a "
            "list, an object whose __iter__ starts again, or the function that makes the generator: fit_stream(make)."
        )
    fresh = [first]
    return lambda: fresh.pop() if fresh else iter(batches)


def opened(batch: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of a batch."""
    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        raise TypeError(
            f"a batch must be (X, y) or (X, y, sample_weight); got {type(batch).__name__}. A single batch is given as "
            "[(X, y)]."
        )
    return batch[0], batch[1], batch[2] if len(batch) == 3 else None


@contextmanager
def named(where: str) -> Iterator[None]:
    """Errors inside name the batch."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}: {error}") from error
