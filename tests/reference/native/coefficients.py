"""NumPy twin of native/coefficients."""

import numpy as np


def distribute_coefficients(of, share, coefficients, filled, bounds, out):
    """Each merged row's coefficient goes to its members in turn, each up to its share of the bound."""
    for row in np.unique(of):
        members = np.flatnonzero(of == row)
        before = np.concatenate(([0.0], np.cumsum(share[members])[:-1]))
        for t in range(coefficients.shape[1]):
            c, full = coefficients[row, t], filled[row, t]
            if full == 0 or share[members[0]] == 1:  # no bound, or no other row: the first takes all
                out[members, t] = 0.0
                out[members[0], t] = c
                continue
            taken = np.clip(full - before, 0.0, share[members]) if full < 1 else share[members]
            out[members, t] = c * (taken / full)
