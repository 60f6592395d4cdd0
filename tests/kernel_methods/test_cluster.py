"""KernelKMeans: Lloyd's algorithm in feature space, against Lloyd's in input space, the definition and brute force."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.kernel_methods.k_means import KernelKMeans
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial


# Some checks have four different points, and say that eight clusters are too many for them.
@pytest.mark.filterwarnings("ignore:There are .* different points:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([KernelKMeans(), KernelKMeans(n_clusters=2, kernel="linear", init="random", n_init=2)])
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def cloud(n=60, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def inertia_of(K, labels, weights=None):
    """sum_c sum_{i in c} w_i |phi(x_i) - mean of c|^2, multiplied out, a cluster at a time."""
    weights = np.ones(len(K)) if weights is None else weights
    total = 0.0
    for c in set(labels.tolist()):
        at = np.flatnonzero((labels == c) & (weights > 0))
        if len(at):
            w = weights[at]
            total += w @ K[at, at] - w @ K[np.ix_(at, at)] @ w / w.sum()
    return total


def lloyd(X, labels, count):
    """Lloyd's algorithm on vectors, for clusters that stay filled."""
    for _ in range(1000):
        centres = np.array([X[labels == c].mean(axis=0) for c in range(count)])
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(nearest, labels):
            return labels
        labels = nearest
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_linear_kernel_gives_lloyds_algorithm(seed, form):
    X = cloud(seed=seed)
    start = np.arange(60) % 4
    model = KernelKMeans(4, kernel="linear", init=start, tol=0.0).fit(form(X))
    labels = lloyd(X, start, 4)
    np.testing.assert_array_equal(model.labels_, labels)
    centres = np.array([X[labels == c].mean(axis=0) for c in range(4)])
    assert model.inertia_ == pytest.approx(((X - centres[labels]) ** 2).sum(), rel=1e-9)
    new = cloud(20, seed=seed + 100)
    distances = np.linalg.norm(new[:, None] - centres, axis=2)
    np.testing.assert_allclose(model.transform(form(new)), distances, rtol=1e-7)
    np.testing.assert_array_equal(model.predict(form(new)), distances.argmin(axis=1))
    assert model.score(form(new)) == pytest.approx(-(distances.min(axis=1) ** 2).sum(), rel=1e-9)


def test_a_polynomial_kernel_gives_lloyds_algorithm_on_the_monomials():
    X = cloud(d=2)
    a, b = X.T
    monomials = np.column_stack((a**2, b**2, np.sqrt(2.0) * a * b))
    start = np.arange(60) % 3
    model = KernelKMeans(3, kernel="poly", degree=2, gamma=1.0, init=start, tol=0.0).fit(X)
    np.testing.assert_array_equal(model.labels_, lloyd(monomials, start, 3))


def test_well_separated_blobs_are_found_as_by_scikit_learn():
    X, y = make_blobs(300, 5, centers=6, cluster_std=0.5, random_state=0)
    ours = KernelKMeans(6, kernel="linear", random_state=0).fit(X)
    theirs = KMeans(6, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, ours.labels_) == 1.0
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert adjusted_rand_score(y, KernelKMeans(6, gamma=0.05, random_state=0).fit_predict(X)) == 1.0


@pytest.mark.parametrize("weights", [None, np.array([1.0, 9.0, 0.2, 3.0, 0.0, 1.0, 5.0, 2.0])])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_enough_starts_find_the_best_division_of_a_few_points(init, weights):
    X = cloud(8, 2)
    K = RBF(gamma=0.5)(X)
    best = min(
        inertia_of(K, np.array((0, *labels)), weights)
        for labels in itertools.product(range(3), repeat=7)
        if {0, *labels} == {0, 1, 2}
    )
    model = KernelKMeans(3, gamma=0.5, init=init, n_init=60, random_state=0).fit(X, sample_weight=weights)
    assert model.inertia_ == pytest.approx(best, rel=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["linear", "rbf", "laplacian", "poly"]), st.booleans())
@settings(max_examples=50, deadline=None)
def test_inertia_never_rises_and_is_that_of_the_labels(seed, count, kernel, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(count, 30)) + 6, 2))
    weights = rng.uniform(0.1, 3.0, len(X)) if weighted else None
    model = KernelKMeans(count, kernel=kernel, n_init=1, tol=0.0, random_state=seed % 1000)
    model.fit(X, sample_weight=weights)
    K = model.kernel_(X)
    scale = np.trace(K)
    assert (np.diff(model.history_) <= 1e-12 * scale).all()
    assert len(model.history_) == model.n_iter_
    assert model.inertia_ == pytest.approx(model.history_[-1], abs=1e-9 * scale)
    assert model.inertia_ == pytest.approx(inertia_of(K, model.labels_, weights), abs=1e-9 * scale)
    assert model.score(X, sample_weight=weights) == pytest.approx(-model.inertia_, abs=1e-9 * scale)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(set(model.labels_.tolist())) == count


def test_more_starts_are_never_worse():
    X = cloud(200, 2)
    values = [KernelKMeans(8, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 3, 10)]
    assert values[0] >= values[1] >= values[2]
    assert values[0] > values[2]


# Weights


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_weight_is_a_number_of_repetitions(form, init):
    X = cloud(seed=3)
    count = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), count))
    model = KernelKMeans(5, init=init, random_state=0)
    weighted = clone(model).fit(form(X), sample_weight=count)
    repeated = clone(model).fit(form(X[rows]))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-10)


def test_the_order_of_points_does_not_matter_and_a_seed_repeats_itself():
    X = cloud(100)
    first = KernelKMeans(5, random_state=1).fit(X)
    np.testing.assert_array_equal(KernelKMeans(5, random_state=1).fit(X[::-1]).labels_[::-1], first.labels_)
    np.testing.assert_array_equal(KernelKMeans(5, random_state=1).fit(X).labels_, first.labels_)


