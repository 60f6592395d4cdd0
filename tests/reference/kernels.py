"""Kernels written out from their definitions, a number at a time: slow, obvious, and independent of the library."""

from __future__ import annotations

import itertools
import math
from collections import Counter


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


def squared_distance(x, z):
    return sum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def matern(gamma, nu):
    def k(x, z):
        r = math.sqrt(4 * nu * gamma * squared_distance(x, z))
        return math.exp(-r) * {0.5: 1, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[nu]

    return k


def rational_quadratic(gamma, alpha):
    return lambda x, z: (1 + gamma * squared_distance(x, z) / alpha) ** -alpha


def periodic(period, gamma):
    return lambda x, z: math.exp(
        -4 * gamma * sum(math.sin(math.pi * (a - b) / period) ** 2 for a, b in zip(x, z, strict=True))
    )


def arc_cosine(order):
    def k(x, z):
        lengths = math.sqrt(linear(x, x)) * math.sqrt(linear(z, z))
        cosine = max(-1.0, min(1.0, linear(x, z) / lengths)) if lengths else 0.0
        t, sine = math.acos(cosine), math.sqrt(1 - cosine * cosine)
        J = (
            math.pi - t,
            sine + (math.pi - t) * cosine,
            3 * sine * cosine + (math.pi - t) * (1 + 2 * cosine**2),
        )
        return lengths**order * J[order] / math.pi

    return k


def tanimoto(x, z):
    shared = linear(x, z)
    either = linear(x, x) + linear(z, z) - shared
    return shared / either if either else 1.0


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


def words(x, k):
    return [x[i : i + k] for i in range(len(x) - k + 1)]


def spectrum(k):
    return lambda x, z: sum(a == b for a in words(x, k) for b in words(z, k))


def weighted_degree(degree):
    def k(x, z):
        total = 0.0
        for length in range(1, degree + 1):
            places = range(min(len(x), len(z)) - length + 1)
            same = sum(x[i : i + length] == z[i : i + length] for i in places)
            total += 2 * (degree - length + 1) / (degree * (degree + 1)) * same
        return total

    return k


def neighbours(word, m, alphabet):
    """All words that differ from this one in at most m letters; letters outside the alphabet stay."""
    found = set()
    for places in itertools.combinations([i for i, letter in enumerate(word) if letter in alphabet], min(m, len(word))):
        for letters in itertools.product(alphabet, repeat=len(places)):
            new = list(word)
            for i, letter in zip(places, letters, strict=True):
                new[i] = letter
            found.add("".join(new))
    free = sum(letter in alphabet for letter in word)
    return found if free >= m else neighbours(word, free, alphabet)


def mismatch(k, m, alphabet):
    def features(x):
        return Counter(w for word in words(x, k) for w in neighbours(word, m, alphabet))

    def similarity(x, z):
        left, right = features(x), features(z)
        return sum(count * right[w] for w, count in left.items())

    return similarity


def subsequence(k, decay):
    def features(x):
        phi = Counter()
        for places in itertools.combinations(range(len(x)), k):
            phi["".join(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return phi

    def similarity(x, z):
        left, right = features(x), features(z)
        return sum(value * right[w] for w, value in left.items())

    return similarity


def jaccard(x, z):
    both = [element for element in x if element in z]
    either = [*x, *(element for element in z if element not in x)]
    return len(both) / len(either) if either else 1.0


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


def object_gram(k, A, B):
    """The matrix of k over lists of things that are not vectors."""
    return [[k(x, z) for z in B] for x in A]


def variance(X, weights):
    """The weighted variance of all entries."""
    entries = [(float(value), float(w)) for row, w in zip(X, weights, strict=True) for value in row]
    total = sum(w for _, w in entries)
    mean = sum(w * value for value, w in entries) / total
    return sum(w * (value - mean) ** 2 for value, w in entries) / total
