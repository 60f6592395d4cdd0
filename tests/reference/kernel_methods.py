"""Kernel methods from their definitions: residuals of what they solve, and distances in feature space.

K is a kernel matrix in extended precision. A backward stable solver of a system A z = t leaves a residual of at most
(n + c) u (|A| |z| + |t|) in norm (Higham 2002, theorem 10.4), and one of an eigenproblem at most that times |A|; the
functions here compute residuals, and callers compare them with such bounds.
"""

from __future__ import annotations

import numpy as np


def ridge_residual(K, c, b, y, w, alpha):
    """The residual of (S K S + alpha I) z = S (y - b), z = c / sqrt(w), S = diag(sqrt w): what is solved for the
    minimum of sum w (y - f)^2 + alpha c'Kc. Also the norms |A| |z| and |S (y - b)| that bound its rounding."""
    s = np.sqrt(w)
    A = s[:, None] * K * s + alpha * np.eye(len(w))
    z, t = c / s, s * (y - b)
    size = np.linalg.norm(np.asarray(A, np.float64)) * np.linalg.norm(np.asarray(z, np.float64))
    return np.asarray(A @ z - t, np.float64), float(size), float(np.linalg.norm(np.asarray(t, np.float64)))


def leave_one_out(K, y, w, alpha, group, fit_intercept):
    """The errors y_i - f(x_i) of functions that are fitted without the rows of group i, by brute force."""
    errors = np.empty(len(y))
    for g in np.unique(group):
        kept, left = group != g, group == g
        s = np.sqrt(w[kept])
        A = s[:, None] * K[np.ix_(kept, kept)] * s + alpha * np.eye(kept.sum())
        if fit_intercept:
            q = s / np.linalg.norm(s)
            Q = np.eye(len(s)) - np.outer(q, q)
            system = Q @ (A - alpha * np.eye(len(s))) @ Q + alpha * np.eye(len(s))
            c = s * (Q @ np.linalg.solve(system, Q @ (s * y[kept])))
            b = w[kept] @ (y[kept] - K[np.ix_(kept, kept)] @ c) / w[kept].sum()
        else:
            c, b = s * np.linalg.solve(A, s * y[kept]), 0.0
        errors[left] = y[left] - K[np.ix_(left, kept)] @ c - b
    return errors


def centred(K):
    """P K P with P = I - 11'/n."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def squared_distances(k_xx, k_xz, k_zz):
    """|phi(x) - phi(z)|^2 = k(x, x) - 2 k(x, z) + k(z, z)."""
    return k_xx[:, None] - 2 * k_xz + k_zz[None, :]


def cluster_distances(K, labels, w, count):
    """The squared distance of every point from every cluster's weighted mean."""
    Z = np.zeros((len(labels), count), np.longdouble)
    Z[np.arange(len(labels)), labels] = w
    Z = Z / np.where(Z.sum(axis=0) > 0, Z.sum(axis=0), 1)
    F = K @ Z
    return K.diagonal()[:, None] - 2 * F + np.einsum("ic,ic->c", Z, F)


def fisher_values(K, codes, w, alpha):
    """The variances between classes over the regularised ones within, largest first, by explicit features."""
    values, vectors = np.linalg.eigh(np.asarray((K + K.T) / 2, np.float64))
    keep = values > 0
    Phi = vectors[:, keep] * np.sqrt(values[keep])
    d = w / w.sum()
    mean = d @ Phi
    k = codes.max() + 1
    S_w, S_b = np.zeros((Phi.shape[1],) * 2), np.zeros((Phi.shape[1],) * 2)
    for c in range(k):
        own = codes == c
        share = d[own].sum()
        if share == 0:
            continue
        centre = d[own] @ Phi[own] / share
        S_b += share * np.outer(centre - mean, centre - mean)
        S_w += (Phi[own] - centre).T @ (d[own, None] * (Phi[own] - centre))
    lam = alpha * (np.trace(S_b) + np.trace(S_w))
    root = np.linalg.cholesky(S_w + lam * np.eye(len(S_w)))
    inner = np.linalg.solve(root, np.linalg.solve(root, S_b).T)
    return np.sort(np.linalg.eigvalsh((inner + inner.T) / 2))[::-1][: k - 1], lam


def mmd(K, n_x, unbiased):
    """The squared maximum mean discrepancy of the first n_x points and the others."""
    A, B, C = K[:n_x, :n_x], K[n_x:, n_x:], K[:n_x, n_x:]
    m, n = len(A), len(B)
    if unbiased:
        inner = (A.sum() - A.trace()) / (m * (m - 1)) + (B.sum() - B.trace()) / (n * (n - 1))
    else:
        inner = A.sum() / m**2 + B.sum() / n**2
    return inner - 2 * C.mean()
