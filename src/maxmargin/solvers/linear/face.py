"""Conjugate gradients on a face of the box: the fast end of coordinate descent.

Coordinate descent soon finds out which multipliers are at a bound, but brings the others, the free set F, to their
values at the pace of the worst-conditioned direction. With the rest fixed the dual is a quadratic in alpha_F,

    Q_FF = Y X_F X_F' Y + rho y y' + R,     gradient g_i = y_i (w'x_i + b_0 + rho s) - 1 + r_i alpha_i,   s = y'alpha,

(b_0 and rho are those of the method of multipliers, or of a penalised intercept), whose minimum conjugate gradients
reach in about the square root of that many steps. A step costs two products with the rows of F, and Q_FF is never
formed. The way there is cut off where it leaves the box (Moré & Toraldo 1991):

    alpha(t) = clip(alpha + t d, 0, upper),    t = 1, 1/2, 1/4, ...  until the objective is lower.
"""

from __future__ import annotations

import numba
import numpy as np

from maxmargin.runtime.validation import Array
from maxmargin.solvers.linear.rows import row_add, row_dot

HALVINGS = 6
ENOUGH = 0.1  # of the first residual: the free set is about to change anyway


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _product(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    free: Array,
    y: Array,
    ridge: Array,
    rho: float,
    p: Array,
    v: Array,
    out: Array,
) -> None:
    """out = Q_FF p; v = X_F'Y p."""
    v[:] = 0.0
    total = 0.0
    for k in range(len(free)):
        i = free[k]
        if p[k] != 0.0:
            row_add(sparse, indptr, indices, data, shift, i, y[i] * p[k], v)
            total += y[i] * p[k]
    for k in range(len(free)):
        i = free[k]
        out[k] = y[i] * (row_dot(sparse, indptr, indices, data, shift, i, v) + rho * total) + ridge[i] * p[k]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def face_step(
    sparse: bool,
    indptr: Array,
    indices: Array,
    data: Array,
    shift: Array,
    free: Array,
    y: Array,
    ridge: Array,
    upper: Array,
    alpha: Array,
    w: Array,
    state: Array,
    most: int,
) -> float:
    """Move alpha_F, w and s (``state`` is b_0, rho, s, ...) towards the minimum on the face, by at most ``most`` steps
    of conjugate gradients; how much lower the objective is."""
    m, b0, rho = len(free), state[0], state[1]
    g, d, r, p, q = np.empty(m), np.zeros(m), np.empty(m), np.empty(m), np.empty(m)
    v = np.empty_like(w)
    for k in range(m):
        i = free[k]
        f = row_dot(sparse, indptr, indices, data, shift, i, w)
        g[k] = y[i] * (f + b0 + rho * state[2]) - 1.0 + ridge[i] * alpha[i]
        r[k] = p[k] = -g[k]
    size = first = np.sum(r * r)
    for _ in range(most):
        if size <= ENOUGH * ENOUGH * first:
            break
        _product(sparse, indptr, indices, data, shift, free, y, ridge, rho, p, v, q)
        curvature = np.sum(p * q)
        if not curvature > 1e-14 * np.sum(p * p):
            break
        step = size / curvature
        for k in range(m):
            d[k] += step * p[k]
            r[k] -= step * q[k]
        new = np.sum(r * r)
        for k in range(m):
            p[k] = r[k] + new / size * p[k]
        size = new
    t = 1.0
    for _ in range(HALVINGS):
        for k in range(m):
            i = free[k]
            p[k] = min(max(alpha[i] + t * d[k], 0.0), upper[i]) - alpha[i]
        _product(sparse, indptr, indices, data, shift, free, y, ridge, rho, p, v, q)
        change = np.sum(g * p) + 0.5 * np.sum(p * q)
        if change < 0.0:
            for k in range(m):
                i = free[k]
                new_alpha = alpha[i] + p[k]
                # to the bound itself, not to its neighbour
                if p[k] != 0.0 and alpha[i] + t * d[k] >= upper[i]:
                    new_alpha = upper[i]
                elif alpha[i] + t * d[k] <= 0.0:
                    new_alpha = 0.0
                state[2] += y[i] * (new_alpha - alpha[i])
                alpha[i] = new_alpha
            for j in range(len(w)):
                w[j] += v[j]
            return -change
        t *= 0.5
    return 0.0
