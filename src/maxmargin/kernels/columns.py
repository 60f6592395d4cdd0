"""A kernel of some of the columns, k~(x, z) = k(x_S, z_S).

Sums and products of such kernels give every group of features a similarity of its own, for example a Gaussian for
measurements plus an intersection for counts.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from maxmargin.kernels.algebra import checked_kernel
from maxmargin.kernels.base import Kernel
from maxmargin.runtime.validation import Array, Points, check_choice


class Columns(Kernel):
    """A kernel restricted to some columns.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the chosen columns.
    columns : int, str, slice, list of int, list of str or boolean mask
        The columns: by position (negative positions count from the end), by name, or by a boolean mask.

    Attributes
    ----------
    indices_ : ndarray of int
        After ``resolve``: the positions of the chosen columns.
    n_features_ : int
        After ``resolve``: the total number of columns.

    Examples
    --------
    >>> from maxmargin.kernels import Columns, HistogramIntersection, Linear
    >>> kernel = Columns(Linear(), [0]) + Columns(HistogramIntersection(), slice(1, None))
    >>> kernel([[-1.0, 3.0, 1.0], [2.0, 1.0, 1.0]])
    array([[5., 0.],
           [0., 6.]])
    """

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def matrix(self, A: Points, B: Points) -> Array:
        left = self._select(A)
        return self.kernel.matrix(left, left if B is A else self._select(B))

    def self_similarity(self, A: Points) -> Array:
        return self.kernel.self_similarity(self._select(A))

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def check_points(self, A: Points) -> None:
        checked_kernel(self)
        if hasattr(self, "indices_"):  # else resolve finds the columns, and the kernel inside then checks them
            if A.shape[1] != self.n_features_:
                raise ValueError(f"this kernel was resolved for {self.n_features_} columns; got {A.shape[1]}.")
            self.kernel.check_points(self._select(A))

    def set_params(self, **params: Any) -> Self:
        """Set parameters and discard the column positions of a resolved kernel."""
        super().set_params(**params)
        for name in ("indices_", "n_features_"):
            self.__dict__.pop(name, None)
        return self

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        resolved = copy.copy(self)
        if not hasattr(self, "indices_"):
            resolved.indices_ = column_indices(self.columns, X.shape[1], feature_names)
            resolved.n_features_ = X.shape[1]
        names = None if feature_names is None else [feature_names[index] for index in resolved.indices_]
        resolved.kernel = self.kernel.resolve(resolved._select(X), weights, names)
        return resolved

    def _select(self, A: Points) -> Points:
        if not sp.issparse(A):
            return A.take(self.indices_, axis=1)
        chosen = A[:, self.indices_]
        chosen.sort_indices()
        return chosen


def column_indices(
    columns: Any, n_features: int, names: Sequence[str] | None = None, parameter: str = "columns"
) -> npt.NDArray[np.int64]:
    """The positions of some columns.

    columns: which columns
    n_features: how many there are
    names: their names
    parameter: what error messages call ``columns``
    Returns positions from 0 to n_features - 1, in the order given.
    """
    if isinstance(columns, slice):
        chosen = list(range(n_features)[columns])
    else:
        entries: list[Any] = [columns] if isinstance(columns, (str, numbers.Integral)) else list(columns)
        if all(isinstance(entry, str) for entry in entries):
            chosen = [_position(entry, names, parameter) for entry in entries]
        elif all(isinstance(entry, (bool, np.bool_)) for entry in entries):
            if len(entries) != n_features:
                raise ValueError(f"{parameter} is a mask of {len(entries)} entries for {n_features} columns.")
            chosen = [index for index, entry in enumerate(entries) if entry]
        elif all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
            for entry in entries:
                if not -n_features <= entry < n_features:
                    last = n_features - 1
                    raise ValueError(f"{parameter} has {entry}, but there are {n_features} columns, 0 to {last}.")
            chosen = [int(entry) % n_features for entry in entries]
        else:
            raise TypeError(
                f"{parameter} must be positions, names, a slice or a boolean mask, of one sort; got {columns!r}."
            )
    if not chosen:
        raise ValueError(f"{parameter}={columns!r} chooses no column: give at least one.")
    return np.array(chosen, dtype=np.int64)


def _position(name: str, names: Sequence[str] | None, parameter: str) -> int:
    if names is None:
        raise ValueError(
            f"{parameter} has the name {name!r}, but the points have no column names: give a pandas or polars table, "
            "or positions."
        )
    return list(names).index(check_choice(parameter, name, names))
