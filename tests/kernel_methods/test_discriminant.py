"""KernelDiscriminantAnalysis: linear discriminant analysis for the linear kernel, Fisher's problem in feature space."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernel_methods.discriminant import KernelDiscriminantAnalysis
from maxmargin.kernels import RBF, Laplacian, Linear

IRIS, SPECIES = load_iris(return_X_y=True)


@parametrize_with_checks([KernelDiscriminantAnalysis(), KernelDiscriminantAnalysis(n_components=1, kernel="linear")])
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def blobs(n_classes=3, n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return 1.5 * rng.standard_normal((n_classes, d))[y] + rng.standard_normal((n, d)), y


def fisher(F, y, alpha, weights=None):
    """Fisher's problem on explicit features: scatter matrices, a generalised eigenproblem, the projection."""
    weights = np.ones(len(F)) if weights is None else weights
    d = weights / weights.sum()
    mean = d @ F
    within, between, priors, means = 0.0, 0.0, [], []
    for c in range(y.max() + 1):
        w, G = d[y == c], F[y == c]
        m = w @ G / w.sum()
        within = within + (G - m).T @ (w[:, None] * (G - m))
        between = between + w.sum() * np.outer(m - mean, m - mean)
        priors.append(w.sum())
        means.append(m)
    ridge = alpha * np.trace(within + between) * np.eye(F.shape[1])
    rho, V = scipy.linalg.eigh(between, within + ridge)
    count = y.max()
    V = V[:, ::-1][:, :count]

    def scores(new):
        distances = [np.einsum("ij,jk,ik->i", r := new - m, np.linalg.inv(within + ridge), r) for m in means]
        return np.log(priors) - 0.5 * np.column_stack(distances)

    return rho[::-1][:count], lambda new: (new - mean) @ V, scores


def monomials(X):
    a, b = X.T
    r = np.sqrt(2.0)
    return np.column_stack((np.ones(len(X)), r * a, r * b, a**2, b**2, r * a * b))


def same_up_to_sign(Z, expected, atol=1e-7):
    signs = np.sign((Z * expected).sum(axis=0))
    np.testing.assert_allclose(Z * signs, expected, atol=atol * np.abs(expected).max())


# Against linear discriminant analysis and explicit features


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_linear_kernel_gives_linear_discriminant_analysis(n_classes, seed):
    X, y = blobs(n_classes, seed=seed, d=4)
    new = blobs(n_classes, seed=seed + 50, d=4)[0]
    ours = KernelDiscriminantAnalysis(kernel="linear", alpha=1e-9).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-5)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-6)
    expected = (new - X.mean(axis=0)) @ theirs.scalings_[:, : n_classes - 1]
    same_up_to_sign(ours.transform(new), expected, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1, 10.0])
def test_a_polynomial_kernel_gives_fishers_discriminants_of_the_monomials(alpha, weighted):
    X, y = blobs(d=2)
    new = blobs(d=2, seed=1)[0]
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X)) if weighted else None
    model = KernelDiscriminantAnalysis(kernel="poly", degree=2, gamma=1.0, coef0=1.0, alpha=alpha)
    model.fit(X, y, sample_weight=weights)
    rho, project, scores = fisher(monomials(X), y, alpha, weights)
    np.testing.assert_allclose(model.eigenvalues_, rho, rtol=1e-6)
    same_up_to_sign(model.transform(new), project(monomials(new)), atol=1e-6)
    expected = scores(monomials(new))
    log_posterior = expected - scipy.special.logsumexp(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(new), log_posterior, atol=1e-5 * np.abs(log_posterior).max())
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))


@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["rbf", "laplacian"]), st.sampled_from([1e-3, 1.0]))
@settings(max_examples=30, deadline=None)
def test_any_kernel_gives_fishers_discriminants_of_its_features(seed, n_classes, kernel, alpha):
    X, y = blobs(n_classes, n=18, seed=seed)
    model = KernelDiscriminantAnalysis(kernel=kernel, gamma=0.3, alpha=alpha).fit(X, y)
    values, vectors = np.linalg.eigh(model.kernel_(X))
    features = vectors * np.sqrt(np.maximum(values, 0.0))  # of the training points, in coordinates
    rho, project, scores = fisher(features, y, alpha)
    np.testing.assert_allclose(model.eigenvalues_, rho, rtol=1e-6, atol=1e-9)
    gaps = np.abs(np.diff(rho, append=0.0, prepend=np.inf)) / rho[0]
    clear = np.minimum(gaps[:-1], gaps[1:]) > 1e-3  # a direction is known only where its rho stands alone
    if clear.any():
        same_up_to_sign(model.transform(X)[:, clear], project(features)[:, clear], atol=1e-5)
    decision = model.decision_function(X)
    expected = scores(features)
    if n_classes == 2:
        np.testing.assert_allclose(decision, expected[:, 1] - expected[:, 0], atol=1e-5 * np.abs(expected).max())
    else:
        np.testing.assert_allclose(
            decision - decision[:, :1], expected - expected[:, :1], atol=1e-5 * np.abs(expected).max()
        )


