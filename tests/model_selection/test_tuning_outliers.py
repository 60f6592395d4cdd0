"""``OneClassSVMCV``: with labels the scores of ``GridSearchCV``, without them the mass-volume curve by definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import OneClassSVM
from maxmargin.kernels import RBF, Laplacian, Spectrum
from maxmargin.model_selection import OneClassSVMCV, Range
from maxmargin.model_selection import store as store_module
from maxmargin.model_selection.one_class_scores import REGION_MASSES, reference_points, volume

NUS, GAMMAS = [0.05, 0.2, 0.5], [0.05, 0.5, 5.0]


def cloud(n=150, outliers=15, d=2, seed=0):
    """A cloud, points around it, and labels, in random order."""
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(size=(n, d)), rng.uniform(-5, 5, (outliers, d))]
    y = np.r_[np.ones(n, int), -np.ones(outliers, int)]
    order = rng.permutation(len(y))
    return X[order], y[order]


def apart(mine, peer, n_splits):
    return max(
        float(np.abs(mine.cv_results_[f"split{k}_test_score"] - peer.cv_results_[f"split{k}_test_score"]).max())
        for k in range(n_splits)
    )


# With labels


@pytest.mark.parametrize("scoring", ["roc_auc", "accuracy", "f1", "average_precision"])
def test_scores_are_those_of_grid_search(scoring):
    X, y = cloud()
    cv = StratifiedKFold(3)
    grid = {"gamma": GAMMAS, "nu": NUS}
    peer = GridSearchCV(OneClassSVM(tol=1e-7), grid, cv=cv, scoring=scoring).fit(X, y)
    mine = OneClassSVMCV(nus=NUS, gammas=GAMMAS, cv=cv, scoring=scoring, tol=1e-5).fit(X, y)
    assert mine.cv_results_["params"] == peer.cv_results_["params"]
    assert apart(mine, peer, 3) <= 1.001 / 55
    assert mine.nu_ == mine.best_params_["nu"]
    assert mine.best_estimator_.get_params()["nu"] == mine.nu_
    best = OneClassSVM(**mine.best_params_, tol=1e-5).fit(X)
    np.testing.assert_allclose(mine.decision_function(X), best.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(mine.score_samples(X), best.score_samples(X), atol=1e-9)
    np.testing.assert_array_equal(mine.predict(X), best.predict(X))
    assert mine.score(X, y) == mine.scorer_(mine.best_estimator_, X, y)


def test_without_held_values_and_with_another_solver_the_scores_are_the_same():
    X, y = cloud()
    options = {"nus": NUS, "gammas": GAMMAS, "cv": 3, "tol": 1e-5}
    for scoring in ("roc_auc", "mass_volume"):
        held = OneClassSVMCV(**options, scoring=scoring).fit(X, y)
        tight = OneClassSVMCV(**options, scoring=scoring, cache_size=0.01).fit(X, y)
        other = OneClassSVMCV(**options, scoring=scoring, solver="smo").fit(X, y)
        assert apart(held, tight, 3) < 0.01
        assert apart(held, other, 3) < 0.01


def test_labels_of_any_kind():
    X, y = cloud()
    plain = OneClassSVMCV(nus=NUS, gammas=[0.5], cv=3).fit(X, y)
    named = np.where(y > 0, "normal", "fraud")
    by_name = OneClassSVMCV(nus=NUS, gammas=[0.5], cv=3, inliers="normal").fit(X, named)
    coded = np.where(y > 0, np.arange(len(y)) % 3, 7)
    by_list = OneClassSVMCV(nus=NUS, gammas=[0.5], cv=StratifiedKFold(3), inliers=[0, 1, 2]).fit(X, coded)
    for other in (by_name, by_list):
        np.testing.assert_array_equal(other.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    assert by_name.score(X, named) == plain.score(X, y)
    assert "balanced_accuracy" in repr(plain.scorer_)
    rare = make_scorer(f1_score, pos_label=-1)
    assert OneClassSVMCV(nus=NUS, gammas=[0.5], scoring=rare).fit(X, y).best_score_ > 0.5


def test_labels_that_are_not_understood_are_refused_if_they_matter():
    X, y = cloud(60, 6)
    with pytest.raises(ValueError, match=r"\+1 for inliers and -1 for outliers; got 0, 1\. .*inliers=0"):
        OneClassSVMCV(scoring="roc_auc").fit(X, (y < 0).astype(int))
    with pytest.raises(ValueError, match="y has none of them"):
        OneClassSVMCV(inliers="ok").fit(X, np.where(y > 0, "good", "bad"))
    with pytest.raises(ValueError, match="scoring='roc_auc' needs y"):
        OneClassSVMCV(scoring="roc_auc").fit(X)
    with pytest.raises(ValueError, match="train_on='inliers' needs y"):
        OneClassSVMCV(train_on="inliers").fit(X)
    with pytest.raises(ValueError, match="train_on must be one of"):
        OneClassSVMCV(train_on="inlier").fit(X, y)
    ignored = OneClassSVMCV(nus=[0.1], gammas=[0.5], cv=3).fit(X, (y < 0).astype(int))
    assert repr(ignored.scorer_) == "mass_volume"


def test_training_on_inliers_only():
    X, y = cloud()
    cv = StratifiedKFold(3)
    search = OneClassSVMCV(
        nus=NUS, gammas=GAMMAS, cv=cv, scoring="roc_auc", train_on="inliers", tol=1e-6, solver="auto"
    ).fit(X, y)
    for params, k in [(0, 0), (4, 1), (8, 2)]:
        train, test = list(cv.split(X, y))[k]
        learnt = train[y[train] > 0]
        model = OneClassSVM(**search.cv_results_["params"][params], tol=1e-6).fit(X[learnt])
        expected = roc_auc_score(y[test], model.decision_function(X[test]))
        assert search.cv_results_[f"split{k}_test_score"][params] == pytest.approx(expected, abs=0.005)
    alone = OneClassSVM(**search.best_params_, tol=1e-6).fit(X[y > 0])
    np.testing.assert_allclose(search.decision_function(X), alone.decision_function(X), atol=1e-6)
    scaled = OneClassSVMCV(nus=[0.1], gammas=["scale"], cv=cv, train_on="inliers").fit(X, y)
    assert scaled.gamma_ == pytest.approx(1 / (2 * X[y > 0].var()), rel=1e-6)


# Without labels


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), m=st.integers(1, 80), tied=st.booleans())
def test_the_volume_is_that_of_the_definition(seed, n, m, tied):
    rng = np.random.default_rng(seed)
    scores, reference = rng.normal(size=n), rng.normal(size=m)
    if tied:
        scores, reference = scores.round(), reference.round()
    weight = rng.integers(1, 4, n).astype(float)
    expected = []
    for mass in REGION_MASSES:
        levels = [u for u in scores if weight[scores >= u].sum() >= (mass - 1e-12) * weight.sum()]
        expected.append(np.mean(reference >= max(levels)))
    assert volume(scores, weight, reference) == pytest.approx(np.mean(expected), abs=1e-12)


def test_scores_without_labels_are_those_of_single_models():
    X, _ = cloud()
    cv = KFold(3)
    search = OneClassSVMCV(nus=NUS, gammas=GAMMAS, cv=cv, tol=1e-6).fit(X)
    reference = search.scorer_.reference
    assert reference.shape[1] == 2
    assert (reference >= X.min(axis=0)).all()
    assert (reference <= X.max(axis=0)).all()
    for cell, params in enumerate(search.cv_results_["params"]):
        for k, (train, test) in enumerate(cv.split(X)):
            model = OneClassSVM(**params, tol=1e-6).fit(X[train])
            values = model.decision_function(X[test])
            expected = -volume(values, np.ones(len(test)), model.decision_function(reference))
            assert search.cv_results_[f"split{k}_test_score"][cell] == pytest.approx(expected, abs=0.005)
    assert search.score(X) == pytest.approx(search.scorer_(search.best_estimator_, X))


def test_a_kernel_that_follows_the_data_is_chosen():
    """Two moons: a wide kernel covers the space between them, a narrow one does not know the rows left out."""
    X, _ = make_moons(300, noise=0.05, random_state=0)
    search = OneClassSVMCV(nus=[0.05], gammas=[1e-3, 10.0, 1e4]).fit(X)
    assert search.gamma_ == 10.0
    wide, right, narrow = search.cv_results_["mean_test_score"]
    assert right > wide + 0.2
    assert narrow == pytest.approx(-1, abs=0.05)


def test_many_columns_do_not_empty_the_volume():
    """In a box of 60 columns nothing would ever be inside."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60)) @ (rng.normal(size=(60, 60)) / 8)
    search = OneClassSVMCV(nus=[0.05], gammas=[1e-3, 1e3], cv=3).fit(X)
    right, narrow = search.cv_results_["mean_test_score"]
    assert -0.8 < right < -0.05
    assert narrow < -0.95


