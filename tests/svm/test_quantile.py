"""QuantileSVR and the pinball loss: against quadratic and linear programs, and what a quantile promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import GridSearchCV

from maxmargin import LinearSVR, QuantileSVR, load, save
from reference import qp

LEVELS = [0.1, 0.5, 0.9]


def noisy(n=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 0])) * rng.standard_normal(n) + 1.0


def objective(model, X, y, weights, function=0):
    """1/2 |w|^2 + C sum of pinball losses, from public attributes."""
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[function]
    K = model.kernel_(X, X)
    q, r = model.quantiles_[function], y - K @ coef - model.intercept_[function]
    return 0.5 * coef @ K @ coef + model.C * weights @ np.maximum(q * r, (q - 1) * r)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objectives_are_those_of_the_quadratic_program(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    X, y = noisy(int(rng.integers(10, 60)), int(rng.integers(1, 4)), seed)
    weights = rng.choice([0.5, 1.0, 3.0], len(y))
    options = [{"kernel": "rbf", "gamma": 0.7}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}]
    levels = sorted(rng.uniform(0.02, 0.98, 3))
    model = QuantileSVR(
        quantiles=levels, C=rng.uniform(0.1, 20), tol=1e-8, fit_intercept=fit_intercept, **options[seed % 3]
    ).fit(X, y, sample_weight=weights)
    assert model.report_.status.converged
    K = model.kernel_(X, X)
    for k, q in enumerate(levels):
        answer = qp.quantile(K, y, model.C * weights, q, fit_intercept=fit_intercept)
        assert objective(model, X, y, weights, k) == pytest.approx(answer.objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_share_q_of_the_targets_lies_below(seed):
    X, y = noisy(150, seed=seed)
    model = QuantileSVR(quantiles=LEVELS, C=5.0, tol=1e-7).fit(X, y)
    values = model.predict(X)
    for q, f in zip(LEVELS, values.T, strict=True):
        assert np.mean(y < f - 1e-5) <= q
        assert np.mean(y > f + 1e-5) <= 1 - q


def linear_quantiles(X, y, q):
    """Koenker and Bassett's linear program: the least pinball loss of a linear function, without a penalty."""
    n, d = X.shape
    A = np.column_stack((X, np.ones(n), np.eye(n), -np.eye(n)))
    cost = np.concatenate((np.zeros(d + 1), np.full(n, q), np.full(n, 1 - q)))
    bounds = [(None, None)] * (d + 1) + [(0, None)] * (2 * n)
    answer = scipy.optimize.linprog(cost, A_eq=A, b_eq=y, bounds=bounds)
    assert answer.status == 0
    return answer.fun, answer.x[: d + 1]


@pytest.mark.parametrize("q", [0.05, 0.5, 0.8])
def test_without_a_penalty_it_is_linear_quantile_regression(q):
    X, y = load_diabetes(return_X_y=True)
    X = (X / X.std(axis=0))[:150]
    y = y[:150] / y.std()
    least, _ = linear_quantiles(X, y, q)
    dual = QuantileSVR(kernel="linear", quantiles=q, C=1e4, tol=1e-6).fit(X, y)
    primal = LinearSVR(loss="pinball", quantile=q, C=1e4, tol=1e-7).fit(X, y)
    for model in (dual, primal):
        loss = len(y) * mean_pinball_loss(y, model.predict(X), alpha=q)
        assert loss == pytest.approx(least, rel=1e-3)
        assert loss >= least * (1 - 1e-9)


@pytest.mark.parametrize("q", [0.1, 0.7])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_linear_estimator_solves_the_same_problem(q, sparse):
    X, y = noisy(90, 4)
    X = sp.csr_matrix(X) if sparse else X
    weights = np.random.default_rng(1).choice([1.0, 2.0], len(y))
    kernel = QuantileSVR(kernel="linear", quantiles=q, C=0.7, tol=1e-9).fit(X, y, weights)
    linear = LinearSVR(loss="pinball", quantile=q, C=0.7, tol=1e-11).fit(X, y, weights)
    assert linear.report_.primal_objective == pytest.approx(kernel.report_.primal_objective, rel=1e-7)
    coef = kernel.coef_.toarray() if sparse else kernel.coef_
    np.testing.assert_allclose(linear.coef_, coef[0], atol=1e-4)


