"""NumPy twins of native/tiles, in extended precision where NumPy has it."""

import numpy as np

EXP2, POWER, TANH, DECAY = range(4)
WIDE = np.longdouble


def kernel_values(A, u, B, v, kind, degree=1):
    """k of the (scaled) rows of A with those of B."""
    A, B, u, v = (np.asarray(x).astype(WIDE) for x in (A, B, u, v))
    if kind == DECAY:
        s = u[:, None] + v[None, :] + np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)
        return np.minimum(1, np.exp2(-s))
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
