"""SVR and NuSVR: scikit-learn's answers and attributes, certified."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from scipy.optimize import linprog, lsq_linear
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVR, NuSVR
from maxmargin.kernels import RBF
from reference.fitted_models import coefficients, kernel_matrix

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "rbf", "gamma": "scale"},
]


def waves(n=50, d=2, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + X.sum(axis=1) / 3 + noise * rng.standard_normal(n)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    X, y = waves(int(rng.integers(15, 60)), int(rng.integers(1, 6)), seed)
    parameters = {"C": 10 ** rng.uniform(-2, 3), **KERNELS[seed % 4]}
    weights = rng.uniform(0.1, 3.0, len(y)) if seed % 3 == 1 and parameters.get("gamma") != "scale" else None
    if seed % 3 == 0:
        X = sp.csr_matrix(np.where(rng.random(X.shape) < 0.7, X, 0.0))
    elif seed % 3 == 2:
        X = X.astype(np.float32)
    return X, y, weights, parameters


@pytest.mark.parametrize("seed", range(24))
def test_svr_solves_the_problem_that_scikit_learn_solves(seed):
    X, y, weights, parameters = random_problem(seed)
    parameters["epsilon"] = [0.0, 0.05, 0.3][seed % 3]
    ours = SVR(**parameters, tol=1e-6).fit(X, y, weights)
    theirs = sklearn.svm.SVR(**parameters, tol=1e-6).fit(X, y, weights)
    K = kernel_matrix(theirs, X)
    mine, best = (
        c @ y - parameters["epsilon"] * np.abs(c).sum() - 0.5 * c @ K @ c
        for c in (coefficients(ours, len(y)), coefficients(theirs, len(y)))
    )
    assert mine >= best - 1e-6 * abs(best)
    assert ours.report_.dual_objective == pytest.approx(mine, rel=1e-8)
    assert ours.report_.kkt_violation <= 1e-6
    c = coefficients(ours, len(y))
    bound = parameters["C"] * (1.0 if weights is None else weights)
    assert (np.abs(c) <= bound * (1 + 1e-12)).all()
    assert abs(c.sum()) <= 1e-9 * np.abs(c).sum()
    expected = theirs.predict(X)
    np.testing.assert_allclose(ours.predict(X), expected, rtol=0, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(16))
def test_nu_svr_solves_the_problem_that_scikit_learn_solves(seed):
    X, y, weights, parameters = random_problem(seed)
    parameters["nu"] = [0.2, 0.5, 0.9][seed % 3]
    ours = NuSVR(**parameters, tol=1e-6).fit(X, y, weights)
    theirs = sklearn.svm.NuSVR(**parameters, tol=1e-6).fit(X, y, weights)
    K = kernel_matrix(theirs, X)
    mine, best = (c @ y - 0.5 * c @ K @ c for c in (coefficients(ours, len(y)), coefficients(theirs, len(y))))
    assert mine >= best - 1e-6 * abs(best)
    assert ours.report_.kkt_violation <= 1e-6
    c = coefficients(ours, len(y))
    total = parameters["nu"] * parameters["C"] * (len(y) if weights is None else weights.sum())
    assert np.abs(c).sum() <= total * (1 + 1e-9)
    expected = theirs.predict(X)
    np.testing.assert_allclose(ours.predict(X), expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_nu_svr_finds_the_tube_of_which_svr_is_told():
    X, y = waves(80)
    free = NuSVR(nu=0.4, C=5.0, tol=1e-7).fit(X, y)
    told = SVR(epsilon=free.epsilon_, C=5.0, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(told.predict(X), free.predict(X), atol=1e-4)
    outside = np.abs(free.predict(X) - y) > free.epsilon_ + 1e-5
    assert outside.mean() <= 0.4 <= len(free.support_) / len(y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(("Ours", "Theirs"), [(SVR, sklearn.svm.SVR), (NuSVR, sklearn.svm.NuSVR)], ids=["SVR", "NuSVR"])
def test_attributes_have_scikit_learns_types_shapes_and_values(Ours, Theirs, form):
    X, y = waves(d=3)
    ours, theirs = (Kind(kernel="linear", tol=1e-8).fit(form(X), y) for Kind in (Ours, Theirs))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    for name in ("dual_coef_", "coef_", "intercept_", "support_vectors_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert sp.issparse(mine) == sp.issparse(other), name
        mine, other = (v.toarray() if sp.issparse(v) else v for v in (mine, other))
        np.testing.assert_allclose(mine, other, atol=1e-4 * np.abs(other).max(), err_msg=name)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == 0
    assert np.ndim(ours.n_iter_) == np.ndim(theirs.n_iter_)


@pytest.mark.parametrize("Kind", [SVR, NuSVR])
def test_the_report_is_complete_and_consistent(Kind):
    X, y = waves(60)
    weights = np.linspace(0.2, 2.0, 60)
    model = Kind(C=3.0, tol=1e-7).fit(X, y, weights)
    report = model.report_
    K = model.kernel_(X)
    c = coefficients(model, len(y))
    epsilon = model.epsilon if Kind is SVR else model.epsilon_
    loss = np.maximum(0.0, np.abs(model.predict(X) - y) - epsilon)
    primal = 0.5 * c @ K @ c + 3.0 * weights @ loss
    if Kind is NuSVR:
        primal += 3.0 * model.nu * epsilon * weights.sum()
    assert report.primal_objective == pytest.approx(primal, rel=1e-9)
    assert report.duality_gap == report.primal_objective - report.dual_objective
    assert -1e-9 <= report.relative_gap <= 1e-5
    assert report.margin == pytest.approx(2 / math.sqrt(c @ K @ c))
    assert report.training_error == pytest.approx(math.sqrt(np.mean((model.predict(X) - y) ** 2)))
    assert report.n_support == len(model.support_)
    assert report.n_iter == model.n_iter_ > 0
    assert report.converged
    assert "epsilon" in str(report)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_without_intercept_the_dual_is_a_bounded_least_squares_problem(C):
    X, y = waves(20)
    K = RBF(gamma=2.0)(X)
    L = np.linalg.cholesky(K).T
    best = lsq_linear(L, np.linalg.solve(L.T, y), (-C, C), tol=1e-15, max_iter=1000).x
    model = SVR(fit_intercept=False, gamma=2.0, C=C, epsilon=0.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(coefficients(model, 20), best, atol=1e-5 * np.abs(best).max())
    assert model.intercept_ == 0.0


def test_an_infinite_C_keeps_every_point_inside_the_tube():
    X, y = waves(30, d=1)
    model = SVR(C=math.inf, gamma=20.0, epsilon=0.2, tol=1e-6).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.2 + 1e-5
    assert model.report_.converged


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("model", [SVR(), NuSVR(), SVR(fit_intercept=False), SVR(kernel="linear")], ids=repr)
def test_a_weight_is_a_number_of_repetitions(model, form):
    X, y = waves(40, seed=3)
    count = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), count))
    weighted, repeated = clone(model).fit(form(X), y, count), clone(model).fit(form(X[rows]), y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [SVR(), NuSVR()], ids=repr)
def test_rows_of_weight_zero_change_nothing(model):
    X, y = waves(40, seed=4)
    weights = np.r_[np.ones(40), np.zeros(10)]
    padded = clone(model).fit(np.vstack((X, 50 * X[:10])), np.r_[y, -9 * y[:10]], weights)
    np.testing.assert_array_equal(padded.predict(X), clone(model).fit(X, y).predict(X))


@pytest.mark.parametrize("cache_size", [0.001, 200])
@pytest.mark.parametrize("Kind", [SVR, NuSVR])
def test_any_number_of_threads_gives_the_same_bits(Kind, cache_size):
    X, y = waves(700)
    values = [Kind(n_jobs=n, cache_size=cache_size).fit(X, y).predict(X) for n in (1, 2, 4)]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])


@pytest.mark.parametrize("Kind", [SVR, NuSVR])
def test_the_order_of_the_training_rows_does_not_matter(Kind):
    X, y = waves(100)
    order = np.random.default_rng(0).permutation(100)
    values = Kind().fit(X, y).predict(X), Kind().fit(X[order], y[order]).predict(X)
    np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", [SVR(C=10), NuSVR(C=10), SVR(C=10, fit_intercept=False)], ids=repr)
def test_a_warm_start_ends_at_the_solution_in_fewer_steps(model):
    X, y = waves(200)
    model = clone(model).set_params(warm_start=True, tol=1e-6).fit(X, y)
    cold, steps = model.predict(X), model.n_iter_
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), cold, atol=1e-5)
    assert model.n_iter_ <= steps / 10
    for change in ({"C": 1.0}, {"C": 50.0}, {"kernel": "linear"}):
        model.set_params(**change).fit(X[20:], y[20:])
        fresh = clone(model).fit(X[20:], y[20:])
        assert model.report_.dual_objective == pytest.approx(fresh.report_.dual_objective, rel=1e-6)


def test_the_scikit_learn_world():
    X, y = waves(60)
    search = GridSearchCV(SVR(kernel=RBF()), {"kernel__gamma": [0.1, 1.0], "C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    assert (
        cross_val_score(make_pipeline(StandardScaler(), NuSVR()), pd.DataFrame(X, columns=["a", "b"]), y).mean() > 0.4
    )
    model = search.best_estimator_
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_precomputed_kernel_gives_what_the_kernel_itself_gives():
    X, y = waves()
    named = SVR(kernel="linear", tol=1e-6).fit(X, y).predict(X)
    np.testing.assert_allclose(SVR(kernel="precomputed", tol=1e-6).fit(X @ X.T, y).predict(X @ X.T), named, atol=1e-5)
    np.testing.assert_allclose(SVR(kernel=lambda A, B: A @ B.T, tol=1e-6).fit(X, y).predict(X), named, atol=1e-5)


@pytest.mark.parametrize("Kind", [SVR, NuSVR])
def test_a_constant_target_is_learnt_exactly(Kind):
    X, _ = waves()
    np.testing.assert_allclose(Kind().fit(X, np.full(50, 3.5)).predict(X), 3.5, atol=0.11)


def test_targets_far_from_zero_are_learnt_as_well():
    X, y = waves()
    shifted = SVR(tol=1e-6).fit(X, y + 1e6).predict(X) - 1e6
    np.testing.assert_allclose(shifted, SVR(tol=1e-6).fit(X, y).predict(X), atol=1e-4)


def chebyshev(X, y):
    """The least largest error of a linear function, by linear programming."""
    n, d = X.shape
    ones = np.ones((n, 1))
    rows = np.block([[X, ones, -ones], [-X, -ones, -ones]])
    found = linprog(
        [0.0] * (d + 1) + [1.0], rows, np.concatenate((y, -y)), bounds=[(None, None)] * (d + 1) + [(0, None)]
    )
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_a_tube_that_holds_all_points_is_found_or_proved_empty(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    least = chebyshev(X, y)
    inside = SVR(kernel="linear", C=np.inf, epsilon=1.05 * least).fit(X, y)
    assert np.abs(inside.predict(X) - y).max() <= 1.05 * least + inside.tol
    with pytest.raises(ValueError, match=r"no function of this kernel comes closer than .* larger epsilon"):
        SVR(kernel="linear", C=np.inf, epsilon=0.9 * least).fit(X, y)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
def test_equal_points_with_different_targets_leave_no_hard_tube(kernel):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    X[1], y[:2] = X[0], (1.0, 2.0)
    with pytest.raises(ValueError, match="every point lies inside the tube"):
        SVR(kernel=kernel, C=np.inf, epsilon=0.4).fit(X, y)
