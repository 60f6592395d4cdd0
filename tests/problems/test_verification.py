"""Fitted values by definition: what a stopped run may keep of its own, and what it may not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import problems
from maxmargin.kernels import RBF, ChiSquared, Kernel, Laplacian, Linear, Normalized, Polynomial
from maxmargin.kernels.definition import DefinedValues
from maxmargin.problems import optimality, verification


@pytest.fixture
def posed(monkeypatch):
    """A problem of which not all rows are computed because they are few, a point, its f, and the values."""
    monkeypatch.setattr(verification, "ALL_ROWS_MAX_TERMS", 0)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    problem = problems.c_svc(y, np.full(300, 10.0))
    a = problem.feasible(y * rng.uniform(0.0, 5.0, 300))
    kernel = RBF(gamma=0.5).resolve(X)
    return problem, a, kernel.matrix(X, X) @ problem.coefficients(a), DefinedValues(kernel, X)


def test_a_stopped_run_keeps_values_that_a_few_rows_confirm(posed):
    problem, a, f, values = posed
    marked = f + 1e-7
    found = verification.verified(problem, a, marked, values, stopped=True)
    assert 0 < np.count_nonzero(found != marked) <= 2 * verification.SAMPLED_ROWS
    np.testing.assert_allclose(found, f, atol=2e-7)


@pytest.mark.parametrize("stopped", [False, True])
def test_wrong_values_are_computed_anew(posed, stopped):
    problem, a, f, values = posed
    found = verification.verified(problem, a, f + 50.0, values, stopped=stopped)
    np.testing.assert_allclose(found, f, atol=1e-9)


@pytest.mark.parametrize("error", [1e-6, 1.0])
def test_only_values_that_err_are_refined(posed, error):
    """And rows that decide are known by definition in any case, with the violation that they have."""
    problem, a, f, values = posed
    rng, refined = np.random.default_rng(1), []

    def refine(given):
        refined.append(given)
        return f + rng.normal(0.0, 1e-6, len(f))

    found = verification.verified(problem, a, f + rng.normal(0.0, error, len(f)), values, refine=refine)
    assert len(refined) == (error > 0.1)
    np.testing.assert_allclose(found, f, atol=1e-5)
    exact, given = (optimality.violation(problem, a, problem.gradient(v, a)) for v in (f, found))
    assert given == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("subset", [False, True])
def test_the_longest_rows(subset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 700)) * 10.0 ** rng.uniform(-3, 3, (500, 1))
    at = rng.permutation(500)[:200] if subset else None
    values = DefinedValues(RBF(gamma=0.5).resolve(X), X, at)
    sizes = np.abs(X if at is None else X[at]).max(axis=1)
    assert set(values.longest(4)) == set(np.argsort(sizes)[-4:])


@pytest.mark.parametrize("density", [0.3, 0.01])  # verified as dense rows, and as sparse ones
@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.5), Laplacian(gamma=0.5), ChiSquared(gamma=0.5), Polynomial(gamma=1.0), Normalized(Linear())]
)
def test_sparse_rows_have_the_values_of_dense_ones(kernel, density):
    rng = np.random.default_rng(0)
    X = sp.random(90, 60, density, "csr", rng=rng)
    cols, coef, rows = rng.permutation(90)[:40], rng.standard_normal(40), rng.permutation(90)[:30]
    kernel = kernel.resolve(X)
    sparse, dense = (DefinedValues(kernel, points).product(cols, coef, rows) for points in (X, X.toarray()))
    np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)


def test_a_kernel_of_the_user_sees_the_points_as_they_are():
    class Common(Kernel):
        """Counts common columns; of sparse rows only."""

        def matrix(self, A, B):
            assert sp.issparse(A)
            assert sp.issparse(B)
            return ((A != 0).astype(float) @ (B != 0).astype(float).T).toarray()

    X = sp.random(50, 20, 0.5, "csr", rng=np.random.default_rng(0))
    values = DefinedValues(Common(), X)
    np.testing.assert_array_equal(values.product(np.arange(50), np.ones(50)), Common().matrix(X, X).sum(axis=1))
