"""Kernels moved in their feature space, k(x, z) = phi(x)'phi(z).

    Normalized   phi(x) / ||phi(x)||:  k~(x, z) = k(x, z) / sqrt(k(x, x) k(z, z)),  0 where phi(x) = 0
    Centered     phi(x) - m,  m = sum_i w_i phi(x_i) over the training points, sum_i w_i = 1:

                 k~(x, z) = k(x, z) - mu(x) - mu(z) + g
                 mu(x) = phi(x)'m = sum_i w_i k(x, x_i),    g = m'm = sum_i w_i mu(x_i)

Both are inner products of new features, and so keep positive semidefiniteness.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import as_float64
from maxmargin.kernels.algebra import Wrapper
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.canonical_rows import object_digests
from maxmargin.runtime.validation import Array, Points

_TILE_BYTES = 1 << 25  # kernel values held at a time while averaging
_ROUNDING = 32 * float(np.finfo(np.float64).eps)


class Normalized(Wrapper):
    """A kernel normalised to unit length, k(x, z) / sqrt(k(x, x) k(z, z)).

    A point with k(x, x) = 0 has similarity 0 to every point, itself included.

    Parameters
    ----------
    kernel : Kernel
        The kernel.

    Examples
    --------
    >>> from maxmargin.kernels import Linear, Normalized
    >>> Normalized(Linear())([[1.0, 0.0], [2.0, 2.0]]).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def matrix(self, A: Points, B: Points) -> Array:
        K = self.kernel.matrix(A, B)
        K *= self._inverse_lengths(A)[:, None]
        K *= self._inverse_lengths(B)[None, :]
        return K

    def self_similarity(self, A: Points) -> Array:
        return (self._inverse_lengths(A) > 0.0).astype(np.float64)

    def _inverse_lengths(self, A: Points) -> Array:
        """1 / ||phi(x)||, and 0 where phi(x) = 0."""
        squares = self.kernel.self_similarity(A)
        if squares.min(initial=0.0) < 0.0:
            raise ValueError(
                f"{self!r} divides by the square root of k(x, x), which is {squares.min():.3g} for one of the points. "
                "Normalise a kernel that is positive semidefinite."
            )
        lengths = np.sqrt(squares)
        return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)


class Centered(Wrapper):
    """A kernel whose features have mean zero over the training points.

    ``resolve`` evaluates the kernel on all pairs of training points, tile by tile.

    Parameters
    ----------
    kernel : Kernel
        The kernel.

    Attributes
    ----------
    reference_ : ndarray or CSR matrix
        After ``resolve``: a copy of the training points with positive weight.
    weights_ : ndarray of shape (len(reference_),)
        Their weights, of sum 1.
    means_ : ndarray of shape (len(reference_),)
        mu(x_i), the weighted mean similarity of each point to all points.
    grand_mean_ : float
        g, the weighted mean of ``means_``.

    Examples
    --------
    >>> from maxmargin.kernels import Centered, Linear
    >>> Centered(Linear())([[1.0], [2.0], [6.0]])
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def matrix(self, A: Points, B: Points) -> Array:
        K = self.kernel.matrix(A, B)
        mu = self._means(A)
        K -= mu[:, None]
        K -= (mu if B is A else self._means(B))[None, :]
        K += self.grand_mean_
        return K

    def self_similarity(self, A: Points) -> Array:
        k, mu = self.kernel.self_similarity(A), self._means(A)
        distances = k - 2.0 * mu + self.grand_mean_
        scale = np.abs(k) + 2.0 * np.abs(mu) + abs(self.grand_mean_)
        distances[np.abs(distances) <= _ROUNDING * scale] = 0.0  # a point at the centre
        return distances

    def set_params(self, **params: Any) -> Self:
        """Set parameters and discard the reference points of a resolved kernel."""
        super().set_params(**params)
        for name in ("reference_", "weights_", "means_", "grand_mean_", "_known"):
            self.__dict__.pop(name, None)
        return self

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        resolved = copy.copy(self)
        if hasattr(self, "reference_"):
            if X.shape[1:] != self.reference_.shape[1:]:
                there, here = (f"{P.shape[1]} features" if P.ndim == 2 else "objects" for P in (self.reference_, X))
                raise ValueError(
                    f"this kernel is centred on points of {there}; got {here}. "
                    "sklearn.base.clone gives the kernel without its reference."
                )
            return resolved
        w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        resolved.kernel = self.kernel.resolve(X, weights, feature_names)
        resolved.reference_ = X[np.flatnonzero(w > 0)]
        resolved.weights_ = w[w > 0] / w.sum()
        resolved._known = {}
        resolved.means_ = resolved._means(resolved.reference_)
        resolved.grand_mean_ = float(resolved.weights_ @ resolved.means_)
        keys = _row_keys(resolved.reference_)
        if keys is not None:
            resolved._known = dict(zip(keys, resolved.means_.tolist(), strict=True))
        return resolved

    def _sizes(self, X: Points) -> None:
        return None  # the kernel inside was checked, and centring adds nothing to its size

    def _means(self, A: Points) -> Array:
        """mu(x) of each row. Training points are looked up: an average costs as much as a row of K."""
        keys = _row_keys(A) if self._known else None
        if keys is None:
            return self._averages(A)
        found = [self._known.get(key) for key in keys]
        new = np.array([i for i, mean in enumerate(found) if mean is None], dtype=np.intp)
        means = np.array([0.0 if mean is None else mean for mean in found])
        if len(new):
            means[new] = self._averages(A[new])
        return means

    def _averages(self, A: Points) -> Array:
        step = max(1, _TILE_BYTES // (8 * self.reference_.shape[0]))
        tiles = (A[start : start + step] for start in range(0, A.shape[0], step))
        return np.concatenate([self.kernel.matrix(tile, self.reference_) @ self.weights_ for tile in tiles])


def _row_keys(A: Points) -> list[bytes] | None:
    """A digest of the values of each row, by which a training point is recognised; None for objects of a kind whose
    content is not known."""
    if A.dtype == object:
        return object_digests(A)
    A = as_float64(A)
    if sp.issparse(A):
        columns = A.indices.astype(np.int64, copy=False)
        pairs = zip(A.indptr[:-1], A.indptr[1:], strict=True)
        rows = (columns[p:q].tobytes() + A.data[p:q].tobytes() for p, q in pairs)
    else:
        rows = (row.tobytes() for row in A)
    return [hashlib.blake2b(row, digest_size=16).digest() for row in rows]
