import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, SVR, LinearSVC, class_margins

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), SVC(multiclass="ovr"), SVC(multiclass="crammer_singer")], ids=["linear", "ovr", "joint"]
)
def test_scores_of_classes(estimator):
    scores = estimator.fit(X, NAMES).decision_function(X)
    found = class_margins(estimator, X, NAMES)
    own = scores[np.arange(len(Y)), Y]
    scores[np.arange(len(Y)), Y] = -np.inf
    np.testing.assert_allclose(found.margin, own - scores.max(axis=1), atol=1e-10)
    assert np.array_equal(found.runner_up, estimator.classes_[scores.argmax(axis=1)])
    assert np.array_equal(found.margin < 0, estimator.predict(X) != NAMES)


def test_pairs_of_classes():
    model = SVC(decision_function_shape="ovo").fit(X, NAMES)
    f = model.decision_function(X)  # (0, 1), (0, 2), (1, 2)
    ahead = {0: (f[:, 0], f[:, 1]), 1: (-f[:, 0], f[:, 2]), 2: (-f[:, 1], -f[:, 2])}
    others = {0: (1, 2), 1: (0, 2), 2: (0, 1)}
    found = class_margins(model, X, NAMES)
    for i, y in enumerate(Y):
        values = [part[i] for part in ahead[y]]
        np.testing.assert_allclose(found.margin[i], min(values), atol=1e-12)
        assert found.runner_up[i] == model.classes_[others[y][int(np.argmin(values))]]


def test_of_two_classes_it_is_the_functional_margin():
    y = NAMES == "virginica"
    model = SVC().fit(X, y)
    found = class_margins(model, X, y)
    np.testing.assert_allclose(found.margin, np.where(y, 1, -1) * model.decision_function(X), atol=1e-12)
    assert np.array_equal(found.runner_up, ~y)


def test_refusals():
    with pytest.raises(NotFittedError):
        class_margins(SVC(), X, Y)
    with pytest.raises(TypeError, match="takes a classifier; got SVR"):
        class_margins(SVR().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="label 7"):
        class_margins(SVC().fit(X, Y), X[:1], [7])
