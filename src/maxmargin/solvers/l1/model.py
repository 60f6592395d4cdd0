"""The quadratic model of a Newton step under the penalty |v|_1,

    minimise  1/2 v'Hv - r'v + |v|_1,       H symmetric and positive semidefinite.

With q = Hv - r, the optimum has q_j = -sign(v_j) where v_j is not zero and |q_j| <= 1 where it is.

Coordinate descent finds out which weights are zero and which signs the others have. Along v_j the model is a parabola
with a corner at zero, so

    v_j <- soft(H_jj v_j - q_j) / H_jj,     soft(z) = sign(z) max(0, |z| - 1),

and q follows at the cost of one row of H. When the signs s of the weights A that are not zero have come to rest, what
remains is the linear system H_AA v_A = r_A - s_A (Lee, Battle, Raina & Ng 2007). If its solution has another sign
somewhere, that weight becomes zero and the system smaller. Descent alone would take thousands of passes where columns
nearly depend on each other.
"""

from __future__ import annotations

import contextlib

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin import _native
from maxmargin.runtime.validation import Array

HESSIAN_RIDGE = 1e-13  # of H, relative to its diagonal: equal columns make it singular
RESTED_PASSES = 4  # without a change of sign before the linear system is worth its cost
DESCENT_MAX_PASSES = 100
MAX_ROUNDS = 60  # of descent and linear systems
MAX_CROSSINGS = 20  # linear systems in a row while weights become zero
SYSTEMS_MAX_OPERATIONS = 1.5e9  # for one model: a second or so


def violation(q: Array, v: Array) -> float:
    """The violation of the optimality conditions by q, in units of the penalty."""
    apart = np.where(v == 0, np.maximum(0.0, np.abs(q) - 1.0), np.abs(q + np.sign(v)))
    return float(apart.max(initial=0.0))


def minimise(H: Array, r: Array, v: Array, goal: float) -> tuple[Array, bool]:
    """The minimum of the model, sought from ``v``, and whether it was found to a violation of ``goal``.

    The effort is limited: where signs keep changing, a model of the losses is not worth an exact solution.
    """
    H = np.ascontiguousarray(H)
    v = np.where(np.diagonal(H) > 0, v, 0.0)
    best, lowest, spent = v, np.inf, 0.0
    for _ in range(MAX_ROUNDS):
        v = v.copy()
        q = H @ v - r
        _native.l1_model(H, v, q, goal, DESCENT_MAX_PASSES, RESTED_PASSES)
        if violation(q, v) > goal:
            with contextlib.suppress(np.linalg.LinAlgError):
                spent += MAX_CROSSINGS / 3 * np.count_nonzero(v) ** 3
                v = _with_these_signs(H, r, v)
        q = H @ v - r
        value = 0.5 * float(v @ (q - r)) + float(np.abs(v).sum())
        if not value < lowest:
            return best, True  # as good as rounding allows
        best, lowest = v, value
        if violation(q, v) <= goal:
            return best, True
        if spent > SYSTEMS_MAX_OPERATIONS:
            break
    return best, False


def _with_these_signs(H: Array, r: Array, v: Array) -> Array:
    """The minimum over the weights that are not zero; those whose sign is in the way become zero."""
    for _ in range(MAX_CROSSINGS):
        active = np.flatnonzero(v)
        if len(active) == 0:
            break
        old, s = v[active], np.sign(v[active])
        part, right = H[np.ix_(active, active)], r[active]
        lifted = part.copy()
        lifted[np.diag_indices_from(lifted)] *= 1.0 + HESSIAN_RIDGE
        new = cho_solve(cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False), right - s)
        crossed = new * s <= 0
        cut = np.where(crossed, 0.0, new)
        if crossed.any() and _value(part, right, cut) >= _value(part, right, old):
            t = np.where(crossed, old / np.where(crossed, old - new, 1.0), np.inf)
            first = int(t.argmin())
            cut = old + t[first] * (new - old)
            cut[first] = 0.0
        v = v.copy()
        v[active] = cut
        if not crossed.any():
            break
    return v


def _value(H: Array, r: Array, v: Array) -> float:
    return float(0.5 * v @ (H @ v) - r @ v + np.abs(v).sum())
