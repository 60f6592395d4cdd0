"""The bandwidth gamma of a kernel, given as a rule or as a number.

    "scale"   gamma = 1 / (d v),  v = sum_i w_i sum_k (x_ik - m)^2 / (d sum_i w_i),  m the weighted mean of all entries
    "auto"    gamma = 1 / d
    a number  gamma > 0

with d features and sample weights w. Zeros of a sparse matrix are entries like any other. When all entries are equal,
v = 0 and "scale" gives 1. These are scikit-learn's definitions, where they hold for w = 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels._arrays import chunks, plain
from maxmargin.runtime.validation import Array, Points, check_choice, check_number


def resolve_gamma(gamma: Any, X: Points, weights: Array | None = None) -> float:
    """Resolve the ``gamma`` parameter of a kernel to a number.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
        The rule, or a number > 0, which is returned unchanged.
    X : array or CSR matrix of shape (n_samples, n_features)
        The points from which ``"scale"`` and ``"auto"`` are computed.
    weights : array of shape (n_samples,), optional
        Sample weights; a weight of two equals repeating the sample.

    Returns
    -------
    gamma : float

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import resolve_gamma
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> resolve_gamma("scale", X)
    0.4
    >>> resolve_gamma("auto", X)
    0.5
    """
    if not isinstance(gamma, str):
        return check_number("gamma", gamma, above=0)
    rule = check_choice("gamma", gamma, ("scale", "auto"), extra=" or a number > 0")
    d = X.shape[1]
    if rule == "auto":
        return 1.0 / d
    with np.errstate(over="ignore", invalid="ignore"):
        v = _sparse_variance(X, weights) if sp.issparse(X) else _dense_variance(X, weights)
    if v == 0.0:
        return 1.0
    if not (math.isfinite(v) and math.isfinite(1.0 / (d * v))):
        raise ValueError(
            f"gamma='scale' needs the variance of the data, which is {v:g}: scale the data to ordinary numbers "
            "(for example with StandardScaler), or give gamma as a number. "
            "(The dual coefficients or intercepts are not finite for such data.)"
        )
    return 1.0 / (d * v)


def _dense_variance(X: Array, weights: Array | None) -> float:
    """Two passes over chunks of rows. Entries are taken relative to one of them: constant data has variance 0."""
    X = plain(X)
    n, d = X.shape
    w, total, first = np.ones(n), float(n), 0  # of rows that count alike
    if weights is not None:
        w = np.ascontiguousarray(weights, np.float64)
        total, first = float(w.sum()), int((w != 0).argmax())
    count, pivot = total * d, float(X[first, 0])
    parts = chunks(X)
    mean = math.fsum(_native.power_sum(X[rows], w[rows], pivot, 1) for rows in parts) / count
    return math.fsum(_native.power_sum(X[rows], w[rows], pivot + mean, 2) for rows in parts) / count


def _sparse_variance(X: Points, weights: Array | None) -> float:
    """The same sums over the stored entries, plus the zeros' share, m^2 each."""
    n, d = X.shape
    w = np.ones(n) if weights is None else weights
    count = float(w.sum()) * d
    w_entry = np.repeat(w, np.diff(X.indptr))
    full = X.nnz == n * d
    missing = 0.0 if full else count - float(w_entry.sum())
    pivot = float(X.data[np.flatnonzero(w_entry)[0]]) if full else 0.0
    entries = X.data.astype(np.float64) - pivot
    mean = float(w_entry @ entries) / count
    return (float(w_entry @ (entries - mean) ** 2) + missing * mean**2) / count
