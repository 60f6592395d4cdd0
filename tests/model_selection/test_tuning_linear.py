"""``LinearSVCCV`` against ``GridSearchCV`` around the model it searches."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC, interrupts
from maxmargin.model_selection import LinearSVCCV, Range

CS = [0.001, 0.03, 1.0, 30.0]


def data(classes=2, n=150, seed=0):
    return make_classification(
        n, 8, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=seed, class_sep=1.6
    )


def apart(mine, peer, splits):
    """The largest difference of fold scores, in samples."""
    assert mine.cv_results_["params"] == peer.cv_results_["params"]
    return max(
        np.abs(mine.cv_results_[f"split{k}_test_score"] - peer.cv_results_[f"split{k}_test_score"]).max() * len(test)
        for k, (_, test) in enumerate(splits)
    )


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge"},
        {"multi_class": "crammer_singer", "loss": "hinge"},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"penalty": "l1"},
    ],
    ids=["plain", "hinge", "joint", "no intercept", "balanced", "l1"],
)
def test_scores_are_those_of_grid_search(classes, options):
    X, y = data(classes)
    y = np.array(list("abcd"))[y]
    cv = StratifiedKFold(3)
    joint = options.get("multi_class") == "crammer_singer"
    options = {**options, "tol": 1e-3 if joint else 1e-6, "max_iter": -1}
    peer = GridSearchCV(LinearSVC(**options), {"C": [0.03, 0.3, 3.0]}, cv=cv).fit(X, y)
    mine = LinearSVCCV(Cs=[0.03, 0.3, 3.0], cv=cv, **options).fit(X, y)
    assert apart(mine, peer, list(cv.split(X, y))) <= 1.001
    assert mine.best_params_["C"] == mine.C_
    best = LinearSVC(C=mine.C_, **options).fit(X, y)
    np.testing.assert_allclose(mine.coef_, best.coef_, atol=1e-8)
    np.testing.assert_allclose(mine.intercept_, best.intercept_, atol=1e-8)
    np.testing.assert_array_equal(mine.predict(X), best.predict(X))
    assert mine.score(X, y) == best.score(X, y)


def test_kinds_of_input():
    pd = pytest.importorskip("pandas")
    X, y = data()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    plain = LinearSVCCV(Cs=CS, cv=3).fit(X, y)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(8)])
    splits = list(StratifiedKFold(3).split(X, y))
    for points in (sp.csr_matrix(X), X.astype(np.float32), frame):
        assert apart(LinearSVCCV(Cs=CS, cv=3).fit(points, y), plain, splits) <= 1.001
    named = LinearSVCCV(Cs=CS, cv=3).fit(frame, y)
    assert list(named.best_estimator_.feature_names_in_) == list(frame.columns)
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.decision_function(X), plain.decision_function(X))


def test_weights_groups_and_scorers():
    X, y = data()
    groups = np.arange(len(y)) // 10
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    a = LinearSVCCV(Cs=CS, cv=GroupKFold(3), scoring="balanced_accuracy", tol=1e-7)
    b = LinearSVCCV(Cs=CS, scoring="balanced_accuracy", tol=1e-7)
    splits = list(GroupKFold(3).split(X, y, groups))
    a.fit(X, y, sample_weight=weights, groups=groups)
    b.cv = [tuple(np.flatnonzero(np.isin(repeated, part)) for part in split) for split in splits]
    b.fit(X[repeated], y[repeated])
    np.testing.assert_allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], atol=1e-12)
    area = LinearSVCCV(Cs=CS, scoring="roc_auc", cv=KFold(3), tol=1e-7).fit(X, y)
    peer = GridSearchCV(LinearSVC(tol=1e-7), {"C": CS}, scoring="roc_auc", cv=KFold(3)).fit(X, y)
    np.testing.assert_allclose(area.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=2e-3)


def test_refinement_ranges_and_hard_margins():
    X, y = load_iris(return_X_y=True)
    fine = LinearSVCCV(Cs=Range(0.01, 10, 4), cv=3, refine=True).fit(X, y)
    assert len(fine.cv_results_["params"]) == 8
    apart = X[y != 2], y[y != 2]
    assert LinearSVCCV(Cs=[1.0, np.inf], cv=3).fit(*apart).best_score_ == 1.0
    with pytest.warns(FitFailedWarning, match="InseparableError"):
        LinearSVCCV(Cs=[1.0, np.inf], cv=3).fit(*data())


def test_bad_input():
    X, y = data()
    for options, message in [
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [-1.0]}, r"Cs\[0\] must be > 0"),
        ({"loss": "hing"}, "hinge"),
        ({"scoring": "acuracy"}, "Did you mean 'accuracy'"),
        ({"cv": 1}, "at least 2 folds"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            LinearSVCCV(**options).fit(X, y)
    with pytest.raises(ValueError, match="holds only class 1"):
        LinearSVCCV(cv=KFold(2)).fit(X, np.arange(len(y)) // 75)


def test_ctrl_c_leaves_the_best_so_far():
    X, y = data()
    calls = []

    def impatient(model, X, y):
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return float(np.mean(model.predict(X) == y))

    search = LinearSVCCV(Cs=CS, cv=3, scoring=impatient, refine=True, n_jobs=1)
    with interrupts("keep"), pytest.warns(ConvergenceWarning, match="interrupted by the user"):
        search.fit(X, y)
    assert search.status_ == "interrupted by the user"
    assert len(search.predict(X)) == len(y)


@parametrize_with_checks([LinearSVCCV(Cs=[0.1, 1.0], cv=3)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
