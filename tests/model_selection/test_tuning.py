"""Grid search that shares its work, against ``GridSearchCV`` cell by cell, and against the rules it states."""

from __future__ import annotations

import pickle
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, NuSVC, interrupts
from maxmargin.kernels import RBF, Callable, Laplacian, Linear, Polynomial, Spectrum
from maxmargin.model_selection import SVCCV, SVRCV, NuSVCCV, Range
from maxmargin.model_selection import store as store_module

CS, GAMMAS = [0.1, 1.0, 10.0, 100.0], [0.01, 0.1, 1.0]


def two_classes(n=240, d=6, seed=0):
    return make_classification(n, d, n_informative=4, n_redundant=0, flip_y=0.08, random_state=seed)


def five_classes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 5
    return rng.normal(size=(n, 4)) + 1.6 * np.eye(5, 4)[y], np.array(list("abcde"))[y]


def wave(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (n, 2))
    return x, np.sin(x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.standard_normal(n)


def samples_apart(mine, peer, X, y, cv, groups=None):
    """The largest difference of two searches' fold scores, in samples of the fold."""
    worst = 0.0
    for k, (_, test) in enumerate(cv.split(X, y, groups)):
        a, b = (search.cv_results_[f"split{k}_test_score"] for search in (mine, peer))
        worst = max(worst, float(np.abs(a - b).max()) * len(test))
    return worst


# The same scores as scikit-learn's search


@pytest.mark.parametrize("library", [sklearn.svm, None], ids=["sklearn", "maxmargin"])
@pytest.mark.parametrize("data", [two_classes, five_classes])
def test_scores_are_those_of_grid_search(data, library):
    X, y = data()
    cv = StratifiedKFold(4)
    model = (SVC if library is None else library.SVC)()
    peer = GridSearchCV(model, {"C": CS, "gamma": GAMMAS}, cv=cv).fit(X, y)
    mine = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv).fit(X, y)
    assert mine.cv_results_["params"] == peer.cv_results_["params"]
    assert samples_apart(mine, peer, X, y, cv) <= 2.001
    assert mine.best_score_ == pytest.approx(peer.best_score_, abs=2 / len(y))
    assert peer.cv_results_["mean_test_score"][mine.best_index_] >= peer.best_score_ - 2 / len(y)


def test_scores_are_exactly_those_of_a_tight_fit():
    """With a small tol no sample is left to chance."""
    X, y = two_classes(160)
    cv = StratifiedKFold(4)
    peer = GridSearchCV(SVC(tol=1e-7), {"C": CS, "gamma": GAMMAS}, cv=cv).fit(X, y)
    mine = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv, tol=1e-6).fit(X, y)
    assert samples_apart(mine, peer, X, y, cv) < 0.5
    assert mine.best_params_ == peer.best_params_


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "crammer_singer"])
@pytest.mark.parametrize("weight", [None, "balanced", {"a": 3.0, "b": 0.5}])
def test_multiclass_schemes_and_class_weights(scheme, weight):
    X, y = five_classes(200)
    keep = ~((y == "c") & (np.arange(len(y)) % 3 > 0))  # classes of unequal size
    X, y = X[keep], y[keep]
    cv = StratifiedKFold(3)
    peer = GridSearchCV(SVC(multiclass=scheme, class_weight=weight), {"C": CS[:3], "gamma": GAMMAS[:2]}, cv=cv)
    mine = SVCCV(Cs=CS[:3], gammas=GAMMAS[:2], cv=cv, multiclass=scheme, class_weight=weight).fit(X, y)
    assert samples_apart(mine, peer.fit(X, y), X, y, cv) <= 2.001


