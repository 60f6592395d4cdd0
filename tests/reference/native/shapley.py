"""NumPy twin of native/shapley: the definition, by all subsets of the columns."""

import itertools
import math

import numpy as np


def shapley(value, columns):
    """Shapley values of the game value(known), where known is a boolean mask of the columns."""
    found = []
    for j in range(columns):
        others = [k for k in range(columns) if k != j]
        total = 0.0
        for size in range(columns):
            weight = math.factorial(size) * math.factorial(columns - 1 - size) / math.factorial(columns)
            for members in itertools.combinations(others, size):
                known = np.isin(np.arange(columns), members)
                with_j = known | (np.arange(columns) == j)
                total = total + weight * (value(with_j) - value(known))
        found.append(total)
    return np.array(found)


def shapley_product(rows, anchors, coefficients, background, square, absolute, chi_squared):
    """(rows, outputs, columns), summed over the backgrounds; rates in bits."""

    def factors(x):
        apart, both = x - anchors, x + anchors
        chi = np.divide(apart**2, both, out=np.zeros_like(both), where=both != 0)
        return 2.0 ** -(square * apart**2 + absolute * np.abs(apart) + chi_squared * chi)

    def of_row(x, b):
        z, r = factors(x), np.ones_like(anchors) if b is None else factors(b)
        return shapley(lambda known: np.where(known, z, r).prod(axis=1) @ coefficients, len(x)).T

    others = [None] if background is None else background
    return np.array([sum(of_row(x, b) for b in others) for x in rows])


def shapley_power(rows, anchors, coefficients, background, scale, constant, degree):
    """The same for (constant + sum of scale x anchor)^degree."""

    def of_row(x, b):
        b = np.zeros_like(x) if b is None else b
        value = lambda known: (constant + anchors @ (scale * np.where(known, x, b))) ** degree @ coefficients  # noqa: E731
        return shapley(value, len(x)).T

    others = [None] if background is None else background
    return np.array([sum(of_row(x, b) for b in others) for x in rows])
