"""Kernels written out from their definitions, a number at a time: slow, obvious, and independent of the library."""

from __future__ import annotations

import math


def linear(x, z):
    total = 0.0
    for a, b in zip(x, z, strict=True):
        total += a * b
    return total


def polynomial(gamma, coef0, degree):
    return lambda x, z: (gamma * linear(x, z) + coef0) ** degree


def sigmoid(gamma, coef0):
    return lambda x, z: math.tanh(gamma * linear(x, z) + coef0)


def rbf(gamma):
    return lambda x, z: math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def laplacian(gamma):
    return lambda x, z: math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, z, strict=True)))


def chi_squared(gamma):
    def k(x, z):
        total = 0.0
        for a, b in zip(x, z, strict=True):
            if a + b != 0:
                total += (a - b) ** 2 / (a + b)
        return math.exp(-gamma * total)

    return k


def intersection(x, z):
    return sum(min(a, b) for a, b in zip(x, z, strict=True))


def normalized(k):
    def cosine(x, z):
        product = k(x, x) * k(z, z)
        return k(x, z) / math.sqrt(product) if product > 0 else 0.0

    return cosine


def centered(k, rows, weights):
    """phi(x) - m against phi(z) - m, the mean m over the weighted rows, multiplied out."""
    total = sum(weights)
    n = range(len(rows))

    def k_centered(x, z):
        mu_x = sum(weights[i] * k(x, rows[i]) for i in n) / total
        mu_z = sum(weights[i] * k(z, rows[i]) for i in n) / total
        grand = sum(weights[i] * weights[j] * k(rows[i], rows[j]) for i in n for j in n) / total**2
        return k(x, z) - mu_x - mu_z + grand

    return k_centered


def restricted(k, columns):
    return lambda x, z: k([x[c] for c in columns], [z[c] for c in columns])


def gram(k, A, B):
    """The matrix of k over the rows of A and B, as nested lists."""
    rows_a, rows_b = ([[float(value) for value in row] for row in M] for M in (A, B))
    return [[k(x, z) for z in rows_b] for x in rows_a]


def variance(X, weights):
    """The weighted variance of all entries."""
    entries = [(float(value), float(w)) for row, w in zip(X, weights, strict=True) for value in row]
    total = sum(w for _, w in entries)
    mean = sum(w * value for value, w in entries) / total
    return sum(w * (value - mean) ** 2 for value, w in entries) / total
