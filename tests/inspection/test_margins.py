"""Margin, slack and category of every point, against the definitions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from maxmargin.inspection.margin_table import CATEGORIES, MarginReport
from maxmargin.inspection.margins import margin_report
from maxmargin.kernels import RBF
from maxmargin.svm.perceptron import Perceptron

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
TWO, LABELS = IRIS[50:], NAMES[50:]
SIGNS = np.where(LABELS == "virginica", 1.0, -1.0)


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def check(report, f, y, norm):
    """The definitions, one by one."""
    np.testing.assert_allclose(report.decision, f, atol=1e-9)
    np.testing.assert_allclose(report.functional_margin, y * f, atol=1e-9)
    assert report.norm == pytest.approx(norm, rel=1e-7)
    assert report.margin == pytest.approx(2 / norm, rel=1e-7)
    np.testing.assert_allclose(report.distance, f / norm, atol=1e-7)
    np.testing.assert_allclose(report.slack, np.maximum(0, 1 - y * f), atol=1e-9)
    for margin, category in zip(report.functional_margin, report.category, strict=True):
        if abs(margin - 1) <= report.tolerance:
            assert category == "on"
        elif margin > 1:
            assert category == "outside"
        elif margin >= 0:
            assert category == "inside"
        else:
            assert category == "misclassified"
    assert sum(report.counts.values()) == len(f)
    assert tuple(report.counts) == CATEGORIES
    assert report.n_errors == report.counts["misclassified"] == np.sum(report.slack > 1)
    assert report.total_slack >= report.n_errors


# The numbers


def test_a_linear_estimator():
    model = SVC(kernel="linear", tol=1e-6).fit(TWO, LABELS)
    w, b = model.coef_[0], model.intercept_[0]
    report = margin_report(model, TWO, LABELS)
    check(report, TWO @ w + b, SIGNS, np.linalg.norm(w))
    assert (report.positive, report.negative) == ("virginica", "versicolor")
    # The distance is that of the point from its foot on the hyperplane.
    foot = TWO - np.outer((TWO @ w + b) / (w @ w), w)
    np.testing.assert_allclose(foot @ w + b, 0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(TWO - foot, axis=1), np.abs(report.distance), atol=1e-9)
    np.testing.assert_allclose(report.anchor_points, foot, atol=1e-9)
    np.testing.assert_allclose(report.anchor_points + np.outer(report.distance, w / np.linalg.norm(w)), TWO, atol=1e-9)
    assert margin_report(SVC().fit(TWO, LABELS), TWO, LABELS).anchor_points is None


@pytest.mark.parametrize("model", [SVC(kernel="linear"), LinearSVC(), NuSVC(kernel="linear"), Perceptron()])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_anchor_points_lie_on_the_hyperplane(model, form):
    X, y = form(IRIS[:100]), NAMES[:100]
    report = margin_report(model.fit(X, y), X, y)
    w, b = sp.csr_matrix(model.coef_).toarray().ravel(), np.ravel(model.intercept_)[0]
    np.testing.assert_allclose(report.anchor_points @ w + b, 0, atol=1e-8 * np.linalg.norm(w) * np.abs(IRIS).max())


def test_a_gaussian_estimator():
    model = SVC(kernel=RBF(gamma=0.7), C=3.0, tol=1e-6).fit(TWO, LABELS)
    c, V = model.dual_coef_[0], model.support_vectors_
    f = gaussian(TWO, V, 0.7) @ c + model.intercept_[0]
    check(margin_report(model, TWO, LABELS), f, SIGNS, math.sqrt(c @ gaussian(V, V, 0.7) @ c))
    new = TWO[::7] + 0.3
    report = margin_report(model, new, LABELS[::7])
    check(report, gaussian(new, V, 0.7) @ c + model.intercept_[0], SIGNS[::7], math.sqrt(c @ gaussian(V, V, 0.7) @ c))
    assert report.alpha is None


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), C=st.floats(0.01, 100), kernel=st.sampled_from(["linear", "rbf", "poly"]))
def test_the_conditions_of_optimality_show(seed, C, kernel):
    """alpha = 0 outside, alpha = C inside and on the wrong side, anything between only on the margin."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0, 1, 0)
    y[:2] = 0, 1
    model = SVC(kernel=kernel, C=C, tol=1e-6).fit(X, y)
    report = margin_report(model, X, y)
    assert report.tolerance == 1e-6
    assert report.total_slack >= report.n_errors == np.sum(model.predict(X) != y)
    assert (report.alpha[report.category == "outside"] == 0).all()
    np.testing.assert_allclose(report.alpha[np.isin(report.category, ["inside", "misclassified"])], C)
    between = (report.alpha > 0) & (report.alpha < C)
    assert (report.category[between] == "on").all()
    y_signed = np.where(y == 1, 1.0, -1.0)
    assert report.alpha @ y_signed == pytest.approx(0, abs=1e-9 * C * 40)
    # Both sides of strong duality, from the report alone.
    primal = 0.5 * report.norm**2 + C * report.total_slack
    dual = report.alpha.sum() - 0.5 * report.norm**2
    assert primal == pytest.approx(dual, rel=1e-3)


