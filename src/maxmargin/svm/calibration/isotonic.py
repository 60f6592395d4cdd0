"""Isotonic calibration (Zadrozny & Elkan 2002): the probability is any function that does not fall with f.

    minimise  sum_i w_i (t_i - p(f_i))^2    over all p that do not fall,          t_i = 1 positive, 0 negative

The solution is a step function, whose steps are the means of blocks of neighbours (pool adjacent violators). Between
two steps it is joined by a line, so that p has no jumps. A block of nothing but one class would say 0 or 1, which no
finite number of rows can prove: p is kept between Platt's targets, 1 / (N- + 2) and (N+ + 1) / (N+ + 2).

It takes more rows than a sigmoid (some hundreds of each class), and then fits any shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.runtime.validation import Array
from maxmargin.svm.calibration.sigmoid import platt_targets


@dataclass(frozen=True)
class IsotonicMap:
    """A function that does not fall: straight lines between knots, constant beyond them.

    Attributes
    ----------
    knots : array of shape (m,)
        Decision values, rising.
    levels : array of shape (m,)
        The probabilities there.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import IsotonicMap
    >>> IsotonicMap(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))(np.array([-5.0, 0.0, 5.0]))
    array([0.25, 0.5 , 0.75])
    """

    knots: Array
    levels: Array

    def __call__(self, values: Array) -> Array:
        """The probability of the positive class for each decision value."""
        return np.interp(values, self.knots, self.levels)

    def __str__(self) -> str:
        return f"{len(self.knots)} knots from {self.levels[0]:.3g} to {self.levels[-1]:.3g}"


def fit_isotonic(values: Array, positive: Array, weight: Array) -> IsotonicMap:
    """The isotonic regression of the labels on the decision values.

    Parameters
    ----------
    values : array of shape (n,)
        Decision values of rows that the model was not trained on.
    positive : array of bool, shape (n,)
        Which rows are of the positive class.
    weight : array of shape (n,)
        Weights of the rows, > 0; a weight of two equals a repetition.

    Returns
    -------
    IsotonicMap

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import fit_isotonic
    >>> fitted = fit_isotonic(np.array([-1.0, 0.0, 1.0]), np.array([False, True, True]), np.ones(3))
    >>> fitted.levels
    array([0.33333333, 0.75      , 0.75      ])
    """
    from scipy.optimize import isotonic_regression  # slow to import, and only needed here

    at, group = np.unique(values, return_inverse=True)
    total = np.bincount(group, weights=weight)
    mean = np.bincount(group, weights=weight * positive) / total
    fitted = isotonic_regression(mean, weights=total)
    up, down = platt_targets(positive, weight)
    levels = np.clip(fitted.x, min(down, up), max(down, up))
    first, last = fitted.blocks[:-1], fitted.blocks[1:] - 1  # a block needs only its two ends
    ends = np.union1d(first, last)
    return IsotonicMap(at[ends], levels[ends])
