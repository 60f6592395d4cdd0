"""OneClassSVM: scikit-learn's answers and attributes, certified; and nu means what it says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from maxmargin import OneClassSVM
from reference.fitted_models import coefficients, kernel_matrix

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf", "gamma": "scale"},
]


def cloud(n=60, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 2.0


@pytest.mark.parametrize("seed", range(24))
def test_one_class_solves_the_problem_that_scikit_learn_solves(seed):
    rng = np.random.default_rng(seed)
    X = cloud(int(rng.integers(15, 60)), int(rng.integers(1, 6)), seed)
    X = [X, sp.csr_matrix(np.where(rng.random(X.shape) < 0.7, X, 0.0)), X.astype(np.float32)][seed % 3]
    parameters = {"nu": rng.uniform(0.05, 0.95), **KERNELS[seed % 4]}
    weights = rng.uniform(0.1, 3.0, X.shape[0]) if seed % 2 and parameters.get("gamma") != "scale" else None
    ours = OneClassSVM(**parameters, tol=1e-8).fit(X, sample_weight=weights)
    theirs = sklearn.svm.OneClassSVM(**parameters, tol=1e-8).fit(X, sample_weight=weights)
    K = kernel_matrix(theirs, X)
    c, d = coefficients(ours, X.shape[0]), coefficients(theirs, X.shape[0])
    assert 0.5 * c @ K @ c <= 0.5 * d @ K @ d * (1 + 1e-6)
    weight = np.ones(len(c)) if weights is None else weights
    assert c.sum() == pytest.approx(parameters["nu"] * weight.sum(), rel=1e-9)
    assert (c >= 0).all()
    assert (c <= weight * (1 + 1e-12)).all()
    assert ours.report_.kkt_violation <= 1e-8
    expected = theirs.decision_function(X)
    close = 1e-4 * np.abs(theirs.score_samples(X)).max()
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=0, atol=close)
    sure = np.abs(expected) > close
    np.testing.assert_array_equal(ours.predict(X)[sure], theirs.predict(X)[sure])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_attributes_have_scikit_learns_types_shapes_and_values(form):
    X = cloud(d=3)
    ours, theirs = (
        Kind(kernel="linear", nu=0.3, tol=1e-9).fit(form(X)) for Kind in (OneClassSVM, sklearn.svm.OneClassSVM)
    )
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    for name in ("support_", "coef_", "intercept_", "offset_", "dual_coef_", "support_vectors_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert sp.issparse(mine) == sp.issparse(other), name
        mine, other = (v.toarray() if sp.issparse(v) else np.asarray(v) for v in (mine, other))
        assert mine.shape == other.shape, name
        np.testing.assert_allclose(mine, other, atol=1e-4 * np.abs(other).max(), err_msg=name)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert np.ndim(ours.n_iter_) == np.ndim(theirs.n_iter_)
    np.testing.assert_allclose(ours.score_samples(X), ours.decision_function(X) + ours.offset_)
    np.testing.assert_array_equal(OneClassSVM(nu=0.3).fit_predict(X), OneClassSVM(nu=0.3).fit(X).predict(X))


@pytest.mark.parametrize("nu", [1e-6, 0.01, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n", [50, 2000])
def test_nu_bounds_outliers_from_above_and_support_vectors_from_below(nu, n):
    X = cloud(n, seed=1)
    model = OneClassSVM(nu=nu).fit(X)
    unsure = model.report_.kkt_violation  # points that near to the boundary may be on either side
    assert np.mean(model.decision_function(X) < -unsure * (1 + 1e-6)) <= nu + 1e-9
    assert len(model.support_) >= nu * n - 1e-9
    assert model.report_.training_error == pytest.approx(np.mean(model.predict(X) == -1), abs=0.02)


def test_the_report_is_complete_and_consistent():
    X = cloud()
    weights = np.linspace(0.5, 2.0, 60)
    model = OneClassSVM(nu=0.3, tol=1e-7).fit(X, sample_weight=weights)
    K, c, rho = model.kernel_(X), coefficients(model, 60), float(model.offset_[0])
    primal = 0.5 * c @ K @ c - 0.3 * weights.sum() * rho + weights @ np.maximum(0.0, rho - K @ c)
    report = model.report_
    assert report.primal_objective == pytest.approx(primal, rel=1e-9)
    assert report.dual_objective == pytest.approx(-0.5 * c @ K @ c, rel=1e-9)
    assert report.duality_gap == report.primal_objective - report.dual_objective
    assert report.margin == pytest.approx(2 / np.sqrt(c @ K @ c))
    assert report.n_support == len(model.support_)
    assert report.n_iter == model.n_iter_
    assert "outside" in str(report)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("parameters", list(ParameterGrid({"nu": [0.1, 0.5], "kernel": ["rbf", "linear"]})), ids=str)
def test_a_weight_is_a_number_of_repetitions(parameters, form):
    X = cloud(seed=3)
    count = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), count))
    weighted = OneClassSVM(**parameters).fit(form(X), sample_weight=count)
    repeated = OneClassSVM(**parameters).fit(form(X[rows]))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-9)


def test_rows_of_weight_zero_change_nothing():
    X = cloud()
    padded = OneClassSVM().fit(np.vstack((X, 100 * X)), sample_weight=np.r_[np.ones(60), np.zeros(60)])
    np.testing.assert_array_equal(padded.decision_function(X), OneClassSVM().fit(X).decision_function(X))


@pytest.mark.parametrize("cache_size", [0.001, 200])
def test_any_number_of_threads_gives_the_same_bits(cache_size):
    X = cloud(900)
    values = [OneClassSVM(n_jobs=n, cache_size=cache_size).fit(X).decision_function(X) for n in (1, 2, 4)]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


def test_the_order_of_the_training_rows_does_not_matter():
    X = cloud(200)
    other = OneClassSVM(nu=0.2).fit(X[::-1]).decision_function(X)
    np.testing.assert_allclose(other, OneClassSVM(nu=0.2).fit(X).decision_function(X), rtol=1e-12, atol=1e-12)


def test_a_warm_start_ends_at_the_solution_in_fewer_steps():
    X = cloud(300)
    model = OneClassSVM(nu=0.3, warm_start=True, tol=1e-6).fit(X)
    decision, steps = model.decision_function(X), model.n_iter_
    np.testing.assert_allclose(model.fit(X).decision_function(X), decision, atol=1e-5)
    assert model.n_iter_ <= steps / 10
    for nu in (0.1, 0.8):
        model.set_params(nu=nu).fit(X[50:])
        assert model.report_.dual_objective == pytest.approx(clone(model).fit(X[50:]).report_.dual_objective, rel=1e-6)


def test_tables_copies_and_pickles_give_the_same_bits():
    X = cloud()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = OneClassSVM().fit(frame)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b"])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.decision_function(frame), OneClassSVM().fit(X).decision_function(X))


def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives():
    X = cloud()
    named = OneClassSVM(kernel="linear", tol=1e-6).fit(X).decision_function(X)
    given = OneClassSVM(kernel="precomputed", tol=1e-6).fit(X @ X.T).decision_function(X @ X.T)
    np.testing.assert_allclose(given, named, atol=1e-4 * np.abs(named).max())


def test_smo_solves_problems_of_any_scale():
    """The problem has no unit: K times a number has the same solution, also where gradients exceed those of the
    compiled steps' barriers."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    K = X @ X.T + np.eye(40)
    options = {"kernel": "precomputed", "nu": 0.3, "solver": "smo"}
    unit = OneClassSVM(tol=1e-9, **options).fit(K)
    with pytest.warns(ConvergenceWarning):  # tol is absolute, and below the rounding of these gradients
        large = OneClassSVM(max_iter=5000, **options).fit(1e40 * K)
    np.testing.assert_array_equal(large.support_, unit.support_)
    np.testing.assert_allclose(large.dual_coef_, unit.dual_coef_, atol=1e-8)
