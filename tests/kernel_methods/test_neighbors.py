"""Kernel nearest neighbours: distances from the definition, Euclidean neighbours for the Gaussian kernel, and ties."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernel_methods.neighbors import KernelKNeighborsClassifier, KernelKNeighborsRegressor, search
from maxmargin.kernels import RBF, Laplacian, Normalized, Polynomial
from reference import kernels as reference

IRIS, SPECIES = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        KernelKNeighborsClassifier(),
        KernelKNeighborsRegressor(),
        KernelKNeighborsClassifier(kernel="poly", weights="distance"),
        KernelKNeighborsClassifier(kernel="precomputed"),
        KernelKNeighborsRegressor(kernel="precomputed"),
    ]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def cloud(n=60, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 1.0


def by_definition(k, A, B, count):
    """Distances and indices from the kernel, a number at a time; ties by index."""
    distances, indices = [], []
    for a in A.tolist():
        squares = [max(0.0, k(a, a) - 2 * k(a, b) + k(b, b)) for b in B.tolist()]
        order = sorted(range(len(B)), key=lambda j, squares=squares: (squares[j], j))[:count]
        indices.append(order)
        distances.append([squares[j] ** 0.5 for j in order])
    return np.array(distances), np.array(indices)


# The search


@pytest.mark.parametrize(
    ("parameters", "k"),
    [
        ({"kernel": "linear"}, reference.linear),
        ({"kernel": "rbf", "gamma": 0.3}, reference.rbf(0.3)),
        ({"kernel": "laplacian", "gamma": 0.3}, reference.laplacian(0.3)),
        ({"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2}, reference.polynomial(0.5, 1.0, 2)),
        ({"kernel": "cosine"}, reference.normalized(reference.linear)),
        ({"kernel": RBF(gamma=0.3) + Polynomial(degree=2, gamma=1.0)}, None),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_neighbours_are_those_of_the_definition(parameters, k, form):
    if k is None:
        rbf, poly = reference.rbf(0.3), reference.polynomial(1.0, 0.0, 2)

        def k(x, z):
            return rbf(x, z) + poly(x, z)

    X, new = cloud(40), cloud(15, seed=1)
    distances, indices = by_definition(k, new, X, 7)
    model = KernelKNeighborsRegressor(**parameters).fit(form(X), X[:, 0])
    found, at = model.kneighbors(form(new), 7)
    np.testing.assert_array_equal(at, indices)
    np.testing.assert_allclose(found, distances, rtol=1e-9)
    np.testing.assert_array_equal(model.kneighbors(form(new), 7, return_distance=False), indices)


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from(["linear", "rbf", "poly"]))
@settings(max_examples=60, deadline=None)
def test_equal_distances_are_ordered_by_index(seed, count, kernel):
    rng = np.random.default_rng(seed)
    X, new = rng.integers(-2, 3, (12, 2)).astype(float), rng.integers(-2, 3, (5, 2)).astype(float)
    model = KernelKNeighborsRegressor(kernel=kernel, gamma=1.0, degree=2).fit(X, X[:, 0])
    k = {"linear": reference.linear, "rbf": None, "poly": reference.polynomial(1.0, 0.0, 2)}[kernel]
    # for the Gaussian kernel, the order is that of the Euclidean distances, integers here
    _, indices = by_definition(k or reference.linear, new, X, count)
    np.testing.assert_array_equal(model.kneighbors(new, count)[1], indices)


@pytest.mark.parametrize("gamma", [1e-12, 0.1, "scale", 1e4])
def test_neighbours_of_the_gaussian_kernel_are_the_euclidean_ones(gamma):
    X, new = 5.0 * cloud(300, 6), 5.0 * cloud(400, 6, seed=1)
    ours = KernelKNeighborsRegressor(gamma=gamma).fit(X, X[:, 0])
    theirs = KNeighborsRegressor(algorithm="brute").fit(X, X[:, 0])
    distances, indices = ours.kneighbors(new)
    expected, at = theirs.kneighbors(new)
    np.testing.assert_array_equal(indices, at)
    np.testing.assert_allclose(distances, np.sqrt(-2 * np.expm1(-ours.kernel_.gamma * expected**2)), rtol=1e-9)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new))


def test_points_far_from_the_origin_keep_their_neighbours():
    X, new = cloud(100, 3), cloud(50, 3, seed=1)
    near = KernelKNeighborsRegressor(gamma=0.5).fit(X, X[:, 0]).kneighbors(new)
    far = KernelKNeighborsRegressor(gamma=0.5).fit(X + 1e6, X[:, 0]).kneighbors(new + 1e6)
    np.testing.assert_array_equal(near[1], far[1])
    np.testing.assert_allclose(near[0], far[0], rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "poly"])
def test_a_point_is_at_distance_zero_from_its_copies(kernel):
    X = np.random.default_rng(0).standard_normal((30, 7))
    model = KernelKNeighborsRegressor(kernel=kernel).fit(np.vstack((X, X, X)), np.zeros(90))
    distances, indices = model.kneighbors(X, 3)
    np.testing.assert_array_equal(distances, 0.0)
    np.testing.assert_array_equal(indices, np.arange(30)[:, None] + [0, 30, 60])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
def test_training_points_are_no_neighbours_of_their_own(kernel):
    X = cloud(400, 3)
    points = RBF(gamma=0.2)(X) if kernel == "precomputed" else X
    model = KernelKNeighborsRegressor(kernel=kernel, gamma=0.2).fit(points, X[:, 0])
    distances, indices = model.kneighbors(n_neighbors=4)
    if kernel == "laplacian":
        expected = KernelKNeighborsRegressor(kernel=kernel, gamma=0.2).fit(X, X[:, 0]).kneighbors(X, 5)[1][:, 1:]
    else:
        expected = KNeighborsRegressor().fit(X, X[:, 0]).kneighbors(n_neighbors=4)[1]
    np.testing.assert_array_equal(indices, expected)
    assert (distances > 0).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "precomputed"])
def test_the_size_of_tiles_does_not_matter(kernel, form, monkeypatch):
    X, new = cloud(90, 3), cloud(70, 3, seed=1)
    if kernel == "precomputed":
        resolved = Laplacian(gamma=0.3).resolve(X)
        X, new = resolved.matrix(X, X), resolved.matrix(new, X)
    model = KernelKNeighborsRegressor(kernel=kernel, n_jobs=3).fit(form(X), X[:, 0])
    complete, own = model.kneighbors(form(new)), model.kneighbors()
    monkeypatch.setattr(search, "TILE_ROWS", 7)
    monkeypatch.setattr(search, "TILE_COLS", 11)
    for one, other in ((complete, model.kneighbors(form(new))), (own, model.kneighbors())):
        np.testing.assert_array_equal(one[1], other[1])
        np.testing.assert_allclose(one[0], other[0], rtol=1e-12)


def test_any_number_of_threads_gives_the_same_bits():
    X = cloud(1500, 5)
    model = KernelKNeighborsRegressor(kernel="poly").fit(X, X[:, 0])
    found = [model.set_params(n_jobs=n).kneighbors(X) for n in (1, 2, 4)]
    for distances, indices in found[1:]:
        np.testing.assert_array_equal(distances, found[0][0])
        np.testing.assert_array_equal(indices, found[0][1])


# Labels and values


def inverse_square(distances):
    return 1.0 / (0.1 + distances) ** 2


@pytest.mark.parametrize("weights", ["uniform", "distance", inverse_square])
@pytest.mark.parametrize("count", [1, 4, 15])
def test_with_the_linear_kernel_all_is_as_with_euclidean_distances(weights, count):
    X, y, new = IRIS[::2], SPECIES[::2], np.vstack((IRIS[1::2], IRIS[:20:2]))
    ours = KernelKNeighborsClassifier(count, kernel="linear", weights=weights).fit(X, y)
    theirs = KNeighborsClassifier(count, weights=weights, algorithm="brute").fit(X, y)
    clear = np.abs(np.diff(theirs.kneighbors(new, count + 1)[0][:, -2:])).ravel() > 1e-9  # no tie for the last place
    np.testing.assert_allclose(ours.predict_proba(new)[clear], theirs.predict_proba(new)[clear], rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(new)[clear], theirs.predict(new)[clear])
    values = KernelKNeighborsRegressor(count, kernel="linear", weights=weights).fit(X, X[:, :2]).predict(new)
    expected = KNeighborsRegressor(count, weights=weights, algorithm="brute").fit(X, X[:, :2]).predict(new)
    assert values.shape == expected.shape
    np.testing.assert_allclose(values[clear], expected[clear], rtol=1e-6)


def test_shapes_of_targets_are_those_of_predictions():
    X = cloud()
    for y in (X[:, 0], X[:, :1], X[:, :3]):
        theirs = KNeighborsRegressor(algorithm="brute").fit(X, y).predict(X)
        values = KernelKNeighborsRegressor().fit(X, y).predict(X)
        assert values.shape == theirs.shape
        np.testing.assert_allclose(values, theirs)
    assert KernelKNeighborsRegressor().fit(X, list(range(60))).predict(X).dtype == np.float64


def test_labels_of_any_sort_come_back():
    X = np.arange(6.0)[:, None]
    for labels in (["a", "b"], [False, True], [-1, 1], [10**12, 10**12 + 1]):
        y = np.repeat(np.array(labels), 3)
        predicted = KernelKNeighborsClassifier(n_neighbors=1).fit(X, y).predict(X)
        np.testing.assert_array_equal(predicted, y)
        assert predicted.dtype == y.dtype


def test_of_equal_votes_the_first_class_wins():
    model = KernelKNeighborsClassifier(n_neighbors=2, kernel="linear").fit([[0.0], [2.0]], ["b", "a"])
    assert model.predict([[1.0]])[0] == "a"
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[0.5, 0.5]])


def test_leave_one_out_predictions_need_no_points():
    model = KernelKNeighborsClassifier().fit(IRIS, SPECIES)
    expected = KNeighborsClassifier(algorithm="brute").fit(IRIS, SPECIES).predict(None)
    assert np.mean(model.predict(None) == expected) > 0.99  # ties for the last place


# What may be handed in


def test_strings_are_points_for_a_kernel_that_compares_them():
    words = ["aab", "aaa", "aba", "bbb", "bba", "bbbb"]

    def common(s, t):
        return sum(s.count(c) * t.count(c) for c in "ab")

    counts = np.array([[w.count("a"), w.count("b")] for w in words], float)
    y = ["a", "a", "a", "b", "b", "b"]
    model = KernelKNeighborsClassifier(n_neighbors=3, kernel=common).fit(words, y)
    plain = KernelKNeighborsClassifier(n_neighbors=3, kernel="linear").fit(counts, y)
    np.testing.assert_array_equal(
        model.kneighbors(["abbbb", "aaaaaa"])[1], plain.kneighbors([[1.0, 4.0], [6.0, 0.0]])[1]
    )
    np.testing.assert_array_equal(model.predict(["abbbb", "aaaaaa"]), ["b", "a"])
    values = KernelKNeighborsRegressor(n_neighbors=1, kernel=common).fit(words, range(6)).predict(["bbbb"])
    np.testing.assert_array_equal(values, [5.0])
    with pytest.raises(ValueError, match="objects"):
        model.predict([[1.0, 2.0]])


def test_a_precomputed_kernel_with_a_constant_diagonal_knows_distances():
    X, new, y = cloud(), cloud(10, seed=1), np.arange(60) % 2
    kernel = Normalized(Polynomial(degree=2)).resolve(X)
    given = KernelKNeighborsClassifier(kernel="precomputed", weights="distance").fit(kernel.matrix(X, X), y)
    named = KernelKNeighborsClassifier(kernel=kernel, weights="distance").fit(X, y)
    for one, other in zip(given.kneighbors(kernel.matrix(new, X)), named.kneighbors(new), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(given.predict_proba(kernel.matrix(new, X)), named.predict_proba(new), atol=1e-6)


def test_a_precomputed_kernel_without_one_knows_their_order_only():
    X, new, y = cloud(), cloud(10, seed=1), np.arange(60) % 2
    given = KernelKNeighborsClassifier(kernel="precomputed").fit(X @ X.T, y)
    named = KernelKNeighborsClassifier(kernel="linear").fit(X, y)
    np.testing.assert_array_equal(given.predict(new @ X.T), named.predict(new))
    np.testing.assert_array_equal(given.kneighbors(new @ X.T, return_distance=False), named.kneighbors(new)[1])
    with pytest.raises(ValueError, match=r"k\(x, x\) of each new point"):
        given.kneighbors(new @ X.T)
    with pytest.raises(ValueError, match=r"k\(x, x\) of each new point"):
        given.set_params(weights="distance").predict(new @ X.T)
    np.testing.assert_allclose(given.kneighbors()[0], named.kneighbors()[0], atol=1e-7)


def test_forms_of_the_points_do_not_matter():
    X, new = cloud(), cloud(20, seed=1)
    exact = KernelKNeighborsRegressor().fit(X, X[:, 0])
    sparse = KernelKNeighborsRegressor().fit(sp.csr_array(X), X[:, 0])
    expected = exact.kneighbors(new)
    for model, points in ((sparse, sp.csr_matrix(new)), (sparse, new), (exact, sp.csr_matrix(new))):
        np.testing.assert_array_equal(model.kneighbors(points)[1], expected[1])
        np.testing.assert_allclose(model.kneighbors(points)[0], expected[0], rtol=1e-9)
    single = KernelKNeighborsRegressor().fit(X.astype(np.float32), X[:, 0])
    assert single.X_fit_.dtype == np.float32
    np.testing.assert_allclose(single.kneighbors(new)[0], expected[0], rtol=1e-5)
    table = pd.DataFrame(X, columns=list("abcd"))
    framed = KernelKNeighborsRegressor().fit(table, X[:, 0])
    np.testing.assert_array_equal(framed.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(framed.predict(table), exact.predict(X))


def test_copies_pickles_and_grid_searches():
    model = KernelKNeighborsClassifier(kernel=Laplacian(gamma=0.3)).fit(IRIS, SPECIES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(IRIS), model.predict(IRIS))
    np.testing.assert_array_equal(clone(model).fit(IRIS, SPECIES).predict(IRIS), model.predict(IRIS))
    grid = {"n_neighbors": [1, 5], "kernel": ["rbf", "cosine", Polynomial(degree=2)]}
    best = GridSearchCV(KernelKNeighborsClassifier(), grid, cv=3).fit(IRIS, SPECIES)
    assert best.best_score_ > 0.95


# Errors


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"n_neighbors": 2.0}, TypeError, "n_neighbors"),
        ({"weights": "square"}, ValueError, "weights"),
        ({"kernel": "gauss"}, ValueError, "kernel"),
        ({"gamma": -1.0}, ValueError, "gamma"),
        ({"kernel": "chi2"}, ValueError, "negative"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelKNeighborsClassifier(**parameters).fit(IRIS - 3.0, SPECIES)


def test_what_does_not_fit_is_said():
    X = cloud(4)
    model = KernelKNeighborsRegressor(n_neighbors=4).fit(X, X[:, 0])
    assert model.kneighbors(X)[1].shape == (4, 4)
    with pytest.raises(ValueError, match="n_samples_fit = 4, and a point is no neighbour of its own"):
        model.kneighbors()
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        model.kneighbors(X, 5)
    with pytest.raises(NotFittedError):
        KernelKNeighborsRegressor().kneighbors(X)
    with pytest.raises(ValueError, match=r"returned shape \(4,\)"):
        model.set_params(weights=lambda d: d[:, 0]).predict(X)
    with pytest.raises(ValueError, match="not only zeros"):
        model.set_params(weights=np.zeros_like).predict(X)
    with pytest.raises(ValueError, match="one row of targets"):
        model.fit(X, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="overflow in row 1"):
        KernelKNeighborsRegressor(2, kernel="poly").fit(X, X[:, 0]).predict([[0.0] * 4, [1e200] * 4])