def test_a_hard_margin_has_no_slack():
    model = SVC(kernel="linear", C=math.inf, tol=1e-6).fit(IRIS, NAMES == "setosa")
    report = margin_report(model, IRIS, NAMES == "setosa")
    assert report.total_slack < 1e-4
    assert report.n_errors == report.counts["inside"] == 0
    assert report.counts["on"] == np.count_nonzero(report.alpha) >= 2
    assert report.margin == pytest.approx(2 * np.abs(report.distance).min(), rel=1e-5)


def test_exactly_on_the_hyperplane_is_inside():
    """xi = 1 is not misclassified; anything beyond is."""
    X, y = [[-1.0], [1.0]], [0, 1]
    model = SVC(kernel="linear", C=math.inf).fit(X, y)
    report = margin_report(model, [[0.0], [0.0], [-1e-9], [0.5], [1.0], [1.5]], [0, 1, 1, 1, 1, 1])
    assert report.slack.tolist() == pytest.approx([1, 1, 1 + 1e-9, 0.5, 0, 0])
    assert report.category.tolist() == ["inside", "inside", "misclassified", "inside", "on", "outside"]


def test_nu_estimators_have_margin_one_too():
    model = NuSVC(kernel="linear", nu=0.3, tol=1e-7).fit(TWO, LABELS)
    report = margin_report(model, TWO, LABELS)
    check(report, TWO @ model.coef_[0] + model.intercept_[0], SIGNS, np.linalg.norm(model.coef_))
    bound = np.abs(model.dual_coef_).max()
    between = (report.alpha > 0) & (report.alpha < bound)
    assert between.any()
    assert (report.category[between] == "on").all()
    assert report.alpha[np.isin(report.category, ["inside", "misclassified"])] == pytest.approx(bound)
    np.testing.assert_allclose(report.alpha[report.category == "outside"], 0)


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.9])
def test_the_tolerance_of_nu_estimators_is_in_the_scale_of_their_values(nu):
    """The default tol leaves free support vectors near 1, not at it: all of them count as on the margin."""
    model = NuSVC(nu=nu).fit(TWO, LABELS)
    report = margin_report(model, TWO, LABELS)
    bound = np.abs(model.dual_coef_).max()
    assert set(report.category[(report.alpha > 0) & (report.alpha < bound * (1 - 1e-9))]) <= {"on"}


def test_the_perceptron_and_other_linear_classifiers():
    y = NAMES == "setosa"
    for model in (Perceptron().fit(IRIS, y), sklearn.svm.LinearSVC().fit(IRIS, y)):
        report = margin_report(model, IRIS, y)
        f = IRIS @ model.coef_[0] + model.intercept_[0]
        check(report, f, np.where(y, 1.0, -1.0), np.linalg.norm(model.coef_))
        assert report.alpha is None
        assert report.tolerance == 1e-3
        assert report.n_errors == 0


