"""Platt's sigmoid (2000): the probability that a decision value f means the positive class, by two numbers.

    p(f) = 1 / (1 + exp(-(slope f + offset)))

They minimise the cross-entropy -sum_i w_i (t_i log p_i + (1 - t_i) log(1 - p_i)) with Platt's targets,

    t_i = (N+ + 1) / (N+ + 2) for positive rows,     t_i = 1 / (N- + 2) for negative ones,

which are the means of a class's probability after N rows of it and a uniform prior: a few rows never claim certainty.
The objective is convex. It is minimised by Newton's method with backtracking, in the form of Lin, Lin & Weng (2007)
that neither overflows nor loses digits:

    -(t log p + (1 - t) log(1 - p)) = log(1 + exp(-|z|)) + max(z, 0) - t z,         z = slope f + offset.

A slope below zero would say that the machine is worse than nothing. Then the best one allowed is 0, and p is constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np

from maxmargin.runtime.validation import Array

MOST = 100  # Newton steps
SMALLEST = 1e-10  # step at which the search along a direction ends


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


@numba.njit(cache=True, nogil=True)
def _look(f: Array, target: Array, weight: Array, slope: float, offset: float) -> tuple[float, ...]:
    """The cross-entropy, its two derivatives, and its three second derivatives."""
    loss = d_slope = d_offset = ss = so = oo = 0.0
    for i in range(len(f)):
        z = slope * f[i] + offset
        decay = math.exp(-abs(z))
        p = (1.0 if z >= 0 else decay) / (1.0 + decay)
        loss += weight[i] * (math.log1p(decay) + max(z, 0.0) - target[i] * z)
        residual, curvature = weight[i] * (p - target[i]), weight[i] * decay / (1.0 + decay) ** 2
        d_slope += residual * f[i]
        d_offset += residual
        ss += curvature * f[i] * f[i]
        so += curvature * f[i]
        oo += curvature
    return loss, d_slope, d_offset, ss, so, oo


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _newton(f: Array, target: Array, weight: Array, offset: float) -> tuple[float, float]:
    """The slope and the offset of least cross-entropy, from a slope of zero. (Compiled as a whole: one-vs-one fits as
    many sigmoids as there are pairs of classes, of few rows each.)"""
    slope = 0.0
    enough = 1e-9 * weight.sum()
    loss, d_slope, d_offset, ss, so, oo = _look(f, target, weight, slope, offset)
    for _ in range(MOST):
        if max(abs(d_slope), abs(d_offset)) <= enough:
            break
        ridge = 1e-12 * (1.0 + ss + oo)
        ss, oo = ss + ridge, oo + ridge
        determinant = ss * oo - so * so
        by_slope, by_offset = (so * d_offset - oo * d_slope) / determinant, (so * d_slope - ss * d_offset) / determinant
        down, step = d_slope * by_slope + d_offset * by_offset, 1.0
        while step >= SMALLEST:
            new = _look(f, target, weight, slope + step * by_slope, offset + step * by_offset)
            if new[0] <= loss + 1e-4 * step * down:
                break
            step *= 0.5
        if step < SMALLEST:
            break  # rounding decides: this is the minimum
        slope, offset = slope + step * by_slope, offset + step * by_offset
        loss, d_slope, d_offset, ss, so, oo = new
    return slope, offset


def fit_sigmoid(values: Array, positive: Array, weight: Array) -> SigmoidMap:
    """The sigmoid of least cross-entropy with Platt's targets.

    Parameters
    ----------
    values : array of shape (n,)
        Decision values of rows that the machine was not trained on.
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
    up, down = platt_targets(positive, weight)
    target = np.where(positive, up, down)
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    mean = float(np.dot(weight, target) / weight.sum())
    flat = math.log(mean) - math.log1p(-mean)
    slope, offset = _newton(values / size, target, np.asarray(weight, np.float64), flat)
    if slope <= 0.0:
        return SigmoidMap(0.0, flat)
    return SigmoidMap(slope / size, offset)
