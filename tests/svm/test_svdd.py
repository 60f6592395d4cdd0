"""SVDD: the smallest ball, against a quadratic program, against OneClassSVM, and against geometry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVDD, OneClassSVM, compress, explain, load, save, shapley_values
from maxmargin.kernels import RBF, Linear, Normalized, Polynomial
from reference import qp


def cloud(n=50, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) @ np.diag(np.arange(1.0, d + 1)) + 3.0


def ball(model, X, weights=None):
    """Squared distances from the centre, R^2 and the objective of the definition, from public attributes."""
    gamma = np.zeros(X.shape[0])
    gamma[model.support_] = np.asarray(model.dual_coef_.todense() if sp.issparse(X) else model.dual_coef_)[0]
    K = model.kernel_(X, X)
    distance = np.diag(K) - 2 * K @ gamma + gamma @ K @ gamma
    return gamma, distance, model.radius_**2


@pytest.mark.parametrize("seed", range(16))
def test_the_ball_is_that_of_the_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    X = cloud(int(rng.integers(8, 50)), int(rng.integers(1, 4)), seed)
    weights = rng.choice([0.5, 1.0, 2.0], len(X))
    kernel = [Linear(), Polynomial(degree=2, gamma=0.2, coef0=1.0), RBF(gamma=0.3), Linear() + RBF(gamma=1.0)][seed % 4]
    C = rng.uniform(1.2, 10) / weights.sum()
    model = SVDD(kernel=kernel, C=C, tol=1e-9).fit(X, sample_weight=weights)
    gamma, distance, square = ball(model, X)
    least, _ = qp.svdd(model.kernel_(X, X), weights, C)
    primal = square + C * weights @ np.maximum(0, distance - square)
    assert primal == pytest.approx(least, rel=1e-6)
    assert gamma.sum() == pytest.approx(1.0)
    assert (gamma <= C * weights * (1 + 1e-9)).all()
    assert model.report_.status.converged
    total = 1 / C  # the report's objective is total / 2 times total R^2 + the sum of the excesses
    assert model.report_.primal_objective == pytest.approx(total**2 / 2 * primal, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), square - distance, atol=1e-7 * distance.max())
    np.testing.assert_allclose(model.distance(X), np.sqrt(distance), rtol=1e-6)
    np.testing.assert_allclose(model.score_samples(X), -distance, atol=1e-7 * distance.max())


@pytest.mark.parametrize(
    "kernel", [{"kernel": "rbf"}, {"kernel": "laplacian"}, {"kernel": Normalized(Polynomial(2, coef0=1.0))}]
)
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_where_all_points_have_one_length_it_is_the_one_class_estimator(kernel, nu):
    X = cloud(120)
    ball, halfspace = SVDD(nu=nu, tol=1e-8, **kernel).fit(X), OneClassSVM(nu=nu, tol=1e-8, **kernel).fit(X)
    total = nu * len(X)
    np.testing.assert_allclose(
        ball.decision_function(X), 2 / total * halfspace.decision_function(X), atol=1e-7 * 2 / total
    )
    new = cloud(200, seed=1)
    far = np.abs(halfspace.decision_function(new)) > 1e-6
    np.testing.assert_array_equal(ball.predict(new)[far], halfspace.predict(new)[far])


def test_c_of_one_or_more_is_the_smallest_enclosing_ball():
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0], [1.0, -1.5]])
    for C in (1.0, 7.0, np.inf):
        model = SVDD(kernel="linear", C=C, tol=1e-9).fit(corners)
        np.testing.assert_allclose(model.coef_, [[2.0, 0.0]], atol=1e-8)
        assert model.radius_ == pytest.approx(2.0)
        assert (model.distance(corners) <= 2.0 + 1e-7).all()
    X = cloud(80, 3)
    model = SVDD(kernel="linear", C=1.0, tol=1e-8).fit(X)
    assert (model.distance(X) <= model.radius_ * (1 + 1e-6)).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_nu_bounds_the_share_outside_and_the_support_vectors(kernel, nu):
    X = cloud(200)
    model = SVDD(kernel=kernel, nu=nu, tol=1e-6).fit(X)
    assert np.mean(model.predict(X) < 0) <= nu
    assert len(model.support_) >= nu * len(X) - 1e-6
    assert model.report_.training_error == np.mean(model.predict(X) < 0)


def test_the_linear_ball_follows_the_points():
    X = cloud(60)
    here, there = SVDD(kernel="linear", tol=1e-9).fit(X), SVDD(kernel="linear", tol=1e-9).fit(X + 10.0)
    np.testing.assert_allclose(there.coef_, here.coef_ + 10.0, atol=1e-6)
    assert there.radius_ == pytest.approx(here.radius_, rel=1e-6)


def test_sparse_weights_files_and_repetition(tmp_path):
    X = cloud(40)
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    repeated = X[np.repeat(np.arange(40), weights.astype(int))]
    for kernel in ("linear", "rbf"):
        dense = SVDD(kernel=kernel, gamma=0.2, nu=0.3).fit(X, sample_weight=weights)
        again = SVDD(kernel=kernel, gamma=0.2, nu=0.3).fit(repeated)
        sparse = SVDD(kernel=kernel, gamma=0.2, nu=0.3).fit(sp.csr_matrix(X), sample_weight=weights)
        np.testing.assert_allclose(again.decision_function(X), dense.decision_function(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), rtol=1e-9, atol=1e-9)
        save(dense, tmp_path / "model.mm")
        loaded = load(tmp_path / "model.mm")
        np.testing.assert_array_equal(loaded.decision_function(X), dense.decision_function(X))
        assert loaded.radius_ == dense.radius_


@pytest.mark.parametrize("solver", ["active_set", "smo", "barrier", "qp_dual"])
def test_every_solver_finds_the_ball(solver):
    X = cloud(40)
    model, reference = (SVDD(kernel="linear", nu=0.2, tol=1e-7, solver=own).fit(X) for own in (solver, "auto"))
    assert model.report_.status.converged
    assert model.radius_ == pytest.approx(reference.radius_, rel=1e-5)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"nu": 0.0}, "nu must be > 0"),
        ({"C": -1.0}, "C must be > 0"),
        ({"C": 0.001}, "C=0.001 is less than 1 / 40"),
        ({"kernel": "precomputed"}, r"k\(x, x\) of new points.*OneClassSVM"),
    ],
)
def test_refused_parameters(parameters, words):
    X = cloud(40)
    model = SVDD().fit(X)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=words):
        model.set_params(**parameters).fit(X @ X.T if "kernel" in parameters else X)
    model.set_params(nu=0.5, C=None, kernel="rbf")
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_what_needs_a_plain_sum_over_support_vectors_is_refused():
    model = SVDD().fit(cloud())
    with pytest.raises(ValueError, match="SVDD has no compiled predictor"):
        model.compile_predictor()
    for ask in (explain, shapley_values):
        with pytest.raises(TypeError, match=r"also contain k\(x, x\)"):
            ask(model, cloud())
    with pytest.raises(TypeError, match=r"also contain k\(x, x\)"):
        compress(model)
