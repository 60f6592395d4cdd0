"""Twin of native/subsequences: all choices of k positions, one after the other."""

from itertools import combinations, pairwise

import numpy as np


def sum_of(x, z, k, decay):
    """k(x, z) / decay^2k: each pair of equal subsequences counts decay^(gaps in x + gaps in z)."""
    total = 0.0
    for i in combinations(range(len(x)), k):
        for j in combinations(range(len(z)), k):
            if all(x[p] == z[q] for p, q in zip(i, j, strict=True)):
                total += decay ** ((i[-1] - i[0] + 1 - k) + (j[-1] - j[0] + 1 - k))
    return total


def subsequences(letters, starts, lanes, k, decay):
    strings = [letters[a:b] for a, b in pairwise(starts)]
    return np.array([[sum_of(x, z[z >= 0], k, decay) for z in lanes.T] for x in strings]).reshape(
        len(strings), lanes.shape[1]
    )
