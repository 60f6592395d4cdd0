"""Do the convex hulls of two classes meet? The distance of their nearest points, in feature space.

    minimise |sum_{y_i > 0} alpha_i phi(x_i) - sum_{y_i < 0} alpha_i phi(x_i)|^2
    subject to  alpha >= 0, and the alphas of each class sum to one.

A hyperplane separates the classes exactly if the distance is positive. Otherwise the two convex combinations that meet
in one point are the proof that none exists (Farkas' lemma; Bennett & Bredensteiner 2000 for the machine's geometry).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._control import Control
from maxmargin._validation import Array
from maxmargin.gram import Gram
from maxmargin.problems import nu_svc
from maxmargin.solvers.smo import SMO


@dataclass(frozen=True)
class Hulls:
    """The nearest points of two convex hulls.

    Attributes
    ----------
    separable : bool
    distance : float
        Between the hulls, in feature space; 0 up to rounding when they meet.
    weights : array
        The convex combination of each class: entries of a class sum to one.
    """

    separable: bool
    distance: float
    weights: Array


class InseparableError(ValueError):
    """A hard margin was asked for, and no hyperplane separates the classes.

    Attributes
    ----------
    proof : Hulls or None
        Two convex combinations, one of each class, that meet in the same point; ``proof.weights`` belongs to the
        training rows ``rows``.
    rows : array or None
    """

    def __init__(self, message: str, proof: Hulls | None = None, rows: Array | None = None) -> None:
        super().__init__(message)
        self.proof = proof
        self.rows = rows


def nearest_points(y: Array, gram: Gram, control: Control) -> Hulls:
    """The nearest points of the two classes' hulls, and whether anything separates them."""
    n = len(y)
    problem = nu_svc(y, np.ones(n), 2.0 / n)  # the sum of alpha is 2, one in each class
    scale = max(float(np.max(gram.diagonal())), 1e-300)
    solution = SMO().solve(problem, gram, tol=1e-12 * scale / problem.tol_scale, control=control)
    a = solution.a
    used = np.flatnonzero(a)
    f = gram.product(used, a[used])
    apart = float(f[y > 0].min() - f[y < 0].max())
    return Hulls(apart > 1e-11 * scale, float(np.sqrt(max(0.0, np.dot(a, f)))), np.abs(a))