# Empty clusters, few points


def test_empty_clusters_are_filled():
    X = cloud(40)
    start = np.zeros(40, int)  # seven clusters without a point
    model = KernelKMeans(8, init=start, tol=0.0).fit(X)
    assert set(model.labels_.tolist()) == set(range(8))
    assert (np.diff(model.history_) <= 1e-12).all()
    two = KernelKMeans(2, kernel="linear", init=[0, 0, 0], tol=0.0).fit([[0.0], [0.1], [9.0]])
    np.testing.assert_array_equal(two.labels_, [0, 0, 1])


def test_fewer_different_points_than_clusters_is_announced():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 different points for n_clusters=5"):
        model = KernelKMeans(5).fit(X)
    assert len(set(model.labels_.tolist())) == 3
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="n_samples=12 should be >= n_clusters=13"):
        KernelKMeans(13).fit(X)
    alone = KernelKMeans(1).fit([[1.0, 2.0]])
    np.testing.assert_array_equal(alone.labels_, [0])


def test_points_with_the_same_features_end():
    X = cloud(20)
    X[:, 0] = 0.0
    model = KernelKMeans(4, kernel=lambda A, B: np.outer(A[:, 0], B[:, 0]), random_state=0).fit(X)
    assert model.inertia_ == 0.0


def test_rounds_that_run_out_are_announced():
    X = cloud(300, 2)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        model = KernelKMeans(8, max_iter=2, n_init=1, tol=0.0, random_state=0).fit(X)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert KernelKMeans(8, tol=0.5, n_init=1, random_state=0).fit(X).n_iter_ <= 3


def test_an_indefinite_kernel_ends():
    KernelKMeans(4, kernel="sigmoid", gamma=1.0, coef0=-1.0, random_state=0).fit(cloud())


# What may be handed in


def test_strings_are_points_for_a_kernel_that_compares_them():
    words = ["aab", "aaa", "aba", "bbb", "bba", "bbbb"]

    def common(s, t):
        return sum(s.count(c) * t.count(c) for c in "ab")

    model = KernelKMeans(2, kernel=common, random_state=0).fit(words)
    a, b = model.predict(["aaaa", "bbb"])
    np.testing.assert_array_equal(model.labels_, [a, a, a, b, b, b])
    assert a != b
    with pytest.raises(ValueError, match="objects"):
        model.predict([[1.0, 2.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives(form):
    X, new = cloud(), cloud(20, seed=1)
    start = np.arange(60) % 4
    weights = np.where(np.arange(60) % 7, 1.0, 0.0)
    kernel = Laplacian(gamma=0.5).resolve(X)
    named = KernelKMeans(4, kernel=kernel, init=start).fit(X, sample_weight=weights)
    given = KernelKMeans(4, kernel="precomputed", init=start).fit(form(kernel.matrix(X, X)), sample_weight=weights)
    np.testing.assert_array_equal(given.labels_, named.labels_)
    np.testing.assert_array_equal(given.predict(form(kernel.matrix(new, X))), named.predict(new))
    np.testing.assert_allclose(given.transform(form(kernel.matrix(new, X))), named.transform(new), rtol=1e-9)
    linear = KernelKMeans(4, kernel="precomputed", init=start).fit(X @ X.T)
    np.testing.assert_array_equal(linear.predict(X @ X.T), linear.labels_)
    with pytest.raises(ValueError, match=r"k\(x, x\) of each new point"):
        linear.transform(new @ X.T)


def test_forms_kernels_copies_and_threads():
    X = cloud(1200)
    model = KernelKMeans(5, gamma=0.3, n_init=2, random_state=0).fit(X)
    for other in (
        KernelKMeans(5, kernel=RBF(gamma=0.3), n_init=2, random_state=0).fit(sp.csr_array(X)),
        KernelKMeans(5, gamma=0.3, n_init=2, random_state=0, n_jobs=3).fit(pd.DataFrame(X)),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(X),
    ):
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_array_equal(other.predict(X), model.labels_)
    single = KernelKMeans(5, gamma=0.3, init=model.labels_).fit(X.astype(np.float32))
    assert adjusted_rand_score(single.labels_, model.labels_) > 0.9
    assert list(model.get_feature_names_out())[:2] == ["kernelkmeans0", "kernelkmeans1"]
    named = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_array_equal(clone(model).fit(named).feature_names_in_, list("abc"))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2)])
def test_a_matrix_that_is_not_held_gives_the_same_clusters(kernel):
    X = cloud(2200, 2)
    K = kernel(X)
    start = np.arange(len(X)) % 6
    computed = KernelKMeans(6, kernel=kernel, init=start, tol=1e-2).fit(X)
    held = KernelKMeans(6, kernel="precomputed", init=start, tol=1e-2).fit(K)
    np.testing.assert_allclose(computed.history_, held.history_, rtol=1e-9)
    assert adjusted_rand_score(computed.labels_, held.labels_) > 0.999


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_clusters": "8"}, TypeError, "n_clusters"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"init": "kmeans++"}, ValueError, "Did you mean 'k-means\\+\\+'"),
        ({"init": [0, 1]}, ValueError, "one integer for each of the 60 points"),
        ({"init": np.full(60, 8)}, ValueError, "allows 0 to 7"),
        ({"init": np.full(60, 0.5)}, ValueError, "integer"),
        ({"kernel": "rfb"}, ValueError, "rbf"),
        ({"random_state": "dice"}, ValueError, "dice"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        KernelKMeans(**parameters).fit(cloud())
