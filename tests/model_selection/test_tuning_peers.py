"""Searches against ``GridSearchCV`` cell by cell, on random small data of every kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ParameterGrid, ShuffleSplit, StratifiedKFold

from maxmargin import SVC, SVR, NuSVC, OneClassSVM
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial
from maxmargin.model_selection import SVCCV, SVRCV, NuSVCCV, OneClassSVMCV

TIGHT = 1e-7  # tol of the peers; that of the searches is 1e-5
FORMS = ["dense", "float32", "sparse", "precomputed", "object", "sum", "laplacian", "poly", "linear"]


def labelled(rng, classes, spread=1.3):
    n, d = int(rng.integers(15, 22)) * classes, int(rng.integers(2, 6))
    y = rng.permutation(np.arange(n) % classes)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(classes, d))[y], y


def cast(form, X):
    """X in a form, the search's options, the peer's options, and the peer's grid over kernels."""
    grid = {"gammas": [0.05, 0.5]}, {}, {"gamma": [0.05, 0.5]}
    if form == "float32":
        return X.astype(np.float32), *grid
    if form == "sparse":
        return sp.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X)), *grid
    if form == "precomputed":
        return RBF(gamma=0.2)(X), {"kernel": "precomputed"}, {"kernel": "precomputed"}, {}
    if form == "object":
        kernel = RBF(gamma=1.0)
        return X, {"kernel": kernel, "gammas": [0.05, 0.5]}, {"kernel": kernel}, {"kernel__gamma": [0.05, 0.5]}
    if form == "sum":
        kernel = 0.1 * Linear() + RBF(gamma=0.3) * Polynomial(degree=2, gamma=0.1, coef0=1.0)
        return X, {"kernel": kernel}, {"kernel": kernel}, {}
    if form == "laplacian":
        return (
            X,
            {"kernel": "laplacian", "gammas": [0.1, 1.0]},
            {},
            {"kernel": [Laplacian(gamma=g) for g in (0.1, 1.0)]},
        )
    if form == "poly":
        options = {"kernel": "poly", "degree": 2, "coef0": 1.0}
        return X, {**options, "gammas": [0.05, 0.5]}, options, {"gamma": [0.05, 0.5]}
    if form == "linear":
        return X, {"kernel": "linear"}, {"kernel": "linear"}, {}
    return X, *grid


def compare(mine, peer, splits, worth=1.001):
    """Fold scores, cell by cell, in samples of the fold; cells in the order of the values, whatever they are called."""
    assert len(mine.cv_results_["params"]) == len(peer.cv_results_["params"])
    assert not mine.error_reasons_
    for k, (_, test) in enumerate(splits):
        apart = mine.cv_results_[f"split{k}_test_score"] - peer.cv_results_[f"split{k}_test_score"]
        assert np.abs(apart).max() * len(test) <= worth


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_classification(form, classes):
    rng = np.random.default_rng([classes, FORMS.index(form)])
    X, y = labelled(rng, classes)
    if rng.random() < 0.5:
        y = np.array(["one", "two", "three", "four"])[y]
    X, options, given, grid = cast(form, X)
    cv = [StratifiedKFold(3), KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)][classes - 2]
    scheme = str(rng.choice(["ovo", "ovr"]))
    mine = SVCCV(Cs=[0.1, 1.0, 10.0], cv=cv, tol=1e-5, multiclass=scheme, **options).fit(X, y)
    model = SVC(tol=TIGHT, multiclass=scheme, **given)
    peer = GridSearchCV(model, {"C": [0.1, 1.0, 10.0], **grid}, cv=cv).fit(X, y)
    splits = list(cv.split(X, y))
    compare(mine, peer, splits)
    if form in ("dense", "float32", "sparse", "precomputed", "poly", "linear") and scheme == "ovo":
        theirs = GridSearchCV(sklearn.svm.SVC(tol=1e-6, **given), {"C": [0.1, 1.0, 10.0], **grid}, cv=cv)
        compare(mine, theirs.fit(X, y), splits, worth=2.001)


@pytest.mark.parametrize("form", FORMS)
def test_regression(form):
    rng = np.random.default_rng([7, FORMS.index(form)])
    X = rng.normal(size=(60, int(rng.integers(2, 5))))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=60)
    X, options, given, grid = cast(form, X)
    cv = KFold(3)
    mine = SVRCV(Cs=[0.1, 1.0, 10.0], epsilons=[0.01, 0.2], cv=cv, tol=1e-5, **options).fit(X, y)
    peer = GridSearchCV(SVR(tol=TIGHT, **given), {"C": [0.1, 1.0, 10.0], "epsilon": [0.01, 0.2], **grid}, cv=cv)
    peer.fit(X, y)
    for k in range(3):
        name = f"split{k}_test_score"
        np.testing.assert_allclose(mine.cv_results_[name], peer.cv_results_[name], atol=2e-3, rtol=0)


