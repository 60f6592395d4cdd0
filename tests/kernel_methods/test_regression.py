"""Least squares on basis functions and through kernels, against textbook solutions and scikit-learn."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.linalg
import scipy.sparse as sp
import sklearn
import sklearn.kernel_ridge
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernel_methods.feature_maps import GaussianBasis, GaussianSeriesMap, MonomialMap, PolynomialMap
from maxmargin.kernel_methods.ridge import BasisRegression, KernelRidge, KernelRidgeCV
from maxmargin.kernel_methods.ridge.least_squares import ridge_weights
from maxmargin.kernels import RBF, Callable, HistogramIntersection, Linear, Normalized, Polynomial
from maxmargin.runtime import validation as _validation

ESTIMATORS = [
    BasisRegression(),
    BasisRegression("polynomial", alpha=0.1),
    BasisRegression("gaussian", alpha=0.1),
    BasisRegression(GaussianSeriesMap(3, sigma=5.0), alpha=0.1, fit_intercept=True),
    KernelRidge(),
    KernelRidge(kernel="rbf", fit_intercept=True),
    KernelRidge(kernel="precomputed"),
    KernelRidgeCV(),
    KernelRidgeCV(kernel="rbf", fit_intercept=True),
]


# Some checks have fewer samples than columns, or a matrix of distances as a kernel, and are warned about.
@pytest.mark.filterwarnings("ignore:.*have only rank:scipy.linalg.LinAlgWarning")
@pytest.mark.filterwarnings("ignore:.*is not positive definite:scipy.linalg.LinAlgWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimators_keep_scikit_learns_contract(estimator, check):
    check(estimator)


def data(n=40, d=3, targets=1, seed=0):
    """Points, targets that are not far from linear, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, targets)) + np.sin(2 * X[:, [0]]) + 3.0 + 0.1 * rng.standard_normal((n, targets))
    return X, (Y[:, 0] if targets == 1 else Y), rng.uniform(0.2, 3.0, n)


def slow_ridge(Phi, y, alpha, weights, intercept):
    """w and b from the normal equations, with b as one more column that is not penalised."""
    n, m = Phi.shape
    full = np.column_stack((Phi, np.ones(n))) if intercept else Phi
    penalty = np.diag([alpha] * m + [0.0] * intercept)
    solution = np.linalg.solve(full.T @ (weights[:, None] * full) + penalty, full.T @ (weights * y))
    return solution[:m], solution[m] if intercept else 0.0


