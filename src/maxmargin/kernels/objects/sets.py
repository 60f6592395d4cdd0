"""A kernel of sets.

    Jaccard   k(X, Z) = |X and Z| / |X or Z|,    1 for two empty sets

The share of the elements of both that they have in common. It is positive semidefinite: give all elements a random
order; then it is the probability that X and Z have the same first element (Gower 1971 has another proof).
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._arrays import products
from maxmargin.kernels.objects.base import ObjectKernel
from maxmargin.runtime.validation import Array, Points

__all__ = ["Jaccard"]


class Jaccard(ObjectKernel):
    """The Jaccard kernel of two sets, |X and Z| / |X or Z|.

    Also known as the Tanimoto kernel. Points are sets or frozensets. Two empty sets have similarity 1, an empty and a
    nonempty set 0.

    Examples
    --------
    >>> from maxmargin.kernels import Jaccard
    >>> Jaccard()([{"milk", "bread"}, {"milk", "eggs"}, set()]).round(3)
    array([[1.   , 0.333, 0.   ],
           [0.333, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    kind = Set
    kinds = "sets"

    def matrix(self, A: Points, B: Points) -> Array:
        number: dict[Hashable, int] = {}
        left, right = (_members(sets, number) for sets in (A, B))
        F, G = (_incidence(members, len(number)) for members in (left, right))
        shared = products(F, G)
        either = np.add.outer(np.diff(F.indptr), np.diff(G.indptr)) - shared
        return np.divide(shared, either, out=np.ones_like(shared), where=either > 0)

    def self_similarity(self, A: Points) -> Array:
        return np.ones(len(A))

    def _remedy(self, thing: Any) -> str:
        if isinstance(thing, (list, tuple, np.ndarray)):
            return "Make a set of it, set(x)."
        return "Give sets only."


def _members(sets: Array, number: dict[Hashable, int]) -> list[list[int]]:
    """The numbers of each set's elements; new elements get the next numbers."""
    return [[number.setdefault(element, len(number)) for element in each] for each in sets]


def _incidence(members: list[list[int]], width: int) -> sp.csr_array:
    """One row a set, with a one in the column of each element."""
    pointers = np.concatenate([[0], np.cumsum([len(each) for each in members], dtype=np.int64)])
    columns = np.fromiter((column for each in members for column in each), np.int64, int(pointers[-1]))
    return sp.csr_array((np.ones(len(columns)), columns, pointers), shape=(len(members), width))