@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"solver": "smo"}, {"break_ties": True}])
def test_other_parameters_of_the_model(options):
    X, y = five_classes(150)
    cv = StratifiedKFold(3)
    peer = GridSearchCV(SVC(**options), {"C": CS[:2], "gamma": GAMMAS}, cv=cv).fit(X, y)
    mine = SVCCV(Cs=CS[:2], gammas=GAMMAS, cv=cv, **options).fit(X, y)
    assert samples_apart(mine, peer, X, y, cv) <= 2.001


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "balanced_accuracy", make_scorer(accuracy_score)])
def test_scorers(scoring):
    X, y = two_classes(200)
    cv = StratifiedKFold(4)
    peer = GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, cv=cv, scoring=scoring).fit(X, y)
    mine = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv, scoring=scoring, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(
        mine.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=0.01, rtol=0
    )
    assert mine.score(X, y) == mine.scorer_(mine.best_estimator_, X, y)
    assert mine.score(X, y) != mine.score(X, y, sample_weight=np.linspace(0, 3, len(y)))


def test_a_function_as_scorer_sees_the_points_left_out():
    X, y = two_classes(90)
    observed = []

    def scorer(model, X, y):
        observed.append(X)
        return float(np.mean(model.predict(X) == y) + 0 * model.decision_function(X).sum())

    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=KFold(3), scoring=scorer).fit(X, y)
    for points, (_, test) in zip(observed, KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(points, X[test])
    plain = SVCCV(Cs=[1.0], gammas=[0.1], cv=KFold(3)).fit(X, y)
    assert search.best_score_ == plain.best_score_


def test_regression():
    X, y = wave()
    cv, widths = KFold(4), [0.01, 0.3]
    grid = {"C": CS, "epsilon": widths, "gamma": GAMMAS}
    mine = SVRCV(Cs=CS, epsilons=widths, gammas=GAMMAS, cv=cv).fit(X, y)
    for model in (SVR(), sklearn.svm.SVR()):
        peer = GridSearchCV(model, grid, cv=cv).fit(X, y)
        assert mine.cv_results_["params"] == peer.cv_results_["params"]
        np.testing.assert_allclose(
            mine.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], atol=3e-3, rtol=0
        )
        assert mine.best_params_ == peer.best_params_
    assert (mine.C_, mine.epsilon_, mine.gamma_) == tuple(mine.best_params_[name] for name in ("C", "epsilon", "gamma"))
    np.testing.assert_array_equal(mine.predict(X), SVR(**mine.best_params_).fit(X, y).predict(X))


def test_nu():
    X, y = two_classes(160)
    cv = StratifiedKFold(4)
    peer = GridSearchCV(NuSVC(tol=1e-6), {"gamma": GAMMAS, "nu": [0.2, 0.4]}, cv=cv).fit(X, y)
    mine = NuSVCCV(nus=[0.2, 0.4], gammas=GAMMAS, cv=cv, tol=1e-6).fit(X, y)
    assert mine.cv_results_["params"] == peer.cv_results_["params"]
    assert samples_apart(mine, peer, X, y, cv) <= 1.001  # one that lies on the boundary
    assert mine.nu_ == mine.best_params_["nu"]


# Kinds of input and kernels


def test_precomputed_sparse_and_tables_give_the_same_scores():
    X, y = two_classes(120)
    plain = SVCCV(Cs=CS, gammas=[0.1], cv=3).fit(X, y)
    K = RBF(gamma=0.1)(X)
    held = SVCCV(Cs=CS, kernel="precomputed", cv=3).fit(K, y)
    sparse = SVCCV(Cs=CS, gammas=[0.1], cv=3).fit(sp.coo_matrix(X), y)
    for other in (held, sparse):
        for k in range(3):
            apart = other.cv_results_[f"split{k}_test_score"] - plain.cv_results_[f"split{k}_test_score"]
            assert np.abs(apart).max() * 40 < 1.001
    assert held.predict(K).shape == sparse.predict(sp.csr_array(X)).shape == (120,)
    assert set(held.best_params_) == {"C"}
    assert not hasattr(held, "gamma_")
    assert SVCCV(kernel="precomputed").__sklearn_tags__().input_tags.pairwise


