"""Drawn dual problems of every kind with their kernel matrices and the oracle's objective, for all solvers."""

import functools

import numpy as np
import pytest

from maxmargin.problems import dual
from reference import qp


def gaussian(X):
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


KERNEL_MATRICES = {
    "linear": lambda X: X @ X.T,
    "rbf": gaussian,
    "poly": lambda X: (0.5 * X @ X.T + 1) ** 3,
}


def pose(kind, arguments):
    return getattr(dual, {"hard_margin": "c_svc"}.get(kind, kind))(**arguments)


@functools.cache
def case(kind, intercept, kernel, seed=0, n=24):
    """(problem, K, the oracle's objective); computed once for all solvers."""
    X, arguments = qp.draw(kind, intercept, seed, n)
    K = KERNEL_MATRICES[kernel](X)
    return pose(kind, arguments), K, qp.solve(kind, K, arguments).objective


def check_feasible(problem, a):
    assert np.isfinite(a).all()
    assert (a >= problem.lower).all()
    assert (a <= problem.upper).all()
    for g, total in enumerate(problem.totals):
        part = a[problem.group == g]
        assert part.sum() == pytest.approx(total, abs=1e-9 * max(np.abs(part).sum(), abs(total)))