@pytest.mark.parametrize("d", [3, 20])
def test_reference_points_do_not_depend_on_form_and_repetition(d):
    X = np.random.default_rng(0).normal(size=(40, d)).round(1)
    dense = reference_points(X, np.ones(40))
    np.testing.assert_allclose(reference_points(sp.csr_matrix(X), np.ones(40)).toarray(), dense, atol=1e-12)
    np.testing.assert_array_equal(reference_points(X, 2 * np.ones(40)), dense)
    assert not np.array_equal(reference_points(X, np.ones(40), 1), dense)
    without = np.where(np.arange(40) < 20, 1.0, 0.0)
    np.testing.assert_allclose(reference_points(X, without), reference_points(X[:20], np.ones(20)))


def test_rejection_compares_the_share_outside_with_nu():
    X, _ = cloud()
    cv = KFold(3)
    search = OneClassSVMCV(nus=NUS, gammas=[0.5], cv=cv, scoring="rejection", tol=1e-6).fit(X)
    for cell, nu in enumerate(NUS):
        for k, (train, test) in enumerate(cv.split(X)):
            outside = np.mean(OneClassSVM(nu=nu, gamma=0.5, tol=1e-6).fit(X[train]).predict(X[test]) < 0)
            assert search.cv_results_[f"split{k}_test_score"][cell] == pytest.approx(-abs(outside - nu), abs=0.02)


