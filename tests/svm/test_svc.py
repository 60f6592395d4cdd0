"""SVC and NuSVC: scikit-learn's answers and attributes, certified; and what this library adds to them."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
import sklearn.svm
from scipy.optimize import lsq_linear, minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, FitReport, InseparableError, NuSVC
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial
from maxmargin.solvers import CrammerSinger
from reference.fitted_models import kernel_matrix

IRIS, SPECIES = load_iris(return_X_y=True)
KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "poly", "degree": 3, "coef0": 0.5, "gamma": 0.1},
    {"kernel": "rbf", "gamma": "scale"},
    {"kernel": "rbf", "gamma": 2.0},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.0},
]


def blobs(n_classes=2, n=60, d=3, seed=0, spread=1.5):
    """Overlapping clouds, every class present."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centers = 2.0 * rng.standard_normal((n_classes, d))
    return centers[y] + spread * rng.standard_normal((n, d)), y


def random_problem(seed):
    """Data, weights and parameters of one small problem; gamma="scale" only without weights, where sklearn agrees."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 5
    X, y = blobs(n_classes, n=int(rng.integers(8, 15)) * n_classes, d=int(rng.integers(1, 7)), seed=seed)
    parameters = {"C": 10 ** rng.uniform(-2, 3), **KERNELS[seed % len(KERNELS)]}
    weights = rng.uniform(0.1, 3.0, len(y)) if seed % 3 == 1 else None
    if seed % 4 == 2:
        parameters["class_weight"] = {k: 0.5 + k for k in range(n_classes)}
    if parameters["kernel"] == "sigmoid":  # indefinite: with a large C there are many local optima
        parameters["C"] = min(parameters["C"], 1.0)
    if weights is not None and parameters.get("gamma") == "scale":
        parameters["gamma"] = 0.3
    if seed % 3 == 0:
        X = sp.csr_matrix(np.where(rng.random(X.shape) < 0.7, X, 0.0))
    elif seed % 3 == 2:
        X = X.astype(np.float32)
    return X, y, weights, parameters


def pair_coefficients(model, n):
    """The coefficients of each one-vs-one model over the n training rows, read from LIBSVM's layout."""
    dual = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    ends = np.cumsum(model.n_support_)
    of = [slice(end - count, end) for end, count in zip(ends, model.n_support_, strict=True)]
    for i in range(len(of)):
        for j in range(i + 1, len(of)):
            c = np.zeros(n)
            c[model.support_[of[i]]] = dual[j - 1, of[i]]
            c[model.support_[of[j]]] = dual[i, of[j]]
            yield c


def dual_objective(model, K):
    """Sum over the models of sum alpha - 1/2 alpha' Q alpha."""
    return sum(np.abs(c).sum() - 0.5 * c @ K @ c for c in pair_coefficients(model, len(K)))


@pytest.mark.parametrize("seed", range(36))
def test_svc_solves_the_problem_that_scikit_learn_solves(seed):
    X, y, weights, parameters = random_problem(seed)
    ours = SVC(**parameters, tol=1e-6).fit(X, y, weights)
    theirs = sklearn.svm.SVC(**parameters, tol=1e-6).fit(X, y, weights)
    K = kernel_matrix(theirs, X)

    assert ours.report_.converged
    assert ours.report_.kkt_violation <= 1e-6
    best = dual_objective(theirs, K)
    assert dual_objective(ours, K) >= best - 1e-6 * abs(best)
    assert ours.report_.dual_objective == pytest.approx(dual_objective(ours, K), rel=1e-8)

    new = blobs(2, n=80, d=X.shape[1], seed=1000 + seed, spread=3.0)[0].astype(X.dtype)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("seed", range(36))
def test_svc_decision_values_are_scikit_learns(seed):
    X, y, weights, parameters = random_problem(seed)
    parameters |= {"tol": 1e-8, "decision_function_shape": "ovo"}
    if parameters["kernel"] == "linear":  # scikit-learn takes tens of millions of steps beyond
        parameters["C"] = min(parameters["C"], 5.0)
    new = blobs(2, n=80, d=X.shape[1], seed=1000 + seed, spread=3.0)[0].astype(X.dtype)
    decision = SVC(**parameters).fit(X, y, weights).decision_function(new)
    expected = sklearn.svm.SVC(**parameters).fit(X, y, weights).decision_function(new)
    # LIBSVM keeps Q in single precision, so with a steep kernel and a large C it is the less exact of the two.
    close = 1e-3 if parameters["kernel"] == "poly" and parameters["C"] > 100 else 1e-4
    np.testing.assert_allclose(decision, expected, rtol=0, atol=close * np.abs(expected).max())


@pytest.mark.parametrize("C", [0.1, 0.3, 0.7, 3.0])
def test_merged_rows_at_their_bound_are_not_free(C):
    """All multipliers are at the bound, so b is the middle of an interval, whatever 3 * C rounds to."""
    X, y = [[0.0], [0.0], [0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1, 1, 1]
    ours, theirs = SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y), sklearn.svm.SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("seed", range(8))