def test_tables_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, y = two_classes(90)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    observed = []

    def scorer(model, X, y):
        observed.append(list(X.columns))
        return accuracy_score(y, model.predict(X))

    search = SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3, scoring=scorer).fit(frame, y)
    assert observed[0] == list(frame.columns)
    assert list(search.feature_names_in_) == list(search.best_estimator_.feature_names_in_) == list(frame.columns)
    assert len(pd.DataFrame(search.cv_results_)) == 2


def test_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("aab" if i % 2 else "abb"), 12)) for i in range(60)]
    labels = np.arange(60) % 2
    search = SVCCV(Cs=[0.1, 1.0], kernel=Spectrum(), kernel_params={"k": [1, 2]}, cv=3).fit(words, labels)
    peer = GridSearchCV(SVC(kernel=Spectrum()), {"C": [0.1, 1.0], "kernel__k": [1, 2]}, cv=3)
    peer.fit(np.array(words, dtype=object), labels)
    assert samples_apart(search, peer, words, labels, StratifiedKFold(3)) <= 2.001
    assert search.best_estimator_.kernel.k == search.best_params_["k"]
    assert len(search.predict(["aabbab", "bbbb"])) == 2


def test_kernel_objects_and_lists():
    X, y = two_classes(150)
    cv = StratifiedKFold(3)
    kernels = [
        RBF(gamma=0.1),
        Polynomial(degree=2, gamma=0.1, coef0=1.0),
        Laplacian(gamma=0.1),
        Linear() + RBF(gamma=1.0),
    ]
    mine = SVCCV(Cs=[0.1, 1.0], kernel=kernels, cv=cv).fit(X, y)
    peer = GridSearchCV(SVC(), {"C": [0.1, 1.0], "kernel": kernels}, cv=cv).fit(X, y)
    assert mine.cv_results_["params"] == peer.cv_results_["params"]
    assert samples_apart(mine, peer, X, y, cv) <= 2.001
    assert mine.best_params_["kernel"] in kernels
    degrees = SVCCV(Cs=[1.0], kernel="poly", gammas=[0.1], kernel_params={"degree": [1, 2, 3]}, coef0=1.0, cv=cv).fit(
        X, y
    )
    by_grid = GridSearchCV(SVC(kernel="poly", coef0=1.0), {"C": [1.0], "degree": [1, 2, 3], "gamma": [0.1]}, cv=cv)
    assert samples_apart(degrees, by_grid.fit(X, y), X, y, cv) <= 2.001
    assert degrees.best_estimator_.degree == degrees.best_params_["degree"]


