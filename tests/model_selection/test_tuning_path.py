"""The path of C on held float32 kernel values: judged by the definitions, in float64, on random problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native, problems
from maxmargin._native import SLOT_UNIT
from maxmargin.kernels import RBF, Linear
from maxmargin.kernels.gram.operator import StoredGram
from maxmargin.model_selection.jobs import MATRIX_MAX_ROWS, ray
from maxmargin.model_selection.store import MaskedGram
from maxmargin.problems import optimality
from maxmargin.runtime.control import Control
from maxmargin.runtime.threads import Scratch
from maxmargin.solvers import SMO


def held(K):
    """K in the layout of the store."""
    n = len(K)
    out = np.zeros((n, -(-n // SLOT_UNIT) * SLOT_UNIT + 80), np.float32)
    out[:, :n] = K
    return out


def walk(K, y, weight, Cs, tol=1e-3, piece=10**9):
    """a, f and -b for every C."""
    n = len(y)
    wide = min(MATRIX_MAX_ROWS, -(-n // SLOT_UNIT) * SLOT_UNIT + SLOT_UNIT)
    M, W, count = np.empty((wide, wide + 16), np.float32), np.empty(wide, np.int64), np.zeros(1, np.int64)
    a, f, last, found = np.zeros(n), np.zeros(n), None, []
    for C in Cs:
        if last is not None:
            theta = ray(y, a, f, C / last)
            assert 1 <= theta <= C / last
            a *= theta
            f *= theta
        for _ in range(10_000):
            _, violation, offset = _native.advance_path(held(K), y, C * weight, a, f, W, count, M, tol, piece)
            if violation <= tol:
                break
        last = C
        found.append((a.copy(), f.copy(), offset, violation))
    return found


def problem_of(seed, n, kernel):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weight = rng.uniform(0.5, 2.0, n)
    weight[rng.permutation(n)[: n // 4]] = 0.0
    weight[:2] = 1.0
    return kernel.resolve(X).matrix(X, X).astype(np.float32).astype(np.float64), y, weight


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 90),
    kernel=st.sampled_from([RBF(gamma=0.05), RBF(gamma=0.5), RBF(gamma=20.0), Linear()]),
    piece=st.sampled_from([7, 10**9]),
)
def test_every_c_is_solved_to_tol(seed, n, kernel, piece):
    K, y, weight = problem_of(seed, n, kernel)
    trained = np.flatnonzero(weight)
    for C, (a, f, offset, _) in zip((0.05, 1.0, 30.0), walk(K, y, weight, (0.05, 1.0, 30.0), piece=piece), strict=True):
        assert not a[weight == 0].any()
        np.testing.assert_allclose(f, K @ a, atol=1e-9 * (1 + np.abs(a).sum() * np.abs(K).max()))
        problem = problems.c_svc(y[trained], C * weight[trained])
        assert (problem.lower <= a[trained]).all()
        assert (a[trained] <= problem.upper).all()
        assert abs(a.sum()) < 1e-10 * (1 + np.abs(a).sum())
        gradient = problem.gradient((K @ a)[trained], a[trained])
        assert optimality.violation(problem, a[trained], gradient) <= 1.01e-3
        assert offset == pytest.approx(optimality.offsets(problem, a[trained], gradient)[0], abs=1e-8)


def test_the_objective_is_that_of_another_solver():
    K, y, weight = problem_of(1, 300, RBF(gamma=0.3))
    trained = np.flatnonzero(weight)
    inside = K[np.ix_(trained, trained)]
    for C, (a, _, _, _) in zip((0.1, 10.0), walk(K, y, weight, (0.1, 10.0), tol=1e-5), strict=True):
        problem = problems.c_svc(y[trained], C * weight[trained])
        other = SMO().solve(problem, StoredGram(inside), tol=1e-8, control=Control())
        mine = problem.objective(inside @ a[trained], a[trained])
        assert mine == pytest.approx(problem.objective(other.f, other.a), rel=1e-6)


def test_a_large_set_of_near_rows_is_worked_on_in_place(monkeypatch):
    """More rows than a matrix of their own may hold."""
    K, y, weight = problem_of(2, 400, RBF(gamma=0.5))
    a, f, W, count = np.zeros(400), np.zeros(400), np.empty(2 * SLOT_UNIT, np.int64), np.zeros(1, np.int64)
    M = np.empty((2 * SLOT_UNIT, 2 * SLOT_UNIT + 16), np.float32)
    _, violation, _ = _native.advance_path(held(K), y, 50.0 * weight, a, f, W, count, M, 1e-3, 10**9)
    assert violation <= 1e-3
    np.testing.assert_allclose(f, K @ a, atol=1e-6)


def test_a_masked_operator_is_the_matrix_it_stands_for():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 40))
    K = (K + K.T).astype(np.float32)
    index = np.sort(rng.permutation(40)[:25])
    gram = MaskedGram(held(K), index, Scratch())
    inside = K[np.ix_(index, index)].astype(np.float64)
    some, coef = np.array([3, 0, 17]), np.array([1.0, -2.0, 0.5])
    np.testing.assert_array_equal(gram.diagonal(), inside.diagonal())
    np.testing.assert_array_equal(gram.block(some, np.arange(25)), inside[some])
    np.testing.assert_allclose(gram.product(some, coef), inside[:, some] @ coef)
    np.testing.assert_allclose(
        gram.product(some, np.column_stack([coef, coef]), some)[:, 1], (inside[:, some] @ coef)[some]
    )
    out = np.zeros((80, 80), np.float32)
    gram.fill(some, out)
    np.testing.assert_array_equal(out[:3, :3], inside[np.ix_(some, some)])
    np.testing.assert_array_equal(gram.subset(some).diagonal(), inside.diagonal()[some])