def slow_kernel_ridge(K, y, alpha, weights, intercept):
    """c and b from (K + alpha W^-1) c + b 1 = y, 1'c = 0."""
    n = len(y)
    if not intercept:
        return np.linalg.solve(K + alpha * np.diag(1 / weights), y), 0.0
    system = np.block([[K + alpha * np.diag(1 / weights), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


def rbf(A, B, gamma=0.5):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


# Least squares


def exact_ridge(Phi, y, alpha):
    """The ridge solution in rational numbers, by Gaussian elimination on the normal equations."""
    rows = [[Fraction(float(v)) for v in row] for row in Phi]
    targets = [Fraction(float(v)) for v in y]
    m = len(rows[0])
    A = [
        [sum(row[i] * row[j] for row in rows) + (Fraction(alpha) if i == j else 0) for j in range(m)] for i in range(m)
    ]
    b = [sum(row[i] * t for row, t in zip(rows, targets, strict=True)) for i in range(m)]
    for i in range(m):
        for k in range(i + 1, m):
            factor = A[k][i] / A[i][i]
            A[k] = [u - factor * v for u, v in zip(A[k], A[i], strict=True)]
            b[k] -= factor * b[i]
    w = [Fraction(0)] * m
    for i in reversed(range(m)):
        w[i] = (b[i] - sum(A[i][j] * w[j] for j in range(i + 1, m))) / A[i][i]
    return np.array([float(v) for v in w])


@pytest.mark.parametrize("alpha", [0.0, 2.0**-40, 0.125])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_ill_conditioned_least_squares_keeps_its_digits(alpha, scale):
    """Phi'Phi has a condition number of 1e15 (1e60 for the large columns): it leaves three digits of the weights."""
    x = scale * np.arange(17) / 16
    Phi = x[:, None] ** np.arange(11)
    y = np.cos(3 * x / scale)
    w, rank = ridge_weights(Phi, y[:, None], alpha)
    exact = exact_ridge(Phi, y, alpha)
    assert rank == 11
    sizes = scale ** np.arange(11)
    np.testing.assert_allclose(w[:, 0] * sizes, exact * sizes, rtol=0, atol=1e-7 * np.abs(exact * sizes).max())
    np.testing.assert_allclose(Phi @ w[:, 0], Phi @ exact, atol=1e-11)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.sampled_from([0.0, 1e-3, 10.0]), st.integers(0, 99))
@example(4, 7, 2, 0.0, 0)
@example(7, 4, 2, 0.0, 0)
def test_least_squares_of_any_shape_and_rank(n, m, r, alpha, seed):
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((n, r)) @ rng.standard_normal((r, m))
    Y = rng.standard_normal((n, 2))
    W, rank = ridge_weights(Phi, Y, alpha)
    tall = np.vstack((Phi, np.sqrt(alpha) * np.eye(m))) if alpha else Phi
    expected, _, expected_rank, _ = np.linalg.lstsq(tall, np.vstack((Y, np.zeros((len(tall) - n, 2)))), rcond=1e-11)
    assert rank == expected_rank
    np.testing.assert_allclose(W, expected, atol=1e-7 * max(1.0, np.abs(expected).max()))


def test_many_more_basis_functions_than_their_rank():
    """Forty powers on thirty points of [0, 1] are about twenty functions to working precision."""
    x = np.linspace(0, 1, 30)
    Phi = x[:, None] ** np.arange(40)
    W, rank = ridge_weights(Phi, np.sin(3 * x)[:, None], 0.0)
    assert abs(rank - np.linalg.matrix_rank(Phi)) <= 2
    assert rank < 25
    np.testing.assert_allclose(Phi @ W[:, 0], np.sin(3 * x), atol=1e-12)
    assert np.linalg.norm(W) < 10.0


def test_least_norm_does_not_depend_on_the_columns_sizes():
    """Of the weights that fit, the least in norm: the limit of ridge regression for a vanishing alpha."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((9, 3))
    Phi = np.column_stack((base, base @ [1.0, 2.0, -1.0])) * [1.0, 50.0, 0.02, 3.0]
    W, rank = ridge_weights(Phi, rng.standard_normal((9, 1)), 0.0)
    assert rank == 3
    null = scipy.linalg.null_space(Phi, rcond=1e-12)
    assert null.shape == (4, 1)
    assert abs(null.T @ W).max() < 1e-10 * np.abs(W).max()


# BasisRegression


BASES = [None, "polynomial", MonomialMap(2), PolynomialMap(2, coef0=1.0), GaussianBasis(2.0, centers=np.eye(3))]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-6, 0.5])
@pytest.mark.parametrize("basis", BASES, ids=str)
def test_basis_regression_is_the_textbooks(basis, alpha, intercept):
    X, y, weights = data()
    model = BasisRegression(basis, alpha=alpha, fit_intercept=intercept).fit(X, y, weights)
    Phi = model.basis_.transform(X)
    w, b = slow_ridge(Phi, y, alpha, weights, intercept)
    new = data(seed=1)[0]
    np.testing.assert_allclose(model.predict(new), model.basis_.transform(new) @ w + b, rtol=1e-6, atol=1e-8)
    if basis != "polynomial" or not intercept:  # the constant twice: one of the two is free
        np.testing.assert_allclose(model.coef_, w, rtol=1e-5, atol=1e-7)
        assert model.intercept_ == pytest.approx(b, abs=1e-7)


def test_without_penalty_it_is_least_squares_and_a_polynomial_is_found():
    x = np.linspace(-1, 1, 20)[:, None]
    y = 2.0 - x.ravel() + 3 * x.ravel() ** 3
    model = BasisRegression(MonomialMap(3, include_bias=True)).fit(x, y)
    np.testing.assert_allclose(model.coef_, [2, -1, 0, 3], atol=1e-12)
    assert model.intercept_ == 0.0
    assert model.rank_ == 4
    free = BasisRegression(MonomialMap(3), fit_intercept=True).fit(x, y)
    np.testing.assert_allclose(free.coef_, [-1, 0, 3], atol=1e-12)
    assert free.intercept_ == pytest.approx(2.0)


def test_linear_ridge_is_scikit_learns():
    X, Y, weights = data(targets=2)
    for intercept in (False, True):
        ours = BasisRegression(alpha=0.3, fit_intercept=intercept).fit(X, Y, weights)
        theirs = Ridge(alpha=0.3, fit_intercept=intercept).fit(X, Y, weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)
        assert ours.coef_.shape == theirs.coef_.shape
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_gaussian_basis_with_ridge_is_kernel_ridge_on_the_squared_kernel():
    """w = Phi'(Phi Phi' + alpha I)^-1 y: the dual of ridge on Phi = k(X, X) has the kernel matrix Phi Phi'."""
    X, y, _ = data(n=25)
    model = BasisRegression("gaussian", alpha=0.1).fit(X, y)
    new = data(seed=3)[0]
    Phi, fresh = rbf(X, X, 1.0), rbf(new, X, 1.0)
    dual = sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel="precomputed").fit(Phi @ Phi.T, y)
    np.testing.assert_allclose(model.predict(new), dual.predict(fresh @ Phi.T), rtol=1e-8, atol=1e-10)


