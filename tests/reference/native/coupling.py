"""NumPy twin of native/coupling: the bordered system of each row."""

import numpy as np


def couple_pairs(r, columns, least, out):
    k = out.shape[1]
    i, j = np.triu_indices(k, 1)
    for row, p in zip(np.clip(r[:, columns], least, 1.0 - least), out, strict=True):
        R = np.zeros((k, k))
        R[i, j], R[j, i] = row, 1.0 - row
        Q = -R * R.T + np.diag((R**2).sum(axis=0))
        system = np.block([[Q, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        p[:] = np.maximum(np.linalg.solve(system, np.append(np.zeros(k), 1.0))[:k], 0.0)
        p /= p.sum()
