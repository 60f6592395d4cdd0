import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, NuSVC, VirtualSVC, load, save
from maxmargin.invariances import shifts

SLIGHTLY_LARGER = functools.partial(np.multiply, 1.001)  # its repr, a part of the tests' names, has no address


@parametrize_with_checks([VirtualSVC(SVC(tol=1e-6)), VirtualSVC(transforms=[SLIGHTLY_LARGER])])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def _mirrored(X):
    return X * np.array([-1.0, 1.0, 1.0])


def _data():
    X, y = make_classification(120, 3, n_informative=3, n_redundant=0, random_state=0)
    return X, np.array(["no", "yes"])[y]


def test_it_is_the_fit_of_the_support_vectors_and_their_copies():
    X, y = _data()
    model = VirtualSVC(SVC(C=2.0), [_mirrored]).fit(X, y)
    support = SVC(C=2.0).fit(X, y).support_
    by_hand = SVC(C=2.0).fit(np.vstack([X[support], _mirrored(X[support])]), np.tile(y[support], 2))
    assert np.array_equal(model.decision_function(X), by_hand.decision_function(X))
    assert np.array_equal(model.first_.support_, support)
    assert model.n_virtual_ == len(support)
    assert np.array_equal(model.classes_, ["no", "yes"])


def test_invariance_is_learned():
    """A class that depends on the size of the first feature only: shown on one side, right on the other one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [2, 1, 1]
    X[:, 0] = np.abs(X[:, 0])
    y = X[:, 0] > 1.5
    other = X * [-1.0, 1.0, 1.0]
    plain, model = SVC().fit(X, y), VirtualSVC(SVC(), [_mirrored]).fit(X, y)
    assert model.score(other, y) > 0.95 > 0.7 > plain.score(other, y)


def test_digits():
    X, y = load_digits(return_X_y=True)
    plain = SVC(gamma=0.001, C=10.0).fit(X[:500], y[:500])
    model = VirtualSVC(SVC(gamma=0.001, C=10.0), shifts((8, 8), 0.5)).fit(X[:500], y[:500])
    assert (1 - model.score(X[500:], y[500:])) < 0.9 * (1 - plain.score(X[500:], y[500:]))
    assert model.n_virtual_ == 4 * len(plain.support_)


def test_weights_sparse_points_tables_pipelines_and_probabilities():
    X, y = _data()
    weights = np.random.default_rng(0).integers(1, 3, len(X)).astype(float)
    model = VirtualSVC(SVC(), [_mirrored]).fit(X, y, sample_weight=weights)
    support = model.first_.support_
    copies = np.vstack([X[support], _mirrored(X[support])])
    by_hand = SVC().fit(copies, np.tile(y[support], 2), sample_weight=np.tile(weights[support], 2))
    assert np.array_equal(model.decision_function(X), by_hand.decision_function(X))

    flip = sp.diags_array([-1.0, 1.0, 1.0])
    sparse = VirtualSVC(SVC(), [lambda Z: Z @ flip]).fit(sp.csr_array(X), y)
    dense = VirtualSVC(SVC(), [_mirrored]).fit(X, y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-3)

    table = pd.DataFrame(X, columns=list("abc"))
    framed = VirtualSVC(SVC(), [_mirrored]).fit(table, y)
    assert list(framed.feature_names_in_) == list("abc") == list(framed.estimator_.feature_names_in_)
    assert np.array_equal(framed.predict(table), dense.predict(X))

    piped = VirtualSVC(make_pipeline(MinMaxScaler(), NuSVC(nu=0.3)), [_mirrored]).fit(X, y, sample_weight=weights)
    assert piped.score(X, y) > 0.7
    assert not hasattr(dense, "predict_proba")
    calibrated = VirtualSVC(SVC(calibration="sigmoid"), [_mirrored]).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_the_model_inside_can_be_saved(tmp_path):
    X, y = _data()
    model = VirtualSVC(SVC(), [_mirrored]).fit(X, y)
    save(model.estimator_, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_refusals():
    X, y = _data()
    with pytest.raises(ValueError, match=r"turned points of shape .* number\s+of points"):
        VirtualSVC(SVC(), [lambda Z: Z[:, :2]]).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        VirtualSVC(SVC(), [lambda Z: Z * np.inf]).fit(X, y)
    with pytest.raises(TypeError, match="transforms must be functions"):
        VirtualSVC(SVC(), ["shift"]).fit(X, y)
    with pytest.raises(TypeError, match="transforms must be functions of points; got None"):
        VirtualSVC(SVC(), None).fit(X, y)
    with pytest.raises(TypeError, match="got KNeighborsClassifier"):
        VirtualSVC(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="784 pixels, but the points have 3 features"):
        VirtualSVC(SVC(), shifts((28, 28))).fit(X, y)
