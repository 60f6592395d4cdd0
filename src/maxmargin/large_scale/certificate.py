"""Is it optimal? Primal, dual and gap of each output, from sums over the rows.

With w in the space of the features phi_i = T'k_i, decision values f_i = w'phi_i + b and weights c_i,

    P(w, b) = 1/2 |w|^2 + sum_i c_i L_i(f_i),
    D(g)    = -1/2 |sum_i g_i phi_i|^2 - sum_i (c_i L_i)*(g_i),        sum_i g_i = 0 if the intercept is free,

and P >= D for any w, b and g (Fenchel). The g_i are the derivatives of the smoothed losses, for which the conjugate of
the true loss is finite. Where they do not sum to zero, the heavier of the two sides, g > 0 and g < 0, is made as light
as the other; then all are scaled by the common factor that is best for D. With v = -sum_i g_i phi_i the gap is

    P - D = 1/2 |w - v|^2 + sum_i c_i L_i(f_i) + (c_i L_i)*(g_i) - g_i f_i :

how far w is from stationary, and how far the rows are from complementary, each of whose terms is >= 0.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.large_scale.rows.oracle import Sums
from maxmargin.large_scale.smoothed_loss import SmoothedLoss
from maxmargin.problems.certificate import Certificate
from maxmargin.runtime.validation import Array


def certify(w: Array, sums: Sums, T: Array | None, loss: SmoothedLoss, intercept: bool) -> list[Certificate]:
    """The certificates of the outputs.

    w: (r, k)
    sums: of the rows at (w, b), with sides if there is an intercept
    T: (m, r), or None for the identity
    intercept: whether there is a free intercept
    Returns ``complementarity`` is the rows' part of the gap, and ``violation`` |w - v| as a share of sqrt(2 P), which
        |w| cannot exceed at the optimum.
    """
    whitened = sums.gradient if T is None else T.T @ sums.gradient
    found = []
    for k in range(w.shape[1]):
        t = _balance(sums.slope[:, k]) if intercept else np.ones(2)
        v = -(whitened[0, :, k] if len(whitened) == 1 else t @ whitened[:, :, k])
        linear = float(t @ sums.linear[:, k])
        square = 0.5 * float(v @ v) + float(t**2 @ sums.quadratic[:, k])
        scale = max(0.0, -linear / (2.0 * square)) if square > 0 else 1.0
        scale = scale if loss.squared else min(1.0, scale)
        primal = 0.5 * float(w[:, k] @ w[:, k]) + float(sums.loss[k])
        dual = -scale * linear - scale**2 * square
        apart = float(np.linalg.norm(w[:, k] - scale * v))
        found.append(
            Certificate(
                primal=primal,
                dual=dual,
                violation=apart / math.sqrt(2.0 * primal) if primal > 0 else 0.0,
                stationarity=apart,
                dual_infeasibility=0.0,
                primal_infeasibility=0.0,
                complementarity=max(0.0, primal - dual - 0.5 * apart**2),
                norm=float(np.linalg.norm(w[:, k])),
            )
        )
    return found


def _balance(slope: Array) -> Array:
    """Factors of the two sides whose sums of g then cancel."""
    up, down = float(slope[0]), -float(slope[1])
    return np.array([min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0])