def test_without_weights_the_margin_is_infinite():
    """All weight on one class: a constant model."""
    y = LABELS == "virginica"
    model = SVC(class_weight={False: 0}).fit(TWO, y)
    report = margin_report(model, TWO, y)
    assert report.norm == 0
    assert report.margin == math.inf
    assert np.isinf(report.distance).all()


# Several classes


def pair_values(model, X):
    shaped = SVC(**{**model.get_params(), "decision_function_shape": "ovo"}).fit(IRIS, NAMES)
    return shaped.decision_function(X)


@pytest.mark.parametrize(
    ("estimator", "column", "sign"),
    [
        (("setosa", "versicolor"), 0, 1),
        (("versicolor", "setosa"), 0, -1),
        (("setosa", "virginica"), 1, 1),
        (("virginica", "versicolor"), 2, -1),
    ],
    ids=str,
)
def test_one_vs_one(estimator, column, sign):
    model = SVC(gamma=0.5, tol=1e-6).fit(IRIS, NAMES)
    report = margin_report(model, IRIS, NAMES, classes=estimator)
    rows = np.flatnonzero(np.isin(NAMES, estimator))
    np.testing.assert_array_equal(report.rows, rows)
    np.testing.assert_array_equal(report.labels, NAMES[rows])
    y = np.where(NAMES[rows] == estimator[0], 1.0, -1.0)
    check(report, sign * pair_values(model, IRIS)[rows, column], y, 2 / model.report_.margins[column])
    # The same binary model, fitted alone.
    alone = SVC(gamma=0.5, tol=1e-6).fit(IRIS[rows], NAMES[rows])
    other = margin_report(alone, IRIS[rows], NAMES[rows], classes=estimator)
    np.testing.assert_allclose(report.alpha, other.alpha, atol=1e-3)
    np.testing.assert_allclose(report.decision, other.decision, atol=1e-4)


@pytest.mark.parametrize("label", ["setosa", "versicolor", "virginica"])
def test_one_vs_rest(label):
    model = SVC(gamma=0.5, multiclass="ovr", tol=1e-6).fit(IRIS, NAMES)
    report = margin_report(model, IRIS, NAMES, classes=label)
    k = model.classes_.tolist().index(label)
    y = np.where(label == NAMES, 1.0, -1.0)
    check(report, model.decision_function(IRIS)[:, k], y, 2 / model.report_.margins[k])
    assert (report.positive, report.negative) == (label, None)
    assert "the rest" in str(report)
    alone = margin_report(SVC(gamma=0.5, tol=1e-6).fit(IRIS, label == NAMES), IRIS, label == NAMES)
    np.testing.assert_allclose(report.alpha, alone.alpha, atol=1e-3)


def test_a_pair_of_the_joint_estimator():
    model = SVC(kernel="linear", multiclass="crammer_singer", tol=1e-6).fit(IRIS, NAMES)
    report = margin_report(model, IRIS, NAMES, classes=("virginica", "versicolor"))
    values = model.decision_function(IRIS)
    w = model.coef_[2] - model.coef_[1]
    check(report, (values[:, 2] - values[:, 1])[50:], SIGNS, np.linalg.norm(w))
    assert (report.alpha >= 0).all()
    assert (report.alpha <= 1 + 1e-9).all()
    assert (report.alpha[report.category == "outside"] <= 1e-6).all()
    # Every class's weights are the sum over its own pairs.
    other = margin_report(model, IRIS, NAMES, classes=("virginica", "setosa"))
    w_2 = np.zeros(4)
    for pair in (report, other):
        signed = np.where(pair.labels == "virginica", 1.0, -1.0) * pair.alpha
        w_2 += signed @ IRIS[pair.rows]
    np.testing.assert_allclose(w_2, model.coef_[2], atol=1e-8)


