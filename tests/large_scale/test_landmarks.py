"""Landmarks: distinct rows, the law each method promises, rare clusters that are found, and every sort of points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.kernels import RBF, ChiSquared, Jaccard, Linear, Precomputed, Sigmoid, Spectrum, as_kernel
from maxmargin.large_scale.features import choosing as module
from maxmargin.large_scale.features.choosing import choose_landmarks
from maxmargin.large_scale.features.landmarks import METHODS


def cloud(n=200, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def choose(kernel, X, m, method, seed=0, **more):
    return choose_landmarks(kernel.resolve(X), X, m, method, rng=np.random.default_rng(seed), **more)


def trace_error(K, chosen):
    """trace(K - K[:, S] K[S, S]^+ K[S, :]) by the textbook."""
    C = K[:, chosen]
    return np.trace(K) - np.trace(C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T)


def plain_pivots(K, m, rng):
    """Randomly pivoted Cholesky, one pivot at a time, as it is defined."""
    residual, chosen = K.copy(), []
    for _ in range(m):
        d = residual.diagonal().clip(0.0)
        s = rng.choice(len(K), p=d / d.sum())
        chosen.append(s)
        residual -= np.outer(residual[:, s], residual[s]) / residual[s, s]
    return np.array(chosen)


# What every method promises


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array], ids=["dense", "matrix", "array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", METHODS)
def test_landmarks_have_the_form_of_the_points(method, dtype, form):
    X = form(cloud().astype(dtype))
    found = choose(RBF(gamma=0.5), X, 20, method)
    assert len(found) == 20
    assert found.points.shape == (20, 3)
    assert found.points.dtype == dtype
    assert sp.issparse(found.points) == sp.issparse(X)
    if method == "kmeans":
        assert found.indices is None
    else:
        assert len(np.unique(found.indices)) == 20
        assert abs(found.points - X[found.indices]).max() == 0


@pytest.mark.parametrize("method", METHODS)
def test_dense_and_sparse_points_get_the_same_landmarks(method):
    X = cloud() * (np.random.default_rng(1).random((200, 3)) < 0.5)
    dense, sparse = (choose(RBF(gamma=0.5), form, 15, method).points for form in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_landmarks(method):
    X = cloud()
    first, again, other = (choose(RBF(gamma=0.5), X, 20, method, seed=seed).points for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_change_anything(method):
    X = cloud(900)
    first, second = (choose(RBF(gamma=0.5), X, 20, method, threads=threads).points for threads in (1, 2))
    assert (first == second).all()


@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_a_weight_is_a_repetition_and_order_does_not_matter(seed, method, m):
    rng = np.random.default_rng(seed)
    X, weights = cloud(30, 2, seed), rng.integers(0, 4, 30).astype(float)
    weights[0] += 1.0
    repeated = np.repeat(X, weights.astype(int), axis=0)
    shuffled = repeated[rng.permutation(len(repeated))]
    kernel = RBF(gamma=0.7).resolve(X)
    one = choose_landmarks(kernel, X, m, method, weights, np.random.default_rng(seed))
    two = choose_landmarks(kernel, shuffled, m, method, None, np.random.default_rng(seed))
    np.testing.assert_allclose(one.points, two.points, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_m_as_large_as_the_distinct_rows_takes_them_all(method):
    X = np.repeat(cloud(10), 3, axis=0)
    for m in (10, 25):
        found = choose(RBF(gamma=0.5), X, m, method)
        np.testing.assert_array_equal(np.sort(found.points, axis=0), np.sort(X[::3], axis=0))


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_weight_zero_are_not_there(method):
    X = cloud(60)
    X[30:] += 100.0
    weights = np.repeat([1.0, 0.0], 30)
    found = choose(RBF(gamma=0.5), X, 8, method, weights=weights)
    assert np.abs(found.points).max() < 50.0


def test_uniform_takes_every_row_equally_often():
    X, counts = cloud(12), np.zeros(12)
    kernel, rng = RBF(gamma=0.5).resolve(X), np.random.default_rng(0)
    for _ in range(1200):
        counts[choose_landmarks(kernel, X, 3, "uniform", rng=rng).indices] += 1
    # 300 of each are expected, with a standard deviation of sqrt(1200 * 0.25 * 0.75) = 15
    assert np.abs(counts - 300).max() < 60


# A sample of the rows does for many


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("merged", [100, 10_000])
def test_many_rows_are_sampled(method, merged, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_ROWS", 150)
    monkeypatch.setattr(module, "MERGE_MAX_ROWS", merged)
    X = cloud(3000)
    found = choose(RBF(gamma=0.5), X, 30, method)
    assert len(found) == 30
    if found.indices is not None:
        assert len(np.unique(found.indices)) == 30
        np.testing.assert_array_equal(found.points, X[found.indices])
    weights = np.where(np.arange(3000) < 2000, 1.0 + np.arange(3000) % 3, 0.0)
    rows = choose(RBF(gamma=0.5), X, 30, method, weights=weights).indices
    assert rows is None or rows.max() < 2000


@pytest.mark.parametrize("method", METHODS)
def test_a_memory_map_is_read_and_not_copied(method, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_ROWS", 150)
    monkeypatch.setattr(module, "MERGE_MAX_ROWS", 100)
    X = cloud(2000)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    held, read = (choose(RBF(gamma=0.5), points, 20, method) for points in (X, mapped))
    np.testing.assert_array_equal(held.points, read.points)
    assert not np.shares_memory(read.points, mapped)


# Each method's own law


def test_random_pivots_have_the_law_of_the_plain_algorithm(monkeypatch):
    monkeypatch.setattr(module, "PROPOSED_PIVOTS", 8)
    X = np.array([[0.0], [0.2], [0.5], [3.0], [3.1], [6.0]])
    kernel, rng, runs = RBF(gamma=0.5).resolve(X), np.random.default_rng(0), 1500
    K = np.exp(-0.5 * (X - X.T) ** 2)
    counts = {"plain": np.zeros((6, 6)), "block": np.zeros((6, 6))}
    for _ in range(runs):
        a, _, b = plain_pivots(K, 3, rng)
        counts["plain"][a, b] += 1
        a, _, b = choose_landmarks(kernel, X, 3, "rpcholesky", rng=rng).indices
        counts["block"][a, b] += 1
    # The first and the third pivot: each count has a standard deviation of at most sqrt(2 * expected).
    total = counts["plain"] + counts["block"]
    apart = np.abs(counts["plain"] - counts["block"])
    assert (apart <= 5.0 * np.sqrt(np.maximum(total, 1.0))).all()


def test_random_pivots_are_as_good_as_their_theorem_says():
    X = cloud(300, 2)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    eigenvalues = np.linalg.eigvalsh(K)[::-1]
    r, epsilon = 5, 1.0
    tail = eigenvalues[r:].sum()
    m = int(np.ceil(r / epsilon + r * np.log(eigenvalues.sum() / (epsilon * tail))))
    kernel = RBF(gamma=0.5).resolve(X)
    errors = [
        trace_error(K, choose_landmarks(kernel, X, m, "rpcholesky", rng=np.random.default_rng(seed)).indices)
        for seed in range(30)
    ]
    assert eigenvalues[m:].sum() < np.mean(errors) < (1 + epsilon) * tail


def test_random_pivots_stop_when_nothing_is_left():
    X = cloud(100, 3)
    found = choose(Linear(), X, 20, "rpcholesky")
    assert len(found) == 3
    assert trace_error(X @ X.T, found.indices) < 1e-8 * (X**2).sum()
    assert len(choose(Linear(), np.eye(5), 5, "rpcholesky")) == 5


def test_rows_are_drawn_by_their_leverage():
    """Groups of rows get landmarks by the sum of their ridge leverage scores, at the ridge where all sum to m / 2."""
    rng, m, runs = np.random.default_rng(0), 40, 30
    sizes = [850, 50, 50, 50]
    X = np.repeat(6.0 * np.eye(4, 10), sizes, axis=0) + rng.normal(0.0, 0.4, (1000, 10))
    group = np.repeat(np.arange(4), sizes)
    values, U = np.linalg.eigh(np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2)))
    mu = scipy.optimize.brentq(lambda mu: (values / (values + mu)).sum() - m / 2, 1e-3, 1e3)
    exact = np.bincount(group, weights=U**2 @ (values / (values + mu)))
    found = np.mean(
        [np.bincount(group[choose(RBF(gamma=0.1), X, m, "leverage", s).indices], minlength=4) for s in range(runs)],
        axis=0,
    )
    assert exact[1:].min() > 1.5 * m / 2 * 0.05  # uniform landmarks would go there by the number of rows
    np.testing.assert_allclose(found, 2 * exact, rtol=0.2)


@pytest.mark.parametrize(("method", "least"), [("kmeans", 7.5), ("leverage", 5.0), ("rpcholesky", 7.5)])
def test_rare_clusters_are_found(method, least):
    """8 clusters, seven of which hold 6 of 2000 rows each: 30 uniform landmarks miss most of them."""
    rng = np.random.default_rng(1)
    centres = 20.0 * np.eye(8)
    sizes = [1958, *[6] * 7]
    X = np.repeat(centres, sizes, axis=0) + 0.3 * rng.standard_normal((2000, 8))

    def clusters(method, seed):
        points = choose(RBF(gamma=0.1), X, 30, method, seed=seed).points
        nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        return len(np.unique(nearest.argmin(axis=1)[nearest.min(axis=1) < 25.0]))

    assert np.mean([clusters("uniform", seed) for seed in range(10)]) < 2.5
    assert np.mean([clusters(method, seed) for seed in range(10)]) > least


@pytest.mark.parametrize("method", ["kmeans", "rpcholesky"])
def test_heavy_rows_are_drawn_more_often(method, monkeypatch):
    """Five rows that have nothing in common: the weights alone decide, 8 / 12 + 4 / 12 * 8 / 11 for one of two."""
    monkeypatch.setattr(module, "LLOYD_STEPS", 0)
    X, weights, runs = 10.0 * np.eye(5), np.array([1.0, 8.0, 1.0, 1.0, 1.0]), 400
    heavy = [
        (choose(RBF(gamma=1.0), X, 2, method, seed, weights=weights).points[:, 1] > 0).any() for seed in range(runs)
    ]
    assert abs(np.mean(heavy) - (8 / 12 + 4 / 12 * 8 / 11)) < 5 * np.sqrt(0.1 / runs)


def test_a_centre_is_a_weighted_mean():
    X, weights = cloud(40), np.random.default_rng(3).random(40)
    found = choose(RBF(gamma=1.0), X, 1, "kmeans", weights=weights)
    np.testing.assert_allclose(found.points[0], weights @ X / weights.sum(), atol=1e-12)


def test_centres_are_means_of_their_clusters():
    rng = np.random.default_rng(2)
    truth = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    X = np.repeat(truth, 50, axis=0) + 0.1 * rng.standard_normal((200, 2))
    found = choose(RBF(gamma=0.5), X, 4, "kmeans").points
    found = found[np.lexsort((found[:, 0], found[:, 1]))]
    means = X.reshape(4, 50, 2).mean(axis=1)
    np.testing.assert_allclose(found, means, atol=1e-9)


def test_better_landmarks_give_smaller_errors():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0, 0.05, (900, 2)), rng.uniform(-3, 3, (100, 2))])
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))

    def mean_error(method):
        return np.mean([trace_error(K, choose(RBF(gamma=1.0), X, 25, method, s).indices) for s in range(8)])

    uniform = mean_error("uniform")
    assert mean_error("rpcholesky") < 0.5 * uniform
    assert mean_error("leverage") < 0.7 * uniform


# The user's own


def test_given_points_and_indices_are_taken_as_they_are():
    X = cloud()
    found = choose(RBF(), X, 5, [3, -1, 7])
    np.testing.assert_array_equal(found.indices, [3, 199, 7])
    np.testing.assert_array_equal(found.points, X[[3, 199, 7]])
    mask = np.zeros(200, bool)
    mask[[2, 9]] = True
    np.testing.assert_array_equal(choose(RBF(), X, 5, mask).indices, [2, 9])
    given = choose(RBF(), X, 5, [[0.0, 1.0, 2.0]])
    assert given.indices is None
    np.testing.assert_array_equal(given.points, [[0.0, 1.0, 2.0]])
    assert sp.issparse(choose(RBF(), X, 5, sp.csr_matrix(X[:4])).points)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0, 200], "names row 200, and X has 200 rows"),
        ([-201], "names row -201"),
        (np.zeros(3, bool), "mask of 3 rows"),
        (np.zeros(0, int), "empty"),
        ([[1.0, 2.0]], "landmarks has 2 columns and X has 3"),
        ([[1.0, 2.0, np.nan]], "NaN"),
        ("rpcholeski", "Did you mean 'rpcholesky'"),
        (["a", "b"], "landmarks and X differ in kind"),
    ],
    ids=["high", "low", "mask", "empty", "columns", "nan", "name", "strings"],
)
def test_what_is_no_landmark_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        choose(RBF(), cloud(), 5, given)


def test_given_points_must_suit_the_kernel():
    with pytest.raises(ValueError, match="negative"):
        choose(ChiSquared(), np.abs(cloud()), 5, [[-1.0, 0.0, 1.0]])


@pytest.mark.parametrize("m", [0, 1.5, True])
def test_the_number_of_landmarks_is_checked(m):
    with pytest.raises((ValueError, TypeError), match="n_components must be"):
        choose(RBF(), cloud(), m, "uniform")


# Other sorts of points

WORDS = np.array(["banana", "bandana", "cabana", "ananas", "nab", "cab", "banana", "abba", "baobab", "dad"], object)


@pytest.mark.parametrize("method", ["uniform", "leverage", "rpcholesky"])
def test_strings_and_sets_have_landmarks(method):
    found = choose(Spectrum(k=2), WORDS, 4, method)
    assert len(set(found.points)) == 4
    assert list(found.points) == list(WORDS[found.indices])
    assert len(choose(Spectrum(k=2), WORDS, 50, method)) == 9  # one word is there twice
    sets = np.array([frozenset(word) for word in WORDS], object)
    assert len(set(choose(Jaccard(), sets, 4, method).points)) == 4


def test_given_strings_are_landmarks():
    found = choose(Spectrum(k=2), WORDS, 4, ["nana", "bab"])
    assert list(found.points) == ["nana", "bab"]
    assert found.values(Spectrum(k=2).resolve(WORDS), WORDS).shape == (10, 2)
    np.testing.assert_array_equal(choose(Spectrum(k=2), WORDS, 4, [1, 2]).points, WORDS[[1, 2]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", ["uniform", "leverage", "rpcholesky"])
def test_a_precomputed_matrix_has_landmarks(method, form):
    X = cloud(60)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = choose_landmarks(Precomputed(), form(K), 12, method, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found.points, found.indices)
    assert len(np.unique(found.indices)) == 12
    np.testing.assert_array_equal(found.values(Precomputed(), form(K)), K[:, found.indices])
    np.testing.assert_array_equal(found.matrix(Precomputed(), form(K)), K[np.ix_(found.indices, found.indices)])


def test_means_of_what_are_no_vectors_are_refused():
    with pytest.raises(ValueError, match=r"kmeans.*not vectors.*rpcholesky"):
        choose(Spectrum(k=2), WORDS, 4, "kmeans")
    with pytest.raises(ValueError, match="precomputed matrix"):
        choose_landmarks(Precomputed(), np.eye(9), 4, "kmeans")
    with pytest.raises(ValueError, match="indices of rows of K"):
        choose_landmarks(Precomputed(), np.eye(3), 2, [[1.0, 0.0, 0.0]])


def test_an_indefinite_kernel_gets_an_answer_or_a_reason():
    X = cloud(100)
    kernel = Sigmoid(gamma=1.0, coef0=-1.0).resolve(X)
    assert len(choose_landmarks(kernel, X, 10, "uniform")) == 10
    assert len(choose_landmarks(kernel, X, 40, "leverage", rng=np.random.default_rng(0))) == 40
    with pytest.raises(ValueError, match="not positive semidefinite on these points"):
        choose_landmarks(kernel, X, 40, "rpcholesky", rng=np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS)
def test_a_kernel_that_is_zero_does_not_stop_anything(method):
    X = np.zeros((30, 3))
    X[:, 0] = np.arange(30)
    found = choose_landmarks(1e-300 * Linear().resolve(X), X, 5, method, rng=np.random.default_rng(0))
    assert 1 <= len(found) <= 5


@pytest.mark.parametrize("method", METHODS)
def test_points_far_from_the_origin_are_told_apart(method):
    X = cloud(100) + 1e6
    found = choose(RBF(gamma=0.5), X, 20, method)
    assert len(np.unique(found.points, axis=0)) == 20


@pytest.mark.parametrize("method", ["kmeans", "leverage", "rpcholesky"])
def test_a_choice_that_is_stopped_ends_with_landmarks(method):
    """At every moment: after so many questions whether to go on."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    kernel = RBF(gamma=0.5).resolve(X)
    for patience in (0, 1, 2, 5, 20):
        asked = iter(range(patience))
        chosen = choose_landmarks(
            kernel,
            X,
            60,
            method,
            rng=np.random.default_rng(1),
            stop=lambda left=asked: None if next(left, 99) < 99 else 1,
        )
        assert 1 <= len(chosen) <= 60
        assert len(np.unique(chosen.points, axis=0)) == len(chosen)


@pytest.mark.parametrize("kernel", ["sigmoid", "distance", "zero"])
def test_random_pivots_refuse_what_is_no_kernel(kernel):
    X = np.random.default_rng(0).normal(size=(300, 3))
    functions = {
        "sigmoid": Sigmoid(gamma=2.0, coef0=-1.0),
        "distance": as_kernel(lambda A, B: -((A[:, None] - B[None]) ** 2).sum(axis=2)),
        "zero": as_kernel(lambda A, B: np.zeros((len(A), len(B)))),
    }
    with pytest.raises(ValueError, match="not positive semidefinite"):
        choose_landmarks(functions[kernel].resolve(X), X, 20, "rpcholesky", rng=np.random.default_rng(0))
