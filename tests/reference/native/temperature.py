"""NumPy twin of native/temperature."""

import numpy as np


def temperature_derivatives(scores, own, weight, slope):
    powers = np.exp(slope * (scores - scores.max(axis=1, keepdims=True)))
    p = powers / powers.sum(axis=1, keepdims=True)
    mean = (p * scores).sum(axis=1)
    variance = (p * (scores - mean[:, None]) ** 2).sum(axis=1)
    return weight @ (mean - own), weight @ variance