def test_the_joint_estimator_of_two_classes():
    model = SVC(kernel="rbf", multiclass="crammer_singer", tol=1e-6).fit(TWO, LABELS)
    report = margin_report(model, TWO, LABELS)
    np.testing.assert_allclose(report.decision, model.decision_function(TWO), atol=1e-12)
    assert report.counts["on"] > 0
    assert (report.category[(report.alpha > 1e-6) & (report.alpha < 1 - 1e-6)] == "on").all()


def test_which_side_is_positive_can_be_chosen():
    model = SVC().fit(TWO, LABELS)
    plain = margin_report(model, TWO, LABELS)
    for estimator in ("versicolor", ("versicolor", "virginica"), ["versicolor", "virginica"]):
        turned = margin_report(model, TWO, LABELS, classes=estimator)
        assert turned.positive == "versicolor"
        np.testing.assert_array_equal(turned.decision, -plain.decision)
        np.testing.assert_array_equal(turned.functional_margin, plain.functional_margin)
        np.testing.assert_array_equal(turned.alpha, plain.alpha)


# Which points are the training points


def test_alpha_belongs_to_the_training_points():
    model = SVC().fit(TWO, LABELS)
    alpha = margin_report(model, TWO, LABELS).alpha
    np.testing.assert_array_equal(np.flatnonzero(alpha), np.sort(model.support_))
    np.testing.assert_array_equal(alpha[model.support_], np.abs(model.dual_coef_[0]))
    assert margin_report(model, TWO[:-1], LABELS[:-1]).alpha is None
    assert margin_report(model, TWO[::-1], LABELS[::-1]).alpha is None
    assert margin_report(model, TWO, LABELS[::-1]).alpha is None