def test_a_kernel_that_lacks_a_parameter_ignores_its_axis():
    X, y = two_classes(90)
    search = SVCCV(Cs=[1.0], kernel=["linear", "rbf"], gammas=[0.1, 1.0], cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert search.cv_results_["param_gamma"].mask.sum() == 1


@pytest.mark.parametrize("d", [4, 200])
def test_held_kernel_values_are_those_of_the_kernel(d):
    """From points, from stored distances (many columns), and where the tiles need double precision."""
    X = np.random.default_rng(0).normal(size=(70, d))
    kernels = [RBF(gamma=g).resolve(X) for g in (1e-3, 0.05, 50.0)] + [Laplacian(gamma=0.1).resolve(X)]
    kernels += [(Linear() + RBF(gamma=0.1)).resolve(X), Polynomial(degree=2, gamma=0.1, coef0=1.0).resolve(X)]
    store = store_module.Store(X, kernels, threads=2, budget=1e8)
    for kernel in kernels:
        K, exact = store.values(kernel), kernel.matrix(X, X)
        assert K is not None
        np.testing.assert_allclose(K[:, :70], exact, atol=3e-6 * np.abs(exact).max())
        assert not K[:, 70:].any()
    assert (store._halves is not None) == (d == 200)


def test_values_that_single_precision_cannot_hold_are_left_to_the_model():
    X, y = two_classes(90)
    store = store_module.Store(X, [RBF(gamma=1e-9).resolve(X)], threads=1, budget=1e8)
    assert store.values(RBF(gamma=1e-9).resolve(X)) is None
    assert store_module.Store(X, [], threads=1, budget=1000.0).values(RBF(gamma=0.1).resolve(X)) is None
    small = SVCCV(Cs=CS, gammas=[1e-9, 0.1], cv=3).fit(X, y)
    peer = GridSearchCV(SVC(), {"C": CS, "gamma": [1e-9, 0.1]}, cv=3).fit(X, y)
    assert samples_apart(small, peer, X, y, StratifiedKFold(3)) <= 2.001


def test_many_cheap_values_are_not_held(monkeypatch):
    monkeypatch.setattr(store_module, "COMPUTE_MIN_ROWS", 50)
    X = np.random.default_rng(0).normal(size=(70, 100))
    wide, narrow = ([RBF(gamma=0.1).resolve(points)] for points in (X, X[:, :5]))
    assert store_module.Store(X, wide, threads=1, budget=1e8).values(wide[0]) is not None
    assert store_module.Store(X[:, :5], narrow, threads=1, budget=1e8).values(narrow[0]) is None
    slow = [*narrow, (Linear() + RBF(gamma=0.1)).resolve(X[:, :5])]
    assert store_module.Store(X[:, :5], slow, threads=1, budget=1e8).values(slow[1]) is not None


def test_without_room_for_kernel_values_the_scores_are_the_same():
    X, y = two_classes(200)
    roomy = SVCCV(Cs=CS, gammas=GAMMAS, cv=3).fit(X, y)
    tight = SVCCV(Cs=CS, gammas=GAMMAS, cv=3, cache_size=0.01).fit(X, y)
    assert samples_apart(roomy, tight, X, y, StratifiedKFold(3)) <= 2.001


# Weights and groups


def test_a_weight_is_a_repetition():
    X, y = two_classes(80)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, len(y))
    fold = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weights)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    of_copies = [(np.flatnonzero(fold[repeated] != k), np.flatnonzero(fold[repeated] == k)) for k in range(3)]
    grid = {"Cs": CS, "gammas": GAMMAS}
    a = SVCCV(**grid, cv=splits).fit(X, y, sample_weight=weights)
    b = SVCCV(**grid, cv=of_copies).fit(X[repeated], y[repeated])
    for name in ("split0_test_score", "split1_test_score", "split2_test_score"):
        np.testing.assert_allclose(a.cv_results_[name], b.cv_results_[name], rtol=1e-12)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-8)


def test_weights_reach_scores():
    X, y = two_classes(90)
    weights = np.where(y == 1, 5.0, 1.0)
    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=KFold(3)).fit(X, y, sample_weight=weights)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        model = SVC(C=1.0, gamma=0.1).fit(X[train], y[train], sample_weight=weights[train])
        expected = model.score(X[test], y[test], sample_weight=weights[test])
        assert search.cv_results_[f"split{k}_test_score"][0] == pytest.approx(expected, abs=0.05)


def test_groups():
    X, y = two_classes(120)
    groups = np.arange(120) // 10
    cv = GroupKFold(4)
    mine = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv).fit(X, y, groups=groups)
    peer = GridSearchCV(SVC(), {"C": CS, "gamma": GAMMAS}, cv=cv).fit(X, y, groups=groups)
    assert samples_apart(mine, peer, X, y, cv, groups) <= 2.001
    with pytest.raises(ValueError, match="groups has 3 entries, and X has 120 samples"):
        SVCCV(cv=cv).fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="groups"):
        SVCCV(cv=cv).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        SVCCV().fit(X, y, sample_weight=[1.0, 2.0])


# Refinement, limits, threads


