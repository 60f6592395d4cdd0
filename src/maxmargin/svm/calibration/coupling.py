"""Probabilities of k classes from those of all pairs (Wu, Lin & Weng 2004, their second method).

Given r_ij, an estimate of P(class i | class i or j) with r_ji = 1 - r_ij, exact probabilities would have
r_ji p_i = r_ij p_j for every pair. The p nearest to that,

    minimise  sum_{i < j} (r_ji p_i - r_ij p_j)^2    subject to  sum_i p_i = 1,

solves a linear system, and is never negative:

    [ Q  e ] [ p ]   [ 0 ]
    [ e' 0 ] [ b ] = [ 1 ],         Q_ii = sum_{s != i} r_si^2,     Q_ij = -r_ji r_ij.
"""

from __future__ import annotations

import numpy as np

from maxmargin.runtime.validation import Array
from maxmargin.svm.models.multiclass import pairs

SMALLEST = 1e-7  # pairs are never more certain than this, so that the system stays regular
STRIP = 2048  # rows at a time


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
    k = len(present)
    there = np.flatnonzero(present)
    out = np.zeros((len(r), k))
    if len(there) == 1:
        out[:, there[0]] = 1.0
        return out
    columns = {pair: column for column, pair in enumerate(pairs(k))}
    m = len(there)
    for start in range(0, len(r), STRIP):
        part = np.clip(r[start : start + STRIP], SMALLEST, 1.0 - SMALLEST)
        system = np.zeros((len(part), m + 1, m + 1))
        system[:, m, :m] = system[:, :m, m] = 1.0
        for a in range(m):
            for b in range(a + 1, m):
                first = part[:, columns[there[a], there[b]]]
                second = 1.0 - first
                system[:, a, a] += second**2
                system[:, b, b] += first**2
                system[:, a, b] = system[:, b, a] = -first * second
        right = np.zeros((len(part), m + 1, 1))
        right[:, m] = 1.0
        p = np.maximum(np.linalg.solve(system, right)[:, :m, 0], 0.0)
        out[start : start + STRIP, there] = p / p.sum(axis=1, keepdims=True)
    return out
