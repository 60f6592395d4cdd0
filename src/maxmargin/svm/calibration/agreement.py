"""Probabilities whose largest entry is the predicted class.

A model predicts by the sign of f, or by votes; what is calibrated afterwards may come to another opinion close to the
border. Of all probability vectors whose largest entry is that of the predicted class c, the nearest one is taken:

    minimise |q - p|^2    subject to  q_c >= q_j for all j,   sum q = 1.

It leaves p as it is where both agree. Elsewhere it replaces p_c and the m largest other entries by their mean, with the
smallest m for which that mean is above all that remain. Then q still never falls when f rises: with two classes it is p
cut off at one half. (An exchange of p_c with the largest entry would make it jump.)

Of equal entries the predicted one is made larger by a few units in the last place, so that their logarithms differ too.
"""

from __future__ import annotations

import numpy as np

from maxmargin.runtime.validation import Array

APART = 2.0**-48  # the relative difference of entries that would be equal


def agreeing(p: Array, codes: Array) -> Array:
    """The nearest probabilities whose largest entry is that of the given class.

    Parameters
    ----------
    p : array of shape (n, k)
        Probabilities. Not changed.
    codes : array of int, shape (n,)
        The predicted classes.

    Returns
    -------
    array of shape (n, k)
        The largest entry of each row is that of its code, and it is the only one.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import agreeing
    >>> agreeing(np.array([[0.2, 0.8], [0.7, 0.3], [0.1, 0.5]]), np.array([1, 1, 1])).round(3)
    array([[0.2, 0.8],
           [0.5, 0.5],
           [0.1, 0.5]])
    """
    q = p.copy()
    every = np.arange(len(p))
    q[every, codes] = -1.0  # for a moment, to see the others
    rows = np.flatnonzero(q.max(axis=1) >= p[every, codes])
    q[every, codes] = p[every, codes]
    if len(rows) == 0:
        return q
    own, part = codes[rows], p[rows]
    at = np.arange(len(rows))
    mine = part[at, own]
    others = part.copy()
    others[at, own] = -1.0
    order = np.argsort(-others, axis=1, kind="stable")
    largest = np.take_along_axis(others, order, axis=1)[:, :-1]
    k = largest.shape[1]
    means = (mine[:, None] + np.cumsum(largest, axis=1)) / np.arange(2, k + 2)
    # The pool of m + 1 classes is right if the next entry is below its mean; all of them always are.
    closed = np.column_stack((means[:, :-1] > largest[:, 1:], np.ones(len(rows), bool)))
    m = closed.argmax(axis=1) + 1
    mean = means[at, m - 1]
    pooled = np.zeros(part.shape, bool)
    np.put_along_axis(pooled, order[:, :-1], np.arange(k) < m[:, None], axis=1)
    below = mean * (1.0 - APART)
    part[pooled] = np.broadcast_to(below[:, None], part.shape)[pooled]
    part[at, own] = mean
    q[rows] = part
    return q
