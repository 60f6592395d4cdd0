"""NumPy twins of native/tiles, in extended precision where NumPy has it."""

import numpy as np

EXP2, POWER, TANH, DECAY, MATERN, RATIONAL, ANGLE, TANIMOTO = range(8)
WIDE = np.longdouble


def kernel_values(A, u, B, v, kind, degree=1):
    """k of the (scaled) rows of A with those of B."""
    A, B, u, v = (np.asarray(x).astype(WIDE) for x in (A, B, u, v))
    if kind == DECAY:
        s = u[:, None] + v[None, :] + np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)
        return np.minimum(1, np.exp2(-s))
    if kind in (MATERN, RATIONAL):
        t = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        if kind == RATIONAL:
            return (1 + t) ** -WIDE(degree)
        r = np.sqrt(t) * np.log(WIDE(2))
        return np.exp(-r) * {1: 1, 3: 1 + r, 5: 1 + r + r**2 / 3}[degree]
    if kind == ANGLE:
        size = u[:, None] * v[None, :]
        c = np.clip(np.divide(A @ B.T, size, out=np.zeros_like(size), where=size > 0), -1, 1)
        t, pi = np.arccos(c), WIDE(4) * np.arctan(WIDE(1))
        J = {0: pi - t, 1: np.sin(t) + (pi - t) * c, 2: 3 * np.sin(t) * c + (pi - t) * (1 + 2 * c**2)}[degree]
        return size**degree * J / pi
    if kind == TANIMOTO:
        t = A @ B.T
        either = u[:, None] + v[None, :] - t
        return np.divide(t, either, out=np.ones_like(t), where=either > 0)
    s = u[:, None] + v[None, :] + A @ B.T
    if kind == EXP2:
        return np.minimum(1, np.exp2(s))
    if kind == TANH:
        return np.tanh(s * np.log(WIDE(2)) / 2)
    assert kind == POWER
    return s**degree


def term_sizes(A, u, B, v, kind):
    """Sum of the absolute values of the terms of s: its rounding error is a few units of this."""
    A, B, u, v = (np.abs(np.asarray(x).astype(np.float64)) for x in (A, B, u, v))
    if kind == DECAY:
        return u[:, None] + v[None, :] + A.sum(axis=1)[:, None] + B.sum(axis=1)[None, :]
    return u[:, None] + v[None, :] + A @ B.T


def pack(B, own_v, at, width):
    """Rows of B as columns of panels, and their v; zero beyond them."""
    d = B.shape[1]
    panels = -(-len(at) // width)
    P, v = np.zeros((panels, d, width), B.dtype), np.zeros(panels * width, B.dtype)
    for t, i in enumerate(at):
        P[t // width, :, t % width] = B[i]
        v[t] = 0 if own_v is None else own_v[i]
    return P, v


def decays(s, rate):
    """2^-(rate s), at most 1."""
    return np.minimum(1, np.exp2(-WIDE(rate) * np.asarray(s).astype(WIDE)))
