"""KernelError: exact when all rows are used, honest about its uncertainty when some are, and readable."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.kernels import RBF, Polynomial, Precomputed, Spectrum
from maxmargin.large_scale.features.choosing import choose_landmarks
from maxmargin.large_scale.features.factor import Factor
from maxmargin.large_scale.features.kernel_error import KernelError, error_of, estimate_kernel_error
from maxmargin.large_scale.features.landmarks import Landmarks


def cloud(n=120, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def problem(X, kernel, m=15, seed=0):
    kernel = kernel.resolve(X)
    landmarks = choose_landmarks(kernel, X, m, rng=np.random.default_rng(seed))
    return kernel, landmarks, Factor.of(landmarks.matrix(kernel, X))


def residual_matrix(K, chosen):
    """K minus its projection on the chosen columns, by the textbook."""
    C = K[:, chosen]
    return K - C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)], ids=["d", "s", "f"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=3, gamma=0.5, coef0=1.0)], ids=["rbf", "poly"])
def test_all_rows_give_the_exact_error(kernel, form):
    X = form(cloud())
    kernel, landmarks, factor = problem(X, kernel)
    error = estimate_kernel_error(kernel, X, landmarks, factor, np.random.default_rng(0))
    K = kernel.matrix(X, X)
    rest = np.setdiff1d(np.arange(120), landmarks.indices)
    E = residual_matrix(K, landmarks.indices)[np.ix_(rest, rest)]
    K = K[np.ix_(rest, rest)]
    assert (error.n_rows, error.n_population, error.n_features) == (105, 105, factor.rank)
    assert error.trace == pytest.approx(np.trace(E) / np.trace(K), rel=1e-6)
    assert error.largest == pytest.approx((E.diagonal() / K.diagonal()).max(), rel=1e-6)
    assert error.spectral == pytest.approx(np.linalg.norm(E, 2) / np.linalg.norm(K, 2), rel=1e-6)
    assert error.frobenius == pytest.approx(np.linalg.norm(E) / np.linalg.norm(K), rel=1e-6)
    off = E[~np.eye(len(E), dtype=bool)]
    assert error.entry == pytest.approx(np.sqrt((off**2).mean()) / K.diagonal().mean(), rel=1e-6)
    assert error.trace_standard_error == 0.0


def test_the_standard_error_is_the_spread_of_the_estimate():
    X = cloud(400)
    kernel, landmarks, factor = problem(X, Polynomial(degree=2, gamma=0.5, coef0=1.0), m=6)
    exact = estimate_kernel_error(kernel, X, landmarks, factor).trace
    found = [
        estimate_kernel_error(kernel, X, landmarks, factor, np.random.default_rng(seed), rows=80) for seed in range(200)
    ]
    errors = np.array([one.trace for one in found]) - exact
    claimed = np.sqrt(np.mean([one.trace_standard_error**2 for one in found]))
    assert 0.8 < claimed / errors.std() < 1.25
    assert abs(errors.mean()) < 4 * errors.std() / np.sqrt(200) + 0.1 * errors.std()


def test_a_precomputed_matrix_has_the_error_of_its_kernel():
    X = cloud()
    kernel, landmarks, factor = problem(X, RBF(gamma=0.3))
    expected = estimate_kernel_error(kernel, X, landmarks, factor)
    indices = landmarks.indices
    for K in (kernel.matrix(X, X), sp.csr_matrix(kernel.matrix(X, X))):
        found = estimate_kernel_error(Precomputed(), K, Landmarks(indices, indices), factor)
        assert found.trace == pytest.approx(expected.trace, rel=1e-9)
        assert found.frobenius == pytest.approx(expected.frobenius, rel=1e-9)


def test_strings_have_one_too():
    X = np.array(["banana", "bandana", "cabana", "ananas", "nab", "cab", "abracadabra"], dtype=object)
    kernel, landmarks, factor = problem(X, Spectrum(k=2), m=3)
    error = estimate_kernel_error(kernel, X, landmarks, factor)
    rest = np.setdiff1d(np.arange(7), landmarks.indices)
    E = residual_matrix(kernel.matrix(X, X), landmarks.indices)[np.ix_(rest, rest)]
    assert error.trace == pytest.approx(np.trace(E) / kernel.self_similarity(X)[rest].sum(), rel=1e-9)


def test_when_every_row_is_a_landmark_nothing_is_missed():
    X = cloud(20)
    kernel, landmarks, factor = problem(X, RBF(gamma=1.0), m=20)
    error = estimate_kernel_error(kernel, X, landmarks, factor)
    assert error.n_rows == 20
    assert abs(error.trace) < 1e-9
    assert error.spectral < 1e-9


def test_landmarks_that_are_no_rows_leave_all_rows_in():
    X = cloud(50)
    kernel = RBF(gamma=0.5).resolve(X)
    landmarks = choose_landmarks(kernel, X, 5, "kmeans", rng=np.random.default_rng(0))
    error = estimate_kernel_error(kernel, X, landmarks, Factor.of(landmarks.matrix(kernel, X)))
    assert error.n_rows == 50
    assert 0 < error.trace < 1


def test_it_says_what_it_found():
    X = cloud(300)
    kernel, landmarks, factor = problem(X, RBF(gamma=0.3))
    text = str(estimate_kernel_error(kernel, X, landmarks, factor, np.random.default_rng(0), rows=100))
    assert text.startswith("the 15 features miss ")
    assert "±" in text
    assert "at the worst of 100 rows" in text
    assert "±" not in str(estimate_kernel_error(kernel, X, landmarks, factor))
    exact_length = error_of(np.array([[1.0, 0.5], [0.5, 1.0]]), np.eye(2), 2)
    assert "exact length" in str(exact_length)
    assert exact_length.entry == 0.5
    assert "miss 44 % ± 4 % of" in str(KernelError(0.4391, 0.0446, 0.5, 0.1, 0.2, 0.1, 1000, 5000, 200))
    round_numbers = KernelError(0.0131, 0.00111, 0.5, 1e-7, 0.2, 0.1, 1000, 5000, 200)
    assert "miss 1.3 % ± 0.1 % of" in str(round_numbers)
    assert "1e-05 % in the spectral" in str(round_numbers)


@pytest.mark.parametrize("rows", [0, 2.5, True])
def test_the_number_of_rows_is_checked(rows):
    X = cloud(30)
    kernel, landmarks, factor = problem(X, RBF(gamma=1.0), m=5)
    with pytest.raises((ValueError, TypeError), match="rows must be"):
        estimate_kernel_error(kernel, X, landmarks, factor, rows=rows)


def test_a_kernel_that_is_zero_has_no_error():
    X = np.zeros((10, 2))
    kernel, landmarks, factor = problem(X, Polynomial(degree=2, gamma=1.0, coef0=0.0), m=3)
    error = estimate_kernel_error(kernel, X, landmarks, factor)
    assert (error.trace, error.spectral, error.frobenius, error.entry) == (0.0, 0.0, 0.0, 0.0)