def test_many_equal_rows_and_a_small_C_give_scikit_learns_function(seed, kernel):
    """Found by fuzzing: nearly all multipliers are at merged bounds, whose sums round."""
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.standard_normal((120, 2))), np.arange(120) % 4
    parameters = {"kernel": kernel, "gamma": 0.7, "C": 0.0213 * (seed + 1), "tol": 1e-6}
    parameters["decision_function_shape"] = "ovo"
    expected = sklearn.svm.SVC(**parameters).fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC(**parameters).fit(X, y).decision_function(X), expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(36))
def test_svc_coefficients_are_feasible(seed):
    X, y, weights, parameters = random_problem(seed)
    model = SVC(**parameters, tol=1e-6).fit(X, y, weights)
    bound = parameters["C"] * (np.ones(len(y)) if weights is None else weights) * model.class_weight_[y]
    for c in pair_coefficients(model, len(y)):
        assert (np.abs(c) <= bound * (1 + 1e-12)).all()
        assert abs(c.sum()) <= 1e-9 * max(1.0, np.abs(c).sum())


@pytest.mark.parametrize("seed", range(16))
def test_nu_svc_solves_the_problem_that_scikit_learn_solves(seed):
    """On separable classes, where the margin rho is not zero for any nu."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 4
    y = np.arange(15 * n_classes) % n_classes
    X = 4.0 * np.eye(6)[y] + rng.uniform(-1.5, 1.5, (len(y), 6))
    X = [X, X.astype(np.float32), sp.csr_matrix(np.round(X))][seed % 3]
    weights = rng.uniform(0.5, 1.5, len(y)) if seed % 2 else None
    parameters = {"nu": rng.uniform(0.05, 0.6), **KERNELS[seed % 5], "gamma": 0.1}
    ours = NuSVC(**parameters, tol=1e-7, decision_function_shape="ovo").fit(X, y, weights)
    theirs = sklearn.svm.NuSVC(**parameters, tol=1e-8, decision_function_shape="ovo").fit(X, y, weights)
    K = kernel_matrix(theirs, X)
    weight = np.ones(len(y)) if weights is None else weights
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for (i, j), c, d in zip(pairs, pair_coefficients(ours, len(y)), pair_coefficients(theirs, len(y)), strict=True):
        total = parameters["nu"] * weight[(y == i) | (y == j)].sum()
        mine, other = (0.5 * (v @ K @ v) * (total / np.abs(v).sum()) ** 2 for v in (c, d))
        assert mine <= other * (1 + 1e-6)
    assert ours.report_.kkt_violation <= 1e-7
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_nu_bounds_margin_errors_and_support_vectors():
    X, y = blobs(2, n=100, seed=3, spread=3.0)
    for nu in (0.2, 0.5, 0.8):
        model = NuSVC(nu=nu, tol=1e-6).fit(X, y)
        errors = np.mean((2 * y - 1) * model.decision_function(X) < 1 - 1e-4)
        assert errors <= nu + 1e-9
        assert len(model.support_) / len(y) >= nu - 1e-9


# Attributes


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize(("Ours", "Theirs"), [(SVC, sklearn.svm.SVC), (NuSVC, sklearn.svm.NuSVC)], ids=["SVC", "NuSVC"])
def test_attributes_have_scikit_learns_types_shapes_and_values(Ours, Theirs, n_classes, kind):
    X, y = blobs(n_classes, seed=7, n=20 * n_classes, spread=0.5)
    X = sp.csr_matrix(X) if kind == "sparse" else X
    ours = Ours(kernel="linear", tol=1e-7).fit(X, y)
    theirs = Theirs(kernel="linear", tol=1e-7).fit(X, y)
    for name in ("support_", "n_support_", "classes_", "class_weight_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("dual_coef_", "coef_", "intercept_", "support_vectors_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert sp.issparse(mine) == sp.issparse(other), name
        mine, other = (v.toarray() if sp.issparse(v) else v for v in (mine, other))
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4 * np.abs(other).max(), err_msg=name)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert np.asarray(ours.n_iter_).dtype == np.asarray(theirs.n_iter_).dtype
    assert ours.n_features_in_ == 3


def test_support_vectors_are_the_rows_of_the_training_set():
    X, y = blobs(4, seed=2)
    model = SVC().fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(np.bincount(y[model.support_]), model.n_support_)
    assert (np.diff(y[model.support_]) >= 0).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_coef_is_read_only_and_only_for_the_linear_kernel(form):
    X, y = blobs()
    model = SVC(kernel="linear").fit(form(X), y)
    values = model.coef_.data if sp.issparse(model.coef_) else model.coef_
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0
    with pytest.raises(AttributeError):
        model.coef_ = 1.0
    with pytest.raises(AttributeError, match="linear"):
        _ = SVC(kernel="rbf").fit(form(X), y).coef_
    assert not hasattr(SVC(kernel="linear"), "coef_")
    np.testing.assert_allclose(
        X @ np.ravel(SVC(kernel=Linear()).fit(X, y).coef_),
        X @ np.ravel(model.coef_.T if form is np.asarray else model.coef_.toarray()),
        rtol=1e-9,
    )


def test_balanced_class_weights_are_inverse_frequencies():
    X, y = blobs(3, n=60)
    X, y = X[y != 0], y[y != 0]
    X, y = np.vstack((X, X[y == 1])), np.concatenate((y, y[y == 1]))
    model = SVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(model.class_weight_, len(y) / (2 * np.bincount(y)[1:]))


# Decision function and ties


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_decision_function_shapes(n_classes):
    X, y = blobs(n_classes, n=72)
    pairs = n_classes * (n_classes - 1) // 2
    ovo = SVC(decision_function_shape="ovo").fit(X, y).decision_function(X)
    ovr = SVC().fit(X, y).decision_function(X)
    assert ovo.shape == ((72,) if n_classes == 2 else (72, pairs))
    assert ovr.shape == ((72,) if n_classes == 2 else (72, n_classes))
    theirs = sklearn.svm.SVC(tol=1e-7).fit(X, y).decision_function(X)
    np.testing.assert_allclose(SVC(tol=1e-7).fit(X, y).decision_function(X), theirs, atol=1e-4)


def test_break_ties_decides_equal_votes_by_confidence():
    X, y = make_blobs(random_state=27, n_samples=60, centers=3, cluster_std=2.0)
    model = SVC(kernel="linear").fit(X, y)
    grid = np.random.default_rng(0).uniform(X.min(), X.max(), (4000, 2))
    by_vote = model.predict(grid)
    model.set_params(break_ties=True)
    by_confidence = model.predict(grid)
    np.testing.assert_array_equal(by_confidence, model.decision_function(grid).argmax(axis=1))
    assert np.any(by_vote != by_confidence)


def test_break_ties_needs_a_value_a_class():
    X, y = blobs(3)
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


# Labels and tables


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array([-1, 1]),
        np.array([0, 1], dtype=np.uint8),
        np.array([7, 1000], dtype=object),
    ],
    ids=["str", "object-str", "bool", "float", "signs", "uint8", "object-int"],
)
def test_labels_of_every_kind_come_back_as_given(names):
    X, y = blobs()
    model = SVC().fit(X, names[y])
    np.testing.assert_array_equal(model.classes_, names)
    np.testing.assert_array_equal(model.predict(X), names[SVC().fit(X, y).predict(X)])
    assert model.predict(X).dtype == model.classes_.dtype


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_carry_their_feature_names(table):
    X, y = blobs()
    columns = dict(zip(["a", "b", "c"], X.T, strict=True))
    frame = table(columns)
    model = SVC().fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(frame), SVC().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table({"a": X[:, 0], "c": X[:, 2], "b": X[:, 1]}))


@pytest.mark.parametrize("series", [pd.Series, pl.Series, list], ids=["pandas", "polars", "list"])
def test_targets_may_be_a_series(series):
    X, y = blobs()
    names = np.array(["no", "yes"])[y]
    np.testing.assert_array_equal(SVC().fit(X, series(list(names))).predict(X), SVC().fit(X, names).predict(X))


# The scikit-learn world


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(kernel=RBF(sigma=2.0) + Linear()),
        SVC(multiclass="ovr"),
        SVC(multiclass="crammer_singer"),
        NuSVC(nu=0.3),
        SVC(warm_start=True),
    ],
    ids=repr,
)
def test_a_pickled_or_deep_copied_model_predicts_the_same_bits(model):
    X, y = blobs(3)
    unfitted = pickle.loads(pickle.dumps(model))
    assert repr(unfitted) == repr(model)
    model = clone(model).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
        assert str(twin.report_) == str(model.report_)
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), model.decision_function(X))


def test_grid_search_over_names_numbers_and_kernel_objects():
    X, y = blobs(3, n=90)
    numbers = GridSearchCV(SVC(), {"C": [0.1, 10.0], "gamma": [0.01, 1.0, "scale"]}, cv=3).fit(X, y)
    reference = GridSearchCV(sklearn.svm.SVC(), {"C": [0.1, 10.0], "gamma": [0.01, 1.0, "scale"]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        numbers.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"], atol=0.04
    )
    nested = GridSearchCV(SVC(kernel=RBF()), {"kernel__gamma": [0.01, 1.0]}, cv=3).fit(X, y)
    assert nested.best_estimator_.kernel.gamma in (0.01, 1.0)
    assert nested.best_estimator_.kernel_.gamma == nested.best_params_["kernel__gamma"]
    kernels = GridSearchCV(SVC(), {"kernel": ["linear", RBF(gamma=0.1), Laplacian(), Polynomial(degree=2)]}, cv=3)
    assert kernels.fit(X, y).best_score_ > 0.5


def test_grid_search_over_kernels_leaves_the_grid_as_it_was():
    X, y = blobs()
    kernel = RBF(gamma="scale")
    GridSearchCV(SVC(), {"kernel": [kernel]}, cv=2).fit(X, y)
    assert kernel.gamma == "scale"
    assert SVC(kernel=kernel).fit(X, y).kernel.gamma == "scale"


def test_pipelines_cross_validation_and_calibration():
    model = make_pipeline(StandardScaler(), SVC())
    assert cross_val_score(model, IRIS, SPECIES, cv=5).mean() > 0.94
    chances = CalibratedClassifierCV(SVC(), cv=3).fit(IRIS, SPECIES).predict_proba(IRIS)
    assert chances.shape == (150, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_cross_validation_slices_a_precomputed_kernel_both_ways():
    K = IRIS @ IRIS.T
    linear = cross_val_score(SVC(kernel="linear"), IRIS, SPECIES, cv=5)
    np.testing.assert_allclose(cross_val_score(SVC(kernel="precomputed"), K, SPECIES, cv=5), linear)


def test_sample_weights_are_routed_on_request():
    X, y = blobs(2, n=80)
    weights = np.where(y == 0, 5.0, 0.2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"C": [1.0]}, cv=2).fit(X, y, sample_weight=weights)
    direct = SVC().fit(X, y, weights)
    np.testing.assert_array_equal(search.best_estimator_.decision_function(X), direct.decision_function(X))
    with sklearn.config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="sample_weight"):
        GridSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(X, y, sample_weight=weights)


# Kernels that are not a formula


def test_a_function_is_a_kernel():
    X, y = blobs(3)

    def product(A, B):
        return A @ B.T

    mine, named = SVC(kernel=product, tol=1e-6).fit(X, y), SVC(kernel="linear", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(mine.decision_function(X), named.decision_function(X), atol=1e-6)
    theirs = sklearn.svm.SVC(kernel=product, tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(mine.predict(X), theirs.predict(X))


def test_strings_are_points_for_a_function_that_compares_them():
    words = ["aab", "aaa", "aba", "bbb", "bba", "bbbb", "aaaa", "babb"]
    y = ["a", "a", "a", "b", "b", "b", "a", "b"]

    def common(A, B):
        return np.array([[sum(s.count(c) * t.count(c) for c in "ab") for t in B] for s in A], float)

    model = SVC(kernel=common, C=10).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    np.testing.assert_array_equal(model.predict(["aaaaa", "bbbbbb"]), ["a", "b"])
    with pytest.raises(ValueError, match="objects"):
        model.predict([[1.0, 2.0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda K: K.astype(np.float32)])
def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives(form):
    X, y = blobs(3)
    new = X[::3] + 0.1
    named = SVC(kernel="linear", tol=1e-5).fit(X, y)
    model = SVC(kernel="precomputed", tol=1e-5).fit(form(X @ X.T), y)
    np.testing.assert_allclose(
        model.decision_function(form(new @ X.T)), named.decision_function(new), rtol=1e-3, atol=1e-3
    )
    np.testing.assert_array_equal(model.support_, named.support_)
    theirs = sklearn.svm.SVC(kernel="precomputed").fit(X @ X.T, y)
    assert model.support_vectors_.shape == theirs.support_vectors_.shape
    assert model.__sklearn_tags__().input_tags.pairwise


# Warm starts


def test_a_warm_start_ends_at_the_same_solution_in_fewer_steps():
    X, y = blobs(2, n=300, spread=3.0)
    model = SVC(C=10, warm_start=True, tol=1e-6).fit(X, y)
    cold = model.decision_function(X), model.report_.n_iter
    model.fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), cold[0], atol=1e-5)
    assert model.report_.n_iter <= cold[1] / 10


@pytest.mark.parametrize("C", [1.0, 12.0, 1000.0])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
def test_a_warm_start_with_another_C_solves_the_new_problem(C, multiclass):
    X, y = blobs(3, n=90, spread=3.0)
    warm = SVC(C=10, warm_start=True, tol=1e-7, multiclass=multiclass).fit(X, y).set_params(C=C).fit(X, y)
    cold = SVC(C=C, tol=1e-7, multiclass=multiclass).fit(X, y)
    assert warm.report_.kkt_violation <= 1e-7
    assert warm.report_.dual_objective == pytest.approx(cold.report_.dual_objective, rel=1e-6)
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
def test_a_warm_start_on_other_rows_classes_or_columns_solves_the_new_problem(multiclass):
    X, y = blobs(4, n=120, spread=3.0)
    model = SVC(warm_start=True, tol=1e-7, gamma=0.1, multiclass=multiclass).fit(X[:80], y[:80])
    for new, label in ((X[40:], y[40:]), (X[::-1], y[::-1]), (X[:80], (y[:80] + 1) % 4), (X[:, :2], y), (X, y % 2)):
        model.fit(new, label)
        cold = SVC(tol=1e-7, gamma=0.1, multiclass=multiclass).fit(new, label)
        assert model.report_.converged
        assert model.report_.dual_objective == pytest.approx(cold.report_.dual_objective, rel=1e-6)
        np.testing.assert_allclose(model.decision_function(new), cold.decision_function(new), atol=1e-3)


def test_a_warm_start_after_another_kernel_scheme_or_intercept_solves_the_new_problem():
    X, y = blobs(3, n=60, spread=3.0)
    model = SVC(warm_start=True, tol=1e-6).fit(X, y)
    steps = [
        {"kernel": "linear"},
        {"multiclass": "ovr"},
        {"multiclass": "crammer_singer"},
        {"multiclass": "ovo"},
        {"fit_intercept": False},
        {"fit_intercept": True, "class_weight": {0: 3.0}},
    ]
    for change in steps:
        model.set_params(**change).fit(X, y)
        cold = clone(model).fit(X, y)
        assert model.report_.dual_objective == pytest.approx(cold.report_.dual_objective, rel=1e-6)


def test_without_warm_start_a_second_fit_forgets_the_first():
    X, y = blobs(2)
    model = SVC().fit(X, y)
    first = model.decision_function(X), model.n_iter_
    model.fit(X[:30] * 5, y[:30])
    model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), first[0])
    np.testing.assert_array_equal(model.n_iter_, first[1])


# Multiclass schemes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_one_vs_rest_is_an_estimator_for_each_class(n_classes):
    X, y = blobs(n_classes, n=75, seed=4)
    ours = SVC(multiclass="ovr", tol=1e-6, gamma=0.2, C=5).fit(X, y)
    theirs = OneVsRestClassifier(sklearn.svm.SVC(tol=1e-6, gamma=0.2, C=5)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.dual_coef_.shape == (1 if n_classes == 2 else n_classes, len(ours.support_))
    assert ours.n_support_.shape == (n_classes,)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_joint_estimator_is_crammer_and_singers(n_classes, C):
    X, y = blobs(n_classes, n=40, d=4, seed=n_classes)
    weights = np.linspace(0.5, 2.0, len(y))
    ours = SVC(kernel="linear", multiclass="crammer_singer", C=C, tol=1e-7).fit(X, y, weights)
    W = ours.dual_coef_ @ ours.support_vectors_

    def primal(W):
        F = X @ W.T
        own = F[np.arange(len(y)), y]
        F = F + 1.0
        F[np.arange(len(y)), y] -= 1.0
        return 0.5 * np.sum(W**2) + C * weights @ (F.max(axis=1) - own)

    theirs = sklearn.svm.LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, y, weights)
    V = theirs.coef_ if n_classes > 2 else None
    if V is not None:
        assert primal(V) * (1 - 1e-6) <= ours.report_.dual_objective <= primal(V) * (1 + 1e-9)
    assert ours.report_.primal_objective == pytest.approx(primal(W), rel=1e-6)
    assert 0 <= ours.report_.relative_gap <= 1e-4
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-3 * np.abs(expected).max())


def test_the_joint_estimator_with_a_hard_margin_separates_with_the_least_norm():
    X, y = make_blobs(n_samples=24, centers=[[4, 0], [-4, 3], [0, -5]], cluster_std=0.7, random_state=0)
    model = SVC(kernel="linear", multiclass="crammer_singer", C=math.inf, tol=1e-8).fit(X, y)
    W = model.dual_coef_ @ model.support_vectors_
    rows = np.repeat(np.arange(len(y)), 2)
    others = np.array([k for label in y for k in range(3) if k != label])

    def room(w):
        F = X @ w.reshape(3, 2).T
        return F[rows, y[rows]] - F[rows, others] - 1.0

    best = minimize(
        lambda w: 0.5 * w @ w, W.ravel() * 1.5, jac=lambda w: w, constraints={"type": "ineq", "fun": room}, tol=1e-12
    )
    assert best.success
    assert room(W.ravel()).min() >= -1e-6
    assert 0.5 * np.sum(W**2) == pytest.approx(best.fun, rel=1e-5)


@pytest.mark.parametrize("solver", ["auto", "smo", "coordinate_descent"])
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e-2, 1.0])
def test_a_hard_margin_with_an_indefinite_kernel_ends(solver, size):
    """The dual may have no maximum there: a finite model or an error, and no overflow on the way."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, E = rng.standard_normal((60, 3)), size * rng.standard_normal((60, 60))
        K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1)) + E + E.T
        y = np.where(rng.random(60) > 0.5, 1, -1)
        estimator = SVC(C=math.inf, kernel="precomputed", solver=solver, fit_intercept=solver != "coordinate_descent")
        with contextlib.suppress(InseparableError):
            assert np.isfinite(estimator.fit(K, y).decision_function(K)).all()


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_estimators_side_by_side_do_not_disturb_each_other(scheme):
    """More rows than are solved whole, many problems, and any number of threads: the same bits."""
    X, y = load_digits(return_X_y=True)
    fits = [SVC(kernel="linear", C=0.01, multiclass=scheme, n_jobs=jobs).fit(X, y) for jobs in (1, 2, 2, 3)]
    assert all(np.array_equal(fit.n_iter_, fits[0].n_iter_) for fit in fits)
    assert all(np.array_equal(fit.dual_coef_, fits[0].dual_coef_) for fit in fits)