def test_refinement_looks_around_the_best():
    X, y = two_classes(150)
    coarse = SVCCV(Cs=CS, gammas=GAMMAS, cv=3).fit(X, y)
    fine = SVCCV(Cs=CS, gammas=GAMMAS, cv=3, refine=True).fit(X, y)
    first = len(coarse.cv_results_["params"])
    assert fine.cv_results_["params"][:first] == coarse.cv_results_["params"]
    new = fine.cv_results_["params"][first:]
    assert len(new) == 24
    for params in new:
        assert 0.09 < params["C"] / coarse.best_params_["C"] < 11
        assert 0.09 < params["gamma"] / coarse.best_params_["gamma"] < 11
    assert fine.best_score_ >= coarse.best_score_
    np.testing.assert_allclose(
        fine.cv_results_["mean_test_score"][:first], coarse.cv_results_["mean_test_score"], rtol=0, atol=1e-12
    )
    twice = SVCCV(Cs=CS, gammas=["scale"], cv=3, refine=2).fit(X, y)
    assert len(twice.cv_results_["params"]) > 4 + 24


def test_ranges_and_defaults():
    assert Range(1e-2, 1e3).values() == [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=Range(0.1, 10, 3), cv=3).fit(X, y)
    scale = 1 / (4 * X.var())
    np.testing.assert_allclose(
        sorted(set(search.cv_results_["param_gamma"])), scale * 10.0 ** np.arange(-2, 3), rtol=1e-5
    )
    assert sorted(set(search.cv_results_["param_C"])) == [0.1, 1.0, 10.0]
    with pytest.raises(ValueError, match="high > low"):
        SVCCV(Cs=Range(1.0, 1.0)).fit(X, y)


def test_a_deadline_leaves_the_best_so_far():
    X, y = two_classes(90)

    def slow(model, X, y):
        time.sleep(0.02)
        return accuracy_score(y, model.predict(X))

    search = SVCCV(Cs=CS, gammas=np.geomspace(1e-3, 10, 9), cv=3, scoring=slow, max_seconds=0.5, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="of 36 cells"):
        search.fit(X, y)
    assert search.status_.startswith("stopped at the time limit")
    missing = np.isnan(search.cv_results_["mean_test_score"])
    assert missing.any()
    assert not missing.all()
    assert search.error_reasons_.keys() == set(np.flatnonzero(missing))
    assert all("time limit" in reason for reason in search.cv_results_["reason"][missing])
    assert not missing[search.best_index_]
    assert search.best_score_ == np.nanmax(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.predict(X).shape == y.shape
    with pytest.raises(TimeoutError, match="before any cell had a score"):
        SVCCV(max_seconds=1e-9).fit(X, y)


def test_ctrl_c_leaves_the_best_so_far():
    X, y = two_classes(90)
    calls = []

    def impatient(model, X, y):
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return accuracy_score(y, model.predict(X))

    search = SVCCV(Cs=[1.0], gammas=[0.01, 0.1, 1.0, 10.0, 100.0], cv=3, scoring=impatient, n_jobs=1)
    with interrupts("keep"), pytest.warns(ConvergenceWarning, match="interrupted by the user"):
        search.fit(X, y)
    assert search.status_ == "interrupted by the user"
    assert 0 < np.isnan(search.cv_results_["mean_test_score"]).sum() < 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("data", [two_classes, five_classes])
def test_the_number_of_threads_does_not_matter(data):
    X, y = data()
    one, three = (SVCCV(Cs=CS, gammas=GAMMAS, cv=3, n_jobs=jobs, scoring=_sum).fit(X, y) for jobs in (1, 3))
    for k in range(3):
        name = f"split{k}_test_score"
        np.testing.assert_array_equal(one.cv_results_[name], three.cv_results_[name])


def _sum(model, X, y):
    """Every bit of the decision values counts."""
    return float(np.sum(model.decision_function(X)))


def test_input_is_not_changed_and_models_travel():
    X, y = two_classes(90)
    before = X.copy()
    search = SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3).fit(X, y)
    np.testing.assert_array_equal(X, before)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
    assert clone(search).get_params() == search.get_params()
    assert search.best_estimator_.report_.status.converged
    assert search.best_estimator_.gamma == 0.1
    assert search.n_splits_ == 3


