"""Arrays as users have them: those of other libraries, and small numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
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
