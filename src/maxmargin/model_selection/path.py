"""C-SVC along a path of C, on kernel values that are held in float32: what a grid search does most.

    minimise 1/2 a'Ka - y'a    subject to  sum a = 0,  0 <= y_i a_i <= c_i,        a_i = y_i alpha_i,  f = Ka

A fold is a mask: rows outside it have the bound c_i = 0, can neither rise nor fall, and still have their f computed, so
that the score of the rows left out needs no further kernel value. One solve is compiled (``native/path``).

The next C starts on the ray of the last solution, at theta a, 1 <= theta <= C_new / C, which is feasible for every such
theta. The dual is least at theta = y'a / a'Ka; but where that is not far from the end of the ray, most variables are at
their bounds, and the end, where they still are, needs fewer steps. (Starts from a neighbour: DeCoste & Wagstaff 2000.)
"""

from __future__ import annotations

from maxmargin.runtime.validation import Array

RAY_END_MIN_SHARE = 0.3  # of the ray: from there on its end is the better start
MATRIX_MAX_ROWS = 2048  # of a solve's own matrix: it stays in the cache


def ray(y: Array, a: Array, f: Array, ratio: float) -> float:
    """Where on the ray of the last solution the next C, ``ratio`` times as large, should start."""
    curvature = float(a @ f)
    theta = float(y @ a) / curvature if curvature > 0 else ratio
    return ratio if theta > RAY_END_MIN_SHARE * ratio else max(1.0, theta)