@pytest.mark.parametrize("form", FORMS)
def test_nu_and_one_class(form):
    rng = np.random.default_rng([8, FORMS.index(form)])
    X, y = labelled(rng, 3)
    X[:, 0] += 4.0 * y  # where reduced hulls of two classes meet, w = 0 and labels are noise
    X += 3.0  # around the origin, no halfspace without it holds half of the data
    outliers = np.where(y == 2, -1, 1)
    X, options, given, grid = cast(form, X)
    cv = StratifiedKFold(3)
    mine = NuSVCCV(nus=[0.6, 0.8], cv=cv, tol=1e-6, **options).fit(X, y)
    peer = GridSearchCV(NuSVC(tol=TIGHT, **given), {**grid, "nu": [0.6, 0.8]}, cv=cv).fit(X, y)
    compare(mine, peer, list(cv.split(X, y)))
    region = OneClassSVMCV(nus=[0.2, 0.5], cv=cv, tol=1e-6, scoring="roc_auc", **options).fit(X, outliers)
    peer = GridSearchCV(OneClassSVM(tol=TIGHT, **given), {**grid, "nu": [0.2, 0.5]}, cv=cv, scoring="roc_auc")
    peer.fit(X, outliers)
    pairs = [np.sum(outliers[test] > 0) * np.sum(outliers[test] < 0) for _, test in cv.split(X, outliers)]
    for k, count in enumerate(pairs):
        apart = region.cv_results_[f"split{k}_test_score"] - peer.cv_results_[f"split{k}_test_score"]
        assert np.abs(apart).max() * count <= 2.001 + 0.01 * count


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV", "NuSVCCV"])
def test_kernel_values_that_single_precision_rounds_too_much(name):
    """A polynomial of columns that are not scaled: values of 1e5, and a model that sees their last digits."""
    rng = np.random.default_rng(0)
    X, y = labelled(rng, 2, spread=3.0)
    X, options = 10 * X, {"kernel": "poly", "degree": 2, "coef0": 1.0}
    kind, model, axis = {
        "SVCCV": (SVCCV, SVC, {"C": [0.1, 10.0]}),
        "SVRCV": (SVRCV, SVR, {"C": [0.0001, 0.001]}),
        "NuSVCCV": (NuSVCCV, NuSVC, {"nu": [0.2, 0.5]}),
    }[name]
    target = X[:, 0] ** 2 / 100 + 0.1 * rng.normal(size=len(y)) if name == "SVRCV" else y
    mine = kind(**{f"{key}s": values for key, values in axis.items()}, gammas=[0.5], cv=KFold(3), **options)
    peer = GridSearchCV(model(**options), {**axis, "gamma": [0.5]}, cv=KFold(3))
    scores = [search.fit(X, target).cv_results_["mean_test_score"] for search in (mine, peer)]
    np.testing.assert_allclose(*scores, atol=2e-3)


def by_hand(model, cells, splits, X, y, weights, score):
    """Scores of every cell and split, with weights in training and in scores."""
    table = []
    for params in cells:
        fitted = [clone(model).set_params(**params).fit(X[a], y[a], sample_weight=weights[a]) for a, _ in splits]
        table.append([score(one, X[b], y[b], weights[b]) for one, (_, b) in zip(fitted, splits, strict=True)])
    return np.array(table)


@pytest.mark.parametrize("seed", range(8))
def test_weights_and_groups(seed):
    """Weights of zero, fractions and whole numbers; groups that stay together; equal rows in several folds."""
    rng = np.random.default_rng(seed)
    X, y = labelled(rng, 2 + seed % 3)
    X = X.round(int(rng.integers(0, 3)))
    weights = [rng.integers(0, 3, len(y)).astype(float), rng.uniform(0, 2, len(y))][seed % 2]
    groups = rng.integers(0, 9, len(y))
    cv = GroupKFold(3)
    splits = list(cv.split(X, y, groups))
    counted = [b[weights[b] > 0] for _, b in splits]
    tested = [(a, b) for (a, _), b in zip(splits, counted, strict=True)]
    shares = [weights[b].max() / weights[b].sum() for b in counted]

    def accuracy(model, X, y, weights):
        return accuracy_score(y, model.predict(X), sample_weight=weights)

    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, 0.5]}
    mine = SVCCV(Cs=grid["C"], gammas=grid["gamma"], cv=cv, tol=1e-6).fit(X, y, sample_weight=weights, groups=groups)
    expected = by_hand(SVC(tol=TIGHT), list(ParameterGrid(grid)), tested, X, y, weights, accuracy)
    for k, share in enumerate(shares):
        assert np.abs(mine.cv_results_[f"split{k}_test_score"] - expected[:, k]).max() <= 2.001 * share

    def r2(model, X, y, weights):
        return r2_score(y, model.predict(X), sample_weight=weights)

    target = X[:, 0] + 0.1 * rng.normal(size=len(y))
    tube = SVRCV(Cs=grid["C"], gammas=grid["gamma"], cv=cv, tol=1e-6)
    tube.fit(X, target, sample_weight=weights, groups=groups)
    expected = by_hand(SVR(tol=TIGHT), list(ParameterGrid(grid)), tested, X, target, weights, r2)
    for k in range(3):
        np.testing.assert_allclose(tube.cv_results_[f"split{k}_test_score"], expected[:, k], atol=3e-3)

    def area(model, X, y, sample_weight):
        values = model.decision_function(X).round(3)  # copies of a support vector are on the boundary
        return roc_auc_score(y, values, sample_weight=sample_weight)

    outliers = np.where(y == 0, -1, 1)
    grid = {"gamma": [0.05, 0.5], "nu": [0.2, 0.5]}
    region = OneClassSVMCV(nus=grid["nu"], gammas=grid["gamma"], cv=cv, tol=1e-6, scoring=area)
    region.fit(X, outliers, sample_weight=weights, groups=groups)
    expected = by_hand(OneClassSVM(tol=TIGHT), list(ParameterGrid(grid)), tested, X, outliers, weights, area)
    for k in range(3):
        np.testing.assert_allclose(region.cv_results_[f"split{k}_test_score"], expected[:, k], atol=0.03)
