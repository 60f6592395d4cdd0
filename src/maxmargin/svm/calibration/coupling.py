"""Probabilities of k classes from those of all pairs (Wu, Lin & Weng 2004, their second method).

Given r_ij, an estimate of P(class i | class i or j) with r_ji = 1 - r_ij, exact probabilities would have
r_ji p_i = r_ij p_j for every pair. The p nearest to that,

    minimise  sum_{i < j} (r_ji p_i - r_ij p_j)^2    subject to  sum_i p_i = 1,

solves a linear system, and is never negative:

    [ Q  e ] [ p ]   [ 0 ]
    [ e' 0 ] [ b ] = [ 1 ],         Q_ii = sum_{s != i} r_si^2,     Q_ij = -r_ji r_ij,

which ``native/coupling`` solves for all rows.
"""

from __future__ import annotations

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array

LEAST_PROBABILITY = 1e-7  # of either class of a pair, so that the system stays regular
MAX_OPERATIONS_PER_CALL = 2**26  # k^3 per row: some hundredths of a second, so that Ctrl-C is obeyed between calls


def couple(r: Array, present: Array) -> Array:
    """Probabilities of the classes from probabilities of the pairs.

    Parameters
    ----------
    r : array of shape (n, k (k - 1) / 2)
        For each pair (i, j), i < j, in the order of :func:`maxmargin.svm.models.multiclass.pairs`: the probability of
        i.
    present : array of bool, shape (k,)
        The classes that there are; the others have probability 0.

    Returns
    -------
    array of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import couple
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> r = np.array([[p[0] / (p[0] + p[1]), p[0] / (p[0] + p[2]), p[1] / (p[1] + p[2])]])
    >>> couple(r, np.ones(3, bool)).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    k, there = len(present), np.flatnonzero(present)
    m = len(there)
    first, second = np.triu_indices(m, 1)
    column = np.full((k, k), -1)
    column[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
    columns = np.ascontiguousarray(column[there[first], there[second]], np.int64)
    r = np.ascontiguousarray(r, np.float64)
    p = np.empty((len(r), m))
    rows_per_call = max(1, MAX_OPERATIONS_PER_CALL // m**3)
    for start in range(0, len(r), rows_per_call):
        rows = slice(start, start + rows_per_call)
        _native.couple_pairs(r[rows], columns, LEAST_PROBABILITY, p[rows])
    if m == k:
        return p
    out = np.zeros((len(r), k))
    out[:, there] = p
    return out
