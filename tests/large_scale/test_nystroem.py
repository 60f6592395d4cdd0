"""Nystroem: scikit-learn's features up to a rotation, exact at landmarks, and every sort of kernel and of points."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.kernel_approximation
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernels import RBF, ChiSquared, Columns, Laplacian, Linear, Polynomial, Precomputed, Spectrum
from maxmargin.large_scale import Nystroem
from maxmargin.large_scale.features import nystroem as module
from maxmargin.svm import SVC, LinearSVC


@parametrize_with_checks(
    [
        Nystroem(),
        Nystroem(n_components=4, landmarks="kmeans", gamma="scale"),
        Nystroem(n_components=4, landmarks="leverage", kernel=Laplacian()),
        Nystroem(n_components=4, landmarks="rpcholesky", kernel="poly", dtype="float32"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@parametrize_with_checks([Nystroem(n_components=4, kernel="precomputed")])
def test_precomputed_kernels_keep_it_too(estimator, check):
    """Two checks hand in matrices that are no kernels, X X' minus a constant and X X' rounded to integers."""
    if check.func.__name__ in ("check_positive_only_tag_during_fit", "check_estimators_dtypes"):
        with pytest.raises((ValueError, AssertionError)) as caught:
            check(estimator)
        assert "not positive semidefinite" in str(caught.value.__cause__ or caught.value)
    else:
        check(estimator)


def cloud(n=150, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def projected(K_new, K_mm):
    """The kernel of the projections on the span of the landmarks, by the textbook."""
    return K_new @ np.linalg.pinv(K_mm, rcond=1e-11, hermitian=True) @ K_new.T


NAMED = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "poly"},
    {"kernel": "polynomial", "degree": 2, "gamma": 0.5, "coef0": 2.0},
    {"kernel": "poly", "degree": 2, "coef0": 0.0},
    {"kernel": "linear"},
    {"kernel": "cosine"},
    {"kernel": "laplacian", "gamma": 0.3},
    {"kernel": "chi2"},
    {"kernel": "chi2", "gamma": 0.2},
    {"kernel": "rbf", "kernel_params": {"gamma": 0.4}},
]


# The features


@pytest.mark.parametrize("parameters", NAMED, ids=str)
def test_features_are_scikit_learns_up_to_a_rotation(parameters):
    X, new = np.abs(cloud()), np.abs(cloud(40, seed=1))
    theirs = sklearn.kernel_approximation.Nystroem(n_components=20, random_state=0, **parameters).fit(X)
    ours = Nystroem(landmarks=theirs.component_indices_, **parameters).fit(X)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    np.testing.assert_array_equal(ours.component_indices_, theirs.component_indices_)
    a, b = ours.transform(new), theirs.transform(new)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=2e-6 * np.abs(b @ b.T).max())
    again = Nystroem(landmarks=theirs.components_, **parameters).fit(X).transform(new)
    np.testing.assert_allclose(again, a, atol=1e-6 * np.abs(a).max())


@given(
    st.integers(0, 10**6),
    st.integers(2, 25),
    st.integers(1, 12),
    st.sampled_from(["uniform", "kmeans", "leverage", "rpcholesky"]),
    st.sampled_from(["rbf", "laplacian", "poly"]),
)
@settings(max_examples=40, deadline=None)
def test_features_are_those_of_the_projections_on_the_landmarks(seed, n, m, landmarks, kernel):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    X[rng.integers(n)] = X[0]
    model = Nystroem(kernel, gamma=0.8, n_components=m, landmarks=landmarks, random_state=seed).fit(X)
    new = rng.standard_normal((7, 2))
    Z = model.transform(new)
    k = model.kernel_
    size = k.self_similarity(new).max()
    np.testing.assert_allclose(
        Z @ Z.T,
        projected(k.matrix(new, model.components_), k.matrix(model.components_, model.components_)),
        atol=1e-4 * size,
    )
    at = model.transform(model.components_)
    np.testing.assert_allclose(at @ Z.T, k.matrix(model.components_, new), atol=1e-5 * size)  # exact at landmarks
    assert len(model.components_) <= min(m, len(np.unique(X, axis=0)))


def test_all_rows_as_landmarks_give_the_kernel_itself():
    X = cloud(60)
    Z = Nystroem(gamma=0.5, n_components=1000).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, RBF(gamma=0.5)(X), atol=1e-9)


def test_a_kernel_of_few_dimensions_has_few_features():
    X = cloud(100, 3)
    model = Nystroem("linear", n_components=20).fit(X)
    assert model.normalization_.shape == (3, 20)
    assert model.transform(X).shape == (100, 3)
    assert list(model.get_feature_names_out()) == ["nystroem0", "nystroem1", "nystroem2"]
    assert model.eigenvalues_.shape == (20,)
    np.testing.assert_allclose(model.transform(X) @ model.transform(X).T, X @ X.T, atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "names"),
    [(RBF(sigma=2.0), {"kernel": "rbf", "gamma": 0.125}), (Polynomial(2, gamma=0.5, coef0=1.0), NAMED[3])],
    ids=["rbf", "poly"],
)
def test_kernels_by_object_and_by_name_agree(kernel, names):
    X = cloud()
    names = {**names, "coef0": 1.0} if names["kernel"] != "rbf" else names
    first, second = (
        Nystroem(random_state=0, n_components=10, **p).fit_transform(X) for p in ({"kernel": kernel}, names)
    )
    np.testing.assert_array_equal(first, second)


def test_kernels_by_function_agree_with_those_by_name():
    def of_points(x, z, width=1.0):
        return np.exp(-width * ((x - z) ** 2).sum())

    def of_sets(A, B, width=1.0):
        return np.exp(-width * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    X = cloud(40)
    expected = Nystroem(gamma=0.3, n_components=10, random_state=0).fit_transform(X)
    for function in (of_points, of_sets):
        model = Nystroem(function, kernel_params={"width": 0.3}, n_components=10, random_state=0)
        np.testing.assert_allclose(model.fit_transform(X), expected, atol=1e-7)


def test_gamma_is_one_over_the_columns_unless_told():
    X = 3.0 * cloud()
    assert Nystroem().fit(X).kernel_.gamma == 0.25
    assert Nystroem(gamma="auto").fit(X).kernel_.gamma == 0.25
    assert Nystroem(gamma="scale").fit(X).kernel_.gamma == pytest.approx(1 / (4 * X.var()))
    assert Nystroem("chi2").fit(np.abs(X)).kernel_.gamma == ChiSquared().gamma


# What may be handed in


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", "leverage", "rpcholesky"])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix], ids=["matrix", "array", "csc"])
def test_sparse_points_have_the_features_of_dense_ones(form, landmarks):
    X = cloud(150, 30) * (np.random.default_rng(1).random((150, 30)) < 0.2)
    dense, sparse = (
        Nystroem(gamma=0.1, n_components=15, landmarks=landmarks, random_state=0).fit(points) for points in (X, form(X))
    )
    assert sp.issparse(sparse.components_)
    expected = dense.transform(X)
    for model in (dense, sparse):
        for points in (X, form(X)):
            np.testing.assert_allclose(model.transform(points), expected, atol=1e-7)


def test_wide_sparse_points_stay_sparse():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(
        (rng.random(15_000), (rng.integers(0, 300, 15_000), rng.integers(0, 50_000, 15_000))), (300, 50_000)
    )
    model = Nystroem("linear", n_components=20, random_state=0).fit(X)
    assert sp.issparse(model.components_)
    assert model.components_.nnz < 5_000
    Z = model.transform(X)
    K = (X @ X.T).toarray()
    chosen = model.component_indices_
    np.testing.assert_allclose(Z @ Z.T, projected(K[:, chosen], K[np.ix_(chosen, chosen)]), atol=1e-9)


def test_single_precision_in_and_out():
    X = cloud()
    model = Nystroem(gamma=0.5, n_components=30, random_state=0).fit(X.astype(np.float32))
    single = model.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert model.components_.dtype == np.float32
    assert model.normalization_.dtype == np.float64
    assert model.transform(X).dtype == np.float64
    # The tail of the spectrum is where float32 kernel values would fail.
    np.testing.assert_allclose(single @ single.T, projected(*_values(model, X)), atol=1e-5)
    forced = clone(model).set_params(dtype="float32").fit(X).transform(X)
    assert forced.dtype == np.float32
    assert clone(model).set_params(dtype="float64").fit_transform(X.astype(np.float32)).dtype == np.float64


def _values(model, X):
    return model.kernel_.matrix(X, model.components_), model.kernel_.matrix(model.components_, model.components_)


def test_strings_have_features():
    X = ["banana", "bandana", "cabana", "ananas", "nab", "cab", "abracadabra", "baobab"]
    new = ["anna", "bad", "cabana"]
    model = Nystroem(Spectrum(k=2), n_components=5, landmarks="rpcholesky", random_state=0).fit(X)
    Z = model.transform(new)
    assert Z.dtype == np.float64
    k, points, objects = model.kernel_, model.components_, np.array(new, dtype=object)
    np.testing.assert_allclose(Z @ Z.T, projected(k.matrix(objects, points), k.matrix(points, points)), atol=1e-9)
    assert not hasattr(model, "n_features_in_")
    given = Nystroem("spectrum", landmarks=["banana", "cab"]).fit(X)
    assert list(given.components_) == ["banana", "cab"]
    assert given.component_indices_ is None
    assert model.kernel_error(X).n_rows == 8 - len(points)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("landmarks", ["uniform", "leverage", "rpcholesky"])
def test_a_precomputed_kernel_has_the_features_of_its_function(landmarks, form):
    X, new = cloud(), cloud(30, seed=1)
    kernel = RBF(gamma=0.5)
    model = Nystroem("precomputed", n_components=20, landmarks=landmarks, random_state=0).fit(form(kernel(X)))
    other = Nystroem(kernel, landmarks=model.component_indices_).fit(X)
    Z, expected = model.transform(form(other.kernel_.matrix(new, X))), other.transform(new)
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-7)
    np.testing.assert_array_equal(model.components_, model.component_indices_)
    assert model.kernel_error(form(kernel(X))).trace == pytest.approx(other.kernel_error(X).trace, rel=1e-6)
    assert Nystroem(Precomputed()).fit(kernel(X)).__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_keep_their_columns(table):
    X = pd.DataFrame(cloud(), columns=list("abcd"))
    kernel = Columns(RBF(gamma=1.0), ["a", "c"])
    model = Nystroem(kernel, n_components=10, random_state=0).fit(table(X.to_dict("list")))
    assert list(model.feature_names_in_) == list("abcd")
    Z = Nystroem(RBF(gamma=1.0), landmarks=model.component_indices_).fit_transform(X[["a", "c"]])
    np.testing.assert_allclose(model.transform(table(X.to_dict("list"))), Z, atol=1e-6)
    names = model.set_output(transform="pandas").transform(X).columns
    assert list(names) == [f"nystroem{i}" for i in range(10)]


def test_a_memory_map_is_enough(tmp_path):
    X = cloud(3000)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    held, read = (Nystroem(n_components=20, random_state=0).fit(points).transform(points) for points in (X, mapped))
    np.testing.assert_array_equal(held, read)


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", "leverage", "rpcholesky"])
def test_a_weight_is_a_repetition(landmarks):
    X = cloud(50)
    weights = np.random.default_rng(2).integers(0, 3, 50)
    parameters = {"gamma": "scale", "n_components": 12, "landmarks": landmarks, "random_state": 0}
    weighted = Nystroem(**parameters).fit(X, sample_weight=weights)
    repeated = Nystroem(**parameters).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)


def test_threads_and_tiles_do_not_change_the_bits(monkeypatch):
    X = cloud(3000)
    model = Nystroem(n_components=20, landmarks="rpcholesky", random_state=0, n_jobs=1).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X).transform(X), expected)
    monkeypatch.setattr(module, "TILE_VALUES", 2000)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)


def test_the_seed_decides():
    X = cloud()
    generators = [np.random.RandomState(3), np.random.default_rng(3), 3]
    for first, second in zip(generators, [np.random.RandomState(3), np.random.default_rng(3), 3], strict=True):
        np.testing.assert_array_equal(
            Nystroem(n_components=5, random_state=first).fit(X).components_,
            Nystroem(n_components=5, random_state=second).fit(X).components_,
        )
    assert (
        Nystroem(n_components=5, random_state=0).fit(X).components_
        != Nystroem(n_components=5, random_state=1).fit(X).components_
    ).any()


def test_a_pickle_and_a_clone_give_the_same_features():
    X = cloud()
    model = Nystroem(n_components=10, landmarks="leverage", random_state=0).fit(X)
    expected = model.transform(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), expected)


def test_a_linear_model_on_the_features_is_a_kernel_model():
    X, y = make_moons(600, noise=0.2, random_state=0)
    exact = SVC(gamma=2.0).fit(X[:400], y[:400]).score(X[400:], y[400:])
    features = Nystroem(gamma=2.0, n_components=60, landmarks="rpcholesky", random_state=0)
    model = make_pipeline(features, LinearSVC(loss="hinge", C=1.0)).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > exact - 0.02
    assert model[0].kernel_error(X[400:]).trace < 0.02


# The error


def test_the_error_is_that_of_rows_that_are_no_landmarks():
    X = cloud()
    model = Nystroem(gamma=0.3, n_components=25, random_state=0).fit(X)
    K = model.kernel_.matrix(X, X)
    chosen = model.component_indices_
    rest = np.setdiff1d(np.arange(150), chosen)
    missed = K.diagonal() - projected(K[:, chosen], K[np.ix_(chosen, chosen)]).diagonal()
    error = model.kernel_error(X)
    assert error.n_rows == 125
    assert error.trace == pytest.approx(missed[rest].mean(), rel=1e-6)
    shuffled = X[np.random.default_rng(1).permutation(150)]  # landmarks are known by their content
    assert model.kernel_error(shuffled).trace == pytest.approx(error.trace, rel=1e-9)
    assert model.kernel_error(X, rows=50, random_state=1).n_rows == 50
    assert model.kernel_error(X, rows=50) == model.kernel_error(X, rows=50)


def test_more_landmarks_miss_less():
    X = cloud(400)
    errors = [
        Nystroem(gamma=0.3, n_components=m, landmarks="rpcholesky", random_state=0).fit(X).kernel_error(X).trace
        for m in (5, 20, 80)
    ]
    assert errors[0] > 1.5 * errors[1] > 3 * errors[2] > 0


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be >= 1"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"kernel": "additive_chi2"}, "kernel must be one of"),
        ({"landmarks": "kmean"}, "Did you mean 'kmeans'"),
        ({"landmarks": [500]}, "names row 500"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"gamma": -1.0}, "gamma must be > 0; got gamma=-1.0"),
        ({"gamma": 0.0}, "gamma must be > 0; got gamma=0.0"),
        ({"kernel": RBF(), "gamma": 1.0}, "Don't pass gamma"),
        ({"kernel": Linear, "gamma": None}, r"write Linear\(\)"),
        ({"kernel": "precomputed", "degree": 2}, "Don't pass gamma, coef0 or degree"),
        ({"kernel_params": {"width": 1}}, "kernel_params of a kernel given by name"),
        ({"kernel": RBF(), "kernel_params": {"gamma": 1}}, "kernel_params"),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}, r"Sigmoid.*is not positive semidefinite.*eigenvalue -"),
        ({"kernel": "chi2"}, "negative"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Nystroem(**parameters).fit(cloud())


def test_bad_points_are_named():
    X = cloud()
    with pytest.raises(ValueError, match="sample_weight"):
        Nystroem().fit(X, sample_weight=np.full(150, -1.0))
    model = Nystroem("poly", degree=3, gamma=1.0).fit(X)
    with pytest.raises(ValueError, match="overflow in row 1"):
        model.transform([[1.0] * 4, [1e200] * 4])
    table = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="columns of landmarks and X differ"):
        Nystroem(landmarks=table[list("dcba")]).fit(table)
    assert len(Nystroem(landmarks=table[:7]).fit(table).components_) == 7
    K = RBF(gamma=0.5)(X)
    with pytest.raises(ValueError, match="square"):
        Nystroem("precomputed").fit(K[:10])
    with pytest.raises(ValueError, match="kernel matrix of the training points, 150 x 150; got 10 rows"):
        Nystroem("precomputed").fit(K).kernel_error(K[:10])
    with pytest.raises(ValueError, match="compares vectors"):
        Nystroem().fit(["a", "b"])
    with pytest.raises(ValueError, match="kmeans"):
        Nystroem(Spectrum(k=1), n_components=1, landmarks="kmeans").fit(["a", "b"])
