"""Targets of regression: one column or several."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._validation import Array, check_points, check_targets


def check_outputs(y: Any, n_samples: int) -> tuple[Array, bool]:
    """Targets as float64 columns, and whether the user gave a single one-dimensional list of them."""
    if y is None or len(y.shape if hasattr(y, "shape") else np.asarray(y).shape) < 2:
        return check_targets(y, n_samples, numeric=True)[:, None], True
    if sp.issparse(y):
        raise TypeError("y is a sparse matrix; targets must be dense: use y.toarray().")
    Y = check_points(y, "y")
    if len(Y) != n_samples:
        raise ValueError(f"X has {n_samples} samples and y has {len(Y)}: give one row of targets for each sample.")
    return Y.astype(np.float64), False
