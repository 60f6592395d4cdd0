"""Temperature scaling (Guo, Pleiss, Sun & Weinberger 2017): one number for all classes, and no change of order.

    p_k = exp(slope s_k) / sum_l exp(slope s_l),         slope = 1 / temperature >= 0

for scores s of k classes, or with two classes and one decision value f, p = 1 / (1 + exp(-slope f)). The largest score
has the largest probability whatever the slope, so that the probabilities agree with the prediction by themselves. The
slope minimises the cross-entropy of the true classes,

    L(slope) = sum_i w_i (log sum_l exp(slope s_il) - slope s_i,y(i)),

a convex function of one variable, by Newton's method inside a bracket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin import _native
from maxmargin.runtime.validation import Array

MAX_STEPS = 200  # of Newton's method or bisection; each halves the bracket at worst
MAX_SLOPE = 1e6  # for scores of size one: rows that are all classified correctly would take an infinite one
MAX_SCORES_PER_CALL = 2**22  # some hundredths of a second, so that Ctrl-C is obeyed between calls


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
        -inf is a class that cannot be."""
        if values.ndim == 1:
            return softmax(np.column_stack((np.zeros(len(values)), self.slope * values)))[:, 1]
        return softmax(np.where(np.isneginf(values), values, self.slope * values))

    def __str__(self) -> str:
        return f"temperature {1.0 / self.slope:.4g}" if self.slope > 0 else "infinite temperature"


def softmax(scores: Array) -> Array:
    """exp(s_k) / sum exp(s_l) of each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


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


def fit_temperature(scores: Array, codes: Array, weight: Array) -> TemperatureMap:
    """The temperature of least cross-entropy.

    Parameters
    ----------
    scores : array of shape (n,) or (n, k)
        Decision values, positive for code 1; or one score per class. Of rows that the model was not trained
        on.
    codes : array of int, shape (n,)
        The class of each row.
    weight : array of shape (n,)
        Weights of the rows; a weight of two equals a repetition.

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
    # One more row that is misclassified, like Platt's, keeps the slope finite where all rows are classified correctly.
    weight = np.ascontiguousarray(weight, np.float64)
    total = float(weight.sum())
    prior = np.sort(s.max(axis=1) - s.min(axis=1))[len(s) // 2] if len(s) else 1.0
    low, high, slope = 0.0, MAX_SLOPE, 1.0

    for _ in range(MAX_STEPS):
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
