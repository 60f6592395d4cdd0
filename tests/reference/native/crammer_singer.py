"""NumPy twin of native/crammer_singer: rows by sorting, violations by definition."""

import numpy as np


def solve_row(b, q, label, bound):
    """The minimum of q/2 |a|^2 + b'a over a_k <= u_k, sum a = 0: theta by bisection."""
    u = np.zeros(len(b))
    u[label] = bound
    low, high = b.min() - q, b.max() + q * (1.0 if np.isinf(bound) else bound) + q
    for _ in range(200):
        theta = 0.5 * (low + high)
        low, high = (theta, high) if np.minimum(u, (theta - b) / q).sum() < 0 else (low, theta)
    return np.minimum(u, (0.5 * (low + high) - b) / q)


def violations(G, A, label, bound):
    upper = np.zeros(A.shape)
    upper[np.arange(len(A)), label] = bound
    return G.max(axis=1) - np.where(upper > A, G, np.inf).min(axis=1)


def solve_joint_rows(K, G, A, label, bound, goal, max_steps):
    floor = max(1e-300, 1e-8 * K.diagonal().max())
    for step in range(max_steps):
        worst = violations(G, A, label, bound)
        i = int(worst.argmax())
        if worst[i] <= goal:
            return step
        q = max(K[i, i], floor)
        change = solve_row(G[i] - q * A[i], q, label[i], bound[i]) - A[i]
        A[i] += change
        G += K[i][:, None] * change
    return max_steps
