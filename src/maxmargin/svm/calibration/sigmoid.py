"""Platt's sigmoid (2000): the probability that a decision value f means the positive class, by two numbers.

    p(f) = 1 / (1 + exp(-(slope f + offset)))

They minimise the cross-entropy -sum_i w_i (t_i log p_i + (1 - t_i) log(1 - p_i)) with Platt's targets,

    t_i = (N+ + 1) / (N+ + 2) for positive rows,     t_i = 1 / (N- + 2) for negative ones,

which are the means of a class's probability after N rows of it and a uniform prior: a few rows never claim certainty.
The objective is convex. It is minimised by Newton's method with backtracking, in the form of Lin, Lin & Weng (2007)
that neither overflows nor loses digits:

    -(t log p + (1 - t) log(1 - p)) = log(1 + exp(-|z|)) + max(z, 0) - t z,         z = slope f + offset.

A slope below zero would mean that the decision values are worse than none. Then the best one allowed is 0, and p is
constant. Newton's method for all problems of a fit is in ``native/sigmoid_fits``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array

MAX_ROWS_PER_CALL = 2**22  # evaluated: some hundredths of a second, so that Ctrl-C is obeyed between calls


@dataclass(frozen=True)
class SigmoidMap:
    """p(f) = 1 / (1 + exp(-(slope f + offset))).

    Attributes
    ----------
    slope, offset : float

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import SigmoidMap
    >>> SigmoidMap(slope=2.0, offset=0.0)(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.119, 0.5  , 0.881])
    """

    slope: float
    offset: float

    def __call__(self, values: Array) -> Array:
        """The probability of the positive class for each decision value."""
        return logistic(self.slope * values + self.offset)

    def __str__(self) -> str:
        return f"1 / (1 + exp(-({self.slope:.4g} f {'+' if self.offset >= 0 else '-'} {abs(self.offset):.4g})))"


def logistic(z: Array) -> Array:
    """1 / (1 + exp(-z)), without overflow."""
    decay = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, decay) / (1.0 + decay)


def platt_targets(positive: Array, weight: Array) -> tuple[float, float]:
    """Platt's targets of the positive and of the negative rows."""
    up, down = float(weight[positive].sum()), float(weight[~positive].sum())
    return (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0)


def fit_sigmoids(values: Sequence[Array], positive: Sequence[Array], weight: Sequence[Array]) -> list[SigmoidMap]:
    """The sigmoids of many binary problems, as :func:`fit_sigmoid` fits each: one-vs-one has as many as there are pairs
    of classes, of few rows each.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration.sigmoid import fit_sigmoids
    >>> values, positive = np.array([-2.0, 0.5, -0.5, 2.0]), np.array([False, False, True, True])
    >>> fitted = fit_sigmoids([values, 2.0 * values], [positive, positive], [np.ones(4), np.ones(4)])
    >>> bool(np.isclose(fitted[0].slope, 2.0 * fitted[1].slope))
    True
    """
    if not values:
        return []
    starts = np.concatenate(([0], np.cumsum([len(own) for own in values]))).astype(np.int64)
    f, w = np.concatenate(values, dtype=np.float64), np.concatenate(weight, dtype=np.float64)
    up = np.concatenate(positive, dtype=bool)
    slope, offset, steps = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), np.int64)
    problem = 0
    while problem < len(values):
        problem = _native.fit_sigmoids(f, up, w, starts, slope, offset, steps, problem, MAX_ROWS_PER_CALL)
    return [SigmoidMap(*numbers) for numbers in zip(slope.tolist(), offset.tolist(), strict=True)]


def fit_sigmoid(values: Array, positive: Array, weight: Array) -> SigmoidMap:
    """The sigmoid of least cross-entropy with Platt's targets.

    Parameters
    ----------
    values : array of shape (n,)
        Decision values of rows that the model was not trained on.
    positive : array of bool, shape (n,)
        Which rows are of the positive class.
    weight : array of shape (n,)
        Weights of the rows; a weight of two equals a repetition.

    Returns
    -------
    SigmoidMap

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import fit_sigmoid
    >>> values = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> fitted = fit_sigmoid(values, np.array([False, False, False, True, True, True]), np.ones(6))
    >>> fitted.slope > 0
    True
    """
    return fit_sigmoids([values], [positive], [weight])[0]
