"""Kernels of strings that count the words of k letters they share.

    Spectrum   k(x, z) = sum_w n_w(x) n_w(z),    n_w(x) = how often the word w occurs in x
    Mismatch   the same with n_w(x) = how many words of x differ from w in at most m letters

Both are products of features. The features of the mismatch kernel need not be written out. Over q letters,

    k(x, z) = sum_{a in x} sum_{b in z} g(a, b),    g(a, b) = how many words are within m letters of a and of b,

and g is a polynomial in disguise: mark a substitution in a by u and one in b by v. Where a and b have the same letter,
the words c counted by g keep it (1) or change it (uv, q - 1 ways); where they differ, c has a's letter (v), b's (u) or
another (uv, q - 2 ways). So one position contributes

    [a_i = b_i] r + s,    r = (1 - u)(1 - v),    s = u + v + (q - 2) uv,

and g is the sum of those coefficients of the product over all positions that have degrees <= m in u and in v.
Multiplied out, with T the set of positions where s was taken,

    g(a, b) = sum_T h(|T|) [a = b outside T],    h(t) = coefficients of r^(k-t) s^t up to degree m,   |T| <= 2m,

since each s brings at least one u or v. The mismatch kernel is a weighted sum of spectrum kernels of words with up to
2m holes, and its cost does not depend on the size of the alphabet.

Letters outside the alphabet are never substituted: such a position contributes [a_i = b_i], and cannot be a hole.
"""

from __future__ import annotations

import copy
import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin import _native
from maxmargin.kernels.objects.base import ObjectKernel
from maxmargin.kernels.objects.words import Words, code_points, joined, numbered, pieces, words_of
from maxmargin.runtime.arrays import csr_arrays
from maxmargin.runtime.validation import Array, Points, check_number

__all__ = ["Mismatch", "Spectrum"]

WORD_PATTERNS_MAX_HELD = 1 << 22  # words with their patterns of holes: about 100 MB of features
MISMATCH_MAX_PATTERNS = 10_000  # of holes in a word; each is a pass over all words
MAX_OPERATIONS_PER_CALL = 2**25  # products: some hundredths of a second, so that Ctrl-C is obeyed between calls


class StringKernel(ObjectKernel):
    """A kernel that compares strings."""

    kind = str
    kinds = "strings"

    def _remedy(self, thing: Any) -> str:
        if isinstance(thing, (bytes, bytearray, np.bytes_)):
            return "Decode bytes first, for example with x.decode()."
        return "Give strings only."


def _add_products(F: sp.csr_array, E: sp.csr_array, h: Array, Phi: sp.csr_array, K: Array) -> None:
    """K += F (E H Phi'), see ``native/word_products``."""
    left, middle, right = (csr_arrays(M, index=np.int64) for M in (F.T.tocsr(), E, Phi.T.tocsr()))
    word = 0
    while word < E.shape[0]:
        word = _native.add_word_products(left, middle, h, right, K, word, MAX_OPERATIONS_PER_CALL)


class _WordKernel(StringKernel):
    """k(x, z) = sum_f h_f phi_f(x) phi_f(z), phi = F E: F counts words, E says which features a word has.

    K = F_A (E H Phi_B'): how similar a word is to the strings of B is computed once for all strings of A that have it.
    """

    k: int

    @abstractmethod
    def _features(self, words: Words) -> tuple[sp.csr_array, Array]:
        """E, one row a word, and the weights h."""

    def _features_per_word(self) -> int:
        return 1

    def matrix(self, A: Points, B: Points) -> Array:
        K = np.empty((len(A), len(B)))
        for rows in self._pieces(A):
            for cols in self._pieces(B):
                words = words_of(np.concatenate([A[rows], B[cols]]), int(self.k))
                split = rows.stop - rows.start
                E, h = self._features(words)
                block = np.zeros((split, cols.stop - cols.start))
                _add_products(words.counts[:split], E, h, words.counts[split:] @ E, block)
                K[rows, cols] = block
        return K

    def self_similarity(self, A: Points) -> Array:
        values = np.empty(len(A))
        for rows in self._pieces(A):
            words = words_of(A[rows], int(self.k))
            E, h = self._features(words)
            phi = words.counts @ E
            values[rows] = phi.multiply(phi) @ h
        return values

    def _pieces(self, A: Array) -> list[slice]:
        return pieces(np.fromiter(map(len, A), np.int64, len(A)), WORD_PATTERNS_MAX_HELD / self._features_per_word())


class Spectrum(_WordKernel):
    """The spectrum kernel of strings, k(x, z) = sum_w n_w(x) n_w(z) over all substrings w of k letters.

    n_w(x) counts where w occurs in x, overlaps included (Leslie, Eskin & Noble 2002). A letter is a Unicode code
    point. A string of fewer than k letters has no words: its similarity is 0 to every string, itself included, and
    remains 0 when the kernel is ``Normalized``.

    Parameters
    ----------
    k : int, default=3
        Letters in a word, >= 1.

    Examples
    --------
    >>> from maxmargin.kernels import Normalized, Spectrum
    >>> Spectrum(k=2)(["banana", "bandana"])
    array([[9., 7.],
           [7., 8.]])
    >>> from maxmargin import SVC
    >>> X, y = ["gattaca", "tattat", "ccgcgc", "gcgccg"], ["at", "at", "gc", "gc"]
    >>> SVC(kernel=Normalized(Spectrum(k=2))).fit(X, y).predict(["atta", "gcg"])
    array(['at', 'gc'], dtype='<U2')
    """

    _limits: ClassVar = {"k": {"least": 1, "integer": True}}

    def __init__(self, k: int = 3) -> None:
        self.k = k

    def _features(self, words: Words) -> tuple[sp.csr_array, Array]:
        n = len(words.letters)
        return sp.csr_array(sp.eye_array(n)), np.ones(n)


