"""Platt's sigmoid (2000): the probability that a decision value f means the positive class, by two numbers.

    p(f) = 1 / (1 + exp(-(slope f + offset)))

They minimise the cross-entropy -sum_i w_i (t_i log p_i + (1 - t_i) log(1 - p_i)) with Platt's targets,

    t_i = (N+ + 1) / (N+ + 2) for positive rows,     t_i = 1 / (N- + 2) for negative ones,

the posterior means of a class's probability after N rows of it and a uniform prior: few rows never give certainty.
The objective is convex. It is minimised by Newton's method with backtracking, in the form of Lin, Lin & Weng (2007)
that neither overflows nor loses digits:

    -(t log p + (1 - t) log(1 - p)) = log(1 + exp(-|z|)) + max(z, 0) - t z,         z = slope f + offset.

A slope below zero would mean that the decision values are worse than chance. The slope is then 0, and p constant.
Newton's method for all problems of a fit is in ``native/sigmoid_fits``.

Isotonic calibration (Zadrozny & Elkan 2002): the probability is a nondecreasing function of f.

    minimise  sum_i w_i (t_i - p(f_i))^2    over nondecreasing p,                 t_i = 1 positive, 0 negative

The solution is a step function, whose steps are the means of blocks of neighbours (pool adjacent violators). Between
two steps it is joined by a line, so that p has no jumps. A block of a single class would give 0 or 1, which
no finite number of rows can justify: p is kept between Platt's targets, 1 / (N- + 2) and (N+ + 1) / (N+ + 2).

It needs more rows than a sigmoid (hundreds per class), and fits any shape.

Temperature scaling (Guo, Pleiss, Sun & Weinberger 2017): one parameter for all classes, which does not change their
order.

    p_k = exp(slope s_k) / sum_l exp(slope s_l),         slope = 1 / temperature >= 0

for scores s of k classes, or with two classes and one decision value f, p = 1 / (1 + exp(-slope f)). The largest score
has the largest probability whatever the slope, so that the probabilities agree with the prediction. The
slope minimises the cross-entropy of the true classes,

    L(slope) = sum_i w_i (log sum_l exp(slope s_il) - slope s_i,y(i)),

a convex function of one variable, by Newton's method inside a bracket.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from maxmargin import _native
from maxmargin.runtime.parameter_docs import documented, entries
from maxmargin.runtime.validation import Array

MAP_ENTRIES = entries(
    """
values : array of shape (n,)
    Decision values of held-out rows.
positive : array of bool, shape (n,)
    Which rows are of the positive class.
weight : array of shape (n,)
    Weights of the rows, > 0; a weight of two equals a repetition.
"""
)
MAX_ROWS_PER_CALL = 2**22  # evaluated: some hundredths of a second, so that Ctrl-C is obeyed between calls
NEWTON_MAX_STEPS = 200  # of Newton's method or bisection; each halves the bracket at worst
MAX_SLOPE = 1e6  # for scores of size one: rows that are all classified correctly would take an infinite one
MAX_SCORES_PER_CALL = 2**22  # some hundredths of a second, so that Ctrl-C is obeyed between calls


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
        return expit(self.slope * values + self.offset)

    def __str__(self) -> str:
        return f"1 / (1 + exp(-({self.slope:.4g} f {'+' if self.offset >= 0 else '-'} {abs(self.offset):.4g})))"


def platt_targets(positive: Array, weight: Array) -> tuple[float, float]:
    """Platt's targets of the positive and of the negative rows."""
    up, down = float(weight[positive].sum()), float(weight[~positive].sum())
    return (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0)


def fit_sigmoids(values: Sequence[Array], positive: Sequence[Array], weight: Sequence[Array]) -> list[SigmoidMap]:
    """The sigmoids of many binary problems, each as by :func:`fit_sigmoid`: one-vs-one has one per pair of classes,
    with few rows each."""
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