def test_progress_is_told(caplog):
    X, y = two_classes(90)
    SVCCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0], cv=3, verbose=True).fit(X, y)
    assert "4 cells, 3 folds, 90 samples" in caplog.text
    assert "cells 4 of 4  best score" in caplog.text


def test_models_inside_a_search_foretell_nothing(monkeypatch):
    """Only the refit is one long fit; the others are many."""
    printed = []
    monkeypatch.setattr("maxmargin.svm.kernel.forecast.FORECAST_MIN_ROWS", 10)
    monkeypatch.setattr("maxmargin.svm.kernel.forecast.warn_of_long_fit", lambda *args: printed.append(args[0].C))
    X, y = two_classes(90)
    search = SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3, solver="smo").fit(X, y)
    assert printed == [search.C_]


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, "Cs is empty"),
        ({"gammas": []}, "gammas is empty"),
        ({"Cs": 1.0}, r"write Cs=\[1.0\]"),
        ({"Cs": [1.0, -1.0]}, r"Cs\[1\] must be > 0"),
        ({"Cs": [0.0]}, r"Cs\[0\] must be > 0"),
        ({"gammas": [-1.0]}, r"gammas\[0\] must be > 0"),
        ({"gammas": [0.0]}, r"gammas\[0\] must be > 0"),
        ({"gammas": ["wide"]}, r"gammas\[0\] must be one of 'auto', 'scale' or a number; got gammas\[0\]='wide'"),
        ({"kernel": []}, "kernel is an empty list"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"kernel": ["precomputed", "rbf"]}, "stands alone"),
        ({"kernel_params": {"degree": [2]}}, "kernel='rbf' has no parameter 'degree'"),
        ({"kernel_params": {"gamma": [1.0]}, "gammas": [1.0]}, "given twice"),
        ({"kernel_params": {"gamma": []}}, "is empty"),
        ({"kernel_params": [1]}, "dict of lists"),
        ({"cv": 1}, "1"),
        ({"cv": []}, "empty list of splits"),
        ({"cv": [([0, 1], [500])]}, "does not have"),
        ({"scoring": ["f1", "accuracy"]}, "one score"),
        ({"scoring": "acuracy"}, "acuracy"),
        ({"refine": -1}, "refine"),
        ({"refit": "yes"}, "refit"),
        ({"tol": 0.0}, "tol"),
        ({"multiclass": "all"}, "multiclass"),
        ({"cv": 50}, "n_splits=50"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = two_classes(60)
    with pytest.raises((ValueError, TypeError), match=message):
        SVCCV(**options).fit(X, y)


def test_a_fold_that_lacks_a_class():
    X, y = five_classes(100)
    rare = np.where(y == "e", np.arange(100) < 25, True)
    X, y = X[rare], y[rare]
    splits = [(np.flatnonzero(y != "e"), np.flatnonzero(y == "e")), *KFold(2, shuffle=True, random_state=0).split(X)]
    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=splits).fit(X, y)
    assert search.cv_results_["split0_test_score"][0] == 0.0


def test_a_fold_with_one_class_only_is_left_out_of_all_means():
    X, y = two_classes(60)
    splits = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1)), *StratifiedKFold(2).split(X, y)]
    with pytest.warns(FitFailedWarning, match="only class 0"):
        search = SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=splits).fit(X, y)
    assert np.isnan(search.cv_results_["split0_test_score"]).all()
    two = search.cv_results_["split1_test_score"], search.cv_results_["split2_test_score"]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], np.mean(two, axis=0))
    assert search.error_reasons_[0].keys() == {0}