class Mismatch(_WordKernel):
    """The mismatch kernel of strings: common substrings of k letters, up to m mismatches.

    n_w(x) counts the words of x that differ from w in at most m letters (Leslie, Eskin, Cohen, Weston & Noble 2004).
    The words w are made of the letters of the alphabet, so the values depend on its size. A letter outside it, for
    example N for an unknown base, matches only itself. With m = 0 this is the spectrum kernel. A string of fewer than k
    letters has similarity 0 to every string.

    Parameters
    ----------
    k : int, default=3
        Letters in a word, >= 1.
    m : int, default=1
        Letters that may differ, from 0 to k - 1.
    alphabet : str or None, default=None
        The letters that may replace each other. By default those of the training strings; if the kernel is called
        directly, those of all given strings.

    Examples
    --------
    >>> from maxmargin.kernels import Mismatch
    >>> Mismatch(k=3, m=1, alphabet="ACGT")(["ACG", "ACT", "TTT"])
    array([[10.,  4.,  0.],
           [ 4., 10.,  2.],
           [ 0.,  2., 10.]])
    """

    def __init__(self, k: int = 3, m: int = 1, alphabet: str | None = None) -> None:
        self.k = k
        self.m = m
        self.alphabet = alphabet

    def _features_per_word(self) -> int:
        return _patterns(self.k, self.m)

    def _features(self, words: Words) -> tuple[sp.csr_array, Array]:
        n = len(words.letters)
        assert self.alphabet is not None
        digits, base = numbered(words.letters, int(words.letters.max(initial=0)) + 1)
        outside = ~np.isin(words.letters, code_points(np.array([self.alphabet], dtype=object))[0])
        rows, columns, weights = [], [], []
        n_features = 0
        for t in range(min(2 * self.m, self.k) + 1):
            by_outside = np.array(
                [_weight(self.k - t - o, t, self.m, len(self.alphabet)) for o in range(self.k - t + 1)]
            )
            for T in itertools.combinations(range(self.k), t):
                kept = [i for i in range(self.k) if i not in T]
                row = np.flatnonzero(~outside[:, T].any(axis=1))
                column, count = numbered(*joined((digits[row, i] for i in kept), base, len(row)))
                weight = np.empty(count)
                weight[column] = by_outside[np.count_nonzero(outside[row], axis=1)]  # none of them is in a hole
                rows.append(row)
                columns.append(column + n_features)
                weights.append(weight)
                n_features += count
        row, column = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_array((np.ones(len(row)), (row, column)), shape=(n, n_features)), np.concatenate(weights)

    def _resolve(self, X: Points, weights: Array | None, feature_names: Sequence[str] | None) -> Self:
        k = int(check_number("k", self.k, least=1, integer=True))
        m = int(check_number("m", self.m, least=0, most=k - 1, integer=True, remedy=f"Words have k={k} letters."))
        if _patterns(k, m) > MISMATCH_MAX_PATTERNS:
            raise ValueError(
                f"Mismatch(k={k}, m={m}) compares words with {_patterns(k, m):,} patterns of up to {min(2 * m, k)} "
                f"holes, more than {MISMATCH_MAX_PATTERNS:,}: lower m or k."
            )
        kernel = copy.copy(self)
        if self.alphabet is None:
            kernel.alphabet = "".join(sorted(set().union(*X)))
        elif isinstance(self.alphabet, str):
            kernel.alphabet = "".join(sorted(set(self.alphabet)))
        else:
            raise TypeError(f"alphabet must be a string of its letters, like 'ACGT', or None; got {self.alphabet!r}.")
        return kernel


def _patterns(k: int, m: int) -> int:
    """How many sets of at most 2m of k positions there are."""
    return sum(math.comb(k, t) for t in range(min(2 * m, k) + 1))


def _weight(same: int, t: int, m: int, q: int) -> float:
    """h: the sum of the coefficients of r^same s^t up to degree m in u and in v.

    A power of s is a sum over i factors u, j factors v and l factors (q - 2) uv; each is multiplied by the truncated
    (1 - u)^same (1 - v)^same.
    """
    total = 0
    for i in range(t + 1):
        for j in range(t - i + 1):
            l = t - i - j
            ways = math.comb(t, i) * math.comb(t - i, j) * (q - 2) ** l
            total += ways * _truncated(same, m - i - l) * _truncated(same, m - j - l)
    return float(total)


def _truncated(n: int, degree: int) -> int:
    """The sum of the coefficients of (1 - u)^n up to a degree."""
    return sum((-1) ** i * math.comb(n, i) for i in range(degree + 1))
