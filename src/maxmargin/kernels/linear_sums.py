"""Fitted values of the linear kernel with twice the digits of float64.

    f_i = sum_j c_j x_i'x_j = x_i'w,        w = sum_j c_j x_j

The sums over j can be larger than f by many orders of magnitude: next to a column of 1e5, multipliers of 100 give
terms of 1e12, which cancel to values near one. Products are split into their value and its rounding error (Dekker 1971)
and so are sums (Knuth 1969); the errors are summed apart (Ogita, Rump and Oishi 2005), which gives the result of
arithmetic with 106 bits, rounded once. Sums have a fixed order.
"""

from __future__ import annotations

import numpy as np

from maxmargin.runtime.validation import Array

SPLITTER = 2.0**27 + 1.0  # splits 53 bits into two halves, whose products are exact
CHUNK_MAX_VALUES = 1 << 15  # numbers at a time: the ten arrays of a chunk stay in the cache


def linear_values(X: Array, cols: Array, coef: Array, rows: Array | None = None) -> Array:
    """f of the rows of X (all by default), for the coefficients of its rows ``cols``; ``coef`` may have several
    columns.
    """
    coef = np.asarray(coef, np.float64)
    if coef.ndim == 1:
        return _times(X, rows, *_combination(X, cols, coef))
    outputs = [_times(X, rows, *_combination(X, cols, coef[:, k])) for k in range(coef.shape[1])]
    return np.stack(outputs, axis=1)


def _combination(X: Array, rows: Array, coef: Array) -> tuple[Array, Array]:
    """w, as a value and what is missing from it."""
    w, rest = np.zeros((2, X.shape[1]))
    for part in _chunks(len(rows), X.shape[1]):
        points = np.asarray(X[rows[part]], np.float64)
        value, error = _summed(*_two_product(points, coef[part, None]))
        if not np.isfinite(value + error).all():
            value, error = _plain(coef[part], points), np.zeros(X.shape[1])
        w, more = _two_sum(w, value)
        rest += more + error
    return w, rest


def _times(X: Array, rows: Array | None, w: Array, rest: Array) -> Array:
    """X (w + rest)."""
    out = np.empty(len(X) if rows is None else len(rows))
    for part in _chunks(len(out), X.shape[1]):
        points = np.asarray(X[part] if rows is None else X[rows[part]], np.float64)
        product, error = _two_product(points, w)
        error += points * rest
        value, more = _summed(product.T, error.T)
        out[part] = value + more
        if not np.isfinite(out[part]).all():
            out[part] = _plain(points, w)
    return out


def _plain(A: Array, B: Array) -> Array:
    """A @ B where splitting overflows, which it does a little before the products."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(A @ B)


def _chunks(n: int, width: int) -> list[slice]:
    step = max(1, CHUNK_MAX_VALUES // max(1, width))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b and its rounding error."""
    with np.errstate(over="ignore", invalid="ignore"):
        p = a * b
        a_high, a_low = _split(a)
        b_high, b_low = _split(b)
        return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> tuple[Array, Array]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its rounding error."""
    with np.errstate(over="ignore", invalid="ignore"):
        s = a + b
        part = s - a
        return s, (a - (s - part)) + (b - part)


def _summed(values: Array, errors: Array) -> tuple[Array, Array]:
    """The sum over the first axis, by halves, and what is missing from it."""
    rest = errors.sum(axis=0)
    while len(values) > 1:
        half = len(values) // 2
        s, error = _two_sum(values[:half], values[half : 2 * half])
        rest = rest + error.sum(axis=0)
        values = np.concatenate((s, values[2 * half :])) if len(values) % 2 else s
    return (values[0] if len(values) else np.zeros(values.shape[1:])), rest