def test_a_scorer_that_fails_on_some_cells_loses_only_those():
    X, y = two_classes(90)

    def picky(model, X, y):
        values = np.abs(model.decision_function(X)).max()
        if values > 2:
            raise RuntimeError("too large")
        return np.nan if values < 1.1 else accuracy_score(y, model.predict(X))

    with pytest.warns(FitFailedWarning, match="error_reasons_"):
        search = SVCCV(Cs=[0.001, 1.0, 1000.0], gammas=[0.1], cv=3, scoring=picky).fit(X, y)
    reasons = search.error_reasons_
    assert "returned nan" in reasons[0][0]
    assert "RuntimeError: too large" in reasons[2][0]
    assert search.best_params_["C"] == 1.0
    with pytest.raises(ValueError, match=r"No cell of the grid has a score.*not a number"):
        SVCCV(Cs=[1.0], gammas=[0.1], scoring=lambda model, X, y: "good").fit(X, y)


def test_a_kernel_that_fails_loses_only_its_cells():
    X, y = two_classes(90)

    def broken(A, B):
        if len(A) > 40:
            raise RuntimeError("no such luck")
        return A @ B.T

    def undefined(A, B):
        K = A @ B.T
        return K if len(A) < 40 else np.full(K.shape, np.nan)

    kernels = ["rbf", Callable(broken), Callable(undefined), Polynomial(degree=1.5, gamma=1.0)]
    with pytest.warns(FitFailedWarning, match="error_reasons_ has all"):
        search = SVCCV(Cs=[1.0], kernel=kernels, cv=3).fit(X, y)
    reasons = [search.error_reasons_[c][0] for c in (1, 2, 3)]
    assert "no such luck" in reasons[0]
    assert "finite" in reasons[1]
    assert "not an integer" in reasons[2]
    assert search.best_params_["kernel"] == "rbf"


def test_extreme_cells():
    X, y = two_classes(60)
    flat = SVCCV(Cs=[1.0], gammas=[1e-300, 0.1], cv=3).fit(X, y)
    majority = np.mean(
        [(np.bincount(y[train]).argmax() == y[test]).mean() for train, test in StratifiedKFold(3).split(X, y)]
    )
    assert flat.cv_results_["mean_test_score"][0] == pytest.approx(majority, abs=0.05)
    apart = np.repeat([[-2.0], [2.0]], 30, axis=0) + 0.1 * X[:, :1]
    hard = SVCCV(Cs=[1.0, np.inf], kernel="linear", cv=3).fit(apart, np.repeat([0, 1], 30))
    assert hard.best_score_ == 1.0
    with pytest.warns(FitFailedWarning, match="InseparableError"):
        SVCCV(Cs=[1.0, np.inf], kernel="linear", cv=3).fit(X, y)


def test_without_refit_there_is_no_model():
    X, y = two_classes(60)
    search = SVCCV(Cs=[1.0], gammas=[0.1], cv=3, refit=False).fit(X, y)
    assert search.best_params_ == {"C": 1.0, "gamma": 0.1}
    with pytest.raises(NotFittedError, match="refit=False"):
        search.predict(X)
    search.set_params(refit=True).fit(X, y).set_params(refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")  # that of the earlier fit


def test_random_splits_and_few_steps():
    X, y = two_classes(120)
    cv = ShuffleSplit(3, random_state=0)
    with pytest.warns(ConvergenceWarning):
        search = SVCCV(Cs=[100.0], gammas=[0.1], cv=cv, max_iter=5).fit(X, y)
    assert 0.3 < search.best_score_ <= 1


@pytest.mark.filterwarnings("ignore:nu=")  # weights that rule out a class
@parametrize_with_checks(
    [
        SVCCV(Cs=[1.0, 10.0], gammas=[0.1, 1.0], cv=3),
        SVRCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3),
        NuSVCCV(nus=[0.1, 0.2], gammas=[0.1], cv=3),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