@documented(MAP_ENTRIES)
def fit_sigmoid(values: Array, positive: Array, weight: Array) -> SigmoidMap:
    """Fit the sigmoid with the smallest cross-entropy, using Platt's targets.

    {Parameters, values, positive, weight}

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


@dataclass(frozen=True)
class IsotonicMap:
    """A nondecreasing function: linear between knots, constant beyond them.

    Attributes
    ----------
    knots : array of shape (m,)
        Decision values, in increasing order.
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


@documented(MAP_ENTRIES)
def fit_isotonic(values: Array, positive: Array, weight: Array) -> IsotonicMap:
    """Fit an isotonic regression of the labels on the decision values.

    {Parameters, values, positive, weight}

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


@dataclass(frozen=True)
class TemperatureMap:
    """Scores times ``slope``, through the softmax (or the sigmoid, for one decision value).

    Attributes
    ----------
    slope : float
        One over the temperature.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import TemperatureMap
    >>> TemperatureMap(1.0)(np.array([[0.0, 0.0], [0.0, 2.0]])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    slope: float

    def __call__(self, values: Array) -> Array:
        """Probabilities: of the positive class for decision values (n,), of every class for scores (n, k). A score of
        -inf is an impossible class."""
        if values.ndim == 1:
            return expit(self.slope * values)
        return softmax(np.where(np.isneginf(values), values, self.slope * values), axis=1)

    def __str__(self) -> str:
        return f"temperature {1.0 / self.slope:.4g}" if self.slope > 0 else "infinite temperature"


def _derivatives(scores: Array, own: Array, weight: Array, slope: float) -> tuple[float, float]:
    """dL / d slope = sum w (mean - own) and its derivative, sum w (variance), with the mean and the variance of a row's
    scores under its probabilities."""
    first = second = 0.0
    rows_per_call = max(1, MAX_SCORES_PER_CALL // scores.shape[1])
    for start in range(0, len(scores), rows_per_call):
        rows = slice(start, start + rows_per_call)
        part = _native.temperature_derivatives(scores[rows], own[rows], weight[rows], slope)
        first, second = first + part[0], second + part[1]
    return first, second


@documented(MAP_ENTRIES)
def fit_temperature(scores: Array, codes: Array, weight: Array) -> TemperatureMap:
    """Fit the temperature with the smallest cross-entropy.

    Parameters
    ----------
    scores : array of shape (n,) or (n, k)
        Decision values, positive for code 1; or one score per class. Held-out rows only.
    codes : array of int, shape (n,)
        The class of each row.
    {weight}

    Returns
    -------
    TemperatureMap

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.svm.calibration import fit_temperature
    >>> fit_temperature(np.array([-1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]), np.ones(4))
    TemperatureMap(slope=0.405...)
    """
    if scores.ndim == 1:
        scores = np.column_stack((np.zeros(len(scores)), scores))
    size = float(np.abs(scores).max(initial=0.0)) or 1.0
    s = np.ascontiguousarray(scores / size)
    own = s[np.arange(len(s)), codes]
    # An additional misclassified row, as in Platt's targets, keeps the slope finite if all rows are correct.
    weight = np.ascontiguousarray(weight, np.float64)
    total = float(weight.sum())
    prior = np.sort(s.max(axis=1) - s.min(axis=1))[len(s) // 2] if len(s) else 1.0
    low, high, slope = 0.0, MAX_SLOPE, 1.0

    for _ in range(NEWTON_MAX_STEPS):
        first, second = _derivatives(s, own, weight, slope)
        one = 1.0 / (1.0 + math.exp(-min(slope * prior, 700.0)))
        first, second = first + prior * one, second + prior * prior * one * (1.0 - one)
        if abs(first) <= 1e-12 * total or high - low <= 1e-12 * high:
            break
        low, high = (low, slope) if first > 0 else (slope, high)
        new = slope - first / second if second > 0 else np.inf
        inside = low < new < high
        slope = new if inside else (0.5 * (low + high) if high < MAX_SLOPE else 2.0 * slope)
    return TemperatureMap(float(slope) / size if slope > 1e-12 else 0.0)
