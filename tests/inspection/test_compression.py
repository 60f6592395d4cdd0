"""Compression: projections against linear algebra, the measured change, and that the result is a usual model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from maxmargin.inspection.compression import _Task, compress
from maxmargin.inspection.explanations import explain
from maxmargin.kernels import Spectrum

MOONS, SIDE = make_moons(600, noise=0.25, random_state=0)
X, Y = load_iris(return_X_y=True)
D, DIGIT = load_digits(return_X_y=True)


def changed(before, after, points):
    return float(np.mean(before.predict(points) != after.predict(points)))


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.1])
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(gamma=2.0),
        SVC(gamma=2.0, C=100.0),
        SVC(kernel="poly", coef0=1.0),
        SVC(kernel="laplacian", gamma=1.0),
        NuSVC(nu=0.3),
        OneClassSVM(nu=0.2, gamma=1.0),
    ],
    ids=str,
)
def test_labels_change_as_little_as_asked(estimator, tolerance):
    estimator = clone(estimator).fit(MOONS, SIDE)
    small = compress(estimator, MOONS, tolerance=tolerance)
    report = small.compression_report_
    assert type(small) is type(estimator)
    assert changed(estimator, small, MOONS) <= tolerance
    assert report.change == changed(estimator, small, MOONS)
    assert report.labels
    assert report.n_after == len(small.support_) <= report.n_before == len(estimator.support_)
    moved = np.abs(small.decision_function(MOONS) - estimator.decision_function(MOONS))
    assert report.largest_change == pytest.approx(moved.max())
    assert report.n_points == 600
    assert report.rms_change == pytest.approx(np.sqrt(np.mean(moved**2)))


def test_far_fewer_support_vectors():
    estimator = SVC(gamma=2.0).fit(MOONS, SIDE)
    assert len(compress(estimator, MOONS).support_) < 0.2 * len(estimator.support_)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "crammer_singer"])
def test_many_classes(scheme):
    estimator = SVC(gamma=0.001, multiclass=scheme).fit(D[:600], DIGIT[:600])
    small = compress(estimator, D, tolerance=0.02)
    assert len(small.support_) < 0.5 * len(estimator.support_)
    assert changed(estimator, small, D) <= 0.02
    assert small.n_support_.sum() == len(small.support_)
    assert small.dual_coef_.shape[1] == len(small.support_)
    assert small.dual_coef_.shape[0] == estimator.dual_coef_.shape[0]


@pytest.mark.parametrize("estimator", [SVR(C=10.0), NuSVR(C=10.0)], ids=str)
def test_regression_values_change_by_a_part_of_their_spread(estimator):
    rng = np.random.RandomState(0)
    x = np.sort(rng.uniform(0, 6, 300))[:, None]
    estimator = estimator.fit(x, np.sin(x).ravel() + 0.1 * rng.randn(300))
    small = compress(estimator, x, tolerance=0.01)
    before, after = estimator.predict(x), small.predict(x)
    assert np.sqrt(np.mean((after - before) ** 2)) <= 0.01 * before.std()
    assert len(small.support_) < 0.2 * len(estimator.support_)
    assert not small.compression_report_.labels


# Against linear algebra


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 25))
def test_coefficients_are_the_projection(seed, m):
    rng = np.random.RandomState(seed)
    A, y = rng.randn(60, 3), rng.randint(2, size=60)
    estimator = SVC(gamma=0.8, C=5.0).fit(A, y)
    task = _Task(estimator, A, 0.0)
    while task.m < m and task.grow():
        pass
    m = min(m, task.m)
    kept, beta = task.refit(m)
    V = estimator.support_vectors_
    K = np.exp(-0.8 * ((V[:, None] - V) ** 2).sum(axis=2))
    expected = np.linalg.solve(K[np.ix_(kept, kept)], K[kept] @ estimator.dual_coef_[0])
    assert beta[:, 0] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    residual = estimator.dual_coef_[0].copy()
    residual[kept] -= expected
    length = np.sqrt((residual @ K @ residual) / (estimator.dual_coef_[0] @ K @ estimator.dual_coef_[0]))
    assert task.distance(kept, beta) == pytest.approx(length, rel=1e-4, abs=1e-7)


def test_the_first_vector_is_the_best_single_one():
    estimator = SVC(gamma=0.8, C=5.0).fit(MOONS, SIDE)
    task = _Task(estimator, MOONS, 0.0)
    task.grow()
    V, c = estimator.support_vectors_, estimator.dual_coef_[0]
    f = np.exp(-0.8 * ((V[:, None] - V) ** 2).sum(axis=2)) @ c
    assert task.order[0] == np.argmax(f**2)  # all k(x, x) are one


def test_residuals_are_kept_up_to_date():
    estimator = SVC(gamma=0.5, multiclass="ovr").fit(X, Y)
    task = _Task(estimator, X, 0.0)
    for _ in range(2):
        task.grow()
    S = task.order[: task.m]
    K = task.gram.block(np.arange(task.N), np.arange(task.N))
    projected = K[:, S] @ np.linalg.solve(K[np.ix_(S, S)], K[S] @ task.C)
    assert pytest.approx(K @ task.C - projected, abs=1e-5) == task.R
    left = K.diagonal() - np.einsum("ij,ji->i", K[:, S], np.linalg.solve(K[np.ix_(S, S)], K[S]))
    assert task.d == pytest.approx(left, abs=1e-5)


def test_a_linear_kernel_needs_no_more_vectors_than_columns():
    estimator = SVC(kernel="linear", C=0.1).fit(MOONS, SIDE)
    small = compress(estimator, MOONS, tolerance=0.0)
    assert len(small.support_) <= 2
    assert small.coef_ == pytest.approx(estimator.coef_, rel=1e-6)


def test_equal_support_vectors_become_one():
    estimator = SVC(gamma=2.0, C=0.1).fit(np.repeat(MOONS, 3, axis=0), np.repeat(SIDE, 3))
    small = compress(estimator, MOONS, tolerance=0.0)
    assert len(np.unique(small.support_vectors_, axis=0)) == len(small.support_) < len(estimator.support_) / 3


# A model like any other


def test_the_result_is_a_working_estimator():
    estimator = SVC(gamma=0.001, calibration="sigmoid").fit(D[:600], DIGIT[:600])
    before = estimator.decision_function(D[600:700])
    small = compress(estimator, D[:600])
    assert np.array_equal(estimator.decision_function(D[600:700]), before)  # the given one is as it was
    assert np.array_equal(small.support_vectors_, D[small.support_])
    assert np.array_equal(DIGIT[small.support_], np.repeat(small.classes_, small.n_support_))
    one = explain(small, D[600:601])[0]
    assert one.prediction == small.predict(D[600:601])[0]
    again = pickle.loads(pickle.dumps(small))
    assert np.array_equal(again.decision_function(D[600:]), small.decision_function(D[600:]))
    assert np.array_equal(small.predict_proba(D).argmax(axis=1), small.predict(D))
    assert clone(small).get_params() == estimator.get_params()
    refitted = small.fit(D[:600], DIGIT[:600])
    assert np.array_equal(refitted.decision_function(D[600:700]), before)


def test_decision_values_follow_from_the_public_attributes():
    estimator = compress(SVC(gamma=2.0).fit(MOONS, SIDE), MOONS)
    K = np.exp(-2.0 * ((MOONS[:, None] - estimator.support_vectors_) ** 2).sum(axis=2))
    assert estimator.decision_function(MOONS) == pytest.approx(K @ estimator.dual_coef_[0] + estimator.intercept_[0])


def test_sparse_points():
    S = sp.csr_matrix(np.where(D > 6, D, 0))
    estimator = SVC(gamma=0.001).fit(S[:400], DIGIT[:400])
    small = compress(estimator, S)
    assert sp.issparse(small.support_vectors_)
    assert sp.issparse(small.dual_coef_)
    assert changed(estimator, small, S) <= 0.01


def test_strings_and_functions():
    rng = np.random.RandomState(0)
    words = ["".join(rng.choice(list(letters), 12)) for letters in ["aab", "abb"] for _ in range(30)]
    estimator = SVC(kernel=Spectrum(2)).fit(words, np.repeat([0, 1], 30))
    small = compress(estimator, words)
    assert changed(estimator, small, words) <= 0.01
    assert len(small.support_) < len(estimator.support_)
    called = SVC(kernel=lambda A, B: (1 + A @ B.T) ** 2).fit(MOONS, SIDE)
    assert len(compress(called, MOONS, tolerance=0.0).support_) <= 6  # monomials of degree up to two


def test_without_points_the_support_vectors_are_watched():
    estimator = SVC(gamma=2.0).fit(MOONS, SIDE)
    small = compress(estimator)
    assert changed(estimator, small, estimator.support_vectors_) <= 0.01
    assert small.compression_report_.own_points
    assert "support vectors (at most" in str(small.compression_report_)


def test_many_points_are_all_looked_at_in_the_end():
    rng = np.random.RandomState(0)
    points = rng.uniform(-2, 3, (20_000, 2))
    estimator = SVC(gamma=5.0, C=10.0).fit(MOONS, SIDE)
    small = compress(estimator, points, tolerance=0.002)
    assert changed(estimator, small, points) <= 0.002
    assert small.compression_report_.n_points == 20_000


def test_the_report_prints():
    report = compress(SVC(gamma=2.0).fit(MOONS, SIDE), MOONS).compression_report_
    assert "support vectors" in str(report)
    assert "labels changed" in str(report)
    assert "<table>" in report._repr_html_()
    x = np.linspace(0, 1, 30)[:, None]
    assert "of their standard deviation" in str(compress(SVR().fit(x, x.ravel()), x).compression_report_)


def test_an_indefinite_kernel_ends_with_what_was_asked():
    estimator = SVC(kernel="sigmoid", gamma=0.5, coef0=-0.5).fit(MOONS, SIDE)
    assert changed(estimator, compress(estimator, MOONS), MOONS) <= 0.01


def test_nothing_to_keep():
    estimator = SVC().fit([[0.0], [1.0]], [0, 1], sample_weight=[0.0, 1.0])
    small = compress(estimator, [[0.0], [2.0]])
    assert small.predict([[0.0]]).tolist() == [1]
    assert small.compression_report_.n_before == len(estimator.support_)


# What is refused


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, 2, float("nan"), "little", True])
def test_tolerance_is_a_share(tolerance):
    with pytest.raises((ValueError, TypeError), match="tolerance must be"):
        compress(SVC().fit(X, Y), X, tolerance=tolerance)


def test_what_cannot_be_compressed():
    with pytest.raises(NotFittedError):
        compress(SVC(), X)
    with pytest.raises(ValueError, match="features"):
        compress(SVC().fit(X, Y), X[:, :2])
    with pytest.raises(ValueError, match="precomputed"):
        compress(SVC(kernel="precomputed").fit(X @ X.T, Y), X @ X.T)
    with pytest.raises(TypeError, match="one weight per feature already"):
        compress(LinearSVC().fit(X, Y), X)