def test_projections_have_unit_scatter_within_classes():
    X, y = blobs(4)
    model = KernelDiscriminantAnalysis(kernel="linear", alpha=1e-9).fit(X, y)
    Z = model.transform(X)
    within = sum((G - G.mean(axis=0)).T @ (G - G.mean(axis=0)) for G in (Z[y == c] for c in range(4))) / len(Z)
    np.testing.assert_allclose(within, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(model.means_, [Z[y == c].mean(axis=0) for c in range(4)], atol=1e-5)


def test_the_scale_of_the_kernel_does_not_matter():
    X, y = blobs()
    one = KernelDiscriminantAnalysis(kernel=RBF(gamma=0.3)).fit(X, y)
    other = KernelDiscriminantAnalysis(kernel=1e6 * RBF(gamma=0.3)).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(other.transform(X), one.transform(X), atol=1e-8 * np.abs(one.transform(X)).max())


def test_rings_and_digits_are_told_apart():
    angle = np.arange(40.0)
    ring = np.column_stack((np.cos(angle), np.sin(angle)))
    X, y = np.vstack((ring, 2.0 * ring, 3.0 * ring)), np.repeat(["a", "b", "c"], 40)
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) < 0.6
    assert KernelDiscriminantAnalysis().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) == 1.0
    images, digits = load_digits(return_X_y=True)
    assert KernelDiscriminantAnalysis().fit(images[::3], digits[::3]).score(images[1::3], digits[1::3]) > 0.97


def test_with_two_classes_the_second_is_positive():
    X, y = blobs(2)
    for labels in (y, 1 - y):
        model = KernelDiscriminantAnalysis().fit(X, labels)
        assert model.means_[1, 0] > 0 > model.means_[0, 0]
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
        assert model.decision_function(X).shape == (60,)
        p = model.predict_proba(X)
        np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(X), rtol=1e-6)


# Weights, priors, components


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_weight_is_a_number_of_repetitions(form):
    X, y = blobs()
    count = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), count))
    weighted = KernelDiscriminantAnalysis().fit(form(X), y, sample_weight=count)
    repeated = KernelDiscriminantAnalysis().fit(form(X[rows]), y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)
    scaled = KernelDiscriminantAnalysis().fit(form(X), y, sample_weight=1e-3 * count)
    np.testing.assert_allclose(scaled.predict_proba(X), weighted.predict_proba(X), atol=1e-8)


def test_a_class_without_weight_stays_and_is_never_predicted():
    X, y = blobs()
    model = KernelDiscriminantAnalysis().fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert (model.predict(X) != 1).all()
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], 0.0)
    plain = KernelDiscriminantAnalysis().fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.transform(X)[:, 0], plain.transform(X)[:, 0], atol=1e-8)
    np.testing.assert_array_equal(model.transform(X)[:, 1], 0.0)


def test_priors_shift_the_decision_by_their_logarithm():
    X, y = blobs(2)
    plain = KernelDiscriminantAnalysis().fit(X, y)
    shifted = KernelDiscriminantAnalysis(priors=[0.9, 0.1]).fit(X, y)
    difference = plain.decision_function(X) - shifted.decision_function(X)
    np.testing.assert_allclose(difference, np.log(9.0), rtol=1e-9)
    np.testing.assert_array_equal(shifted.priors_, [0.9, 0.1])


def test_fewer_components_change_the_projection_only():
    X, y = blobs(4)
    every, one = KernelDiscriminantAnalysis().fit(X, y), KernelDiscriminantAnalysis(n_components=1).fit(X, y)
    np.testing.assert_array_equal(one.transform(X), every.transform(X)[:, :1])
    np.testing.assert_array_equal(one.predict_proba(X), every.predict_proba(X))
    assert every.transform(X).shape == (60, 3)
    assert one.explained_variance_ratio_.shape == (1,)
    assert list(one.get_feature_names_out()) == ["kerneldiscriminantanalysis0"]
    assert every.explained_variance_ratio_.sum() == pytest.approx(1.0)