def test_dependent_basis_functions_are_told_with_rank_and_remedy():
    x = np.linspace(0, 1, 6)[:, None]
    with pytest.warns(LinAlgWarning, match=r"10 basis functions on 6 samples have only rank 6.*larger alpha, or fewer"):
        model = BasisRegression(MonomialMap(9, include_bias=True)).fit(x, np.sin(x).ravel())
    np.testing.assert_allclose(model.predict(x), np.sin(x).ravel(), atol=1e-10)
    Phi = model.basis_.transform(x)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(Phi) @ np.sin(x).ravel(), atol=1e-6)
    with pytest.warns(LinAlgWarning, match="rank 2 "):
        constant = BasisRegression(MonomialMap(2, include_bias=True), fit_intercept=True).fit(x, x.ravel() + 1)
    np.testing.assert_allclose(constant.coef_, [0, 1, 0], atol=1e-12)
    assert constant.intercept_ == pytest.approx(1.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("basis", BASES, ids=str)
def test_predictions_are_blends_of_the_targets(basis, intercept):
    X, Y, weights = data(targets=2)
    weights[[3, 7]] = 0.0
    model = BasisRegression(basis, alpha=0.01, fit_intercept=intercept).fit(X, Y, weights)
    new = data(seed=1)[0]
    B = model.blend_weights(new)
    assert B.shape == (40, 40)
    assert (B[:, [3, 7]] == 0).all()
    np.testing.assert_allclose(B @ Y, model.predict(new), rtol=1e-9, atol=1e-9)
    other = np.random.default_rng(5).standard_normal(40)  # the weights do not depend on the targets
    np.testing.assert_allclose(B @ other, clone(model).fit(X, other, weights).predict(new), rtol=1e-8, atol=1e-9)
    if intercept:
        np.testing.assert_allclose(B.sum(axis=1), 1.0, rtol=1e-9)


def test_any_transformer_or_function_is_a_basis():
    x = np.linspace(0, 6, 80)[:, None]
    y = np.sin(x).ravel()
    spline = SplineTransformer(n_knots=8)
    model = BasisRegression(spline, alpha=1e-9).fit(x, y)
    assert np.abs(model.predict(x) - y).max() < 1e-2
    assert not hasattr(spline, "n_features_out_")  # a clone was fitted
    waves = BasisRegression(lambda points: np.hstack([np.sin(points), np.cos(points)])).fit(x, np.sin(x + 1).ravel())
    np.testing.assert_allclose(waves.coef_, [np.cos(1), np.sin(1)])
    scaled = make_pipeline(StandardScaler(), PolynomialMap(3, coef0=1.0))
    assert BasisRegression(scaled, alpha=1e-9).fit(x, y).score(x, y) > 0.5
    search = GridSearchCV(BasisRegression(MonomialMap(1, include_bias=True)), {"basis__degree": [1, 5]}).fit(x, y)
    assert search.best_params_ == {"basis__degree": 5}
    for wrong in (3.0, MonomialMap, "poly"):
        with pytest.raises((TypeError, ValueError), match="basis must be"):
            BasisRegression(wrong).fit(x, y)
    with pytest.raises(ValueError, match="alpha must be >= 0"):
        BasisRegression(alpha=-1.0).fit(x, y)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array])
def test_basis_regression_takes_sparse_points(form):
    X, y, _ = data()
    X[np.abs(X) < 0.7] = 0.0
    for basis in (None, PolynomialMap(2, coef0=1.0), GaussianBasis()):
        dense = BasisRegression(basis, alpha=0.1).fit(X, y)
        sparse = BasisRegression(basis, alpha=0.1).fit(form(X), y)
        np.testing.assert_allclose(sparse.predict(form(X)), dense.predict(X), rtol=1e-9)
        np.testing.assert_allclose(sparse.blend_weights(form(X)), dense.blend_weights(X), atol=1e-9)


