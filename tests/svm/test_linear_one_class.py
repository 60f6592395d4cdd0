"""LinearOneClassSVM: the machine of OneClassSVM(kernel="linear"), for any number of rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import FitReport, OneClassSVM
from maxmargin.svm.linear.one_class import LinearOneClassSVM

SOLVERS = ["barrier", "coordinate_descent"]


def cloud(n=60, d=3, seed=0, away=2.0):
    return np.random.default_rng(seed).standard_normal((n, d)) + away


# Some checks centre their points.
@pytest.mark.filterwarnings("ignore:No halfspace without the origin:UserWarning")
@parametrize_with_checks(
    [LinearOneClassSVM(), LinearOneClassSVM(nu=0.1), LinearOneClassSVM(solver="coordinate_descent")]
)
def test_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("nu", [0.05, 0.33, 0.87, 1.0])
@pytest.mark.parametrize("shape", [(60, 3), (10, 25)])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_linear_kernel_model(solver, nu, shape, weighted):
    X = cloud(*shape)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(X)) if weighted else None
    linear = LinearOneClassSVM(nu=nu, tol=1e-8, solver=solver, max_iter=100_000).fit(X, sample_weight=weight)
    kernel = OneClassSVM(kernel="linear", nu=nu, tol=1e-8).fit(X, sample_weight=weight)
    size = np.abs(kernel.coef_).max()
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-3 * size)
    np.testing.assert_allclose(linear.offset_, kernel.offset_, rtol=1e-3)
    np.testing.assert_allclose(linear.score_samples(X), kernel.score_samples(X), rtol=2e-3, atol=1e-3 * size)
    assert linear.report_.primal_objective == pytest.approx(kernel.report_.primal_objective, rel=1e-6)
    assert linear.coef_.shape == kernel.coef_.shape
    assert linear.offset_.shape == kernel.offset_.shape


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 15), d=st.integers(1, 6), nu=st.floats(0.05, 1.0))
def test_random_problems_have_the_optimum_of_the_kernel_model(seed, n, d, nu):
    X = np.rint(2 * cloud(n, d, seed))
    X[0, 0] += 9.0  # not all points are the same
    X[:, 0] += 20.0  # the origin is outside
    linear = LinearOneClassSVM(nu=nu, tol=1e-7).fit(X)
    f, rho, w = linear.score_samples(X), float(linear.offset_[0]), linear.coef_[0]
    value = 0.5 * w @ w - nu * n * rho + np.maximum(0, rho - f).sum()
    best = OneClassSVM(kernel="linear", nu=nu, tol=1e-7).fit(X).report_.dual_objective
    assert linear.report_.converged
    assert value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("nu", [0.02, 0.2, 0.7])
def test_nu_bounds_the_outliers_and_the_support_vectors(nu):
    X = cloud(n=5000, d=6)
    model = LinearOneClassSVM(nu=nu, tol=1e-8).fit(X)
    outside = np.mean(model.predict(X) == -1)
    assert outside <= nu + 1e-3
    assert model.report_.n_support / len(X) >= nu - 1e-3
    assert model.report_.training_error == outside


def test_values_labels_and_scores_agree():
    X = cloud()
    model = LinearOneClassSVM(nu=0.2)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    np.testing.assert_allclose(model.score_samples(X), X @ model.coef_[0])
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    np.testing.assert_array_equal(model.intercept_, -model.offset_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_weight_of_two_is_a_repetition_and_zero_is_absence(solver):
    X = cloud()
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = LinearOneClassSVM(nu=0.3, solver=solver).fit(np.repeat(X, weight, axis=0))
    weighted = LinearOneClassSVM(nu=0.3, solver=solver).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_array_equal(weighted.offset_, repeated.offset_)


@pytest.mark.parametrize("shape", [(100, 6), (12, 30)])
def test_sparse_and_dense_float32_and_float64_are_the_same(shape):
    X = cloud(*shape)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.5, 0.0, X).astype(np.float32)
    forms = [X, X.astype(np.float64), sp.csr_matrix(X), sp.csc_array(X.astype(np.float64))]
    models = [LinearOneClassSVM(nu=0.2, tol=1e-9).fit(form) for form in forms]
    for model, form in zip(models, forms, strict=True):
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(model.score_samples(form), models[0].score_samples(X), rtol=1e-3, atol=1e-3)


def test_the_report():
    model = LinearOneClassSVM(nu=0.25, tol=1e-6).fit(cloud())
    assert isinstance(model.report_, FitReport)
    assert 0 <= model.report_.relative_gap <= 1e-6
    for part in ("LinearOneClassSVM", "nu = 0.25", "barrier (the primal has 3 unknowns", "training points outside"):
        assert part in str(model.report_)
    assert model.history_.iteration[-1] == model.n_iter_


@pytest.mark.parametrize("solver", SOLVERS)
def test_where_no_halfspace_leaves_out_the_origin_every_point_is_inside_and_a_warning_says_so(solver):
    X = cloud(away=0.0)
    X = np.vstack([X, -X])
    with pytest.warns(UserWarning, match="No halfspace without the origin"):
        model = LinearOneClassSVM(nu=0.5, solver=solver).fit(X)
    assert (model.predict(X) == 1).all()
    assert not model.coef_.any()
    assert model.report_.converged


def test_identical_points_are_inliers():
    model = LinearOneClassSVM(nu=0.3).fit(np.full((10, 2), 3.0))
    assert (model.predict(np.full((10, 2), 3.0)) == 1).all()
    assert model.predict([[1.0, 1.0]])[0] == -1


def test_a_tiny_nu_leaves_all_points_inside():
    X = cloud(n=2000, away=5.0)
    model = LinearOneClassSVM(nu=1e-6, tol=1e-8).fit(X)
    assert np.mean(model.predict(X) == 1) > 0.99


def test_after_a_feature_map_it_is_a_model_of_that_kernel():
    X = np.random.default_rng(0).standard_normal((150, 2))
    linear = make_pipeline(Nystroem(gamma=0.5, n_components=150, random_state=0), LinearOneClassSVM(nu=0.1, tol=1e-8))
    kernel = OneClassSVM(gamma=0.5, nu=0.1, tol=1e-8).fit(X)
    values = linear.fit(X).decision_function(X)
    np.testing.assert_allclose(values, kernel.decision_function(X), atol=1e-3 * np.abs(values).max())


def test_warm_start_pickling_and_limits():
    X = cloud(n=2000, d=10)
    model = LinearOneClassSVM(nu=0.3, warm_start=True).fit(X)
    assert model.fit(X).n_iter_ == 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LinearOneClassSVM(nu=0.01, max_iter=1, tol=1e-9).fit(X)
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        LinearOneClassSVM(nu=0.01, max_seconds=1e-9, tol=1e-9).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": 0.0}, "nu must be > 0"),
        ({"nu": 1.5}, "nu must be > 0 and <= 1"),
        ({"tol": -1.0}, "tol must be > 0"),
        ({"solver": "newton"}, "solver='newton' cannot solve this problem"),
        ({"solver": "smo"}, "solver must be one of"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LinearOneClassSVM(**options).fit(cloud())
