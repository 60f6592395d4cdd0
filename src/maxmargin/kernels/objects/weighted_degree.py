"""The weighted degree kernel of strings that are aligned, position by position.

    k(x, z) = sum_{k=1}^{d} b_k sum_i [x and z have the same word of k letters at place i]
    b_k     = 2 (d - k + 1) / (d (d + 1))

(Raetsch & Sonnenburg 2004). Where the letters agree from place i on for a run of r, words of 1, ..., min(r, d) letters
agree there: place i contributes b_1 + ... + b_min(r, d). Runs are counted from the last place backwards. It is an inner
product of features, one for each word and place, so that strings of different lengths may be compared.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin.kernels.objects.strings import StringKernel
from maxmargin.kernels.objects.words import code_points
from maxmargin.runtime.validation import Array, Points

__all__ = ["WeightedDegree"]

TILE_VALUES = 1 << 16  # pairs of strings at a time: their runs stay in the cache


class WeightedDegree(StringKernel):
    """The weighted degree kernel of aligned strings: common substrings at the same positions.

    Parameters
    ----------
    degree : int, default=3
        Maximum length d of a word, >= 1. A word of k letters has the weight 2 (d - k + 1) / (d (d + 1)).

    Examples
    --------
    >>> from maxmargin.kernels import WeightedDegree
    >>> WeightedDegree(degree=2)(["GATTACA", "GACTACA", "TTTTTTT"]).round(3)
    array([[6.667, 5.333, 1.667],
           [5.333, 6.667, 0.667],
           [1.667, 0.667, 6.667]])
    """

    _limits: ClassVar = {"degree": {"least": 1, "integer": True}}

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    def _weights(self) -> Array:
        """What a place contributes whose run is 0, 1, ..., d letters."""
        d = int(self.degree)
        return np.concatenate(([0.0], np.cumsum(2.0 * (d - np.arange(d)) / (d * (d + 1.0)))))

    def matrix(self, A: Points, B: Points) -> Array:
        K = np.zeros((len(A), len(B)))
        left, right = _table(A, -1), _table(B, -2)  # what fills up a shorter string equals no letter
        places, weights = min(left.shape[1], right.shape[1]), self._weights()
        step = max(1, TILE_VALUES // max(1, len(B)))
        for start in range(0, len(A), step):
            rows = slice(start, start + step)
            run = np.zeros(K[rows].shape, np.int64)
            for i in range(places - 1, -1, -1):
                run += 1
                run *= left[rows, i, None] == right[None, :, i]
                np.minimum(run, len(weights) - 1, out=run)
                K[rows] += weights[run]
        return K

    def self_similarity(self, A: Points) -> Array:
        lengths = np.fromiter(map(len, A), np.int64, len(A))
        weights, d = self._weights(), int(self.degree)
        ends = np.minimum(lengths, d - 1)  # the last places, whose runs are shorter than d
        return np.cumsum(weights)[ends] + (lengths - ends) * weights[d]


def _table(strings: Array, filler: int) -> Array:
    """The letters of strings, one row per string, filled up to the longest."""
    letters, starts = code_points(strings)
    lengths = np.diff(starts)
    table = np.full((len(strings), int(lengths.max(initial=0))), filler, np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = letters
    return table