def test_predictions_of_many_rows_come_in_strips(monkeypatch):
    X, y, _ = data()
    model = BasisRegression("gaussian", alpha=0.1).fit(X, y)
    complete = model.predict(X)
    monkeypatch.setattr("maxmargin.kernel_methods.ridge.basis.CHUNK_FEATURES", 7 * len(model.coef_))
    np.testing.assert_allclose(model.predict(X), complete, rtol=1e-13)


# KernelRidge


NAMED = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2},
    {"kernel": "polynomial", "gamma": 0.1},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 2.0},
    {"kernel": "laplacian"},
    {"kernel": "cosine"},
    {"kernel": "chi2", "gamma": 1.0},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", NAMED, ids=str)
def test_kernel_ridge_is_scikit_learns(parameters, seed):
    X, Y, weights = data(n=30, d=4 + 10 * (seed == 1), targets=1 + seed, seed=seed)
    X, new = (np.abs(P) if parameters["kernel"] == "chi2" else P for P in (X, data(d=X.shape[1], seed=9)[0]))
    sparse = sp.csr_matrix if seed == 2 and parameters["kernel"] != "chi2" else np.asarray
    weights = weights if seed else None
    for alpha in (1.0, 1e-3, *([[0.1, 2.0][:seed]] if seed == 2 else []), *([[0.5, 0.5, 3.0]] if seed == 2 else [])):
        targets = Y if np.ndim(alpha) == 0 or len(alpha) == Y.shape[-1] else Y[:, : len(alpha)]
        ours = KernelRidge(alpha, **parameters).fit(sparse(X), targets, weights)
        theirs = sklearn.kernel_ridge.KernelRidge(alpha=alpha, **parameters).fit(sparse(X), targets, weights)
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape
        size = np.abs(theirs.dual_coef_).max()
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-8 * size)
        np.testing.assert_allclose(ours.predict(sparse(new)), theirs.predict(sparse(new)), rtol=1e-7, atol=1e-8)
        stored = (ours.X_fit_, theirs.X_fit_)
        np.testing.assert_array_equal(*(P.toarray() if sp.issparse(P) else P for P in stored))


def test_defaults_and_parameter_names_are_scikit_learns():
    ours, theirs = KernelRidge().get_params(), sklearn.kernel_ridge.KernelRidge().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert KernelRidge(0.5).alpha == 0.5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(2, 0.5, 1.0), Linear(), "precomputed"], ids=str)
def test_kernel_ridge_is_the_textbooks(kernel, intercept, weighted):
    X, y, weights = data()
    weights = weights if weighted else np.ones(40)
    new = data(seed=1)[0]
    true = RBF(0.5) if kernel == "precomputed" else kernel
    K = true(X)
    c, b = slow_kernel_ridge(K, y, 0.3, weights, intercept)
    fresh = true.resolve(X).matrix(new, X)
    model = KernelRidge(0.3, kernel=kernel, fit_intercept=intercept)
    model.fit(K.copy() if kernel == "precomputed" else X, y, weights if weighted else None)
    np.testing.assert_allclose(model.dual_coef_, c, rtol=1e-7, atol=1e-9)
    assert model.intercept_ == pytest.approx(b, rel=1e-9, abs=1e-12)
    at = fresh if kernel == "precomputed" else new
    np.testing.assert_allclose(model.predict(at), fresh @ c + b, rtol=1e-9)
    B = model.blend_weights(at)
    np.testing.assert_allclose(B @ y, model.predict(at), rtol=1e-9)
    other = np.random.default_rng(3).standard_normal(40)
    c, b = slow_kernel_ridge(K, other, 0.3, weights, intercept)
    np.testing.assert_allclose(B @ other, fresh @ c + b, rtol=1e-7, atol=1e-9)


def test_the_users_matrix_is_not_touched():
    X, y, weights = data()
    K = rbf(X, X)
    before = K.copy()
    model = KernelRidge(kernel="precomputed", fit_intercept=True).fit(K, y, weights)
    model.blend_weights(K)
    KernelRidgeCV(kernel="precomputed", fit_intercept=True).fit(K, y, weights)
    np.testing.assert_array_equal(K, before)
    points = KernelRidge(kernel="rbf").fit(X, y)
    predicted = points.predict(X[:3])
    new = X[:3].copy()
    X *= 2
    np.testing.assert_array_equal(points.predict(new), predicted)