@pytest.mark.parametrize("solver", ["auto", "smo"])
@pytest.mark.parametrize("n", [6, 60])
def test_kernels_without_any_positive_value_end(n, solver):
    """Curvatures of zero and below: a step has no length of its own there."""
    y = np.arange(n) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for K in (-np.ones((n, n)), -np.eye(n), np.zeros((n, n))):
            estimator = SVC(kernel="precomputed", solver=solver).fit(K, y)
            assert np.isfinite(estimator.decision_function(K)).all()
            assert np.abs(estimator.dual_coef_).max(initial=0.0) <= 1.0


def test_the_joint_estimator_converges_in_blocks(monkeypatch):
    """More rows than a block has, and overlapping classes: most of them become support vectors."""
    monkeypatch.setattr(CrammerSinger.__init__, "__defaults__", (24,))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(0, 0.4, (300, 2)) + 0.3 * np.stack([np.cos(2 * y), np.sin(2 * y)], axis=1)
    blocks = SVC(gamma=1.0, multiclass="crammer_singer").fit(X, y)
    monkeypatch.undo()
    whole = SVC(gamma=1.0, multiclass="crammer_singer").fit(X, y)
    assert blocks.report_.converged
    assert blocks.report_.dual_objective == pytest.approx(whole.report_.dual_objective, rel=1e-4)


