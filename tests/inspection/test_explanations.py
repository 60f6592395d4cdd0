"""Explanations: terms that add up to decision values, gradients against differences, and what is printed and drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from maxmargin.displays.explanation import ExplanationDisplay
from maxmargin.inspection.explanations import Explanation, explain
from maxmargin.inspection.sensitivities import gradient, has_gradient
from maxmargin.kernels import (
    RBF,
    Columns,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)
from maxmargin.svm import LinearOneClassSVM, LinearSVR
from maxmargin.svm.models.multiclass import pairs

X, Y = load_iris(return_X_y=True)
NEW = X[::7] + 0.1

ESTIMATORS = [
    SVC(),
    SVC(kernel="linear"),
    SVC(kernel="poly", coef0=1.0),
    SVC(kernel=RBF() + 0.5 * Laplacian()),
    NuSVC(nu=0.2),
    SVR(),
    NuSVR(),
    OneClassSVM(nu=0.3),
]


def two(estimator):
    rows = slice(None) if isinstance(estimator, (SVR, NuSVR, OneClassSVM)) else slice(50, None)
    return estimator.fit(X[rows], Y[rows])


def value(estimator, points):
    return estimator.decision_function(points) if hasattr(estimator, "decision_function") else estimator.predict(points)


# Terms


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_terms_add_up_to_the_decision_value(estimator):
    estimator = two(estimator)
    expected = value(estimator, NEW)
    for top in (3, 10_000):
        for one, f in zip(explain(estimator, NEW, top=top), expected, strict=True):
            assert one.value == pytest.approx(f, abs=1e-9)
            assert one.contribution.sum() + one.rest + one.intercept == pytest.approx(f, abs=1e-9)
            assert len(one.index) <= top
            assert top == 3 or one.n_rest == 0


def test_terms_are_those_of_the_formula():
    estimator = two(SVC(gamma=0.7, C=3.0))
    (one,) = explain(estimator, NEW[:1], top=5)
    K = np.exp(-0.7 * ((X[50:][one.index] - NEW[0]) ** 2).sum(axis=1))
    assert one.kernel == pytest.approx(K)
    labels = Y[50:][one.index]
    assert np.array_equal(one.label, labels)
    assert one.contribution == pytest.approx(np.where(labels == 2, 1, -1) * one.alpha * K)
    sizes = np.abs(estimator.dual_coef_[0] * np.exp(-0.7 * ((estimator.support_vectors_ - NEW[0]) ** 2).sum(axis=1)))
    assert one.share == pytest.approx(np.sort(sizes)[::-1][:5] / sizes.sum())
    assert np.all(np.diff(np.abs(one.contribution)) <= 0)


@pytest.mark.parametrize("estimator", [SVC(), SVC(break_ties=True), NuSVC(nu=0.2)], ids=str)
def test_one_vs_one_explains_the_winner_against_its_rival(estimator):
    names = np.array(["a", "b", "c"])
    estimator = estimator.set_params(decision_function_shape="ovo", break_ties=False).fit(X, names[Y])
    values = estimator.decision_function(NEW)
    for one, label, f in zip(explain(estimator, NEW), estimator.predict(NEW), values, strict=True):
        assert one.prediction == label
        assert one.about.startswith(f"f of '{label}' against")
        rival = one.about.split("against ")[1].strip("'")
        i, j = sorted((ord(label) - 97, ord(rival) - 97))
        sign = 1 if ord(label) - 97 == i else -1
        assert one.value == pytest.approx(sign * f[pairs(3).index((i, j))], abs=1e-9)
        assert set(one.label) <= {label, rival}


@pytest.mark.parametrize(
    "estimator",
    [SVC(multiclass="ovr"), SVC(multiclass="crammer_singer"), LinearSVC(), LinearSVC(multi_class="crammer_singer")],
    ids=str,
)
def test_a_value_a_class_explains_the_lead(estimator):
    estimator = estimator.fit(X, Y)
    values = np.sort(estimator.decision_function(NEW), axis=1)
    for one, f in zip(explain(estimator, NEW), values, strict=True):
        assert one.value == pytest.approx(f[-1] - f[-2], abs=1e-9)


@pytest.mark.parametrize("estimator", [LinearSVC(), LinearSVR(), LinearOneClassSVM()], ids=str)
def test_linear_estimators_by_feature(estimator):
    estimator = estimator.fit(X[50:], Y[50:])
    for points in (NEW, sp.csr_matrix(NEW)):
        for one, x, f in zip(explain(estimator, points), NEW, value(estimator, NEW), strict=True):
            assert one.features == pytest.approx(np.ravel(estimator.coef_) * x)
            assert one.features.sum() + one.intercept == pytest.approx(f, abs=1e-9) == one.value
            assert one.sensitivity == pytest.approx(np.ravel(estimator.coef_))
            assert len(one.index) == 0


def test_a_linear_kernel_has_both():
    estimator = two(SVC(kernel="linear"))
    (one,) = explain(estimator, NEW[:1], top=10_000)
    assert one.features == pytest.approx(estimator.coef_[0] * NEW[0])
    assert one.features.sum() == pytest.approx(one.contribution.sum(), abs=1e-9)


def test_repeated_training_rows_are_listed_by_themselves():
    estimator = SVC(C=0.01).fit(np.repeat(X[50:], 2, axis=0), np.repeat(Y[50:], 2))
    (one,) = explain(estimator, NEW[:1], top=10_000)
    assert one.value == pytest.approx(estimator.decision_function(NEW[:1])[0], abs=1e-9)
    assert set(one.index) == set(estimator.support_)


def test_precomputed_kernels_are_explained_by_their_rows():
    plain, K = two(SVC(gamma=0.5)), np.exp(-0.5 * ((X[50:, None] - X[50:]) ** 2).sum(axis=2))
    rows = np.exp(-0.5 * ((NEW[:, None] - X[50:]) ** 2).sum(axis=2))
    given = explain(SVC(kernel="precomputed").fit(K, Y[50:]), rows, top=4)
    for one, other in zip(given, explain(plain, NEW, top=4), strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-2)
        assert one.sensitivity is None
        assert one.vectors is None
        assert one.contribution == pytest.approx(other.contribution, abs=1e-2)


def test_sparse_points_callable_kernels_and_strings():
    dense = two(SVC(gamma=0.5))
    sparse = SVC(gamma=0.5).fit(sp.csr_matrix(X[50:]), Y[50:])
    for one, other in zip(explain(dense, NEW), explain(sparse, sp.csr_matrix(NEW)), strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-9)
        assert one.sensitivity == pytest.approx(other.sensitivity)
    called = SVC(kernel=lambda A, B: A @ B.T).fit(X[50:], Y[50:])
    one = explain(called, NEW[:1])[0]
    assert one.sensitivity is None
    assert one.value == pytest.approx(called.decision_function(NEW[:1])[0], abs=1e-9)
    words = SVC(kernel=Spectrum(2)).fit(["abab", "abba", "xyxy", "xyyx"], [0, 0, 1, 1])
    one = explain(words, ["abxy"])[0]
    assert one.value == pytest.approx(words.decision_function(["abxy"])[0], abs=1e-9)
    assert one.point is None


def test_a_class_without_weight_is_no_rival():
    estimator = SVC(multiclass="ovr").fit(X, Y, sample_weight=(Y != 2).astype(float))
    assert all("2" not in one.about for one in explain(estimator, NEW))


# Sensitivities

SMOOTH = [
    Linear(),
    RBF(0.3),
    Matern(0.3, 1.5),
    2.0 * Matern(0.1, 2.5) * RationalQuadratic(0.3, 0.7),
    Polynomial(3, 0.2, 1.0),
    Polynomial(1, 0.2, 1.0),
    Polynomial(0, 0.2, 1.0),
    Sigmoid(0.1, 0.2),
    RBF(0.3) + Polynomial(2, 0.1, 0.5),
    RBF(0.3) * Linear() * Polynomial(2, 0.1, 0.5),
    3.0 * RBF(0.2) ** 2,
    Polynomial(2, 0.1, 1.0) ** 0,
    Columns(RBF(0.5), [0, 2]) + Columns(Linear(), [1]),
    Normalized(Polynomial(2, 0.3, 1.0)),
]


@pytest.mark.parametrize("kernel", SMOOTH, ids=lambda kernel: " ".join(str(kernel).split()))
@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000))
def test_gradients_are_limits_of_differences(kernel, sparse, seed):
    rng = np.random.RandomState(seed)
    A, x, c = rng.randn(6, 4), rng.randn(4), rng.randn(6)
    resolved = kernel.resolve(A)
    anchors = sp.csr_matrix(A) if sparse else A

    def f(x):
        return float((resolved.matrix(x[None], anchors) @ c)[0])

    h = 1e-5
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(4)]
    assert has_gradient(resolved)
    assert gradient(resolved, x, anchors, c) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_sensitivities_of_an_estimator():
    estimator = two(SVC(gamma=0.4, kernel="rbf"))
    (one,) = explain(estimator, NEW[:1])
    h = 1e-5
    expected = [
        (estimator.decision_function(NEW[:1] + h * e) - estimator.decision_function(NEW[:1] - h * e))[0] / (2 * h)
        for e in np.eye(4)
    ]
    assert one.sensitivity == pytest.approx(expected, abs=1e-6)


def test_kernels_without_a_gradient():
    assert not has_gradient(RBF() + Laplacian())
    assert not has_gradient(Matern(nu=0.5))
    with pytest.raises(TypeError, match="no known gradient"):
        gradient(Laplacian(1.0), np.zeros(1), np.zeros((1, 1)), np.ones(1))


# What is printed


def test_text_and_html():
    names = ["one", "two", "three<", "four"]
    estimator = SVC().fit(pd.DataFrame(X, columns=names), np.array(["a&b", "c", "d"])[Y])
    found = explain(estimator, pd.DataFrame(NEW, columns=names), top=2)
    text, page = str(found[0]), found[0]._repr_html_()
    assert "prediction  'a&b'" in text
    assert "others" in text
    assert "three<" in text
    assert "df/dx_j" in text
    assert "a&amp;b" in page
    assert "three&lt;" in page
    assert page.count("<table>") == 3
    assert str(found).count("point ") == len(NEW)
    assert found._repr_html_().count("<h4>") == len(NEW)
    assert isinstance(found[0], Explanation)
    assert len(found[2:5]) == 3


def test_frames():
    frame = explain(SVC().fit(X, Y), NEW[:3], top=4).to_frame()
    assert list(frame) == ["point", "label", "row", "alpha", "kernel", "contribution", "share"]
    assert len(frame) == 12
    frame = explain(LinearSVC().fit(X, Y), NEW[:3]).to_frame()
    assert list(frame) == ["point", "feature", "contribution"]
    assert len(frame) == 12


# What is refused


@pytest.mark.parametrize("top", [0, -1, 1.5, True])
def test_top_is_a_count(top):
    with pytest.raises((ValueError, TypeError), match="top must be"):
        explain(SVC().fit(X, Y), NEW, top=top)


def test_what_cannot_be_explained():
    with pytest.raises(NotFittedError):
        explain(SVC(), NEW)
    with pytest.raises(ValueError, match="features"):
        explain(SVC().fit(X, Y), NEW[:, :2])
    with pytest.raises(TypeError, match="Give its last step"):
        explain(make_pipeline(StandardScaler(), SVC()).fit(X, Y), NEW)
    assert explain(LogisticRegression(max_iter=1000).fit(X[50:], Y[50:]), NEW)[0].features is not None


# The display


def test_images():
    digits, y = load_digits(return_X_y=True)
    estimator = SVC(gamma=0.001).fit(digits[:300], y[:300])
    display = ExplanationDisplay.from_estimator(estimator, digits[300:301], top=7, image_shape=(8, 8)).plot()
    assert len(display.axes_) == 9
    shown = display.axes_[0].images[0].get_array()
    assert np.array_equal(shown, digits[300].reshape(8, 8))
    first = display.axes_[2].images[0].get_array()
    assert np.array_equal(first, digits[display.explanation.index[0]].reshape(8, 8))


def test_tables():
    bars = ExplanationDisplay.from_estimator(SVC().fit(X, Y), NEW[:1], top=3).plot()
    terms = [bar.get_width() for bar in bars.axes_[0].patches]
    assert len(bars.axes_) == 2
    assert sum(terms) == pytest.approx(bars.explanation.value)
    linear = ExplanationDisplay.from_estimator(LinearSVC().fit(X, Y), NEW[:1]).plot()
    assert sum(bar.get_width() for bar in linear.axes_[0].patches) == pytest.approx(linear.explanation.value)


def test_the_display_refuses():
    estimator = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="X has 2"):
        ExplanationDisplay.from_estimator(estimator, NEW[:2])
    with pytest.raises(ValueError, match="needs 9 features; the point has 4"):
        ExplanationDisplay.from_estimator(estimator, NEW[:1], image_shape=(3, 3)).plot()
