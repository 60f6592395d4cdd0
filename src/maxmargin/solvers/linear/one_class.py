"""The linear one-class model: a hyperplane between the origin and all but a share nu of the points.

    minimise  1/2 |w|^2 - nu W rho + sum_i w_i max(0, rho - w'x_i),        W = sum_i w_i (the rows' weights)

stated as :mod:`maxmargin.problems.dual` states it for every kernel: Schoelkopf's problem times nu W. With b = -rho it
is a :class:`~maxmargin.problems.primal.PrimalProblem`: targets are zero, a row below the hyperplane costs w_i times its
distance and one above nothing (the pinball loss of quantile one), and t = nu W. The dual is

    maximise  -1/2 |sum_i beta_i x_i|^2    subject to  0 <= beta_i <= w_i,  sum_i beta_i = nu W,

so w / nu W is the point nearest to the origin among the means of the rows in which none has more than w_i / nu W of the
weight. If the origin is such a mean itself, w = 0 is the solution: no hyperplane parts it from that many points.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.losses import Pinball
from maxmargin.problems.primal import PrimalProblem
from maxmargin.runtime.validation import Array, Points


def one_class_problem(X: Points, weight: Array, nu: float, threads: int = 1) -> PrimalProblem:
    """The problem of these rows, weights and nu.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.linear.one_class import one_class_problem
    >>> problem = one_class_problem(np.array([[2.0], [3.0]]), np.ones(2), 0.5)
    >>> problem.primal(np.array([2.0]), -4.0), problem.dual(np.array([1.0, 0.0]))
    (-2.0, -2.0)
    """
    total = nu * float(weight.sum())
    return PrimalProblem(X, np.zeros(len(weight)), weight, Pinball(1.0), total=total, threads=threads)