@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
def test_schemes_without_pairs_refuse_pairwise_values(multiclass):
    X, y = blobs(3)
    with pytest.raises(ValueError, match="decision_function_shape"):
        SVC(multiclass=multiclass, decision_function_shape="ovo").fit(X, y).decision_function(X)


# The report


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer_singer"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_report_is_complete_and_consistent(n_classes, multiclass):
    X, y = blobs(n_classes, n=80, spread=3.0)
    model = SVC(multiclass=multiclass, tol=1e-6, C=2.0).fit(X, y)
    report = model.report_
    assert isinstance(report, FitReport)
    assert report.solver in str(report)
    assert report.solver_reason
    assert report.status.converged
    assert report.n_iter == np.sum(model.n_iter_) > 0
    assert report.kernel_evaluations >= len(y)
    assert report.n_support == len(model.support_)
    assert report.n_samples == len(y)
    assert report.n_features == 3
    assert report.training_error == pytest.approx(np.mean(model.predict(X) != y))
    assert report.duality_gap == pytest.approx(report.primal_objective - report.dual_objective)
    assert -1e-9 <= report.relative_gap < 1e-4
    assert 0 <= report.kkt_violation <= 1e-6 == report.tol
    for name in ("stationarity", "primal_infeasibility", "dual_infeasibility"):
        assert 0 <= getattr(report, name) <= 1e-9
    assert 0 <= report.complementarity < 1e-4
    assert report.seconds > 0
    assert report.dtype == "float64"
    assert report.threads >= 1
    assert report.kernel_valid is True
    assert "<table" in report._repr_html_()


