"""Factor: T'K T = I, T T' the pseudo-inverse, a rank that duplicates do not fool, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.kernels import RBF, Sigmoid
from maxmargin.large_scale.features.factor import Factor, largest_eigenvalue


def gaussian(X, gamma=0.5):
    """k(x, z) by its definition."""
    return np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_it_turns_kernel_values_into_orthonormal_features(seed, m, d):
    K = gaussian(2.0 * np.random.default_rng(seed).standard_normal((m, d)))
    factor = Factor.of(K)
    rounding = m * 1e-15 * factor.eigenvalues[0] / factor.eigenvalues[factor.rank - 1]
    np.testing.assert_allclose(factor.T.T @ K @ factor.T, np.eye(factor.rank), atol=1e-12 + rounding)
    Phi = K @ factor.T
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-9)


def test_a_well_conditioned_factor_is_a_root_of_the_inverse():
    K = gaussian(3.0 * np.random.default_rng(0).standard_normal((20, 5)))
    factor = Factor.of(K)
    assert factor.rank == 20
    np.testing.assert_allclose(factor.T @ factor.T.T, np.linalg.inv(K), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(factor.eigenvalues, np.linalg.eigvalsh(K)[::-1], rtol=1e-10)


@pytest.mark.parametrize("copies", [2, 5])
def test_landmarks_given_again_do_not_count(copies):
    X = 3.0 * np.random.default_rng(1).standard_normal((15, 4))
    once, again = Factor.of(gaussian(X)), Factor.of(gaussian(np.tile(X, (copies, 1))))
    assert once.rank == again.rank == 15
    new = np.random.default_rng(2).standard_normal((9, 4))
    values = np.exp(-0.5 * ((new[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    first, second = values @ once.T, np.tile(values, (1, copies)) @ again.T
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-10)


def test_the_rank_is_that_of_the_kernel():
    X = np.random.default_rng(3).standard_normal((40, 3))
    factor = Factor.of(X @ X.T)
    assert factor.rank == 3
    assert (factor.eigenvalues[:3] > factor.cut).all()
    assert (factor.eigenvalues[3:] <= factor.cut).all()


@pytest.mark.parametrize("K", [np.zeros((3, 3)), np.zeros((1, 1))], ids=["three", "one"])
def test_a_kernel_that_is_zero_has_no_features(K):
    assert Factor.of(K).T.shape == (len(K), 0)


def test_noise_of_single_precision_is_cut_off():
    X = np.random.default_rng(4).standard_normal((200, 2))
    K = gaussian(X).astype(np.float32).astype(np.float64)
    assert np.linalg.eigvalsh(K)[0] < -1e-7
    factor = Factor.of(K)
    assert factor.eigenvalues[factor.rank - 1] > 1e-7
    Phi = K @ factor.T
    np.testing.assert_allclose(Phi @ Phi.T, gaussian(X), atol=2e-5)


def test_signs_do_not_depend_on_the_order_of_landmarks():
    K = gaussian(np.random.default_rng(5).standard_normal((10, 3)))
    order = np.random.default_rng(6).permutation(10)
    np.testing.assert_allclose(Factor.of(K[np.ix_(order, order)]).T, Factor.of(K).T[order], atol=1e-6)


def test_a_kernel_that_is_none_is_refused_with_its_eigenvalue():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"kernel Sigmoid\(\) is not positive semidefinite.*eigenvalue -1 .*Choose"):
        Factor.of(K, Sigmoid())
    with pytest.raises(ValueError, match="The kernel is not positive"):
        Factor.of(-np.eye(2))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_overflow_are_refused(bad):
    with pytest.raises(ValueError, match=r"RBF\(\) has values that overflow"):
        Factor.of(np.array([[1.0, bad], [bad, 1.0]]), RBF())


def test_a_cholesky_factor_of_many_landmarks_gives_the_same_kernel():
    """phi(x)'phi(z) = k_m(x)'(K_mm + cut I)^-1 k_m(z), which is what eigenvalues say, up to the cut."""
    rng = np.random.default_rng(0)
    Z, X = rng.normal(size=(300, 6)), rng.normal(size=(40, 6))
    kernel = RBF(gamma=0.3).resolve(Z)
    K, values = kernel.matrix(Z, Z), kernel.matrix(X, Z)
    factor = Factor.above(K, 1e-8)
    assert len(factor.eigenvalues) == 1
    assert not np.tril(factor.T, -1).any()
    assert factor.eigenvalues[0] == pytest.approx(np.linalg.eigvalsh(K)[-1], rel=1e-2)
    Phi, eigen = values @ factor.T, values @ Factor.of(K).T
    np.testing.assert_allclose(Phi @ Phi.T, eigen @ eigen.T, atol=10 * factor.cut)
    shifted = K + factor.cut * np.eye(300)
    np.testing.assert_allclose(Phi @ Phi.T, values @ np.linalg.solve(shifted, values.T), atol=1e-10)


@pytest.mark.parametrize("flat", ["duplicates", "few dimensions"])
def test_where_many_directions_are_below_the_cut_the_rank_is_lower(flat):
    rng = np.random.default_rng(1)
    Z = np.repeat(rng.normal(size=(150, 5)), 2, axis=0) if flat == "duplicates" else rng.normal(size=(300, 4))
    K = RBF(gamma=0.3).resolve(Z).matrix(Z, Z) if flat == "duplicates" else Z @ Z.T
    factor, values = Factor.above(K, 1e-8), np.linalg.eigvalsh(K)
    assert factor.rank == np.count_nonzero(values > 1e-8 * values[-1])


def test_a_large_matrix_that_is_no_kernel_is_refused():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(300, 300))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        Factor.above(A + A.T, 1e-8)


@pytest.mark.parametrize("K", [np.zeros((300, 300)), np.eye(300)], ids=["zero", "identity"])
def test_the_largest_eigenvalue_is_not_overestimated(K):
    assert largest_eigenvalue(K) == pytest.approx(np.linalg.eigvalsh(K)[-1])
    assert Factor.above(K, 1e-8).rank == np.linalg.matrix_rank(K)