# What may be handed in


def test_strings_are_points_for_a_kernel_that_compares_them():
    words = ["aab", "aaa", "aba", "bbb", "bba", "bbbb"]

    def common(s, t):
        return sum(s.count(c) * t.count(c) for c in "ab")

    model = KernelDiscriminantAnalysis(kernel=common).fit(words, ["a", "a", "a", "b", "b", "b"])
    np.testing.assert_array_equal(model.predict(["aaaa", "abbbb"]), ["a", "b"])
    with pytest.raises(ValueError, match="objects"):
        model.predict([[1.0, 2.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives(form):
    X, y = blobs()
    new = blobs(seed=1)[0]
    weights = np.where(np.arange(60) % 7, 1.0, 0.0)
    kernel = Laplacian(gamma=0.3).resolve(X)
    given = KernelDiscriminantAnalysis(kernel="precomputed").fit(form(kernel.matrix(X, X)), y, sample_weight=weights)
    named = KernelDiscriminantAnalysis(kernel=kernel).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(given.predict_proba(form(kernel.matrix(new, X))), named.predict_proba(new), atol=1e-9)
    assert given.__sklearn_tags__().input_tags.pairwise


def test_forms_copies_and_grid_searches():
    model = KernelDiscriminantAnalysis(kernel=Linear() + RBF(gamma=0.1)).fit(IRIS, SPECIES)
    expected = model.predict_proba(IRIS)
    for twin in (
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(sp.csr_array(IRIS), SPECIES),
        clone(model).fit(IRIS.astype(np.float32), SPECIES),
        clone(model).fit(np.asfortranarray(IRIS), SPECIES),
    ):
        np.testing.assert_allclose(twin.predict_proba(IRIS), expected, atol=1e-4)
    table = pd.DataFrame(IRIS, columns=list("abcd"))
    named = clone(model).fit(table, np.array(["setosa", "versicolor", "virginica"])[SPECIES])
    assert named.predict(table)[0] == "setosa"
    np.testing.assert_array_equal(named.feature_names_in_, list("abcd"))
    grid = {"alpha": [1e-4, 1e-2], "gamma": ["scale", 0.1]}
    assert GridSearchCV(KernelDiscriminantAnalysis(), grid, cv=3).fit(IRIS, SPECIES).best_score_ > 0.95


def test_equal_points_leave_the_priors_only():
    model = KernelDiscriminantAnalysis().fit(np.full((5, 2), 7.0), [0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[7.0, 7.0], [0.0, 0.0]]), [[0.6, 0.4]] * 2)
    np.testing.assert_array_equal(model.transform([[7.0, 7.0]]), 0.0)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be > 0"),
        ({"alpha": "auto"}, TypeError, "alpha"),
        ({"n_components": 3}, ValueError, "3 classes have 2 directions"),
        ({"n_components": 0}, ValueError, "n_components"),
        ({"priors": [0.5, 0.5]}, ValueError, "each of the 3 classes"),
        ({"priors": [0.5, 0.5, 0.5]}, ValueError, "sum 1"),
        ({"priors": [1.5, -0.5, 0.0]}, ValueError, "priors"),
        ({"kernel": "rfb"}, ValueError, "rbf"),
        ({"kernel": "precomputed"}, ValueError, "square"),
        ({"kernel": lambda A, B: -A @ B.T}, ValueError, "positive semidefinite"),
        ({"kernel": lambda A, B: np.cos(9.0 * A @ B.T)}, ValueError, "positive semidefinite"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelDiscriminantAnalysis(**parameters).fit(IRIS, SPECIES)


def test_directions_that_overflow_are_refused():
    """Coefficients are of the size of 1 / k(x, x)."""
    X = np.array([[-3e-151], [1.7e-150], [-3e-151], [1.7e-150]])
    with pytest.raises(ValueError, match=r"overflow.*Scale the columns"):
        KernelDiscriminantAnalysis(kernel="linear", alpha=8.6e-9).fit(X, [1, -1, -1, 3], sample_weight=[3, 3, 3, 1])


def test_a_matrix_that_cannot_be_held_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr("maxmargin.runtime.validation.available_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match="KernelPCA"):
        KernelDiscriminantAnalysis().fit(IRIS, SPECIES)