def test_the_margin_is_two_over_the_norm_of_w():
    X, y = blobs(2, seed=5)
    model = SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert model.report_.margin == pytest.approx(2 / np.linalg.norm(model.coef_))
    X, y = blobs(3, seed=5)
    model = SVC(kernel="linear", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.report_.margins, 2 / np.linalg.norm(model.coef_, axis=1))
    assert model.report_.margin == model.report_.margins.min()


def test_the_primal_objective_is_that_of_the_fitted_function():
    X, y = blobs(2, seed=6, spread=3.0)
    weights = np.linspace(0.1, 2.0, len(y))
    model = SVC(kernel="linear", C=3.0, tol=1e-8).fit(X, y, weights)
    slack = np.maximum(0.0, 1.0 - (2 * y - 1) * model.decision_function(X))
    expected = 0.5 * np.sum(model.coef_**2) + 3.0 * weights @ slack
    assert model.report_.primal_objective == pytest.approx(expected, rel=1e-10)
    assert model.report_.dual_objective <= expected
    assert model.report_.duality_gap <= 1e-5 * expected


# Weights are repetitions


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(class_weight="balanced"),
        SVC(multiclass="ovr"),
        SVC(multiclass="crammer_singer"),
        NuSVC(nu=0.2),
        SVC(fit_intercept=False),
    ],
    ids=repr,
)
def test_a_weight_is_a_number_of_repetitions(model, form, kernel):
    X, y = blobs(3, n=60, seed=8)
    count = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(model).set_params(kernel=kernel).fit(form(X), y, count)
    order = np.random.default_rng(1).permutation(count.sum())
    rows = np.repeat(np.arange(len(y)), count)[order]
    repeated = clone(model).set_params(kernel=kernel).fit(form(X[rows]), y[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [SVC(), SVC(multiclass="ovr"), SVC(multiclass="crammer_singer"), NuSVC(nu=0.2)])
def test_rows_of_weight_zero_change_nothing(model):
    X, y = blobs(3, n=60, seed=9)
    weights = np.ones(90)
    weights[60:] = 0.0
    more, labels = np.vstack((X, 100 * X[:30])), np.concatenate((y, (y[:30] + 1) % 3))
    plain, padded = clone(model).fit(X, y), clone(model).fit(more, labels, weights)
    np.testing.assert_array_equal(plain.decision_function(X), padded.decision_function(X))
    np.testing.assert_array_equal(plain.support_, padded.support_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("model", [SVC(), SVC(multiclass="ovr"), SVC(multiclass="crammer_singer"), NuSVC(nu=0.2)])
@pytest.mark.parametrize("absent", [0, 1, 2])
def test_a_class_of_weight_zero_keeps_its_place_and_is_never_predicted(absent, model, form):
    X, y = blobs(3, n=60, seed=10)
    model = clone(model).fit(form(X), y, (y != absent).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.n_support_[absent] == 0
    assert model.decision_function(form(X)).shape == (60, 3)
    predicted = model.predict(form(X))
    assert absent not in predicted
    rest = clone(model).fit(form(X[y != absent]), y[y != absent])
    np.testing.assert_array_equal(predicted, rest.predict(form(X)))


@pytest.mark.parametrize("model", [SVC(), SVC(multiclass="ovr"), SVC(multiclass="crammer_singer"), NuSVC(nu=0.2)])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("present", [0, 1])
@pytest.mark.filterwarnings("ignore:sample_weight.*left out:UserWarning")
def test_one_class_with_weight_is_always_predicted(present, n_classes, model):
    X, y = blobs(n_classes)
    model = clone(model).fit(X, y, (y == present).astype(float))
    assert set(model.predict(X)) == {present}
    assert set(SVC(class_weight={k: float(k == present) for k in range(n_classes)}).fit(X, y).predict(X)) == {present}
    with pytest.raises(ValueError, match="belong to the same class"):
        clone(model).fit(X, y, np.where(y == present, 1.0, -1.0))
    decision = model.decision_function(X)
    assert not np.isnan(decision).any()
    if n_classes == 2:
        assert ((decision > 0) == bool(present)).all()


# Without an intercept


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0, math.inf])
def test_without_intercept_the_dual_is_a_bounded_least_squares_problem(C):
    X, y = blobs(2, n=24, seed=11)
    s = 2.0 * y - 1
    K = RBF(gamma=0.5)(X)
    Q = K * s * s[:, None]
    L = np.linalg.cholesky(Q).T  # Q = L'L, so 1/2 a'Qa - 1'a = 1/2 |L a - L'^-1 1|^2 + const
    best = lsq_linear(L, np.linalg.solve(L.T, np.ones(len(y))), (0.0, C), tol=1e-15, lsmr_tol=None, max_iter=1000).x
    model = SVC(fit_intercept=False, gamma=0.5, C=C, tol=1e-9).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_.ravel())
    objective = alpha.sum() - 0.5 * alpha @ Q @ alpha
    assert objective >= (best.sum() - 0.5 * best @ Q @ best) * (1 - 1e-9)
    np.testing.assert_allclose(alpha, best, atol=1e-5 * best.max())
    assert model.intercept_ == 0.0
    np.testing.assert_allclose(model.decision_function(X), K @ (s * alpha), atol=1e-12 * alpha.sum())


