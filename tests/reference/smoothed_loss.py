"""Smoothed losses row by row, from the definitions; ``loss`` is a SmoothedLoss, whose numbers alone are read."""

import numpy as np

from reference.native.smoothed_losses import values


def _at(loss, f, y):
    kind = (not loss.loss.classifies, loss.loss.squared, loss.loss.epsilon, loss.width)
    return values(kind, np.asarray(f, float), np.asarray(y, float), None)


def value(loss, f, y):
    return _at(loss, f, y)[3]


def smooth_value(loss, f, y):
    return _at(loss, f, y)[0]


def derivative(loss, f, y):
    """Of the rounded loss with respect to f."""
    a = _at(loss, f, y)[1]
    return -a * y if loss.loss.classifies else -a


def curvature(loss, f, y):
    return _at(loss, f, y)[2]


def conjugate(loss, g, y):
    """L*(g) = sup_f g f - L(f) of the true loss; infinite where no line of slope g supports it."""
    tube, squared, epsilon = not loss.loss.classifies, loss.loss.squared, loss.loss.epsilon
    a = -g if tube else -g * y
    found = epsilon * np.abs(a) - a * y if tube else -a
    found = found + 0.25 * a**2 if squared else found
    beyond = np.zeros(len(a), bool) if tube else a < 0
    return np.where(beyond | (False if squared else np.abs(a) > 1), np.inf, found)
