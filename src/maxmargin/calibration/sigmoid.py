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

from dataclasses import dataclass

import numpy as np

from maxmargin._validation import Array

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
    >>> from maxmargin.calibration import SigmoidMap
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


def cross_entropy(z: Array, target: Array, weight: Array) -> float:
    """-sum w (t log p + (1 - t) log(1 - p)) with p = 1 / (1 + exp(-z))."""
    return float(np.dot(weight, np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0) - target * z))


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
    >>> from maxmargin.calibration import fit_sigmoid
    >>> values = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    >>> fitted = fit_sigmoid(values, np.array([False, False, False, True, True, True]), np.ones(6))
    >>> fitted.slope > 0
    True
    """
    up, down = platt_targets(positive, weight)
    target = np.where(positive, up, down)
    size = float(np.abs(values).max(initial=0.0)) or 1.0
    f = values / size
    mean = float(np.dot(weight, target) / weight.sum())
    flat = float(np.log(mean) - np.log1p(-mean))
    theta = np.array([0.0, flat])
    loss = cross_entropy(np.full(len(f), flat), target, weight)
    for _ in range(MOST):
        z = theta[0] * f + theta[1]
        p = logistic(z)
        residual, curvature = weight * (p - target), weight * p * (1.0 - p)
        gradient = np.array([np.dot(residual, f), residual.sum()])
        if np.abs(gradient).max() <= 1e-9 * weight.sum():
            break
        cross = np.dot(curvature, f)
        H = np.array([[np.dot(curvature, f * f), cross], [cross, curvature.sum()]])
        H[[0, 1], [0, 1]] += 1e-12 * (1.0 + np.trace(H))
        move = -np.linalg.solve(H, gradient)
        slope, step = float(np.dot(gradient, move)), 1.0
        while step >= SMALLEST:
            new = theta + step * move
            value = cross_entropy(new[0] * f + new[1], target, weight)
            if value <= loss + 1e-4 * step * slope:
                break
            step *= 0.5
        else:
            break  # rounding decides: this is the minimum
        theta, loss = new, value
    if theta[0] <= 0.0:
        return SigmoidMap(0.0, flat)
    return SigmoidMap(float(theta[0]) / size, float(theta[1]))