def test_weights_are_repetitions_and_zero_is_absence():
    X, y, _ = data(n=20)
    count = np.array([0, 1, 2, 3] * 5)
    for model in (
        KernelRidge(0.1, kernel=RBF(), fit_intercept=True),
        KernelRidge(0.1),
        KernelRidgeCV(kernel=RBF(), fit_intercept=True),
        BasisRegression("gaussian", alpha=0.1),
    ):
        weighted = clone(model).fit(X, y, count)
        repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)
        if isinstance(model, KernelRidge):
            assert (weighted.dual_coef_[count == 0] == 0).all()
            np.testing.assert_array_equal(weighted.blend_weights(X)[:, count == 0], 0.0)


def test_alpha_may_differ_between_targets():
    X, Y, weights = data(targets=3)
    new = data(seed=1)[0]
    alphas = [2.0, 0.1, 2.0]
    for kernel in ("rbf", "linear"):
        model = KernelRidge(alphas, kernel=kernel, fit_intercept=True).fit(X, Y, weights)
        B = model.blend_weights(new)
        assert B.shape == (3, 40, 40)
        for t, alpha in enumerate(alphas):
            alone = KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(X, Y[:, t], weights)
            np.testing.assert_allclose(model.predict(new)[:, t], alone.predict(new), rtol=1e-9)
            np.testing.assert_allclose(B[t] @ Y[:, t], alone.predict(new), rtol=1e-9)
            assert model.intercept_[t] == pytest.approx(alone.intercept_)
    with pytest.raises(ValueError, match="alpha has 2 values and y has 3 targets"):
        KernelRidge([1.0, 2.0]).fit(X, Y)


def test_a_matrix_of_several_blocks_is_factorised_again_for_every_alpha():
    """One alpha after the other, from what the first left of K; the last is too small, and needs the eigenvalues."""
    X, Y, weights = data(n=900, d=50, targets=3)
    K = X @ X.T
    alphas = np.array([10.0, 0.1, 1e-20])
    with pytest.warns(LinAlgWarning, match="rank 50 of 900") as caught:
        model = KernelRidge(alphas[::-1], kernel="precomputed").fit(K, Y[:, ::-1], weights)
    assert len(caught) == 1
    for t, alpha in enumerate(alphas[:2]):
        slow = slow_kernel_ridge(K, Y[:, t], alpha, weights, False)[0]
        np.testing.assert_allclose(model.predict(K)[:, 2 - t], K @ slow, rtol=1e-6, atol=1e-6)
        alone = KernelRidge(alphas[:2], kernel="precomputed").fit(K, Y[:, :2], weights)
        np.testing.assert_allclose(alone.predict(K)[:, t], K @ slow, rtol=1e-6, atol=1e-6)
    slopes, _ = slow_ridge(X, Y[:, 2], 0.0, weights, False)
    np.testing.assert_allclose(model.predict(K)[:, 0], X @ slopes, rtol=1e-6, atol=1e-6)


