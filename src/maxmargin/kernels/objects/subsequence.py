"""The kernel of subsequences, letters in order with gaps between them.

A subsequence of x is chosen by positions i = (i_1 < ... < i_k) and has the length l(i) = i_k - i_1 + 1 in x. With the
decay 0 < d <= 1, long gaps count less:

    k(x, z) = sum_w phi_w(x) phi_w(z),    phi_w(x) = sum_{i : x_i = w} d^l(i),    w of k letters

(Lodhi, Saunders, Shawe-Taylor, Cristianini & Watkins 2002). Let P_n(x, z) be the same sum for words of n letters with
lengths measured to the ends of x and z, and both divided by d^2n. Letter by letter, with P_0 = 1,

    R_n(xa, zb) = d R_n(xa, z) + [a = b] P_{n-1}(x, z)      subsequences that end in the last letter of xa
    P_n(xa, z)  = d P_n(x, z) + R_n(xa, z)
    k(xa, z)    = k(x, z) + d^2k sum_{j : z_j = a} P_{k-1}(x, z_1...z_{j-1}),

which is O(k |x| |z|). R_n is a recurrence along z, one step waiting for the other, so strings z are taken several at a
time, in lanes: a step of all lanes is one vector instruction. No lane's value depends on its neighbours.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np

from maxmargin import _native
from maxmargin.kernels.base import LARGEST_VALUE
from maxmargin.kernels.objects.strings import StringKernel
from maxmargin.kernels.objects.words import code_points
from maxmargin.runtime.validation import Array, Points, check_number

__all__ = ["Subsequence"]

MAX_OPERATIONS_PER_CALL = 2**25  # steps of P: some hundredths of a second, so that Ctrl-C is obeyed between calls


class Subsequence(StringKernel):
    """The subsequence kernel of strings: common subsequences of k letters, with gaps discounted.

    A subsequence need not be contiguous; its length is that of the span it covers, so with a small decay mainly
    subsequences without gaps count, and with decay 1 all count equally (Lodhi, Saunders, Shawe-Taylor, Cristianini &
    Watkins 2002). Values grow with the lengths of the strings, so this kernel is often combined with ``Normalized``. A
    string of fewer than k letters has similarity 0 to every string, itself included.

    The cost of a value is proportional to k times the product of the two lengths.

    Parameters
    ----------
    k : int, default=3
        Letters in a subsequence, >= 1.
    decay : float, default=0.5
        Factor per letter of the span, 0 < decay <= 1.

    Examples
    --------
    >>> from maxmargin.kernels import Normalized, Subsequence
    >>> Subsequence(k=2, decay=0.5)(["cat", "car", "bat"])
    array([[0.140625, 0.0625  , 0.0625  ],
           [0.0625  , 0.140625, 0.      ],
           [0.0625  , 0.      , 0.140625]])
    >>> Normalized(Subsequence(k=2))(["cat", "cart"]).round(3)
    array([[1.   , 0.574],
           [0.574, 1.   ]])
    """

    def __init__(self, k: int = 3, decay: float = 0.5) -> None:
        self.k = k
        self.decay = decay

    def matrix(self, A: Points, B: Points) -> Array:
        lengths = np.fromiter(map(len, B), np.int64, len(B))
        order = np.argsort(lengths, kind="stable")  # strings of like lengths share their lanes
        K = np.empty((len(A), len(B)))
        letters, starts = code_points(A)
        text = letters.astype(np.float64), starts.astype(np.int64)
        for first in range(0, len(B), _native.SUBSEQUENCE_LANES):
            at = order[first : first + _native.SUBSEQUENCE_LANES]
            K[:, at] = self._sums(*text, B[at])
        return K

    def self_similarity(self, A: Points) -> Array:
        values = np.empty(len(A))
        for i in range(len(A)):
            letters, starts = code_points(A[i : i + 1])
            values[i] = self._sums(letters.astype(np.float64), starts, A[i : i + 1])[0, 0]
        return values

    def _sums(self, letters: Array, starts: Array, B: Array) -> Array:
        """The values of strings, given by their letters, with a few strings B in lanes (``native/subsequences``)."""
        k, decay = int(self.k), float(self.decay)
        lanes = _lanes(B)
        width = lanes.shape[1]
        out = np.zeros((len(starts) - 1, width))
        if k <= len(lanes):
            P, total, place = np.empty((len(lanes) + 1, k, width)), np.empty(width), np.zeros(2, np.int64)
            while not _native.read_subsequences(
                letters, starts, lanes, decay, P, total, place, out, MAX_OPERATIONS_PER_CALL
            ):
                pass
            out *= decay ** (2 * k)
        return out[:, : len(B)]

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        k = int(check_number("k", self.k, least=1, integer=True))
        decay = check_number("decay", self.decay, above=0, most=1)
        if 2 * k * np.log10(decay) < -np.log10(LARGEST_VALUE):
            raise ValueError(
                f"kernel values underflow: decay={self.decay!r} to the power 2k = {2 * k} is next to 0. "
                "Raise decay or lower k."
            )
        sizes = self.self_similarity(X)
        if not (sizes <= LARGEST_VALUE).all():
            longest = len(X[int(np.argmax(sizes))])
            raise ValueError(
                f"kernel values overflow: a string of {longest} letters has too many subsequences of k={k} letters. "
                "Lower k or decay."
            )
        return copy.copy(self)

    def _sizes(self, X: Points) -> None:
        return None  # checked in _resolve, where the remedy is known


def _lanes(strings: Array) -> Array:
    """Strings side by side, one per column; -1, which equals no letter, fills up shorter ones and spare columns."""
    letters, starts = code_points(strings)
    lanes = np.full((int(np.diff(starts).max(initial=0)), _native.SUBSEQUENCE_LANES), -1.0)
    for lane in range(len(strings)):
        own = letters[starts[lane] : starts[lane + 1]]
        lanes[: len(own), lane] = own
    return lanes