@pytest.mark.parametrize("fitted", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("given_as", [np.asarray, sp.csr_matrix, pd.DataFrame])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_the_form_of_the_points_does_not_matter(fitted, given_as):
    model = SVC(kernel="linear").fit(fitted(TWO), LABELS)
    report = margin_report(model, given_as(TWO), LABELS)
    expected = margin_report(SVC(kernel="linear").fit(TWO, LABELS), TWO, LABELS)
    np.testing.assert_allclose(report.alpha, expected.alpha)
    np.testing.assert_allclose(report.distance, expected.distance)


def test_a_precomputed_kernel():
    model = SVC(kernel=RBF(gamma=0.5), tol=1e-6).fit(TWO, LABELS)
    expected = margin_report(model, TWO, LABELS)
    K = gaussian(TWO, TWO, 0.5)
    matrix = SVC(kernel="precomputed", tol=1e-6).fit(K, LABELS)
    report = margin_report(matrix, K, LABELS)
    np.testing.assert_allclose(report.distance, expected.distance, atol=1e-4)
    np.testing.assert_allclose(report.alpha, expected.alpha, atol=1e-3)
    new = margin_report(matrix, K[:10], LABELS[:10])
    assert new.norm == pytest.approx(report.norm, rel=1e-6)
    assert new.alpha is None


def test_things_that_are_no_vectors():
    def shared(A, B):
        return np.array([[1.0 + len(set(a) & set(b)) for b in B] for a in A])

    words, y = ["abc", "abd", "xyz", "xyw", "abx"], [0, 0, 1, 1, 0]
    model = SVC(kernel=shared, C=10.0, tol=1e-6).fit(words, y)
    report = margin_report(model, words, y)
    K = shared(words, words)
    c = np.where(np.array(y) == 1, 1, -1) * report.alpha
    np.testing.assert_allclose(report.decision, K @ c + model.intercept_, atol=1e-9)
    assert report.norm == pytest.approx(math.sqrt(c @ K @ c))


# Text, table, errors


def test_the_text_is_a_table():
    model = SVC(kernel="linear").fit(TWO, LABELS)
    text = str(margin_report(model, TWO, LABELS))
    assert "'virginica' (+1) against 'versicolor' (-1), 100 points" in text
    assert "the 20 smallest margins" in text
    head, *lines = text.splitlines()[-21:]
    assert head.split() == ["row", "label", "f", "y", "f", "distance", "slack", "category", "alpha"]
    margins = [float(line.split()[3]) for line in lines]
    assert margins == sorted(margins)
    few = str(margin_report(model, TWO[:5], LABELS[:5]))
    assert "smallest margins" not in few
    assert [line.split()[0] for line in few.splitlines()[-5:]] == list("01234")
    assert "alpha" not in few


def test_the_page_has_the_same_lines():
    y = np.where(LABELS == "virginica", "<b>", "a&b")
    page = margin_report(SVC().fit(TWO, y), TWO, y)._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 2
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 4 + 1 + 20


def test_the_frame_has_every_point():
    model = SVC().fit(IRIS, NAMES)
    report = margin_report(model, IRIS, NAMES, classes=("virginica", "setosa"))
    frame = report.to_frame()
    assert list(frame.columns) == [
        "label", "decision", "functional_margin", "distance", "slack", "category", "alpha",
    ]  # fmt: skip
    np.testing.assert_array_equal(frame.index, report.rows)
    np.testing.assert_array_equal(frame["slack"], report.slack)
    assert frame.groupby("category").size().to_dict() == {k: v for k, v in report.counts.items() if v}
    assert "alpha" not in margin_report(model, IRIS[:9], NAMES[:9], classes=("virginica", "setosa")).to_frame()


def test_the_report_cannot_be_changed():
    report = margin_report(SVC().fit(TWO, LABELS), TWO, LABELS)
    assert isinstance(report, MarginReport)
    with pytest.raises(AttributeError):
        report.norm = 1.0


@pytest.mark.parametrize(
    ("parameters", "estimator", "message"),
    [
        ({}, None, r"one for each pair of classes: choose one, such as classes=\('setosa', 'versicolor'\)"),
        ({}, "setosa", "pair of classes"),
        ({}, ("setosa", "setosa"), "pair of classes"),
        ({}, ("setosa", "virginica", "versicolor"), "pair of classes"),
        ({}, ("setosa", "rose"), "no class 'rose'"),
        ({"multiclass": "ovr"}, None, "class against the rest: choose one, such as classes='setosa'"),
        ({"multiclass": "ovr"}, ("setosa", "virginica"), "class against the rest"),
        ({"multiclass": "crammer_singer"}, "setosa", "pair of classes"),
    ],
    ids=str,
)
def test_an_estimator_that_is_none_is_refused(parameters, estimator, message):
    model = SVC(**parameters).fit(IRIS, NAMES)
    with pytest.raises(ValueError, match=message):
        margin_report(model, IRIS, NAMES, classes=estimator)


def test_bad_input_is_refused():
    model = SVC().fit(TWO, LABELS)
    with pytest.raises(ValueError, match="label 'setosa', which the classifier was not fitted with"):
        margin_report(model, IRIS, NAMES)
    with pytest.raises(ValueError, match="100 samples and y has 3"):
        margin_report(model, TWO, LABELS[:3])
    with pytest.raises(ValueError, match="features"):
        margin_report(model, TWO[:, :2], LABELS)
    with pytest.raises(ValueError, match="tolerance must be >= 0"):
        margin_report(model, TWO, LABELS, tolerance=-1.0)
    with pytest.raises(NotFittedError):
        margin_report(SVC(), TWO, LABELS)
    for model in (SVR().fit(TWO, SIGNS), OneClassSVM().fit(TWO)):
        with pytest.raises(TypeError, match="takes a classifier"):
            margin_report(model, TWO, SIGNS)


def test_the_tolerance_can_be_chosen():
    model = SVC(kernel="linear").fit(TWO, LABELS)
    assert margin_report(model, TWO, LABELS).tolerance == model.tol
    wide = margin_report(model, TWO, LABELS, tolerance=0.5)
    np.testing.assert_array_equal(wide.category == "on", np.abs(wide.functional_margin - 1) <= 0.5)