def test_few_columns_need_no_kernel_matrix(monkeypatch):
    """50,000 samples: K would take 20 GB."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 3)) + 5.0
    y = X @ [1.0, -2.0, 0.5] + 3.0
    monkeypatch.setattr(_validation, "available_memory", lambda: 1e9)
    model = KernelRidge(1e-3, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:100]), y[:100], rtol=1e-6)
    np.testing.assert_allclose(X.T @ model.dual_coef_, [1.0, -2.0, 0.5], rtol=1e-4)
    assert abs(model.dual_coef_.sum()) < 1e-6 * np.abs(model.dual_coef_).sum()
    chosen = KernelRidgeCV([1e-3, 1e6], fit_intercept=True).fit(X, y)
    assert chosen.alpha_ == 1e-3
    np.testing.assert_allclose(chosen.predict(X[:100]), model.predict(X[:100]))
    for refused in (KernelRidge(kernel="rbf"), KernelRidgeCV(kernel="rbf")):
        with pytest.raises(MemoryError, match=r"50,000 (samples|rows) needs about \d+\.\d GB"):
            refused.fit(X, y)


def test_kernels_as_functions_of_pairs_and_of_sets():
    X, y, _ = data()

    def pair(a, b, power=1.0):
        return float(np.minimum(np.abs(a), np.abs(b)).sum() ** power)

    def sets(A, B):
        return np.minimum(np.abs(A)[:, None], np.abs(B)[None]).sum(axis=2)

    expected = KernelRidge(kernel=HistogramIntersection()).fit(np.abs(X), y).predict(np.abs(X))
    theirs = sklearn.kernel_ridge.KernelRidge(kernel=pair, kernel_params={"power": 0.5}).fit(X, y)
    np.testing.assert_allclose(KernelRidge(kernel=pair).fit(X, y).predict(X), expected)
    np.testing.assert_allclose(KernelRidge(kernel=sets).fit(X, y).predict(X), expected)
    np.testing.assert_allclose(KernelRidge(kernel=Callable(sets)).fit(X, y).predict(X), expected)
    ours = KernelRidge(kernel=pair, kernel_params={"power": 0.5}).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match="kernel_params"):
        KernelRidge(kernel="rbf", kernel_params={"gamma": 1.0}).fit(X, y)
    with pytest.raises(ValueError, match=r"Did you mean 'rbf'"):
        KernelRidge(kernel="rfb").fit(X, y)


def shared_letters(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


@pytest.mark.parametrize(
    "model", [KernelRidge(0.1, kernel=Callable(shared_letters)), KernelRidgeCV(kernel=shared_letters)]
)
def test_words_are_points_where_the_kernel_takes_them(model):
    words, y = ["bank", "blank", "moon", "spoon", "tank", "noon"], np.array([1.0, 1, 0, 0, 1, 0])
    model.fit(words, y)
    assert (np.round(model.predict(["plank", "soon"])) == [1, 0]).all()
    np.testing.assert_allclose(model.blend_weights(["plank"]) @ y, model.predict(["plank"]))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(words), model.predict(words))


def test_singular_systems_are_solved_in_the_least_norm_sense():
    X, y, _ = data(n=20, d=3)
    K = X @ X.T
    with pytest.warns(LinAlgWarning, match=r"rank 3 of 20.*alpha=0.*larger alpha, for instance \d"):
        model = KernelRidge(0.0, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.pinv(K, rcond=1e-12) @ y, atol=1e-9)
    with pytest.warns(LinAlgWarning, match="rank 4 of 20"):
        free = KernelRidge(0.0, kernel=Linear(), fit_intercept=True).fit(X, y)
    slopes, b = slow_ridge(X, y, 0.0, np.ones(20), True)
    np.testing.assert_allclose(free.predict(X), X @ slopes + b, atol=1e-9)
    assert free.intercept_ == pytest.approx(b)
    with pytest.warns(LinAlgWarning, match="rank 3 of 20"):
        B = model.fit(X, y).blend_weights(X)
    np.testing.assert_allclose(B @ y, model.predict(X), atol=1e-9)


def test_interpolation_of_distinct_points_needs_no_penalty():
    X, y, weights = data(n=25)
    for intercept in (False, True):
        model = KernelRidge(0.0, kernel="laplacian", fit_intercept=intercept).fit(X, y, weights)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-10)


def test_indefinite_kernels_are_solved_and_told():
    X, y, _ = data(n=20)
    K = np.tanh(3 * X @ X.T - 2)
    lowest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(LinAlgWarning, match=rf"smallest eigenvalue is {lowest + 0.1:.3g}.*alpha > {-lowest:.3g}"):
        model = KernelRidge(0.1, kernel="sigmoid", gamma=3.0, coef0=-2.0).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(20), y), rtol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRidge(-1.1 * lowest, kernel="sigmoid", gamma=3.0, coef0=-2.0).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_same_bits_for_any_number_of_threads(kernel):
    X, y, weights = data(n=1100, d=400)
    one, two = (KernelRidge(0.1, kernel=kernel, fit_intercept=True, n_jobs=jobs).fit(X, y, weights) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf").fit(X, y, weights)
    ours = KernelRidge(0.1, kernel="rbf").fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


def test_single_precision_points_are_kept():
    X, y, _ = data()
    for model in (KernelRidge(0.1, kernel="rbf"), KernelRidge(0.1), BasisRegression("polynomial", alpha=0.1)):
        single = clone(model).fit(X.astype(np.float32), y)
        assert single.X_fit_.dtype == np.float32
        np.testing.assert_allclose(single.predict(X.astype(np.float32)), clone(model).fit(X, y).predict(X), rtol=1e-4)


def test_tables_have_names_and_targets_may_be_tables():
    X, Y, _ = data(targets=2)
    table, targets = pd.DataFrame(X, columns=["a", "b", "c"]), pd.DataFrame(Y)
    for model in (KernelRidge(kernel="rbf"), BasisRegression("polynomial"), KernelRidgeCV()):
        fitted = clone(model).fit(table, targets)
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
        plain = clone(model).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(table), plain.predict(X))
        np.testing.assert_allclose(
            clone(model).fit(pl.DataFrame(table), Y.tolist()).predict(pl.DataFrame(table)), plain.predict(X)
        )
        column = clone(model).fit(X, Y[:, :1])
        assert column.predict(X).shape == (40, 1)
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(table[["b", "a", "c"]])
        with pytest.raises(ValueError, match="X has 40 samples and y has 39"):
            clone(model).fit(X, Y[1:])
        with pytest.raises(TypeError, match="targets must be dense"):
            clone(model).fit(X, sp.csr_matrix(Y))


def test_overflow_at_new_points_names_the_row():
    X, y, _ = data()
    model = KernelRidge(kernel="poly", degree=5, gamma=1.0).fit(X, y)
    for method in (model.predict, model.blend_weights):
        with pytest.raises(ValueError, match="overflow in row 1 of X"):
            method(np.vstack((X[0], 1e100 * X[1])))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha must be >= 0"),
        ({"alpha": "1"}, "alpha must be a number"),
        ({"alpha": np.inf}, "alpha must be >= 0 and finite"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be > 0; got gamma=-1.0"),
        ({"kernel": "rbf", "gamma": 0.0}, "gamma must be > 0; got gamma=0.0"),
        ({"kernel": "poly", "degree": -1}, "degree must be >= 0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y, _ = data()
    with pytest.raises((TypeError, ValueError), match=message):
        KernelRidge(**parameters).fit(X, y)


def test_precomputed_matrices_are_checked():
    X, y, _ = data()
    with pytest.raises(ValueError, match="square"):
        KernelRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        KernelRidge(kernel="precomputed").fit(np.triu(rbf(X, X)), y)
    model = KernelRidge(kernel="precomputed").fit(sp.csr_matrix(rbf(X, X)), y)
    np.testing.assert_allclose(model.predict(rbf(X, X)), KernelRidge(kernel=RBF(0.5)).fit(X, y).predict(X))
    np.testing.assert_allclose(
        cross_val_score(model, rbf(X, X), y), cross_val_score(KernelRidge(kernel=RBF(0.5)), X, y)
    )


# KernelRidgeCV


def errors_by_refitting(K, y, alpha, weights, intercept):
    """y_i less the prediction of a fit without row i."""
    errors = np.empty(len(y))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        c, b = slow_kernel_ridge(K[np.ix_(rest, rest)], y[rest], alpha, weights[rest], intercept)
        errors[i] = y[i] - K[i, rest] @ c - b
    return errors


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "d"),
    [(RBF(0.5), 3), (Linear(), 3), (Linear(), 30), (Normalized(Polynomial(3, 1.0, 1.0)), 3), ("precomputed", 3)],
    ids=str,
)
def test_leave_one_out_is_refitting_without_each_row(kernel, d, intercept, weighted):
    X, Y, weights = data(n=22, d=d, targets=2, seed=4)
    weights = weights if weighted else np.ones(22)
    alphas = [1e-4, 0.3, 50.0]
    K = RBF(0.5)(X) if kernel == "precomputed" else kernel(X)
    model = KernelRidgeCV(alphas, kernel=kernel, fit_intercept=intercept, store_cv_results=True)
    model.fit(K if kernel == "precomputed" else X, Y, weights if weighted else None)
    assert model.cv_results_.shape == (22, 2, 3)
    means = []
    for a, alpha in enumerate(alphas):
        slow = np.column_stack([errors_by_refitting(K, y, alpha, weights, intercept) for y in Y.T])
        np.testing.assert_allclose(model.cv_results_[:, :, a], slow**2, rtol=1e-6, atol=1e-10)
        means.append(weights @ slow**2 / weights.sum())
    np.testing.assert_allclose(model.scores_, -np.mean(means, axis=1), rtol=1e-7)
    best = int(np.argmin(np.mean(means, axis=1)))
    assert model.alpha_ == alphas[best]
    assert model.best_score_ == model.scores_[best]
    plain = KernelRidge(model.alpha_, kernel=kernel, fit_intercept=intercept).fit(
        K if kernel == "precomputed" else X, Y, weights if weighted else None
    )
    np.testing.assert_allclose(
        model.dual_coef_, plain.dual_coef_, rtol=1e-6, atol=1e-8 * np.abs(plain.dual_coef_).max()
    )
    np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-8, atol=1e-10)
    at = K if kernel == "precomputed" else X
    np.testing.assert_allclose(model.blend_weights(at) @ Y, model.predict(at), rtol=1e-7, atol=1e-9)


def test_copies_are_left_out_together_and_absent_rows_have_no_error():
    X, y, _ = data(n=12)
    count = np.array([1, 2, 3] * 4)
    repeated = KernelRidgeCV([0.1, 1.0], kernel="rbf", store_cv_results=True)
    repeated.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    weighted = clone(repeated).fit(np.vstack((X, X[:1])), np.append(y, 9.0), np.append(count, 0))
    np.testing.assert_allclose(repeated.cv_results_, np.repeat(weighted.cv_results_[:12], count, axis=0), rtol=1e-8)
    assert np.isnan(weighted.cv_results_[12]).all()
    slow = errors_by_refitting(rbf(X, X, 1 / 3), y, 0.1, count, False) ** 2
    np.testing.assert_allclose(weighted.cv_results_[:12, 0], slow, rtol=1e-7)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-9)
    unweighted = KernelRidgeCV([0.1, 1.0], kernel="rbf", scoring=lambda m, X, y: -np.mean((y - m.predict(X)) ** 2))
    unweighted.fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(unweighted.scores_, repeated.scores_, rtol=1e-9)


def test_scoring_takes_scikit_learns_scorers():
    X, y, weights = data()
    default = KernelRidgeCV([0.01, 1.0], kernel="rbf", store_cv_results=True).fit(X, y, weights)
    assert default.cv_results_.shape == (40, 2)
    named = KernelRidgeCV([0.01, 1.0], kernel="rbf", scoring="neg_mean_squared_error", store_cv_results=True)
    named.fit(X, y, weights)
    np.testing.assert_allclose(named.scores_, default.scores_)
    np.testing.assert_allclose((y[:, None] - named.cv_results_) ** 2, default.cv_results_)
    absolute = KernelRidgeCV([0.01, 1.0], kernel="rbf", scoring="neg_mean_absolute_error").fit(X, y)
    expected = [
        -mean_absolute_error(y, y - errors_by_refitting(rbf(X, X, 1 / 3), y, a, np.ones(40), False))
        for a in (0.01, 1.0)
    ]
    np.testing.assert_allclose(absolute.scores_, expected)
    assert not hasattr(absolute, "cv_results_")
    worst = KernelRidgeCV([0.01, 1.0], scoring=lambda model, X, y: np.nan).fit(X, y)
    assert worst.alpha_ == 0.01


def test_the_default_grid_follows_the_size_of_the_kernel():
    X, y, _ = data()
    small, large = KernelRidgeCV().fit(X, y), KernelRidgeCV().fit(1000 * X, y)
    np.testing.assert_allclose(large.alphas_, 1e6 * small.alphas_)
    np.testing.assert_allclose(large.predict(1000 * X), small.predict(X), rtol=1e-6)
    assert small.alphas_[0] < small.alpha_ < small.alphas_[-1]


def test_bad_grids_and_too_few_rows_are_refused():
    X, y, _ = data()
    for alphas, message in (
        ([], "list of numbers"),
        (1.0, "list of numbers"),
        ([1.0, 0.0], r"alphas\[1\] must be > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelRidgeCV(alphas).fit(X, y)
    with pytest.raises(ValueError, match="2 distinct samples; got n_samples = 3, 1 distinct"):
        KernelRidgeCV().fit(X[[0, 0, 0]], y[[0, 0, 0]])
    with pytest.raises(TypeError, match="store_cv_results"):
        KernelRidgeCV(store_cv_results="yes").fit(X, y)


def test_everything_works_with_metadata_routing():
    X, y, weights = data()
    with sklearn.config_context(enable_metadata_routing=True):
        model = KernelRidge(kernel="rbf").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.1, 1.0]}).fit(X, y, sample_weight=weights)
    assert search.best_estimator_.dual_coef_.shape == (40,)


@pytest.mark.parametrize("estimator", [KernelRidge(alpha=0.01), KernelRidgeCV(alphas=[0.01])])
def test_an_indefinite_matrix_that_is_singular_too_says_both(estimator):
    """Equal points of different targets need alpha, which is lost next to kernel values of 3e14."""
    X, y = [[630741.0], [630741.0], [625105.0]], [0.54, 0.484, 0.942]
    estimator = clone(estimator).set_params(kernel="poly", gamma="scale", coef0=-1.0)
    with pytest.warns(LinAlgWarning, match=r"not positive definite: .* singular to working precision \(rank 2 of 3\)"):
        estimator.fit(X, y, sample_weight=[1.0, 2.0, 1.0])
