"""The Lagrangian at a fitted model, against its derivatives written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin import SVC, LinearSVC, NuSVC, lagrangian
from reference import qp

X, Y = make_classification(80, 4, flip_y=0.15, random_state=3)
S = np.where(Y == 1, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_multipliers_are_those_of_the_quadratic_program(C):
    model = SVC(kernel="linear", C=C, tol=1e-10).fit(X, Y)
    found = lagrangian(model, X, Y)
    exact = qp.c_svc(X @ X.T, S, np.full(80, C))
    np.testing.assert_allclose(found.coefficients, exact.coefficients, atol=1e-4 * C)
    np.testing.assert_allclose(found.w, exact.coefficients @ X, atol=1e-6)
    np.testing.assert_allclose(found.w, model.coef_[0], atol=1e-12)
    np.testing.assert_allclose(found.alpha + found.beta, C, atol=1e-12)
    np.testing.assert_allclose(found.slack, np.maximum(0, 1 - S * (exact.f + exact.intercept)), atol=1e-6)
    assert max(found.stationarity_w, found.stationarity_b, found.stationarity_slack) < 1e-10
    assert found.complementarity < 1e-7
    assert found.beta.min() >= 0


def test_stationarity_sees_a_model_that_is_not_optimal():
    model = SVC(kernel="linear", tol=1e-10).fit(X, Y)
    rough = lagrangian(SVC(kernel="linear", tol=0.5).fit(X, Y), X, Y)
    assert rough.complementarity > 100 * lagrangian(model, X, Y).complementarity


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_the_combination_of_points_is_the_function(kernel):
    model = SVC(kernel=kernel, C=3.0).fit(X, Y)
    found = lagrangian(model, X, Y)
    new = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(found.combination(new), model.decision_function(new) - model.intercept_[0], atol=1e-9)
    assert found.w is None
    assert found.stationarity_w < 1e-9
    assert "dL/dw" in str(found)


def test_weights_sparse_points_and_matrices():
    weights = np.random.default_rng(1).uniform(0.2, 3, 80)
    model = SVC(class_weight={0: 2.0}, C=0.7).fit(X, Y, sample_weight=weights)
    found = lagrangian(model, X, Y, sample_weight=weights)
    np.testing.assert_allclose(found.alpha + found.beta, 0.7 * weights * np.where(Y == 0, 2.0, 1.0))
    sparse = lagrangian(SVC(kernel="linear").fit(sp.csr_matrix(X), Y), sp.csr_matrix(X), Y)
    np.testing.assert_allclose(sparse.w, lagrangian(SVC(kernel="linear").fit(X, Y), X, Y).w, atol=1e-10)
    K = X @ X.T
    by_matrix = lagrangian(SVC(kernel="precomputed").fit(K, Y), K, Y)
    np.testing.assert_allclose(by_matrix.combination(K[:5]), X[:5] @ sparse.w, atol=1e-2)


@pytest.mark.parametrize(
    ("model", "points", "labels", "error", "message"),
    [
        (LinearSVC(), X, Y, TypeError, "got LinearSVC"),
        (NuSVC(nu=0.3), X, Y, TypeError, "got NuSVC"),
        (SVC(), X, np.arange(80) % 3, ValueError, "3 classes"),
        (SVC(multiclass="crammer_singer"), X, Y, ValueError, "multiclass='ovo'"),
        (SVC(C=np.inf, gamma=5.0), X, Y, ValueError, "finite C"),
    ],
)
def test_refused(model, points, labels, error, message):
    with pytest.raises(error, match=message):
        lagrangian(model.fit(points, labels), points, labels)


def test_another_set_is_refused():
    model = SVC().fit(X, Y, sample_weight=np.full(80, 5.0))
    with pytest.raises(ValueError, match="not the training set"):
        lagrangian(model, X[:50], Y[:50])
    with pytest.raises(ValueError, match="not that of the fit"):
        lagrangian(model, X, Y)