def test_a_function_without_labels():
    X, _ = cloud(60, 6)
    search = OneClassSVMCV(nus=NUS, gammas=[0.5], cv=3, scoring=lambda model, X: -model.nu).fit(X)
    assert search.nu_ == min(NUS)
    with pytest.raises(ValueError, match="points it is given, and no others"):
        OneClassSVMCV(nus=[0.1], gammas=[0.5], scoring=lambda model, X: model.predict(X + 1).mean()).fit(X)


# Kinds of input


def test_precomputed_sparse_strings_and_kernel_objects():
    X, y = cloud()
    options = {"nus": NUS, "cv": 3, "scoring": "roc_auc", "tol": 1e-5}
    plain = OneClassSVMCV(**options, gammas=[0.5]).fit(X, y)
    K = RBF(gamma=0.5)(X)
    others = [
        OneClassSVMCV(**options, kernel="precomputed").fit(K, y),
        OneClassSVMCV(**options, gammas=[0.5]).fit(sp.csr_matrix(X), y),
        OneClassSVMCV(**options, gammas=[0.5]).fit(X.astype(np.float32), y),
        OneClassSVMCV(**options, kernel=[RBF(gamma=0.5)]).fit(X, y),
    ]
    for other in others:
        assert apart(plain, other, 3) < 0.01
    assert others[0].predict(K).shape == y.shape
    volumes = [OneClassSVMCV(nus=NUS, gammas=[0.5], cv=3).fit(points) for points in (X, sp.csr_matrix(X))]
    assert apart(*volumes, 3) < 0.01
    with pytest.raises(ValueError, match=r"mass_volume.*precomputed"):
        OneClassSVMCV(kernel="precomputed").fit(K)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aab"), 9)) for _ in range(40)] + ["zzzzzz", "zyzyzy"]
    labels = [1] * 40 + [-1] * 2
    search = OneClassSVMCV(nus=[0.1], kernel=Spectrum(), kernel_params={"k": [1, 2]}, cv=2).fit(words, labels)
    assert search.best_score_ > 0.7
    with pytest.raises(ValueError, match="scoring='rejection'"):
        OneClassSVMCV(kernel=Spectrum()).fit(words)
    assert OneClassSVMCV(nus=[0.1], kernel=Spectrum(), scoring="rejection", cv=2).fit(words).status_ == "complete"
    lists = OneClassSVMCV(nus=[0.1], kernel=["rbf", Laplacian(gamma=0.3)], cv=3).fit(X)
    assert len(lists.cv_results_["params"]) == 2