def test_nu_svc_without_intercept_has_none():
    X, y = blobs(3, n=60)
    model = NuSVC(fit_intercept=False, nu=0.3).fit(X, y)
    np.testing.assert_array_equal(model.intercept_, np.zeros(3))
    assert model.report_.converged
    assert model.score(X, y) > 0.6


# Determinism


@pytest.mark.parametrize("cache_size", [0.001, 200])
@pytest.mark.parametrize(
    "parameters", [{}, {"multiclass": "ovr"}, {"multiclass": "crammer_singer"}, {"kernel": "linear"}]
)
def test_any_number_of_threads_gives_the_same_bits(parameters, cache_size):
    X, y = blobs(3, n=800, d=5, spread=2.5)
    new = blobs(3, n=1100, d=5, seed=1)[0]
    models = [SVC(n_jobs=n, cache_size=cache_size, **parameters).fit(X, y) for n in (1, 2, 4)]
    for other in models[1:]:
        np.testing.assert_array_equal(other.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(other.intercept_, models[0].intercept_)
        np.testing.assert_array_equal(other.decision_function(new), models[0].decision_function(new))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("parameters", [{}, {"kernel": "linear"}, {"multiclass": "crammer_singer"}, {"tol": 1e-1}])
def test_the_order_of_the_training_rows_does_not_matter(parameters, form):
    X, y = blobs(3, n=150, spread=2.5)
    model = SVC(**parameters).fit(form(X), y)
    decision = model.decision_function(form(X))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        other = SVC(**parameters).fit(form(X[order]), y[order])
        np.testing.assert_allclose(other.decision_function(form(X)), decision, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(np.sort(order[other.support_]), np.sort(model.support_))


def test_dense_sparse_and_float32_of_the_same_values_give_the_same_function():
    X = blobs(3)[0].astype(np.float32)
    y = blobs(3)[1]
    decisions = [
        SVC(gamma=0.3, tol=1e-8).fit(form(X), y).decision_function(form(X))
        for form in (np.float32, np.float64, sp.csr_matrix, sp.csc_array, lambda X: sp.coo_array(X.astype(float)))
    ]
    for other in decisions[1:]:
        np.testing.assert_allclose(other, decisions[0], atol=1e-6)


def test_fitting_leaves_the_callers_data_and_parameters_alone():
    X, y = blobs(3)
    weights = np.ones(len(y))
    kept = X.copy(), y.copy(), weights.copy()
    model = SVC(kernel=RBF(), class_weight={0: 2.0})
    parameters = {name: repr(value) for name, value in model.get_params().items()}
    model.fit(X, y, weights).predict(X)
    for before, after in zip(kept, (X, y, weights), strict=True):
        np.testing.assert_array_equal(before, after)
    assert parameters == {name: repr(value) for name, value in model.get_params().items()}


@pytest.mark.parametrize("solver", ["smo", "active_set", "qp_dual"])
def test_a_solver_for_binary_problems_is_refused_for_the_joint_estimator(solver):
    with pytest.raises(ValueError, match="joint problem"):
        SVC(multiclass="crammer_singer", solver=solver).fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_equal_rows_share_a_coefficient_without_more_support_vectors_than_need_be():
    """Six equal rows at a bound of one each: a multiplier of 2.5 makes three of them support vectors."""
    X, y = [[0.0]] * 6 + [[1.0]], [0] * 6 + [1]
    model = SVC(kernel="linear", C=1.0, tol=1e-9).fit(X, y, sample_weight=[1.0] * 6 + [2.5])
    taken = -model.dual_coef_[0, : model.n_support_[0]]
    np.testing.assert_allclose(taken.sum(), model.dual_coef_[0, -1])
    assert np.all(taken <= 1 + 1e-12)
    assert model.n_support_[0] == np.ceil(taken.sum() - 1e-9)


def test_a_refit_on_a_plain_array_forgets_the_column_names():
    pandas = pytest.importorskip("pandas")
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]), np.array([0, 1, 0, 1])
    model = SVC().fit(pandas.DataFrame(X, columns=["a", "b"]), y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_plain_arrays_with_bad_numbers_are_refused(bad):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    model = SVC().fit(X, y)
    X = X.copy()
    X[3, 1] = bad
    for call in (lambda: SVC().fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="X contains"):
            call()


@pytest.mark.parametrize(
    ("solver", "n"),
    [(solver, 80) for solver in ("active_set", "smo", "coordinate_descent", "barrier", "qp_dual")]
    + [(solver, 1500) for solver in ("active_set", "smo", "coordinate_descent")],
)
def test_the_history_leads_to_the_report(solver, n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    model = SVC(C=5.0, gamma=0.5, solver=solver, fit_intercept=solver != "coordinate_descent").fit(X, y)
    history, report = model.history_, model.report_
    assert len(history) >= (3 if solver in ("smo", "coordinate_descent") else 1)
    assert history.objective[-1] == report.primal_objective
    assert history.dual[-1] == report.dual_objective
    assert history.margin[-1] == report.margin
    assert np.all(np.diff(history.seconds) >= 0)
    dual = history.dual[np.isfinite(history.dual)]
    size = abs(dual[-1])
    if solver != "barrier":  # a path through the inside of the box need not climb
        assert np.all(np.diff(dual) >= -1e-6 * size)
    known = np.isfinite(history.gap)
    assert np.all(history.gap[known] >= -1e-9 * size)


def test_the_history_tells_estimators_apart():
    X, y = load_iris(return_X_y=True)
    model = SVC(solver="smo").fit(X, y)
    assert set(model.history_.problem) == {0, 1, 2}
    last = [model.history_.of_problem(k)[-1] for k in range(3)]
    assert sum(record.objective for record in last) == pytest.approx(model.report_.primal_objective)
    joint = SVC(multiclass="crammer_singer").fit(X, y)
    assert joint.history_.objective[-1] == joint.report_.primal_objective
    assert len(joint.history_) > 2


def test_the_margin_of_nu_svc_is_that_of_its_weights():
    X, y = load_iris(return_X_y=True)
    model = NuSVC(nu=0.1, kernel="linear").fit(X[50:], y[50:])
    assert model.report_.margin == pytest.approx(2 / np.linalg.norm(model.coef_), rel=1e-9)
    assert model.history_.margin[-1] == model.report_.margin


def test_a_joint_estimator_starts_where_its_rows_were():
    """One of 150 rows is moved: what the others learnt is kept, though all rows are sorted anew."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 2)), rng.integers(0, 3, 150)
    warm = SVC(multiclass="crammer_singer", C=10.0, warm_start=True, tol=1e-6).fit(X, y)
    X[3] += 0.01
    cold = SVC(multiclass="crammer_singer", C=10.0, tol=1e-6).fit(X, y)
    warm.fit(X, y)
    assert warm.n_iter_[0] < 0.7 * cold.n_iter_[0]
    assert warm.report_.dual_objective == pytest.approx(cold.report_.dual_objective, rel=1e-6)
    warm.fit(X[:100], y[:100])  # other rows, fewer of them
    assert warm.report_.status.converged


@pytest.mark.parametrize("gamma", [2.6, 3.0])
def test_an_interior_point_of_many_optima_is_moved_to_its_bounds(gamma):
    """Two equal points share what one needs: the solver leaves a little on each of two others, at no cost."""
    model = SVC(kernel="poly", degree=4, gamma=gamma, tol=1e-6, solver="qp_dual")
    model.fit([[0.0], [0.0], [1.0], [-1.0]], [1, 3, 1, 1])
    assert model.report_.converged
    np.testing.assert_allclose(model.decision_function([[0.0]]), [-1.0], atol=1e-6)
