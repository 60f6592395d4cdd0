"""Compiled predictors answer as the estimators they come from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_regression
from sklearn.exceptions import NotFittedError

from maxmargin import (
    SVC,
    SVR,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemSVC,
    NystroemSVR,
    OneClassSVM,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], object)[y]
REGRESSION = make_regression(60, 5, random_state=0)

CLASSIFIERS = [
    SVC(),
    SVC(kernel="linear"),
    SVC(kernel="poly", degree=2, coef0=1.0),
    SVC(kernel="sigmoid", gamma=0.01),
    SVC(kernel="laplacian"),
    SVC(break_ties=True),
    SVC(multiclass="ovr"),
    SVC(multiclass="crammer_singer"),
    NuSVC(nu=0.2),
    LinearSVC(),
    NystroemSVC(n_components=20, random_state=0),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("labels", [y, NAMES], ids=["numbers", "texts"])
@pytest.mark.parametrize("classes", [3, 2])
def test_labels_are_those_of_predict(estimator, labels, classes):
    rows = y < classes
    model = estimator.fit(X[rows], labels[rows])
    predictor = model.compile_predictor()
    expected = model.predict(X)
    np.testing.assert_array_equal(predictor(X), expected)
    assert [predictor(row) for row in X[::10]] == expected[::10].tolist()
    assert type(predictor(X[0])) in (int, str)


@pytest.mark.parametrize("estimator", [SVR(), NuSVR(), SVR(kernel="linear"), LinearSVR(), NystroemSVR()], ids=repr)
def test_values_are_those_of_predict(estimator):
    points, targets = REGRESSION
    model = estimator.fit(points, targets)
    predictor = model.compile_predictor()
    np.testing.assert_allclose(predictor(points), model.predict(points), rtol=1e-9, atol=1e-9 * np.abs(targets).max())
    assert predictor(points[0]) == predictor(points)[0]


@pytest.mark.parametrize("estimator", [OneClassSVM(nu=0.2), LinearOneClassSVM(nu=0.2)], ids=repr)
def test_inliers_are_those_of_predict(estimator):
    model = estimator.fit(X)
    predictor = model.compile_predictor()
    clear = np.abs(model.decision_function(X)) > 1e-9
    np.testing.assert_array_equal(predictor(X)[clear], model.predict(X)[clear])
    np.testing.assert_allclose(predictor.decision_function(X), model.decision_function(X), atol=1e-10)


def test_a_predictor_keeps_its_model():
    model = SVC().fit(X, y)
    predictor, before = model.compile_predictor(), model.predict(X)
    model.fit(X, 2 - y)
    np.testing.assert_array_equal(predictor(X), before)
    assert predictor.n_features_in_ == 4


def test_sparse_training_points():
    model = SVC().fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(model.compile_predictor()(X), model.predict(sp.csr_matrix(X)))


def test_a_class_without_weight_is_never_predicted():
    model = SVC().fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    np.testing.assert_array_equal(model.compile_predictor()(X), model.predict(X))
    two = SVC().fit(X[:100], y[:100], sample_weight=np.where(y[:100] == 1, 0.0, 1.0))
    assert set(two.compile_predictor()(X)) == {0}


def test_refusals():
    with pytest.raises(NotFittedError):
        SVC().compile_predictor()
    with pytest.raises(ValueError, match=r"has no compiled predictor: .* Use predict, or maxmargin\.io\.to_onnx"):
        SVC(kernel="chi2").fit(X, y).compile_predictor()
    predictor = SVC().fit(X, y).compile_predictor()
    with pytest.raises(TypeError, match="float64"):
        predictor(X.astype(int))
    with pytest.raises(ValueError, match="4 \\(features of the model\\)"):
        predictor(np.zeros(3))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
@pytest.mark.parametrize("classes", [2, 4])
def test_few_sparse_rows_have_the_values_of_the_definition(kernel, classes):
    """Rows of many columns, one or a few at a time: sum_i c_i k(x_i, x) + b, whatever rows stand beside them."""
    rng = np.random.default_rng(classes)
    X = sp.random(300, 6000, 0.01, random_state=1, format="csr")
    y = rng.integers(0, classes, 300)
    model = SVC(kernel=kernel, gamma=0.5, coef0=0.1, C=10, decision_function_shape="ovo").fit(X, y)
    new = sp.random(8, 6000, 0.01, random_state=2, format="csr")
    Z, P = model.support_vectors_.toarray(), (new @ model.support_vectors_.T).toarray()
    apart = ((new.toarray()[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    K = {
        "rbf": np.exp(-0.5 * apart),
        "poly": (0.5 * P + 0.1) ** 3,
        "sigmoid": np.tanh(0.5 * P + 0.1),
        "linear": P,
    }[kernel]
    coefficients = model._expansion.coefficients
    expected = K @ coefficients + model.intercept_
    for rows in (slice(0, 8), slice(3, 4), slice(2, 5)):
        values = model.decision_function(new[rows]).reshape(-1, coefficients.shape[1])
        np.testing.assert_allclose(values, expected[rows], atol=1e-11 * (1 + np.abs(expected).max()))
        assert (model.predict(new[rows]) == model.predict(new)[rows]).all()


def test_a_long_sparse_row_is_far_from_all_others():
    X = sp.random(300, 6000, 0.01, random_state=1, format="csr")
    model = SVC(gamma=0.5, C=10).fit(X, np.arange(300) % 2)
    long = X[:2].copy()
    long.data[0] = 1e200
    values = model.decision_function(long)
    assert values[0] == model.intercept_[0]
    assert values[1] == pytest.approx(model.decision_function(X[1])[0], abs=1e-12)
