"""KernelPCA: scikit-learn's components and signs, the mathematics of PCA in feature space, and pre-images."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernel_methods.pca import KernelPCA, eigen
from maxmargin.kernels import RBF, Columns, Laplacian, Linear, Polynomial

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2},
    {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 0.5},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 2.0},
    {"kernel": "cosine"},
]


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(n_components=2, kernel="rbf", fit_inverse_transform=True),
        KernelPCA(n_components=1, eigen_solver="randomized", random_state=0),
        KernelPCA(n_components=2, kernel="precomputed"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def cloud(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.linspace(2.0, 0.5, d) + 1.0


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


# Components


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize("parameters", KERNELS, ids=str)
def test_components_and_signs_are_scikit_learns(parameters, solver, form):
    X, new = form(cloud()), form(cloud(25, seed=1))
    ours, theirs = (
        Kind(n_components=3, eigen_solver=solver, **parameters).fit(X)
        for Kind in (KernelPCA, sklearn.decomposition.KernelPCA)
    )
    scale = np.sqrt(theirs.eigenvalues_[0])
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-8 * scale)
    np.testing.assert_allclose(ours.transform(X), ours.fit_transform(X), atol=1e-8 * scale)
    assert ours.gamma_ == theirs.gamma_
    assert ours.n_features_in_ == theirs.n_features_in_


@pytest.mark.parametrize("parameters", KERNELS[:5], ids=str)
def test_all_components_are_those_of_scikit_learn(parameters):
    X = cloud(40)
    ours, theirs = (Kind(**parameters).fit(X) for Kind in (KernelPCA, sklearn.decomposition.KernelPCA))
    assert len(ours.eigenvalues_) == len(theirs.eigenvalues_)
    assert ours.eigen_solver_ == "dense"
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, atol=1e-11 * theirs.eigenvalues_[0])


def test_the_linear_kernel_gives_principal_component_analysis():
    X, new = cloud(), cloud(20, seed=1)
    ours, pca = KernelPCA(n_components=4).fit(X), sklearn.decomposition.PCA(4).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_ / (len(X) - 1), pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(pca.transform(new)), atol=1e-10)


def test_a_polynomial_kernel_gives_principal_component_analysis_of_the_monomials():
    def monomials(X):
        a, b = X.T
        r = np.sqrt(2.0)
        return np.column_stack((np.ones(len(X)), r * a, r * b, a**2, b**2, r * a * b))

    X, new = cloud(50, 2), cloud(20, 2, seed=1)
    ours = KernelPCA(n_components=5, kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X)
    pca = sklearn.decomposition.PCA(5).fit(monomials(X))
    np.testing.assert_allclose(ours.eigenvalues_ / (len(X) - 1), pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(pca.transform(monomials(new))), atol=1e-8)


@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 4), st.sampled_from(["rbf", "laplacian", "poly"]))
@settings(max_examples=40, deadline=None)
def test_projections_have_the_inner_products_of_the_centred_features(seed, n, d, kernel):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] = X[0]
    pca = KernelPCA(kernel=kernel, gamma=0.5)
    Z = pca.fit_transform(X)
    K = centred(pca.kernel_(X))
    scale = max(1.0, np.abs(K).max())
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-9 * scale)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9 * scale)
    np.testing.assert_allclose((Z**2).sum(axis=0), pca.eigenvalues_, atol=1e-9 * scale)
    largest = np.abs(pca.eigenvectors_).argmax(axis=0)
    assert (pca.eigenvectors_[largest, np.arange(len(largest))] > 0).all()
    assert (np.diff(pca.eigenvalues_) <= 0).all()


def test_components_have_unit_length_and_right_angles_in_feature_space():
    X = cloud()
    pca = KernelPCA(n_components=5, kernel="rbf").fit(X)
    A = pca.eigenvectors_ / np.sqrt(pca.eigenvalues_)
    np.testing.assert_allclose(A.T @ centred(pca.kernel_(X)) @ A, np.eye(5), atol=1e-10)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
def test_iterative_solvers_find_the_components_of_the_dense_one(solver):
    X = cloud(400, 30) * np.linspace(10.0, 0.1, 30) ** 2  # eigenvalues that fall fast
    exact = KernelPCA(n_components=3, eigen_solver="dense").fit(X)
    other = KernelPCA(n_components=3, eigen_solver=solver, random_state=0).fit(X)
    assert other.eigen_solver_ == solver
    np.testing.assert_allclose(other.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(other.transform(X), exact.transform(X), atol=1e-5 * np.abs(X).max())


def test_more_power_iterations_come_nearer_to_the_truth():
    X = cloud(300, 20)
    exact = KernelPCA(n_components=4, kernel="rbf").fit(X).eigenvalues_
    errors = [
        np.abs(
            KernelPCA(n_components=4, kernel="rbf", eigen_solver="randomized", iterated_power=q, random_state=0)
            .fit(X)
            .eigenvalues_
            - exact
        ).max()
        for q in (0, 3, 12)
    ]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
def test_a_matrix_that_is_not_held_gives_the_same_components(solver, monkeypatch):
    X = cloud(2100, 3)
    parameters = {"n_components": 2, "kernel": "rbf", "eigen_solver": solver, "random_state": 0}
    held = KernelPCA(**parameters).fit(X)
    monkeypatch.setattr(eigen, "KERNEL_MATRIX_BYTES", 0.0)
    computed = KernelPCA(**parameters).fit(X)
    np.testing.assert_allclose(computed.eigenvalues_, held.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(computed.eigenvectors_, held.eigenvectors_, atol=1e-7)


def test_the_automatic_solver_turns_to_lapack_when_lanczos_does_not_end():
    X = np.eye(300) * np.sqrt(np.arange(300.0) + 1000.0)
    with pytest.raises(RuntimeError, match="raise max_iter"):
        KernelPCA(n_components=5, eigen_solver="arpack", max_iter=1).fit(X)
    model = KernelPCA(n_components=5, max_iter=1).fit(X)
    assert model.eigen_solver_ == "dense"
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(centred(X @ X.T))[:-6:-1], rtol=1e-9)


def test_components_without_variance_are_zero_or_leave():
    X = cloud(30, 2)
    kept = KernelPCA(n_components=5).fit(X)
    assert (kept.eigenvalues_[2:] == 0).all()
    np.testing.assert_allclose(kept.transform(X)[:, 2:], 0.0)
    assert KernelPCA(n_components=5, remove_zero_eig=True).fit(X).eigenvalues_.shape == (2,)
    assert KernelPCA().fit_transform(X).shape == (30, 2)
    assert KernelPCA(kernel="rbf").fit_transform(np.full((6, 2), 1e3)).shape == (6, 0)
    assert KernelPCA(n_components=99, kernel="rbf").fit_transform(X).shape == (30, 30)


def test_an_indefinite_kernel_is_refused_where_it_matters():
    X = cloud()
    indefinite = {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}
    with pytest.raises(ValueError, match="not positive semidefinite"):
        KernelPCA(**indefinite).fit(X)
    ours, theirs = (Kind(n_components=2, **indefinite).fit(X) for Kind in (KernelPCA, sklearn.decomposition.KernelPCA))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)


# What may be handed in


def test_kernels_by_name_object_and_function_agree():
    X, new = cloud(), cloud(10, seed=1)
    gamma = 0.3

    def pair(x, z, width):
        return float(np.exp(-width * ((x - z) ** 2).sum()))

    def sets(A, B):
        return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))

    models = [
        KernelPCA(3, kernel="rbf", gamma=gamma),
        KernelPCA(3, kernel=RBF(gamma=gamma)),
        KernelPCA(3, kernel=sets),
        KernelPCA(3, kernel=pair, kernel_params={"width": gamma}),
    ]
    named, *others = [model.fit(X).transform(new) for model in models]
    for other in others:
        np.testing.assert_allclose(other, named, atol=1e-9)
    theirs = sklearn.decomposition.KernelPCA(3, kernel=pair, kernel_params={"width": gamma}).fit(X)
    np.testing.assert_allclose(named, theirs.transform(new), atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_function_of_two_points_is_told_from_one_of_two_sets(d):
    X = cloud(8, d)
    linear = KernelPCA(n_components=1).fit_transform(X)
    for function in (lambda x, z: x @ z, lambda x, z: x @ z.T, lambda A, B: np.dot(A, np.transpose(B))):
        np.testing.assert_allclose(KernelPCA(n_components=1, kernel=function).fit_transform(X), linear, atol=1e-9)


def test_strings_are_points_for_a_kernel_that_compares_them():
    words = ["aab", "aaa", "aba", "bbb", "bba", "bbbb"]

    def common(s, t):
        return sum(s.count(c) * t.count(c) for c in "ab")

    counts = np.array([[w.count("a"), w.count("b")] for w in words], float)
    model, plain = KernelPCA(2, kernel=common).fit(words), KernelPCA(2).fit(counts)
    np.testing.assert_allclose(model.transform(["abab", "b"]), plain.transform([[2.0, 2.0], [0.0, 1.0]]), atol=1e-9)
    with pytest.raises(ValueError, match="objects"):
        model.transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="vectors"):
        KernelPCA(2, kernel=common, fit_inverse_transform=True).fit(words)
    with pytest.raises(ValueError, match=r"type str.*compares vectors"):
        KernelPCA(2, kernel="rbf").fit(words)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda K: K.astype(np.float32)])
def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives(form):
    X, new = cloud(), cloud(10, seed=1)
    kernel = RBF(gamma=0.2).resolve(X)
    given = KernelPCA(2, kernel="precomputed").fit(form(kernel.matrix(X, X)))
    named = KernelPCA(2, kernel="rbf", gamma=0.2).fit(X)
    np.testing.assert_allclose(given.transform(form(kernel.matrix(new, X))), named.transform(new), atol=1e-5)
    assert given.__sklearn_tags__().input_tags.pairwise


def test_dense_and_sparse_points_and_both_precisions_agree():
    X = np.where(np.random.default_rng(0).random((80, 20)) < 0.1, cloud(80, 20), 0.0)
    exact = KernelPCA(2, kernel="rbf").fit(X).transform(X)
    for form in (sp.csr_matrix, sp.csr_array, sp.coo_matrix):
        np.testing.assert_allclose(KernelPCA(2, kernel="rbf").fit(form(X)).transform(form(X)), exact, atol=1e-9)
    single = KernelPCA(2, kernel="rbf").fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.X_fit_.dtype == np.float32
    np.testing.assert_allclose(single.transform(X), exact, atol=1e-5)


@pytest.mark.parametrize("Table", [pd.DataFrame, pl.DataFrame])
def test_tables_have_their_names_looked_at(Table):
    X = cloud(d=2)
    table = Table({"height": X[:, 0], "width": X[:, 1]})
    model = KernelPCA(1, kernel=Columns(Linear(), "width")).fit(table)
    np.testing.assert_array_equal(model.feature_names_in_, ["height", "width"])
    np.testing.assert_allclose(np.abs(model.transform(table).ravel()), np.abs(X[:, 1] - X[:, 1].mean()), atol=1e-9)
    assert list(model.get_feature_names_out()) == ["kernelpca0"]


def test_copies_and_pickles_are_the_model_and_x_stays_as_it_was():
    X = cloud()
    before = X.copy()
    model = KernelPCA(2, kernel=Laplacian(gamma=0.1), copy_X=False).fit(X)
    assert model.X_fit_ is X
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), model.transform(X))
    copied = KernelPCA(2).fit(X)
    assert not np.shares_memory(copied.X_fit_, X)


def test_any_number_of_threads_gives_the_same_bits():
    X = cloud(1500, 5)
    values = [KernelPCA(2, kernel="rbf", n_jobs=n).fit(X).transform(X) for n in (1, 2, 4)]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


# Pre-images


@pytest.mark.parametrize("parameters", KERNELS[:5], ids=str)
def test_the_learnt_inverse_is_scikit_learns(parameters):
    X = cloud()
    ours, theirs = (
        Kind(n_components=3, fit_inverse_transform=True, alpha=0.1, **parameters).fit(X)
        for Kind in (KernelPCA, sklearn.decomposition.KernelPCA)
    )
    Z = theirs.transform(cloud(10, seed=1))
    expected = theirs.inverse_transform(Z)
    np.testing.assert_allclose(ours.inverse_transform(Z), expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_array_equal(ours.preimage(Z, method="ridge"), ours.inverse_transform(Z))
    np.testing.assert_allclose(ours.X_transformed_fit_, theirs.X_transformed_fit_, atol=1e-8 * np.abs(Z).max())
    sparse = clone(ours).fit(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse.inverse_transform(Z), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_point_is_the_pre_image_of_its_own_features(form):
    X = cloud(30, 3)
    model = KernelPCA(kernel="rbf", gamma=0.2).fit(form(X))
    np.testing.assert_allclose(model.preimage(model.transform(form(X))), X, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_pre_images_are_maxima_of_the_overlap_with_the_projection(seed):
    X, new = cloud(40, 3, seed), cloud(12, 3, seed + 100)
    model = KernelPCA(n_components=4, kernel="rbf", gamma=0.1).fit(X)
    Z = model.transform(new)
    found = model.preimage(Z, tol=1e-8)
    A = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    for z, x in zip(Z, found, strict=True):
        weights = A @ z + (1.0 - (A @ z).sum()) / len(X)

        def minus_overlap(p, weights=weights):
            return -(weights @ np.exp(-0.1 * ((X - p) ** 2).sum(axis=1)))

        nearest = X[np.argmin([minus_overlap(p) for p in X])]
        best = minimize(minus_overlap, nearest, tol=1e-10)
        assert minus_overlap(x) <= minus_overlap(nearest) + 1e-12
        assert minus_overlap(x) <= best.fun + 1e-8
        step = 1e-5 * np.eye(3)
        gradient = [(minus_overlap(x + h) - minus_overlap(x - h)) / 2e-5 for h in step]
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7)


def test_pre_images_take_noise_off():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2 * np.pi, 300)
    clean = 3.0 * np.column_stack((np.cos(angle), np.sin(angle)))
    noisy = clean + 0.3 * rng.standard_normal(clean.shape)
    model = KernelPCA(n_components=6, kernel="rbf", gamma=0.1).fit(noisy)

    def error(X):
        return np.abs(np.linalg.norm(X, axis=1) - 3.0).mean()

    for start in (None, noisy):
        assert error(model.preimage(model.transform(noisy), start=start)) < 0.6 * error(noisy)


def test_pre_images_that_do_not_settle_are_announced():
    X = cloud()
    model = KernelPCA(n_components=2, kernel="rbf").fit(X)
    with pytest.warns(ConvergenceWarning, match=r"pre-images are not settled.*raise max_iter"):
        model.preimage(model.transform(X), max_iter=1, tol=1e-12)


def test_pre_images_far_from_all_features_end_somewhere_finite():
    X = cloud()
    model = KernelPCA(n_components=2, kernel="rbf").fit(X)
    assert np.isfinite(model.preimage([[1e3, -1e3], [0.0, 0.0]])).all()


# Errors


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components"),
        ({"n_components": 1.5}, TypeError, "n_components"),
        ({"kernel": "rfb"}, ValueError, "Did you mean 'rbf'"),
        ({"kernel": RBF}, TypeError, "not its class"),
        ({"kernel": "rbf", "gamma": -1.0}, ValueError, "gamma"),
        ({"kernel": "rbf", "gamma": "wide"}, ValueError, "gamma"),
        ({"kernel": "rbf", "kernel_params": {"width": 1}}, ValueError, "kernel_params"),
        ({"kernel_params": 3}, TypeError, "kernel_params"),
        ({"eigen_solver": "lapack"}, ValueError, "eigen_solver"),
        ({"eigen_solver": "arpack"}, ValueError, "fewer components than there are points"),
        ({"tol": -1}, ValueError, "tol"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"iterated_power": -1}, ValueError, "iterated_power"),
        ({"alpha": -1.0}, ValueError, "alpha"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"copy_X": "yes"}, TypeError, "copy_X"),
        ({"kernel": "precomputed", "fit_inverse_transform": True}, ValueError, "fit_inverse_transform"),
        ({"kernel": "precomputed"}, ValueError, "square"),
        ({"fit_inverse_transform": True, "alpha": 0.0, "n_components": 1}, ValueError, "raise alpha"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelPCA(**parameters).fit(cloud(20, 3))


def test_pre_images_say_what_they_need():
    X = cloud()
    model = KernelPCA(2, kernel=Polynomial(degree=2)).fit(X)
    Z = model.transform(X)
    with pytest.raises(ValueError, match="Gaussian"):
        model.preimage(Z)
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        model.inverse_transform(Z)
    with pytest.raises(NotFittedError):
        KernelPCA().preimage(Z)
    with pytest.raises(ValueError, match="method"):
        model.preimage(Z, method="gradient")
    gaussian = KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(ValueError, match="there are 2 components"):
        gaussian.preimage(X)
    with pytest.raises(ValueError, match="start has 3 points"):
        gaussian.preimage(Z, start=X[:3])


def test_a_matrix_that_cannot_be_held_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr("maxmargin.runtime.validation.available_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match="eigen_solver='arpack'"):
        KernelPCA(kernel="rbf").fit(cloud())