def test_tables_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, _ = cloud(60, 6)
    frame = pd.DataFrame(X, columns=["a", "b"])
    search = OneClassSVMCV(nus=[0.1], gammas=[0.5, 5.0], cv=3).fit(frame)
    assert list(search.best_estimator_.feature_names_in_) == ["a", "b"]
    assert search.score(frame) <= 0


@pytest.mark.parametrize("train_on", ["all", "inliers"])
def test_a_weight_is_a_repetition(train_on):
    X, y = cloud(80, 10)
    weights = np.where(y < 0, 2, np.random.default_rng(1).integers(0, 3, len(y)))
    fold = np.argsort(np.argsort(y, kind="stable")) % 3  # outliers in every fold
    repeated = np.repeat(np.arange(len(y)), weights)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    of_copies = [(np.flatnonzero(fold[repeated] != k), np.flatnonzero(fold[repeated] == k)) for k in range(3)]
    for scoring in ("roc_auc", "mass_volume"):
        options = {"nus": NUS, "gammas": [0.5, "scale"], "scoring": scoring, "train_on": train_on}
        a = OneClassSVMCV(**options, cv=splits).fit(X, y, sample_weight=weights)
        b = OneClassSVMCV(**options, cv=of_copies).fit(X[repeated], y[repeated])
        assert apart(a, b, 3) < 1e-9
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-8)


def test_groups_ranges_and_refinement():
    X, y = cloud()
    groups = np.arange(len(y)) // 11
    search = OneClassSVMCV(nus=Range(0.05, 1.0, 3), gammas=[0.5], cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert len(search.cv_results_["params"]) == 3
    fine = OneClassSVMCV(nus=[0.5, 1.0], gammas=[0.1, 1.0], cv=3, refine=True).fit(X)
    assert len(fine.cv_results_["params"]) > 4
    assert max(fine.cv_results_["param_nu"]) <= 1.0
    assert fine.best_score_ >= fine.cv_results_["mean_test_score"][:4].max()


def test_the_number_of_threads_does_not_matter():
    X, _ = cloud()
    one, three = (OneClassSVMCV(nus=NUS, gammas=GAMMAS, cv=3, n_jobs=jobs).fit(X) for jobs in (1, 3))
    assert apart(one, three, 3) == 0.0


def test_a_split_without_inliers_is_left_out(monkeypatch):
    X, y = cloud(60, 12)
    splits = [(np.flatnonzero(y < 0), np.flatnonzero(y > 0)), *StratifiedKFold(2).split(X, y)]
    with pytest.warns(FitFailedWarning, match="no sample of the training part"):
        search = OneClassSVMCV(nus=[0.1], gammas=[0.5], cv=splits, train_on="inliers").fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    monkeypatch.setattr(store_module, "COMPUTE_MIN_ROWS", 10)  # values that are not held
    with pytest.warns(FitFailedWarning, match="no sample of the training part"):
        OneClassSVMCV(nus=[0.1], gammas=[0.5], cv=splits, train_on="inliers").fit(X, y)


@parametrize_with_checks(
    [OneClassSVMCV(nus=[0.1, 0.5], gammas=[0.1, 1.0], cv=3), OneClassSVMCV(nus=[0.2], kernel="linear", cv=2)]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
