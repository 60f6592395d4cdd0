"""Do the convex hulls of two classes meet? The distance of their nearest points, in feature space.

    minimise |sum_{y_i > 0} alpha_i phi(x_i) - sum_{y_i < 0} alpha_i phi(x_i)|^2
    subject to  alpha >= 0, and the alphas of each class sum to one.

A hyperplane separates the classes exactly if the distance is positive. Otherwise the two convex combinations that meet
in one point are the proof that none exists (Farkas' lemma; Bennett & Bredensteiner 2000 for the geometry of SVMs).
A hyperplane through the origin asks for less: all alphas together sum to one, and the distance is that of the origin
from the hull of the points y_i phi(x_i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.kernels.gram.operator import Gram
from maxmargin.problems.dual import nu_svc
from maxmargin.runtime.control import Control
from maxmargin.runtime.validation import Array
from maxmargin.solvers.smo import SMO


@dataclass(frozen=True)
class Hulls:
    """The nearest points of two convex hulls."""

    separable: bool
    distance: float  # between the hulls, in feature space; 0 up to rounding when they meet
    # the convex combination of each class: entries of a class sum to one. Without an intercept all sum to one
    weights: Array


def nearest_points(y: Array, gram: Gram, control: Control, fit_intercept: bool = True) -> Hulls:
    """The nearest points of the two classes' hulls, and whether anything separates them."""
    n = len(y)
    share = 2.0 if fit_intercept else 1.0  # the sum of alpha: one in each class, or one in all
    problem = nu_svc(y, np.ones(n), share / n, fit_intercept=fit_intercept)
    scale = max(float(np.max(gram.diagonal())), 1e-300)
    solution = SMO().solve(problem, gram, tol=1e-12 * scale / problem.tol_scale, control=control)
    coef = problem.coefficients(solution.a)
    f = gram.times(coef)
    apart = float(f[y > 0].min() - f[y < 0].max()) if fit_intercept else 2 * float((y * f).min())
    return Hulls(apart > 1e-11 * scale, float(np.sqrt(max(0.0, np.dot(coef, f)))), np.abs(coef))
