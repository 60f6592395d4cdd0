"""``probability=True``, which scikit-learn has deprecated and most scripts still use."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, log_loss, roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import maxmargin
from maxmargin import SVC, NuSVC, patch_sklearn

X, Y = load_iris(return_X_y=True)
B, T = load_breast_cancer(return_X_y=True)
B = scale(B)
PROBABLE = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


@pytest.fixture(params=["import", "patch"])
def kinds(request):
    """SVC and NuSVC with the import line changed, and patched."""
    if request.param == "import":
        yield SVC, NuSVC
    else:
        with patch_sklearn():
            yield sklearn.svm.SVC, sklearn.svm.NuSVC


@PROBABLE
@pytest.mark.parametrize("data", [(X, Y), (B, T)], ids=["three classes", "two classes"])
@pytest.mark.parametrize("which", [0, 1], ids=["SVC", "NuSVC"])
def test_probabilities_are_those_of_the_sigmoid_calibration_and_near_scikit_learn_s(kinds, which, data):
    kind, original = kinds[which], (sklearn.svm._classes.SVC, sklearn.svm._classes.NuSVC)[which]
    params = {} if which == 0 else {"nu": 0.2}
    ours = kind(probability=True, **params).fit(*data)
    assert isinstance(ours, maxmargin.SVC if which == 0 else maxmargin.NuSVC)
    calibrated = kind(calibration="sigmoid", **params).fit(*data)
    np.testing.assert_array_equal(ours.predict_proba(data[0]), calibrated.predict_proba(data[0]))
    theirs = original(probability=True, random_state=0, **params).fit(*data)
    p, q = ours.predict_proba(data[0]), theirs.predict_proba(data[0])
    np.testing.assert_allclose(p, q, atol=0.06)
    np.testing.assert_array_equal(p.argmax(axis=1), np.searchsorted(ours.classes_, ours.predict(data[0])))
    assert log_loss(data[1], p) < log_loss(data[1], q) + 0.01
    np.testing.assert_array_equal(ours.predict_log_proba(data[0]), np.log(p))
    with pytest.warns(FutureWarning, match="Attribute `probA_` was deprecated"):
        np.testing.assert_allclose(ours.probA_, theirs._probA, rtol=0.2)
    with pytest.warns(FutureWarning, match="Attribute `probB_` was deprecated"):
        np.testing.assert_allclose(ours.probB_, theirs._probB, atol=0.2)


def test_probabilities_from_the_numbers(kinds):
    """1 / (1 + exp(A f + B)) is the probability of the first class, where f is LIBSVM's value."""
    model = kinds[0](calibration="sigmoid").fit(B, T)
    f = -model.decision_function(B)
    p = 1 / (1 + np.exp(model._probA[0] * f + model._probB[0]))
    agrees = (p > 0.5) == (model.predict(B) == 0)  # elsewhere the nearest that agrees with predict is given
    np.testing.assert_allclose(model.predict_proba(B)[agrees, 0], p[agrees], rtol=0, atol=1e-9)
    assert agrees.mean() > 0.98


@pytest.mark.parametrize("probability", [True, False])
def test_the_warning_points_at_the_caller_and_names_the_remedy(kinds, probability):
    for kind in kinds:
        with pytest.warns(FutureWarning, match=r"The `probability` parameter was deprecated in 1\.9") as caught:
            kind(probability=probability).fit(X, Y)
        assert caught[0].filename == __file__
        assert ("calibration='sigmoid'" in str(caught[0].message)) == probability


def test_no_warning_without_it(kinds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in kinds:
            model = kind().fit(X, Y)
            assert not hasattr(model, "predict_proba")
            assert model._probA.size == model._probB.size == 0


@PROBABLE
def test_the_methods_come_and_go_with_the_parameter(kinds):
    model = kinds[0](probability=False)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.fit(X, Y), "predict_log_proba")
    model.probability = True
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        model.predict_proba(X)
    assert model.fit(X, Y).predict_proba(X).shape == (150, 3)
    assert clone(model).probability is True
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("wrong", ["perhaps", 1, None])
def test_nonsense_is_refused(kinds, wrong):
    with pytest.raises(ValueError, match="probability must be True or False"):
        kinds[0](probability=wrong).fit(X, Y)


@PROBABLE
def test_scripts_with_probabilities(kinds):
    kind = kinds[0]
    parts = [
        ("svc", make_pipeline(StandardScaler(), kind(probability=True, random_state=1))),
        ("bayes", GaussianNB()),
        ("logistic", LogisticRegression(max_iter=2000)),
    ]
    voting = VotingClassifier(parts, voting="soft").fit(B, T)
    assert voting.score(B, T) > 0.95
    stacked = StackingClassifier(parts[:2], stack_method="predict_proba", cv=2).fit(B, T)
    assert stacked.score(B, T) > 0.95
    scores = cross_val_predict(kind(probability=True), B, T, method="predict_proba", cv=3)[:, 1]
    falsely, truly, _ = roc_curve(T, scores)
    assert len(falsely) == len(truly)
    assert roc_auc_score(T, scores) > 0.98
    many = roc_auc_score(Y, kind(probability=True).fit(X, Y).predict_proba(X), multi_class="ovr")
    assert many > 0.98
    search = GridSearchCV(kind(probability=True), {"C": [0.1, 1.0]}, scoring="neg_log_loss", cv=2).fit(X, Y)
    assert search.best_score_ > -0.3


@PROBABLE
def test_the_roc_display(kinds):
    pytest.importorskip("matplotlib").use("Agg")
    assert RocCurveDisplay.from_estimator(kinds[0](probability=True).fit(B, T), B, T).roc_auc > 0.98


@PROBABLE
def test_a_model_file_keeps_the_parameter(tmp_path):
    model = SVC(probability=True).fit(X, Y)
    maxmargin.save(model, tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    assert again.probability is True
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"])
def test_parameters_stand_in_scikit_learn_s_order_with_its_defaults(name):
    theirs = inspect.signature(getattr(sklearn.svm._classes, name).__init__).parameters
    ours = inspect.signature(getattr(maxmargin, name).__init__).parameters
    assert [key for key in ours if key in theirs] == list(theirs)
    for key, parameter in theirs.items():
        assert ours[key].kind == parameter.kind
        if key != "intercept_scaling":
            assert ours[key].default == parameter.default
