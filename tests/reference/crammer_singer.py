"""The joint multiclass model of Crammer & Singer (2001) as a textbook quadratic program, independent of the library.

min 1/2 sum_k |w_k|^2 + sum_i c_i xi_i    subject to  w_{y_i}'x_i - w_k'x_i >= 1 - xi_i  for k != y_i,  xi >= 0.

The multipliers of the constraints are the coefficients: minus those of class k, plus their sum for the label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.qp import features, minimise


@dataclass(frozen=True)
class JointAnswer:
    """The optimum: its value, the coefficients (rows, classes), and F = K @ coefficients."""

    objective: float
    coefficients: np.ndarray
    F: np.ndarray


def solve(K, label, bound, n_classes):
    """The joint model; a row of price zero is left out, one of infinite price has no slack."""
    used = np.flatnonzero(bound > 0)
    Phi = features(K[np.ix_(used, used)])
    r, n = Phi.shape[1], len(used)
    size = n_classes * r + n
    P, q = np.zeros(size), np.zeros(size)
    P[: n_classes * r] = 1.0
    q[n_classes * r :] = np.where(np.isfinite(bound[used]), bound[used], 0.0)
    G, h, what = [], [], []
    for i, row in enumerate(used):
        for k in range(n_classes):
            if k == label[row]:
                continue
            g = np.zeros(size)
            g[label[row] * r : (label[row] + 1) * r] -= Phi[i]
            g[k * r : (k + 1) * r] += Phi[i]
            if np.isfinite(bound[row]):
                g[n_classes * r + i] = -1.0
            G.append(g)
            h.append(-1.0)
            what.append((row, k))
    for i in range(n):
        g = np.zeros(size)
        g[n_classes * r + i] = -1.0
        G.append(g)
        h.append(0.0)
    value, _, z = minimise(P, q, np.array(G), np.array(h))
    A = np.zeros((len(label), n_classes))
    for multiplier, (row, k) in zip(z, what, strict=False):
        A[row, k] -= multiplier
        A[row, label[row]] += multiplier
    return JointAnswer(value, A, K @ A)