def test_quantiles_share_a_fit_and_have_the_bits_of_a_fit_alone():
    X, y = noisy(120)
    together = QuantileSVR(quantiles=LEVELS, C=3.0).fit(X, y)
    for k, q in enumerate(LEVELS):
        alone = QuantileSVR(quantiles=q, C=3.0).fit(X, y)
        own, shared = np.zeros(len(y)), np.zeros(len(y))
        own[alone.support_], shared[together.support_] = alone.dual_coef_[0], together.dual_coef_[k]
        assert (own == shared).all()
        assert alone.intercept_[0] == together.intercept_[k]
        assert alone.predict(X).shape == (120,)
    assert together.predict(X).shape == (120, 3)
    assert QuantileSVR(quantiles=[0.3]).fit(X, y).predict(X).shape == (120, 1)
    most = 128 * 128  # all of K, padded
    assert together.report_.kernel_evaluations <= most


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 0, 4, 2, 1]])
def test_non_crossing_sorts_the_values_of_each_point(order):
    X, y = noisy(40, 1, seed=3)
    levels = np.array([0.3, 0.4, 0.5, 0.6, 0.7])[order]
    plain = QuantileSVR(quantiles=list(levels), C=100.0, gamma=5.0).fit(X, y)
    model = clone(plain).set_params(non_crossing=True).fit(X, y)
    grid = np.linspace(-2.5, 2.5, 200)[:, None]
    crossing, values = plain.predict(grid), model.predict(grid)
    rising = values[:, np.argsort(levels)]
    assert (np.diff(crossing[:, np.argsort(levels)], axis=1) < 0).any()
    assert (np.diff(rising, axis=1) >= 0).all()
    np.testing.assert_array_equal(rising, np.sort(crossing, axis=1))


def test_equal_rows_and_weights_are_the_same_problem():
    X, y = noisy(40)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    by_weight = QuantileSVR(quantiles=LEVELS).fit(X, y, weights)
    by_rows = QuantileSVR(quantiles=LEVELS).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_weight.predict(X), by_rows.predict(X), rtol=1e-12)
    for k, q in enumerate(LEVELS):  # every coefficient within its own row's bounds
        assert (by_rows.dual_coef_[k] <= q * (1 + 1e-12)).all()
        assert (by_rows.dual_coef_[k] >= -(1 - q) * (1 + 1e-12)).all()


def test_score_is_the_share_of_the_pinball_loss_explained():
    X, y = noisy(250)
    model = QuantileSVR(quantiles=LEVELS).fit(X, y)
    each = [d2_pinball_score(y, f, alpha=q) for q, f in zip(LEVELS, model.predict(X).T, strict=True)]
    assert model.score(X, y) == pytest.approx(np.mean(each))
    search = GridSearchCV(QuantileSVR(quantiles=LEVELS), {"C": [1e-4, 1.0]}).fit(X, y)
    assert search.best_params_ == {"C": 1.0}


@pytest.mark.parametrize("solver", ["active_set", "smo", "coordinate_descent", "barrier", "qp_dual"])
def test_every_solver_reaches_the_same_objective(solver):
    X, y = noisy(60)
    options = {"quantiles": 0.8, "C": 3.0, "tol": 1e-6, "fit_intercept": solver != "coordinate_descent"}
    model, reference = QuantileSVR(solver=solver, **options).fit(X, y), QuantileSVR(**options).fit(X, y)
    assert model.report_.status.converged
    assert model.report_.primal_objective == pytest.approx(reference.report_.primal_objective, rel=1e-5)


def test_warm_starts_and_files(tmp_path):
    X, y = noisy(200)
    model = QuantileSVR(quantiles=LEVELS, warm_start=True, non_crossing=True).fit(X, y)
    steps = model.n_iter_.sum()
    assert model.fit(X, y).n_iter_.sum() < 0.1 * steps
    save(model, tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.score(X, y) == model.score(X, y)


def test_a_compiled_predictor_has_a_column_per_quantile():
    X, y = noisy()
    model = QuantileSVR(quantiles=LEVELS).fit(X, y)
    np.testing.assert_allclose(model.compile_predictor()(X), model.predict(X), atol=1e-10)
    with pytest.raises(ValueError, match="non_crossing=True sorts"):
        model.set_params(non_crossing=True).compile_predictor()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"quantiles": 0.0}, "quantiles must be > 0 and < 1"),
        ({"quantiles": [0.5, 1.0]}, "quantiles must be > 0 and < 1"),
        ({"quantiles": []}, "a list of them"),
        ({"quantiles": [0.5, 0.5]}, "names a quantile twice"),
        ({"quantiles": "median"}, "a list of them"),
        ({"quantiles": [[0.5]]}, "a list of them"),
        ({"C": np.inf}, "C must be > 0 and finite"),
        ({"non_crossing": "yes"}, "non_crossing"),
    ],
)
def test_refused_parameters(parameters, words):
    X, y = noisy(20)
    model = QuantileSVR(quantiles=0.3).fit(X, y)
    before = model.predict(X)
    with pytest.raises((ValueError, TypeError), match=words):
        model.set_params(**parameters).fit(X, y)
    model.set_params(quantiles=0.3, C=1.0, non_crossing=False)
    np.testing.assert_array_equal(model.predict(X), before)


def test_the_linear_loss_refuses_a_tube_and_a_level_outside():
    X, y = noisy(20)
    with pytest.raises(ValueError, match=r"loss='pinball' has no epsilon; got epsilon=0\.1"):
        LinearSVR(loss="pinball", epsilon=0.1).fit(X, y)
    with pytest.raises(ValueError, match="quantile must be > 0 and < 1"):
        LinearSVR(loss="pinball", quantile=1.0).fit(X, y)
    with pytest.raises(ValueError, match="1d array"):
        QuantileSVR().fit(X, np.column_stack((y, y)))
